"""The stability monitor: planted failures are named and answered, a healthy run is left alone, the cost is small."""

from __future__ import annotations

import csv
import math
import os
from collections import OrderedDict

import pytest
import torch
from places import REPO

import labkit
from labkit.migrate import failures, model, precision, scenes, training
from labkit.migrate.monitor import Monitor, curvature


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


ALONE = [name for name, failure in failures.PLANTED.items() if not failure.ranks]
SETTLED = ("labels: of other words", "gradients: a thousand times")  # judged by the last steps, so not in the first


@pytest.mark.parametrize("name", ALONE)
def test_a_planted_failure_is_named_and_answered(name):
    failure, step = failures.PLANTED[name], 22 if name in SETTLED else 4
    watch = failures.run(name, step=step, steps=step + (7 if "scale" in name else 4), seed=1)
    first = watch.anomalies[0]
    assert (first.kind, first.where, first.action) == (failure.kind, failure.where, failure.action)
    assert first.step >= step and bool(watch.stopped) == (failure.action == "stop")
    last = watch.rows[-1]
    assert last["loss"] < 6 or failure.lasting or failure.action == "stop"
    if failure.action in ("skip", "raise precision"):  # an overflow that comes of the failure says nothing of the scale
        assert last["scale"] == watch.rows[step - 1]["scale"]
    if name == "activations: beyond fp16":
        weights = watch.masters.model.get_submodule(failures.VICTIM).parameters()
        assert {p.dtype for p in weights} == {torch.float32} and last["peak " + failures.VICTIM] < 65504
    if name == "scale: high and stuck":
        assert last["scale"] < 2.0**40
    if name == "scale: low and stuck":
        assert watch.scale.value == 2.0**-20 * Monitor.RAISE


def test_a_healthy_run_is_left_alone():
    watch = failures.run(steps=30, seed=2)
    assert watch.anomalies == [] and not watch.stopped and len(watch.rows) == 30
    assert not watch._hooks, "they are gone afterwards"


class Quiet(Monitor):
    """A monitor before any step."""

    def __init__(self, ranks):
        super().__init__()
        self._batch, self._peaks, self.noted = "", {}, {"peaks": [], "norms": [1.0], "ranks": ranks}
        self._normed = ["a.b.c"]

    def again(self):
        return self._verdict(0, 1.0, 1.0, False, self.noted, 1.0)


def test_ranks_are_told_apart():
    assert Quiet([1.0, float("nan"), 2.0]).again() == ("rank not finite", "rank 1", "skip")
    alike = Quiet([1.0, 1.0])
    assert [alike.again()[0] for _ in range(5)] == ["", "", "", "", "ranks alike"]
    different = Quiet([1.0, 1.5])
    assert [different.again()[0] for _ in range(6)] == [""] * 6


class Backwards(torch.nn.Module):
    """Its modules run in another order than that in which they are kept; one of them not at all."""

    def __init__(self):
        super().__init__()
        self.mlp, self.attn, self.unused, self.head = (torch.nn.Linear(4, 4) for _ in range(4))

    def forward(self, x):
        return self.head(self.mlp(self.attn(x)))


class OfNothing(torch.nn.Module):
    """Watched modules without a weight, and without a tensor to show."""

    def __init__(self):
        super().__init__()
        self.attn, self.mlp, self.head = torch.nn.Softmax(-1), Silent(), torch.nn.Linear(4, 4)

    def forward(self, x):
        self.mlp(x)
        return self.attn(self.head(x) * math.nan)


class Silent(torch.nn.Module):
    def forward(self, x):
        return "no tensor"


def steps_of(network, steps: int = 3, every: int = 10, loss=lambda out: out.sum(), policy=None):
    """A monitor's view of steps of training that change nothing."""
    watch, masters = Monitor(every=every), precision.Masters(network, policy)
    watch.attach(masters, precision.LossScale("cpu", enabled=False))
    batch = {"pixel_values": torch.tensor([0.0, 1.0]), "labels": torch.tensor([1, 2])}
    for number in range(1, steps + 1):  # zeros are looked at in step 0 and every tenth
        watch.look(batch)
        for p in masters.parameters:
            p.grad = None
        value = loss(network(torch.ones(1, 4)))
        if value.requires_grad:
            value.backward()
        noted = {key: t.tolist() for key, t in watch.observe(number, value).items()}
        watch.judge(number, value.item(), 1.0, False, noted, 1.0)
    watch.detach()
    return watch


def filled(linear, weight, bias):
    with torch.no_grad():
        linear.weight.fill_(weight)
        linear.bias.fill_(bias)


def test_a_module_is_named_by_its_own_peak():
    network = Backwards()
    filled(network.attn, 0.0, 0.0)  # dead, and runs first
    filled(network.mlp, 0.0, 3.0)
    filled(network.head, 1.0, 0.0)
    watch = steps_of(network)
    assert [(a.kind, a.where) for a in watch.anomalies] == [("dead layer", "attn")]
    assert (watch.rows[0]["peak attn"], watch.rows[0]["peak mlp"]) == (0.0, 3.0)
    filled(network.attn, 0.0, math.inf)
    filled(network.mlp, 1.0, 0.0)  # inf goes on through it
    first = steps_of(network, steps=1).anomalies[0]
    assert (first.kind, first.where, first.action) == ("activation overflow", "attn", "stop")


def test_a_norm_is_named_by_its_own_parameter():
    network = Backwards()
    filled(network.mlp, 1.0, 0.0)
    filled(network.head, 0.0, 1.0)  # nothing comes back through it
    watch = steps_of(network)
    assert "unused.weight" in watch._parameters and len(watch._normed) == 6
    first = watch.anomalies[0]  # only `head` has a gradient, and `unused` none that could be zero
    assert (first.kind, first.where) == ("no gradient", "mlp.weight")


def test_a_step_without_any_gradient_is_looked_at():
    watch = steps_of(Backwards(), every=1, loss=lambda out: torch.tensor(1.0))
    assert watch.anomalies == [] and len(watch.rows) == 3 and "zeros" not in watch.rows[0]


def test_a_module_without_weights_is_named():
    """And one that gives no tensor is not looked at."""
    watch = steps_of(OfNothing(), steps=1)
    assert [(a.kind, a.where, a.action) for a in watch.anomalies] == [("activation overflow", "attn", "stop")]
    assert "peak mlp" not in watch.rows[0]


def test_precision_is_raised_where_any_weight_is_not_fp32():
    class Attention(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.out = torch.nn.LayerNorm(4), torch.nn.Linear(4, 4)

        def forward(self, x):
            return self.out(self.norm(x).to(self.out.weight.dtype)).float() * math.inf

    first = steps_of(torch.nn.Sequential(OrderedDict(attn=Attention())), steps=1, policy=precision.Policy()).anomalies
    assert (first[0].where, first[0].action) == ("attn", "raise precision")


def watched(rank: int, name: str):
    torch.set_num_threads(1)
    return [(a.kind, a.where, a.action) for a in failures.run(name, step=4, steps=12, rank=rank).anomalies][:1]


@pytest.mark.skipif(os.environ.get("LABKIT_DRAWN", "") != "all", reason="LABKIT_DRAWN=all: starts two processes")
@pytest.mark.parametrize("name", [name for name in failures.PLANTED if name not in ALONE])
def test_two_ranks_do_the_same(name):
    failure = failures.PLANTED[name]
    found = labkit.ranks(2, watched, name, timeout=300).results
    assert found == [[(failure.kind, failure.where, failure.action)]] * 2


def test_the_cost_is_below_five_percent_of_a_modelled_step():
    images, times = scenes.draw(32, seed=0), []
    for watch in (None, Monitor()):
        scale = precision.LossScale("npu", start=1024.0)
        run = training.train(
            model.small(0).npu(), images, 11, policy=precision.Policy(), scale=scale, monitor=watch, batch=4
        )
        times.append(sum(step.us for step in run.steps[1:]))
    assert 1.005 < times[1] / times[0] < 1.05


def test_curvature_of_a_sum_of_squares():
    """Second derivatives 1, 2 and 4 (of one weight each) and 8 of three: every vector of signs gives their sum."""
    factors = [torch.tensor([1.0, 2.0, 4.0]), torch.full((3,), 8.0)]
    weights = [torch.full((3,), 2.0, requires_grad=True), torch.full((3,), 0.5, requires_grad=True)]

    def loss():
        sum((f * w * w / 2).sum() for f, w in zip(factors, weights)).backward()

    before = [w.detach().clone() for w in weights]
    for seed in range(3):
        assert abs(curvature(loss, weights, step=0.25, seed=seed) - 31) < 1e-3
    assert all(torch.equal(a, b) for a, b in zip(before, weights)) and weights[0].grad is None
    with pytest.raises(ValueError, match="above 0"):
        curvature(loss, weights, step=0)


def test_curvature_puts_back_what_it_moved_where_the_loss_raises():
    weights, calls = [torch.ones(3, requires_grad=True)], []
    weights[0].grad = kept = torch.full((3,), 5.0)

    def loss():
        weights[0].sum().backward()
        calls.append(1)
        if len(calls) > 1:
            raise MemoryError

    with pytest.raises(MemoryError):
        curvature(loss, weights)
    assert torch.equal(weights[0].detach(), torch.ones(3)) and weights[0].grad is kept


def test_a_model_is_put_back_where_its_loss_raises():
    network, watch = torch.nn.Sequential(OrderedDict(attn=torch.nn.Linear(4, 4))), Monitor()
    watch.attach(precision.Masters(network, precision.Policy(keep=())), None)
    watch.rows = [{"step": 0}]
    before = [p.detach().clone() for p in network.parameters()]
    with pytest.raises(ZeroDivisionError):
        watch.bend(lambda: 1 / 0)
    assert all(torch.equal(a, b) for a, b in zip(before, network.parameters()))


def test_curvature_is_noted_and_changes_nothing():
    runs = []
    for every in (0, 2):
        watch = Monitor(curvature_every=every)
        scale = precision.LossScale("npu", start=1024.0)
        run = training.train(
            model.small(0).npu(), scenes.draw(16, seed=0), 5, policy=precision.Policy(), scale=scale, monitor=watch,
            batch=4,
        )  # fmt: skip
        runs.append(run.losses)
    assert runs[0] == runs[1] and [row["step"] for row in watch.rows if "curvature" in row] == [0, 2, 4]


def test_bad_names_say_what_is_there():
    with pytest.raises(ValueError, match="pixels: not a number"):
        failures.run("pixels")
    with pytest.raises(ValueError, match="named_modules"):
        Monitor(watch=("nothing*",)).attach(precision.Masters(model.small(0), None), None)


@pytest.mark.parametrize("sizes", [{"every": 0}, {"every": -1}, {"curvature_every": -1}])
def test_steps_between_two_looks_are_counted_from_one(sizes):
    with pytest.raises(ValueError, match="at least 1"):
        Monitor(**sizes)


def test_the_table_holds_every_failure_and_what_was_found():
    with (REPO / "data" / "migrate_failures.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {r["planted"] for r in rows} >= set(failures.PLANTED) | {"none"}
    assert all(r["ok"] == "yes" for r in rows)
