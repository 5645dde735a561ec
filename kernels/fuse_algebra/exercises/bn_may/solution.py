"""When batch norm may be folded."""


def may_fold(norm, readers):
    """Whether `norm` may be folded into the convolution before it, whose result
    `readers` operators read, the norm among them."""
    # >>> exercise: in eval mode, with running statistics, and no other operator reads the convolution (1 line) | 处于推理模式、有 running 统计量，且没有其他算子读取卷积结果（1 行）
    # stub: return True
    return not norm.training and norm.running_mean is not None and readers == 1
    # <<<
