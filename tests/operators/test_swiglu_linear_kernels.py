"""The kernels of SwiGLU with its projections: right in every cut and type, also when every copy comes as late as it
may, and each known-wrong change to them noticed; their steps, each faster than the one before on the modelled clock."""

from __future__ import annotations

import importlib.util
import os
import runpy
import shutil
import sys
from functools import cache

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402
from ops_lab import close, golden  # noqa: E402

from labkit import paths  # noqa: E402

pytestmark = simulated
FOLDER = paths.kernels_dir() / "swiglu_linear"
GOLD = golden("swiglu_linear")
HALF, BF16, FLOAT = torch.float16, torch.bfloat16, torch.float32
ULPS = {HALF: 2, BF16: 2, FLOAT: 16}  # float: the exponential's and the sums' roundings; 16 bits: the result's own


@cache
def values(shape, dtype, seed, size=1.0):
    return (size * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)).to(dtype)


def operands(shape, dtype):
    m, h, i = shape
    return values((m, h), dtype, 1), values((i, h), dtype, 2, h**-0.5), values((i, h), dtype, 3, h**-0.5)


def lost(dtype, scale):
    """`scale` as `close` wants it: a sum in float loses its terms' last places, not those of the result's type."""
    return scale * (8 * 2**-23 / torch.finfo(dtype).eps if dtype != FLOAT else 1.0)


def forward(gold, shape, dtype, schedule="program", keep=False, **how):
    x, gate, up = operands(shape, dtype)
    record, y, kept_gate, kept_up = gold.forward(
        x.npu(), gate.npu(), up.npu(), keep=keep, how={"schedule": schedule}, **how
    )
    assert record.ok and not record.findings, record.report()
    want, g, u = GOLD.golden(x, gate, up)
    close(y, want.to(dtype), ULPS[dtype], lost(dtype, GOLD.terms(x, gate, up)))
    for kept, right, w in ((kept_gate, g, gate), (kept_up, u, up)):
        if keep:
            close(kept, right.to(dtype), 1 if dtype != FLOAT else 8, lost(dtype, x.double().abs() @ w.double().abs().T))


def backward(gold, shape, dtype, schedule="program", cores=4):
    m, h, i = shape
    x, w_gate, w_up = operands(shape, dtype)
    dy, gate, up = (values((m, i), dtype, seed) for seed in (4, 5, 6))
    records, dgate, dup, dx, dw_gate, dw_up = gold.backward(
        *(t.npu() for t in (dy, x, w_gate, w_up, gate, up)), how={"schedule": schedule}, cores=cores
    )
    for record in records:
        assert record.ok and not record.findings, record.report()
    reach = (dy.double() * (1 + gate.double().abs())).abs() * (1 + up.double().abs())
    for got, want in zip((dgate, dup), GOLD.golden_slopes(dy, gate, up)):
        close(got, want.to(dtype), ULPS[dtype], lost(dtype, reach))
    dg, du, xd = (t.cpu().double() for t in (dgate, dup, x))
    for got, parts in (
        (dx, ((dg, w_gate.double()), (du, w_up.double()))),
        (dw_gate, ((dg.T, xd),)),
        (dw_up, ((du.T, xd),)),
    ):
        want, scale = (sum(f(a) @ f(b) for a, b in parts) for f in (lambda t: t, torch.abs))
        close(got, want.to(dtype), 1 if dtype != FLOAT else 16, lost(dtype, scale))


# rows, sum, columns: one row; odd everything; several blocks, chunks and rounds a core; a last panel that is not full;
# a short sum
SHAPES = [(1, 77, 50), (33, 601, 45), (300, 520, 700), (290, 16, 33)]


@pytest.mark.parametrize("dtype", [HALF, BF16, FLOAT])
def test_forward(dtype):
    for shape in SHAPES:
        forward(GOLD, shape, dtype, cores=2, keep=True)
    forward(GOLD, (150, 333, 140), dtype, "worst", cores=1, rows=32, cols=64, panel=3)


@pytest.mark.parametrize("buffers, slots", [(1, 1), (2, 1), (2, 2)])
def test_every_step_is_right(buffers, slots):
    for schedule in ("program", "worst"):
        for folds in ((1, 1), (2, 1), (1, 2)):
            forward(
                GOLD,
                (150, 1300, 140),
                HALF,
                schedule,
                cores=2,
                buffers=buffers,
                slots=slots,
                rows=48,
                cols=64,
                panel=2,
                foldA=folds[0],
                foldB=folds[1],
            )


@pytest.mark.parametrize("dtype", [HALF, BF16, FLOAT])
def test_backward(dtype):
    for shape in SHAPES:
        backward(GOLD, shape, dtype)
    backward(GOLD, (150, 333, 140), dtype, "worst")


def test_the_other_ways():
    for shape in SHAPES:
        x, gate, up = operands(shape, HALF)
        want = GOLD.golden(x, gate, up)[0].half()
        record, y = GOLD.naive(x.npu(), gate.npu(), up.npu(), cores=2)
        assert record.ok and not record.findings, record.report()
        close(y, want, 2, lost(HALF, GOLD.terms(x, gate, up)))
        records, y = GOLD.unfused(x.npu(), gate.npu(), up.npu())
        assert all(r.ok and not r.findings for r in records)
        close(y, want, 8, lost(HALF, GOLD.terms(x, gate, up)))  # rounded four times


def test_how_the_host_cuts():
    def cut(product, besides=1, size=2):
        m, n, depth = product
        blocks, t = GOLD.cut(
            GOLD.kernel("swiglu_linear.asc", "swiglu_linear<half, 2, 2>"), (m, depth, n), product, besides, size
        )
        assert (
            t.rows % 16 == 0
            and t.cols % (16 * besides) == 0
            and t.rows * t.cols <= 32768
            and t.rows <= 128
            and t.cols <= 256
        )
        assert 2 * size * t.chunk * (t.foldA * t.rows + t.foldB * t.cols) <= 512 * 1024
        return blocks, (t.rows, t.cols, t.chunk, t.foldA, t.foldB, t.panel)

    assert cut((16384, 16384, 4096), 2) == (24, (128, 256, 256, 2, 1, 16))
    # 115 blocks of 96 columns: four rounds and most of a fifth
    assert cut((1, 11008, 4096), 2) == (24, (16, 192, 256, 2, 2, 1))
    assert cut((32, 11008, 4096), 2, 4) == (24, (32, 192, 128, 2, 2, 1))
    assert cut((3, 40, 100), 2) == (3, (16, 32, 256, 1, 1, 1))
    for m in (1, 15, 16, 17, 100, 128, 129, 1000):
        for n in (1, 31, 500, 3000):
            blocks, (rows, cols, *_) = cut((m, n, 300))
            assert 1 <= blocks <= 24


# ---- known-wrong changes

FORWARD = dict(shape=(150, 1300, 141), cores=2, rows=48, cols=64, panel=2, foldA=2)
MUTANTS = {  # file, what is changed to what, and what has to notice it
    "slot taken while it is read": ("swiglu_linear.asc", "if (stored >= SLOTS)", "if (stored > SLOTS)", FORWARD),
    "ready before it is stored": (
        "swiglu_linear.asc",
        "CrossCoreSetFlag<0x2, PIPE_FIX>(READY)",
        "CrossCoreSetFlag<0x2, PIPE_MTE2>(READY)",
        {**FORWARD, "schedule": "worst"},
    ),
    "an odd row is nobody's": (
        "swiglu_linear.asc",
        "== 0 ? upper : rows,",
        "== 0 ? upper : 2 * (rows / 2),",
        {**FORWARD, "shape": (147, 300, 60)},
    ),
    "up where the gate belongs": ("swiglu_linear.asc", "Div(work, gate, work, n)", "Div(work, up, work, n)", FORWARD),
    "result's line from the padded width": (
        "swiglu_linear.asc",
        "(t.i - cols) * sizeof(T)",
        "(t.i - wide) * sizeof(T)",
        FORWARD,
    ),
    "UB reused too early": (
        "swiglu_linear.asc",
        "WaitFlag<HardEvent::V_MTE2>(turn);\n        DataCopy(In(0)",
        "DataCopy(In(0)",
        FORWARD,
    ),
    "halves at a fixed distance": ("products.h", "B1(e)[i * half * C0]", "B1(e)[i * cut.cols / 2 * C0]", FORWARD),
    "begins inside a load": ("products.h", "% Parts(chunks, fold) * fold", "% chunks", FORWARD),
    "sum not begun at zero": ("products.h", "mmad.cmatrixInitVal = first", "mmad.cmatrixInitVal = s == 0", FORWARD),
    "one row read as a vector": ("products.h", "mmad.m = high * 16;", "mmad.m = block.rows;", {"shape": (1, 300, 40)}),
    "tail of the sum": ("products.h", "k = Least(STEP, length - inner);", "k = STEP;", FORWARD),
    "last panel taken as full": (
        "products.h",
        "high = Least(panel, down - before)",
        "high = panel",
        {**FORWARD, "rows": 64},
    ),
    "L0 written while it is multiplied": (
        "products.h",
        "WaitFlag<HardEvent::M_MTE1>(p);\n            ToA2",
        "ToA2",
        FORWARD,
    ),
    "small sums not settled": (
        "products.h",
        "            if (!first && high * wide < SETTLED) {\n                PipeBarrier<PIPE_M>();\n            }\n",
        "",
        FORWARD,
    ),
    "L0C overwritten while it leaves": (
        "products.h",
        "            if (first) {\n                WaitFlag<HardEvent::FIX_M>(0);\n            }\n",
        "",
        FORWARD,
    ),
    "silu' with a wrong sign": (
        "swiglu_linear_grad.asc",
        "Sub(one, silu, one, n)",
        "Add(one, silu, one, n)",
        {"shape": (40, 50, 60), "dtype": HALF},
    ),
    "dWg twice": (
        "swiglu_linear_grad.asc",
        "block.to = dw[which]",
        "block.to = dw[0]",
        {"shape": (40, 50, 60), "dtype": HALF},
    ),
    "one term of dx": (
        "products.h",
        "TERMS = join == ADDED ? 2 : 1",
        "TERMS = 1",
        {"shape": (40, 50, 60), "dtype": HALF},
    ),
    "squares not aligned": (
        "products.h",
        "mmad.kDirectionAlign = unitA > C0;",
        "",
        {"shape": (21, 50, 60), "dtype": FLOAT},
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_noticed(name, tmp_path):
    file, old, new, how = MUTANTS[name]
    shutil.copytree(FOLDER, tmp_path / "swiglu_linear")
    changed = tmp_path / "swiglu_linear" / file
    text = changed.read_text()
    assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times in {file}"
    changed.write_text(text.replace(old, new))
    spec = importlib.util.spec_from_file_location("golden_mutant", tmp_path / "swiglu_linear" / "golden.py")
    gold = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(gold)
    how = dict(how)
    if "dtype" in how:
        backward(GOLD, **how)  # right without the change
    else:
        forward(GOLD, how["shape"], HALF, **{k: v for k, v in how.items() if k != "shape"})
    with pytest.raises((AssertionError, RuntimeError)):
        backward(gold, **how) if "dtype" in how else forward(gold, how.pop("shape"), HALF, **how)


# ---- the clock


def test_each_step_is_faster(monkeypatch):
    """At 2048 tokens, and weights that the L2 does not hold; the second slot is for sums so short that the vector cores
    take as long as the cube."""
    monkeypatch.setitem(sys.modules, "golden", GOLD)
    times = [t for _, t in runpy.run_path(str(FOLDER / "speedup.py"))["steps"]((2048, 4096, 16384))]
    naive, by_hand, folded, best, one_buffer, no_panels = times
    assert by_hand < 0.95 * naive and folded < 0.95 * by_hand and best < 1.01 * folded, times
    assert one_buffer > 2 * best and no_panels > 1.05 * best, times
    short = [
        GOLD.forward(
            *(torch.empty(s, dtype=HALF, device="npu") for s in ((4096, 128),) * 3),
            how={"timing_only": True},
            slots=slots,
        )[0].time_us
        for slots in (1, 2)
    ]
    assert short[0] > 1.4 * short[1], short
