"""torch_npu.contrib: its modules and functions, made of PyTorch's own parts; an operator that a card fuses is one
launch here as well (fused.py).
"""

from __future__ import annotations

import math

import torch
from torch import nn

from labkit.device.modules.drawn import (  # noqa: F401  (names of torch_npu.contrib.module)
    MultiheadAttention,
    NpuDropPath,
    NpuPreGenDropout,
    _MHAConfig,
    _NpuLinear,
    _PreGenDropoutTask,
    _quant_noise,
)

# ---- torch_npu.contrib.module


class Mish(nn.Mish):
    pass


class SiLU(nn.SiLU):
    pass


Swish = SiLU


class NpuCachedDropout(nn.Dropout):
    """Dropout; on a card the masks of a step are drawn together, on a stream of their own."""

    def __init__(self, p, module_name=None):
        super().__init__(p)
        self.module_name = module_name

    @classmethod
    def enable_dropout_ensemble(cls, model) -> None:
        pass


NpuFairseqDropout = NpuCachedDropout


class DropoutWithByteMask(nn.Dropout):
    def __init__(self, p=0.5, inplace=False, max_seed=2**10 - 1):
        super().__init__(p, inplace)


class ChannelShuffle(nn.Module):
    def __init__(self, in_channels, groups=2, split_shuffle=True):
        super().__init__()
        self.split_shuffle, self.half = split_shuffle, in_channels // groups
        order = torch.arange(in_channels).view(groups, -1).t().flatten()  # in_channels: of both inputs together
        self.register_buffer("order", order, persistent=False)

    def forward(self, x1, x2):
        mixed = torch.cat([x1, x2], 1).index_select(1, self.order.to(x1.device))
        return (mixed[:, : self.half], mixed[:, self.half :]) if self.split_shuffle else mixed


class Focus(nn.Module):
    """A picture's pixels by the parity of their place as channels, then a convolution (YOLOv5)."""

    def __init__(self, c1, c2, k=1, s=1, p=None, g=1, act=True):
        super().__init__()
        self.conv = nn.Module()
        self.conv.conv = nn.Conv2d(c1 * 4, c2, k, s, k // 2 if p is None else p, groups=g, bias=False)
        self.conv.bn = nn.BatchNorm2d(c2)
        self.conv.act = nn.LeakyReLU(0.1, inplace=True) if act else nn.Identity()

    def forward(self, x):
        parts = [x[..., i::2, j::2] for j in (0, 1) for i in (0, 1)]
        return self.conv.act(self.conv.bn(self.conv.conv(torch.cat(parts, 1))))


class LabelSmoothingCrossEntropy(nn.Module):
    def __init__(self, num_classes=1000, smooth_factor=0.0):
        super().__init__()
        self.num_classes, self.smooth_factor = num_classes, smooth_factor

    def forward(self, pred, target):
        wrong = self.smooth_factor / (self.num_classes - 1)
        goal = nn.functional.one_hot(target.long(), self.num_classes).to(pred.dtype)
        goal = goal * (1 - self.smooth_factor - wrong) + wrong
        return -(goal * nn.functional.log_softmax(pred, -1)).sum(-1).mean()


class BiLSTM(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.lstm = nn.LSTM(input_size, hidden_size, bidirectional=True)

    def forward(self, inputs):
        return self.lstm(inputs)[0]


class Prefetcher:
    """Copies the next batch while the device works on this one."""

    def __init__(self, loader, stream=None):
        self.loader = iter(loader)
        self.stream = stream or torch.npu.Stream()
        self.preload()

    def preload(self):
        self.next_input, self.next_target = next(self.loader, (None, None))
        if self.next_input is not None:
            with torch.npu.stream(self.stream):
                self.next_input = self.next_input.npu(non_blocking=True)
                self.next_target = self.next_target.npu(non_blocking=True)

    def next(self):
        torch.npu.current_stream().wait_stream(self.stream)
        batch = self.next_input, self.next_target
        if batch[0] is not None:
            self.preload()
        return batch


class LinearQuant(nn.Module):
    """A linear layer of int8 weights and inputs: torch_npu.npu_quant_matmul."""

    def __init__(self, in_features, out_features, *, bias=True, offset=False, pertoken_scale=False, device=None,
                 dtype=None, output_dtype=None):  # fmt: skip
        super().__init__()
        self.in_features, self.out_features, self.output_dtype = in_features, out_features, output_dtype

        def frozen(wanted, *shape, **how):
            return nn.Parameter(torch.zeros(*shape, device=device, **how), False) if wanted else None

        self.weight = frozen(True, out_features, in_features, dtype=torch.int8)
        self.scale = frozen(True, out_features)
        self.offset, self.pertoken_scale = frozen(offset, out_features), frozen(pertoken_scale, out_features)
        self.bias = frozen(bias, out_features, dtype=torch.int32)

    def forward(self, x):
        import torch_npu

        return torch_npu.npu_quant_matmul(
            x, self.weight.transpose(-1, -2), self.scale, offset=self.offset, pertoken_scale=self.pertoken_scale,
            bias=self.bias, output_dtype=self.output_dtype)  # fmt: skip


LinearA8W8Quant = LinearQuant


class LinearWeightQuant(nn.Module):
    """A linear layer whose weights alone are quantised: torch_npu.npu_weight_quant_batchmatmul."""

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None, antiquant_offset=False,
                 quant_scale=False, quant_offset=False, antiquant_group_size=0, inner_precise=0,
                 weight_dtype=None):  # fmt: skip
        super().__init__()
        self.antiquant_group_size, self.inner_precise = antiquant_group_size, inner_precise
        self.weight_dtype = weight_dtype
        self.weight = nn.Parameter(torch.empty(out_features, in_features, device=device), False)
        wanted = {"antiquant_scale": True, "antiquant_offset": antiquant_offset, "quant_scale": quant_scale,
                  "quant_offset": quant_offset, "bias": bias}  # fmt: skip
        for name, there in wanted.items():
            value = nn.Parameter(torch.empty(out_features, device=device), False) if there else None
            self.register_parameter(name, value)

    def forward(self, x):
        import torch_npu

        scale, offset = (
            t if t is None or t.dim() < 2 else t.transpose(-1, -2)
            for t in (self.antiquant_scale, self.antiquant_offset)
        )
        more = {} if self.weight_dtype is None else {"weight_dtype": self.weight_dtype}
        return torch_npu.npu_weight_quant_batchmatmul(
            x, self.weight.transpose(-1, -2), scale, offset, self.quant_scale, self.quant_offset, self.bias,
            self.antiquant_group_size, self.inner_precise, **more)  # fmt: skip


# ---- torch_npu.contrib.function


class MatmulApply(torch.autograd.Function):
    """tensor1 @ tensor2.transpose(-2, -1), of tensors of one batch."""

    @staticmethod
    def forward(ctx, tensor1, tensor2):
        ctx.save_for_backward(tensor1, tensor2)
        return tensor1 @ tensor2.transpose(-2, -1)

    @staticmethod
    def backward(ctx, grad):
        tensor1, tensor2 = ctx.saved_tensors
        return grad @ tensor2, grad.transpose(-2, -1) @ tensor1


def roll(input1, shifts, dims):
    return torch.roll(input1, shifts, dims)


def matmul_transpose(tensor1, tensor2):
    return tensor1 @ tensor2.transpose(-2, -1)


def npu_fast_condition_index_put(x, condition, value):
    if condition.dtype != torch.bool:
        raise TypeError("Expected condition.dtype in [torch.bool]")
    return torch.where(condition, torch.full_like(x, value), x)


def fuse_add_softmax_dropout(training, dropout, attn_mask, attn_scores, attn_head_size, p=0.5, dim=-1):
    """softmax(scores / sqrt(head size) + mask), with dropout in training."""
    scores = attn_scores / math.sqrt(attn_head_size) + attn_mask
    return nn.functional.dropout(torch.softmax(scores, dim), p, training)


def dropout_with_byte_mask(input1, p=0.5, training=True, inplace=False):
    return nn.functional.dropout(input1, p, training, inplace)


def npu_iou(boxes1, boxes2, mode="ptiou", is_normalized=False, normalized_scale=100.0):
    """Of each box of the first list with each of the second: (N, M)."""
    import torch_npu

    if mode not in ("iou", "ptiou"):
        raise ValueError("Expected mode in [iou, ptiou]")
    scale = normalized_scale if is_normalized else 1.0
    return getattr(torch_npu, f"npu_{mode}")(boxes2 * scale, boxes1 * scale)


npu_ptiou = npu_iou


def npu_giou(boxes1, boxes2, is_permuted=True):
    """Of pairs of boxes (x, y, width, height), each (n, 4), or (4, n) where is_permuted is False: (n, 1)."""
    import torch_npu

    if boxes1.shape != boxes2.shape:
        raise ValueError("Expected boxes1.shape == boxes2.shape")
    first, second = (b.t() if is_permuted else b for b in (boxes1, boxes2))
    return torch_npu.npu_giou(first, second, trans=True, is_cross=False)


def npu_diou(boxes1, boxes2, trans=True, is_cross=False, mode=0):
    import torch_npu

    return torch_npu.npu_diou(boxes1, boxes2, trans, is_cross, mode)


def npu_ciou(boxes1, boxes2, trans=True, is_cross=False, mode=0):
    import torch_npu

    return torch_npu.npu_ciou(boxes1, boxes2, trans, is_cross, mode)
