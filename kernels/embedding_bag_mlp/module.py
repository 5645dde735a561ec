"""The Python side of lab::embedding_bag_mlp: a recommender whose tables are packed, so that one launch reads them all.

packed = labkit.operator("embedding_bag_mlp").pack(labkit.fusion.models.Recommender(...).npu())
packed(ids, dense)          # the same numbers; the parameters are the model's own
"""

from __future__ import annotations

import torch
from torch import nn

from labkit.operators import availability

SOURCE = "kernels/embedding_bag_mlp/embedding_bag_mlp_torch.asc"


class Packed(nn.Module):
    """A recommender by one launch for all its bags; inference only, tables have no gradient here.

    model: with `bags`, nn.EmbeddingBag of one width, mode and padding_idx, and `mlp`, an nn.Sequential that begins with
    Linear and ReLU. Its tables become views of one tensor: the model still works, with the same names in state_dict.
    check: an id out of range raises RuntimeError, for which the host waits; without it such an id counts as zeros.
    """

    def __init__(self, model: nn.Module, check: bool = True):
        super().__init__()
        bags, layers = list(model.bags), list(model.mlp)
        kinds = {(b.embedding_dim, b.mode, b.padding_idx, b.weight.dtype) for b in bags}
        if len(kinds) > 1 or bags[0].mode not in ("sum", "mean") or any(b.max_norm is not None for b in bags):
            raise ValueError(f"the tables differ, or are no plain sums or means: {sorted(map(str, kinds))}")
        if not (isinstance(layers[0], nn.Linear) and isinstance(layers[1], nn.ReLU)):
            raise ValueError(
                f"the MLP begins with {type(layers[0]).__name__}, {type(layers[1]).__name__}, not Linear, ReLU"
            )
        self.model, self.check = model, check
        self.rows = [b.num_embeddings for b in bags]
        self.table = torch.cat([b.weight.detach() for b in bags])
        for bag, part in zip(bags, self.table.split(self.rows)):
            bag.weight.data = part
        self.rest = nn.Sequential(*layers[2:])

    def why_not(self) -> str:
        """ "" where the kernel can be called, else why not."""
        if self.table.device.type != "npu":
            return f"the tables are on {self.table.device}"
        return availability.missing("embedding_bag_mlp", SOURCE)

    def forward(self, ids: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
        """ids [tables, samples, bag], dense [samples, features]."""
        if self.why_not():
            return self.model(ids, dense)
        first, bag = self.model.mlp[0], self.model.bags[0]
        with torch.no_grad():
            hidden = torch.ops.lab.embedding_bag_mlp(
                self.table, self.rows, ids, dense, first.weight, first.bias, None, bag.mode, bag.padding_idx, self.check
            )
            return torch.sigmoid(self.rest(hidden))


def pack(model: nn.Module, check: bool = True) -> Packed:
    """The model with its tables packed. Raises ValueError where they cannot be, with the reason."""
    return Packed(model, check)
