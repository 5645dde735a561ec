"""What a graph costs on the device, operator by operator, and what it would cost with its groups as one kernel each.

Both are charged by the simulated device itself, by shapes alone: before, each operator as when the model runs; after,
each group as one launch whose traffic passes the same L2. No number is from here: launches, rates, instructions and
cores are those that the device charged the group's operators for (csrc/operators.h, the chip's table).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import fx

from labkit import chips, device
from labkit.device import Piece, rates
from labkit.fusion.groups import Group, is_view
from labkit.fusion.spelling import aten, name_of, value

# What FIXPIPE does on the product's way out, at no time of its own: a bias and relu; scaling is folded into the weight.
ON_THE_WAY = ("relu", "batch_norm")
Predict = Callable[[Group], "float | None"]  # us of one kernel for a group; None: it does not know
HOT = 2  # runs: the first one leaves the L2 as the run before leaves it


@dataclass
class Run:
    """One pass over a graph. pieces: the device's work, in order; of: those of each node or group; host_us: from the
    first launch to the last one's end as the host and the device share it (span), busy_us: of that, the device's work;
    peak: bytes that the results of operators take at most at one time.
    """

    peak: int = 0
    pieces: list[Piece] = field(default_factory=list)
    of: dict[object, list[Piece]] = field(default_factory=dict)

    @property
    def busy_us(self) -> float:
        return sum(p.us for p in self.pieces)

    @property
    def span_us(self) -> float:
        if not self.pieces:
            return 0.0
        return max(p.start_us + p.us for p in self.pieces) - min(p.start_us for p in self.pieces)


@contextlib.contextmanager
def planning():
    """By shapes alone, without gradients, on a clock that starts at zero. The L2 is emptied at both ends: what stands
    in it afterwards would be nobody's data."""
    if device.install() != "sim":
        raise RuntimeError("the analysis asks the simulated device; here a real NPU is used")
    torch.npu.synchronize()
    device.clear_l2()
    try:
        with device.shapes_only(), torch.no_grad():
            yield
    finally:
        device.clear_l2()


@contextlib.contextmanager
def _peak(run: Run):
    was = torch.npu.memory_allocated()
    torch.npu.reset_peak_memory_stats()
    yield
    run.peak = torch.npu.max_memory_allocated() - was


def before(module: fx.GraphModule, inputs: Sequence) -> Run:
    """Each node of the graph as the device charges it, in a run after another one."""
    for _ in range(HOT):
        torch.npu.synchronize()
        run, marks = Run(), []
        with device.clock_from_zero("labkit.fusion"):
            with _peak(run):
                _Marking(module, marks).run(*inputs)
            _pieces_of(run, marks)
    return run


def _pieces_of(run: Run, marks: list[tuple]) -> None:
    """The run's pieces and, by its marks (what, the first launch, the one behind the last), those of each node. Marks
    count from the clock's zero; the device keeps the newest pieces alone, so of a long run the first ones are gone."""
    run.pieces = device.pieces()
    gone = device.clock().launches - len(run.pieces)
    for key, first, last in marks:
        run.of[key] = run.pieces[max(0, first - gone) : max(0, last - gone)]


class _Marking(fx.Interpreter):
    """Notes which launches each node makes."""

    def __init__(self, module, marks):
        super().__init__(module)
        self.marks = marks

    def run_node(self, node):
        first = device.clock().launches
        result = super().run_node(node)
        self.marks.append((node, first, device.clock().launches))
        return result


# ---- with the groups fused


def after(module: fx.GraphModule, inputs: Sequence, groups: Sequence[Group], was: Run, predict: Predict | None) -> Run:
    """The same graph with each of these groups as one kernel. predict: knows the time of some of these kernels."""
    for _ in range(HOT):
        torch.npu.synchronize()
        run, marks = Run(), []
        with device.clock_from_zero("labkit.fusion"):
            with _peak(run):
                _Fused(module, groups, was, marks, predict).go(inputs)
            _pieces_of(run, marks)
    return run


class _Fused:
    def __init__(self, module: fx.GraphModule, groups: Sequence[Group], was: Run, marks: list, predict):
        self.module, self.was, self.marks, self.predict = module, was, marks, predict
        self.group_of = {node: i for i, group in enumerate(groups) for node in group.nodes}
        self.groups = list(groups)
        self.env: dict[fx.Node, object] = {}
        self.done: set[fx.Node] = set()

    def go(self, inputs: Sequence) -> None:
        flat = self.module.graph.process_inputs(*inputs)
        one = fx.Interpreter(self.module)
        one.env, arguments = self.env, iter(flat)
        for unit in self._order():
            first = device.clock().launches
            if isinstance(unit, int):
                self._group(self.groups[unit])
                self.marks.append((unit, first, device.clock().launches))
            elif unit.op == "placeholder":
                self.env[unit] = next(arguments)
            elif unit.op != "output":
                if not all(n in self.env for n in unit.all_input_nodes):  # a view of what a group keeps to itself
                    continue
                args, kwargs = one.fetch_args_kwargs_from_env(unit)
                self.env[unit] = getattr(one, unit.op)(unit.target, args, kwargs)
                self.marks.append((unit, first, device.clock().launches))
            self._forget(unit)

    def _order(self) -> list:
        """Nodes and numbers of groups, so that each finds what it needs; in the graph's order where that is free."""
        place = {node: i for i, node in enumerate(self.module.graph.nodes)}
        units: dict[object, int] = {}
        for node in self.module.graph.nodes:
            unit = self.group_of.get(node, node)
            units[unit] = max(units.get(unit, 0), place[node])
        waits = {
            unit: {
                self.group_of.get(n, n)
                for node in (self.groups[unit].nodes if isinstance(unit, int) else [unit])
                for n in node.all_input_nodes
            }
            - {unit}
            for unit in units
        }
        done, order, left = set(), [], sorted(units, key=units.get)
        while left:
            unit = next(u for u in left if waits[u] <= done)
            left.remove(unit)
            done.add(unit)
            order.append(unit)
            if isinstance(unit, int):  # views that others take of its results are made at once
                inside = set(self.groups[unit].nodes)
                order += [n for n in self.groups[unit].nodes if is_view(n) and any(u not in inside for u in n.users)]
        return order

    def _forget(self, unit) -> None:
        """As Python does: what nobody will read any more gives its memory back."""
        self.done |= set(self.groups[unit].nodes) if isinstance(unit, int) else {unit}
        for n in list(self.env):
            if n.op == "call_function" and set(n.users) <= self.done:
                del self.env[n]

    def _group(self, group: Group) -> None:
        if group.kind == "attention":
            return self._attention(group)
        pieces = [p for node in group.nodes for p in self.was.of.get(node, [])]
        outputs = [_like(value(node)) for node in group.outputs]
        if group.kind.startswith("focus"):
            pieces = self._probe_focus(group)
        reads = self._reads(group)
        known = self.predict(group) if self.predict is not None else None
        if known is not None:
            device.launch_fused(
                group.kind, reads, outputs, fixed_us=0.0, busy_us=known, cores=max(p.cores for p in pieces)
            )
        elif group.product is None:
            launch(group.kind, pieces, reads * passes(group), outputs)
        else:
            self._product(group, pieces, reads, outputs)
        self.env |= dict(zip(group.outputs, outputs))

    def _reads(self, group: Group) -> list[torch.Tensor]:
        tensors = []
        for node in group.inputs:
            tensor = self.env[node]
            gathering = [
                u for u in node.users if u in group.nodes and name_of(u).startswith(("embedding", "_embedding"))
            ]
            if gathering and gathering[0].args[0] is node:  # the rows that are asked for
                found = self.was.of[gathering[0]][-1].bytes if self.was.of.get(gathering[0]) else 0
                tensor = tensor.flatten()[: max(1, int(found / 2 / tensor.element_size()))]
            tensors.append(tensor)
        return tensors

    def _product(self, group: Group, pieces, reads, outputs) -> None:
        converts = [p for p in pieces if p.name == "TransData"]
        cube = [p for p in pieces if p.engine in ("cube", "cores")]
        rest = [p for p in pieces if p not in converts and p not in cube]
        mixed = not on_the_way(group)
        crossing = (
            sum(value(n).numel() * value(n).element_size() for n in group.nodes if n is group.product) if mixed else 0
        )
        behind = max(0, len(converts) - 1)
        factors = [self.env[n] for n in group.product.all_input_nodes if n in self.env]
        for piece in converts[:behind]:
            _convert(piece, _source(piece, factors if len(factors) > 1 else reads))
        launch(group.kind, cube, reads, outputs, vector=rest if mixed else [], crossing=crossing, mixed=mixed)
        for piece in converts[behind:]:
            _convert(piece, outputs[0])

    def _attention(self, group: Group) -> None:
        find = {n: self.env[n] for n in group.inputs}
        q, k, v = (find[group.matched[name]] for name in ("q", "k", "v"))
        if q.dim() == 3:
            q, k, v = (t.unsqueeze(0) for t in (q, k, v))
        out = torch.nn.functional.scaled_dot_product_attention(
            q, k.transpose(-2, -1), v, scale=float(group.matched["scale"])
        )
        self.env[group.outputs[0]] = out.reshape(value(group.outputs[0]).shape)

    def _probe_focus(self, group: Group) -> list[Piece]:
        """What the convolution with every second place costs, and what follows it. The device is asked in the first of
        the runs, which is not the one that counts."""
        if "pieces" not in group.matched:
            conv = group.product
            x = self.env[conv.args[0].args[0][0].args[0].args[0]]
            w = value(conv.args[1])
            weight = torch.empty(
                w.shape[0], w.shape[1] // 4, 2 * w.shape[2], 2 * w.shape[3], dtype=w.dtype, device="npu"
            )
            first = device.clock().launches
            aten.conv2d.default(x, weight, None, [2, 2], [2 * p for p in conv.args[4]], [1, 1], 1)
            group.matched["pieces"] = device.pieces(first)
        others = [p for n in group.nodes if n is not group.product for p in self.was.of.get(n, []) if _counts(n)]
        return [*group.matched["pieces"], *others]


def _counts(node: fx.Node) -> bool:
    return name_of(node) not in ("slice", "cat")


def _like(t: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(tuple(t.shape), t.stride(), dtype=t.dtype, device="npu")


def _source(piece: Piece, tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Of a product's arguments the one that this change of format reads: the largest that is no more than half of its
    bytes, for the result is at least as large. A weight is not charged for the picture's bytes, nor the other way."""
    size = {i: t.numel() * t.element_size() for i, t in enumerate(tensors)}
    fit = [i for i in size if 2 * size[i] <= piece.bytes]
    return tensors[max(fit, key=size.get) if fit else min(size, key=size.get)]


def _convert(piece: Piece, tensor: torch.Tensor) -> None:
    """A change of format as the device charged it before."""
    beyond = max(1, int(piece.bytes - tensor.numel() * tensor.element_size()))
    scratch = torch.empty(beyond, dtype=torch.int8, device="npu")
    device.launch_fused(
        piece.name, [tensor], [scratch], fixed_us=piece.fixed_us, begin_us=piece.begin_us, busy_us=piece.busy_us,
        cores=piece.cores,
    )  # fmt: skip


def launch(name, pieces, reads, writes, *, vector=(), crossing: float = 0, mixed: bool = False) -> float:
    """One kernel that does what these pieces did. vector: work of the vector cores while the cube multiplies; crossing:
    bytes that go from one kind of core to the other, through the L2."""
    table, device_rates = chips.flat(device.chip()), rates.rates(device.chip())
    both = [*pieces, *vector]
    busy = sum(p.busy_us for p in pieces)
    if vector or mixed:
        written = sum(t.numel() * t.element_size() for t in writes)
        through = (crossing / device_rates["l2_read"] + (crossing + written) / device_rates["l2_write"]) / 1e3
        busy = max(busy, sum(p.busy_us for p in vector), through)
    cube = any(p.engine != "vector" for p in pieces)
    return device.launch_fused(
        name,
        reads,
        writes,
        fixed_us=max(p.fixed_us for p in both) + (table["launch.mixed"] * 1e6 if mixed else 0.0),
        begin_us=max(p.begin_us for p in both),
        busy_us=busy,
        cores=max(p.cores for p in both),
        engine=("cores" if mixed else "cube") if cube else "vector",
        flops=sum(p.flops for p in both),
    )


# ---- what a kernel of it would need


def on_the_way(group: Group) -> bool:
    """Whether all that follows the product is done on its way out of L0C."""
    return all(
        name_of(n).rstrip("_") in ON_THE_WAY or is_view(n) or n is group.product or not _counts(n) for n in group.nodes
    )


def ub_bytes(group: Group) -> int:
    """Bytes of UB for each element of a row: two buffers for each tensor that comes or goes and is as large as the
    result, and what lives at the same time in between, in fp32 where the numbers are half."""
    inside = [
        n for n in group.nodes if n is not group.product and not is_view(n) and isinstance(value(n), torch.Tensor)
    ]
    if not inside:
        return 0
    most = max(value(n).numel() for n in inside)
    ends = [n for n in (*group.inputs, *group.outputs) if value(n).numel() == most]
    place = {n: i for i, n in enumerate(inside)}
    last = {n: max((place[u] for u in n.users if u in place), default=place[n]) for n in inside}
    live = max(sum(place[m] <= i <= last[m] and value(m).numel() == most for m in inside) for i in range(len(inside)))
    item = value(inside[0]).element_size()
    return sum(2 * value(n).element_size() for n in ends) + live * max(4, item)


def passes(group: Group) -> int:
    """How often a kernel reads its arguments: a row that does not fit into UB is read a second time, once for its
    statistics and once for its elements."""
    from labkit.fusion.groups import is_rows

    rows = [n for n in group.nodes if is_rows(n)]
    if not rows:
        return 1
    table = chips.flat(device.chip())
    width = max(value(n.all_input_nodes[0]).shape[-1] for n in rows)
    return 1 if width * ub_bytes(group) <= table["memory.ub"] - table["memory.ub_reserved"] else 2
