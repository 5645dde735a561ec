"""Shapes that nobody knew when the graph was made: one graph, one kernel, any rows; what was compiled is counted.

The rule: each test draws its shapes with a fixed seed from batches 0, 1, primes and others; no shape is left out.
"""

from __future__ import annotations

import random

import pytest

torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from labkit import fusion  # noqa: E402
from labkit.fusion import fused  # noqa: E402

pytestmark = simulated
NEAR = {"rtol": 1e-4, "atol": 1e-5}
SIZES = (0, 1, 2, 3, 7, 13, 31, 64, 97)


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def drawn(count: int, seed: int = 1) -> list[tuple[int, int]]:
    draw = random.Random(seed)
    made = [(draw.choice(SIZES), draw.choice(SIZES[1:])) for _ in range(count)]
    return [(0, 3), (1, 1), (1, 13), (97, 1), *made]


class Rows(nn.Module):
    """What the row rules look for, without attention: [batch, length, width]."""

    def __init__(self, width=24):
        super().__init__()
        self.norm, self.last = nn.RMSNorm(width, eps=1e-5), nn.LayerNorm(width)
        self.gate, self.up = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.bias = nn.Parameter(torch.ones(width))

    def forward(self, x):
        y = self.norm(x)
        z = F.silu(self.gate(y)) * self.up(y)
        return self.last(F.gelu(z + self.bias, approximate="tanh") + x)


FOUND = {"rms_norm": 1, "swiglu": 1, "bias_gelu": 1, "add_layer_norm": 1}
DIMS = {0: torch.export.Dim("batch", min=0), 1: torch.export.Dim("length", min=1)}


def test_one_graph_for_drawn_shapes():
    torch.manual_seed(0)
    model, backend = Rows().npu(), fusion.backend()
    compiled = torch.compile(model, backend=backend)
    with torch.no_grad():
        for batch, length in [(5, 7), *drawn(16)]:
            x = torch.randn(batch, length, 24).npu()
            if batch > 1 and length > 1:
                torch._dynamo.mark_dynamic(x, (0, 1))
            torch.testing.assert_close(compiled(x), model(x), **NEAR)
    # 0 and 1 are numbers to PyTorch, never symbols: a graph each for batch 0, batch 1, length 1, both 1
    assert backend.graphs <= 6 and backend.recompiled == backend.graphs - 1, backend
    assert backend.outcome.replaced == {k: n * backend.graphs for k, n in FOUND.items()} and not backend.outcome.left


def test_unmarked_shapes_become_symbols_at_the_second_one():
    torch.manual_seed(0)
    model, backend = Rows().npu(), fusion.backend()
    compiled = torch.compile(model, backend=backend)
    with torch.no_grad():
        for batch in (3, 5, 7, 31, 64, 97):
            x = torch.randn(batch, 4, 24).npu()
            torch.testing.assert_close(compiled(x), model(x), **NEAR)
    assert (backend.graphs, backend.recompiled) == (2, 1)


def test_gradients_for_drawn_shapes():
    torch.manual_seed(0)
    model, backend = Rows().npu(), fusion.backend()
    compiled = torch.compile(model, backend=backend)
    for batch, length in [(5, 7), (3, 13), (1, 1), (31, 2), (0, 3)]:
        x, grads = torch.randn(batch, length, 24), []
        for f in (compiled, model):
            t = x.npu().requires_grad_()
            model.zero_grad()
            f(t).square().sum().backward()
            grads.append([t.grad, *(p.grad.clone() for p in model.parameters())])
        for a, b in zip(*grads):
            torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3 * float(b.abs().max() if b.numel() else 0) + 1e-5)


def test_fused_for_drawn_shapes_and_exported():
    torch.manual_seed(0)
    model, x = Rows().npu(), torch.randn(3, 5, 24).npu()
    made = fusion.fuse(model, x, dynamic_shapes={"x": DIMS})
    assert dict(made.outcome.replaced) == FOUND
    again = torch.export.export(made, (x,), dynamic_shapes=(DIMS,), strict=False)
    names = {str(n.target) for n in again.graph.nodes}
    assert {"lab.rms_norm.default", "lab.swiglu.default", "lab.bias_gelu.default"} <= names
    there = again.module(check_guards=False)
    for batch, length in drawn(16, seed=2):
        y = torch.randn(batch, length, 24).npu()
        with torch.no_grad():
            torch.testing.assert_close(made(y), model(y), **NEAR)
            torch.testing.assert_close(there(y), model(y), **NEAR)


def test_saved_and_loaded_with_its_symbols(tmp_path):
    model, x = Rows(), torch.randn(3, 5, 24)
    made = fusion.fuse(model.npu(), x.npu(), dynamic_shapes={"x": DIMS})
    torch.export.save(torch.export.export(made, (x.npu(),), dynamic_shapes=(DIMS,), strict=False), tmp_path / "m.pt2")
    back = torch.export.load(tmp_path / "m.pt2")
    assert "lab.swiglu.default" in {str(n.target) for n in back.graph.nodes}
    y = torch.randn(11, 7, 24).npu()
    torch.testing.assert_close(back.module(check_guards=False)(y), model(y), **NEAR)


def chain(x, y):
    return torch.softmax(x * y + 0.5, -1) * x


def test_one_kernel_whose_tiling_comes_from_the_shape(monkeypatch):
    """Tile and blocks are chosen at each call; the text, and so what is compiled, is the same, but for narrow rows."""
    built, build = [], fused.build
    monkeypatch.setattr(fused, "build", lambda **how: (built.append(how["text"]), build(**how))[1])
    monkeypatch.setattr(fused, "_kernels", {})
    width, shapes = random.Random(3), []
    kernel = fusion.kernel(chain, (torch.ones(8, 64), torch.ones(8, 64)), name="shapes")
    for rows in (1, 2, 13, 97, 211, 640):
        for w in (1, 7, 64, width.choice((101, 512, 1021))):
            x, y = torch.randn(rows, w), torch.randn(rows, w)
            torch.testing.assert_close(kernel(x.npu(), y.npu()).cpu(), chain(x, y), **NEAR)
            p = kernel.prepare([x, y])
            shapes.append((p.cut.blocks, *sorted(p.tiling.items())))
    assert 1 <= len(built) <= 4 and len(set(built)) == len(built) and len(set(shapes)) > 12
    assert sum("begins at a multiple of 64 elements" in text for text in built) == 1, "one text for all wide rows"


def test_a_size_that_decides_is_guarded():
    """Focus needs even sides. Symbolic ones are asked for, and other ones compile anew."""

    class Focus(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(12, 8, 3, 1, 1)

        def forward(self, x):
            parts = [x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]]
            return self.conv(torch.cat(parts, 1))

    torch.manual_seed(0)
    model, backend = Focus(), fusion.backend(inner="eager")
    compiled = torch.compile(model, backend=backend)
    with torch.no_grad():
        for side in (8, 10, 14, 22, 46):
            x = torch.randn(2, 3, side, side + 2)
            torch._dynamo.mark_dynamic(x, (2, 3))
            torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-5)
    assert backend.graphs == 1 and backend.outcome.replaced == {"focus_conv": 1}, backend.outcome
