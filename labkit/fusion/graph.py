"""A function's graph, and which of its dimensions are the same axis.

Elementwise operators, broadcasts and reductions leave the axes of a tensor where they are or drop them. Every dimension
of every node that is longer than one therefore belongs to an axis of one common space; who is added to whom says which.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from labkit import messages
from labkit.codegen import Refused

VIEWS = {"view", "_unsafe_view", "reshape", "unsqueeze", "squeeze"}
SAME = {"clone", "detach", "alias", "lift_fresh_copy", "lift_fresh", "contiguous", "_to_copy", "copy"}
TURNED = {"permute", "transpose", "t"}
CONSTANTS = {"full", "ones", "zeros", "scalar_tensor", "full_like", "ones_like", "zeros_like"}
PRODUCTS = {"mm", "bmm", "addmm", "baddbmm", "mv", "dot", "convolution"}
REDUCTIONS = {"sum", "mean", "amax", "amin", "var", "var_mean", "logsumexp"}
ALONG = {"_softmax", "_log_softmax", "native_layer_norm", "_fused_rms_norm"}  # reduce and give the whole shape back


def refuse(key: str, **fields) -> Refused:
    return Refused(messages.text(f"fusion.{key}", **fields))


@dataclass
class Traced:
    """nodes: fx nodes in order, without placeholders; inputs: name -> (placeholder, axes); axes: node -> its axes, None
    for a dimension of one; order: all axes, outer ones first; reduced: those that are reduced; sizes: of axes."""

    graph: object
    names: list[str]
    placeholders: list
    outputs: list
    axes: dict = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    reduced: list[int] = field(default_factory=list)
    sizes: dict[int, int] = field(default_factory=dict)
    single: bool = True
    down: bool = False  # what is reduced lies side by side, with other axes behind it


def name_of(node) -> str:
    """aten.add.Tensor -> "add"; in-place variants are gone by then."""
    target = node.target
    packet = getattr(target, "overloadpacket", None)
    return packet.__name__ if packet is not None else getattr(target, "__name__", str(target))


def names_of(function: Callable, count: int) -> list[str]:
    """What the function calls its tensors."""
    try:
        target = function.forward if hasattr(function, "forward") else function
        parameters = [p for p in inspect.signature(target).parameters.values() if p.name != "self"]
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(p.kind == p.VAR_POSITIONAL for p in parameters) or len(names) < count:
        names += [f"x{i}" for i in range(len(names), count)]
    return names[:count]


def distinct(names: list[str]) -> list[str]:
    """Each name once, and none that an output has (space.py); the second of two is numbered."""
    made: list[str] = []
    for name in names:
        free, number = name, 2
        while free in made or re.fullmatch(r"out\d*", free) or (free != name and free in names):
            free, number = f"{name}_{number}", number + 1
        made.append(free)
    return made


def trace(function: Callable, tensors: list, names: list[str]) -> Traced:
    """function on tensors of those shapes and types; nothing is computed. Raises Refused."""
    import torch
    from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    mode = FakeTensorMode(allow_non_fake_inputs=True)
    with mode:
        fakes = [torch.empty_strided(t.shape, t.stride(), dtype=t.dtype) for t in tensors]
    single = True

    def listed(*given):
        nonlocal single
        made = function(*given)
        single = isinstance(made, torch.Tensor)
        if not single and not (isinstance(made, (tuple, list)) and all(isinstance(t, torch.Tensor) for t in made)):
            raise refuse("result", type=type(made).__name__)
        return [made] if single else list(made)

    try:
        with torch.no_grad():
            graph = make_fx(
                torch.func.functionalize(listed, remove="mutations"), tracing_mode="real", _allow_non_fake_inputs=True
            )(*fakes)
    except DataDependentOutputException as error:
        raise refuse("values", name=error.func) from None
    for node in graph.graph.nodes:
        out_of_place(node)
    graph.graph.eliminate_dead_code()
    placeholders = [n for n in graph.graph.nodes if n.op == "placeholder"]
    for node, name in zip(placeholders, names):
        node._rename(name)  # as the source of the kernel will call it
    output = next(n for n in graph.graph.nodes if n.op == "output")
    for node in graph.graph.nodes:
        if node.op == "call_function" and name_of(node) == "copy_":
            raise refuse("writes_input", name=node.args[0].name)
    traced = Traced(graph, names, placeholders, list(output.args[0]), single=single)
    _Axes(traced).find()
    return traced


def out_of_place(node) -> None:
    """A composite operator of ATen works in place on what it made itself: the graph names its result anew anyhow."""
    import torch

    name = name_of(node) if node.op == "call_function" else ""
    if name.endswith("_") and name != "copy_" and isinstance(node.target, torch._ops.OpOverload):
        packet = getattr(torch.ops.aten, name[:-1])
        node.target = getattr(packet, node.target._overloadname)


def shape_of(node) -> tuple[int, ...]:
    value = node.meta["val"]
    return tuple(value.shape) if hasattr(value, "shape") else ()


def dims_of(node) -> tuple[list[int], bool]:
    """(dimensions that a reduction takes away, whether they stay as ones)."""
    rank = len(shape_of(node.args[0]))
    arguments = node.target._schema.arguments
    given = dict(zip((a.name for a in arguments), node.args)) | dict(node.kwargs)
    dims = given.get("dim")
    dims = list(range(rank)) if dims is None or dims == [] else [dims] if isinstance(dims, int) else list(dims)
    return sorted(d % rank for d in dims) if rank else [], bool(given.get("keepdim", False))


class _Axes:
    """Union-find over dimensions."""

    def __init__(self, traced: Traced):
        self.traced = traced
        self.parent: list[int] = []
        self.size: list[int] = []
        self.of: dict = {}
        self.reduced: set[int] = set()

    def new(self, size: int) -> int | None:
        if size == 1:
            return None
        self.parent.append(len(self.parent))
        self.size.append(size)
        return len(self.parent) - 1

    def root(self, a: int) -> int:
        while self.parent[a] != a:
            a = self.parent[a]
        return a

    def join(self, a: int | None, b: int | None) -> int | None:
        if a is None or b is None:
            return b if a is None else a
        self.parent[self.root(b)] = self.root(a)
        return a

    def find(self) -> None:
        nodes = self.traced.graph.graph.nodes
        for node in nodes:
            if node.op == "placeholder":
                if 0 in shape_of(node):  # a reduction may give it a shape that is not empty
                    raise refuse("empty", name=node.name)
                self.of[node] = [self.new(n) for n in shape_of(node)]
            elif node.op == "get_attr":
                self.of[node] = [None for _ in self._attribute(node).shape]
            elif node.op == "call_function":
                self._call(node)
        axes = {}
        for node, found in self.of.items():
            if not isinstance(found, tuple):  # of several results each getitem has its own
                axes[node] = [None if a is None else self.root(a) for a in found]
        self.traced.axes = axes
        self.traced.reduced = sorted({self.root(a) for a in self.reduced})
        self.traced.sizes = {self.root(a): self.size[a] for a in range(len(self.parent))}
        self._order(axes)

    def _attribute(self, node):
        value = getattr(self.traced.graph, node.target)
        if value.numel() != 1:
            raise refuse("constant", name=node.name, shape=tuple(value.shape))
        return value

    def _call(self, node) -> None:
        name, shape = name_of(node), None
        if name == "getitem":
            source = node.args[0]
            found = self.of[source]
            self.of[node] = found[node.args[1]] if isinstance(found, tuple) else found
            return
        value = node.meta["val"]
        if not isinstance(value, (tuple, list)):
            shape = tuple(value.shape)
        if 0 in (shape or ()):
            raise refuse("empty", name=node.name)
        handler = (
            self._view if name in VIEWS else
            self._expand if name == "expand" else
            self._turned if name in TURNED else
            self._constant if name in CONSTANTS else
            self._reduction if name in REDUCTIONS else
            self._along if name in ALONG else
            self._elementwise
        )  # fmt: skip
        handler(node, shape)

    def _constant(self, node, shape) -> None:
        self.of[node] = [None] * len(shape)

    def _elementwise(self, node, shape) -> None:
        if (
            name_of(node) in PRODUCTS
            or shape is None
            or any(len(self.of.get(n) or ()) > len(shape) for n in node.all_input_nodes)
        ):
            raise refuse("operator", name=name_of(node), node=node.name)
        axes: list[int | None] = [None] * len(shape)
        for argument in node.all_input_nodes:
            own = self.of[argument]
            for i in range(1, len(own) + 1):
                axes[-i] = self.join(axes[-i], own[-i])
        self.of[node] = axes

    def _view(self, node, shape) -> None:
        own = self.of[node.args[0]]
        there = [(a, n) for a, n in zip(own, shape_of(node.args[0])) if n != 1]
        if [n for _, n in there] != [n for n in shape if n != 1]:
            raise refuse("reshape", name=node.name, before=shape_of(node.args[0]), after=shape)
        rest = iter([a for a, _ in there])
        self.of[node] = [None if n == 1 else next(rest) for n in shape]

    def _expand(self, node, shape) -> None:
        own = self.of[node.args[0]]
        own = [None] * (len(shape) - len(own)) + own
        # a dimension that is only repeated becomes an axis when somebody else has it
        self.of[node] = [self.new(n) if a is None and n != 1 else a for a, n in zip(own, shape)]

    def _turned(self, node, shape) -> None:
        own, name = self.of[node.args[0]], name_of(node)
        if name == "permute":
            self.of[node] = [own[d] for d in node.args[1]]
        else:
            a, b = node.args[1:3] if name == "transpose" else (0, len(own) - 1)
            turned = list(own)
            if turned:
                turned[a], turned[b] = turned[b], turned[a]
            self.of[node] = turned

    def _reduction(self, node, shape) -> None:
        own = self.of[node.args[0]]
        dims, keep = dims_of(node)
        self.reduced |= {own[d] for d in dims if own[d] is not None}
        left = [None if i in dims else a for i, a in enumerate(own) if keep or i not in dims]
        self.of[node] = (left, left) if name_of(node) == "var_mean" else left

    def _along(self, node, shape) -> None:
        name, own = name_of(node), list(self.of[node.args[0]])
        if name in ("_softmax", "_log_softmax"):
            dims = [node.args[1] % max(len(own), 1)] if own else []
        else:
            dims = list(range(len(own) - len(node.args[1]), len(own)))
            for other in node.all_input_nodes[1:]:  # weight, bias
                for i, a in enumerate(self.of[other], len(own) - len(self.of[other])):
                    own[i] = self.join(own[i], a)
        self.reduced |= {own[d] for d in dims if own[d] is not None}
        left = [None if i in dims else a for i, a in enumerate(own)]
        self.of[node] = {"native_layer_norm": (own, left, left), "_fused_rms_norm": (own, left)}.get(name, own)

    def _order(self, axes: dict) -> None:
        """The axes as the node that has all of them has them."""
        t = self.traced
        flat = [(node, [a for a in found if a is not None]) for node, found in axes.items()]
        used = {a for _, found in flat for a in found}
        wanted = [o for o in t.outputs if o in axes]
        whole = [
            found
            for node, found in sorted(flat, key=lambda x: x[0] not in wanted)
            if set(found) == used and len(found) == len(used)
        ]
        if not whole:
            raise refuse("no_common_shape", shapes=", ".join(str(shape_of(n)) for n in t.placeholders))
        t.order = whole[0]
        t.reduced.sort(key=t.order.index)
        if t.reduced and t.order[-len(t.reduced) :] != t.reduced:
            first = t.order.index(t.reduced[0])
            t.down = t.order[first : first + len(t.reduced)] == t.reduced
