"""Which parts may be fused without losing digits: measured part by part, before it is replaced.

    fast = labkit.fusion.fuse(model, x, precision="fp32")
    fast.outcome.judged                  # what was measured of each part, and what was done

A fused operator often rounds less: it keeps in float what the chain wrote out in 16 bits. Some round more: a batch norm
folded into a weight rounds that weight once again. Instead of a looser tolerance the part is then computed in float
("fp32"), left as it is ("unfused"), or fused all the same and named ("report").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import fx

from labkit.fusion.equivalence import Comparison, Watched
from labkit.fusion.passes import Rule, apply, in_float
from labkit.fusion.rounded import place
from labkit.fusion.spelling import is_tensor, value
from labkit.messages import text

CHOICES = ("fp32", "unfused", "report")
LOSES = 1.25  # times as far off as the part unfused


@dataclass(frozen=True)
class Precision:
    """otherwise: what is done with a part that loses, one of CHOICES; "fp32" leaves it unfused where that loses too or
    is not to be had. loses: how many times as far off (root mean square over the part's results, against the part in
    double) it may be. What stays within the last rounding of the result itself never loses."""

    otherwise: str = "fp32"
    loses: float = LOSES

    def __post_init__(self):
        if self.otherwise not in CHOICES:
            raise ValueError(text("fusion.precision.choice", choice=self.otherwise, known=", ".join(CHOICES)))
        if not self.loses >= 0:  # nor NaN, with which every part would lose
            raise ValueError(text("fusion.precision.loses", loses=self.loses))


def policy(wanted: str | Precision | None) -> Precision | None:
    """Raises ValueError for a word that is none of CHOICES."""
    return Precision(wanted) if isinstance(wanted, str) else wanted


@dataclass(frozen=True)
class Judged:
    """Of one part. before, after, in_float: errors against the part in double, root mean square; in_float is NaN where
    it was not tried. decision: "fused", "fp32", "unfused" or "report"."""

    rule: str
    node: str
    before: float
    after: float
    in_float: float
    decision: str

    @property
    def why_left(self) -> str:
        if self.decision != "unfused":
            return ""
        return text("fusion.precision.left", node=self.node, rule=self.rule, times=f"{self.times:.3g}")

    @property
    def times(self) -> float:
        """How many times as far off the fused part is."""
        return self.after / self.before if self.before else math.inf if self.after else 1.0

    def __repr__(self) -> str:
        return text(
            f"fusion.precision.{self.decision}",
            rule=self.rule,
            node=self.node,
            before=f"{self.before:.2g}",
            after=f"{self.after:.2g}",
            in_float=f"{self.in_float:.2g}",
        )


class Judge:
    """Of the parts of one graph, by the numbers that it computes from `inputs`. constant: from a node to the tensor
    that it always is, None where it may change. fold: from the graph of one part to that with its batch norm folded.
    """

    def __init__(self, wanted: Precision, module: fx.GraphModule, inputs: Sequence, constant: Callable, fold: Callable):
        self.wanted, self.constant, self.fold = wanted, constant, fold
        self.values: dict[fx.Node, torch.Tensor] = {}
        with torch.no_grad():
            Watched(module, self.values, host=False).run(*inputs, enable_io_processing=False)

    def __call__(self, rule: Rule, match) -> Judged:
        part, inputs = self._part(match)
        fused = [self._fused(rule, part, wide=False)]
        both = Comparison(part, fused[0], inputs, tolerance=False)
        before, after, wide, decision = both.error(both.was), both.error(both.now), math.nan, "fused"
        if self._loses(before, after, both):
            decision = self.wanted.otherwise
            if decision == "fp32":
                decision = "unfused"
                if rule.can_be_wide and both.was[0].dtype in (torch.float16, torch.bfloat16):
                    third = Comparison(part, self._fused(rule, part, wide=True), inputs, tolerance=False)
                    wide = third.error(third.now)
                    decision = "unfused" if self._loses(before, wide, third) else "fp32"
        return Judged(rule.name, match.output_node().name, before, after, wide, decision)

    def _loses(self, before: float, after: float, both: Comparison) -> bool:
        golden = both.golden[0].double()
        size = float(golden.square().mean().sqrt()) if golden.numel() else 0.0
        last = place(both.was[0].dtype) * size / math.sqrt(3)  # rounding the result, spread evenly over a place
        return not after <= self.wanted.loses * max(before, last)

    def stands_for(self, made: fx.Node, last: fx.Node) -> None:
        self.values[made] = self._value(last)

    def _value(self, node: fx.Node) -> torch.Tensor:
        if node not in self.values:  # made by a rule before
            args, kwargs = fx.node.map_arg((node.args, node.kwargs), self._value)
            with torch.no_grad():
                self.values[node] = node.target(*args, **kwargs)
        return self.values[node]

    def _part(self, match) -> tuple[fx.GraphModule, list[torch.Tensor]]:
        """The matched operators as a graph of their own, and the tensors that come into it."""
        inside = set(match.nodes)
        graph, root, places, inputs = fx.Graph(), torch.nn.Module(), {}, []
        ordered = [n for n in match.output_node().graph.nodes if n in inside]
        outside = [n for node in ordered for n in node.all_input_nodes if n not in inside]
        for n in dict.fromkeys(outside):
            tensor = self.constant(n)
            if tensor is None:
                places[n] = graph.placeholder(n.name)
                inputs.append(self._value(n))
            else:
                root.register_buffer(n.name, tensor.detach())
                places[n] = graph.get_attr(n.name)
            places[n].meta = {"val": _known(n)}
        for n in ordered:
            places[n] = graph.node_copy(n, places.__getitem__)
            places[n].meta = {"val": _known(n)}
        more = [n for n in ordered if any(u not in inside for u in n.users) and n is not match.output_node()]
        graph.output([places[n] for n in (match.output_node(), *more)])
        return fx.GraphModule(root, graph), inputs

    def _fused(self, rule: Rule, part: fx.GraphModule, wide: bool) -> fx.GraphModule:
        graph = fx.Graph()
        graph.output(graph.graph_copy(part.graph, {}))
        made = fx.GraphModule(part, graph)
        if rule.name == "conv_bn":
            return self.fold(made, wide)
        one = Rule(rule.name, rule.patterns, rule.why_not, in_float(rule)) if wide else rule
        apply(made, [one])
        return made


def _known(node: fx.Node):
    return value(node) if is_tensor(node) else node.meta.get("val")
