"""What an operator of one's own can be made for: chains of PyTorch's operators in the model of stage 08.

A task is the chain, written once. In fp64 on the CPU it is the golden, in half on the npu it is the time to beat, and
the places in the network where it stands are replaced by whatever is given. So an entry brings no golden of its own.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.nn.functional as F

EPS = 1e-6


@dataclass(frozen=True)
class Task:
    """inputs: how many of (rows, width), then one of (width,). chain(*inputs): its outputs, in any type. places(model,
    operator): a function in each module's place that uses it; undone by taking `forward` away again. shown: shapes that
    everybody knows, the last one is that of the report's numbers. widest, tallest: of those that nobody knows."""

    name: str
    rows: int
    outputs: tuple[str, ...]
    chain: Callable[..., tuple[torch.Tensor, ...]]
    places: Callable[[torch.nn.Module, Callable], Iterator[tuple[torch.nn.Module, Callable]]]
    shown: tuple[tuple[int, int], ...] = ((4, 64), (176, 256), (1024, 1024))
    tallest: int = 320
    widest: int = 1536

    def draw(self, rows: int, width: int, generator: torch.Generator, size: float = 1.0) -> list[torch.Tensor]:
        """Inputs in half, on the CPU: normal numbers times `size`; the column near 1."""
        made = [torch.randn(rows, width, generator=generator) * size for _ in range(self.rows)]
        return [t.half() for t in [*made, 1 + torch.randn(width, generator=generator) / 4]]

    def empty(self, like: torch.Tensor, poison: bool = False) -> list[torch.Tensor]:
        """Room for the outputs, with NaN in it where it is to show what nobody writes. A statistic is float, one number
        a row."""
        rows, width = like.shape
        made = [
            like.new_empty(rows, 1, dtype=torch.float32) if name == "rstd" else like.new_empty(rows, width)
            for name in self.outputs
        ]
        return [t.fill_(float("nan")) for t in made] if poison else made

    @contextmanager
    def installed(self, model: torch.nn.Module, operator: Callable[..., list[torch.Tensor]]):
        """The model with `operator` wherever the chain stood; afterwards as it was. It is given tensors of two
        dimensions and the column, as the task has them."""

        def flat(*tensors: torch.Tensor) -> list[torch.Tensor]:
            *wide, column = tensors
            made = operator(*[t.reshape(-1, t.shape[-1]) for t in wide], column)
            return [t.reshape(*wide[0].shape[:-1], -1) for t in made]

        changed = []
        try:
            for module, forward in self.places(model, flat):
                module.forward = types.MethodType(forward, module)
                changed.append(module)
            yield model
        finally:
            for module in changed:
                del module.forward


# ---- x + residual, and RMSNorm of it: in each layer of the language model


def _residual_norm(x, residual, weight):
    total = x + residual
    if x.dtype == torch.float64:
        rstd = (total.square().mean(-1, keepdim=True) + EPS).rsqrt()
        return total * rstd * weight, total, rstd
    return F.rms_norm(total, (x.shape[-1],), weight, EPS), total, None


def _norm_places(model, operator):
    for layer in model.model.language_model.layers:

        def forward(self, hidden_states, **more):
            inner, _ = self.self_attn(hidden_states=self.input_layernorm(hidden_states), **more)
            y, total, *_ = operator(inner, hidden_states, self.post_attention_layernorm.weight)
            return total + self.mlp(y)

        yield layer, forward


# ---- residual + scale * x: twice in each layer of the vision tower


def _scaled_residual(x, residual, scale):
    return (residual + x * scale,)


def _scale_places(model, operator):
    for layer in model.model.vision_tower.encoder.layer:

        def forward(self, hidden_states):
            inner, _ = self.attention(self.layernorm_before(hidden_states))
            (after,) = operator(inner, hidden_states, self.lambda_1)
            return operator(self.mlp(self.layernorm_after(after)), after, self.lambda_2)[0]

        yield layer, forward


TASKS = {
    task.name: task
    for task in (
        Task("residual_rms_norm", 2, ("y", "sum", "rstd"), _residual_norm, _norm_places),
        Task("scaled_residual", 2, ("y",), _scaled_residual, _scale_places),
    )
}
