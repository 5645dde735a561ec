"""lab::depthwise_conv2d: drawn cases with their gradients, every step of its kernels, and known-wrong kernels."""

from __future__ import annotations

import functools
import os

import pytest
from drawn import half

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402
from faults import Fault, load  # noqa: E402
from ops_lab import ALLOWED, TYPES, close, golden, module, values  # noqa: E402

import labkit  # noqa: E402
from labkit import paths  # noqa: E402
from labkit.launch.record import LaunchError, expect  # noqa: E402

pytestmark = simulated
HOME = paths.kernels_dir() / "depthwise_conv"
GOLD = golden("depthwise_conv")
MUTANTS = load(HOME / "mutants.toml")
HALF, FLOAT = torch.float16, torch.float32
HOW = ("stride", "padding", "dilation")
SEED, DRAWN, FIXED = 13, 210, 30  # of the drawn cases; the suite takes the first FIXED, the rest is marked slow
# Where a kernel can go wrong. Four are as wide as several groups of channels, tiles or loads of taps, the last of them with
# one tile a group; in the very last nothing but the next tile adds to the sums of a tile.
CASES = [
    {"x": (1, 1, 1, 1), "kernel": (3, 3), "padding": (1, 1)},
    {"x": (2, 17, 5, 7), "kernel": (3, 3), "padding": (2, 1), "dilation": (2, 1), "bias": True},
    {"x": (2, 48, 9, 8), "kernel": (3, 5), "padding": (1, 2), "stride": (2, 3)},
    {"x": (1, 16, 2, 3), "kernel": (2, 7), "padding": (5, 9), "bias": True},
    {"x": (3, 144, 15, 14), "kernel": (3, 3), "padding": (1, 1), "bias": True},
    {"x": (2, 160, 13, 32), "kernel": (3, 3), "padding": (2, 2), "dilation": (2, 2)},
    {"x": (1, 48, 12, 131), "kernel": (5, 4), "padding": (2, 1), "bias": True},
    {"x": (1, 272, 1, 6), "kernel": (3, 3), "padding": (1, 1)},
    {"x": (1, 16, 12, 8), "kernel": (3, 3), "padding": (1, 1)},
]


def filled(case: dict) -> dict:
    return {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "bias": False} | case


@functools.cache
def sample(number: int, dtype, drawn: bool = False):
    """(case, how, (x, weight, bias, dy), goldens, sizes of the sums' terms)."""
    case = filled(GOLD.draw(SEED, number + 1)[number] if drawn else CASES[number])
    how = {k: case[k] for k in HOW}
    x, weight = (
        values(case["x"], dtype, number, 1.0),
        values((case["x"][1], 1, *case["kernel"]), dtype, number + 1, 1.0),
    )
    bias = values(case["x"][1:2], dtype, number + 2, 1.0) if case["bias"] else None
    y = GOLD.forward(x, weight, bias, **how)
    dy = values(y.shape, dtype, number + 3, 1.0)
    return (
        case,
        how,
        (x, weight, bias, dy),
        (y, *GOLD.backward(dy, x, weight, **how)),
        GOLD.terms(dy, x, weight, bias, **how),
    )


def near(got, want, terms):
    """Rounded once; float sums lose a few last places of their largest terms before."""
    close(got, want, 8 if want.dtype == FLOAT else 1.01, terms * (1 if want.dtype == FLOAT else 2.0**-10))


@pytest.fixture(scope="module")
def ops():
    labkit.device.install()
    labkit.register(HOME / "depthwise_conv_torch.asc")
    return torch.ops.lab


@pytest.mark.parametrize("number", [n if n < FIXED else pytest.param(n, marks=pytest.mark.slow) for n in range(DRAWN)])
def test_drawn_cases(ops, number):
    """Forward and gradients, in both memory formats, beside the golden and beside PyTorch's own operator."""
    dtype = list(TYPES)[number % 3]
    _, how, tensors, wants, terms = sample(number, dtype, drawn=True)
    x, weight, bias, dy = (t if t is None else t.npu() for t in tensors)
    if number % 2:
        x = x.to(memory_format=torch.channels_last)
    leaves = [t for t in (x, weight, bias) if t is not None]
    for t in leaves:
        t.requires_grad_()
    y = ops.depthwise_conv2d(x, weight, bias, *how.values())
    theirs = torch.nn.functional.conv2d(x, weight, bias, **how, groups=x.shape[1])
    assert [s for n, s in zip(y.shape, y.stride()) if n > 1] == [s for n, s in zip(y.shape, theirs.stride()) if n > 1]
    for made in (y, theirs):
        grads = torch.autograd.grad(made, leaves, dy)
        for got, want, scale in zip((made, *grads), wants, terms):
            near(got, want, scale)


def test_the_rule_draws_what_it_says():
    drawn = [filled(c) for c in GOLD.draw(SEED, DRAWN)]
    assert drawn[:3] == [filled(c) for c in GOLD.draw(SEED, 3)] and len(drawn) >= 200
    sides = [s for c in drawn for s in c["x"][2:]]
    assert {1, 2} <= set(sides) and max(sides) == 113 and {c["x"][1] for c in drawn} >= {1, 2, 63, 65, 129}
    assert {c["kernel"] for c in drawn} >= {(3, 3)} and {k for c in drawn for k in c["kernel"]} == set(range(1, 8))
    assert sum(c["kernel"][1] > c["x"][3] for c in drawn) > 10 and sum(max(c["padding"]) > 8 for c in drawn) > 20
    for gradient in (False, True):
        plans = [GOLD.cube_plan(GOLD.conv(*(c[k] for k in ("x", "kernel", *HOW, "bias"))), gradient) for c in drawn]
        assert sum(plan is not None for plan in plans) > 15


# ------------------------------------------------------------------- kernels

FILES = {
    "forward": "depthwise_conv",
    "gradient": "depthwise_conv",
    "rows": "depthwise_conv",
    "cube": "depthwise_conv_cube",
    "weight": "depthwise_conv_weight",
    "weight on the cube": "depthwise_conv_weight_cube",
    "fold": "depthwise_conv_weight_fold",
}


def whole(name: str) -> str:
    """A kernel's text with what it includes from kernels/, so that a change can be anywhere."""
    text = (HOME / f"{name}.asc").read_text(encoding="utf-8")
    for header in ("lanes.h", "diagonals.h", "cube.h", "conv.h", "../rows.h"):
        text = text.replace(
            f'#include "{header}"', (HOME / header).read_text(encoding="utf-8").replace("#pragma once\n", "")
        )
    return text


def build(way: str, dtype, step: int | None = None, text: str | None = None, **more):
    name = FILES[way]
    given = {"path": HOME / f"{name}.asc"} if text is None else {"text": text, "filename": str(HOME / f"{name}.asc")}
    return labkit.kernel(**given, entry=f"{name}<{TYPES[dtype]}{'' if step is None else f', {step}'}>", **more)


def by_channels(t):
    return t.permute(0, 2, 3, 1).contiguous().npu()


def launched(way: str, kernel, number: int, dtype, step=None):
    """(record, result, golden, terms) of one of CASES; None where the way does not take it."""
    case, how, (x, weight, bias, dy), wants, terms = sample(number, dtype)
    conv, blocks = GOLD.conv(x.shape, case["kernel"], **how, bias=bias is not None), 2 + number
    high = min(conv["outHeight"], 1 + number % 3)  # rows of a tile on the cube; the rule takes one where x is small
    w, b = weight.npu(), (weight if bias is None else bias).npu()
    if way == "weight":
        splits = 1 + number % 3
        parts = torch.empty(splits, weight[0].numel(), x.shape[1], device="npu")
        made = torch.empty(weight.shape, dtype=dtype, device="npu")
        record = kernel[blocks](by_channels(dy), by_channels(x), parts, conv, splits)
        build("fold", dtype)[blocks](parts, made, x.shape[1], weight[0].numel(), splits, 0)
        return record, made.cpu(), wants[2], terms[2]
    if way in ("weight on the cube", "fold"):
        plan = GOLD.cube_plan(conv | {"bias": 0}, gradient=True)
        if plan is None:
            return None
        pieces, splits = plan[0], min(1 + number % 3, conv["batch"] * conv["outHeight"])  # a part has a row
        parts = torch.empty(splits, weight.numel() * 16, device="npu")
        made = torch.empty(weight.shape, dtype=dtype, device="npu")
        other = build("fold" if way != "fold" else "weight on the cube", dtype)
        products, fold = (kernel, other) if way != "fold" else (other, kernel)
        record = products[2](by_channels(dy), by_channels(x), parts, conv | {"bias": 0}, pieces, high, splits)
        after = fold[5](parts, made, x.shape[1], weight[0].numel(), splits, 1)
        return record if way != "fold" else after, made.cpu(), wants[2], terms[2]
    if way == "gradient":
        made = torch.empty(by_channels(x).shape, dtype=dtype, device="npu")
        record = kernel[blocks](by_channels(dy), w, w, made, GOLD.conv_of_gradient(x.shape, case["kernel"], **how))
        return record, made.cpu().permute(0, 3, 1, 2), wants[1], terms[1]
    if way == "rows":
        made = torch.empty(wants[0].shape, dtype=dtype, device="npu")
        return kernel[blocks](x.npu(), w, b, made, conv), made.cpu(), wants[0], terms[0]
    made = torch.empty(wants[0].permute(0, 2, 3, 1).shape, dtype=dtype, device="npu")
    if way == "forward":
        record = kernel[blocks](by_channels(x), w, b, made, conv)
    else:
        plan = GOLD.cube_plan(conv)
        if plan is None:
            return None
        record = kernel[3](by_channels(x), w, b, made, conv, plan[0], high)
    return record, made.cpu().permute(0, 3, 1, 2), wants[0], terms[0]


def wrong(way: str, kernel, dtype, until: str = "") -> list[str]:
    """What is wrong with a kernel: codes of findings, "numbers", and "bits" where 16-bit results are not rounded once."""
    found = []
    for number in range(len(CASES)):
        try:
            made = launched(way, kernel, number, dtype)
        except LaunchError as error:
            found += error.record.codes()
            continue
        if made is None:
            continue
        record, got, want, scale = made
        found += record.codes()
        try:
            near(got, want, scale)
        except AssertionError:
            found.append("numbers")
        if dtype != FLOAT and want.numel() > 1000 and (got == want).double().mean() < 0.98:
            found.append("bits")
        if until in found:
            break
    return list(dict.fromkeys(found))


STEPS = [("rows", 0, HALF), ("rows", 1, HALF), ("rows", 1, FLOAT), ("forward", 2, HALF)]
STEPS += [
    (way, None, dtype)
    for way in ("forward", "gradient", "cube", "weight", "weight on the cube", "fold")
    for dtype in TYPES
    if way not in ("cube", "weight on the cube", "fold") or dtype != FLOAT
]


@pytest.mark.parametrize("way, step, dtype", STEPS)
def test_every_step_is_right(way, step, dtype):
    labkit.device.install()
    assert wrong(way, build(way, dtype, step), dtype) == []


@pytest.mark.parametrize("way", ["rows", "forward", "gradient", "cube", "weight", "weight on the cube", "fold"])
def test_no_luck_is_needed(way):
    """Every transfer as late as the synchronisation allows."""
    labkit.device.install()
    assert wrong(way, build(way, HALF, 1 if way == "rows" else None, schedule="worst"), HALF) == []


@pytest.mark.parametrize("name", half(MUTANTS, HOME))
def test_a_wrong_kernel_is_noticed(name):
    labkit.device.install()
    mutant: Fault = MUTANTS[name]
    text, dtype = mutant.text(whole(FILES[mutant.way])), getattr(torch, mutant.dtype)
    if mutant.noticed == "time":
        right, slow = (
            TIMES.launched((2, 256, 28, 28), "float16", TIMES.STEPS[3], **changed)[0].time_us
            for changed in ({}, {"text": text})
        )
        assert slow > 1.02 * right, (slow, right)
        return
    seen = expect("*")
    expect._open.append(seen)  # so that its findings are not shown
    try:
        found = wrong(mutant.way, build(mutant.way, dtype, mutant.step, text, timeout=5), dtype, until=mutant.noticed)
    finally:
        expect._open.remove(seen)
    assert mutant.noticed in found, found


# ---------------------------------------------------------------------- time

TIMES = module("depthwise_conv_times", HOME / "times.py")


def test_each_step_is_faster():
    """Modelled; the times may change with the clock, their order may not."""
    times = [TIMES.launched((4, 64, 28, 28), "float16", step)[0].time_us for step in TIMES.STEPS]
    assert all(b < a for a, b in zip(times, times[1:])) and times[0] > 20 * times[-1], times


@pytest.mark.parametrize("dtype, least", [("float16", 0.6), ("bfloat16", 0.6), ("float32", 0.6)])
@pytest.mark.parametrize("shape", TIMES.SHAPES)
def test_the_best_step_is_near_its_memory_bound(shape, dtype, least):
    way = TIMES.STEPS[3 if dtype == "float32" else 4]
    row = TIMES.measure(shape, dtype, way)
    assert row["share"] >= least
    (kept,) = (r for r in TIMES.load() if (r["type"], r["shape"], r["way"]) == (dtype, row["shape"], way))
    assert kept["us"] == pytest.approx(row["us"], rel=0.02), "run kernels/depthwise_conv/times.py --write"


# ------------------------------------------------------------------ operator


def test_registered(ops):
    made = labkit.register(HOME / "depthwise_conv_torch.asc")
    assert made.names == ["lab::depthwise_conv2d", "lab::depthwise_conv2d_backward"]
    assert made.keys("lab::depthwise_conv2d") == ["PrivateUse1", "Meta", "AutogradPrivateUse1"]
    x, weight = values((2, 32, 9, 8), HALF, 0).npu(), values((32, 1, 3, 3), HALF, 1).npu()
    dy = values((2, 32, 9, 8), HALF, 2).npu()
    twice = [ops.depthwise_conv2d_backward(dy, x, weight, 1, 1, 1, [False, True, False])[1] for _ in range(2)]
    assert torch.equal(*twice) and made.record.ok
    none = ops.depthwise_conv2d(x[:0], weight, None, 1, 1)
    assert none.shape == (0, 32, 9, 8)


@pytest.mark.parametrize("last", [False, True])
def test_opcheck(ops, last):
    x, weight, bias = (
        values((2, 6, 5, 4), FLOAT, 0).npu(),
        values((6, 1, 3, 2), FLOAT, 1).npu(),
        values((6,), FLOAT, 2).npu(),
    )
    x = x.to(memory_format=torch.channels_last) if last else x
    dy = torch.ones_like(ops.depthwise_conv2d(x, weight, bias, [2, 1], 1))
    forward = (x.requires_grad_(), weight.requires_grad_(), bias.requires_grad_(), [2, 1], [1, 1])
    back = (dy, x.detach(), weight.detach(), [2, 1], [1, 1], [1, 1], [True, True, False])
    for op, args in ((ops.depthwise_conv2d, forward), (ops.depthwise_conv2d_backward, back)):
        assert set(torch.library.opcheck(op.default, args, test_utils=ALLOWED).values()) == {"SUCCESS"}


@pytest.mark.parametrize("kernel, how", [((1, 3), ([1, 1], [0, 1], [300, 1])), ((3, 1), ([2, 1], [1, 0], [1, 999]))])
def test_a_side_of_one_tap_has_no_dilation(ops, kernel, how, capfd):
    """Nothing lies between the taps of such a side: the instruction's 8 bits for it are no limit."""
    x = values((1, 32, 6, 9), HALF, 0, 1.0).npu().to(memory_format=torch.channels_last).requires_grad_()
    weight = values((32, 1, *kernel), HALF, 1, 1.0).npu().requires_grad_()
    y, theirs = ops.depthwise_conv2d(x, weight, None, *how), torch.nn.functional.conv2d(x, weight, None, *how, 32)
    for got, want in zip(*((made, *torch.autograd.grad(made.sum(), (x, weight))) for made in (y, theirs))):
        torch.testing.assert_close(got, want, rtol=2e-3, atol=4e-3)
    assert "param-wrap" not in "".join(capfd.readouterr())


def test_refused(ops):
    x, weight = torch.ones(2, 6, 5, 5, device="npu"), torch.ones(6, 1, 3, 3, device="npu")
    for args, said in (
        ((x.int(), weight), "x is Int, the kernel takes"),
        ((x, weight.half()), "x is Float but weight is Half"),
        ((x, weight.cpu()), "weight is on cpu"),
        ((x[0], weight), "x has 3 dimensions"),
        ((x, weight[:5]), r"it must be \[6, 1, height, width\]"),
        ((x, weight, weight[0, 0, 0]), "bias has the shape"),
        ((x, torch.ones(6, 1, 7, 3, device="npu")), "is larger than x"),
        ((x, weight, None, [1, 1], [-1, 0]), "the padding is 0 or more"),
        ((x, weight, None, [2]), "each has two numbers"),
        ((x[:, :, :0], weight, None, 1, 2), "each image has rows and columns"),
        ((x, weight, None, [1, 1], [1, 1], [1, 1, 1]), "each has two numbers"),
    ):
        with pytest.raises(RuntimeError, match=said):
            ops.depthwise_conv2d(*args)
        if "cpu" not in said:
            with pytest.raises(RuntimeError, match=said):  # Meta says the same
                ops.depthwise_conv2d(*(t.to("meta") if isinstance(t, torch.Tensor) else t for t in args))
    with pytest.raises(RuntimeError, match="does not fit UB"):
        ops.depthwise_conv2d(torch.ones(1, 6, 80, 80, device="npu"), weight, None, 1, 0, 30)
    with pytest.raises(RuntimeError, match="dy has the shape"):
        ops.depthwise_conv2d_backward(x, x, weight, [1, 1], [0, 0], [1, 1], [True, True, True])
