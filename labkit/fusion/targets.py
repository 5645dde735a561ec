"""One call over devices: what fusion does for a target, and what it cannot do there."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from labkit import device as npu
from labkit.fusion.passes import Rule
from labkit.fusion.rules import DEFAULT, RULES
from labkit.messages import text

CPU, SIMULATED, REAL = "cpu", "npu, simulated", "npu"
TARGETS = ("cpu", "npu", "simulated", "real")  # npu: the one that there is


@dataclass(frozen=True)
class Plan:
    """What fusion does on a device. where: CPU, SIMULATED or REAL; inner: the backend of torch.compile that gets the
    graph afterwards; rules: those that can be applied there; cannot: what is not done there, a sentence each;
    available: whether it can be run on this machine."""

    where: str
    inner: str
    rules: tuple[str, ...]
    cannot: tuple[str, ...]
    available: bool = True

    def __repr__(self) -> str:
        said = text("fusion.plan", where=self.where, inner=self.inner, rules=", ".join(self.rules))
        return "\n".join([said, *(f"- {c}" for c in self.cannot)])


def plan(
    device: str | torch.device = "npu",
    rules: Sequence[str] | None = None,
    inner: str | None = None,
    *,
    target: str | None = None,
) -> Plan:
    """What backend() and fuse() do for tensors on this device, or for a target: "cpu", "simulated", "real", or "npu"
    for the one of both that there is. A target that is not here can be asked for, not run. Raises ValueError for a
    device, a target or a rule that they do not know."""
    if target is not None and target not in TARGETS:
        raise ValueError(text("fusion.target", target=target, known=", ".join(TARGETS)))
    wanted = target or torch.device(device).type
    if wanted not in TARGETS:
        raise ValueError(text("fusion.device", device=wanted))
    there = "real" if npu.install() != "sim" else "simulated"
    kind, wanted = ("cpu" if wanted == "cpu" else "npu"), there if wanted == "npu" else wanted
    chosen = rules_by_name(rules)
    usable = tuple(r.name for r in chosen if kind in r.needs)
    others = [r.name for r in chosen if kind not in r.needs]
    cannot = [text("fusion.cannot.rules", rules=", ".join(others))] if others else []
    make = {"cpu": _cpu, "simulated": _simulated, "real": _real}[wanted]
    where, inner, more = make(inner, there)
    return Plan(where, inner, usable, (*cannot, *more), wanted in ("cpu", there))


def _cpu(inner: str | None, there: str) -> tuple[str, str, list[str]]:
    compiler = any(shutil.which(c) for c in ("g++", "clang++", "c++"))
    cannot = [] if compiler or inner else [text("fusion.cannot.inductor")]
    return CPU, inner or ("inductor" if compiler else "aot_eager"), cannot


def _simulated(inner: str | None, there: str) -> tuple[str, str, list[str]]:
    cannot = [text("fusion.cannot.generated"), text("fusion.cannot.measured")]
    if there != "simulated":
        cannot.append(text("fusion.cannot.no_simulation"))
    return SIMULATED, inner or "npu", cannot


def _real(inner: str | None, there: str) -> tuple[str, str, list[str]]:
    """torch_npu names a backend "npu" (torchair), which has passes of its own."""
    cannot = [text("fusion.cannot.untried")]
    if there != "real":
        return REAL, inner or "npu", [*cannot, text("fusion.cannot.no_card")]
    if inner is None and "npu" not in torch._dynamo.list_backends():
        return REAL, "aot_eager", [*cannot, text("fusion.cannot.torchair")]
    return REAL, inner or "npu", [*cannot, text("fusion.cannot.inner", inner=inner or "npu")]


def here(target: str | None, kind: str | None, rules: Sequence[str] | None, inner: str | None) -> Plan:
    """plan() for something that is to run: on the device `kind` that the tensors are on, None where that is not known
    yet. Raises RuntimeError for a target that this machine or these tensors are not."""
    made = plan(kind or "cpu", rules, inner, target=target)
    if not made.available:
        raise RuntimeError(text("fusion.target.absent", target=target, why=made.cannot[-1]))
    if target is not None and kind is not None and (target == "cpu") != (kind == "cpu"):
        raise RuntimeError(text("fusion.target.elsewhere", target=target, where=kind))
    return made


def rules_by_name(names: Sequence[str] | None) -> list[Rule]:
    """The rules in the order in which they are applied. Raises ValueError for a name that there is not."""
    names = DEFAULT if names is None else tuple(names)
    unknown = [n for n in names if n not in RULES]
    if unknown:
        raise ValueError(text("fusion.rule", rule=unknown[0], known=", ".join(RULES)))
    return [rule for name, rule in RULES.items() if name in names]
