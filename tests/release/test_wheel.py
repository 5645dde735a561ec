"""What a wheel brings: notebooks, kernels, data; the built runtime of a platform wheel, taken only where it fits."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from places import REPO
from typer.testing import CliRunner

import labkit
from labkit import cli, paths
from labkit.build import runtime, shipped
from labkit.device import build as device_build
from labkit.environment import housekeeping


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Path:
    """The package as an installation has it (setup.py's own step, without the wheel around it)."""
    out = tmp_path_factory.mktemp("built")
    words = {**os.environ, "LABKIT_PLATFORM_WHEEL": "0"}
    command = [
        sys.executable,
        "setup.py",
        "-q",
        "build",
        "--build-base",
        str(out / "base"),
        "--build-lib",
        str(out / "lib"),
    ]
    subprocess.run(command, cwd=REPO, env=words, check=True, capture_output=True)
    return out / "lib" / "labkit"


def run(package: Path, code: str, cwd: Path, **more: str) -> str:
    """Output of a program that imports this labkit and no other."""
    words = {k: v for k, v in os.environ.items() if k not in ("LABKIT_KERNELS", "LABKIT_MARCH")}
    words |= {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"} | more
    done = subprocess.run([sys.executable, "-c", code], env=words, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_everything_is_inside_and_found(package, tmp_path):
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "notebooks", "kernels", "data"], cwd=REPO, capture_output=True, text=True
    )
    if tracked.returncode:
        pytest.skip("not a git clone")
    missing = [
        n for n in tracked.stdout.split("\0") if n and (REPO / n).is_file() and not (package / "share" / n).is_file()
    ]
    assert not missing
    assert not list(package.rglob("__pycache__")) and not (package / "shipped").exists()
    said = run(
        package,
        "import labkit\n"
        "from labkit import paths\n"
        "from labkit.exercises.spec import load\n"
        "from labkit.exercises.progress_log import log_path\n"
        "from labkit.notebook import source\n"
        "print(paths.repo_root(), len(source.sources()), load('add_copy_in').id, labkit.api('DataCopyPad') is not None)\n"
        "print(log_path())",
        tmp_path,
        LABKIT_PROGRESS="",
        LABKIT_CACHE=str(tmp_path / "cache"),
    ).splitlines()  # fmt: skip
    from labkit.notebook import source

    assert said[0] == f"{package / 'share'} {len(source.sources())} add_copy_in True"
    assert said[1].startswith(str(tmp_path / "cache")), "a person's progress does not lie in the package"


def test_init_lays_a_workbook_out(package, tmp_path):
    code = "import sys; sys.argv = ['labkit', 'init', 'my book']; from labkit.cli import main; main()"
    said = run(package, code, tmp_path)
    assert "jupyter lab 'my book'" in said
    assert len(list((tmp_path / "my book").rglob("*.ipynb"))) == len(list((REPO / "notebooks/source").glob("*.md")))


def test_a_grader_that_was_installed_keeps_the_solutions_out_of_reach(package, tmp_path):
    """And the copy that it gives to students has the package, without what it brought along."""
    code = """
from pathlib import Path
from labkit import paths
from labkit.camp import confine, release
share, root = str(paths.repo_root()), str(paths.import_root())
given = confine.readable()
print([p for p in given if share == p or share.startswith(p.rstrip("/") + "/") or p.startswith(share + "/")])
print(f"{root}/labkit/camp" in given, f"{root}/labkit/paths.py" in given, confine.environment(Path("x"))["PYTHONPATH"] == root)
release.student_copy(Path("student"), [], "")
print(*(Path("student", p).exists() for p in ("labkit/paths.py", "pyproject.toml", "scripts", "labkit/share")))
"""
    said = run(package, code, tmp_path).splitlines()
    assert said == ["[]", "True True True", "True True True False"]


def test_one_version():
    said = CliRunner().invoke(cli.app, ["--version"]).output
    assert said == f"labkit {labkit.__version__}\n" and re.fullmatch(r"0\.\d+\.\d+", labkit.__version__)
    others = [n for n in ("setup.py", "pyproject.toml") if re.search(r"(?m)^version\s*=\s*\"", (REPO / n).read_text())]
    assert not others
    changes = (REPO / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"(?m)^## \[(.+?)\]", changes)
    assert headings[0] == "Unreleased" and headings[1] == labkit.__version__


# ---- the built runtime


@pytest.fixture
def brought(tmp_path, monkeypatch):
    """A folder as a platform wheel brings it, with empty files in it."""
    import platform

    for name in shipped.LEVELS[platform.machine()]:
        (tmp_path / name).mkdir()
        for file in ("libtwin.so", "twin-runner"):
            (tmp_path / name / file).touch()
    (tmp_path / "labdevice.so").touch()
    facts = {
        "machine": platform.machine(),
        "twin": shipped.sources("twin"),
        "device": shipped.sources("device"),
        "torch": "9.9",
    }
    monkeypatch.setattr(shipped, "HOME", tmp_path)
    monkeypatch.delenv("LABKIT_MARCH", raising=False)

    def write(**more):
        (tmp_path / "manifest.json").write_text(json.dumps(facts | more))
        for cached in (shipped._manifest, shipped._fresh, runtime.library, runtime.runner):
            cached.cache_clear()

    write()
    yield write
    monkeypatch.undo()
    for cached in (shipped._manifest, shipped._fresh, runtime.library, runtime.runner):
        cached.cache_clear()


def test_what_was_brought_is_taken(brought, monkeypatch):
    assert runtime.library().parent.parent == shipped.HOME and runtime.runner().name == "twin-runner"
    monkeypatch.setattr(device_build, "torch_home", lambda: (Path("x"), "9.9"))
    assert device_build.library() == shipped.HOME / "labdevice.so"


def test_the_doctor_counts_what_was_brought(brought, monkeypatch, tmp_path):
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path / "empty"))
    monkeypatch.setattr(device_build, "torch_home", lambda: (Path("x"), "9.9"))
    assert housekeeping.built("twin") and housekeeping.built("device")
    brought(twin="other", torch="9.8")
    assert not housekeeping.built("twin") and not housekeeping.built("device")


@pytest.mark.parametrize("wrong", [{"twin": "other"}, {"machine": "riscv64"}, {"twin": None}])
def test_a_runtime_of_other_sources_is_not_taken(brought, wrong):
    brought(**wrong)
    assert shipped.twin("libtwin.so") is None


def test_a_device_of_another_torch_is_not_taken(brought):
    assert shipped.device("9.9") and shipped.device("9.9+cpu") is None and shipped.device("9.8") is None
    brought(device="other")
    assert shipped.device("9.9") is None


def test_an_instruction_set_that_is_asked_for_is_built(brought, monkeypatch):
    monkeypatch.setenv("LABKIT_MARCH", "x86-64")
    assert shipped.twin("libtwin.so") is None


def test_an_old_processor_takes_the_plain_one(brought, monkeypatch):
    monkeypatch.setattr(shipped.platform, "machine", lambda: "x86_64")
    for name in shipped.LEVELS["x86_64"]:
        (shipped.HOME / name).mkdir(exist_ok=True)
    new = {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "sse4_2"}
    assert shipped.level(new) == "x86-64-v3"
    assert shipped.level(new - {"f16c"}) == shipped.level(set()) == "x86-64"


def test_without_a_wheel_there_is_nothing_to_take(tmp_path, monkeypatch):
    monkeypatch.setattr(shipped, "HOME", tmp_path)
    shipped._manifest.cache_clear()
    shipped._fresh.cache_clear()
    assert shipped.twin("libtwin.so") is None and shipped.device("9.9") is None
    shipped._manifest.cache_clear()
    shipped._fresh.cache_clear()


def test_the_images_name_what_exists():
    """No docker here: names of files, extras and commands in the two Dockerfiles are held to the repository."""
    extras = labkit_extras()
    for name in ("Dockerfile", "Dockerfile.npu"):
        text = (REPO / name).read_text(encoding="utf-8")
        assert set(re.findall(r"\[([\w,]+)\]\"", text)[0].split(",")) <= extras
        for command in re.findall(r"labkit (\w+)", text.split("FROM", 1)[1]):
            assert command in CliRunner().invoke(cli.app, ["--help"]).output
        assert all((REPO / p).exists() for p in re.findall(r"(scripts/\w+\.py|pyproject\.toml)", text))
        assert "quay.io/ascend/cann:9.1.0-910b-ubuntu22.04-py3.11" in text or "python:3.11-slim-bookworm" in text


def labkit_extras() -> set[str]:
    from labkit.messages import tomllib

    return set(tomllib.loads((REPO / "pyproject.toml").read_text())["project"]["optional-dependencies"])


def test_paths_of_a_checkout():
    assert not paths.installed() and paths.repo_root() == paths.import_root() == REPO


def test_the_runner_finds_its_library_by_name():
    """A path of the machine that built the wheel is not there on another."""
    said = subprocess.run(["readelf", "-d", str(runtime.runner())], capture_output=True, text=True, check=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", said)
    assert "libtwin.so" in needed and not [name for name in needed if "/" in name]
