"""When batch norm may be folded."""


def may_fold(norm, readers):
    """Whether `norm`, an nn.BatchNorm2d, may be folded into the convolution before it, whose result
    `readers` operators read, the norm among them."""
    # >>> exercise: in eval mode, with a running mean and variance in it, and no other operator reads the convolution (1 line) | 处于推理模式、保存有滑动均值与方差，且没有其他算子读取卷积结果（1 行）
    # stub: return True
    return not norm.training and norm.running_mean is not None and readers == 1
    # <<<
