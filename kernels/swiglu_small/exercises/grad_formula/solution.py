import torch


def backward(dy, gate, up):
    """(dgate, dup) of y = silu(gate) * up, where silu(g) = g * sigmoid(g)."""
    # >>> exercise: `dgate` and `dup` | `dgate` 和 `dup`
    # stub: dgate = dy * up
    # stub: dup = dy * gate
    s = torch.sigmoid(gate)
    dgate = dy * up * (s + gate * s * (1 - s))
    dup = dy * gate * s
    # <<<
    return dgate, dup
