"""Probes of an Ascend node: torch_npu, CANN, driver, devices, and the target that follows from them.

A node whose NPU can not be used still has the twin, so what is wrong here is WARN; with LABKIT_TARGET=npu, where the
twin was ruled out, it is FAIL. On a machine without any of it every line is SKIP.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from labkit import messages
from labkit.environment.facts import Facts
from labkit.environment.report import Check, check
from labkit.messages import tomllib

GROUP = "HwHiAiUser"  # the group that may open the device files, unless the driver was installed with --install-for-all


@lru_cache(maxsize=1)
def compatibility() -> dict:
    """compatibility.toml: the published pairs of CANN and torch_npu."""
    return tomllib.loads(Path(__file__).with_name("compatibility.toml").read_text(encoding="utf-8"))


def _wrong(facts: Facts) -> str:
    return "FAIL" if facts.env.get("LABKIT_TARGET") == "npu" else "WARN"


def _release(version: str) -> tuple[int, int]:
    numbers = [int(n) for n in re.findall(r"\d+", version)[:2]]
    return tuple((numbers + [0, 0])[:2])


def _shown(facts: Facts, path: Path) -> str:
    """A path as the machine itself would write it."""
    return "/" + str(path.relative_to(facts.root)).lstrip("/") if path.is_relative_to(facts.root) else str(path)


def set_env(facts: Facts, home: Path) -> str:
    """The line that sets CANN's variables: releases keep set_env.sh in the folder itself or beside `latest`."""
    script = next((s for s in (home / "set_env.sh", home.parent / "set_env.sh") if s.exists()), home / "set_env.sh")
    return f"source {_shown(facts, script)}"


# ---- probes


def cann(facts: Facts) -> Check:
    found = facts.cann()
    if found is None:
        return check("cann", "SKIP", "cann.none")
    home, how = found
    shown = _shown(facts, home)
    if not home.is_dir():
        return check("cann", _wrong(facts), "cann.gone", f"unset {how}", variable=how, home=shown)
    version, least = facts.cann_version(home), compatibility()["minimum"]
    if how == "found":
        return check("cann", _wrong(facts), "cann.unset", set_env(facts, home), home=shown, version=version or "?")
    if version and _release(version) < _release(least):
        return check("cann", _wrong(facts), "cann.old", home=shown, version=version, least=least)
    return check("cann", "PASS", "cann", home=shown, version=version or "?", variable=how)


def bisheng(facts: Facts) -> Check:
    found = facts.cann()
    if found is None:
        return check("bisheng", "SKIP", "bisheng.skip")
    program = facts.bisheng(found[0])
    if program is None:
        return check("bisheng", _wrong(facts), "bisheng.none", set_env(facts, found[0]), home=_shown(facts, found[0]))
    return check("bisheng", "PASS", "bisheng", path=_shown(facts, program))


def driver(facts: Facts) -> Check:
    version, found = facts.driver(), facts.cann()
    if version is None and not facts.npu_devices():
        return check("driver", "SKIP", "driver.skip")
    if version is None:
        return check("driver", "WARN", "driver.unknown", "npu-smi info")
    cann_version = facts.cann_version(found[0]) if found else None
    # Release notes of CANN 9.1.0: drivers 25.2 and later; 25.0 is named as not supported.
    if cann_version and _release(cann_version) >= (9, 1) and _release(version) < (25, 2):
        return check("driver", _wrong(facts), "driver.old", version=version, cann=cann_version)
    return check("driver", "PASS", "driver", version=version)


def npu(facts: Facts) -> Check:
    devices = facts.npu_devices()
    if not devices:
        return check("npu", "SKIP", "npu.none")
    closed = [p for p in devices + facts.npu_managers() if not facts.access(p)]
    if closed:
        names = ", ".join(_shown(facts, p) for p in closed)
        return check(
            "npu",
            _wrong(facts),
            "npu.closed",
            (f"sudo usermod -a -G {GROUP} {facts.user()}", f"newgrp {GROUP}"),
            names=names,
            group=GROUP,
            count=len(devices),
        )
    return check("npu", "PASS", "npu", count=len(devices), names=", ".join(_shown(facts, p) for p in devices))


def torch_npu(facts: Facts) -> Check:
    """Never imports it: without CANN that raises, with CANN and no device it keeps the simulated device out."""
    version, torch = facts.version("torch-npu"), facts.version("torch")
    if version is None and facts.folder("torch_npu") is None:
        missing = bool(facts.npu_devices() and facts.cann())
        return check(
            "torch-npu",
            _wrong(facts) if missing else "SKIP",
            "torch_npu.wanted" if missing else "torch_npu.none",
            "pip install -e '.[lab,npu]'" if missing else (),
        )
    numbers = {"version": version or "?", "torch": torch or "?"}
    if not facts.cann() or not facts.cann()[0].is_dir() or not facts.npu_devices():
        lacks = "torch_npu.no_cann" if not facts.cann() else "torch_npu.no_device"
        if facts.shell("TORCH_DEVICE_BACKEND_AUTOLOAD") == "0" and _wrong(facts) == "WARN":
            return check("torch-npu", "SKIP", f"{lacks}.off", **numbers)
        mend = ("export TORCH_DEVICE_BACKEND_AUTOLOAD=0", "pip uninstall torch-npu")
        return check("torch-npu", _wrong(facts), lacks, mend, **numbers)
    if version and torch and _release(version) != _release(torch):
        wanted = ".".join(version.split(".")[:3])
        return check("torch-npu", _wrong(facts), "torch_npu.torch", f"pip install torch=={wanted}", **numbers)
    return check("torch-npu", "PASS", "torch_npu", **numbers)


def cann_torch_npu(facts: Facts) -> Check:
    """Whether the installed pair of CANN and torch_npu is a published one."""
    id, wheel, found = "cann-torch-npu", facts.version("torch-npu"), facts.cann()
    release = facts.cann_version(found[0]) if found else None
    if not wheel or not release:
        return check(id, "SKIP", "pair.skip")
    table = compatibility()["torch_npu"]
    row = ".".join(map(str, _release(release)))
    made_for = next((r for r, wheels in table.items() if wheel in wheels), None)
    numbers = {"wheel": wheel, "cann": release, "row": row, "made_for": made_for}
    if made_for == row:
        return check(id, "PASS", "pair", **numbers)
    if made_for is None or row not in table:
        return check(id, "SKIP", "pair.unknown", **numbers)
    same_torch = next((w for w in table[row] if _release(w) == _release(wheel)), table[row][0])
    return check(id, _wrong(facts), "pair.other", f"pip install torch-npu=={same_torch}", **numbers)


def target(facts: Facts) -> tuple[Check, str]:
    """(the line, "twin" or "npu"): where a kernel that is launched now will run, and why."""
    asked = facts.env.get("LABKIT_TARGET", "")
    if asked == "twin" and facts.shell("LABKIT_TARGET") == "twin":
        return check("target", "PASS", "target.asked", target="twin"), "twin"
    if asked == "twin" and facts.npu_devices():  # labkit.setup() sets the variable in its own process
        return check("target", "PASS", "target.session", target="twin"), "twin"
    usable, reason = facts.usable_npu()
    why = messages.text(f"doctor.why.{reason}.{'yes' if usable else 'no'}")
    if usable:
        return check("target", "PASS", "target.npu", why=why), "npu"
    if asked == "npu":
        return check("target", "FAIL", "target.refused", "unset LABKIT_TARGET", why=why), "npu"
    return check("target", "PASS", "target.twin", why=why), "twin"
