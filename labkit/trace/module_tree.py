"""Where the device's time belongs: a tree of nn.Modules and operators, and the time of the kernels under each.

A kernel belongs to the innermost host range that was open, on the thread that issued it, at the moment its flow begins.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from labkit.trace.model import Trace

DEPTH = 5
ROUNDED = 0.002  # µs: a start and a duration are each written to the ns, so that one range may seem to end in the next
_MODULE = "nn.Module: "
_OUTER = "autograd::engine::evaluate_function: "


@dataclass
class Node:
    """A module or an operator. `us`: of the kernels at it and below."""

    name: str
    us: float = 0.0
    kernels: int = 0
    children: dict[str, "Node"] = field(default_factory=dict)

    def child(self, name: str) -> "Node":
        return self.children.setdefault(name, Node(name))

    def ordered(self) -> list["Node"]:
        return sorted(self.children.values(), key=lambda n: (-n.us, n.name))

    def json(self) -> dict:
        found = {"name": self.name, "us": round(self.us, 3), "kernels": self.kernels}
        return found | ({"children": [n.json() for n in self.ordered()]} if self.children else {})


def tree(trace: Trace, depth: int = DEPTH) -> Node:
    """All kernels of the trace by what issued them; what no range is known of lies under its operator type."""
    root = Node("")
    for path, (us, count) in sorted(_paths(trace).items()):
        node = root
        node.us, node.kernels = node.us + us, node.kernels + count
        for name in path[:depth]:
            node = node.child(name)
            node.us, node.kernels = node.us + us, node.kernels + count
    return root


def _paths(trace: Trace) -> dict[tuple[str, ...], tuple[float, int]]:
    kernels = trace.compute().select("type", "name", "dur", "op_time", "op_thread")
    sums: dict[tuple[str, ...], list] = defaultdict(lambda: [0.0, 0])
    unknown = kernels.filter(pl.col("op_time").is_null())
    for kind, name, dur in unknown.select("type", "name", "dur").iter_rows():
        entry = sums[(kind or name or "?",)]
        entry[0], entry[1] = entry[0] + dur, entry[1] + 1
    known = kernels.filter(pl.col("op_time").is_not_null())
    host = trace.host.filter(pl.col("kind") != "step")
    modules = bool((host["kind"] == "module").any())
    by_thread = {key[0]: part for key, part in host.partition_by("thread", as_dict=True).items()}
    for (thread,), part in known.partition_by("op_thread", as_dict=True).items():
        ranges = by_thread.get(thread)
        _sweep(part.sort("op_time"), ranges, modules, sums)
    return {path: (us, count) for path, (us, count) in sums.items()}


def _sweep(kernels: pl.DataFrame, ranges: pl.DataFrame | None, modules: bool, sums: dict) -> None:
    """One thread: ranges open and close in their order, each kernel takes what is open at its moment."""
    if ranges is None:
        names, starts, ends = [], np.empty(0), np.empty(0)
    else:
        ranges = ranges.sort(["start", "dur"], descending=[False, True])
        names, starts = ranges["name"].to_list(), ranges["start"].to_numpy()
        ends = starts + ranges["dur"].to_numpy()
    open_: list[tuple[float, str]] = []
    next_ = 0
    rows = zip(
        kernels["op_time"].to_list(), kernels["dur"].to_list(), kernels["type"].to_list(), kernels["name"].to_list()
    )
    for moment, dur, kind, name in rows:
        while next_ < len(names) and starts[next_] <= moment:
            while open_ and open_[-1][0] <= starts[next_] + ROUNDED:
                open_.pop()
            open_.append((ends[next_], names[next_]))
            next_ += 1
        while open_ and open_[-1][0] < moment:
            open_.pop()
        entry = sums[_path([n for _, n in open_], kind or name or "?", modules)]
        entry[0], entry[1] = entry[0] + dur, entry[1] + 1


def _path(names: list[str], kernel: str, modules: bool) -> tuple[str, ...]:
    """Modules from the outside in, then the outermost operator in the innermost one, then the kernel's type."""
    inside = [n.removeprefix(_MODULE) for n in names if n.startswith(_MODULE)]
    after = len(names) - next((i for i, n in enumerate(reversed(names)) if n.startswith(_MODULE)), len(names))
    operators = [n.removeprefix(_OUTER) for n in names[after:]]
    return (*inside, *operators[: 1 if modules else 2], kernel)
