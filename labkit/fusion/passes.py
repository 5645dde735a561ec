"""Rules that replace a part of a graph by something that computes the same, and the pass that applies them.

    outcome = apply(graph_module, rules)
    outcome.replaced        # {"swiglu": 4}
    outcome.left            # why the others stayed, in words

Finding is PyTorch's own work (torch._inductor.pattern_matcher): it leaves alone what somebody else reads too, and a
part inside of which a tensor is changed. What changes a tensor is asked of spelling.changes, which also knows Dynamo's
spellings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import fx

from labkit.fusion.spelling import normalized, number_regions, sweep, value

Build = Callable[..., fx.Node | tuple]


@dataclass(frozen=True)
class Rule:
    """name: as the outcome counts it. patterns: of PyTorch's matcher, made when first used; each gives the arguments of
    the other two by name. why_not: from the match and the arguments to the reason against it, "" for none. build: makes
    the nodes that stand for the match, in front of its last node; their result. looks: nodes that would be the last of
    a match, so that those left can be counted and explained; trains: the result has the same gradients."""

    name: str
    patterns: Callable[[], Sequence]
    why_not: Callable[..., str]
    build: Build
    trains: bool = True
    needs: tuple[str, ...] = ("cpu", "npu")  # devices on which it can be applied
    explain: Callable[[fx.Graph], list[str]] | None = None  # of what is left at the end
    wide: Build | None = None  # the same in float, where that is not build() between casts
    can_be_wide: bool = True


@dataclass
class Outcome:
    """replaced: how often each rule was applied; left: why it was not where it might have been, a sentence each;
    judged: with a policy, what precision.py measured of each part."""

    replaced: Counter = field(default_factory=Counter)
    left: list[str] = field(default_factory=list)
    judged: list = field(default_factory=list)

    def __iadd__(self, other: "Outcome") -> "Outcome":
        self.replaced += other.replaced
        self.left += other.left
        self.judged += other.judged
        return self

    @property
    def count(self) -> int:
        return sum(self.replaced.values())


def apply(module: fx.GraphModule, rules: Sequence[Rule], judge=None) -> Outcome:
    """Applies the rules in this order, in place, to a graph of spelling.capture() or of Dynamo. judge: a
    precision.Judge, who may want a part in float or as it is."""
    normalized(module)
    outcome = Outcome()
    for rule in rules:
        _apply(module, rule, outcome, judge)
    sweep(module.graph)
    module.graph.lint()
    module.recompile()
    return outcome


def _apply(module: fx.GraphModule, rule: Rule, outcome: Outcome, judge=None) -> None:
    from torch._inductor.pattern_matcher import PatternMatcherPass, register_graph_pattern

    matching = PatternMatcherPass()
    refused: dict[fx.Node, str] = {}
    wide: dict[fx.Node, bool] = {}

    def fits(match) -> bool:
        why = rule.why_not(match, *match.args, **match.kwargs)
        if not why and judge is not None:
            said = judge(rule, match)
            outcome.judged.append(said)
            wide[match.output_node()], why = said.decision == "fp32", said.why_left
        if why:
            refused[match.output_node()] = why
        return not why

    def replace(match, *args, **kwargs) -> None:
        last = match.output_node()
        with module.graph.inserting_before(last):
            build = in_float(rule) if wide.get(last) else rule.build
            made = build(match, *args, **kwargs)
        made.meta.setdefault("val", value(last))
        made.meta = {k: v for k, v in last.meta.items() if k not in ("val", "example_value")} | made.meta
        last.replace_all_uses_with(made)
        if judge is not None:
            judge.stands_for(made, last)
        match.erase_nodes()
        outcome.replaced[rule.name] += 1
        refused.pop(last, None)

    for pattern in rule.patterns():
        register_graph_pattern(pattern, extra_check=fits, pass_dict=matching)(replace)
    number_regions(module.graph)
    matching.apply(module)
    outcome.left += refused.values()
    if rule.explain is not None:
        outcome.left += [why for node, why in rule.explain(module.graph) if node not in refused]


def in_float(rule: Rule) -> Build:
    """The rule's operator on float32 from 16-bit inputs, its result rounded to 16 bits."""
    from labkit.fusion.spelling import aten

    def cast(node: fx.Node, dtype: torch.dtype) -> fx.Node:
        return call(node.graph, aten.to.dtype, node, dtype, False, False, None)

    def widened(a):
        known = value(a) if isinstance(a, fx.Node) else None
        short = isinstance(known, torch.Tensor) and known.dtype in (torch.float16, torch.bfloat16)
        return cast(a, torch.float32) if short else a

    def build(match, *args, **kwargs) -> fx.Node:
        made = rule.build(match, *map(widened, args), **{k: widened(a) for k, a in kwargs.items()})
        return cast(made, value(match.output_node()).dtype)

    return rule.wide or build


def call(graph: fx.Graph, target, *args, **kwargs) -> fx.Node:
    """A node that calls an operator, with what is known of its result."""
    node = graph.call_function(target, args, kwargs)
    given = fx.node.map_arg((args, kwargs), value)
    node.meta["val"] = target(*given[0], **given[1])
    return node


def only_positional(match) -> bool:
    """Whether the matched nodes have the arguments of the pattern and no others: alpha=2 of an addition is one."""
    return all(not node.kwargs for node in match.nodes)
