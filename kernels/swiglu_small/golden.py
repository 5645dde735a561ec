"""Cases of the exercises of 03.01 to 03.06: swiglu_small registered with PyTorch, and its backward."""

from __future__ import annotations

import random
import re

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from labkit import messages
from labkit.exercises import Case, OnFirstCard, OnHost, Out, Refuses

TILE = 2048
# names of what a case's `run` finds: in a grader's worker it has no case.expected
TEXTS = "the four texts", "四段文字"
SIZES = "sizes, where they are symbols", "大小为符号时各维的大小"
CALLS = "calls of torch.ops.mine.gated below autograd", "自动微分之下 torch.ops.mine.gated 的调用次数"
TOLERANCE = (1e-4, 2e-5)  # about ten instructions, each rounded to float


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


def golden(gate, up):
    """In double, rounded once."""
    return (F.silu(gate.double()) * up.double()).to(gate.dtype)


def backward(dy, gate, up):
    """(dgate, dup) by autograd, in double."""
    wide = [t.detach().double().requires_grad_() for t in (gate, up)]  # double() of a double is the argument itself
    return tuple(g.to(gate.dtype) for g in torch.autograd.grad(F.silu(wide[0]) * wide[1], wide, dy.double()))


def _random(seed, *shapes):
    g = torch.Generator().manual_seed(seed)
    return [3 * torch.randn(shape, generator=g) for shape in shapes]


def _call(name, gate, up, **more):
    return Case(name, (gate, up), golden(gate, up), TOLERANCE, **more)


# ---- 03.01 to 03.03


def by_name(operator, args, case):
    """Called as operator(up=.., gate=..), where its schema has these names."""
    named = sorted(operator.arguments) == ["gate", "up"]
    return operator(**dict(zip(("gate", "up"), args))) if named else operator(*args)


def bind_cases(seed, quick):
    """It is called, by place and by name, it has a Meta, opcheck is content."""
    made = []
    for shape in ((40,), (3, 5, 700)):
        gate, up = _random(seed, shape, shape)
        made.append(_call(f"shape={tuple(shape)}", gate, up))
    made.append(_call("gate and up by their names", gate, up, run=by_name))
    drawn = [_random(seed, shape, shape) for shape in drawn_shapes(seed)]
    made += [_call(f"shape={tuple(pair[0].shape)}", *pair) for pair in drawn]
    metas = [Case(f"meta, shape={tuple(one.shape)}", (one, two), one, probe="meta") for one, two in drawn]
    return [
        *made,
        Case("meta", (gate, up), gate, probe="meta"),
        *metas,
        Case("opcheck", (gate, up), None, probe="opcheck"),
        Case("schema", (), "mine::swiglu(Tensor gate, Tensor up) -> Tensor", probe="schema"),
        Case("on the CPU", (OnHost(gate), OnHost(up)), Refuses(("Could not run",))),
    ]


def check_cases(seed, quick):
    """Calls that are right, calls that must be refused, and a second card."""
    gate, up = _random(seed, (6, 50), (6, 50))
    square = _random(seed + 1, (16, 16))[0]

    texts = {say(*TEXTS): say("all different", "各不相同")}

    def refused(name, args, *words):
        return Case(name, args, Refuses(words))

    others = []
    further = (torch.int64, torch.int16, torch.int8, torch.uint8, torch.bool) if seed else ()  # of a class
    for dtype in (torch.float16, torch.float64, torch.int32, torch.bfloat16, *further):
        name = str(dtype).removeprefix("torch.")
        others.append(refused(f"gate of {name}", (gate.to(dtype), up), "dtype", "type", "float", "类型"))
        if dtype != torch.float16:  # up of float16 stands before
            others.append(refused(f"up of {name}", (gate, up.to(dtype)), "dtype", "type", "float", "类型"))
    return [
        _call("shape=(6, 50)", gate, up),
        _call("empty", gate[:0], up[:0]),
        _call("from the third row on", gate[2:], up[2:]),
        refused("up on the CPU", (gate, OnHost(up)), "device", "npu", "设备"),
        refused("up of float16", (gate, up.half()), "dtype", "type", "float", "类型"),
        refused("both of float16", (gate.half(), up.half()), "dtype", "type", "float", "类型"),
        *others,
        refused("up of another shape", (gate, up[:, :40].contiguous()), "shape", "size", "形状"),
        refused("up of another shape, of as many elements", (gate, up.reshape(50, 6)), "shape", "size", "形状"),
        refused("up of fewer rows", (gate, up[:3]), "shape", "size", "形状"),
        refused("up a single row", (gate, up[0]), "shape", "size", "形状"),
        refused("gate transposed", (square.T, square), "contiguous", "连续"),
        refused("up a slice of columns", (gate[:, :10].contiguous(), up[:, :10]), "contiguous", "连续"),
        Case(say("the texts of four refusals", "四种拒绝的文字"), (gate, up), texts, run=refusals),
        _call("on the second card", gate, up, probe="guard"),
        Case(
            "up on another card",
            (gate, OnFirstCard(up)),
            Refuses(("device", "npu", "card", "设备", "卡")),
            probe="guard",
        ),
    ]


def refusals(op, args, case):
    """Do four calls, each of which has another fault, get four different texts?"""
    gate, up = args
    op(gate, up)
    said = set()
    for wrong in (gate, up.cpu()), (gate.half(), up.half()), (gate, up[:3]), (gate[:, :20], up[:, :20]):
        try:
            op(*wrong)
        except Exception as error:
            said.add(str(error).split("\n")[0])
    told = say("all different", "各不相同") if len(said) == 4 else say("not all different", "并非各不相同")
    return {say(*TEXTS): told}


def _packed(x):
    return golden(*x.chunk(2, -1))


def meta_cases(seed, quick):
    """swiglu_packed: [.., 2 n] -> [.., n]. The last needs no kernel: Meta follows any type."""
    small, wide, row = _random(seed, (4, 6), (2, 3, 128), (10,))
    made = [Case(f"shape={tuple(x.shape)}", (x,), _packed(x), TOLERANCE) for x in (small, wide, row)]
    made += [
        Case(f"meta, shape={tuple(x.shape)}", (x,), _packed(x), probe="meta") for x in (small, wide, row, wide.half())
    ]
    turned = torch.zeros(8, 6).t()  # the result is contiguous all the same
    made += [Case(say("meta, transposed", "meta，转置"), (turned,), _packed(turned).contiguous(), probe="meta")]
    draw = random.Random(seed)  # more axes than were tried before
    many = torch.zeros(*(draw.randint(1, 3) for _ in range(draw.randint(3, 6))), 8)
    made.append(Case(f"meta, shape={tuple(many.shape)}", (many,), _packed(many), probe="meta"))
    symbols = {say(*SIZES): say("symbols", "符号")}
    made.append(Case(say("sizes that are symbols", "大小为符号"), (wide,), symbols, run=of_symbols))
    for axes in (draw.choice((1, 2)), draw.randint(4, 6)) if seed else ():
        x = torch.zeros(*(draw.randint(2, 4) for _ in range(axes - 1)), 8)
        made.append(
            Case(say(f"sizes that are symbols, axes: {axes}", f"{axes} 维的大小为符号"), (x,), symbols, run=of_symbols)
        )
    return [*made, Case("opcheck", (wide,), None, probe="opcheck")]


def of_symbols(op, args, case):
    """The compiler's tensors in a graph for many shapes. A number in a size's place ties the graph to it, and so does a
    number that is made of it on the way."""
    op(*args)
    x, shapes = args[0], ShapeEnv()
    every = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC] * x.dim())
    with FakeTensorMode(shape_env=shapes) as fake:
        given = fake.from_tensor(x, symbolic_context=every)
        y = op(given)
    fixed = [d for d in range(y.dim()) if not is_symbol(y.shape[d])]
    tied = [d for d in range(x.dim()) if d not in fixed and not is_symbol(given.shape[d])]
    if not fixed and not tied:
        return {say(*SIZES): say("symbols", "符号")}
    which = ", ".join(map(str, fixed or tied))
    return {say(*SIZES): say(f"a number along axis {which}", f"第 {which} 维是数")}


def is_symbol(size) -> bool:
    """Does this size still stand for any number? What int() was taken of does not, though it is a SymInt as before."""
    return isinstance(size, torch.SymInt) and size.node.maybe_as_int() is None


def drawn_shapes(seed):
    """Of a class's seed: one axis, two and four; thousands of numbers and a million."""
    draw = random.Random(seed)
    rows, columns = draw.randint(60, 90), draw.randint(90, 300)
    return [(draw.randint(800_000, 1_000_000),), (rows, columns), (2, rows, 3, columns)] if seed else []


def in_place(op, args, case):
    """swiglu_ writes gate; what is compared is gate afterwards."""
    op(*args)
    return args[0]


def in_place_by_name(op, args, case):
    by_name(op, args, case)
    return args[0]


def schema_cases(seed, quick):
    gate, up = _random(seed, (5, 33), (5, 33))
    return [
        _call("shape=(5, 33)", gate, up, run=in_place),
        *(_call(f"shape={shape}", *_random(seed, shape, shape), run=in_place) for shape in drawn_shapes(seed)),
        _call("gate and up by their names", gate, up, run=in_place_by_name),
        Case("opcheck", (gate, up), None, probe="opcheck"),
        Case("schema", (), "mine::swiglu_(Tensor(a!) gate, Tensor up) -> ()", probe="schema"),
    ]


def stream_cases(seed, quick):
    """Behind operators that still wait in the host's queue, on the default stream and on another one."""
    gate, up = _random(seed, (3000,), (3000,))
    return [
        _call("first call", gate, up),
        _call("behind queued operators", gate, up, probe="queued"),
        _call("on a side stream", gate, up, probe="stream"),
    ]


# ---- 03.04 to 03.06


def formula_cases(seed, quick):
    dy, gate, up = (t.double() for t in _random(seed, (200,), (200,), (200,)))
    gate[:2] = torch.tensor([-800.0, 800.0])  # exp(800) is infinite
    few = torch.tensor([-2.0, 0.0, 1.0, 5.0], dtype=torch.float64)
    one = torch.ones_like(few), few, torch.ones_like(few)
    kept = {say("dy, gate, up", "dy、gate、up"): say("as they were", "未改变")}
    # gates of any size: up is 0 where they are so large that s + g * s * (1 - s), written otherwise, loses its digits
    g = torch.Generator().manual_seed(seed + 1)
    exponent = torch.cat([6 * torch.rand(100, generator=g), 290 * torch.rand(100, generator=g)]).double()
    large = 10**exponent * torch.where(torch.rand(200, generator=g) < 0.5, -1, 1)
    large[[40, 60, 140, 160]] = torch.tensor([-8e307, 8e307, 8e307, -8e307], dtype=torch.float64)
    any_gate = dy.clamp(-1, 1), large, torch.where(large.abs() < 1e6, up, 0.0)
    return [
        Case(name, args, dict(zip(("dgate", "dup"), backward(*args))) | kept, (1e-9, 1e-9))
        for name, args in (
            ("four values", one),
            ("200 values", (dy, gate, up)),
            (say("gates of any size", "任意大小的 gate"), any_gate),
        )
    ]


def run_formula(function, args, case):
    """Both results, and whether the arguments are as they were: gate and up are saved for others too."""
    before = [t.clone() for t in args]
    got = function(*args)
    if not (isinstance(got, (tuple, list)) and len(got) == 2):
        return got
    changed = [name for name, a, b in zip(("dy", "gate", "up"), before, args) if not torch.equal(a, b)]
    told = say(f"{', '.join(changed)} changed in place", f"{'、'.join(changed)} 被就地改变")
    return dict(zip(case.expected, (*got, told if changed else list(case.expected.values())[2])))


def backward_cases(seed, quick):
    made = []
    for n, blocks in ((100, 1), (5000, 2)) if quick else ((1, 1), (100, 1), (5000, 2), (40000, 8)):
        dy, gate, up = _random(seed, (n,), (n,), (n,))
        made.append(
            Case(
                f"n={n} blocks={blocks}",
                (dy, gate, up, Out((n,), torch.float32), Out((n,), torch.float32), n),
                backward(dy, gate, up),
                TOLERANCE,
                blocks=blocks,
                tile=TILE,
                layout="interleaved",
            )
        )
    return made


def _product(gate, up):
    return F.silu(gate) * up


def grad_cases(seed, quick):
    """Values, both gradients against autograd in double, for an ordinary gradient and for that of sum()."""
    gate, up = _random(seed, (4, 9), (4, 9))
    made = [_call("shape=(4, 9)", gate, up), Case("gradients", (gate, up), _product, TOLERANCE, probe="grad")]
    for shape in drawn_shapes(seed)[1:]:
        pair = tuple(_random(seed, shape, shape))
        made.append(Case(f"gradients, {shape}", pair, _product, TOLERANCE, probe="grad"))
    return made


def register_cases(seed, quick):
    """And a way back behind another call: what is kept belongs to its own."""
    gate, up = (t.requires_grad_() for t in _random(seed + 1, (4, 9), (4, 9)))
    want = torch.autograd.grad(_product(gate.double(), up.double()).square().sum(), (gate, up))
    between = Case(
        say("a second call before the way back", "反向之前又调用一次"),
        (gate.detach(), up.detach()),
        tuple(t.float() for t in want),
        TOLERANCE,
        run=called_between,
    )
    args = tuple(t.detach() for t in (gate, up))
    turned = Case(
        say("a transposed gradient", "转置的梯度"),
        args,
        tuple(t.float() for t in transposed(_product, [t.double() for t in args], None)),
        TOLERANCE,
        run=transposed,
    )
    refused = Refuses(("modified by an inplace", "in-place", "inplace"), missing="op-not-noticed")
    written = [
        Case(say(f"{name} written before the way back", f"反向之前 {name} 被写"), args, refused, run=run)
        for name, run in (("gate", gate_written), ("up", up_written))
    ]
    return [*grad_cases(seed, quick), between, turned, *written]


def transposed(op, args, case):
    """The gradients of a sum of the transposed result with weights."""
    gate, up = (t.detach().requires_grad_() for t in args)
    y = op(gate, up).t()
    weights = torch.linspace(-1, 2, y.numel(), dtype=y.dtype).reshape(y.shape).to(y.device)
    return torch.autograd.grad((y * weights).sum(), (gate, up))


def gate_written(op, args, case):
    written_between(op, args, 0)


def up_written(op, args, case):
    written_between(op, args, 1)


def written_between(op, args, which):
    """Who saves with save_for_backward is told of it; the gradients would be those of other numbers."""
    args = [t.requires_grad_() for t in args]
    y = op(*args)
    with torch.no_grad():
        args[which].mul_(2)
    torch.autograd.grad(y.sum(), args)


def called_between(op, args, case):
    gate, up = (t.requires_grad_() for t in args)
    y = op(gate, up)
    op(*(2 * t.detach().requires_grad_() for t in args))
    return torch.autograd.grad(y.square().sum(), (gate, up))


def register_asked(text, builds):
    """The operator in the way back, not the formula again in PyTorch's own operators."""
    back = text.split("def backward(ctx, grad):")[1].split("torch.library.register_autograd(")[0]
    code = re.sub(r"#[^\n]*", "", back)
    if "reverse[" in code and "swiglu_backward" not in code:
        return say(
            "The kernel is launched past the operator: PyTorch sees no call there. Use torch.ops.mine.swiglu_backward.",
            "这里绕过算子直接启动了核函数：PyTorch 看不到这次调用。请用 torch.ops.mine.swiglu_backward。",
        )
    if "swiglu_backward" not in code:
        return say(
            "The gradients are computed by PyTorch's operators, a launch each: torch.ops.mine.swiglu_backward is one.",
            "梯度由 PyTorch 的算子逐个计算，每个一次启动：torch.ops.mine.swiglu_backward 只需一次启动。",
        )
    return ""


def twice(op, args, case):
    """The derivative of the gradient's square, of a loss that has the operator in one of its terms."""
    gate, up = (t.requires_grad_() for t in args)
    (first,) = torch.autograd.grad(op(gate, up).square().sum() + gate.pow(3).sum(), gate, create_graph=True)
    first.square().sum().backward()


def key_cases(seed, quick):
    gate, up = _random(seed, (4, 9), (4, 9))
    calls = {say(*CALLS): 1}
    return [
        *grad_cases(seed, quick),
        Case(say("what PyTorch sees", "PyTorch 看到的调用"), (gate, up), calls, run=calls_below),
        *(
            Case(say(f"what PyTorch sees, {shape}", f"PyTorch 看到的调用，{shape}"), made, calls, run=calls_below)
            for shape in drawn_shapes(seed)
            for made in [tuple(_random(seed, shape, shape))]
        ),
        *(
            Case(name, args, Refuses(("twice",), missing="op-double"), run=twice)
            for name, args in (
                ("differentiated twice", (gate, up)),
                *((f"differentiated twice, {s}", tuple(_random(seed, s, s))) for s in drawn_shapes(seed)),
            )
        ),
    ]


def calls_below(op, args, case):
    """How often the dispatcher meets the operator behind the autograd keys: tracing and profilers see these calls."""

    class Seen(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
            self.count += str(operator).startswith("mine.gated.")
            return operator(*args, **(kwargs or {}))

    with Seen() as seen:
        op(*(t.requires_grad_() for t in args))
    return {say(*CALLS): seen.count}


def amp(op, args, case):
    with torch.autocast("npu", dtype=torch.float16):
        return op(*args)


def amp_cases(seed, quick):
    """What Linear gives under autocast is float16; the kernel takes float32."""
    gate, up = _random(seed, (4, 9), (4, 9))
    half = gate.half()
    return [
        _call("outside of autocast", gate, up),
        Case("float32 under autocast", (gate, up), golden(gate, up), TOLERANCE, run=amp),
        Case("float16 gate under autocast", (half, up), golden(half.float(), up), TOLERANCE, run=amp),
        Case(
            "both float16 under autocast",
            (half, up.half()),
            golden(half.float(), up.half().float()),
            TOLERANCE,
            run=amp,
        ),
        *(
            Case(
                f"both {name} under autocast",
                (gate.to(dtype), up.to(dtype)),
                golden(gate.to(dtype).float(), up.to(dtype).float()),
                TOLERANCE,
                run=amp,
            )
            for name, dtype in (("bfloat16", torch.bfloat16), ("float64", torch.float64))
        ),
        Case("gradients under autocast", (gate, up), _product, TOLERANCE, probe="grad", run=amp),
    ]
