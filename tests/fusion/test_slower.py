"""labkit.fusion.why_slower: planted causes are named and their change helps; healthy kernels are not accused.

The rule: each cause is planted into two or more of the chains below, on one set of shapes each; the first cause named
must be the planted one, and the changed version, built and timed, must take the time back.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from device_lab import simulated  # noqa: E402

import labkit  # noqa: E402
from labkit import fusion  # noqa: E402

pytestmark = simulated


def swiglu(gate, up):
    return F.silu(gate) * up


def residual_gelu(x, added, weight):
    return F.gelu((x + added) * weight, approximate="tanh")


def scaled_softmax(x, mask):
    return torch.softmax(x * 0.125 + mask, -1)


def norm(x, weight, bias):
    return F.layer_norm(x, (x.shape[-1],), weight, bias)


def empty(*shape, dtype=torch.float32):
    return torch.empty(shape, dtype=dtype, device="meta")


def made(function, *tensors, **how):
    return fusion.kernel(function, tensors, name="planted", **how)


WHOLE = {
    "swiglu": (swiglu, (empty(2048, 1024), empty(2048, 1024))),
    "gelu": (residual_gelu, (empty(6000, 180), empty(6000, 180), empty(180))),
    "softmax": (scaled_softmax, (empty(3000, 500), empty(500))),
    "norm": (norm, (empty(2000, 768), empty(768), empty(768))),
}


def small_tiles(name):
    kernel = made(WHOLE[name][0], *WHOLE[name][1])
    cut, g = kernel._first.cut, kernel._first.geometry
    if cut.tall == 1:
        wide = 128
        across = -(-g.width // wide)
        return kernel.variant(cut=replace(cut, wide=wide, across=across, tiles=cut.down * across, blocks=48))
    down = g.rows
    return kernel.variant(cut=replace(cut, tall=1, down=down, tiles=down * cut.across, blocks=48))


def few_cores(name, blocks=5):
    kernel = made(WHOLE[name][0], *WHOLE[name][1])
    return kernel.variant(cut=replace(kernel._first.cut, blocks=blocks))


def many_cores(name):
    function, tensors = WHOLE[name]
    few = [t if t.dim() == 1 else empty(48, 64) for t in tensors]
    few = [empty(64) if t.dim() == 1 else t for t in few]
    kernel = made(function, *few)
    return kernel.variant(cut=replace(kernel._first.cut, tall=1, down=48, across=1, tiles=48, wide=64, blocks=48))


def one_bank(function):
    kernel = made(function, *[empty(2000, 512, dtype=HALF)] * 2)
    plan = labkit.codegen.plan(kernel.plan.program)
    for place in plan.places:
        if place.colour is not None:
            place.colour = 0
    return kernel.variant(plan=plan)


def deep(x, y):
    for i in range(6):
        x = torch.tanh(x * y + i) - y * x.abs()
    return x


def crossed(x, y):
    for _ in range(6):
        x, y = x * y + x, torch.maximum(x, y) - x
    return x + y


def gated(x):
    for _ in range(8):
        x = (x * 1.01 + 0.1).abs() - 0.3
    return x


def turned(x, y):
    return torch.tanh(x.t() + y)


def turned_norm(x):
    return torch.softmax(x.transpose(0, 1), -1)


def wide(x):
    for i in range(5):
        x = torch.tanh(x * 1.1 + i)
    return torch.softmax(x, -1)


HALF = torch.float16
BIG = empty(8192, 4096)
PLANTED = {
    **{f"tile: {n}": ("tile", lambda n=n: (small_tiles(n), {})) for n in ("swiglu", "gelu", "softmax", "norm")},
    **{f"cores: {n}": ("cores", lambda n=n: (few_cores(n), {})) for n in ("swiglu", "softmax", "norm")},
    **{f"launch: {n}": ("launch", lambda n=n: (many_cores(n), {})) for n in ("swiglu", "gelu")},
    "banks: deep": ("banks", lambda: (one_bank(deep), {})),
    "banks: crossed": ("banks", lambda: (one_bank(crossed), {})),
    "casts: deep": ("casts", lambda: (made(deep, *[empty(2000, 512, dtype=HALF)] * 2, rounding="every"), {})),
    "casts: gated": ("casts", lambda: (made(gated, empty(3000, 512, dtype=HALF), rounding="every"), {})),
    "layout: sum": ("layout", lambda: (made(turned, empty(1024, 2048), empty(2048, 1024)), {})),
    "layout: softmax": ("layout", lambda: (made(turned_norm, empty(700, 3000)), {})),
    "bandwidth: swiglu": ("bandwidth", lambda: (made(swiglu, BIG, BIG), {"expected_us": 100.0})),
    "bandwidth: add": ("bandwidth", lambda: (made(lambda x, y, z: x + y * z, BIG, BIG, BIG), {"expected_us": 100.0})),
    "cores: few wide rows": ("cores", lambda: (made(wide, empty(3, 40000)), {"expected_us": 5.0})),
    "launch: alone": ("launch", lambda: (made(swiglu, empty(4, 64), empty(4, 64)), {"expected_us": 0.5})),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted(name):
    kind, build = PLANTED[name]
    kernel, how = build()
    found = fusion.why_slower(kernel, **how)
    assert found.slower and found.causes, found
    first = found.causes[0]
    assert first.kind == kind, found
    assert first.us < 0.95 * found.us and first.saves_us == pytest.approx(found.us - first.us)
    assert first.changed and f"{first.us:.2f}" in repr(found)


@pytest.mark.parametrize("name", WHOLE)
def test_healthy(name):
    found = fusion.why_slower(made(WHOLE[name][0], *WHOLE[name][1]))
    assert not found.slower and found.causes == [] and "not slower" in repr(found)


def test_an_edited_text_is_held_against_the_generators_own():
    kernel = made(swiglu, empty(512, 1024), empty(512, 1024))
    slow = kernel.source.replace(
        "    WaitFlag<HardEvent::MTE2_V>(slot);",
        "    PipeBarrier<PIPE_ALL>();\n" * 30 + "    WaitFlag<HardEvent::MTE2_V>(slot);",
        1,
    )
    assert slow != kernel.source
    slow = slow.replace(
        "    SetFlag<HardEvent::V_MTE3>(slot);",
        "    for (int i = 0; i < 40; i++) Adds(gate_in, gate_in, 0.0f, n);\n    SetFlag<HardEvent::V_MTE3>(slot);",
        1,
    )
    found = fusion.why_slower(kernel.use(text=slow))
    assert found.slower and found.causes[0].kind == "edited", found


def test_two_records():
    """Of kernels that nobody can build anew: changes are replayed on the fused launch."""
    fused, chain = few_cores("swiglu").modelled(), made(*(WHOLE["swiglu"][0], *WHOLE["swiglu"][1])).modelled()
    found = fusion.why_slower(fused, chain)
    assert found.slower and found.causes[0].kind == "cores" and not found.causes[0].changed
    assert found.causes[0].us < found.us and "replaying" in repr(found)
    assert not fusion.why_slower(chain, fused).slower
