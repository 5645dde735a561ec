"""The Python side of lab::embedding_dense_grad: nn.Embedding whose backward is that operator.

model = labkit.operator("embedding_grad").replace(model)     # the same parameters under the same names
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from labkit.operators import availability

SOURCE = "kernels/embedding_grad/embedding_grad_torch.asc"
LOOK = 256  # backwards from one look at the ids to the next


def load() -> str:
    """Builds the operator, once; then torch.ops.lab.embedding_dense_grad is there. "" or why it cannot be built."""
    return availability.missing("embedding_dense_grad", SOURCE)


def top_share(ids: torch.Tensor) -> float:
    """The share of ids that are the most frequent one. The host waits for it."""
    ids = ids.flatten().cpu()
    return float(torch.unique(ids, return_counts=True)[1].max()) / ids.numel() if ids.numel() else 0.0


class _Lookup(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weight, ids, module):
        ctx.save_for_backward(ids)
        ctx.module, ctx.rows = module, weight.shape[0]
        return F.embedding(ids, weight)  # refuses ids that are out of range, so the backward need not

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        (ids,), m = ctx.saved_tensors, ctx.module
        padding = -1 if m.padding_idx is None else m.padding_idx
        by_freq, top = m.scale_grad_by_freq, m._top_share(ids)
        made = torch.ops.lab.embedding_dense_grad(grad, ids, ctx.rows, padding, by_freq, m.way, False, top)
        return made, None, None


class Embedding(nn.Embedding):
    """nn.Embedding; on npu its weight's gradient comes from lab::embedding_dense_grad.

    way: "auto", "scatter", "combine" or "segments"; look: for "auto", the host looks at the ids in every look-th
    backward how frequent the most frequent one is, and waits for that; 0: never, and 5 % is assumed. Elsewhere than on
    npu, and where the operator cannot be built, it is nn.Embedding. sparse=True and max_norm raise ValueError.
    """

    def __init__(self, *args, way: str = "auto", look: int = LOOK, **how):
        super().__init__(*args, **how)
        if self.sparse or self.max_norm is not None:
            raise ValueError("sparse=True and max_norm are nn.Embedding's own; this gradient is of a plain lookup")
        self.way, self.look, self._seen, self._top = way, look, 0, -1.0

    def why_not(self) -> str:
        """ "" where the operator can be called, else why not."""
        return f"the table is on {self.weight.device}" if self.weight.device.type != "npu" else load()

    def _top_share(self, ids: torch.Tensor) -> float:
        if self.way == "auto" and self.look and self._seen % self.look == 0:
            self._top = top_share(ids)
        self._seen += 1
        return self._top

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """ids of any shape -> [*ids.shape, embedding_dim]."""
        if not torch.is_grad_enabled() or not self.weight.requires_grad or self.why_not():
            return super().forward(ids)
        return _Lookup.apply(self.weight, ids, self)


def replace(model: nn.Module, way: str = "auto", look: int = LOOK) -> nn.Module:
    """Puts Embedding in the place of each nn.Embedding below `model`; parameters (tied ones too) and their names stay.
    Those that are sparse or have max_norm are left. Returns the model, or, where it is an nn.Embedding itself, its
    replacement.
    """

    def made(old: nn.Embedding) -> Embedding:
        new = Embedding(
            old.num_embeddings,
            old.embedding_dim,
            old.padding_idx,
            scale_grad_by_freq=old.scale_grad_by_freq,
            _weight=old.weight.detach(),
            way=way,
            look=look,
        )
        new.weight = old.weight
        return new.train(old.training)

    def takes(m: nn.Module) -> bool:
        return type(m) is nn.Embedding and not m.sparse and m.max_norm is None

    if takes(model):
        return made(model)
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if takes(child):
                setattr(parent, name, made(child))
    return model
