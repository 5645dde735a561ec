import torch


def backward(dy, gate, up):
    """(dgate, dup) of y = silu(gate) * up, where silu(g) = g * sigmoid(g)."""
    # >>> exercise: `dgate` and `dup`, for any finite gate; dy, gate and up stay as they are | `dgate` 和 `dup`，对任何有限的 gate 都成立；dy、gate 和 up 保持不变
    # stub: dgate = dy * up
    # stub: dup = dy * gate
    s = torch.sigmoid(gate)
    dgate = dy * up * (s + gate * s * (1 - s))
    dup = dy * gate * s
    # <<<
    return dgate, dup
