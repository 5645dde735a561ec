"""What each module of a model costs."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import labkit
from labkit import chips, messages
from labkit.profiler.modules import BOUNDS, Part


@pytest.fixture(scope="module", autouse=True)
def npu():
    labkit.device.install()


class Block(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm, self.up, self.act, self.down = (
            nn.LayerNorm(width),
            nn.Linear(width, 4 * width),
            nn.GELU(),
            nn.Linear(4 * width, width),
        )

    def forward(self, x):
        return x + self.down(self.act(self.up(self.norm(x))))


def model(blocks: int = 2, width: int = 256) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(*[Block(width) for _ in range(blocks)], nn.Linear(width, 10)).npu()


def test_a_parent_has_what_its_children_have():
    p = labkit.profile_modules(model(), torch.randn(512, 256).npu())
    for _, m in p.root.walk():
        for side in ("forward", "backward"):
            part, inner = getattr(m, side), [getattr(c, side) for c in m.children]
            assert part.kernels >= sum(c.kernels for c in inner)
            assert part.device_us >= sum(c.device_us for c in inner) - 1e-9
    tasks = [t for t in p.session.tasks if t.kind == "kernel"]
    assert p.root.forward.kernels + p.root.backward.kernels + p.outside.kernels == len(tasks)
    total = p.root.forward.device_us + p.root.backward.device_us + p.outside.device_us
    assert total == pytest.approx(sum(t.end - t.start for t in tasks) * 1e-3)
    assert [m.path for _, m in p.root.walk()] == [
        "", "0", "0.norm", "0.up", "0.act", "0.down", "1", "1.norm", "1.up", "1.act", "1.down", "2",
    ]  # fmt: skip


def test_the_way_back_belongs_to_the_module_that_made_it():
    p = labkit.profile_modules(model(), torch.randn(512, 256).npu())
    up, act, norm = p["0.up"], p["0.act"], p["0.norm"]
    # two products and the sum of the bias; the first layer's input wants no gradient
    assert (up.forward.kernels, up.backward.kernels) == (1, 3)
    assert up.forward.flops == 2 * 512 * 256 * 1024 and up.backward.flops == 2 * up.forward.flops
    assert (act.forward.kernels, act.backward.kernels) == (norm.forward.kernels, norm.backward.kernels) == (1, 1)
    assert p["0"].backward.kernels == 3 + 3 + 1 + 1
    assert p["1"].backward.kernels == 3 + 3 + 1 + 1 + 1, "x's gradients by the two ways are added"
    assert p["1"].device_us == pytest.approx(p["0"].device_us, rel=0.05)


def test_without_a_way_back():
    p = labkit.profile_modules(model(), torch.randn(64, 256).npu(), backward=False)
    assert p.root.backward == Part() and p.root.forward.kernels == 11
    assert p.root.kept == 0, "nothing is kept for a way back that does not come"


def test_a_module_called_twice_counts_twice():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(64, 64)

        def forward(self, x):
            return self.inner(self.inner(x))

    p = labkit.profile_modules(Twice().npu(), torch.randn(8, 64).npu())
    assert p["inner"].calls == 2 and p["inner"].forward.kernels == 2 and p["inner"].backward.kernels >= 5


def test_memory():
    p = labkit.profile_modules(model(), torch.randn(512, 256).npu())
    wide = 512 * 1024 * 4
    assert p["0.up"].kept == pytest.approx(wide, rel=0.01) and p["0.act"].kept == pytest.approx(wide, rel=0.01)
    assert p["0.down"].kept == 0, "its result is added to x and gone"
    assert p["0.up"].parameters == (256 * 1024 + 1024) * 4
    assert p["0"].peak >= p["0"].kept >= p["0.up"].kept + p["0.act"].kept


def test_bounds():
    small = labkit.profile_modules(model(), torch.randn(4, 256).npu())
    assert small.root.bound == "launch" and str(small.root.backward.kernels) in small.root.advice
    wide = labkit.profile_modules(model(1, 1024), torch.randn(4096, 1024).npu())
    assert wide["0.up"].bound == "compute" and wide["0.up"].advice == messages.text("modules.try.half")
    assert wide["0.act"].bound == "memory" and wide["0.act"].advice == messages.text("modules.try.memory")
    halves = labkit.profile_modules(model(1, 1024).half(), torch.randn(4096, 1024).half().npu())
    assert halves["0.up"].forward.bound == "compute" and halves["0.up"].forward.advice == messages.text(
        "modules.try.compute"
    )
    assert halves["0.up"].device_us < 0.5 * wide["0.up"].device_us
    assert set(BOUNDS) >= {m.bound for _, m in small.root.walk()}


@pytest.mark.parametrize(
    "part, bound",
    [
        (Part(), ""),
        (Part(host_us=10.1, device_us=10, kernels=1), "launch"),
        (Part(host_us=10, device_us=10, kernels=1, roof_memory_us=5), "memory"),
        (Part(host_us=9, device_us=10, kernels=1, roof_memory_us=4.9), "start"),
        (Part(host_us=9, device_us=10, kernels=1, roof_memory_us=4.9, own_us=6), "kernel"),
        (Part(host_us=9, device_us=10, kernels=1, roof_memory_us=5, own_us=6), "memory"),
        (Part(host_us=9, device_us=10, kernels=1, roof_memory_us=5, roof_compute_us=6), "compute"),
        (Part(host_us=9, device_us=10, kernels=1, roof_memory_us=6, roof_compute_us=5), "memory"),
    ],
)
def test_what_bounds(part, bound):
    assert part.bound == bound and bool(part.advice) == bool(bound)


def test_casts_and_formats_are_named():
    class Casting(nn.Module):
        def forward(self, x):
            return (x.half().float().half().float() * 2).half().float()

    x = torch.randn(1 << 20, 4).npu()
    p = labkit.profile_modules(nn.Sequential(Casting(), nn.Linear(4, 4)).npu(), x, backward=False)
    part = p["0"].forward
    assert part.kernels == 7 and 0.6 < part.converting_us / part.device_us < 0.95
    assert part.advice == messages.text("modules.try.convert", share="82 %")
    x = torch.randn(8, 3, 64, 64).npu()
    conv = labkit.profile_modules(nn.Conv2d(3, 8, 3).npu(), x, backward=False).root.forward
    assert conv.converting_us > 0.25 * conv.device_us, "TransData around the product"


def test_a_slow_kernel_of_ours_is_named():
    from places import REPO

    gated = labkit.kernel(REPO / "kernels/model_to_kernel/gated.asc")

    class Gated(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("up", torch.zeros(1 << 18, dtype=torch.half))

        def forward(self, x):
            out = torch.empty_like(x)
            gated[1](x, self.up, out, x.numel(), 256, 1)
            return out

    part = labkit.profile_modules(Gated().npu(), torch.zeros(1 << 18).half().npu(), backward=False).root.forward
    assert part.bound == "kernel" and "labkit.explain" in part.advice and part.own_us == part.device_us > 100


def test_roofs_come_from_the_chip_table():
    p = labkit.profile_modules(model(1, 1024), torch.randn(1024, 1024).npu(), backward=False)
    up, chip = p["0.up"].forward, chips.load(p.session.chip)
    peak = chip["cores"]["aic"] * chip["clock"]["hz"] * 2 * 256 * chip["cube"]["k"]["float"]
    assert up.roof_compute_us == pytest.approx(up.flops / peak * 1e6)
    assert up.roof_memory_us == pytest.approx(up.bytes / chip["gm"]["hbm"] * 1e6)
    assert up.intensity == pytest.approx(up.flops / up.bytes)


def test_shows_itself():
    p = labkit.profile_modules(model(), torch.randn(64, 256).npu())
    shown = repr(p)
    assert "odelled" in shown and "act" in shown.splitlines()[6]
    page = p._repr_html_()
    assert page.count("<tr>") == 1 + 12 and "odelled" in page and "http" not in page
    frame = p.table()
    assert list(frame["module"])[:3] == ["", "0", "0.norm"] and frame.attrs["time_kind"] == "modelled"
    with pytest.raises(KeyError, match="'0.norm'"):
        p["0.nrom"]


def test_gradients_are_as_before():
    m, x = model(), torch.randn(8, 256).npu()
    labkit.profile_modules(m, x)
    assert all(p.grad is None for p in m.parameters())
    m(x).sum().backward()
    before = {name: p.grad.clone() for name, p in m.named_parameters()}
    labkit.profile_modules(m, x)
    assert all(torch.equal(before[name], p.grad) for name, p in m.named_parameters())


def test_a_model_elsewhere():
    with pytest.raises(RuntimeError, match="npu"):
        labkit.profile_modules(nn.Linear(2, 2), torch.ones(1, 2))
