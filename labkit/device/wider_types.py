"""Operators that a card computes in types for which PyTorch's CPU kernel, which the simulated device runs, has none.

The work is done in a type that holds every value exactly; a cast each way is charged, which a card does not need.
"""

from __future__ import annotations

import torch

_keep: list[torch.library.Library] = []


def _histc(self, bins=100, min=0, max=0):
    """Counts of whole numbers: aclnnHistc takes integers, mixture-of-experts layers of transformers count so."""
    if self.is_floating_point():
        return torch.ops.aten.histc.out(self, bins, min, max, out=self.new_empty(bins))
    exact = self.to(torch.float64)  # 53 bits
    return torch.ops.aten.histc.out(exact, bins, min, max, out=exact.new_empty(bins)).to(self.dtype)


def register() -> None:
    library = torch.library.Library("aten", "IMPL")
    library.impl("histc", _histc, "PrivateUse1")
    _keep.append(library)
