"""Commands that install what the lab needs with this machine's own package manager.

scripts/bootstrap.py loads this file by its path before anything is installed, perhaps with a Python that is too old:
standard library only, no import of labkit, no new syntax.
"""

import os
import shutil

# program, command, and its names for each thing
_THINGS = ("compiler", "make", "venv", "python", "browser")
_MANAGERS = (
    (
        "apt-get",
        "apt-get install -y",
        "g++",
        "make",
        "python3-venv",
        "python3.11 python3.11-venv",
        "chromium chromium-driver",
    ),
    ("dnf", "dnf install -y", "gcc-c++", "make", "python3-virtualenv", "python3.11", "chromium chromedriver"),
    ("yum", "yum install -y", "gcc-c++", "make", "python3-virtualenv", "python3.11", "chromium chromedriver"),
    ("zypper", "zypper install -y", "gcc-c++", "make", "python3-virtualenv", "python311", "chromium chromedriver"),
    ("pacman", "pacman -S --needed", "gcc", "make", "python-virtualenv", "python", "chromium"),
    ("apk", "apk add", "g++", "make", "py3-virtualenv", "python3", "chromium chromium-chromedriver"),
)
_CONDA = {"compiler": "gxx", "make": "make", "python": "python=3.11"}


def conda_prefix(env):
    """The active conda environment's folder; None where there is none or it is conda's own `base`."""
    prefix = env.get("CONDA_PREFIX")
    return None if not prefix or env.get("CONDA_DEFAULT_ENV") == "base" else prefix


def install_command(things, env=None, which=shutil.which, root=None):
    """The command that installs `things`, some of "compiler", "make", "venv", "python", "browser".

    env, which, root: the machine in question, by default this one.
    """
    env = os.environ if env is None else env
    if conda_prefix(env) and all(thing in _CONDA for thing in things):
        return "conda install -c conda-forge " + " ".join(_CONDA[thing] for thing in things)
    root = os.geteuid() == 0 if root is None else root
    for manager in _MANAGERS:
        if which(manager[0]):
            names = " ".join(manager[2 + _THINGS.index(thing)] for thing in things)
            return ("" if root else "sudo ") + manager[1] + " " + names
    return "install with your package manager: " + ", ".join(things)
