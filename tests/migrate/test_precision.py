"""Mixed precision: the loss scale as GradScaler's, step for step; what breaks without each part; the modules that stay fp32."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from labkit import device
from labkit.migrate import model, scenes, training
from labkit.migrate.precision import LossScale, Masters, Policy

device.install()


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def line(weight=1.0, features=1) -> nn.Linear:
    """y = weight * x, exactly."""
    layer = nn.Linear(features, 1, bias=False)
    nn.init.constant_(layer.weight, weight)
    return layer


# ---- as GradScaler


@pytest.mark.parametrize("seed", range(6))
def test_scales_and_weights_as_gradscalers_step_for_step(seed):
    """Settings and overflowing steps drawn: powers of two, so that both are exact."""
    rng = np.random.default_rng(seed)
    settings = {
        "start": float(2 ** rng.integers(16, 24)),
        "growth": float(2 ** rng.integers(1, 3)),
        "backoff": float(0.5 ** rng.integers(1, 3)),
        "interval": int(rng.integers(1, 5)),
    }
    masters, theirs = Masters(line().npu(), Policy(keep=())), line().npu()
    ours_by, theirs_by = (torch.optim.SGD(p, lr=0.125) for p in (masters.parameters, theirs.parameters()))
    ours = LossScale("npu", least=2.0**-60, **settings)
    scaler = torch.amp.GradScaler(
        "npu", settings["start"], settings["growth"], settings["backoff"], settings["interval"]
    )
    scales = []
    for _ in range(25):
        x = torch.tensor([[float(rng.choice([1, 2, np.inf, np.nan], p=[0.4, 0.3, 0.2, 0.1]))]]).npu()
        theirs_by.zero_grad()
        scaler.scale(theirs(x).sum() / 2**30).backward()
        scaler.step(theirs_by)
        ours.of(masters.model(x.half()).float().sum() / 2**30).backward()
        found = ours.unscale(masters.gather())
        scales.append((ours.value, scaler.get_scale()))
        if not ours.update(found.item()):
            ours_by.step()
            masters.publish()
        ours_by.zero_grad()
        scaler.update()
        assert ours.value == scaler.get_scale()
    assert all(a == b for a, b in scales) and len({a for a, _ in scales}) > 2
    # a gradient of 2 ** -30 times less than 2 ** 6 vanishes in fp16; theirs is fp32
    if min(a for a, _ in scales) >= 2**6:
        assert torch.equal(masters.parameters[0], theirs.weight)


def test_a_training_runs_scales_are_gradscalers():
    """The same run twice, once with GradScaler on the same master weights."""
    images, steps = scenes.draw(32, seed=0), 7

    def by_gradscaler():
        masters = Masters(model.small(0).npu(), Policy())
        optimizer = torch.optim.AdamW(masters.parameters, lr=1, weight_decay=0.01, betas=(0.9, 0.95), foreach=True)
        scaler = torch.amp.GradScaler("npu", init_scale=2.0**18, growth_interval=2)
        drawn, scales, losses = training.drawn(images, 8, 0), [], []
        for number in range(steps):
            optimizer.param_groups[0]["lr"] = 3e-3 * training._schedule(number, steps)
            loss = masters.model(**{k: v.npu() for k, v in next(drawn).items()}).loss
            scales.append(scaler.get_scale())
            losses.append(loss.item())
            scaler.scale(loss).backward()
            masters.gather()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(masters.parameters, 1.0)
            scaler.step(optimizer)
            scaler.update()
            masters.publish()
            optimizer.zero_grad()
        return scales, losses

    scale = LossScale("npu", start=2.0**18, interval=2)
    run = training.train(model.small(0).npu(), images, steps, policy=Policy(), scale=scale, batch=8)
    scales, losses = by_gradscaler()
    assert (run.scales, run.losses) == (scales, losses)
    assert run.steps[0].skipped and not run.steps[-1].skipped, "2 ** 18 overflows, and what follows does not"


# ---- what breaks without each part


def moved(updates, scale=None, policy=Policy(keep=()), steps=16, master=True) -> float:
    """A weight of 1 after steps of plain gradient descent in fp16; the gradient of each is updates / learning rate."""
    rate = 2.0**10
    masters = Masters(line().npu(), policy)
    weights = masters.parameters if master else list(masters.model.parameters())
    optimizer = torch.optim.SGD(weights, lr=rate)
    scale = scale or LossScale("npu", enabled=False)
    for _ in range(steps):
        # the small number is a factor that goes through the backward pass in fp16
        out = masters.model(torch.ones(1, 1, dtype=torch.float16).npu())
        loss = (out.float() * (updates / rate)).sum()
        scale.of(loss).backward()
        if master:
            scale.unscale(masters.gather())
        optimizer.step()
        masters.publish() if master else None
        optimizer.zero_grad()
    return weights[0].item()


def test_without_a_loss_scale_small_gradients_are_zero():
    update = 2.0**-16  # a gradient of 2 ** -26; fp16's smallest number is 2 ** -24
    assert moved(update) == 1.0
    assert moved(update, LossScale("npu", start=2.0**12)) == 1 - 16 * update


def test_without_fp32_masters_small_updates_vanish():
    update = 2.0**-13  # the gradient, 2 ** -23, is there; 1 - 2 ** -13 is no fp16 number
    assert moved(update, master=False) == 1.0
    assert moved(update) == 1 - 16 * update


def test_without_clipping_one_outlier_throws_the_weights_far():
    def farthest(clip):
        torch.manual_seed(0)
        layer = line(0.0, features=2).npu()
        masters = Masters(layer, None)
        optimizer = torch.optim.SGD(masters.parameters, lr=0.125)
        far = 0.0
        for number in range(12):
            x = torch.tensor([[1.0, 0.0]]).npu() * (1024 if number == 6 else 1)
            ((layer(x) - 1) ** 2 / 2).sum().backward()
            if clip:
                torch.nn.utils.clip_grad_norm_(masters.parameters, clip)
            optimizer.step()
            optimizer.zero_grad()
            far = max(far, abs(layer.weight[0, 0].item()))
        return far

    assert farthest(None) > 1000 and farthest(1.0) < 1


def test_with_a_scale_that_never_falls_no_step_is_taken():
    images = scenes.draw(16, seed=0)
    stuck = LossScale("npu", start=2.0**40, backoff=1.0)
    run = training.train(model.small(0).npu(), images, 3, policy=Policy(), scale=stuck, batch=4)
    assert [s.skipped for s in run.steps] == [True] * 3
    falls = LossScale("npu", start=2.0**40, backoff=2.0**-28)
    run = training.train(model.small(0).npu(), images, 3, policy=Policy(), scale=falls, batch=4)
    assert [s.skipped for s in run.steps] == [True, False, False]


# ---- types by module


def seen_types(net: nn.Module, batch) -> dict[str, set]:
    found: dict[str, set] = {}
    for name, module in net.named_modules():
        if not list(module.children()):
            module.register_forward_hook(
                lambda m, args, out, name=name: found.setdefault(name, set()).update(
                    {p.dtype for p in m.parameters()} | {out.dtype} if torch.is_tensor(out) else set()
                )
            )
    net(**batch)
    return found


def test_what_is_kept_computes_in_fp32_and_the_rest_in_half():
    net = model.small(0).npu()
    batch = {k: v.npu() for k, v in scenes.batch(scenes.draw(4, seed=0)).items()}
    before = net(**batch).loss.item()
    Masters(net, Policy(keep=("*norm*", "*mlp*")))
    inner = {n: m.weight.dtype for n, m in net.named_modules() if hasattr(m, "weight")}
    kept = {n for n, d in inner.items() if d == torch.float32}
    assert kept == {n for n in inner if "norm" in n or "mlp" in n}
    found = seen_types(net, batch)
    assert found["model.language_model.layers.0.self_attn.q_proj"] == {torch.float16}
    assert found["model.language_model.layers.0.mlp.up_proj"] == {torch.float32}, "inside, it stays fp32"
    assert found["model.language_model.norm"] == {torch.float32, torch.float16}, "and half goes out"
    assert abs(net(**batch).loss.item() - before) < 0.02


def test_a_module_can_become_fp32_in_the_middle_of_a_run():
    net = model.small(0).npu()
    name = "model.language_model.layers.0.mlp"

    def mend(number, masters):
        if number == 1:
            masters.raise_precision(name)

    run = training.train(net, scenes.draw(16, seed=0), 4, policy=Policy(), batch=4, before_step=mend)
    assert {p.dtype for p in net.get_submodule(name).parameters()} == {torch.float32}
    assert all(np.isfinite(run.losses))
    half = {id(p) for p, _ in run.masters.pairs}
    assert all(torch.equal(p, m) for p, m in run.masters.pairs if p.dtype == torch.float32) and half
    with pytest.raises(ValueError, match="shares"):
        run.masters.raise_precision("lm_head")


@pytest.mark.parametrize("name", ["model.language_model.layers.0", ""])
def test_what_becomes_fp32_may_have_fp32_modules_inside(name):
    """The norms inside went on putting out half, to weights that are fp32 now: the layer could not run any more."""
    net = model.small(0).npu()
    masters = Masters(net, Policy())
    masters.raise_precision(name)
    batch = {k: v.npu() for k, v in scenes.batch(scenes.draw(4, seed=0)).items()}
    assert torch.isfinite(net(**batch).loss)
    assert {p.dtype for p in net.get_submodule(name).parameters()} == {torch.float32}
    if name:
        masters.raise_precision("")
        assert torch.isfinite(net(**batch).loss) and all(p.dtype == torch.float32 for p in net.parameters())


def test_the_models_own_class_is_no_module_that_stays_fp32():
    class NormNet(torch.nn.Sequential):
        pass

    with pytest.raises(ValueError, match="no module"):
        Masters(NormNet(torch.nn.Linear(3, 3)), Policy(keep=("*norm*",)))


def test_bad_input_says_what_is_wrong():
    with pytest.raises(ValueError, match="no module"):
        Masters(line(), Policy(keep=("*attention*",)))
    with pytest.raises(ValueError, match="not float32"):
        Masters(line().half())
    with pytest.raises(ValueError, match="both, or neither"):
        Masters(model.small(0), Policy(keep=("lm_head",)))
    with pytest.raises(ValueError, match="backoff"):
        LossScale("cpu", backoff=2.0)
    with pytest.raises(ValueError, match="one or more"):
        training.train(model.small(0), [], 3)
