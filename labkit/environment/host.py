"""Probes of the machine itself, of Python's packages and of what the lab has built. One function, one line.

A probe takes `Facts` and returns a `Check`. FAIL means that the lab can not do its work here; WARN that it can, less
well; SKIP that there was nothing to look at.
"""

from __future__ import annotations

import re

from labkit.build import packages, shipped
from labkit.build.compiler import ToolError
from labkit.environment.facts import Facts
from labkit.environment.report import Check, check
from labkit.source.errors import CompileError

MIN_PYTHON, TESTED_PYTHON = (3, 10), (3, 14)
MIN_GCC, MIN_CLANG = 10, 12  # C++17 complete, and what torch's own headers ask for
LOW_MEMORY = 2 << 30  # bytes; one compilation of the device takes 0.6 GB, a notebook kernel with torch 0.5 GB
LOW_DISK, NO_DISK = 1 << 30, 100 << 20


def _size(count: float) -> str:
    return f"{count / (1 << 30):.1f} GB" if count >= 1 << 30 else f"{count / (1 << 20):.0f} MB"


def _install(facts: Facts, *things: str) -> str:
    return packages.install_command(things, facts.env, facts.which, facts.is_root())


def _dots(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


# ---- the machine


def python(facts: Facts) -> Check:
    have = facts.python()
    numbers = {"have": _dots(have), "need": _dots(MIN_PYTHON), "newest": _dots(TESTED_PYTHON)}
    if have[:2] < MIN_PYTHON:
        return check("python", "FAIL", "python.old", (_install(facts, "python"), "make lab"), **numbers)
    if have[:2] > TESTED_PYTHON:
        return check("python", "WARN", "python.new", **numbers)
    if facts.platform() != "linux":
        return check("python", "WARN", "python.platform", platform=facts.platform(), **numbers)
    return check("python", "PASS", "python", **numbers)


def compiler(facts: Facts) -> Check:
    try:
        version = facts.compiler()
    except ToolError as error:
        return check("compiler", "FAIL", "compiler.none", _install(facts, "compiler"), error=error)
    except CompileError as error:
        reason = (str(error).strip().splitlines() or ["?"])[0]
        return check("compiler", "FAIL", "compiler.broken", _install(facts, "compiler"), error=reason)
    except OSError as error:  # the cache can not be written: the probe of the cache says what to do
        return check("compiler", "SKIP", "compiler.unknown", error=error)
    number = re.search(r"(\d+)\.\d+(?:\.\d+)?", re.sub(r"\([^)]*\)", "", version))
    least = MIN_CLANG if "clang" in version else MIN_GCC
    if number and int(number.group(1)) < least:
        return check("compiler", "FAIL", "compiler.old", _install(facts, "compiler"), version=version, least=least)
    return check("compiler", "PASS", "compiler", version=version)


def make(facts: Facts) -> Check:
    found = facts.which("make")
    if not found:
        return check("make", "WARN", "make.none", _install(facts, "make"))
    return check("make", "PASS", "make", path=found)


def cores(facts: Facts) -> Check:
    count = facts.cores()
    return check("cores", "PASS" if count > 1 else "WARN", "cores" if count > 1 else "cores.one", count=count)


def memory(facts: Facts) -> Check:
    total, available = facts.memory()
    numbers = {"total": _size(total), "available": _size(available), "need": _size(LOW_MEMORY)}
    if not total:
        return check("memory", "SKIP", "memory.unknown")
    if available < LOW_MEMORY:
        return check("memory", "WARN", "memory.low", **numbers)
    return check("memory", "PASS", "memory", **numbers)


def cache(facts: Facts) -> Check:
    try:
        return check("cache", "PASS", "cache", folder=facts.cache())
    except OSError as error:
        return check("cache", "FAIL", "cache.closed", "export LABKIT_CACHE=$HOME/labkit-cache", error=error)


def disk(facts: Facts) -> Check:
    try:
        free = facts.disk_free(facts.cache())
    except OSError:
        return check("disk", "SKIP", "disk.unknown")
    numbers = {"free": _size(free), "need": _size(LOW_DISK)}
    mend = ("labkit clean", "export LABKIT_CACHE=/a/folder/on/a/larger/disk")
    if free < NO_DISK:
        return check("disk", "FAIL", "disk.low", mend, **numbers)
    if free < LOW_DISK:
        return check("disk", "WARN", "disk.low", mend, **numbers)
    return check("disk", "PASS", "disk", **numbers)


# ---- Python packages


def _release(version: str | None) -> str:
    """Without the part behind "+", as an index names it."""
    return re.sub("[+].*", "", version or "")


def _torch_install(requirement: str) -> str:
    return f"pip install '{requirement}' --index-url https://download.pytorch.org/whl/cpu"


def torch(facts: Facts) -> Check:
    wanted, low, high = facts.torch_range()
    version, cuda = facts.version("torch"), facts.torch_cuda()
    # A platform wheel's device fits one torch: with another it is compiled again.
    built_for = _release(shipped.device_torch())
    install = _torch_install(f"torch=={built_for}" if built_for else wanted)
    if version is None:
        return check("torch", "FAIL", "torch.none", install, wanted=wanted)
    have = tuple(int(n) for n in re.findall(r"\d+", version)[:2])
    if have < low:
        return check("torch", "FAIL", "torch.old", install, version=version, wanted=wanted)
    if have >= high:
        return check("torch", "WARN", "torch.new", install, version=version, wanted=wanted)
    if cuda:
        return check(
            "torch",
            "WARN",
            "torch.cuda",
            ("pip uninstall -y torch triton", _torch_install(f"torch=={built_for or _release(version)}")),
            version=version,
            cuda=cuda,
        )
    return check("torch", "PASS", "torch", version=version, wanted=wanted)


def jupyterlab(facts: Facts) -> Check:
    version = facts.version("jupyterlab")
    if version is None:
        return check("jupyterlab", "WARN", "jupyterlab.none", "pip install -e '.[lab]'")
    return check("jupyterlab", "PASS", "jupyterlab", version=version)


def browser(facts: Facts) -> Check:
    program = next((p for name in ("chromium", "chromium-browser", "google-chrome") if (p := facts.which(name))), None)
    driver = facts.which("chromedriver")
    if program and driver:
        return check("browser", "PASS", "browser", program=program)
    return check("browser", "SKIP", "browser.none", _install(facts, "browser"))


# ---- what the lab builds


def _built(id: str, facts: Facts) -> Check:
    if facts.built(id):
        return check(id, "PASS", f"{id}.built")
    return check(id, "SKIP", f"{id}.later", "labkit prebuild")


def twin(facts: Facts) -> Check:
    return _built("twin", facts)


def device(facts: Facts) -> Check:
    return _built("device", facts)


def confined(facts: Facts) -> Check:
    if not facts.built("twin"):
        return check("confined", "SKIP", "confined.later")
    missing = facts.unconfined()
    if missing:
        return check("confined", "WARN", "confined.in_part", missing="; ".join(missing))
    return check("confined", "PASS", "confined")
