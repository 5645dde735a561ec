"""Is this loss far from the last ones?"""

from statistics import median


def spike(losses, loss):
    """Whether `loss` is far above the last ones: above the median of the last five by more than 1.0, and by more than
    ten times the usual change. losses: the last 20, oldest first. Usual: the median change from one step to the next."""
    # >>> exercise: the usual change, and whether the loss is far above the last five (2 lines) | 通常的变化，以及损失是否远高于最近五步（2 行）
    # stub: return False
    usual = median(abs(b - a) for a, b in zip(losses, losses[1:]))
    return loss > median(losses[-5:]) + max(1.0, 10 * usual)
    # <<<
