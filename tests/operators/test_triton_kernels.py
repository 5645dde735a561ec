"""The kernels in Triton beside ours: right over the hand-written kernels' cases, without a finding; no load of theirs
goes element by element; data/triton_kernels.csv has what their code gives now.
"""

from __future__ import annotations

import csv
import os
import sys

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")
pytest.importorskip("triton", reason="Triton has wheels for Linux x86_64 and aarch64 only")

import labkit.triton

labkit.triton.install()
from device_lab import simulated
from ops_lab import close, golden, module, values

from labkit import paths

pytestmark = simulated
HALF, BRAIN, FLOAT = torch.float16, torch.bfloat16, torch.float32
TYPES = (HALF, BRAIN, FLOAT)
ULPS = {HALF: 2, BRAIN: 2, FLOAT: 8}
NAMES = ("swiglu", "rms_norm", "softmax", "linear_act", "depthwise_conv")
MADE = {name: module(f"{name}_triton", paths.kernels_dir() / name / f"{name}_triton.py") for name in NAMES}
GOLD = {name: golden(name) for name in NAMES}


@pytest.fixture(autouse=True)
def without_findings():
    from labkit.triton import driver

    with driver.recording() as seen:
        yield
    assert seen and not any(r.findings for r in seen), [r.report() for r in seen if r.findings]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(1,), (33, 100), (7, 4099)])
def test_swiglu(shape, dtype):
    gate, up = values(shape, dtype, 1), values(shape, dtype, 2)
    close(MADE["swiglu"].launch(gate.npu(), up.npu()), GOLD["swiglu"].swiglu(gate, up), ULPS[dtype])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("rows, width", [(1, 1), (60, 130), (3, 5121)])
def test_rms_norm(rows, width, dtype):
    x = values((rows, width), torch.float64, 3) * torch.logspace(-2, 1, rows, dtype=torch.float64)[:, None]
    x, weight = x.to(dtype), values((width,), dtype, 4, 1.0)
    for got, want, ulps in zip(MADE["rms_norm"].launch(x.npu(), weight.npu()), GOLD["rms_norm"].rms_norm(x, weight),
                               (ULPS[dtype], 8)):  # fmt: skip
        close(got, want, ulps, 1e-6)


@pytest.mark.parametrize("name", ["row_cases", "half_cases", "masked_cases"])
def test_softmax(name):
    for case in getattr(GOLD["softmax"], name)(5, False):
        got = MADE["softmax"].launch(case.args[0].npu()).cpu()
        rtol, atol = case.tolerance
        assert torch.allclose(got, case.expected, rtol=rtol, atol=atol), case.name


@pytest.mark.parametrize("act", ["none", "bias", "relu", "silu"])
@pytest.mark.parametrize("dtype, m, h, i", [(HALF, 33, 50, 40), (BRAIN, 130, 64, 200)])
def test_linear_act(act, dtype, m, h, i):
    gold, bias = GOLD["linear_act"], None if act == "none" else values((i,), dtype, 7, 1.0)
    x, w = values((m, h), dtype, 5, 1.0), values((i, h), dtype, 6, h**-0.5)
    want = gold.linear_act(x, w, bias, None, "none" if act == "bias" else act)
    got = MADE["linear_act"].launch(x.npu(), w.npu(), None if bias is None else bias.npu(), act)
    close(got, want.to(dtype), 2, 2e-3 * gold.terms(x, w, bias))


def test_depthwise_conv():
    gold = GOLD["depthwise_conv"]
    for n, c in enumerate(gold.draw(13, 4)):
        dtype, how = TYPES[n % 3], {k: c[k] for k in ("stride", "padding", "dilation")}
        x, w = values(c["x"], dtype, n, 1.0), values((c["x"][1], 1, *c["kernel"]), dtype, n + 1, 1.0)
        b = values((c["x"][1],), dtype, n + 2, 1.0) if c["bias"] else None
        got = MADE["depthwise_conv"].launch(x.npu(), w.npu(), None if b is None else b.npu(), **how)
        size = gold.terms(torch.zeros_like(gold.forward(x, w, b, **how)), x, w, b, **how)[0]
        close(got.contiguous(), gold.forward(x, w, b, **how), ULPS[dtype], 2e-3 * size if dtype != FLOAT else size)


def test_autotune_goes_by_the_device_and_not_by_the_host():
    """Of two short kernels, both shorter than the host takes to launch one."""
    import triton

    kernel = triton.autotune(configs=[triton.Config({"BLOCK": n}) for n in (128, 4096)], key=["n"])(
        MADE["swiglu"].swiglu
    )
    x = torch.ones(40_000).npu()
    kernel[lambda meta: (triton.cdiv(40_000, meta["BLOCK"]),)](x, x, torch.empty_like(x), 40_000)
    assert kernel.best_config.kwargs == {"BLOCK": 4096}


def test_the_table_is_of_this_code():
    """The quickest rows are launched again."""
    sys.path.append(str(paths.repo_root() / "scripts"))
    import triton_kernels_times as times

    with open(paths.data_dir() / "triton_kernels.csv", encoding="utf-8") as file:
        rows = {(r["kernel"], r["shape"]): r for r in csv.DictReader(file)}
    assert {k for k, _ in rows} == set(NAMES)
    for name, shape in (("swiglu", "128 x 11008"), ("softmax", "183 x 781")):
        now, then = times.triton_us(name, shape)[0], float(rows[name, shape]["triton_us"])
        assert abs(now / then - 1) < 0.1, f"{now:.2f} us, {then:.2f} in the table: write it again"
