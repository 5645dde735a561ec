"""The session of a notebook: its parameters cell, validated, and what they choose (labkit.setup).

The values come from a person or from `papermill -p`, which warns of a wrong name and passes any type on; so names and
types are checked here, and the error says what the choices are.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
from dataclasses import dataclass

from labkit import chips, messages
from labkit.device import usable_npu

TARGETS = ("auto", "twin", "npu")
PARAMETERS = {"TARGET": "auto", "DEVICE": 0, "SEED": 0, "STRICT": False, "QUICK": False}

_OURS = "setup"  # the value of LABKIT_STRICT that begin() gives it
_put: dict[str, tuple[str, str | None]] = {}  # by variable: what begin() put there, and what the caller had there


@dataclass(frozen=True)
class Session:
    """target: "twin" or "npu"; reason: why the npu that was asked for cannot be used ("" otherwise)."""

    target: str
    device: int = 0
    seed: int = 0
    strict: bool = False
    quick: bool = False
    chip: str = chips.DEFAULT
    reason: str = ""

    @property
    def time_kind(self) -> str:
        return "measured" if self.target == "npu" else "modelled"

    def __repr__(self) -> str:
        say = messages.text
        if self.reason:
            line = say("session.no-npu", reason=self.reason)
        else:
            line = say(
                "session.ready",
                target=self.target,
                chip=self.chip,
                time_kind=say(f"exercise.{self.time_kind}"),
                seed=self.seed,
            )
        return "; ".join([line] + [say(f"session.{name}") for name in ("strict", "quick") if getattr(self, name)])


_current: Session | None = None


def current() -> Session:
    """The session that `begin` made; before that, one from the environment (LABKIT_TARGET,
    LABKIT_STRICT, LABKIT_SEED).
    """
    return _current or _make(**PARAMETERS)


def validate(parameters: dict) -> dict:
    """`parameters` over the defaults. Raises ValueError: an unknown name, a wrong type or target."""

    def fail(key: str, **numbers):
        raise ValueError(messages.text(key, **numbers))

    for name, value in parameters.items():
        if name not in PARAMETERS:
            fail("session.bad-name", name=name, choices=", ".join(PARAMETERS))
        wanted = type(PARAMETERS[name])
        if type(value) is not wanted:
            fail("session.bad-type", name=name, value=value, type=type(value).__name__, wanted=wanted.__name__)
        if name == "TARGET" and value not in TARGETS:
            fail("session.bad-target", value=value, choices=", ".join(TARGETS))
        if name == "DEVICE" and value < 0:
            fail("session.bad-type", name=name, value=value, type="int", wanted="0, 1, 2 ...")
    return {**PARAMETERS, **parameters}


def begin(TARGET: str = "auto", DEVICE: int = 0, SEED: int = 0, STRICT: bool = False, QUICK: bool = False) -> Session:
    """Validate, choose the target, seed Python, numpy and torch, install the device.

    Raises ValueError for a value that no notebook takes.
    An npu that cannot be used does not raise: checks then say SKIP.
    """
    global _current
    values = validate({"TARGET": TARGET, "DEVICE": DEVICE, "SEED": SEED, "STRICT": STRICT, "QUICK": QUICK})
    _take_back()
    session = _make(**values)
    _put_there("LABKIT_TARGET", session.target)
    if session.target == "twin":
        _simulate()
    if STRICT:
        _put_there("LABKIT_STRICT", _OURS)
    moved = session.device != (_current.device if _current else 0)
    _current = session
    _seed(session.seed)
    if not session.reason:
        _install()
        if moved:  # not else: on a node this begins to use the card
            import torch

            torch.npu.set_device(session.device)
    return session


def _put_there(name: str, value: str) -> None:
    _put[name] = value, os.environ.get(name)
    os.environ[name] = value


def _take_back() -> None:
    """What an earlier cell of this notebook chose is not the caller's environment; what was set since then is."""
    for name, (ours, theirs) in _put.items():
        if os.environ.get(name) == ours:
            del os.environ[name]
            if theirs is not None:
                os.environ[name] = theirs
    _put.clear()


def _make(TARGET: str, DEVICE: int, SEED: int, STRICT: bool, QUICK: bool) -> Session:
    wanted = os.environ.get("LABKIT_TARGET", "").strip() or "auto" if TARGET == "auto" else TARGET
    if wanted not in TARGETS:
        raise ValueError(messages.text("session.bad-target", value=wanted, choices=", ".join(TARGETS)))
    reason = ""
    if wanted != "twin":
        usable, reason = npu()
        wanted = "npu" if usable or wanted == "npu" else "twin"
        reason = reason if wanted == "npu" and not usable else ""
    seed = SEED + _more_seed()
    if not -(2**63) <= seed < 2**64:
        raise ValueError(messages.text("session.bad-seed", name="SEED", value=seed))
    strict = STRICT or os.environ.get("LABKIT_STRICT", "0") not in ("", "0")
    return Session(
        wanted,
        DEVICE,
        seed,
        strict,
        QUICK or os.environ.get("LABKIT_QUICK", "0") not in ("", "0"),
        _chip(wanted, reason, DEVICE),
        reason,
    )


def _more_seed() -> int:
    said = os.environ.get("LABKIT_SEED", "")
    try:
        return int(said or 0)
    except ValueError:
        raise ValueError(messages.text("session.bad-seed", name="LABKIT_SEED", value=said)) from None


def npu() -> tuple[bool, str]:
    """(usable, why not). Imports nothing heavy where torch_npu is not even installed."""
    loaded = getattr(sys.modules.get("torch_npu"), "__file__", None) is not None  # the simulated one has no file
    if not loaded and importlib.machinery.PathFinder.find_spec("torch_npu") is None:
        return False, messages.text("session.no-torch-npu")
    return (True, "") if usable_npu() else (False, messages.text("session.npu-probe"))


def _chip(target: str, reason: str, device: int) -> str:
    """The name of the card on a node; the modelled chip otherwise."""
    if target != "npu" or reason:
        return chips.chosen()
    import torch

    return torch.npu.get_device_name(device)


def _simulate() -> None:
    """TARGET = "twin" holds on a node too; once torch_npu is loaded there is no way back in this process."""
    loaded = sys.modules.get("labkit.device")  # importing it would install what LABKIT_DEVICE says at that moment
    if loaded is not None and loaded.mode() == "npu":
        raise ValueError(messages.text("session.restart"))
    os.environ["LABKIT_DEVICE"] = "sim"


def _seed(seed: int) -> None:
    import random

    import numpy as np

    random.seed(seed)
    np.random.seed(seed % 2**32)
    try:
        import torch
    except ImportError:
        return
    torch.manual_seed(seed)


def _install() -> None:
    from labkit import device

    device.install()
