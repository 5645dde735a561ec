"""Fusion sets: which neighbours of a graph go into one kernel.

The operators of the graph stand in a row, in its own order; between two of them there is a cut or none. A run of
operators without a cut is one generated kernel, so n operators have 2 ** (n - 1) sets, of at most n (n + 1) / 2
kernels. A run that the generator refuses makes its sets impossible.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

import torch

from labkit import chips, device, messages
from labkit.codegen import Refused
from labkit.fusion.chain import FREE
from labkit.fusion.fused import FusedKernel
from labkit.fusion.graph import name_of, out_of_place
from labkit.launch.runner import clear_l2
from labkit.tuning import clock as clocks
from labkit.tuning.problem import Point, Problem

MOST = 14  # operators: 8192 sets


def sets(function: Callable, tensors: Sequence, *, chip: str | None = None, name: str | None = None) -> Problem:
    """function: of elementwise operators, broadcasts and row reductions on `tensors`, which only give shapes and types.
    A parameter "a>b" says whether the neighbours a and b are one kernel. Raises Refused for an operator that no kernel
    can be generated for alone, ValueError for more than MOST operators."""
    graph = Graph(function, tensors, chip := chip or chips.chosen())
    if not 2 <= len(graph.units) <= MOST:
        raise ValueError(messages.text("tuning.operators", count=len(graph.units), most=MOST))
    for i in range(len(graph.units)):
        graph.kernel(i, i + 1)
    names = [f"{a[0].name}>{b[0].name}" for a, b in zip(graph.units, graph.units[1:])]
    sizes = [(tuple(t.shape), tuple(t.stride()), str(t.dtype)) for t in tensors]

    def parts(point: Point) -> list[tuple[int, int]]:
        ends = [i + 1 for i, n in enumerate(names) if not point[n]] + [len(graph.units)]
        return list(zip([0, *ends], ends))

    def refuse(point: Point) -> str | None:
        return next((why for part in parts(point) if (why := graph.why(*part))), None)

    return Problem(
        name or f"sets of {getattr(function, '__name__', type(function).__name__)}",
        {n: (False, True) for n in names},
        clocks.guarded(lambda point: graph.time(parts(point))),
        refuse,
        lambda point: graph.predict(parts(point)),
        {n: False for n in names},
        clocks.kind(),
        clocks.about(chip, str(graph.module.code), sizes),
        lambda point: graph.chain(parts(point)),
    )


class Graph:
    """units: each an operator and the pieces of its result; kernels of runs of them are made once."""

    def __init__(self, function: Callable, tensors: Sequence, chip: str):
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch.fx.experimental.proxy_tensor import make_fx

        mode = FakeTensorMode(allow_non_fake_inputs=True)
        with mode:
            fakes = [torch.empty_strided(t.shape, t.stride(), dtype=t.dtype) for t in tensors]
        pure = torch.func.functionalize(function, remove="mutations")
        with torch.no_grad():
            self.module = make_fx(pure, tracing_mode="real", _allow_non_fake_inputs=True)(*fakes)
        for node in self.module.graph.nodes:
            out_of_place(node)
        self.module.graph.eliminate_dead_code()
        self.chip = chip
        nodes = list(self.module.graph.nodes)
        self.inputs = [n for n in nodes if n.op == "placeholder"]
        self.output = next(n for n in nodes if n.op == "output")
        work = [n for n in nodes if n.op == "call_function" and name_of(n) not in FREE]
        self.units = [[n, *(u for u in n.users if u.target is operator.getitem)] for n in work]
        self.unit_of = {n: i for i, unit in enumerate(self.units) for n in unit}
        self.kernels: dict[tuple[int, int], FusedKernel | Refused] = {}
        self.wanted: dict[tuple[int, int], tuple[list, list]] = {}

    # ---- one kernel

    def _origins(self, node) -> list:
        """Whose memory a node shows: itself, or through views what they look at; nothing of a constant."""
        if node in self.unit_of or node.op == "placeholder":
            return [node]
        return [o for n in node.all_input_nodes for o in self._origins(n)]

    def _reads(self, node, inside: set) -> list:
        """What a node reads from outside; a view of an outer tensor is made outside, where it costs nothing."""
        found = []
        for n in node.all_input_nodes:
            origins = self._origins(n)
            if origins and not inside & set(origins):
                found.append(n)
            elif n not in self.unit_of:
                found += self._reads(n, inside)
        return found

    def _interface(self, first: int, end: int) -> tuple[list, list]:
        """(what the units first..end read from outside, what others read of them)."""
        if (first, end) not in self.wanted:
            inside = {n for unit in self.units[first:end] for n in unit}
            reads = dict.fromkeys(r for unit in self.units[first:end] for r in self._reads(unit[0], inside))
            readers = [*(unit[0] for unit in self.units[end:]), self.output]
            later = {o for reader in readers for n in reader.all_input_nodes for o in self._origins(n)}
            gives = [n for unit in self.units[first:end] for n in unit if n in later]
            self.wanted[first, end] = list(reads), gives
        return self.wanted[first, end]

    def kernel(self, first: int, end: int) -> FusedKernel:
        """Of the units first..end. Raises Refused."""
        if (first, end) not in self.kernels:
            try:
                self.kernels[first, end] = self._make(first, end)
            except Refused as e:
                self.kernels[first, end] = e
        made = self.kernels[first, end]
        if isinstance(made, Refused):
            raise made
        return made

    def why(self, first: int, end: int) -> str | None:
        try:
            self.kernel(first, end)
        except Refused as e:
            return str(e)
        return None

    def _make(self, first: int, end: int) -> FusedKernel:
        reads, gives = self._interface(first, end)

        def part(*given):
            there = dict(zip(reads, given))

            made = [self._value(n, there) for n in gives]
            return made[0] if len(made) == 1 else tuple(made)

        examples = [torch.empty_strided(v.shape, v.stride(), dtype=v.dtype) for v in (n.meta["val"] for n in reads)]
        name = "_".join(unit[0].name.strip("_") for unit in self.units[first:end])[:40]
        return FusedKernel(part, examples, name, "once", self.chip, False)

    def _value(self, node, there: dict):
        """Of a node from those that are there; what it takes beyond them is computed by PyTorch."""
        if node not in there:
            if node.op == "get_attr":
                return getattr(self.module, node.target)
            args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda n: self._value(n, there))
            there[node] = node.target(*args, **kwargs)
        return there[node]

    # ---- a set

    def predict(self, parts: list[tuple[int, int]]) -> float:
        total, seen = 0.0, set()
        for part in parts:
            reads, gives = self._interface(*part)
            held = tuple(f"x{i}" for i, n in enumerate(reads) if seen.issuperset(self._origins(n)))
            total += self.kernel(*part).predict(held=held).us
            seen |= {*gives, *(o for n in reads for o in self._origins(n))}
        return total

    def time(self, parts: list[tuple[int, int]]) -> float:
        """us of the launches together, one after the other, the L2 as they leave it; at the start it is empty."""
        device.install(self.chip)
        given = {n: self._empty(n) for n in self.inputs}
        if clocks.kind() == "measured":
            return clocks.measured(lambda: self._launch(parts, dict(given), False))
        clear_l2()
        return self._launch(parts, given, True)

    def _launch(self, parts: list[tuple[int, int]], there: dict, timing_only: bool) -> float:
        total = 0.0
        for part in parts:
            reads, gives = self._interface(*part)
            kernel = self.kernel(*part)
            made = kernel.launch([self._value(n, there) for n in reads], timing_only=timing_only)
            there |= zip(gives, [made] if isinstance(made, torch.Tensor) else made)
            total += kernel.record.time_us
        return total

    @staticmethod
    def _empty(node):
        v = node.meta["val"]
        return torch.empty_strided(v.shape, v.stride(), dtype=v.dtype, device="npu")

    def chain(self, parts: list[tuple[int, int]]) -> Callable:
        """The function as those kernels, on npu tensors."""

        def call(*tensors):
            there = dict(zip(self.inputs, tensors))
            self._launch(parts, there, False)

            return torch.fx.map_arg(self.output.args[0], lambda n: self._value(n, there))

        call.kernels = [self.kernel(*part) for part in parts]
        return call
