"""A graph that breaks."""
import torch
from torch.nn import functional as F


def limited(x, b):
    """GELU of x + b, plus x; where the largest element of b is above 1, x + b is limited to 8 first."""
    y = x + b
    # >>> exercise: the same limit within one graph | 同样的限制，但留在一个图里
    # stub: if b.max() > 1:
    # stub:     y = y.clamp(max=8)
    y = torch.where(b.max() > 1, y.clamp(max=8), y)
    # <<<
    return F.gelu(y, approximate="tanh") + x
