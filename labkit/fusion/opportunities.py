"""labkit.fusion.analyze(model, x): which parts of a model one kernel could do, and what that would give.

    report = labkit.fusion.analyze(model, x)
    report                       # a table in the notebook and elsewhere
    report.groups[0].waterfall   # where the gain comes from
    report.picture(), report.bars(), report.timelines(), report.waterfall()

    report.kernel(0).source                                           # the Ascend C that the generator writes for it

All times are modelled. A group has two prices, before and after, and both come from one model. Where the generator can
write the group as one kernel (elementwise operators, broadcasts, reductions), its predictor gives them: a launch for
each operator, and one for all; nothing is compiled. Where it refuses, or a matrix product is in the group, the
simulated device gives them: what it charges for PyTorch's operators, and for one launch that does their work
(traffic.py). `eager` is always the device's charge, as for the whole model.

A group is recommended where at least `threshold` of its traffic would go away and the model says that it gets faster.
The first half is the usual rule, and only a rule: traffic is not time. `against_rule` lists where the two disagree.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field

import torch
from torch.utils._pytree import tree_map_only

from labkit import chips, device
from labkit.codegen import Refused
from labkit.codegen.clock import Prediction
from labkit.device import Piece
from labkit.figures.svg import Figure
from labkit.figures.words import percent, size_text, time_text
from labkit.fusion import traffic
from labkit.fusion.fused import FusedKernel
from labkit.fusion.generated import Generated, generated
from labkit.fusion.groups import Group, groups, is_view
from labkit.fusion.spelling import capture, value
from labkit.messages import text

RULE = 0.30  # of the traffic that goes away, at least: the rule of thumb of published fusion guides; a parameter
MARGIN = 1.1  # what a predicted gain must be: the predictor is within a tenth nearly always (data/drawn_chains.csv)
GAIN = ("launches", "computing", "moving")


@dataclass
class Cost:
    """A part of the model, before or after. us: its work on the device; launch_us: of that, starting and ending;
    compute_us: instructions; wait_us: what moving its bytes takes beyond them. flops: of products; elements: results of
    all its operators together, counted as an operation each."""

    us: float
    launch_us: float
    compute_us: float
    launches: int
    bytes: float
    flops: float
    elements: float
    host_us: float

    @property
    def wait_us(self) -> float:
        return round(self.us - self.launch_us - self.compute_us, 10) + 0.0  # of what is nothing, no last places

    @property
    def intensity(self) -> float:
        """Operations for each byte."""
        return (self.flops + self.elements) / self.bytes if self.bytes else 0.0

    @property
    def bound(self) -> str:
        """What takes most of it: launch, compute or memory; host, where the host issues more slowly than it runs."""
        if self.host_us > self.us:
            return "host"
        return max(
            ("launch", self.launch_us), ("compute", self.compute_us), ("memory", self.wait_us), key=lambda p: p[1]
        )[0]


@dataclass
class Opportunity:
    """A group, and what one kernel for it gives. ub_bytes: of UB that it needs for each element of a row; tile:
    elements that have room; passes: how often its rows are read. eager: PyTorch's operators as the device charges them;
    generated: the generator's kernel, where it writes one; refused: else why not."""

    name: str
    kind: str
    operators: list[str]
    before: Cost
    after: Cost
    threshold: float | None
    ub_bytes: int
    tile: int
    passes: int
    group: Group = field(repr=False)
    eager: Cost = field(repr=False)
    generated: Generated | None = field(default=None, repr=False)
    refused: str = ""

    @property
    def saved(self) -> float:
        """The share of its traffic that goes away."""
        return 1 - self.after.bytes / self.before.bytes if self.before.bytes else 0.0

    @property
    def gain_us(self) -> float:
        return self.before.us - self.after.us

    @property
    def speedup(self) -> float:
        return self.before.us / self.after.us if self.after.us else 1.0

    @property
    def by_rule(self) -> bool:
        return self.threshold is None or self.saved >= self.threshold

    @property
    def pays(self) -> bool:
        """Whether it gets faster; of a generated kernel by more than its predictor may be off, and than eager mode."""
        if self.generated is None:
            return self.gain_us > 0
        return self.after.us * MARGIN < self.before.us and self.after.us < self.eager.us

    @property
    def recommended(self) -> bool:
        return self.by_rule and self.pays

    @property
    def waterfall(self) -> dict[str, float]:
        """us that go away, by where they were: launches (starting and ending), computing, moving. Their sum is the
        gain; a negative one is a cost of fusing: a mixed kernel starts later, a row is read twice."""
        a, b = self.before, self.after
        parts = (a.launch_us - b.launch_us, a.compute_us - b.compute_us, a.wait_us - b.wait_us)
        return dict(zip(GAIN, parts))


def _remark(group: Opportunity) -> str:
    """Behind the row of a group that is not recommended: whether one kernel would be slower."""
    return "" if group.recommended else text("fusion.slower" if group.speedup < 1 else "fusion.not_recommended")


@dataclass
class Report:
    """groups: in the order of the model; before, after: the whole model, with the recommended ones fused."""

    groups: list[Opportunity]
    before: traffic.Run = field(repr=False)
    after: traffic.Run = field(repr=False)
    graph: torch.fx.Graph = field(repr=False)
    chip: str
    threshold: float | None
    parameters: list[torch.Tensor] = field(default_factory=list, repr=False)  # without memory

    @property
    def recommended(self) -> list[Opportunity]:
        return [g for g in self.groups if g.recommended]

    @property
    def against_rule(self) -> list[tuple[Opportunity, str]]:
        """(group, why) where the rule and the model of the chip say different things."""
        found = []
        for g in self.groups:
            if g.by_rule and g.speedup < 1.05:
                why = "slower" if g.gain_us < 0 else g.after.bound
                found.append((g, text(f"fusion.against.{why}", saved=percent(g.saved), gain=f"{g.speedup:.2f}")))
            elif not g.by_rule and g.speedup > 1.15:
                share = max(g.waterfall, key=g.waterfall.get)
                found.append(
                    (g, text(f"fusion.against.{share}_gain", saved=percent(max(0.0, g.saved)), gain=f"{g.speedup:.2f}"))
                )
        return found

    def kernel(self, group: int) -> FusedKernel:
        """The generator's kernel for groups[group]: its source, to be run, checked, edited. Raises Refused with the
        reason where the generator does not write it."""
        found = self.groups[group]
        if found.generated is None:
            generated(found.group, self.chip)  # says why
            raise Refused(found.name)
        return found.generated.kernel

    def table(self):
        """A pandas frame, one row a group."""
        import pandas

        rows = [
            {
                "group": g.name,
                "kind": g.kind,
                "operators": " ".join(g.operators),
                "launches before": g.before.launches,
                "launches after": g.after.launches,
                "bytes before": int(g.before.bytes),
                "bytes after": int(g.after.bytes),
                "traffic saved": round(g.saved, 4),
                "before (us)": round(g.before.us, 3),
                "after (us)": round(g.after.us, 3),
                "gain": round(g.speedup, 3),
                "eager (us)": round(g.eager.us, 3),
                "priced by": "device" if g.generated is None else "generator",
                "bound before": g.before.bound,
                "bound after": g.after.bound,
                "operations per byte before": round(g.before.intensity, 3),
                "operations per byte after": round(g.after.intensity, 3),
                "UB bytes per element": g.ub_bytes,
                "tile": g.tile,
                "by rule": g.by_rule,
                "recommended": g.recommended,
            }
            for g in self.groups
        ]
        frame = pandas.DataFrame(rows)
        frame.attrs["time_kind"] = "modelled"
        return frame

    def __repr__(self) -> str:
        names = [text(f"fusion.column.{c}") for c in ("group", "launches", "traffic", "saved", "time", "gain", "bound")]
        lines = [
            text(
                "fusion.head",
                chip=self.chip,
                n=len(self.groups),
                m=len(self.recommended),
                threshold=percent(self.threshold or 0.0),
            ),
            "{:<34} {:>9} {:>21} {:>6} {:>19} {:>5}  {}".format(*names),
        ]
        for g in self.groups:
            lines.append(
                f"{g.name[:34]:<34} {f'{g.before.launches} → {g.after.launches}':>9} "
                f"{f'{size_text(g.before.bytes)} → {size_text(g.after.bytes)}':>21} {percent(max(0.0, g.saved)):>6} "
                f"{f'{time_text(g.before.us)} → {time_text(g.after.us)} us':>19} {g.speedup:>5.2f}  "
                f"{g.before.bound} → {g.after.bound}{_remark(g)}"
            )
        whole = text(
            "fusion.whole",
            before=time_text(self.before.span_us),
            after=time_text(self.after.span_us),
            gain=f"{self.speedup:.2f}",
            launches=len(self.before.pieces),
            fewer=len(self.after.pieces),
        )
        refused = [f"{g.name}: {text('fusion.not_generated', why=g.refused)}" for g in self.groups if g.refused]
        return "\n".join([*lines, whole, *(f"{g.name}: {why}" for g, why in self.against_rule), *refused])

    @property
    def speedup(self) -> float:
        """Of the whole model, from its first launch to its last result."""
        return self.before.span_us / self.after.span_us if self.after.span_us else 1.0

    # ---- pictures

    def picture(self) -> Figure:
        from labkit.fusion.picture import graph_picture

        return graph_picture(self)

    def bars(self) -> Figure:
        from labkit.fusion.picture import traffic_bars

        return traffic_bars(self)

    def timelines(self) -> Figure:
        from labkit.fusion.picture import timelines

        return timelines(self)

    def waterfall(self, group: int | None = None) -> Figure:
        from labkit.fusion.picture import waterfall

        return waterfall(self, group)


def analyze(
    model: torch.nn.Module,
    *example,
    threshold: float | None = RULE,
    kwargs: dict | None = None,
    dynamic_shapes=None,
    predict: traffic.Predict | None = None,
) -> Report:
    """What fusing would give for `model` with inputs like `example`, on the chip that the simulated device has.

    The model may be on any device, and so large that this machine could not run it: nothing is computed. threshold: the
    rule's share of the traffic; None: the model alone decides. predict: from a group to the us of a kernel for it,
    where somebody knows better than the sum of what its operators compute (a generated kernel's own model); else None.
    Raises RuntimeError where torch.export cannot capture the model, or on a real NPU.
    """
    with traffic.planning():
        there = _moved(model)
        inputs, kwargs = _on_npu((example, kwargs))
        module = capture(there, inputs, kwargs, dynamic_shapes)
        inputs = (*inputs, *(kwargs or {}).values())  # as the captured graph takes them
        was = traffic.before(module, inputs)
        found = groups(module.graph)
        every = traffic.after(module, inputs, found, was, predict)
        rows = [_opportunity(i, g, was, every, threshold, predict) for i, g in enumerate(found)]
        best = [row.group for row in rows if row.recommended]
        now = traffic.after(module, inputs, best, was, predict) if len(best) < len(found) else every
        parameters = [torch.empty_like(p, device="meta") for p in there.parameters()]
    return Report(rows, was, now, found[0].nodes[0].graph if found else None, device.chip(), threshold, parameters)


def _moved(model: torch.nn.Module) -> torch.nn.Module:
    """A copy: to("npu") is in place, and moves no values while planning: the caller would lose them."""
    if all(t.device.type == "npu" for t in [*model.parameters(), *model.buffers()]):
        return model
    return deepcopy(model).to("npu")


def _on_npu(tree):
    return tree_map_only(torch.Tensor, lambda t: t.to("npu"), tree)


def _cost(pieces: Sequence[Piece], elements: float) -> Cost:
    starts = sum(p.fixed_us + p.begin_us for p in pieces)
    dispatch = chips.flat(device.chip())["host.dispatch"] * 1e6
    return Cost(
        us=sum(p.us for p in pieces),
        launch_us=starts,
        compute_us=sum(p.busy_us for p in pieces),
        launches=len(pieces),
        bytes=sum(p.bytes for p in pieces),
        flops=sum(p.flops for p in pieces),
        elements=elements,
        host_us=dispatch * len(pieces),
    )


def _generated_cost(launches: Sequence[Prediction], elements: float) -> Cost:
    us, starts = sum(p.us for p in launches), sum(min(p.parts["launch"], p.us) for p in launches)
    return Cost(
        us=us,
        launch_us=starts,
        compute_us=sum(min(p.parts["vector"], p.us - min(p.parts["launch"], p.us)) for p in launches),
        launches=len(launches),
        bytes=float(sum(p.read + p.written for p in launches)),
        flops=0.0,
        elements=elements,
        host_us=chips.flat(device.chip())["host.dispatch"] * 1e6 * len(launches),
    )


def _opportunity(i: int, group: Group, was: traffic.Run, now: traffic.Run, threshold, predict) -> Opportunity:
    work = [n for n in group.nodes if not is_view(n)]
    elements = float(
        sum(value(n).numel() for n in work if isinstance(value(n), torch.Tensor) and n is not group.product)
    )
    eager = _cost([p for n in group.nodes for p in was.of.get(n, [])], elements)
    common = dict(
        name=f"{i + 1}. {group.kind}", kind=group.kind, operators=[n.name for n in work], threshold=threshold,
        group=group, eager=eager,
    )  # fmt: skip
    why = ""
    if predict is None or predict(group) is None:
        try:
            made = generated(group, device.chip())
            return Opportunity(
                before=_generated_cost(made.chain, elements), after=_generated_cost([made.fused], elements),
                ub_bytes=made.ub_bytes, tile=made.kernel.plan.tile, passes=made.passes, generated=made, **common,
            )  # fmt: skip
        except Refused as error:
            why = str(error)
    table = chips.flat(device.chip())
    each = traffic.ub_bytes(group)
    return Opportunity(
        before=eager,
        after=_cost(now.of.get(i, []), elements),
        ub_bytes=each,
        tile=int((table["memory.ub"] - table["memory.ub_reserved"]) // each) if each else 0,
        passes=traffic.passes(group),
        refused=why if group.product is None and group.kind != "attention" else "",
        **common,
    )
