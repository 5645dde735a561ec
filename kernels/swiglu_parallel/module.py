"""LLaMA's MLP on several devices, by hand: gate and up by columns, down by rows, one all-reduce on the way out.

    parallel = labkit.operator("swiglu_parallel")
    mine = parallel.ParallelMLP(whole, rank, world)      # in each rank, of the same whole SwiGLUMLP
    y = mine(x)                                          # the same x on every rank, the same y

The weights are those of nn.Linear: gate_proj [I, H], up_proj [I, H], down_proj [H, I].
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F

import labkit


def shards(rank: int, world: int, gate: torch.Tensor, up: torch.Tensor, down: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """This rank's part of the three weights: every hidden unit with all that belongs to it. world divides I."""
    part = gate.shape[0] // world
    own = slice(rank * part, (rank + 1) * part)
    return gate[own], up[own], down[:, own]


class Enter(torch.autograd.Function):
    """Where the whole x enters the ranks' parts: nothing forward; backward the sum of what each part wants of x."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        # in a tensor of its own: autograd may have given the one that came in to others too
        grad = grad.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(grad)
        return grad


class Leave(torch.autograd.Function):
    """Where the parts become one: the sum forward; backward every part has the same gradient."""

    @staticmethod
    def forward(ctx, partial):
        whole = partial.clone()
        dist.all_reduce(whole)
        return whole

    @staticmethod
    def backward(ctx, grad):
        return grad


class ParallelMLP(nn.Module):
    """The part of a SwiGLUMLP that one rank computes."""

    def __init__(self, whole: nn.Module, rank: int, world: int) -> None:
        super().__init__()
        weights = shards(rank, world, whole.gate_proj.weight, whole.up_proj.weight, whole.down_proj.weight)
        self.gate, self.up, self.down = (nn.Parameter(w.detach().contiguous().clone()) for w in weights)
        labkit.operator("swiglu").missing("swiglu")  # builds torch.ops.lab.swiglu at its first use

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = Enter.apply(x)
        hidden = torch.ops.lab.swiglu(F.linear(x, self.gate), F.linear(x, self.up))
        return Leave.apply(F.linear(hidden, self.down))
