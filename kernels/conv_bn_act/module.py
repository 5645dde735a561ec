"""labkit.operator("conv_bn_act"): a convolution, its batch norm and an activation in one launch, for inference.

    ops = labkit.operator("conv_bn_act")
    fused = ops.ConvBnAct(conv, norm, "relu")    # of two modules in eval()
    first = ops.ConvBnAct(*ops.focus(conv, norm), "silu")   # YOLOv5's Focus: takes the picture itself
    y = fused(x)

lab::conv_bn_act(Tensor x, Tensor weight, Tensor bias, int out_channels, int[2] kernel_size, int[2] stride=1,
                 int[2] padding=0, str activation="none", str layout="plain") -> Tensor
    x             [batch, channels, height, width], float16 or bfloat16, contiguous or channels_last; y lies like x
    weight, bias  what pack() makes of [out, channels, kh, kw] and [out]; bias stays float32
    activation    "none", "relu" (both on the cube alone) or "silu" (the vector cores finish; rounded once more)
    layout        how weight is packed, from layout(); it depends on the memory format of x where x has few channels
    Dilation and groups are 1, the padding is less than the kernel. There is no backward: train with the framework's.
    An infinite or undefined number of a contiguous x spoils the outputs whose windows see it or one of the 15 channels
    beside it; one of a contiguous y the 16 channels around it at its place. In channels_last neither happens.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

import labkit
from labkit.fusion.batchnorm import fold

SOURCE = "kernels/conv_bn_act/conv_bn_act_torch.asc"
TYPES = (torch.float16, torch.bfloat16)
LARGEST = 255, 63, 4096  # a side of the kernel, a stride, channels of y
# SiLU in the same launch begins later, because vector cores take part: below so many elements of y its own launch costs
# less. data/conv_bn_act.csv has both.
SILU_PAYS = 3_200_000


def load() -> None:
    """Builds and registers the operator. Raises what labkit.register does."""
    try:
        if torch._C._dispatch_has_kernel_for_dispatch_key("lab::conv_bn_act", "PrivateUse1"):
            return
    except RuntimeError:  # nobody has defined it yet
        pass
    labkit.register(SOURCE)


def channels_last(x: torch.Tensor) -> bool:
    """Whether the operator takes x as channels_last: PyTorch's suggest_memory_format()."""
    return x.is_contiguous(memory_format=torch.channels_last) and not x.is_contiguous()


def layout(x, kernel_size, stride, padding, last: bool) -> str:
    """How the weights for an x of this shape are packed: "plain", "rows" (the kernel's rows as channels) or "row" (the
    same, with a row of channels_last as one channel). last: x is channels_last."""
    c, (kh, kw) = x[1], kernel_size
    if last and (kh, kw, *padding) == (1, 1, 0, 0):
        return "plain"
    if c >= 16 or not 1 < kh <= 32:
        return "plain"
    if not last:
        return "rows" if c * kh <= 32 else "plain"
    fits = stride[1] * c <= 63 and kw * c <= 255 and padding[1] * c <= 255 and x[3] * c <= 16384
    return "row" if c <= kh and fits else "plain"


def pack(weight: torch.Tensor, layout: str = "plain") -> torch.Tensor:
    """Weights [out, C, kh, kw] as L0B wants them, in one dimension: an identity of 16 x 16, then for each 16 channels
    and each tap [out, 16], zeros where there is no channel."""
    out, c, kh, kw = weight.shape
    if layout == "rows":
        weight, c, kh = weight.reshape(out, c * kh, 1, kw), c * kh, 1
    elif layout == "row":
        weight, c, kh, kw = weight.permute(0, 2, 3, 1).reshape(out, kh, 1, kw * c), kh, 1, kw * c
    wide = F.pad(weight, (0, 0, 0, 0, 0, -c % 16, 0, -out % 16))
    parts = wide.reshape(wide.shape[0], -1, 16, kh * kw).permute(1, 3, 0, 2)  # [C / 16, tap, out, 16]
    one = torch.eye(16, dtype=weight.dtype, device=weight.device)
    return torch.cat([one.reshape(-1), parts.reshape(-1)])


def unpack(packed: torch.Tensor, out: int, kernel, channels: int, layout: str = "plain") -> torch.Tensor:
    """What pack() was given: [out, channels, kh, kw]."""
    kh, kw = kernel
    c, taps = {"plain": (channels, kh * kw), "rows": (channels * kh, kw), "row": (kh, kw * channels)}[layout]
    parts = packed[256:].reshape(-(-c // 16), taps, -1, 16).permute(2, 0, 3, 1)  # [out, C / 16, 16, tap]
    weight = parts.reshape(parts.shape[0], -1, taps)[:out, :c]
    if layout == "row":
        return weight.reshape(out, kh, kw, channels).permute(0, 3, 1, 2)
    return weight.reshape(out, channels, kh, kw)


def reference(x, weight, bias, out: int, kernel, stride, padding, activation: str, layout: str) -> torch.Tensor:
    """What torch.ops.lab.conv_bn_act computes, in PyTorch's own operators, in x's type."""
    w = unpack(weight, out, kernel, x.shape[1], layout).to(x.dtype)
    y = F.conv2d(x, w, bias[:out].to(x.dtype), list(stride), list(padding))
    return {"none": lambda t: t, "relu": F.relu, "silu": F.silu}[activation](y)


def pack_bias(bias: torch.Tensor) -> torch.Tensor:
    """The bias as the operator takes it: float32, zeros up to a multiple of 16."""
    return F.pad(bias.float(), (0, -len(bias) % 16))


def _fits(x, kernel, stride, padding, last: bool) -> bool:
    """Whether what two rows of y need of 16 channels of x and y fits L1, twice: conv.h's ChooseCut() finds a cut."""
    (_, c, h, w), (kh, kw), form = x, kernel, layout(x, kernel, stride, padding, last)
    if form == "row":
        w, kw = w * c, kw * c
    high, taps = (2, kw) if form != "plain" else (min(kh + stride[0], h), kh * kw)
    turned = not last or form == "row"  # lies there as in GM too
    image, room = -(-high * w // 16) * 512, (512 - 17 - (0 if last else 32)) * 1024
    steps = max(high * w, c * stride[1] // 4) <= 16384 and taps <= 4095
    return steps and 2 * ((2 if turned else 1) * image + taps * 512) <= room


def why_not(x: torch.Tensor, weight, stride, padding, dilation, groups) -> str:
    """Why the operator cannot take a convolution, in a word: "type", "form" or "size"; "" where it can."""
    kernel = weight.shape[2:]
    if x.device.type != "npu" or x.dtype not in TYPES or weight.dtype != x.dtype:
        return "type"
    if x.dim() != 4 or groups != 1 or any(d != 1 for d in dilation):
        return "form"
    within = max(kernel) <= LARGEST[0] and max(stride) <= LARGEST[1] and weight.shape[0] <= LARGEST[2]
    inside = all(p < k for p, k in zip(padding, kernel))
    return "" if within and inside and _fits(x.shape, kernel, stride, padding, channels_last(x)) else "size"


def chosen(y_numel: int, activation: str) -> str:
    """ "fused": everything in one launch; "apart": the activation in another, where y is small and the activation needs
    the vector cores."""
    return "apart" if activation == "silu" and y_numel < SILU_PAYS else "fused"


def focus(conv: nn.Conv2d, norm: nn.BatchNorm2d | None = None):
    """The convolution of the whole picture that does what `conv` does behind YOLOv5's Focus, which puts every second
    place of each side into the channels: cat(x[::2, ::2], x[1::2, ::2], x[::2, 1::2], x[1::2, 1::2]) and a k x k
    convolution are one of 2k x 2k with every second place. Gives (convolution, norm). Raises ValueError for a stride,
    dilation or groups other than 1."""
    plain = tuple(conv.stride) == tuple(conv.dilation) == (1, 1) and conv.groups == 1
    if not plain or isinstance(conv.padding, str):
        raise ValueError(f"focus() takes stride 1, dilation 1, groups 1 and numbers as padding, not {conv}")
    out, c, kh, kw = conv.weight.shape
    whole = nn.Conv2d(c // 4, out, (2 * kh, 2 * kw), 2, tuple(2 * p for p in conv.padding), bias=conv.bias is not None)
    # [out, (column, row, c), kh, kw] becomes [out, c, (kh, row), (kw, column)]
    parts = conv.weight.detach().reshape(out, 2, 2, c // 4, kh, kw).permute(0, 3, 4, 2, 5, 1)
    whole.weight = nn.Parameter(parts.reshape(out, c // 4, 2 * kh, 2 * kw), requires_grad=False)
    if conv.bias is not None:
        whole.bias = nn.Parameter(conv.bias.detach().clone(), requires_grad=False)
    return whole, norm


class ConvBnAct(nn.Module):
    """act(norm(conv(x))) of modules in eval(), folded in float32 and packed once for each layout of x that comes.
    Where the operator cannot take x the framework's operators do the same. Raises ValueError for a norm in training."""

    def __init__(self, conv: nn.Conv2d, norm: nn.BatchNorm2d | None = None, activation: str = "none"):
        super().__init__()
        if norm is not None and (norm.training or norm.running_mean is None):
            raise ValueError("the norm uses the statistics of its batch: call eval(); it must keep running ones")
        if activation not in ("none", "relu", "silu"):
            raise ValueError(f'activation is "{activation}"; there are "none", "relu" and "silu"')
        self.stride, self.padding, self.dilation, self.groups = conv.stride, conv.padding, conv.dilation, conv.groups
        if isinstance(self.padding, str) or conv.padding_mode != "zeros":
            raise ValueError(f"the padding must be numbers, and of zeros, not {conv}")
        weight, bias = conv.weight.detach(), None if conv.bias is None else conv.bias.detach()
        wide = None if bias is None else bias.float()
        if norm is not None:
            given = norm.weight, norm.bias, norm.running_mean, norm.running_var
            with torch.no_grad():
                weight, wide = fold(weight.float(), wide, *given, norm.eps)
        self.register_buffer("weight", weight.to(conv.weight.dtype))
        self.register_buffer("bias", torch.zeros(len(weight), device=weight.device) if wide is None else wide)
        self.activation, self._packed, self._versions = activation, {}, None

    def _apply(self, function):
        bias = self.bias
        made = super()._apply(function)
        self.bias = bias.to(self.weight.device)  # half() is for the weight
        self._packed = {}
        return made

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        how = self.stride, self.padding, self.dilation, self.groups
        if why_not(x, self.weight, *how):
            y = F.conv2d(x, self.weight, self.bias.to(x.dtype), *how)
            return {"none": lambda t: t, "relu": F.relu, "silu": F.silu}[self.activation](y)
        load()
        kernel = tuple(self.weight.shape[2:])
        form = layout(x.shape, kernel, self.stride, self.padding, channels_last(x))
        versions = [None if t.is_inference() else t._version for t in (self.weight, self.bias)]
        if self._versions != versions:  # load_state_dict() stores into them
            self._packed, self._versions = {}, versions
        if form not in self._packed:
            self._packed[form] = pack(self.weight, form), pack_bias(self.bias)
        sides = [(s + 2 * p - k) // t + 1 for s, p, k, t in zip(x.shape[2:], self.padding, kernel, self.stride)]
        apart = chosen(x.shape[0] * len(self.weight) * sides[0] * sides[1], self.activation) == "apart"
        how = len(self.weight), kernel, self.stride, self.padding, "none" if apart else self.activation, form
        y = torch.ops.lab.conv_bn_act(x, *self._packed[form], *how)
        return F.silu(y, inplace=True) if apart else y

    def extra_repr(self) -> str:
        return f"{tuple(self.weight.shape)}, stride={self.stride}, padding={self.padding}, {self.activation}"
