"""torch.npu.NPUGraph: what is recorded runs at the replay and not before, in the same tensors,
and costs the host one launch.
"""

from __future__ import annotations

import pytest
import torch
from device_lab import simulated
from same import equal  # noqa: E402

import labkit

pytestmark = simulated


def captured(function, *inputs):
    """The graph of function(*inputs), and its static results."""
    g = torch.npu.NPUGraph()
    with torch.npu.graph(g):
        results = function(*inputs)
    return g, results


def test_nothing_runs_before_the_replay():
    x = torch.ones(8).npu()
    kept = x.clone()

    def step(x):
        kept.add_(1)
        return x * 2 + kept

    g, y = captured(step, x)
    assert y.isnan().all() and kept.tolist() == [1] * 8
    g.replay()
    assert y.tolist() == [4] * 8 and kept.tolist() == [2] * 8
    x.fill_(10)  # the captured input, with new numbers
    g.replay()
    assert y.tolist() == [23] * 8


def test_a_network_and_its_gradients():
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.LayerNorm(32), torch.nn.Linear(32, 4)
    ).npu()
    x = torch.randn(8, 16).npu()
    target = torch.randn(8, 4).npu()

    def loss_of(x):
        loss = torch.nn.functional.mse_loss(net(x), target)
        loss.backward()
        return loss

    loss_of(x)  # makes the .grad tensors
    for p in net.parameters():
        p.grad.zero_()
    expected = loss_of(x).detach().clone()
    grads = [p.grad.clone() for p in net.parameters()]
    g, loss = captured(lambda x: [p.grad.zero_() for p in net.parameters()] and loss_of(x), x)
    g.replay()
    torch.testing.assert_close(loss.detach().cpu(), expected.cpu())
    for p, grad in zip(net.parameters(), grads):
        torch.testing.assert_close(p.grad.cpu(), grad.cpu())


def test_several_results_views_and_out():
    x = torch.randn(6, 10).npu()
    out = torch.zeros(6, 10).npu()

    def work(x):
        top = x.topk(3, dim=1)
        torch.mul(x, 3, out=out)
        left, right = x.t().contiguous().chunk(2)
        return top.values, top.indices, left + right, out[1:3]

    g, results = captured(work, x)
    x.copy_(torch.randn(6, 10))
    g.replay()
    for got, wanted in zip(results, work(x.clone())):
        assert equal(got.cpu(), wanted.cpu())


TURNS = {
    "unsqueeze_": lambda t: t.unsqueeze_(0),
    "squeeze_": lambda t: t.squeeze_(1),
    "t_": lambda t: t.squeeze(1).t_(),
    "transpose_": lambda t: t.transpose_(0, 2),
    "as_strided_": lambda t: t.as_strided_((3, 2), (1, 3)),
}


@pytest.mark.parametrize("turn", TURNS)
def test_a_view_in_place_is_no_kernel(turn):
    """The tensor has its new shape from the capture on; what was recorded before works with the old one."""

    def work(z, x):
        before = z + x
        z.add_(1)
        return before, TURNS[turn](z) * 2, z

    x, z = torch.arange(6.0).reshape(2, 1, 3).npu(), torch.zeros(2, 1, 3).npu()
    wanted = [t.cpu() for t in work(z.clone(), x)]
    g, results = captured(work, z, x)
    assert [t.shape for t in results] == [t.shape for t in wanted]
    for _ in range(2):
        z.zero_()
        g.replay()
        assert all(equal(got.cpu(), want) for got, want in zip(results, wanted))


def test_a_result_that_is_turned_in_place():
    g, y = captured(lambda x: (x * 2).t_().unsqueeze_(0), torch.arange(6.0).reshape(2, 3).npu())
    for _ in range(2):
        g.replay()
        assert equal(y.cpu(), (torch.arange(6.0).reshape(2, 3) * 2).t().unsqueeze(0))


def test_dropout_draws_anew():
    g, y = captured(lambda x: torch.nn.functional.dropout(x, 0.5), torch.ones(1000).npu())
    g.replay()
    first = y.cpu()
    g.replay()
    assert not torch.equal(first, y.cpu()) and 300 < (first != 0).sum() < 700


def test_the_host_pays_for_one_launch():
    x = torch.randn(1024).npu()

    def chain(x):
        for _ in range(50):
            x = x.relu()
        return x

    def cost(call):
        torch.npu.synchronize()
        labkit.device.reset_clock()
        call()
        issued = labkit.device.clock().host_us
        torch.npu.synchronize()
        return issued, labkit.device.clock().host_us, [r.name for r in labkit.device.timeline()]

    chain(x)
    one_by_one = cost(lambda: chain(x))
    g, _ = captured(chain, x)
    together = cost(g.replay)
    assert together[2] == one_by_one[2] and len(together[2]) == 50
    assert together[0] == pytest.approx(one_by_one[0] / 50, rel=0.05)
    assert together[1] < one_by_one[1]
    assert cost(lambda: chain(x))[0] == pytest.approx(one_by_one[0])  # and afterwards all is as before


def test_own_operators_are_recorded():
    labkit.register("kernels/silu/silu_torch.asc")
    x = torch.randn(300).npu()
    g, y = captured(lambda x: torch.ops.lab.silu(x) + 1, x)
    g.replay()
    torch.testing.assert_close(y.cpu(), torch.nn.functional.silu(x.cpu()) + 1, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "waits", [lambda x: x.sum().item(), lambda x: x.cpu(), lambda x: torch.npu.synchronize(), lambda x: x.nonzero()]
)
def test_what_needs_a_result_is_refused(waits):
    x = torch.ones(4).npu()
    with pytest.raises(RuntimeError, match="during the capture"):
        captured(waits, x)
    assert not torch.npu.is_current_stream_capturing()
    assert (x + 1).tolist() == [2] * 4  # and the device works on


def test_one_capture_at_a_time():
    x = torch.ones(4).npu()
    g = torch.npu.NPUGraph()
    with torch.npu.graph(g):
        assert torch.npu.is_current_stream_capturing()
        with pytest.raises(RuntimeError, match="being captured"):
            with torch.npu.graph(torch.npu.NPUGraph()):
                pass
        y = x + 1
    g.replay()
    assert y.tolist() == [2] * 4


def test_random_state_inside_a_capture():
    torch.npu.manual_seed(123)
    before = torch.rand(4, device="npu")
    state = torch.npu.get_rng_state()
    first, after = torch.rand(4, device="npu"), torch.rand(4, device="npu")

    def step():
        made = [torch.rand(4, device="npu")]
        kept = torch.npu.get_rng_state()  # what each replay writes it to
        made.append(torch.rand(4, device="npu"))
        torch.npu.set_rng_state(kept)
        torch.npu.manual_seed(123)  # the same seed: nothing happens
        return [*made, torch.rand(4, device="npu")], kept

    torch.npu.manual_seed(123)
    g, (made, kept) = captured(step)
    for _ in range(2):
        torch.npu.manual_seed(123)
        g.replay()
        assert made[0].equal(before) and made[1].equal(first) and made[2].equal(first) and kept.equal(state)
        assert torch.rand(4, device="npu").equal(after)
    torch.npu.manual_seed(7)
    other = torch.npu.get_rng_state()
    torch.npu.manual_seed(123)
    for change in (lambda: torch.npu.set_rng_state(other), lambda: torch.npu.manual_seed_all(7)):
        with pytest.raises(RuntimeError, match="only if new seed is the same"):
            captured(change)
    for change in (torch.npu.seed, torch.npu.seed_all):
        with pytest.raises(RuntimeError, match="Cannot call NPUGeneratorImpl::seed"):
            captured(change)
    assert torch.npu.initial_seed() == 123
    generator = torch.Generator("npu").manual_seed(5)
    g, drawn = captured(lambda: torch.rand(4, device="npu", generator=generator))
    g.register_generator_state(generator)
    g.replay()
    assert drawn.equal(torch.rand(4, device="npu", generator=torch.Generator("npu").manual_seed(5)))


def test_super_kernels_are_marked_and_not_made(tmp_path):
    def step():
        torch.npu.super_kernel_scope_begin("one")
        y = x * 2
        torch.npu.super_kernel_scope_end("one")
        assert torch.npu.NPUGraph.get_currently_capturing_graph() is not None
        return y

    x = torch.ones(2, device="npu")
    g, y = captured(step)
    with pytest.warns(UserWarning, match="no super kernels"):
        g.super_kernel_optimize({"split_mode": 1, "aggressive_opt_strategies": {"task_breaker_bypass": 1}})
    g.replay()
    assert y.tolist() == [2, 2]
    g.debug_dump(str(tmp_path / "dump"))
    assert "super_kernel_scope_begin(one)\naten" in (tmp_path / "dump").read_text()
    for wrong in ({"split": 1}, {"split_mode": "1"}, {"dcci_disable_on_kernel": [1]}, 3):
        with pytest.raises(RuntimeError):
            g.super_kernel_optimize(wrong)
    with pytest.raises(RuntimeError):
        torch.npu.super_kernel_scope_begin(" ")
    with pytest.raises(RuntimeError):
        torch.npu.NPUGraph.get_currently_capturing_graph()


def test_operators_that_give_nothing_back():
    """Those on lists: an optimizer's step is made of them."""
    p = torch.nn.Parameter(torch.ones(4, device="npu"))
    optimizer = torch.optim.SGD([p], lr=0.5, momentum=0.5)
    p.grad = torch.ones_like(p)
    optimizer.step()
    g = torch.npu.NPUGraph()
    with torch.npu.graph(g):
        optimizer.step()
    assert p.tolist() == [0.5] * 4
    g.replay()
    g.replay()
    assert p.tolist() == [0.5 - 0.75 - 0.875] * 4


@pytest.mark.parametrize("waits", [lambda x: x[x > 0], torch.unique, torch.bincount, lambda x: x.repeat_interleave(x)])
def test_a_shape_that_depends_on_values_is_refused(waits):
    x = torch.ones(3, dtype=torch.int64, device="npu")
    with pytest.raises(RuntimeError, match="capture"), torch.npu.graph(torch.npu.NPUGraph()):
        waits(x)


def test_a_shape_that_is_told_is_not():
    x, at = torch.ones(3, dtype=torch.int64, device="npu"), torch.tensor([2, 0], device="npu")
    g = torch.npu.NPUGraph()
    with torch.npu.graph(g):
        some, twice = x[at], x.repeat_interleave(x, output_size=3)
    g.replay()
    assert some.tolist() == [1, 1] and twice.tolist() == [1, 1, 1]


def test_as_many_callables_as_samples():
    layers = torch.nn.Linear(2, 2).npu(), torch.nn.Linear(2, 2).npu()
    with pytest.raises(ValueError):
        torch.npu.make_graphed_callables(layers, ((torch.ones(1, 2, device="npu"),),))
