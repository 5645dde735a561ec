"""Depthwise convolution in Triton, beside depthwise_conv.asc: channels on the lanes (x in channels_last), a row of
the result in pieces of BLOCK_W columns, a tap at a time.

x comes with its frame of zeros. Without it a load would need a mask that cuts off on the left (w >= 0): no piece that
one copy can bring, so it would be gathered element by element.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def depthwise_conv(
    x, weight, bias, y, N, C, H, W, OH, OW,
    KH: tl.constexpr, KW: tl.constexpr, SH: tl.constexpr, SW: tl.constexpr, DH: tl.constexpr, DW: tl.constexpr,
    BIAS: tl.constexpr, BLOCK_W: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    across, deep = tl.cdiv(OW, BLOCK_W), tl.cdiv(C, BLOCK_C)
    pid = tl.program_id(0)
    c = pid % deep * BLOCK_C + tl.arange(0, BLOCK_C)
    ow = pid // deep % across * BLOCK_W + tl.arange(0, BLOCK_W)
    line = pid // deep // across
    image, oh = line // OH, line % OH
    inside = (ow < OW)[:, None] & (c < C)[None, :]
    total = tl.zeros((BLOCK_W, BLOCK_C), dtype=tl.float32)
    if BIAS:
        total += tl.load(bias + c, mask=c < C, other=0.0).to(tl.float32)[None, :]
    for i in tl.static_range(KH):
        h = oh * SH + i * DH
        for j in tl.static_range(KW):
            at = ((image * H + h) * W + ow * SW + j * DW)[:, None] * C + c[None, :]
            tap = tl.load(weight + (i * KW + j) * C + c, mask=c < C, other=0.0).to(tl.float32)
            total += tl.load(x + at, mask=inside, other=0.0).to(tl.float32) * tap[None, :]
    out = (line * OW + ow)[:, None] * C + c[None, :]
    tl.store(y + out, total.to(y.dtype.element_ty), mask=inside)


def launch(x, weight, bias=None, stride=1, padding=0, dilation=1, blocks: tuple[int, int] = (32, 64)):
    """y of npu tensors x [N, C, H, W] and weight [C, 1, kh, kw], as torch.nn.functional.conv2d with groups=C. The
    kernel works on channels_last inside a frame of zeros; y comes back in channels_last."""
    (n, c, h, w), (kh, kw) = x.shape, weight.shape[2:]
    (sh, sw), (ph, pw), (dh, dw) = ((v, v) if isinstance(v, int) else tuple(v) for v in (stride, padding, dilation))
    oh, ow = ((a + 2 * p - d * (k - 1) - 1) // s + 1 for a, p, d, k, s in ((h, ph, dh, kh, sh), (w, pw, dw, kw, sw)))
    flat = torch.nn.functional.pad(x, (pw, pw, ph, ph)).permute(0, 2, 3, 1).contiguous()
    taps = weight.flatten(1).t().contiguous()
    y = torch.empty((n, oh, ow, c), dtype=x.dtype, device=x.device)
    wide, deep = blocks
    grid = (n * oh * triton.cdiv(ow, wide) * triton.cdiv(c, deep),)
    depthwise_conv[grid](
        flat, taps, flat if bias is None else bias, y, n, c, *flat.shape[1:3], oh, ow, KH=kh, KW=kw, SH=sh,
        SW=sw, DH=dh, DW=dw, BIAS=bias is not None, BLOCK_W=wide, BLOCK_C=deep,
    )  # fmt: skip
    return y.permute(0, 3, 1, 2)
