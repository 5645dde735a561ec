"""The doctor on machines that are not here: each is a folder for the files and a subclass of `Facts` for the rest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from labkit import messages
from labkit.build.compiler import ToolError
from labkit.environment import PROBES, Facts, Report, ascend, examine, host

CANN = "/usr/local/Ascend/cann-9.1.0"
GB = 1 << 30


class Machine(Facts):
    """A laptop on which all is well and no NPU is; a keyword replaces what the method
    of that name returns or raises.
    """

    def __init__(self, root: Path, env: dict[str, str] | None = None, **known):
        super().__init__(root, {"HOME": "/home/ada", "USER": "ada", **(env or {})})
        self.versions = {"torch": "2.13.0+cpu", "jupyterlab": "4.4.0", **known.pop("versions", {})}
        self.programs = known.pop("programs", ("make", "apt-get", "chromium", "chromedriver"))
        self.closed = known.pop("closed", ())
        defaults = {
            "python": (3, 11, 7),
            "platform": "linux",
            "machine": "x86_64",
            "is_root": False,
            "cores": 8,
            "memory": (32 * GB, 20 * GB),
            "cache": root / "cache",
            "disk_free": 50 * GB,
            "compiler": "g++ (Debian 12.2.0-14) 12.2.0",
            "torch_cuda": None,
            "built": True,
            "unconfined": [],
            "usable_npu": (False, "no-device"),
        }
        for name, value in {**defaults, **known}.items():
            setattr(self, name, self._answer(value))

    @staticmethod
    def _answer(value):
        def answer(*_):
            if isinstance(value, Exception):
                raise value
            return value

        return answer

    def which(self, name):
        return f"/usr/bin/{name}" if name in self.programs else None

    def version(self, distribution):
        return self.versions.get(distribution)

    def folder(self, module):
        return Path("/site-packages", module) if self.version(module.replace("_", "-")) else None

    def access(self, path):
        return path.name not in self.closed


def write(root: Path, name: str, text: str = "") -> None:
    file = root / name.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def node(
    root: Path, *, cann="9.1.0", driver="25.5.0", env=(("ASCEND_HOME_PATH", CANN),), devices=2, **known
) -> Machine:
    """An Ascend node: device files, driver and CANN in `root`, torch_npu among the packages."""
    for number in range(devices):
        write(root, f"/dev/davinci{number}")
    for name in ("davinci_manager", "devmm_svm", "hisi_hdc"):
        write(root, f"/dev/{name}")
    if driver:
        write(root, "/usr/local/Ascend/driver/version.info", f"Version={driver}\nascendhal_version=7.35.23\n")
    if cann:
        write(
            root,
            f"{CANN}/x86_64-linux/ascend_toolkit_install.info",
            f"package_name=Ascend-cann-toolkit\nversion={cann}\n",
        )
        write(root, f"{CANN}/set_env.sh")
        write(root, f"{CANN}/tools/bisheng_compiler/bin/bisheng")
    known.setdefault("versions", {"torch": "2.10.0+cpu", "torch-npu": "2.10.0.post4"})
    known.setdefault("usable_npu", (True, "probe"))
    return Machine(root, dict(env), **known)


def states(report: Report) -> dict[str, str]:
    return {c.id: c.state for c in report.checks}


# ---- whole machines


def test_a_laptop_is_ready(tmp_path):
    report = examine(Machine(tmp_path))
    assert report.ok and report.target == "twin"
    assert {c.id for c in report.checks if c.state == "SKIP"} == {
        "npu",
        "driver",
        "cann",
        "bisheng",
        "torch-npu",
        "cann-torch-npu",
    }
    assert report.counts["WARN"] == 0
    assert "no /dev/davinci device" in report["target"].message


def test_a_node_is_ready(tmp_path):
    report = examine(node(tmp_path))
    assert report.ok and report.target == "npu"
    assert set(states(report).values()) == {"PASS"}, str(report)
    assert CANN in report["cann"].message and "9.1.0" in report["cann"].message
    assert report["npu"].message.startswith("2 NPU")


def test_order_and_ids_never_change(tmp_path):
    wanted = [
        "python",
        "compiler",
        "make",
        "cores",
        "memory",
        "cache",
        "disk",
        "torch",
        "jupyterlab",
        "browser",
        "twin",
        "confined",
        "device",
        "npu",
        "driver",
        "cann",
        "bisheng",
        "torch-npu",
        "cann-torch-npu",
        "target",
    ]
    for machine in (Machine(tmp_path), node(tmp_path)):
        assert [c.id for c in examine(machine).checks] == wanted
    assert [id for id, _ in PROBES] == wanted[:-1]


def test_a_probe_that_breaks_hides_no_other(tmp_path):
    report = examine(Machine(tmp_path, cores=RuntimeError("no such call")))
    assert report["cores"].state == "WARN" and "no such call" in report["cores"].message
    assert report["memory"].state == "PASS"


# ---- one line each: (what the machine is like, id, state, a word of the message, a word of a command)


@pytest.mark.parametrize(
    "known, id, state, word, command",
    [
        ({"python": (3, 9, 2)}, "python", "FAIL", "3.9.2", "python3.11"),
        ({"python": (3, 15, 0)}, "python", "WARN", "3.15.0", ""),
        ({"platform": "darwin"}, "python", "WARN", "darwin", ""),
        ({"compiler": ToolError("none found")}, "compiler", "FAIL", "none found", "sudo apt-get install -y g++"),
        ({"compiler": "g++ (GCC) 8.5.0 20210514"}, "compiler", "FAIL", "8.5.0", "g++"),
        ({"compiler": "Ubuntu clang version 11.1.0"}, "compiler", "FAIL", "12", "g++"),
        ({"compiler": "Debian clang version 14.0.6"}, "compiler", "PASS", "14.0.6", ""),
        ({"compiler": PermissionError("cache")}, "compiler", "SKIP", "cache", ""),
        ({"programs": ("dnf",)}, "make", "WARN", "make", "sudo dnf install -y make"),
        ({"programs": ("dnf",), "is_root": True}, "make", "WARN", "make", "dnf install -y make"),
        ({"programs": ()}, "make", "WARN", "make", "package manager"),
        ({"cores": 1}, "cores", "WARN", "one", ""),
        ({"memory": (4 * GB, GB)}, "memory", "WARN", "1.0 GB", ""),
        ({"memory": (0, 0)}, "memory", "SKIP", "meminfo", ""),
        ({"cache": PermissionError(13, "Permission denied")}, "cache", "FAIL", "Permission denied", "LABKIT_CACHE"),
        ({"cache": PermissionError(13, "Permission denied")}, "disk", "SKIP", "cache", ""),
        ({"disk_free": 500 << 20}, "disk", "WARN", "500 MB", "labkit clean"),
        ({"disk_free": 5 << 20}, "disk", "FAIL", "5 MB", "labkit clean"),
        ({"versions": {"torch": None}}, "torch", "FAIL", "not installed", "download.pytorch.org/whl/cpu"),
        ({"versions": {"torch": "2.5.1+cpu"}}, "torch", "FAIL", "2.5.1", "torch>=2.6"),
        ({"versions": {"torch": "2.16.0"}}, "torch", "WARN", "2.16.0", "torch>=2.6"),
        ({"versions": {"torch": "2.13.0+cu130"}, "torch_cuda": "13.0"}, "torch", "WARN", "CUDA 13.0", "torch==2.13.0'"),
        ({"versions": {"jupyterlab": None}}, "jupyterlab", "WARN", "JupyterLab", "pip install -e"),
        ({"programs": ("apt-get", "chromium")}, "browser", "SKIP", "chromedriver", "chromium-driver"),
        ({"built": False}, "twin", "SKIP", "not built", "labkit prebuild"),
        ({"built": False}, "device", "SKIP", "not built", "labkit prebuild"),
        ({"built": False}, "confined", "SKIP", "once the twin is built", ""),
        ({"unconfined": ["Landlock: none"]}, "confined", "WARN", "with your rights in part: Landlock: none", ""),
        ({"versions": {"torch-npu": "2.13.0"}}, "torch-npu", "WARN", "import torch", "TORCH_DEVICE_BACKEND_AUTOLOAD=0"),
        (
            {"versions": {"torch-npu": "2.13.0"}, "env": {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}},
            "torch-npu",
            "SKIP",
            "keeps",
            "",
        ),
        ({"env": {"ASCEND_HOME_PATH": "/nowhere"}}, "cann", "WARN", "/nowhere", "unset ASCEND_HOME_PATH"),
        (
            {"env": {"ASCEND_TOOLKIT_HOME": "/nowhere"}},
            "cann",
            "WARN",
            "ASCEND_TOOLKIT_HOME",
            "unset ASCEND_TOOLKIT_HOME",
        ),
        ({"env": {"ASCEND_HOME": "/nowhere"}}, "cann", "SKIP", "no CANN", ""),
        ({"env": {"LABKIT_TARGET": "twin"}}, "target", "PASS", "LABKIT_TARGET", ""),
        ({"env": {"LABKIT_TARGET": "npu"}}, "target", "FAIL", "davinci", "unset LABKIT_TARGET"),
    ],
)
def test_a_laptop_that_lacks_something(tmp_path, known, id, state, word, command):
    line = examine(Machine(tmp_path, **known))[id]
    assert line.state == state and word in line.message
    assert bool(line.mend) == bool(command) and command in " ; ".join(line.mend)


@pytest.mark.parametrize(
    "known, id, state, word, command",
    [
        (
            {"closed": ("davinci1", "devmm_svm")},
            "npu",
            "WARN",
            "/dev/davinci1, /dev/devmm_svm",
            "usermod -a -G HwHiAiUser ada",
        ),
        ({"driver": None}, "driver", "WARN", "version.info", "npu-smi"),
        ({"driver": "25.0.rc1"}, "driver", "WARN", "25.0", ""),
        ({"driver": "25.0.rc1", "cann": "8.5.0"}, "driver", "PASS", "25.0", ""),
        ({"env": {}, "cann": None}, "cann", "SKIP", "no CANN", ""),
        ({"cann": "8.5.0"}, "cann", "WARN", "8.5.0", ""),
        ({"env": {"ASCEND_TOOLKIT_HOME": CANN}}, "cann", "PASS", "ASCEND_TOOLKIT_HOME", ""),
        ({"versions": {"torch": "2.10.0"}}, "torch-npu", "WARN", "not installed", "pip install -e '.[lab,npu]'"),
        (
            {"versions": {"torch": "2.13.0", "torch-npu": "2.10.0.post4"}},
            "torch-npu",
            "WARN",
            "2.13.0",
            "pip install torch==2.10.0",
        ),
        ({"cann": "9.0.0"}, "cann-torch-npu", "WARN", "9.0.0", "torch-npu==2.10.0"),
        ({"cann": "8.3.RC1"}, "cann-torch-npu", "WARN", "8.3.RC1", "torch-npu==2.8.0"),
        ({"cann": "9.2.0"}, "cann-torch-npu", "SKIP", "9.2.0", ""),
        ({"versions": {"torch": "2.14.0", "torch-npu": "2.14.0"}}, "cann-torch-npu", "SKIP", "2.14.0", ""),
        ({"usable_npu": (False, "probe")}, "target", "PASS", "twin: there is an NPU", ""),
        ({"devices": 0}, "torch-npu", "WARN", "no NPU device", "AUTOLOAD=0"),
    ],
)
def test_a_node_that_lacks_something(tmp_path, known, id, state, word, command):
    line = examine(node(tmp_path, **known))[id]
    assert line.state == state and word in line.message
    assert bool(line.mend) == bool(command) and command in " ; ".join(line.mend)


def test_what_is_wrong_with_the_npu_fails_where_the_npu_was_asked_for(tmp_path):
    machine = node(
        tmp_path,
        closed=("davinci0",),
        env=(("ASCEND_HOME_PATH", CANN), ("LABKIT_TARGET", "npu")),
        usable_npu=(False, "probe"),
    )
    report = examine(machine)
    assert not report.ok
    assert states(report)["npu"] == states(report)["target"] == "FAIL"


def test_a_session_set_up_for_the_twin_is_not_mistaken_for_the_shell(tmp_path):
    # labkit.setup() puts LABKIT_TARGET into its own process; /proc/self/environ keeps what the shell had given.
    write(tmp_path, "/proc/self/environ", "HOME=/home/ada\0USER=ada\0")
    laptop = Machine(tmp_path, {"LABKIT_TARGET": "twin"})
    assert "no NPU" in ascend.target(laptop)[0].message
    line, target = ascend.target(node(tmp_path, env=(("LABKIT_TARGET", "twin"),)))
    assert target == "twin" and "session" in line.message


@pytest.mark.parametrize("asked, usable", [("sim", False), ("npu", True)])
def test_the_device_that_the_shell_asks_for(tmp_path, asked, usable):
    machine = Facts(tmp_path, {"LABKIT_DEVICE": asked})
    assert machine.usable_npu() == (usable, "forced")


def test_no_child_process_where_there_is_no_card(tmp_path, monkeypatch):
    monkeypatch.setattr("labkit.environment.facts.subprocess.run", lambda *a, **k: pytest.fail("a child was started"))
    assert Facts(tmp_path, {}).usable_npu() == (False, "no-device")
    write(tmp_path, "/dev/davinci0")
    monkeypatch.setattr(Facts, "folder", lambda self, module: None)
    assert Facts(tmp_path, {}).usable_npu() == (False, "no-torch-npu")


def test_cann_in_a_usual_folder_is_found_and_its_set_env_named(tmp_path):
    write(
        tmp_path,
        "/usr/local/Ascend/ascend-toolkit/latest/x86_64-linux/ascend_toolkit_install.info",
        "version=8.3.RC1\n",
    )
    write(tmp_path, "/usr/local/Ascend/ascend-toolkit/set_env.sh")
    line = ascend.cann(Machine(tmp_path))
    assert line.state == "WARN" and "8.3.RC1" in line.message
    assert line.mend == ("source /usr/local/Ascend/ascend-toolkit/set_env.sh",)


def test_cann_in_the_home_folder(tmp_path):
    write(tmp_path, "/home/ada/Ascend/cann/set_env.sh")
    assert ascend.cann(Machine(tmp_path)).mend == ("source /home/ada/Ascend/cann/set_env.sh",)


def test_cann_without_bisheng(tmp_path):
    machine = node(tmp_path)
    (tmp_path / CANN[1:] / "tools/bisheng_compiler/bin/bisheng").unlink()
    line = ascend.bisheng(machine)
    assert line.state == "WARN" and line.mend == (f"source {CANN}/set_env.sh",)


def test_conda_is_asked_where_a_conda_environment_is_active(tmp_path):
    env = {"CONDA_PREFIX": "/opt/conda/envs/lab", "CONDA_DEFAULT_ENV": "lab"}
    line = host.make(Machine(tmp_path, env, programs=("apt-get",)))
    assert line.mend == ("conda install -c conda-forge make",)


def test_devices_are_sorted_by_number(tmp_path):
    machine = node(tmp_path, devices=12)
    assert [p.name for p in machine.npu_devices()] == [f"davinci{n}" for n in range(12)]


# ---- the report


def test_report_as_text_html_and_json(tmp_path):
    report = examine(Machine(tmp_path, versions={"torch": None}))
    bundle = report._repr_mimebundle_()
    assert not report.ok
    assert "FAIL  torch" in bundle["text/plain"] and "try: pip install" in bundle["text/plain"]
    assert "<b>FAIL</b>" in bundle["text/html"] and "color" not in bundle["text/html"]
    data = json.loads(json.dumps(bundle["application/vnd.labkit.doctor+json"]))
    assert data["ok"] is False and data["counts"]["FAIL"] == 1
    assert [c["id"] for c in data["checks"]] == [c.id for c in report.checks]


def test_html_escapes_what_a_machine_says(tmp_path):
    report = examine(Machine(tmp_path, compiler=ToolError("<script>")))
    assert "<script>" not in report.html()


def test_chinese(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", "zh")
    report = examine(Machine(tmp_path, cores=1))
    assert "处理器核" in report["cores"].message and "请尝试" in str(examine(Machine(tmp_path, built=False)))


def test_every_sentence_exists_in_both_languages_and_with_the_same_numbers():
    import string

    table = {k: v for k, v in messages.tables().items() if k.startswith("doctor.")}
    assert len(table) > 50
    for key, entry in table.items():
        fields = [{name for _, name, _, _ in string.Formatter().parse(entry[lang]) if name} for lang in ("en", "zh")]
        assert fields[0] == fields[1], key


def test_the_doctor_can_be_called_by_either_name():
    import importlib

    import labkit

    assert callable(labkit.doctor) and not callable(importlib.import_module("labkit.environment"))


# ---- this machine, in a process of its own


def shell(env: dict[str, str] | None = None) -> dict[str, str]:
    """The environment of a fresh shell: conftest's own TORCH_DEVICE_BACKEND_AUTOLOAD taken away again."""
    return {**{k: v for k, v in os.environ.items() if k != "TORCH_DEVICE_BACKEND_AUTOLOAD"}, **(env or {})}


def run_doctor(*, env: dict[str, str] | None = None, arguments=("--json",)) -> tuple[int, dict]:
    done = subprocess.run(
        [sys.executable, "-m", "labkit", "doctor", *arguments],
        capture_output=True,
        text=True,
        env=shell(env),
        timeout=300,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_this_machine():
    code, data = run_doctor()
    assert code == 0 and data["ok"], data
    found = {c["id"]: c["state"] for c in data["checks"]}
    assert found["compiler"] == found["cache"] == "PASS"


def test_no_compiler_on_this_machine(tmp_path):
    code, data = run_doctor(env={"CXX": str(tmp_path / "no-such-compiler"), "LABKIT_CACHE": str(tmp_path)})
    assert code == 1
    line = next(c for c in data["checks"] if c["id"] == "compiler")
    assert line["state"] == "FAIL" and "no-such-compiler" in line["message"]


def test_a_compiler_that_does_not_compile(tmp_path):
    fake = tmp_path / "g++"
    fake.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo "g++ (Fake) 12.1.0" && exit 0\necho "one_line.cpp:1:1: error: no '
        'headers" >&2\nexit 1\n'
    )
    fake.chmod(0o755)
    code, data = run_doctor(env={"CXX": str(fake), "LABKIT_CACHE": str(tmp_path / "cache")})
    line = next(c for c in data["checks"] if c["id"] == "compiler")
    assert code == 1 and line["state"] == "FAIL" and "does not compile" in line["message"]


STUB = """
    import os, pathlib
    pathlib.Path(os.environ["STUB_TRACE"]).write_text("imported")
    def _autoload(): pass
    raise ImportError("libhccl.so: cannot open shared object file: No such file or directory")
"""


@pytest.fixture
def unusable_torch_npu(tmp_path) -> dict[str, str]:
    """Environment with a torch_npu that, like the real wheel without CANN, raises when it is imported."""
    site = tmp_path / "site"
    write(site, "torch_npu/__init__.py", textwrap.dedent(STUB))
    write(site, "torch_npu-2.13.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: torch-npu\nVersion: 2.13.0\n")
    write(site, "torch_npu-2.13.0.dist-info/entry_points.txt", "[torch.backends]\ntorch_npu = torch_npu:_autoload\n")
    return {"PYTHONPATH": str(site), "STUB_TRACE": str(tmp_path / "trace")}


def test_an_unusable_torch_npu_is_told_of_and_never_imported(unusable_torch_npu):
    code, data = run_doctor(env=unusable_torch_npu)
    line = next(c for c in data["checks"] if c["id"] == "torch-npu")
    assert code == 0 and line["state"] == "WARN"
    assert "export TORCH_DEVICE_BACKEND_AUTOLOAD=0" in line["mend"]
    assert not Path(unusable_torch_npu["STUB_TRACE"]).exists()


def test_what_the_doctor_says_of_import_torch_is_true(unusable_torch_npu):
    pytest.importorskip("torch")
    env = shell(unusable_torch_npu)
    plain = subprocess.run([sys.executable, "-c", "import torch"], env=env, capture_output=True, text=True)
    assert plain.returncode != 0 and "TORCH_DEVICE_BACKEND_AUTOLOAD" in plain.stderr
    env["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    assert subprocess.run([sys.executable, "-c", "import torch"], env=env).returncode == 0


def test_the_torch_that_is_advised_is_the_one_of_the_wheels_device(tmp_path, monkeypatch):
    from labkit.build import shipped

    machine = Machine(tmp_path, versions={"torch": "2.14.1+cu130"}, torch_cuda="13.0")
    assert "torch==2.14.1'" in examine(machine)["torch"].mend[-1]
    monkeypatch.setattr(shipped, "_manifest", lambda: {"torch": "2.13.0+cpu"})
    assert "torch==2.13.0'" in examine(machine)["torch"].mend[-1]
