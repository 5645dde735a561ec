"""Cases of notebook 04.05's exercises: small graphs in which a part may or may not be replaced."""

from __future__ import annotations

import operator
import random

import torch
from torch import fx
from torch.nn import functional as F

from labkit.exercises import Case


def plain(gate, up):
    return F.silu(gate) * up


def shared(gate, up):
    s = F.silu(gate)
    return s * up + s


def kept(gate, up):
    s = F.silu(gate)
    return s * up, s


def twice(gate, up):
    s = F.silu(gate)
    return s * (s + up)


def halfway(gate, up):
    s = F.silu(gate)
    t = s + up
    return s * t + t


def often(gate, up):
    s = F.silu(gate)
    return s * up + s + s


def beside(gate, up):
    s = F.silu(gate)
    t = F.relu(s)
    return s * up + t


def middle(gate, up):
    s = F.silu(gate)
    t = s + up
    q = F.relu(t)
    return s * q + t


def apart(gate, up):
    s = F.silu(gate)
    t = s + up
    q = F.relu(t)
    r = q + s
    return s * r


def chain(length: int, outside: int | None):
    """`length` nodes from silu to the product, each of which reads the one before it and silu; the one with the number
    `outside` is read behind the product, too."""

    def function(gate, up):
        nodes = [F.silu(gate)]
        while len(nodes) < length - 1:
            nodes.append(nodes[-1] + nodes[0] if len(nodes) > 1 else nodes[0] + up)
        product = nodes[0] * nodes[-1]
        return product if outside is None else product + nodes[outside]

    return function


def graph_of(function) -> tuple[fx.Graph, list[fx.Node]]:
    """The graph, and in it silu, the product, and what stands between them."""
    graph = fx.symbolic_trace(function).graph
    nodes = list(graph.nodes)
    silu = next(n for n in nodes if n.target is F.silu)
    product = next(u for u in silu.users if "mul" in str(u.target))
    return graph, nodes[nodes.index(silu) : nodes.index(product) + 1]


def inside_cases(seed, quick):
    return [
        Case("silu(gate) * up", ("plain",), True),
        Case("silu(gate) is added later", ("shared",), False),
        Case("silu(gate) is an output", ("kept",), False),
        Case("silu(gate) is read twice inside", ("twice",), True),
        Case("silu(gate) is added twice later", ("often",), False),
        Case("what stands between is added later", ("halfway",), False),
        Case("what stands between is read outside alone", ("beside",), False),
        Case("the second of four is added later", ("middle",), False),
        Case("read inside, neither by the next one nor by the last one alone", ("apart",), True),
        Case("one node alone, read outside", ("shared", "the result alone"), True),
        Case("the third of five is added later", ("chain", 5, 2), False),
        *drawn_chains(seed),
    ]


def drawn_chains(seed):
    """Of a class's seed: matches of other lengths, each node of which may be the one that is read outside."""
    if not seed:
        return []
    draw = random.Random(seed)
    length = draw.randint(6, 12)
    made = [(length, at) for at in (None, *range(length - 1))]
    made += [(n, draw.randrange(n - 1)) for n in draw.sample(range(13, 40), 2)]
    made.append((draw.randint(13, 40), None))
    drawn = [Case("drawn", ("chain", n, at), at is None) for n, at in made]
    return drawn + [drawn_part(draw, inside) for inside in (True, False) * 8]


def drawn_part(draw, inside: bool):
    """A graph and, as a match, any of its nodes: others may stand between them, read them, or neither."""
    while True:
        reads = [draw.sample(range(-2, i), draw.randint(1, 2)) for i in range(draw.randint(5, 14))]
        match = sorted(draw.sample(range(len(reads)), draw.randint(2, len(reads) - 2)))
        outside = any(i in read for i in match[:-1] for k, read in enumerate(reads) if k not in match)
        whole = match[-1] - match[0] == len(match) - 1
        if inside != outside and not whole:
            return Case("drawn", ("part", reads, match), inside)


def part(reads: list[list[int]], match: list[int]) -> list[fx.Node]:
    """Those of `match` in a graph whose node i reads the nodes reads[i]; -1 and -2 are gate and up."""
    graph = fx.Graph()
    gate, up = graph.placeholder("gate"), graph.placeholder("up")
    nodes: list[fx.Node] = []
    for read in reads:
        args = tuple([*nodes, up, gate][k] if k < 0 else nodes[k] for k in read)
        nodes.append(graph.call_function(F.silu if len(args) == 1 else operator.mul, args))
    graph.output(nodes[-1])
    return [nodes[i] for i in match]


def run_inside(function, args, case):
    if args[0] == "part":
        return bool(function(part(*args[1:])))
    _, match = graph_of(chain(*args[1:]) if args[0] == "chain" else globals()[args[0]])
    return bool(function(match[-1:] if args[1:] == ("the result alone",) else match))


REGIONS = (
    ("nothing changes", ["linear", "silu", "mul"], [1, 2], True),
    ("a change between", ["linear", "silu", "mul_", "mul"], [1, 3], False),
    ("a change before", ["linear", "add_", "silu", "mul"], [2, 3], True),
    ("a change behind", ["silu", "mul", "add_"], [0, 1], True),
    ("two changes, one between", ["add_", "silu", "linear", "copy_", "mul"], [1, 4], False),
    ("names with _ elsewhere", ["layer_norm", "_softmax", "mul"], [0, 2], True),
    ("three places, a change behind the second", ["silu", "mul", "add_", "linear"], [0, 1, 3], False),
    ("the first one changes its argument", ["linear", "silu_", "mul"], [1, 2], False),
    ("the last one changes its argument", ["linear", "silu", "mul_"], [1, 2], True),
    ("three in a row", ["linear", "relu_", "silu", "add", "mul", "add_"], [2, 3, 4], True),
    ("another change between", ["silu", "clamp_", "mul"], [0, 2], False),
    ("the last one's name stands before as well", ["mul", "silu", "div_", "mul"], [1, 3], False),
    ("a change far behind the first", ["silu", "linear", "relu", "add", "sub_", "mul"], [0, 5], False),
    ("one place, which changes its argument", ["linear", "silu_", "mul"], [1], True),
)


def region_cases(seed, quick):
    return [Case(name, (ops, match), expected) for name, ops, match, expected in REGIONS]


def run_region(function, args, case):
    return bool(function(list(args[0]), list(args[1])))


def take_cases(seed, quick):
    half, single = torch.float16, torch.float32
    asked = (
        ("both half on npu", "npu", "npu", half, half, (4, 8), (4, 8), True),
        ("both float on npu", "npu", "npu", single, single, (4, 8), (4, 8), True),
        ("both bfloat16 on npu", "npu", "npu", torch.bfloat16, torch.bfloat16, (4, 8), (4, 8), True),
        ("on the CPU", "cpu", "cpu", half, half, (4, 8), (4, 8), False),
        ("gate alone on npu", "npu", "cpu", half, half, (4, 8), (4, 8), False),
        ("up alone on npu", "cpu", "npu", half, half, (4, 8), (4, 8), False),
        ("two types", "npu", "npu", half, single, (4, 8), (4, 8), False),
        ("half and double", "npu", "npu", half, torch.float64, (4, 8), (4, 8), False),
        ("a row against many", "npu", "npu", half, half, (4, 8), (8,), False),
        ("as many in another shape", "npu", "npu", half, half, (4, 8), (8, 4), False),
        ("as many rows, in two axes", "npu", "npu", half, half, (6, 8), (2, 3, 8), False),
        ("double", "npu", "npu", torch.float64, torch.float64, (4, 8), (4, 8), False),
        ("integers of 32 bits", "npu", "npu", torch.int32, torch.int32, (4, 8), (4, 8), False),
        ("integers of 64 bits", "npu", "npu", torch.int64, torch.int64, (4, 8), (4, 8), False),
        ("8-bit floats", "npu", "npu", torch.float8_e5m2, torch.float8_e5m2, (4, 8), (4, 8), False),
        ("half and bfloat16", "npu", "npu", half, torch.bfloat16, (4, 8), (4, 8), False),
        ("both without data", "meta", "meta", half, half, (4, 8), (4, 8), False),
        ("three axes", "npu", "npu", half, half, (2, 3, 8), (2, 3, 8), True),
        ("three axes, the middle one another", "npu", "npu", half, half, (2, 3, 8), (2, 5, 8), False),
        ("one axis", "npu", "npu", single, single, (8,), (8,), True),
        *drawn_pairs(seed),
    )
    return [Case(name, tuple(rest[:-1]), rest[-1]) for name, *rest in asked]


def drawn_pairs(seed):
    """Of a class's seed: shapes and types that were not shown, two that the kernel takes among them."""
    draw = random.Random(seed)
    rows, columns = draw.randint(5, 99), draw.randint(9, 99)
    shape, types = (rows, columns), draw.sample([torch.float16, torch.bfloat16, torch.float32], 2)
    # of more axes than were shown, each of which may be the one that differs
    axes = [[draw.randint(2, 9) for _ in range(n)] for n in (4, draw.randint(5, 12))]
    others = [(one, [*one[:i], one[i] + 1, *one[i + 1 :]]) for one in axes for i in range(len(one))]
    return [] if not seed else [
        *((f"drawn, {len(one)} axes", "npu", "npu", types[0], types[0], tuple(one), tuple(one), True) for one in axes),
        *(("drawn, one axis is another", "npu", "npu", types[0], types[0], *map(tuple, two), False) for two in others),
        ("drawn", "npu", "npu", types[0], types[0], shape, shape, True),
        ("drawn", "npu", "npu", types[1], types[1], (rows,), (rows,), True),
        ("drawn, two types", "npu", "npu", *types, shape, shape, False),
        ("drawn, integers", "npu", "npu", torch.int32, torch.int32, shape, shape, False),
        ("drawn, one axis more", "npu", "npu", types[0], types[0], (2, *shape), (2 * rows, columns), False),
        ("drawn, a column", "npu", "npu", types[0], types[0], shape, (rows, 1), False),
        *((f"drawn, {str(t)[6:]}", "npu", "npu", t, t, shape, shape, False) for t in draw.sample(other_types(), 12)),
        *((f"drawn, on {d}", d, d, types[0], types[0], shape, shape, False) for d in DEVICES),
        *(("drawn, gate on npu", "npu", d, types[1], types[1], shape, shape, False) for d in draw.sample(DEVICES, 2)),
        *(("drawn, up on npu", d, "npu", types[1], types[1], shape, shape, False) for d in draw.sample(DEVICES, 2)),
    ]  # fmt: skip


# PyTorch's own names of devices but npu
DEVICES = ("cuda", "xpu", "mps", "xla", "hpu", "mtia", "ipu", "vulkan", "privateuseone", "meta", "cpu")


def other_types():
    """All types of PyTorch's that the kernel does not take, by their names: another version has others."""
    taken = (torch.float16, torch.bfloat16, torch.float32)
    found = {str(t): t for t in vars(torch).values() if isinstance(t, torch.dtype) and t not in taken}
    return [found[name] for name in sorted(found)]


class Known:
    """What a compiler knows of a tensor."""

    def __init__(self, device, dtype, shape):
        self.device, self.dtype, self.shape = device, dtype, torch.Size(shape)


def run_take(function, args, case):
    a, b, dtype, other, shape, shape2 = args
    return bool(function(Known(a, dtype, shape), Known(b, other, shape2)))
