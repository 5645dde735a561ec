"""Spaces of generated kernels, of kernels by hand and of fusion sets: each candidate is a right kernel."""

import random

import pytest
import torch
import torch.nn.functional as F

from labkit import fusion, tuning
from labkit.codegen.tiling import Way
from labkit.tuning import Table


def empty(*shape, dtype=torch.float32):
    return torch.empty(*shape, dtype=dtype)


CASES = {
    "pieces": (lambda x, b: F.silu(x) * b, ((40, 700), (700,)), torch.float16),
    "rows": (lambda x: F.softmax(x, -1), ((50, 333),), torch.float32),
    "wide": (lambda x: x - x.mean(-1, keepdim=True), ((5, 20000),), torch.float16),
    "flat": (lambda x, y: torch.exp(x) + y, ((9, 4096), (9, 4096)), torch.float32),
    "batched": (lambda x, y: x * y, ((3, 20, 500), (20, 500)), torch.float32),
}


def made(name):
    function, shapes, dtype = CASES[name]
    tensors = [torch.randn(s, generator=torch.Generator().manual_seed(i)).to(dtype) for i, s in enumerate(shapes)]
    return fusion.kernel(function, tensors, name=name), tensors


@pytest.mark.parametrize("name", CASES)
def test_drawn_candidates_compute_the_function(name):
    kernel, tensors = made(name)
    space = tuning.generated(kernel)
    ways = {(p.get("slots"), p.get("order"), p.get("program")): p for p in space.candidates()}
    drawn = [*ways.values(), *random.Random(1).sample(space.candidates(), 3)]
    for point in drawn[:9]:
        space.apply(point)
        check = kernel.check(*tensors)
        assert check.ok, (point, check.worst, check.record.findings)


@pytest.mark.parametrize("name", CASES)
def test_candidates_differ_and_fit(name):
    kernel, _ = made(name)
    space = tuning.generated(kernel)
    points = space.candidates()
    ways = set()
    for p in points:
        space.check(p)
        assert space.refuse(p) is None and space.predict(p) > 0
        kernel.choose(None)
        cut = space.apply(p).prepare(kernel.example).cut
        plan = kernel.plan
        assert cut.tall * -(-cut.wide // 64) * 64 <= plan.tile and plan.used <= 192 * 1024
        ways.add((plan.program.shape, plan.slots, plan.order, cut))
    assert len(ways) == len(points) > 20
    assert space.start in points
    outside = next(p for p in space.points() if space.refuse(p) is not None)
    assert outside not in points and space.refuse(outside)


def test_a_way_that_does_not_fit_is_refused_and_changes_nothing():
    kernel, _ = made("rows")
    was = kernel.prepare(kernel.example)
    for wrong in (
        Way("rows", tall=5000, wide=333, blocks=8),
        Way(slots=3),
        Way(order="up"),
        Way("wide", tall=1, wide=100, blocks=2),
    ):
        with pytest.raises(fusion.Refused):
            kernel.choose(wrong)
    assert kernel.prepare(kernel.example) is was
    assert kernel.choose(Way("rows", tall=2, wide=333, blocks=4))._first.cut.blocks == 4
    assert kernel.choose(None)._first.cut == was.cut


def test_one_slot_is_slower_where_copies_could_hide_and_the_predictor_knows():
    kernel, _ = made("flat")
    times = {}
    for slots in (1, 2):
        kernel.choose(Way("pieces", slots, "across", 1, 512, 1))
        times[slots] = kernel.modelled().time_us, kernel.predict().us
    assert times[1][0] > 1.2 * times[2][0] and times[1][1] > 1.2 * times[2][1], times


def test_tune_leaves_the_kernel_cut_as_the_best():
    kernel, tensors = made("rows")
    found = fusion.tune(kernel, budget=8)
    assert kernel.modelled().time_us == found.us <= found.start_us and found.kind == "modelled"
    assert found.made is kernel and kernel.check(*tensors).ok
    again = fusion.tune(CASES["rows"][0], [empty(50, 333)], budget=8)
    assert again.us == found.us


def test_other_chips_have_other_spaces():
    blocks = {}
    for chip in ("910B1", "910B4"):
        kernel = fusion.kernel(CASES["flat"][0], [empty(90, 4096)] * 2, name="flat", chip=chip)
        blocks[chip] = tuning.generated(kernel).parameters["blocks"][-1]
    assert blocks == {"910B1": 48, "910B4": 40}, blocks


# ---- by hand


def test_a_kernel_by_hand(tmp_path):
    n = 50_000
    x, y = (torch.zeros(n, dtype=torch.float16, device="npu") for _ in range(2))

    def launch(kernel, p):
        return kernel[p["blocks"]](x, y, 2.0, n)

    space = {"tile": (2048, 8192, 20480), "blocks": (4, 24)}
    problem = tuning.written("kernels/axpy/axpy.asc", space, launch, entry="axpy<half, {tile}>", about=[n])
    table = Table.of(problem)
    assert len(table.times) == 4 and all("six tiles do not fit UB" in why for why in table.failed.values())
    found = fusion.tune(problem, budget=1.0, prune=False)
    assert found.us == table.least and found.best == table.best and found.evaluations == 6
    assert found.made.entry.startswith(f"axpy<half, {found.best['tile']}>")
    again = Table.load(table.save(tmp_path / "t.json"))
    assert again.times == table.times and again.replay().candidates() == table.replay().candidates()


# ---- fusion sets


def chain(x, y, w):
    h = x * y
    return F.softmax(h + w, -1) * 0.5, h


def test_fusion_sets_compute_the_function():
    tensors = [torch.randn(20, 300), torch.randn(20, 300), torch.randn(300)]
    problem = tuning.sets(chain, tensors)
    assert list(problem.parameters) == ["mul>add", "add>_softmax", "_softmax>mul_1"]
    for point in problem.candidates():
        call = problem.apply(point)
        assert len(call.kernels) == 1 + sum(not joined for joined in point.values())
        for got, want in zip(call(*(t.npu() for t in tensors)), chain(*tensors)):
            assert torch.allclose(got.cpu(), want, atol=1e-5), point
    found = fusion.tune(problem, budget=1.0, prune=False)
    assert found.evaluations == 8 and found.us < 0.6 * found.start_us
    assert found.us == min(us for _, us in found.history)


def test_a_set_that_no_kernel_can_be_is_no_candidate():
    def turned(x, y):
        return torch.exp((x + 1).reshape(6, 50) + y)

    problem = tuning.sets(turned, [empty(20, 15), empty(6, 50)])
    whys = {tuple(p.values()): problem.refuse(p) for p in problem.points()}
    assert len(whys) == 4 and whys[False, False] is None is whys[False, True]
    assert all("shape" in whys[True, last] for last in (False, True))


def test_graphs_that_are_too_small_or_too_large_are_refused():
    with pytest.raises(ValueError, match="2 to"):
        tuning.sets(torch.exp, [empty(4, 4)])
    with pytest.raises(fusion.Refused):
        tuning.sets(lambda x: torch.cumsum(x, -1) * 2, [empty(4, 4)])
