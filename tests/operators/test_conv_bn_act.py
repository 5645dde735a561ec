"""lab::conv_bn_act: drawn cases, how they are cut, known-wrong kernels, the module with Focus, and its times."""

from __future__ import annotations

import functools
import os
import random

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402
from faults import load  # noqa: E402
from ops_lab import ALLOWED, golden, module, values  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import labkit  # noqa: E402
from labkit import fusion, paths  # noqa: E402
from labkit.fusion import models  # noqa: E402
from labkit.launch.record import LaunchError, expect  # noqa: E402

pytestmark = simulated
HOME = paths.kernels_dir() / "conv_bn_act"
GOLD = golden("conv_bn_act")
MUTANTS = load(HOME / "mutants.toml")
HALF, BFLOAT = torch.float16, torch.bfloat16
SEED, DRAWN = 14, 120
LAST = torch.channels_last
# Where a kernel can go wrong: several units, tiles and chunks on few cores, both formats, every way x is brought in.
_SMALL = {"rows": 3, "cols": 2, "group": 1}
CASES = [
    {"x": (2, 40, 9, 11), "out": 52, "kernel": (3, 3), "padding": (1, 1), "activation": "relu", "cut": _SMALL},
    {"x": (1, 24, 12, 13), "out": 36, "kernel": (3, 2), "stride": (2, 2), "padding": (1, 1), "activation": "silu"},
    {"x": (2, 3, 18, 20), "out": 20, "kernel": (6, 6), "stride": (2, 2), "padding": (2, 2), "activation": "relu"},
    {"x": (1, 33, 14, 40), "out": 24, "kernel": (1, 1), "blocks": 1, "cut": {"rows": 6, "cols": 1, "group": 3}},
    {"x": (1, 20, 7, 9), "out": 17, "kernel": (1, 1), "stride": (2, 3), "activation": "silu", "cut": _SMALL},
]


@functools.cache
def numbers(index: int, drawn: bool):
    """(case, (x, weight, bias), golden, z before the activation, size of the sums' terms)."""
    case = {"stride": (1, 1), "padding": (0, 0), "activation": "none", "cut": None, "blocks": 2, "dtype": HALF}
    case |= GOLD.draw(SEED, index + 1)[index] if drawn else CASES[index]
    c, (kh, kw) = case["x"][1], case["kernel"]
    x = values(case["x"], case["dtype"], index, 1.0)
    weight = values((case["out"], c, kh, kw), case["dtype"], index + 1, (c * kh * kw) ** -0.5)
    bias = values((case["out"],), torch.float32, index + 2, 1.0)
    how = case["stride"], case["padding"]
    z = GOLD.forward(x, weight, bias, *how)
    return case, (x, weight, bias), GOLD.activated(z, case["activation"]), z, GOLD.terms(x, weight, bias, *how)


def near(got, want, z, terms, silu: bool) -> None:
    """Rounded once, before SiLU once more (its slope is at most 1.1); a float sum loses a few last places of its terms."""
    kind = torch.finfo(got.dtype)
    allowed = (
        kind.eps / 2 * (1.02 * want.abs() + (1.13 * z.abs() if silu else 0)) + terms * 2**-20 + kind.tiny * kind.eps
    )
    off = (got.double() - want).abs() / allowed
    assert got.shape == want.shape and bool((off <= 1).all()), f"{off.max():.2f} times what is allowed"


def launched(index: int, last: bool, drawn=False, text=None, **how):
    """(codes of findings, whether the numbers are right)."""
    case, tensors, want, z, terms = numbers(index, drawn)
    silu, cut = case["activation"] == "silu", {}
    if case["cut"]:
        c = GOLD.conv(
            GOLD.kernel("conv_bn_act<half>"),
            case["x"],
            case["out"],
            case["kernel"],
            case["stride"],
            case["padding"],
            last,
        )
        cut = GOLD.smaller(c, **case["cut"])
    blocks = case["blocks"] if case["cut"] else GOLD.CUBES
    record, y = GOLD.launch(
        *tensors, case["stride"], case["padding"], case["activation"], last, text, blocks, how, **cut
    )
    near(y, want, z, terms, silu)
    return record.codes()


@pytest.fixture(scope="module", autouse=True)
def device():
    labkit.device.install()


@pytest.mark.parametrize("part", range(8))
def test_drawn_cases(part):
    for index in range(part, DRAWN, 8):
        case = numbers(index, True)[0]
        assert launched(index, case["last"], drawn=True) == [], (index, case)


def test_the_rule_draws_what_it_says():
    drawn = GOLD.draw(SEED, DRAWN)
    assert drawn[:3] == GOLD.draw(SEED, 3) and len(drawn) >= 100
    for key, least in {"activation": 3, "last": 2, "dtype": 2}.items():
        counts = [sum(c[key] == v for c in drawn) for v in {c[key] for c in drawn}]
        assert len(counts) == least and min(counts) > 25, (key, counts)
    layouts = [GOLD.layout(c["x"], c["kernel"], c["stride"], c["padding"], c["last"]) for c in drawn]
    assert min(layouts.count(form) for form in ("plain", "rows", "row")) >= 5, layouts
    assert sum(c["cut"] is not None for c in drawn) > 40 and sum(max(c["stride"]) > 1 for c in drawn) > 30


@pytest.mark.parametrize("last", [False, True])
def test_no_luck_is_needed(last):
    """Every transfer as late as the synchronisation allows."""
    for index in range(len(CASES)):
        assert launched(index, last, schedule="worst") == []


def whole() -> str:
    """The kernel with its headers, so that a change can be anywhere."""
    text = (HOME / "conv_bn_act.asc").read_text(encoding="utf-8")
    for header in ("conv_cube.h", "conv.h"):
        part = (HOME / header).read_text(encoding="utf-8").replace("#pragma once\n", "")
        text = text.replace(f'#include "{header}"\n', part)
    return text


# each is compiled for itself: the suite takes every second one, the rest is marked slow
@pytest.mark.parametrize(
    "name", [n if i % 2 == 0 else pytest.param(n, marks=pytest.mark.slow) for i, n in enumerate(MUTANTS)]
)
def test_a_wrong_kernel_is_noticed(name):
    text, found = MUTANTS[name].text(whole()), []
    seen = expect("*")
    expect._open.append(seen)  # so that its findings are not shown
    try:
        for index, last in ((i, last) for i in range(len(CASES)) for last in (False, True)):
            try:
                found += launched(index, last, text=text)
            except LaunchError as error:
                found += error.record.codes()
            except AssertionError:
                found.append("numbers")
            if MUTANTS[name].noticed in found:
                return
    finally:
        expect._open.remove(seen)
    raise AssertionError(found)


# ------------------------------------------------------------------ operator


@pytest.fixture(scope="module")
def ops():
    made = labkit.operator("conv_bn_act")
    made.load()
    return made


def layer(c: int, out: int, kernel, stride=1, padding=0, bias=False, seed=0):
    """A convolution and a batch norm in eval(), with statistics of their own."""
    conv = nn.Conv2d(c, out, kernel, stride, padding, bias=bias).eval()
    norm = nn.BatchNorm2d(out).eval()
    with torch.no_grad():
        for i, t in enumerate((conv.weight, *([conv.bias] if bias else []), norm.weight, norm.bias, norm.running_mean)):
            t.copy_(values(t.shape, torch.float32, seed + i, 0.3))
        norm.running_var.copy_(values(norm.running_var.shape, torch.float32, seed + 9, 1.0).abs() + 0.5)
    return conv, norm


@pytest.mark.parametrize("activation", GOLD.ACTIVATIONS)
@pytest.mark.parametrize("form", [torch.contiguous_format, LAST])
def test_the_module_does_what_the_three_do(ops, activation, form):
    conv, norm = layer(20, 24, 3, 2, 1, bias=True)
    x = values((2, 20, 9, 8), HALF, 5, 1.0)
    want = GOLD.activated(norm(conv(x.float())), activation)
    fused = ops.ConvBnAct(conv, norm, activation)
    there = fused.half().npu()
    got = there(x.npu().to(memory_format=form))
    assert got.is_contiguous(memory_format=form) and got.dtype == HALF
    torch.testing.assert_close(got.cpu().float(), want, rtol=4e-3, atol=4e-3)
    torch.testing.assert_close(fused.float().cpu()(x.float()), want, rtol=4e-3, atol=4e-3)  # elsewhere: the framework's


@pytest.mark.parametrize("kernel, padding", [(1, 0), (3, 1), ((3, 1), (1, 0))])
@pytest.mark.parametrize("form", [torch.contiguous_format, LAST])
def test_focus_is_one_convolution(ops, kernel, padding, form):
    """Slices, cat, convolution, norm and SiLU, by one launch; in float64 on the CPU the two are the same numbers."""
    conv, norm = layer(12, 16, kernel, 1, padding, bias=True, seed=3)
    picture = values((2, 3, 16, 20), HALF, 7, 1.0)

    def apart(x, conv):
        return conv(torch.cat([x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]], 1))

    wide, _ = ops.focus(conv.double(), norm)
    torch.testing.assert_close(wide(picture.double()), apart(picture.double(), conv), rtol=1e-12, atol=1e-12)
    want = F.silu(norm(apart(picture.float(), conv.float())))
    first = ops.ConvBnAct(*ops.focus(conv, norm), "silu").half().npu()
    given = picture.npu().to(memory_format=form)
    first(given)  # packs the weights
    since = labkit.device.clock().launches
    got = first(given)
    assert [p.name for p in labkit.device.pieces(since)] == ["conv_bn_act", "aten::silu_"]  # y is small
    torch.testing.assert_close(got.cpu().float(), want, rtol=4e-3, atol=4e-3)


def test_what_it_says_that_it_takes_is_cut(ops):
    """why_not() is in Python, the cut in conv.h: of drawn shapes, most are taken, and each of these has a cut."""
    draw, kernel, taken = random.Random("conv_bn_act sizes"), GOLD.kernel("conv_bn_act<half>"), 0
    for _ in range(300):
        sides = [draw.choice([1, 2, 3, 5, 7, 11, 40]) for _ in range(2)]
        x = draw.choice([1, 32]), draw.choice([1, 3, 15, 64, 2048]), *(draw.choice([1, 7, 56, 640, 3000]) for _ in "hw")
        padding, stride, last = (
            [draw.randrange(k) for k in sides],
            [draw.randint(1, 4) for _ in "hw"],
            draw.random() < 0.5,
        )
        if all(s + 2 * p >= k for s, p, k in zip(x[2:], padding, sides)) and ops._fits(x, sides, stride, padding, last):
            taken += 1
            assert GOLD.conv(kernel, x, draw.choice([8, 64, 2048]), sides, stride, padding, last), (x, sides, last)
    assert taken > 100


def test_fuse_takes_it_for_what_infers():
    """Focus, a convolution with ReLU and one of another kind, in both memory formats, and with the other one later."""
    net = nn.Sequential(
        models.Focus(3, 16, 3), *layer(16, 24, 3, 2, 1), nn.ReLU(), nn.Conv2d(24, 24, 3, groups=24)
    ).eval()
    x = values((2, 3, 24, 28), HALF, 1, 1.0)
    want, net = net(x.float()), net.half().npu()
    with torch.no_grad():
        for form, other in ((torch.contiguous_format, LAST), (LAST, torch.contiguous_format)):
            fast = fusion.fuse(net, x.npu().to(memory_format=form))
            assert fast.outcome.replaced["conv_bn_act"] == 2 and any("groups 1" in why for why in fast.outcome.left)
            for given in (form, other):
                torch.testing.assert_close(
                    fast(x.npu().to(memory_format=given)).cpu().float(), want, rtol=9e-3, atol=9e-3
                )


def test_focus_refuses(ops):
    for conv in (nn.Conv2d(12, 8, 3, 2), nn.Conv2d(12, 8, 3, dilation=2), nn.Conv2d(12, 8, 3, padding="same")):
        with pytest.raises(ValueError, match="stride 1, dilation 1, groups 1"):
            ops.focus(conv)
    conv, norm = layer(4, 4, 3)
    with pytest.raises(ValueError, match="statistics of its batch"):
        ops.ConvBnAct(conv, norm.train())


def arguments(ops, x, out=8, kernel=(3, 3), padding=(1, 1), form="plain", **_):
    weight = ops.pack(values((out, x.shape[1], *kernel), x.dtype, 1, 0.2), form).npu()
    return (
        x.npu(),
        weight,
        ops.pack_bias(torch.zeros(out)).npu(),
        out,
        list(kernel),
        [1, 1],
        list(padding),
        "none",
        form,
    )


@pytest.mark.parametrize("form", [torch.contiguous_format, LAST])
def test_opcheck(ops, form):
    x = values((2, 17, 5, 4), HALF, 0, 1.0).to(memory_format=form)
    op = torch.ops.lab.conv_bn_act.default
    assert set(torch.library.opcheck(op, arguments(ops, x), test_utils=ALLOWED).values()) == {"SUCCESS"}


def test_refused(ops):
    op, good = torch.ops.lab.conv_bn_act, arguments(ops, values((2, 17, 5, 4), HALF, 0, 1.0))
    assert op(good[0][:0], *good[1:]).shape == (0, 8, 5, 4)
    for place, bad, said in (
        (0, good[0].float(), "x is Float, the kernel takes float16 and bfloat16"),
        (0, good[0][0], "x has 3 dimensions"),
        (0, good[0].bfloat16(), "x is BFloat16 but weight is Half"),
        (2, good[2].half(), "bias is Half"),
        (2, good[2][:8], r"bias has the shape \[8\] for out_channels=8"),
        (4, [9, 3], "is larger than x"),
        (5, [64, 1], "the stride is 1 to 63"),
        (5, [2], "each has two numbers"),
        (0, good[0][:, :, :0], "each image has rows and columns"),
        (6, [3, 1], r"less than kernel_size \[3, 3\]"),
        (7, "gelu", r'activation is "gelu"'),
    ):
        given = [*good[:place], bad, *good[place + 1 :]]
        for there in ("npu", "meta"):  # Meta says the same
            with pytest.raises(RuntimeError, match=said):
                op(*(t.to(there) if isinstance(t, torch.Tensor) else t for t in given))
    few = arguments(ops, values((1, 3, 9, 9), HALF, 0, 1.0))
    with pytest.raises(RuntimeError, match='packed as "plain", for this x they must be "rows"'):
        op(*few)
    with pytest.raises(RuntimeError, match=r"packed for this convolution it has"):
        op(good[0], good[1][:-16], *good[2:])
    with pytest.raises(RuntimeError, match="do not fit L1"):
        op(*arguments(ops, torch.zeros(1, 16, 8, 9000, dtype=HALF), kernel=(8, 8), padding=(0, 0)))
    with pytest.raises(RuntimeError, match="has no backward"):
        op(good[0].requires_grad_(), *good[1:])


# ---------------------------------------------------------------------- time

TIMES = module("conv_bn_act_times", HOME / "times.py")


@pytest.mark.parametrize(
    "case",
    [
        (1, *TIMES.RESNET[0], "relu", False),
        (1, 256, 14, 256, 3, 1, 1, "relu", True),
        (8, 64, 56, 256, 1, 1, 0, "relu", False),
        (1, *TIMES.FOCUS, "silu", False),
    ],
    ids=lambda c: "-".join(map(str, c)),
)
def test_what_is_chosen_beats_the_chain_and_the_device(case):
    """Modelled, and as the committed table has it."""
    row = TIMES.measure(*case)
    assert row["chain_over_chosen"] > 1.1 and row["device_over_chosen"] > 1.1, row
    assert row["chosen_us"] <= 1.02 * min(row["fused_us"], row["apart_us"]), row
    (kept,) = (r for r in TIMES.load() if all(str(row[k]) == r[k] for k in TIMES.FIELDS[:9]))
    assert float(kept["chosen_us"]) == pytest.approx(row["chosen_us"], rel=0.02), (
        "run kernels/conv_bn_act/times.py --write"
    )


def test_the_table_holds_the_bar():
    rows = TIMES.load()
    assert len(rows) == len(TIMES.CASES)
    assert all(float(r["chain_over_chosen"]) > 1 and float(r["device_over_chosen"]) > 1 for r in rows)


# ------------------------------------------------------------- the chain


@pytest.mark.parametrize("dtype", [HALF, BFLOAT])
@pytest.mark.parametrize("shape", [(2, 48, 5, 7), (1, 16, 97, 93)])
@pytest.mark.parametrize("last", [False, True])
def test_the_chain_is_right(dtype, shape, last):
    x, scale, shift = values(shape, dtype, 0, 1.0), *(values(shape[1:2], torch.float32, i, 1.0) for i in (1, 2))
    given = (x.permute(0, 2, 3, 1) if last else x).contiguous().npu()
    rows, width = (given.numel() // shape[1], shape[1]) if last else (shape[0] * shape[1], shape[2] * shape[3])
    made, done = torch.empty_like(given), torch.empty_like(given)
    entry = GOLD.CTYPE[dtype]
    assert GOLD.kernel(f"batch_norm<{entry}>", "chain.asc")[5](
        given, scale.npu(), shift.npu(), made, rows, width, shape[1], int(last)
    ).ok
    got = made.cpu().permute(0, 3, 1, 2) if last else made.cpu()
    by = (None, slice(None), None, None)
    want = x.double() * scale.double()[by] + shift.double()[by]
    near(got, want, want, x.double().abs() * scale.double().abs()[by] + shift.double().abs()[by], False)
    for name in ("relu", "silu"):
        record = GOLD.kernel(f"activation<{entry}, {str(name == 'silu').lower()}>", "chain.asc")[3](
            made, done, made.numel()
        )
        near(
            done.cpu(), GOLD.activated(made.cpu().double(), name), made.cpu().double(), made.cpu().double().abs(), False
        )
        assert record.ok
