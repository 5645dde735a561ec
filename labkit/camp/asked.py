"""A case as the worker is asked: without what is expected of it."""

from __future__ import annotations

from pathlib import Path

from labkit.camp import wire
from labkit.exercises.cases import Case, InOut, OnFirstCard, OnHost, Out


def fields_of(case: Case) -> dict:
    """A case without what is expected."""
    kinds = {InOut: "in-out", OnHost: "on-host", OnFirstCard: "on-first-card"}
    args = [
        ("out", (tuple(a.shape) if not isinstance(a.shape, int) else a.shape, a.dtype)) if isinstance(a, Out)
        else (kinds[type(a)], a.tensor) if type(a) in kinds else ("plain", a)
        for a in case.args
    ]  # fmt: skip
    names = ("name", "blocks", "tile", "layout", "timed", "poison", "probe", "chip")
    return {"args": args, **{n: getattr(case, n) for n in names}}


def statements(case: Case) -> dict | None:
    """Of what a case expects, the words that golden.py's `run` uses for a submission that is right: "as it must be".
    A number, tensor or list among them stays here.
    """
    if not isinstance(case.expected, dict):
        return None
    return {k: v if isinstance(v, (str, bool)) else None for k, v in case.expected.items()}


def case_of(fields: dict, **more) -> Case:
    """fields: those of Case by name; arguments as (kind, value)."""
    kinds = {"in-out": InOut, "on-host": OnHost, "on-first-card": OnFirstCard, "plain": lambda v: v}
    kinds["out"] = lambda v: Out(*v)
    fields = dict(fields)
    args = tuple(kinds[kind](value) for kind, value in fields.pop("args"))
    return Case(args=args, expected=fields.pop("expected", None), **fields, **more)


# ---- the shown cases of a student's copy: what they are and what comes out, without what makes them


def freeze(cases: list[Case]) -> bytes:
    """Raises wire.NotPlain where a case needs code: a function to run, an error that it must raise."""
    for case in cases:
        if case.run is not None:
            raise wire.NotPlain(f"{case.name}: a function of golden.py")
    names = ("tolerance", "split", "expected")
    return wire.encode([fields_of(c) | {n: getattr(c, n) for n in names} for c in cases])


def frozen(file: str | Path) -> list[Case]:
    """What freeze() made."""
    return [case_of(fields) for fields in wire.decode(Path(file).read_bytes())]
