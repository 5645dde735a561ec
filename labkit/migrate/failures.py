"""Training runs with a planted failure, to try a monitor on: twelve, by a rule.

The rule: six places (pixels, labels, activations, gradients, the loss scale, ranks), and in each one failure by which
values become wrong (too large, no number, not what they belong to) and one by which they say nothing (all the same, all
zero). What a person would do about each was written down with it, before the monitor was run on any.

    watch = failures.run("pixels: not a number")
    watch.anomalies[0].action == failures.PLANTED["pixels: not a number"].action
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from labkit.migrate import model as model_
from labkit.migrate import scenes, training
from labkit.migrate.monitor import Monitor
from labkit.migrate.precision import LossScale, Masters, Policy

VICTIM = "model.language_model.layers.1.mlp"


@dataclass(frozen=True)
class Failure:
    """lasting: from the planted step on, not in it alone. kind, where, action: what a monitor has to say of it.
    batch: changes a batch; gradients: called when they are there; network: changes the model before that step; rank:
    only in rank 1 of two."""

    kind: str
    where: str
    action: str
    lasting: bool = False
    batch: Callable[[dict[str, torch.Tensor]], None] | None = None
    gradients: Callable[[Masters], None] | None = None
    network: Callable[[torch.nn.Module, Masters | None], None] | None = None
    scale: Callable[[LossScale], None] | None = None
    ranks: bool = False


def _not_a_number(batch: dict[str, torch.Tensor]) -> None:
    batch["pixel_values"][3, 1, 5, 7] = math.nan


def _blank(batch: dict[str, torch.Tensor]) -> None:
    batch["pixel_values"].zero_()


def _scrambled(batch: dict[str, torch.Tensor]) -> None:
    """Labels of other words: each moved on by 17 in the vocabulary."""
    labels = batch["labels"]
    labels.copy_(torch.where(labels == scenes.IGNORED, labels, (labels + 17) % len(scenes.WORDS)))


def _unlabelled(batch: dict[str, torch.Tensor]) -> None:
    batch["labels"].fill_(scenes.IGNORED)


def _too_large(net: torch.nn.Module, masters: Masters | None) -> None:
    """The same function, but its inner values pass fp16's largest number: one factor up by 2 ** 20, the next down."""
    mlp = net.get_submodule(VICTIM)
    _multiply(masters, mlp.up_proj.weight, 2.0**20)
    _multiply(masters, mlp.down_proj.weight, 2.0**-20)


def _dead_layer(net: torch.nn.Module, masters: Masters | None) -> None:
    _multiply(masters, net.get_submodule(VICTIM).down_proj.weight, 0.0)
    net.get_submodule(VICTIM).down_proj.weight.requires_grad_(False)  # nothing brings it back


def _multiply(masters: Masters, weight: torch.Tensor, factor: float) -> None:
    with torch.no_grad():
        for p, master in masters.pairs:
            if p is weight:
                master.mul_(factor)
        masters.publish()


def _spike(masters: Masters) -> None:
    torch._foreach_mul_([m.grad for m in masters.parameters if m.grad is not None], 1000.0)


def _cut(net: torch.nn.Module, masters: Masters | None) -> None:
    """The vision tower's features without a way back, as by a detach() left in from a trial."""
    net.model.vision_tower.register_forward_hook(lambda _, __, out: _detached(out))


def _detached(out: Any) -> Any:
    out.last_hidden_state = out.last_hidden_state.detach() + 0 * out.last_hidden_state
    return out


def _stuck_high(scale: LossScale) -> None:
    scale.set(2.0**40)
    scale.backoff = 1.0


def _stuck_low(scale: LossScale) -> None:
    scale.set(2.0**-20)
    scale.growth = 1.0


def _nan_features(net: torch.nn.Module, masters: Masters | None) -> None:
    """No number in what one forward pass of the projector gives."""

    def once(_, __, out):
        handle.remove()
        return out * math.nan

    handle = net.model.multi_modal_projector.register_forward_hook(once)


PLANTED = {
    "pixels: not a number": Failure("bad data", "", "skip", batch=_not_a_number),
    "pixels: all the same": Failure("blank data", "", "skip", True, batch=_blank),
    "labels: of other words": Failure("loss spike", "", "skip", batch=_scrambled),
    "labels: none": Failure("no labels", "", "skip", batch=_unlabelled),
    "activations: beyond fp16": Failure("activation overflow", VICTIM, "raise precision", network=_too_large),
    "activations: all zero": Failure("dead layer", VICTIM, "stop", network=_dead_layer),
    "gradients: a thousand times": Failure("gradient spike", "", "clip", gradients=_spike),
    "gradients: none for a part": Failure("no gradient", "model.vision_tower", "stop", network=_cut),
    "scale: high and stuck": Failure("scale too high", "", "lower scale", scale=_stuck_high),
    "scale: low and stuck": Failure("underflow", "", "raise scale", scale=_stuck_low),
    "ranks: no number in one": Failure("rank not finite", "rank 1", "skip", network=_nan_features, ranks=True),
    "ranks: the same data": Failure("ranks alike", "", "stop", ranks=True),
}


def run(name: str = "", step: int = 24, steps: int = 40, seed: int = 0, rank: int = 0, **settings: Any) -> Monitor:
    """Trains a small model in mixed precision on the npu with this failure planted at `step`; its monitor, of which
    `steps` are noted. name="": a healthy run. Those of ranks are for one of two processes, `rank` being its number:
    `labkit.ranks(2, f)` with an f(rank) that calls this. settings: further ones of Monitor."""
    if name and name not in PLANTED:
        raise ValueError(f"{name!r} is none of the planted failures: {', '.join(PLANTED)}.")
    failure = PLANTED[name] if name else Failure("", "", "")
    net = model_.small(seed).npu()
    watch = Monitor(**settings)
    scale = LossScale("npu", interval=50, least=2.0**-24)
    alike = failure.ranks and failure.network is None
    images = scenes.draw(1000, seed=seed)
    own, first = (training.drawn(images, 16, seed + 1000 * r) for r in (rank, 0))

    def batches():
        for number in itertools.count():
            batch = next(first if alike and number >= step else own)
            if failure.batch and (number == step or failure.lasting and number > step):
                failure.batch(batch)
            yield batch

    def before_step(number: int, masters: Masters) -> None:
        if number == step and failure.gradients:
            failure.gradients(masters)
        if number == step - 1 and failure.network and (not failure.ranks or rank == 1):
            changes.append(lambda: failure.network(net, masters))
        if number == step - 1 and failure.scale:
            changes.append(lambda: failure.scale(scale))

    changes: list[Callable[[], None]] = []

    def after_step(number: int) -> None:
        while changes:
            changes.pop()()

    training.train(
        net, images, steps, policy=Policy(), scale=scale, seed=seed, monitor=watch, batches=batches(),
        before_step=before_step, after_step=after_step,
    )  # fmt: skip
    return watch
