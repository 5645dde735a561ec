"""When batch norm may be folded."""


def may_fold(norm, readers):
    """Whether `norm` may be folded into the convolution before it, whose result `readers` operators read."""
    # >>> exercise: at rest, with statistics of its own, and nobody else needs the plain convolution (1 line) | 处于推理模式、有自己的统计量，且没有别人需要未归一化的卷积结果（1 行）
    # stub: return True
    return not norm.training and norm.running_mean is not None and readers == 1
    # <<<
