"""Batch norm into the convolution before it."""
import torch


def fold(weight, bias, norm):
    """The weight and the bias of one convolution that does the batch norm too. bias: None where there is none. Both are
    new tensors of weight's type, and computed in it: the convolution and the norm stay as they are."""
    # >>> exercise: each channel's scale; the weight times it; the bias less the mean, times it, plus beta (5 lines) | 每个通道的缩放；权重乘以它；偏置减均值后乘以它，再加 beta（5 行）
    # stub: return weight, norm.bias
    scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
    folded = weight * scale.reshape(-1, 1, 1, 1)
    before = 0 if bias is None else bias
    moved = (before - norm.running_mean) * scale + norm.bias
    return folded, moved
    # <<<
