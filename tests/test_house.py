"""The repository: set-up from nothing, one list of needs, and the rules that all rooms keep."""

from __future__ import annotations

import ast
import fnmatch
import importlib
import importlib.metadata
import importlib.util
import json
import os
import re
import string
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from places import REPO

from labkit import messages
from labkit.messages import tomllib

PROJECT = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))


def tracked(*patterns: str) -> list[Path]:
    """Files of the repository, by git where this is a clone."""
    listed = subprocess.run(["git", "ls-files", "-z", *patterns], cwd=REPO, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git clone")
    return [REPO / name for name in listed.stdout.split("\0") if name and (REPO / name).is_file()]


# ---- one list of needs


def requirements() -> list[str]:
    extras = PROJECT["project"]["optional-dependencies"]
    return [*PROJECT["project"]["dependencies"], *extras["lab"], *extras["test"]]


def test_what_is_installed_is_in_the_ranges():
    packaging = pytest.importorskip("packaging.requirements")
    for text in requirements():
        wanted = packaging.Requirement(text)
        if wanted.marker is None or wanted.marker.evaluate():
            assert wanted.specifier.contains(importlib.metadata.version(wanted.name), prereleases=True), text


def test_the_tested_torch_is_in_the_range():
    packaging = pytest.importorskip("packaging.requirements")
    torch = next(packaging.Requirement(r) for r in requirements() if r.startswith("torch"))
    assert torch.specifier.contains(PROJECT["tool"]["labkit"]["tested-torch"])
    pinned = next(r for r in PROJECT["project"]["optional-dependencies"]["npu"] if r.startswith("torch=="))
    assert torch.specifier.contains(pinned.partition("==")[2])


@pytest.mark.parametrize(
    "name, extras", [("environment.yml", "-e .[lab,test]"), ("environment.npu.yml", "-e .[lab,test,npu]")]
)
def test_conda_files_repeat_no_requirement(name, extras):
    yaml = pytest.importorskip("yaml")
    data = yaml.safe_load((REPO / name).read_text(encoding="utf-8"))
    pip = next(entry["pip"] for entry in data["dependencies"] if isinstance(entry, dict))
    assert pip == ["--extra-index-url https://download.pytorch.org/whl/cpu", extras]
    named = {re.split(r"[=<>]", entry)[0] for entry in data["dependencies"] if isinstance(entry, str)}
    assert {"python", "gxx", "make", "pip"} <= named <= {"python", "gxx", "make", "pip", "cmake", "ninja"}


def test_the_packaged_npu_pair_is_a_published_one():
    from labkit.environment.ascend import compatibility

    wheel = next(r for r in PROJECT["project"]["optional-dependencies"]["npu"] if r.startswith("torch-npu"))
    assert re.search(r"==([\w.]+)", wheel).group(1) in compatibility()["torch_npu"]["9.1"]


def test_every_data_file_of_the_package_is_packaged():
    globs = [glob.replace("**/", "*") for glob in PROJECT["tool"]["setuptools"]["package-data"]["labkit"]]
    left_out = [
        str(f.relative_to(REPO))
        for f in tracked("labkit")
        if f.suffix != ".py" and not any(fnmatch.fnmatch(f.name, glob) for glob in globs)
    ]
    assert not left_out


# ---- Makefile, .ci/run


def test_make_offers_what_the_readme_promises():
    for target in ("lab", "run", "test", "check", "build", "doctor"):
        plan = subprocess.run(
            ["make", "-n", target, "ARGS=--flag"], cwd=REPO, capture_output=True, text=True, check=True
        ).stdout
        assert re.search(rf"scripts/bootstrap\.py {target} --flag", plan), plan
    assert "make lab" in subprocess.run(["make"], cwd=REPO, capture_output=True, text=True, check=True).stdout


def test_make_without_python_says_so():
    done = subprocess.run(["make", "lab", "PYTHON=no-such-python"], cwd=REPO, capture_output=True, text=True)
    assert done.returncode != 0 and "Not found: no-such-python" in done.stderr


def test_ci_script_is_executable_and_correct_bash():
    script = REPO / ".ci" / "run"
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", script], check=True)


def test_ci_installs_what_tests_are_skipped_without():
    """Where nothing is installed, a skip would let them pass unseen."""
    script = (REPO / ".ci" / "run").read_text(encoding="utf-8")
    asked = re.compile(r"""(?:skipif\(|if (?:machine and )?)(?:not )?shutil\.which\(["']([\w+-]+)["']\)""")
    wanted = {m for f in (REPO / "tests").rglob("test_*.py") for m in asked.findall(f.read_text(encoding="utf-8"))}
    assert "cmake" in wanted
    assert sorted(name for name in wanted if not re.search(rf"^need {re.escape(name)} ", script, re.M)) == []


# ---- scripts/bootstrap.py


@pytest.fixture
def boot(monkeypatch):
    """The bootstrap script as a module; its active environment is forgotten."""
    monkeypatch.syspath_prepend(REPO / "scripts")
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "LABKIT_TORCH", "LABKIT_TORCH_INDEX"):
        monkeypatch.delenv(name, raising=False)
    spec = importlib.util.spec_from_file_location("bootstrap", REPO / "scripts" / "bootstrap.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["scripts/bootstrap.py", "scripts/bootstrap_text.py", "labkit/build/packages.py"])
def test_an_old_python_can_read_what_tells_it_so(name):
    text = (REPO / name).read_text(encoding="utf-8")
    ast.parse(text, feature_version=(3, 6))
    assert "from __future__" not in text.replace("`from __future__", "")


def test_an_old_python_is_told_so(boot, monkeypatch):
    monkeypatch.setattr(boot.sys, "version_info", (3, 9, 18))
    monkeypatch.setattr(boot, "newer_python", lambda: None)
    with pytest.raises(boot.Stop, match=r"3\.10.*3\.9\.18"):
        boot.main(["lab"])


def test_an_old_python_starts_a_newer_one(boot, monkeypatch):
    started = []
    monkeypatch.setattr(boot.sys, "version_info", (3, 9, 18))
    monkeypatch.setattr(boot, "newer_python", lambda: "/usr/bin/python3.12")
    monkeypatch.setattr(boot.os, "execv", lambda program, arguments: started.append(arguments) or sys.exit(0))
    with pytest.raises(SystemExit):
        boot.main(["test", "-x"])
    assert started[0][0] == "/usr/bin/python3.12" and started[0][2:] == ["test", "-x"]


def test_environment_choice(boot, monkeypatch, tmp_path):
    assert boot.choose_environment() == (REPO / ".venv", True)
    monkeypatch.setenv("CONDA_PREFIX", str(tmp_path / "conda"))
    monkeypatch.setenv("CONDA_DEFAULT_ENV", "base")
    assert boot.choose_environment() == (REPO / ".venv", True)
    monkeypatch.setenv("CONDA_DEFAULT_ENV", "ascend-c-lab")
    assert boot.choose_environment() == (tmp_path / "conda", False)
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "venv"))
    assert boot.choose_environment() == (tmp_path / "venv", False)
    monkeypatch.setenv("VIRTUAL_ENV", str(REPO / ".venv"))
    assert boot.choose_environment() == (REPO / ".venv", True)


def test_missing_tools_are_named_together_with_one_command(boot, monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(boot.shutil, "which", lambda name, **_: "/usr/bin/apt-get" if name == "apt-get" else None)
    monkeypatch.setattr(boot.system, "install_command", lambda things: "apt-get install " + " ".join(things))
    with pytest.raises(boot.Stop, match="(?s)g[+][+].*make.*apt-get install compiler make"):
        boot.check_tools()


def test_the_stamp_changes_with_what_it_stands_for(boot, monkeypatch, tmp_path):
    first = boot.stamp_of((3, 11, 7))
    assert first == boot.stamp_of((3, 11, 7)) != boot.stamp_of((3, 12, 1))
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    monkeypatch.setattr(boot, "ROOT", tmp_path)
    assert boot.stamp_of((3, 11, 7)) != first


@pytest.fixture
def index():
    """A package index that answers."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/whl/cpu"
    server.shutdown()
    server.server_close()


NOTHING = {"python": [3, 11, 7], "torch": None, "torch-npu": None}
TESTED = "torch==" + PROJECT["tool"]["labkit"]["tested-torch"]


def test_torch_comes_from_the_cpu_index_where_it_answers(boot, monkeypatch, index, capsys):
    monkeypatch.setenv("LABKIT_TORCH_INDEX", index)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert boot.torch_command(NOTHING, True) == [TESTED, "--index-url", index]
    assert "200 MB" in capsys.readouterr().out


def test_torch_falls_back_to_the_default_index_and_says_what_that_costs(boot, monkeypatch, capsys):
    monkeypatch.setenv("LABKIT_TORCH_INDEX", "http://127.0.0.1:9/whl/cpu")
    assert boot.torch_command(NOTHING, True) == [TESTED]
    said = capsys.readouterr().out
    assert "several GB" in said and "LABKIT_TORCH" in said
    monkeypatch.setenv("LABKIT_TORCH", "/wheels/torch-2.9.0.whl")
    assert boot.torch_command(NOTHING, True) == ["/wheels/torch-2.9.0.whl"]


def test_torch_that_is_there_is_kept(boot):
    assert boot.torch_command({**NOTHING, "torch": "2.6.0"}, False) == []
    assert boot.torch_command({**NOTHING, "torch": "2.10.0+cu128"}, True) == []


def test_torch_of_others_is_never_replaced(boot, monkeypatch):
    monkeypatch.setattr(boot, "answers", lambda url: False)
    with pytest.raises(boot.Stop, match="2.4.1"):
        boot.torch_command({**NOTHING, "torch": "2.4.1"}, False)
    assert boot.torch_command({**NOTHING, "torch": "2.4.1"}, True) == [TESTED]


def test_torch_follows_torch_npu(boot, monkeypatch):
    monkeypatch.setattr(boot, "answers", lambda url: False)
    for version in ("2.10.0.post4", "2.10.0rc1", "2.10.0+git1a2b3c", "2.10.0"):
        assert boot.torch_command({**NOTHING, "torch-npu": version}, False) == ["torch==2.10.0"]


def fake_environment(boot, monkeypatch, tmp_path, problem=None):
    """An active environment that is this test's own Python;
    pip is a recorder, `problem` what the probe finds, in turn.
    """
    calls, problems = [], list(problem or [])
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))
    monkeypatch.setattr(boot, "has_pip", lambda python: True)
    monkeypatch.setattr(boot, "distributions", lambda python: {**NOTHING, "python": [3, 11, 7], "torch": "2.13.0"})
    monkeypatch.setattr(boot, "probe", lambda python: problems.pop(0) if problems else None)
    monkeypatch.setattr(boot, "pip", lambda python, *arguments: calls.append(arguments))
    return calls


def test_the_second_call_installs_nothing(boot, monkeypatch, tmp_path):
    calls = fake_environment(boot, monkeypatch, tmp_path)
    assert boot.ensure() == tmp_path / "bin" / "python"
    assert calls == [("-e", ".[lab,test]")]
    assert json.loads((tmp_path / boot.STAMP).read_text())["key"] == boot.stamp_of((3, 11, 7))
    boot.ensure()
    assert len(calls) == 1
    for damaged in ("", "[]", "{}"):
        (tmp_path / boot.STAMP).write_text(damaged)
        boot.ensure()
    assert len(calls) == 4


def test_a_broken_environment_is_noticed_and_mended(boot, monkeypatch, tmp_path, capsys):
    calls = fake_environment(boot, monkeypatch, tmp_path)
    boot.ensure()
    found = ["No module named 'nbval'"]
    monkeypatch.setattr(boot, "probe", lambda python: found.pop(0) if found else None)
    boot.ensure()
    assert len(calls) == 2 and "nbval" in capsys.readouterr().out


def test_an_environment_that_stays_broken_is_not_called_ready(boot, monkeypatch, tmp_path):
    fake_environment(boot, monkeypatch, tmp_path, problem=["libgomp.so.1: cannot open"])
    with pytest.raises(boot.Stop, match="libgomp"):
        boot.ensure()
    assert not (tmp_path / boot.STAMP).exists()


def test_this_environment_passes_the_probe(boot):
    assert boot.probe(Path(sys.executable)) is None


def test_bootstrap_speaks_both_languages(boot):
    from bootstrap_text import TEXTS, text

    for key, (english, chinese) in TEXTS.items():
        fields = [{f for _, f, _, _ in string.Formatter().parse(t) if f} for t in (english, chinese)]
        assert fields[0] == fields[1], key
    assert text("ready", "zh") != text("ready", "en")


# ---- rules that all rooms keep

LONGEST = {"labkit": 500, "scripts": 500, "tests": 600}  # lines


def test_no_file_is_too_long():
    long = {
        str(f.relative_to(REPO)): n
        for f in tracked("*.py", "*.cpp", "*.h", "*.asc")
        if (n := len(f.read_text(encoding="utf-8").splitlines())) > LONGEST.get(f.relative_to(REPO).parts[0], 500)
    }
    assert not long


def test_every_module_says_what_it_is_for():
    silent = [
        str(f.relative_to(REPO))
        for f in tracked("labkit/*.py", "tests/*.py", "scripts/*.py")
        if not f.parent.name.startswith("scripts_")  # tests/bench: benchmarks as strangers write them
        if f.stat().st_size and not ast.get_docstring(ast.parse(f.read_text(encoding="utf-8")))
    ]
    assert not silent


def test_no_path_of_one_machine():
    own = re.compile(r"/wor[k]/(main|shared)|/tmp/lab\b|/roo[t]/\.")
    named = [
        str(f.relative_to(REPO))
        for f in tracked()
        if f != Path(__file__)
        and f.suffix not in (".png", ".npz")
        and own.search(f.read_text(encoding="utf-8", errors="replace"))
    ]
    assert not named


def _imports_at_the_top(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    todo: list[ast.stmt] = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").partition(".")[0])
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        elif isinstance(node, (ast.If, ast.Try)):
            todo += [*node.body, *node.orelse]
    return found


def test_torch_is_imported_inside_functions():
    outside = [
        str(f.relative_to(REPO))
        for f in tracked("labkit/*.py")
        if not {"device", "profiler", "fusion", "tuning", "serving", "migrate", "values.py", "touched.py"}
        & set(f.relative_to(REPO).parts)  # their modules are loaded where torch is
        and {"torch", "torch_npu"} & _imports_at_the_top(ast.parse(f.read_text(encoding="utf-8")))
    ]
    assert not outside


def test_the_twin_knows_nothing_of_python():
    twin = tracked("labkit/twin")
    assert not [f.name for f in twin if f.suffix == ".py"]
    assert not [
        f.name
        for f in twin
        if re.search(r"Python\.h|pybind|torch/", f.read_text(encoding="utf-8")) and "torch_npu" not in str(f)
    ]


def test_importing_labkit_is_cheap():
    text = "import sys, labkit; print([m for m in ('torch', 'numpy', 'IPython', 'typer') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_message_exists_in_both_languages():
    def leaves(entry):
        return {"": entry} if isinstance(entry, str) else entry

    def fields(text):
        return {f.partition(".")[0].partition("[")[0] for _, f, _, _ in string.Formatter().parse(text) if f}

    for key, entry in messages.tables().items():
        assert {"en", "zh"} <= set(entry), key
        english, chinese = leaves(entry["en"]), leaves(entry["zh"])
        assert set(english) == set(chinese), key
        for part in english:
            if isinstance(english[part], str):
                assert fields(chinese[part]) <= fields(english[part]), (key, part)


def test_what_scripts_take_from_the_lab_is_there():
    """Most scripts run by hand alone; a function that is renamed would break them unseen."""
    missing = []
    for script in tracked("scripts/*.py"):
        for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "labkit":
                module = importlib.import_module(node.module)
                for name in node.names:
                    inside = hasattr(module, name.name) or importlib.util.find_spec(f"{node.module}.{name.name}")
                    missing += [] if inside else [f"{script.name}:{node.lineno}: {node.module}.{name.name}"]
    assert not missing
