"""One training loop for fp32 and for mixed precision, on any device.

    run = train(model.small(0).npu(), scenes.draw(2000, seed=0), steps=300, policy=Policy())
    run.losses, run.scales, run.tokens_per_s

Learning rate: straight up over the first steps, then half a cosine down. Every number that the host wants of a step
(loss, norm, overflow, what a monitor looks at) comes back in one read, the step's only wait.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from labkit import device
from labkit.migrate import scenes as scenes_
from labkit.migrate.precision import LossScale, Masters, Policy

WARM = 20  # steps until the learning rate is at its peak


@dataclass(frozen=True)
class Step:
    """norm: of the gradients, before clipping. scale: with which they were made. skipped: no update. us: modelled time,
    NaN on the CPU."""

    number: int
    loss: float
    norm: float
    scale: float
    skipped: bool
    us: float


@dataclass
class Run:
    """steps in order; tokens: of one step, padding included; masters: the weights as they stand."""

    steps: list[Step]
    tokens: int
    masters: Masters

    @property
    def losses(self) -> list[float]:
        return [step.loss for step in self.steps]

    @property
    def scales(self) -> list[float]:
        return [step.scale for step in self.steps]

    @property
    def us(self) -> float:
        """Modelled microseconds of a step, without the first, which makes the optimizer's state; the median."""
        times = sorted(step.us for step in self.steps[1:] or self.steps)
        return times[len(times) // 2]

    @property
    def tokens_per_s(self) -> float:
        """Modelled."""
        return self.tokens / self.us * 1e6


def train(
    model: torch.nn.Module,
    images: list[scenes_.Scene],
    steps: int,
    *,
    policy: Policy | None = None,
    scale: LossScale | None = None,
    rate: float = 3e-3,
    clip: float | None = 1.0,
    batch: int = 32,
    seed: int = 0,
    monitor: Any = None,
    before_step: Callable[[int, Masters], None] | None = None,
    after_step: Callable[[int], None] | None = None,
    batches: Iterable[dict[str, torch.Tensor]] | None = None,
) -> Run:
    """Trains the model where it is, in place, by AdamW.

    policy: types for mixed precision, None for fp32. scale: default a LossScale for fp16, none for others. clip: the
    largest norm of all gradients together, None for any. The seed decides which scenes make a batch. batches: instead
    of drawn ones. monitor: a labkit.migrate.monitor.Monitor. In a process group gradients are averaged over the ranks,
    each with a seed of its own. before_step(number, masters): called when gradients are
    there and unscaled; after_step(number): at its end.
    Raises ValueError for no scenes, fewer than one step, or a step in which nothing has a gradient.
    """
    if steps < 1 or not images:
        raise ValueError(f"{steps} steps on {len(images)} scenes: give one or more of each.")
    place = next(model.parameters()).device
    masters = Masters(model, policy)
    if scale is None:
        scale = LossScale(place, enabled=policy is not None and policy.half == torch.float16)
    optimizer = torch.optim.AdamW(masters.parameters, lr=rate, weight_decay=0.01, betas=(0.9, 0.95), foreach=True)
    coming = iter(batches) if batches is not None else drawn(images, batch, seed)
    done: list[Step] = []
    tokens = 0
    model.train()
    if monitor is not None:
        monitor.attach(masters, scale)
    try:
        for number in range(steps):
            for group in optimizer.param_groups:
                group["lr"] = rate * _schedule(number, steps)
            given = next(coming)
            tokens = given["input_ids"].numel()
            began = device.clock().host_us if place.type == "npu" else math.nan
            if monitor is not None:
                monitor.look(given)
            moved = {k: v.to(place) for k, v in given.items()}
            loss = model(**moved).loss
            found = _backward(loss, masters, scale)
            if before_step:
                before_step(number, masters)
            used = scale.value
            # with clip=None the norm is still wanted; no number is larger than inf
            norm = torch.nn.utils.clip_grad_norm_(masters.parameters, math.inf if clip is None else clip, foreach=True)
            watched = monitor.observe(number, loss) if monitor is not None else {}
            read = torch.cat([torch.stack([loss.detach().float(), norm, found[0]]), *watched.values()]).tolist()
            skip = scale.update(read[2])
            if monitor is not None:
                noted = dict(zip(watched, torch.tensor(read[3:]).split([len(t) for t in watched.values()])))
                noted = {key: values.tolist() for key, values in noted.items()}
                skip = monitor.judge(number, *read[:2], bool(read[2]), noted, used) or skip
            if not skip:
                optimizer.step()
                masters.publish()
            optimizer.zero_grad()
            if monitor is not None and monitor.curvature_every and number % monitor.curvature_every == 0:
                monitor.bend(lambda: _backward(model(**moved).loss, masters, scale))
            done.append(Step(number, *read[:2], used, skip, device.clock().host_us - began))
            if after_step:
                after_step(number)
            if monitor is not None and monitor.stopped:
                break
    finally:
        if monitor is not None:
            monitor.detach()
    return Run(done, tokens, masters)


def _backward(loss: torch.Tensor, masters: Masters, scale: LossScale) -> torch.Tensor:
    """Gradients in the masters, averaged over the ranks, unscaled; whether one overflowed, on the device."""
    scale.of(loss).backward()
    gradients = masters.gather()
    if not gradients:
        raise ValueError("No weight has a gradient: is there a label in the batch, and a weight to train?")
    if dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1:
        whole = torch.cat([g.flatten() for g in gradients]) / dist.get_world_size()
        dist.all_reduce(whole)
        parts = whole.split([g.numel() for g in gradients])
        torch._foreach_copy_(gradients, [part.view_as(g) for part, g in zip(parts, gradients)])
    return scale.unscale(gradients)


def _schedule(number: int, steps: int) -> float:
    return min((number + 1) / WARM, 1.0) * 0.5 * (1 + math.cos(math.pi * number / steps))


def drawn(images: list[scenes_.Scene], batch: int, seed: int) -> Iterator[dict[str, torch.Tensor]]:
    """Batches of scenes in a new order each time round."""
    generator = torch.Generator().manual_seed(seed)
    rest: list[int] = []
    number = 0
    while True:
        while len(rest) < batch:
            rest += torch.randperm(len(images), generator=generator).tolist()
        chosen, rest = rest[:batch], rest[batch:]
        yield scenes_.batch([images[i] for i in chosen], seed=seed * 1_000_003 + number)
        number += 1
