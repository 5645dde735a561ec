"""A platform wheel as a stranger has it: built, put into a fresh environment, and launched in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from places import REPO

FIRST = """
import labkit, torch
add = labkit.kernel("kernels/add/add.asc")
x, y = (torch.randn(32768).half().npu() for _ in range(2))
z = torch.zeros_like(x)
print(add[8](x, y, z, {"blockLength": 4096, "tileLength": 2048}))
assert torch.equal(z.cpu(), x.cpu() + y.cpu())
print(labkit.__file__)
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A virtual environment with the wheel in it. Everything else, torch too, is this environment's: no network."""
    home = tmp_path_factory.mktemp("stranger")
    words = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    for command in (
        [sys.executable, REPO / "scripts" / "platform_wheel.py", "--out", home / "dist"],
        [sys.executable, "-m", "venv", "--without-pip", home / "venv"],
    ):
        done = subprocess.run(command, env=words, cwd=home, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (home / "dist").glob("labkit-*-py3-none-linux_*.whl")
    python = home / "venv" / "bin" / "python"
    command = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index", wheel]
    subprocess.run(command, env=words, check=True)
    (packages,) = (home / "venv" / "lib").glob("python*/site-packages")
    (packages / "rest.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home


def run(place: Path, program: str, *arguments: str, cwd: Path) -> str:
    """Output of a program of that environment, with a cache of its own."""
    words = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "LABKIT_MARCH", "LABKIT_KERNELS")}
    words |= {"LABKIT_CACHE": str(place / "cache"), "LABKIT_PROGRESS": str(place / "progress.jsonl")}
    command = [str(place / "venv" / "bin" / program), *arguments]
    done = subprocess.run(command, env=words, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_first_launch_compiles_the_kernel_and_nothing_else(place):
    said = run(place, "python", "-c", FIRST, cwd=place)
    assert str(place / "venv") in said and "building" not in said and "compiling" not in said
    built = sorted(p.name for p in (place / "cache" / "build").iterdir())
    assert not [name for name in built if name.startswith(("libtwin", "labdevice", "twin"))], built


SOLVED = """
import labkit
from labkit.exercises.spec import load
from labkit.exercises.stub import template
print(labkit.check("add_copy_in", template(load("add_copy_in")).solution()).state)
"""


def test_a_workbook_is_laid_out_and_an_exercise_solved(place):
    assert "jupyter lab book" in run(place, "labkit", "init", "book", cwd=place)
    assert (place / "book" / "00_start" / "00.01_first_look.ipynb").is_file()
    assert run(place, "python", "-c", SOLVED, cwd=place / "book").strip().endswith("PASS")
