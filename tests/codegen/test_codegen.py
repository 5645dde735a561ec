"""The generator's core: kinds, places, the budget of UB, the text, the clock; and generators that are wrong."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402
from fused_by_hand import chains  # noqa: E402

import labkit  # noqa: E402
from labkit import chips, codegen, fusion  # noqa: E402
from labkit.codegen import (  # noqa: E402  # noqa: E402
    COLUMN,
    FULL,
    PIECES,
    ROW,
    ROWS,
    WIDE,
    Builder,
    Refused,
    Tensor,
    clock,
    emit,
    helpers,
    places,
    steps,
    tiling,
)

pytestmark = simulated


def softmax(shape: str, dtype: str = "f16"):
    b = Builder("softmax", shape=shape)
    x = b.load(Tensor("x", dtype))
    e = b.unary("exp", b.binary("sub", x, b.reduce("max", x)))
    b.store(Tensor("y", dtype), b.binary("div", e, b.reduce("sum", e)))
    return b.done()


def geometry(program, rows: int, width: int):
    strides = tuple((t.name, (0, 0, width)) for t in (*program.inputs, *program.outputs))
    return tiling.Geometry(rows, width, strides=strides)


@pytest.mark.parametrize("shape, rows, width", [(ROWS, 5, 33), (ROWS, 70, 200), (ROWS, 3, 1000), (WIDE, 3, 40001)])
def test_a_program_of_ones_own_runs(shape, rows, width):
    """As another front end would use it; the numbers decide, not the findings alone."""
    program = softmax(shape)
    plan = codegen.plan(program)
    kernel = labkit.kernel(text=codegen.source(plan))
    g = geometry(program, rows, width)
    cut = tiling.best(plan, g)
    x = (torch.randn(rows, width) * 3 - 9).half()  # all negative: a zero behind a row's end would be the largest
    y = torch.empty_like(x).npu()
    record = kernel[cut.blocks](x.npu(), y, tiling.values(plan, g, cut))
    want = torch.softmax(x.double(), -1)
    assert record.ok and not record.findings
    assert ((y.cpu().double() - want).abs() <= 2**-10 * want + 1e-7).all()
    assert clock.predict(plan, g, cut).us == pytest.approx(record.time_us, rel=0.2)


def test_each_pass_over_a_long_row_is_predicted_at_its_own_pace():
    """The tiles of the first pass, which stores nothing, are not those of the others."""

    def softmax(x):
        return torch.softmax(x, -1)

    def normed(x):
        return (x - x.mean(-1, keepdim=True)) * torch.rsqrt(x.var(-1, keepdim=True, correction=0) + 1e-5)

    for f in (softmax, normed):
        kernel = fusion.kernel(f, [torch.zeros(1, 6_000_000).npu()])
        assert kernel.predict().us == pytest.approx(kernel.modelled().time_us, rel=0.09)


# ---- places


def programs():
    """Of drawn chains, without building anything."""
    for number in range(60):
        d = chains().draw(11, number)
        yield fusion.kernel(d, d.tensors(), name="drawn").plan


def test_every_step_reads_what_was_meant():
    """Run in the head: a place holds the value that was written last, and it must be the one that is read."""
    seen = set()
    for plan in programs():
        for section in plan.sections:
            holds = {}
            for step in section.steps:
                for v in step.ins:
                    place = section.place.get(v)
                    if place is not None:
                        assert holds.get(place) is v, f"{v.name} of {plan.program.name} was overwritten"
                if step.out is not None:
                    holds[section.place[step.out]] = step.out
        seen.add(plan.program.shape)
    assert seen >= {ROWS, PIECES}


def test_what_a_program_needs_fits_ub():
    ub = chips.load()["memory"]
    for plan in programs():
        assert places.size(plan) <= ub["ub"] and plan.tile % places.STEP == 0
        if any(s.op == "select" for s in plan.program.steps):
            assert places.size(plan) <= ub["ub"] - ub["ub_reserved"], "Select works in the last 8 KB"


def test_what_is_the_same_for_all_tiles_is_fetched_once():
    b = Builder("scaled")
    x, w = b.load(Tensor("x", "f16")), b.load(Tensor("w", "f16", ROW))
    b.store(Tensor("y", "f16"), b.binary("mul", x, b.scalar("adds", w, 1.0)))
    plan = codegen.plan(b.done())
    assert [s.op for s in plan.section("setup").steps] == ["load", "cast", "adds", "expand"]
    assert plan.section("tile").loads()[0].tensor.name == "x" and len(plan.section("tile").loads()) == 1


def test_kinds():
    b = Builder("kinds")
    x, c, w = b.load(Tensor("x", "f32")), b.load(Tensor("c", "f32", COLUMN)), b.load(Tensor("w", "f32", ROW))
    assert b.binary("add", c, c).kind == COLUMN and b.binary("add", w, w).kind == ROW
    assert b.binary("add", x, c).kind == FULL and b.binary("sub", w, c).kind == FULL
    assert b.reduce("sum", x).kind == COLUMN and b.compare("GT", c, 0.0).dtype == "bits"
    assert b.unary("exp", x) is b.unary("exp", x), "nothing is computed twice"


def test_the_least_integer():
    """C++ reads the minus and a number that no int32_t holds."""
    x = torch.tensor([[-3, 0, 7, -(2**31), 2**31 - 1]], dtype=torch.int32)
    for f in (lambda x: x.masked_fill(x > 0, -(2**31)) + 0, lambda x: x.clamp(min=-(2**31), max=3)):
        assert torch.equal(fusion.kernel(f, [x.npu()])(x.npu()).cpu(), f(x))


@pytest.mark.parametrize("number", [2**31, 2**33 + 5, -(2**31) - 1])
def test_a_number_that_no_int32_holds_is_cut_as_pytorch_cuts_it(number):
    x = torch.tensor([[-3, 0, 7, -(2**31), 2**31 - 1]], dtype=torch.int32)
    for f in (lambda x: x + number, lambda x: x * number + 1, lambda x: (x > number).int()):
        assert torch.equal(fusion.kernel(f, [x.npu()])(x.npu()).cpu(), f(x))


def test_nothing_is_read_that_was_never_written():
    """Lanes behind the last row of a column, and behind the end of a row, are set before the first tile."""
    text = codegen.source(codegen.plan(softmax(ROWS)))
    run = text[text.index("void Run()") : text.index("SetFlag")]
    assert "Duplicate(columns, 0.0f" in run and "Zero(LocalTensor<half>(TPosition::VECIN, X_IN" in run
    assert "\nprivate:\n" in text


def test_names_that_differ_in_case_only_have_places_of_their_own():
    b = Builder("cases", shape=PIECES)
    a, again, third = (b.load(Tensor(name, "f32")) for name in ("a", "A", "a_2"))
    b.store(Tensor("y", "f32"), b.binary("sub", b.binary("sub", a, again), third))
    plan = codegen.plan(b.done())
    names = [p.name for p in plan.places if p.tensor is not None]
    assert names[:3] == ["A_IN", "A_2_IN", "A_2_2_IN"] and len(set(names)) == len(names)


def test_refusals():
    with pytest.raises(Refused, match="stores nothing"):
        Builder("nothing").done()
    with pytest.raises(Refused, match="whole rows"):
        softmax(PIECES)
    with pytest.raises(Refused, match="14336|columns at most"):
        plan = codegen.plan(softmax(ROWS))
        tiling.best(plan, geometry(plan.program, 4, 100_000))
    b = Builder("greedy", shape=PIECES)
    loaded = [b.load(Tensor(f"x{i}", "f32")) for i in range(60)]
    total = loaded[0]
    for x in loaded[1:]:
        total = b.binary("add", total, x)
    b.store(Tensor("y", "f32"), total)
    with pytest.raises(Refused, match="split the chain"):
        codegen.plan(b.done())
    b = Builder("whole")
    with pytest.raises(Refused, match="float32"):
        b.reduce("sum", b.load(Tensor("x", "i32")))


# ---- generators that are wrong


def _row_bias(x, b):
    return torch.softmax(x + b, -1)


def _centred(x):
    return (x - x.mean(-1, keepdim=True)) * 2


def _picked(x):
    y = torch.where(x > 0.5, x * 1.5, x)
    return y * torch.rsqrt((y * y).mean(-1, keepdim=True) + 1e-5)


def _negative(rows, width, dtype=torch.float32):
    return torch.rand(rows, width, generator=torch.Generator().manual_seed(1)).to(dtype) * 2 - 3


WRONG = {
    "the tail of a row is not filled": (
        lambda m: m.setattr(helpers, "_REDUCE", helpers._REDUCE.replace("if (wide % 64 != 0)", "if (wide % 64 > 99)")),
        lambda x: torch.softmax(x, -1),
        (_negative(5, 70),),
    ),
    "the tail is filled one lane late": (
        lambda m: m.setattr(helpers, "_REDUCE", helpers._REDUCE.replace("~0ull << (wide % 64)", "~0ull << (wide % 64 + 1)")),
        lambda x: torch.softmax(x, -1),
        (_negative(5, 70),),
    ),
    "a column's stride from row to row is nought": (
        lambda m: m.setattr(helpers, "_BESIDE", helpers._BESIDE.replace("{strides_all}", "1, 1, 0, next, next, 0")),
        _centred,
        (_negative(40, 70),),
    ),
    "a row is repeated with gaps": (
        lambda m: m.setattr(helpers, "REPEAT_ROW", helpers.REPEAT_ROW.replace("have *= 2", "have *= 4")),
        _row_bias,
        (_negative(900, 70), _negative(1, 70)[0]),
    ),
    "results are cut off, not rounded": (
        lambda m: m.setitem(steps.ROUND, ("f32", "f16"), "CAST_TRUNC"),
        lambda x: x * 1.1 + 0.3,
        (_negative(4, 100, torch.float16),),
    ),
    "an operand's place is given away while it is needed": (
        lambda m: m.setattr(places._Places, "_in_place", _taken),
        lambda x: torch.exp(x) * x,
        (_negative(40, 70),),
    ),
    "the API's own area is used": (
        lambda m: m.setattr(places, "SPARE", 1024 - 8192),
        _picked,
        (_negative(3, 3000, torch.bfloat16) + 3,),
    ),
    "both tiles go out by the same place": (
        lambda m: m.setattr(emit.Printer, "_compute", _one_place(emit.Printer._compute)),
        lambda x: x * 3,
        (_negative(64, 3000),),
    ),
    "V does not wait for what comes": (
        lambda m: m.setattr(emit.Printer, "_compute", _no_wait(emit.Printer._compute)),
        lambda x: x * 3,
        (_negative(64, 3000),),
    ),
}  # fmt: skip


def _taken(self, step, i, last, holds):
    return self.place[step.ins[0]] if step.op in places.IN_PLACE else None


def _one_place(made):
    return lambda self, tile: [line.replace("OUT_OUT + slot * TILE", "OUT_OUT + 0 * TILE") for line in made(self, tile)]


def _no_wait(made):
    return lambda self, tile: [line for line in made(self, tile) if "WaitFlag<HardEvent::MTE2_V>" not in line]


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_generator_is_noticed(name, monkeypatch, capsys):
    """By the numbers, by a finding of the twin, or by the generator itself; the right one gives neither."""
    change, function, tensors = WRONG[name]
    assert fusion.kernel(function, tensors, name="right").check(*tensors).ok
    change(monkeypatch)
    try:
        check = fusion.kernel(function, tensors, name="wrong").check(*tensors)
    except labkit.LaunchError:
        return
    assert not check.ok
