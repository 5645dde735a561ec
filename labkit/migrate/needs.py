"""What a model takes: memory, and how long a chip is busy with it at the very least."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from labkit import chips
from labkit.migrate.recording import Recorded


@dataclass
class Needs:
    """In bytes: weights and buffers, their gradients, the optimizer's state (0 for inference), what autograd keeps.
    hbm_bytes: of the chip. flops: of products in a step; cube_us: those at the cube's full rate in half precision: no
    program is faster. device_us, host_us: modelled time of the step, of the device and of the host."""

    weights: int
    gradients: int
    states: int
    activations: int
    hbm_bytes: int
    flops: int
    cube_us: float
    device_us: float
    host_us: float

    @property
    def total(self) -> int:
        return self.weights + self.gradients + self.states + self.activations

    @property
    def fits(self) -> bool:
        return self.total <= self.hbm_bytes


def needs(model: torch.nn.Module, recorded: Recorded, chip: str, states_each: int | None) -> Needs:
    """states_each: tensors that the optimizer keeps for each parameter (2 for Adam, 0 for plain SGD); None for
    inference."""
    table, learns = chips.load(chip), states_each is not None
    # By object: moved to the card, a parameter is no longer a piece of a larger tensor, nor one with another's memory.
    weights = sum(p.numel() * p.element_size() for p in {*model.parameters(), *model.buffers()})
    learning = sum(p.numel() * p.element_size() for p in model.parameters() if p.requires_grad) if learns else 0
    rate = cube_rate(chip)
    return Needs(
        weights, learning, learning * (states_each or 0), recorded.activation_bytes if learns else 0,
        int(table["memory"]["hbm"]), recorded.flops, recorded.flops / rate * 1e6, recorded.device_us, recorded.host_us,
    )  # fmt: skip


def cube_rate(chip: str) -> float:
    """Operations a second of all cube cores together in half precision: a 16 x k x 16 product a cycle each."""
    table = chips.load(chip)
    return 2 * 16 * 16 * table["cube"]["k"]["half"] * table["cores"]["aic"] * table["clock"]["hz"]
