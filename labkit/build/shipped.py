"""What a platform wheel brings built: the twin's library and runner, the simulated device, so that a first launch
compiles the kernel and nothing else.

    twin("libtwin.so"), device(version)     where it is; None where it must be built here

scripts/build_shipped.py makes it, called by setup.py for scripts/platform_wheel.py.

The twin is there for a new processor and for any (LEVELS); the first that this machine's can run is taken. It counts
only while the sources beside it are those that it was made of, the device only for the very torch that it was made for.
"""

from __future__ import annotations

import json
import os
import platform
from functools import lru_cache
from pathlib import Path

from labkit.build import cache
from labkit.paths import twin_dir

# -march -> what /proc/cpuinfo must list
LEVELS = {
    "x86_64": {"x86-64-v3": {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}, "x86-64": set()},
    "aarch64": {"armv8-a": set()},
}
_PACKAGE = twin_dir().parent
HOME = _PACKAGE / "shipped"
MANIFEST = "manifest.json"


def sources(part: str) -> str:
    """A digest of the sources of the "twin" or the "device"."""
    folders = {"twin": ("twin/src", "twin/include"), "device": ("device/csrc",)}[part]
    parts: list[str | bytes] = []
    for folder in folders:
        for file in sorted(p for p in (_PACKAGE / folder).rglob("*") if p.is_file()):
            parts += [file.relative_to(_PACKAGE).as_posix(), file.read_bytes()]
    return cache.key(*parts)


@lru_cache(maxsize=1)
def _manifest() -> dict:
    try:
        held = json.loads((HOME / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return held if held.get("machine") == platform.machine() else {}


@lru_cache(maxsize=2)
def _fresh(part: str) -> bool:
    return bool(_manifest()) and _manifest().get(part) == sources(part)


def level(features: set[str] | None = None) -> str | None:
    """The first of LEVELS that a processor with these features (this one's) runs, of those that are here."""
    if features is None:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
            line = next((line for line in lines if line.startswith(("flags", "Features"))), "")
        features = set(line.partition(":")[2].split())
    known = LEVELS.get(platform.machine(), {})
    return next((name for name, needs in known.items() if needs <= features and (HOME / name).is_dir()), None)


def twin(file: str) -> Path | None:
    """Path of "libtwin.so" or "twin-runner"; None without a platform wheel, or with LABKIT_MARCH set."""
    if os.environ.get("LABKIT_MARCH") or not _fresh("twin"):
        return None
    found = level()
    path = HOME / found / file if found else None
    return path if path and path.is_file() else None


def device_torch() -> str | None:
    """The version of torch that the device of an installed platform wheel was built for; None without one."""
    return _manifest().get("torch")


def device(torch_version: str) -> Path | None:
    """Path of the simulated device's library for this torch, its local part ("+cpu") included."""
    path = HOME / "labdevice.so"
    return path if _manifest().get("torch") == torch_version and _fresh("device") and path.is_file() else None
