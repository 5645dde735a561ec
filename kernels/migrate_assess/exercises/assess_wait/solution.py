"""A wait that need not be."""


def tamed(x):
    """x, divided by its largest absolute value where that is above 1; x as it is otherwise. The tensor x is not
    changed."""
    # >>> exercise: the same values, without a value that the host reads (2 lines) | 数值相同，但 host 不读取任何数值（2 行）
    # stub: return x / x.abs().max() if x.abs().max().item() > 1 else x
    largest = x.abs().max()
    return x / largest.clamp(min=1.0)
    # <<<
