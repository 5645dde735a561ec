"""Putting SwiGLUMLP into a model by hand: walk over its modules, swap each MLP that computes down(silu(gate(x)) *
up(x)).
"""

from __future__ import annotations

from torch import nn

from .layer import SwiGLUMLP

PARTS = ("gate_proj", "up_proj", "down_proj")


def replace(model: nn.Module, **options) -> list[str]:
    """Swaps LLaMA's MLPs of `model` for SwiGLUMLP(**options) with the same parameters; the names of the swapped
    modules.

    Names and order of parameters stay, so state dicts and optimizers fit as before. An MLP with another activation is
    left alone.
    """
    found = [(name, module) for name, module in model.named_modules() if is_llama_mlp(module)]
    for name, module in found:
        parent, _, last = name.rpartition(".")
        setattr(model.get_submodule(parent), last, SwiGLUMLP.of(module, **options))
    return [name for name, _ in found]


def is_llama_mlp(module: nn.Module) -> bool:
    """By what it is made of, so that LlamaMLP, MistralMLP, Qwen2MLP and a class of one's own are all found."""
    return (
        not isinstance(module, SwiGLUMLP)
        and all(isinstance(getattr(module, part, None), nn.Linear) for part in PARTS)
        and type(getattr(module, "act_fn", None)).__name__ in ("SiLU", "SiLUActivation")
    )
