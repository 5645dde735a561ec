"""The factor that clips all gradients together."""


def factor(norms, largest):
    """The factor by which every gradient is multiplied: 1.0 if the norm of all gradients together is at most `largest`,
    else the number that brings that norm down to `largest`. norms: the norm of each weight's gradient, which may all be
    0."""
    # >>> exercise: the norm of all gradients together, and the factor (2 lines) | 所有梯度合在一起的范数，以及系数（2 行）
    # stub: return 1.0
    total = sum(norm * norm for norm in norms) ** 0.5
    return min(1.0, largest / total) if total else 1.0
    # <<<
