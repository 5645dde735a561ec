"""The parts of a graph that one kernel could do: the patterns, and growing a part by what belongs to it.

A part is convex: nothing outside stands between two of its operators. What it computes for others besides is written
out, as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch
from torch import fx

from labkit.fusion.spelling import is_tensor, name_of, value

CONVOLUTIONS = ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
PRODUCTS = ("linear", "matmul", "mm", "bmm", "addmm", "baddbmm")
NORMS = ("layer_norm", "rms_norm", "group_norm", "native_layer_norm")
ROWS = (*NORMS, "softmax", "_softmax", "log_softmax", "mean", "sum", "amax", "amin", "var", "logsumexp")
ACTIVATIONS = (
    "relu",
    "silu",
    "gelu",
    "sigmoid",
    "tanh",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "elu",
    "mish",
    "softplus",
)
MORE_POINTWISE = (
    "to",
    "_to_copy",
    "dropout",
    "relu6",
    "hardsigmoid",
    "type_as",
    "batch_norm",
    "masked_fill",
    "float",
    "half",
)
VIEWS = (
    "view", "reshape", "transpose", "permute", "unsqueeze", "squeeze", "expand", "slice", "select", "flatten",
    "unflatten", "chunk", "split", "split_with_sizes", "t", "alias", "detach", "narrow", "unsafe_chunk",
)  # fmt: skip


@dataclass
class Group:
    """kind: the pattern; nodes: in the order of the graph; product: the convolution or matrix product in it, None for
    work of the vector cores alone."""

    kind: str
    nodes: list[fx.Node]
    product: fx.Node | None = None
    matched: dict[str, object] = field(default_factory=dict)

    @property
    def inputs(self) -> list[fx.Node]:
        """Tensors from outside, each once."""
        inside, found = set(self.nodes), {}
        for node in self.nodes:
            for n in node.all_input_nodes:
                if n not in inside and is_tensor(n):
                    found[n] = None
        return list(found)

    @property
    def outputs(self) -> list[fx.Node]:
        """What others read. Of a view, that is the tensor it looks at."""
        inside = set(self.nodes)
        found = {}
        for node in self.nodes:
            if any(user not in inside for user in node.users):
                while is_view(node) and node.all_input_nodes[0] in inside:
                    node = node.all_input_nodes[0]
                found[node] = None
        return list(found)


def is_view(node: fx.Node) -> bool:
    import operator

    return name_of(node) in VIEWS or node.target is operator.getitem


def is_pointwise(node: fx.Node) -> bool:
    if not name_of(node) or not is_tensor(node):
        return False
    if name_of(node) == "batch_norm":
        return node.args[5] is False
    return torch.Tag.pointwise in node.target.tags or name_of(node) in (*ACTIVATIONS, *MORE_POINTWISE)


def is_rows(node: fx.Node) -> bool:
    """An operator on rows along the last dimension."""
    name = name_of(node)
    if name not in ROWS or not is_tensor(node):
        return False
    if name in NORMS:
        return name != "group_norm"
    dims = node.args[1] if len(node.args) > 1 else None
    last = value(node.args[0]).dim() - 1
    return dims in (-1, last, [-1], [last])


def reduced_dims(node: fx.Node) -> tuple[int, ...] | None:
    """The dimensions that the node reduces, counted from behind; None for one that reduces none."""
    if name_of(node) not in ROWS or not is_tensor(node) or name_of(node) == "group_norm":
        return None
    rank = value(node.args[0]).dim()
    if name_of(node) in NORMS:
        return tuple(range(-len(node.args[1]), 0))
    given = {a.name: v for a, v in zip(node.target._schema.arguments, node.args)} | dict(node.kwargs)
    dims = given.get("dim")
    dims = list(range(rank)) if dims is None or dims == [] else [dims] if isinstance(dims, int) else dims
    return tuple(sorted(d % rank - rank for d in dims)) if rank else ()


def groups(graph: fx.Graph) -> list[Group]:
    """All of them, none sharing a node with another: the larger patterns first, chains of what is left behind them."""
    place = {node: i for i, node in enumerate(graph.nodes)}
    taken: set[fx.Node] = set()
    found: list[Group] = []
    for pattern in (_attention, _focus, _bag, _swiglu, _norms, _convolution, _product, _chains):
        for group in pattern(graph, place, taken):
            if len(_working(group.nodes)) > 1 and not taken & set(group.nodes):
                taken |= set(group.nodes)
                found.append(group)
    return sorted(found, key=lambda g: place[g.nodes[0]])


def _working(nodes) -> list[fx.Node]:
    return [n for n in nodes if not is_view(n)]


# ---- growing


def is_convex(nodes: set[fx.Node], place: dict[fx.Node, int]) -> bool:
    last = max(place[n] for n in nodes)
    seen, todo = set(), [u for n in nodes for u in n.users if u not in nodes]
    while todo:
        node = todo.pop()
        if node in seen or place[node] > last:
            continue
        seen.add(node)
        for user in node.users:
            if user in nodes:
                return False
            todo.append(user)
    return True


def grow(seed: list[fx.Node], takes: Callable[[fx.Node], bool], place, taken, backward: bool = False) -> list[fx.Node]:
    """seed and what hangs on it: operators that `takes` accepts, and views between them."""
    inside = set(seed)
    changed = True
    while changed:
        changed = False
        near = {u for n in inside for u in n.users}
        if backward:
            near |= {i for n in inside for i in n.all_input_nodes if set(i.users) <= inside}
        for node in sorted(near - inside - taken, key=place.get):
            if node.op == "call_function" and (is_view(node) or takes(node)) and is_convex(inside | {node}, place):
                inside.add(node)
                changed = True
    while True:  # a view at the end belongs to whoever reads it
        ends = {n for n in inside if is_view(n) and n not in seed and not any(u in inside for u in n.users)}
        if not ends:
            return sorted(inside, key=place.get)
        inside -= ends


def only_user(node: fx.Node) -> fx.Node | None:
    return next(iter(node.users)) if len(node.users) == 1 else None


def _same_size(of: fx.Node) -> Callable[[fx.Node], bool]:
    """Pointwise work on the result of `of`, or on pieces of it."""
    numel = value(of).numel()
    return lambda node: is_pointwise(node) and value(node).numel() <= numel


# ---- the patterns


def _attention(graph, place, taken) -> Iterator[Group]:
    for softmax in graph.nodes:
        if name_of(softmax) not in ("softmax", "_softmax"):
            continue
        before, nodes, scale, mask = softmax.args[0], [softmax], 1.0, None
        while name_of(before) in ("mul", "div", "add", "masked_fill", "to"):
            other = before.args[1] if len(before.args) > 1 else None
            if isinstance(other, (int, float)):
                scale = (
                    scale * other if name_of(before) == "mul" else scale / other if name_of(before) == "div" else scale
                )
            elif name_of(before) != "to":
                mask = other
            nodes.append(before)
            before = before.args[0]
        after = only_user(softmax)
        while after is not None and name_of(after) in ("to", "dropout"):
            nodes.append(after)
            after = only_user(after)
        if name_of(before) in ("matmul", "bmm") and after is not None and name_of(after) in ("matmul", "bmm"):
            nodes += [before, after]
            inner = set(nodes) - {after}
            if all(set(n.users) <= set(nodes) for n in inner) and value(before).dim() in (3, 4):
                matched = {"q": before.args[0], "k": before.args[1], "v": after.args[1], "scale": scale, "mask": mask}
                yield Group("attention", sorted(nodes, key=place.get), None, matched)


def _focus(graph, place, taken) -> Iterator[Group]:
    for cat in graph.nodes:
        user = only_user(cat) if name_of(cat) == "cat" else None
        if user is None or name_of(user) != "conv2d" or len(cat.args[0]) != 4:
            continue
        parts = [p for p in cat.args[0] if name_of(p) == "slice"]
        inner = [p.args[0] for p in parts if name_of(p.args[0]) == "slice"]
        sources = {p.args[0] for p in inner}
        steps = [p.args[4] if len(p.args) > 4 else 1 for p in (*parts, *inner)]
        if len(inner) == 4 and len(sources) == 1 and set(steps) == {2}:
            yield _with_epilogue("focus+conv", user, place, taken, [*inner, *parts, cat])


def _bag(graph, place, taken) -> Iterator[Group]:
    for bag in graph.nodes:
        if name_of(bag) in ("embedding_bag", "_embedding_bag", "embedding"):
            nodes = grow([bag], lambda n: name_of(n) in ("linear", "addmm", "cat") or is_pointwise(n), place, taken)
            products = [n for n in nodes if name_of(n) in ("linear", "addmm")]
            if products:
                others = {n for n in graph.nodes if name_of(n) in ("embedding_bag", "_embedding_bag")} - taken
                feeding = [n for n in others if any(u in nodes for g in n.users for u in (g, *g.users))]
                nodes = sorted({*nodes, *feeding, *(u for n in feeding for u in n.users)}, key=place.get)
                places = {
                    i for n in nodes for i in n.all_input_nodes if name_of(i) == "arange" and set(i.users) <= set(nodes)
                }
                yield Group("embedding_bag+mlp", sorted({*nodes, *places}, key=place.get), products[0])


def _swiglu(graph, place, taken) -> Iterator[Group]:
    for silu in graph.nodes:
        product = only_user(silu) if name_of(silu) == "silu" else None
        if product is not None and name_of(product) == "mul":
            yield Group("swiglu", [silu, product])


def _with_epilogue(kind, product, place, taken, before=()) -> Group:
    nodes = grow([*before, product], _same_size(product), place, taken)
    names = [name_of(n) for n in nodes if n not in before and n is not product]
    kind += "+bn" * ("batch_norm" in names) + "+add" * bool({"add", "add_"} & set(names))
    kind += "+act" * bool({n.rstrip("_") for n in names} & set(ACTIVATIONS))
    return Group(kind, nodes, product)


def _convolution(graph, place, taken) -> Iterator[Group]:
    for node in graph.nodes:
        if name_of(node) in CONVOLUTIONS and node not in taken:
            yield _with_epilogue("conv", node, place, taken)


def _product(graph, place, taken) -> Iterator[Group]:
    # from behind: where two products are added, the later one finishes the sum
    for node in reversed(list(graph.nodes)):
        if name_of(node) in PRODUCTS and node not in taken:
            kind = "linear" if name_of(node) in ("linear", "addmm") else "matmul"
            yield _with_epilogue(kind, node, place, taken)


def _norms(graph, place, taken) -> Iterator[Group]:
    for norm in graph.nodes:
        if name_of(norm) not in NORMS or norm in taken or not is_rows(norm):
            continue
        total = norm.args[0]
        before = [total] if name_of(total) == "add" and total not in taken else []
        nodes = grow([*before, norm], _same_size(norm), place, taken)
        names = {name_of(n) for n in nodes if n not in (*before, norm)}
        kind = "residual+norm" if before else "norm"
        act = next((a for a in ACTIVATIONS if a in names), None)
        yield Group(f"{kind}+{act}" if act else kind if before else f"{kind}+elementwise", nodes)


def _chains(graph, place, taken) -> Iterator[Group]:
    for node in graph.nodes:
        dims = reduced_dims(node)
        if node not in taken and (is_pointwise(node) or dims is not None):
            size, known = value(node).numel(), [] if dims is None else [dims]

            def takes(n, size=size, known=known):
                read = [value(i).numel() for i in n.all_input_nodes[:1]]  # ones() reads nothing
                if value(n) is None or value(n).numel() > max([size, *read]):
                    return False
                dims = reduced_dims(n)
                if dims is not None and (not known or dims == known[0]):  # a kernel reduces along one way only
                    known.append(dims)
                    return True
                return dims is None and is_pointwise(n)

            nodes = grow([node], takes, place, taken, backward=True)
            rows = any(reduced_dims(n) is not None for n in nodes)
            yield Group("reduction chain" if rows else "elementwise chain", nodes)
