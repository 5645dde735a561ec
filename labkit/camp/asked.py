"""A case as the worker is asked: without what is expected of it."""

from __future__ import annotations

from labkit.exercises.cases import Case, InOut, OnHost, Out


def fields_of(case: Case) -> dict:
    """A case without what is expected."""
    kinds = {InOut: "in-out", OnHost: "on-host"}
    args = [
        ("out", (tuple(a.shape) if not isinstance(a.shape, int) else a.shape, a.dtype)) if isinstance(a, Out)
        else (kinds[type(a)], a.tensor) if type(a) in kinds else ("plain", a)
        for a in case.args
    ]  # fmt: skip
    names = ("name", "blocks", "tile", "layout", "timed", "poison", "probe")
    return {"args": args, **{n: getattr(case, n) for n in names}}


def statements(case: Case) -> dict | None:
    """Of what a case expects, the words that golden.py's `run` uses for a submission that is right: "as it must be".
    A number, tensor or list among them stays here.
    """
    if not isinstance(case.expected, dict):
        return None
    return {k: v if isinstance(v, (str, bool)) else None for k, v in case.expected.items()}
