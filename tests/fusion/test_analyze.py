"""labkit.fusion.analyze: what it says of a model is what the device charges."""

from __future__ import annotations

from typing import NamedTuple

import pytest

torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402
from fused_by_hand import chains  # noqa: E402
from hypothesis import Phase, given, settings  # noqa: E402
from hypothesis import strategies as st
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import labkit.device as device  # noqa: E402
from labkit import chips, fusion  # noqa: E402
from labkit.fusion import traffic  # noqa: E402

pytestmark = simulated


class Convolution(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.c, self.b = nn.Conv2d(width, 2 * width, 3, padding=1, bias=False), nn.BatchNorm2d(2 * width)

    def forward(self, x):
        return F.relu(self.b(self.c(x[:, : x.shape[1] // 2].contiguous())), inplace=True)


class Rows(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a, self.b, self.n = nn.Linear(width, 2 * width), nn.Linear(width, 2 * width), nn.LayerNorm(2 * width)

    def forward(self, x):
        y = F.silu(self.a(x)) * self.b(x)
        return F.gelu(self.n(y + 1)).mean(-1)


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv, self.norm = nn.Linear(width, 3 * width), nn.RMSNorm(width)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (2, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        y = torch.softmax(q @ k.transpose(-1, -2) / 4, -1) @ v
        return self.norm(x + y.transpose(1, 2).flatten(2))


class Chain(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.w = nn.Parameter(torch.randn(width))

    def forward(self, x):
        y = torch.tanh(x * self.w + 1)
        return torch.softmax(y * y - x, -1), y.sum(-1)


class Recommender(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bag = nn.EmbeddingBag(500, width, mode="sum")
        self.mlp = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, ids):
        return torch.sigmoid(self.mlp(self.bag(ids)))


SHAPES = {Convolution: "image", Rows: "rows", Attention: "rows", Chain: "rows", Recommender: "ids"}


def example(kind, width, batch, length, dtype):
    if SHAPES[kind] == "ids":
        return torch.randint(0, 500, (batch, length))
    return torch.randn((batch, 2 * width, length, length) if SHAPES[kind] == "image" else (batch, length, width)).to(
        dtype
    )


@settings(max_examples=24, phases=[Phase.generate])
@given(
    kind=st.sampled_from(list(SHAPES)),
    width=st.sampled_from([16, 32, 64]),
    batch=st.integers(1, 4),
    length=st.sampled_from([4, 9, 16]),
    dtype=st.sampled_from([torch.float32, torch.float16]),
)
def test_the_chain_costs_what_the_device_charges(kind, width, batch, length, dtype):
    torch.manual_seed(0)
    model, x = kind(width).eval().to(dtype), example(kind, width, batch, length, dtype)
    report = fusion.analyze(model, x)
    there, given_ = model.npu(), x.npu()
    device.clear_l2()
    with torch.no_grad():
        for _ in range(2):
            torch.npu.synchronize()
            device.reset_clock()
            there(given_)
    charged = device.pieces()
    # relu_ on memory of its own is analysed as relu: the same work
    assert [p.name.rstrip("_") for p in report.before.pieces] == [p.name.rstrip("_") for p in charged]
    assert report.before.busy_us == pytest.approx(sum(p.us for p in charged), rel=1e-6)
    assert report.before.span_us == pytest.approx(charged[-1].start_us + charged[-1].us - charged[0].start_us, rel=0.01)
    for g in report.groups:
        assert g.after.launches <= g.before.launches
        assert sum(g.waterfall.values()) == pytest.approx(g.gain_us, abs=1e-9)
    launched = sum(g.before.launches - g.after.launches for g in report.recommended)
    assert len(report.before.pieces) - len(report.after.pieces) >= launched  # a copy behind attention may go, too


@pytest.mark.parametrize(
    "kind, found",
    [
        (Convolution, ["conv+bn+act"]),
        (Rows, ["swiglu", "residual+norm+gelu"]),
        (Attention, ["attention", "residual+norm"]),
        (Chain, ["reduction chain"]),
        (Recommender, ["embedding_bag+mlp"]),
    ],
)
def test_patterns(kind, found):
    report = fusion.analyze(kind(64).half().eval(), example(kind, 64, 4, 16, torch.float16))
    assert [g.kind for g in report.groups] == found, report


class LayerNormGelu(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.n = nn.LayerNorm(width)

    def forward(self, x):
        return F.gelu(self.n(x))


def test_traffic_of_a_group_by_hand():
    rows, width = 1024, 768
    report = fusion.analyze(LayerNormGelu(width).half(), torch.empty(rows, width, dtype=torch.half))
    (g,) = report.groups
    tensor = rows * width * 2
    assert g.kind == "norm+gelu" and (g.before.launches, g.after.launches) == (2, 1)
    assert g.after.bytes == 2 * tensor + 2 * width * 2  # read once, written once, weight and bias
    assert g.before.bytes == pytest.approx(4 * tensor, rel=0.01)
    assert g.saved == pytest.approx(0.5, abs=0.01) and g.recommended and g.passes == 1
    plan = report.kernel(0).plan  # two places for what comes and for what goes, and what lives in between
    assert g.ub_bytes >= 2 * 2 + 2 * 2 + 2 * 4 and g.tile == plan.tile and g.tile * g.ub_bytes <= 196608


def test_a_row_that_does_not_fit_is_read_for_each_reduction():
    report = fusion.analyze(LayerNormGelu(65536), torch.empty(64, 65536))
    (g,) = report.groups
    tensor = 64 * 65536 * 4
    assert g.passes == 3 and g.after.bytes == pytest.approx(4 * tensor, rel=0.03)  # mean, spread, result
    assert g.before.bytes == pytest.approx(6 * tensor, rel=0.03)  # unfused the norm reads them as often


def test_a_change_of_format_costs_the_same_before_and_after():
    parts, x = (nn.Conv2d(64, 64, 1, bias=False), nn.BatchNorm2d(64), nn.SiLU()), torch.empty(32, 64, 56, 56)
    report = fusion.analyze(nn.Sequential(*parts).half().eval(), x.half(), threshold=None)
    before, after = ([p for p in run.pieces if p.name == "TransData"] for run in (report.before, report.after))
    assert report.recommended and len(before) == 3
    assert [p.bytes for p in after] == pytest.approx([p.bytes for p in before], abs=1)
    assert [p.us for p in after] == pytest.approx([p.us for p in before], rel=0.05)


class Mask(nn.Module):
    def forward(self, x):
        return (1.0 - torch.ones(x.shape, device=x.device)) * 8 + x


def test_a_chain_may_begin_with_what_reads_nothing():
    report = fusion.analyze(Mask(), torch.empty(64, 128))
    assert [g.operators for g in report.groups] == [["rsub", "mul", "add"]]


def test_the_rule_is_a_parameter_and_only_a_rule():
    x = torch.empty(16384, 4096, dtype=torch.half)

    class Big(nn.Module):  # traffic goes away, the product's time stays
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(4096, 4096)

        def forward(self, x):
            return F.gelu(self.l(x))

    with device.shapes_only():
        model = Big().half().npu()
    strict, loose = fusion.analyze(model, x, threshold=0.9), fusion.analyze(model, x, threshold=0.1)
    assert not strict.recommended and len(loose.recommended) == 1
    (g,) = loose.groups
    assert g.saved > 0.4 and g.speedup < 1.3
    small = fusion.analyze(
        nn.Sequential(nn.Linear(16, 16), nn.Sigmoid()).half(), torch.empty(512, 16, dtype=torch.half)
    )
    (s,) = small.groups  # a mixed kernel starts later than both launches take
    assert not s.pays and s.waterfall["launches"] < 0 and any("slower" in why for _, why in small.against_rule)


def test_other_chips_and_their_own_numbers():
    x = torch.empty(4096, 1024, dtype=torch.half)
    was, times = device.chip(), {}
    try:
        for name in ("910B1", "910B4"):
            device.install(name)
            times[name] = fusion.analyze(LayerNormGelu(1024).half(), x).groups[0].after.us
            device.install(chips.variant("slow", {"base": name, "launch": {"head": 1e-4}}))
            assert fusion.analyze(LayerNormGelu(1024).half(), x).groups[0].after.us > times[name] + 90
    finally:
        device.install(was)
    assert times["910B1"] != times["910B4"]


def test_a_kernels_own_model_may_say_the_time():
    report = fusion.analyze(LayerNormGelu(1024).half(), torch.empty(4096, 1024).half(), predict=lambda group: 30.0)
    assert report.groups[0].after.us == pytest.approx(30.0)


# ---- with the generator's kernels


def drawn(seed, number):
    """A drawn chain as a module, with the reports of its groups."""
    d = chains().draw(seed, number)

    class Drawn(nn.Module):
        def forward(self, *tensors):
            return d(*tensors)

    return fusion.analyze(Drawn(), *(torch.empty(s, dtype=getattr(torch, k)) for s, k in d.inputs))


@pytest.mark.parametrize("number", [2, 6, 10, 21, 36])
def test_what_is_recommended_is_faster_by_as_much(number):
    """Both prices against launches on the twin's clock."""
    report = drawn(1, number)
    assert report.recommended
    for i, g in enumerate(report.groups):
        kernel = report.kernel(i)
        fused, chain = kernel.modelled().time_us, kernel.chain().modelled_us()
        assert g.speedup == pytest.approx(chain / fused, rel=0.2)
        assert g.eager.us == pytest.approx(sum(p.us for n in g.group.nodes for p in report.before.of.get(n, [])))
        if g.recommended:
            assert fused < chain and "generator" in set(report.table()["priced by"])


def test_from_the_report_to_the_source():
    model = Rows(64).half().eval()
    report = fusion.analyze(model, torch.empty(2, 8, 64, dtype=torch.half))
    kernel = report.kernel(0)
    gate, up = (torch.randn(2, 8, 128).half() for _ in range(2))
    assert [g.kind for g in report.groups][0] == "swiglu" and "// silu = silu(" in kernel.source
    assert kernel.check(gate, up).ok and kernel.name == "swiglu"


def test_what_the_generator_refuses_keeps_the_devices_price():
    class Odd(nn.Module):
        def forward(self, x):
            return torch.erfinv(torch.tanh(x)) * 2

    report = fusion.analyze(Odd(), torch.empty(64, 64))
    (g,) = report.groups
    assert g.generated is None and "erfinv" in g.refused and g.refused in repr(report)
    assert g.before is g.eager and g.after.launches == 1
    with pytest.raises(fusion.Refused, match="erfinv"):
        report.kernel(0)
    product = fusion.analyze(nn.Sequential(nn.Linear(64, 64), nn.ReLU()).half(), torch.empty(64, 64).half())
    assert not product.groups[0].refused, "nobody expects the generator to multiply"
    with pytest.raises(fusion.Refused):
        product.kernel(0)


def test_figures_and_words(monkeypatch):
    report = fusion.analyze(Rows(64).half(), torch.empty(4, 16, 64, dtype=torch.half))
    for draw in (report.picture, report.bars, report.timelines, report.waterfall):
        figure = draw()
        assert figure.svg == draw().svg and "modelled" in figure.desc and figure.svg.startswith("<svg")
    for g in report.groups:
        assert g.name in repr(report) and g.kind in report.bars().desc
    assert list(report.table()["kind"]) == [g.kind for g in report.groups]
    monkeypatch.setenv("LABKIT_LANG", "zh")
    assert "模型估算" in repr(report) and "模型估算" in report.picture().desc


def test_what_cannot_be_captured_says_why():
    class Decides(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    with pytest.raises(RuntimeError, match="torch.export"):
        fusion.analyze(Decides(), torch.randn(4))


def test_the_callers_own_graph_keeps_its_weights():
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU())
    graph, was = torch.fx.symbolic_trace(model), model[0].weight.detach().clone()
    assert fusion.analyze(graph, torch.ones(8, 64)).before.pieces
    for module in (model, graph.get_submodule("0").weight is model[0].weight and graph):
        weight = next(module.parameters())
        assert weight.device.type == "cpu" and torch.equal(weight, was)


class Pair(NamedTuple):
    a: torch.Tensor
    b: torch.Tensor


def test_inputs_by_name_and_in_a_named_tuple_are_moved_too():
    class Sum(nn.Module):
        def forward(self, x, y=None, z=None):
            return torch.relu(x.a + x.b if y is None else x + (y @ z))

    t, y, z = torch.ones(8, 64), torch.ones(8, 16), torch.ones(16, 64)
    for names in ({"y": y, "z": z}, {"z": z, "y": y}):
        assert len(fusion.analyze(Sum(), t, kwargs=names).before.pieces) == 3
    assert len(fusion.analyze(Sum(), Pair(t, t)).before.pieces) == 2


def test_of_a_long_run_the_first_pieces_are_gone(monkeypatch):
    monkeypatch.setattr(device, "pieces", lambda: ["third", "fourth", "fifth"])
    monkeypatch.setattr(device, "clock", lambda: device.Clock(0.0, 0.0, 5))
    run = traffic.Run()
    traffic._pieces_of(run, [("a", 0, 2), ("b", 1, 4), ("c", 4, 5)])
    assert run.of == {"a": [], "b": ["third", "fourth"], "c": ["fifth"]}


def test_an_exception_leaves_nothing_in_the_l2(monkeypatch):
    cleared = []
    monkeypatch.setattr(device, "clear_l2", lambda: cleared.append(True))
    with pytest.raises(KeyError), traffic.planning():
        raise KeyError
    assert len(cleared) == 2


def test_the_report_points_with_arrows_and_says_which_group_would_be_slower():
    """ ">" between two times reads as a comparison; a row without a word looked like a recommendation."""
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU())
    said = repr(fusion.analyze(model, torch.empty(8, 64)))
    assert " > " not in said and " → " in said and "1 group, 0 recommended" in said
    assert "slower: not recommended" in next(line for line in said.split("\n") if line.startswith("1. "))
