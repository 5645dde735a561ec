"""What may go wrong with a model on a card, each with its reason and the calls that show it. No grades, no points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import torch

from labkit.messages import text
from labkit.migrate.recording import Call
from labkit.migrate.support import CPU, documented, support


@dataclass(frozen=True)
class Risk:
    """kind: a word for programs; why: a sentence; where: operators or modules with the number of calls, most first."""

    kind: str
    why: str
    where: tuple[tuple[str, int], ...]

    @property
    def calls(self) -> int:
        return sum(count for _, count in self.where)


def _on_cpu(call: Call) -> bool:
    return support(call.operator) == CPU and not call.moves


def _double(call: Call) -> bool:
    return bool(call.kernels) and any(t in (torch.float64, torch.complex128) for t in call.types)


def _complex(call: Call) -> bool:
    return bool(call.kernels) and any(t.is_complex for t in call.types)


def _undocumented(call: Call) -> bool:
    limit = documented(call.name)
    return bool(call.kernels and limit and call.types) and str(call.types[0]).removeprefix("torch.") not in limit[1]


def _values_decide_shape(call: Call) -> bool:
    return torch.Tag.dynamic_output_shape in call.operator.tags


def _waits(call: Call) -> bool:
    return call.waits and not _values_decide_shape(call)


# Sums into the same place come in any order: index_add, scatter_add and what is built of them.
_UNORDERED = {"index_add", "index_put", "scatter_add", "scatter_reduce", "embedding_dense_backward",
              "_embedding_bag_dense_backward", "put", "index_reduce"}  # fmt: skip


def _unordered(call: Call) -> bool:
    name = call.name.partition("::")[2].removesuffix("_")
    if name == "index_put":  # without accumulate the last one wins, which is as unordered where an index stands twice
        return bool(call.kernels)
    return name in _UNORDERED and bool(call.kernels)


CHECKS: tuple[tuple[str, Callable[[Call], bool], Callable[[Call], str]], ...] = (
    ("cpu", _on_cpu, lambda c: c.name),
    ("waits", _waits, lambda c: c.module or c.name),
    ("shapes", _values_decide_shape, lambda c: c.name),
    ("double", _double, lambda c: c.name),
    ("complex", _complex, lambda c: c.name),
    ("types", _undocumented, lambda c: f"{c.name} {str(c.types[0]).removeprefix('torch.')}"),
    ("order", _unordered, lambda c: c.name),
)


def risks(calls: list[Call]) -> list[Risk]:
    """Those that the calls show, in the order of CHECKS."""
    found = []
    for kind, shows, name in CHECKS:
        where = Counter(name(call) for call in calls if shows(call))
        if where:
            found.append(Risk(kind, text(f"migrate.risk-{kind}"), tuple(where.most_common())))
    return found
