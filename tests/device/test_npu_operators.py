"""Every operator of torch_npu that the simulated device has, against a formula written by hand in plain PyTorch, fp64:
values in fp32 and fp16, and the gradient where torch_npu has one. Formulas of op-plugin's documents
(github.com/Ascend/op-plugin); the order of loops and the sums are our own.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import NamedTuple

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402

pytestmark = simulated


class Case(NamedTuple):
    name: str
    given: tuple  # arguments; floating tensors are fp64 here
    want: Callable  # of the same arguments: a tensor or a tuple of them, None where nothing is promised
    named: dict = {}
    types: tuple = (torch.float32, torch.float16)
    gradient: bool = False


CASES: list[Case] = []


def case(name, *given, types=(torch.float32, torch.float16), gradient=False, **named):
    def add(want):
        CASES.append(Case(name, given, want, named, types, gradient))
        return want

    return add


def draw(*shape, seed=0, low=None, high=None):
    g = torch.Generator().manual_seed(seed)
    if low is None:
        return torch.randn(*shape, generator=g, dtype=torch.float64)
    if isinstance(low, int):
        return torch.randint(low, high, shape, generator=g)
    return torch.rand(*shape, generator=g, dtype=torch.float64) * (high - low) + low


FP32 = (torch.float32,)
FP16 = (torch.float16,)
X, Y, G, B = draw(4, 16), draw(4, 16, seed=1), draw(16, seed=2), draw(16, seed=3)
WIDE = draw(3, 6, 8, seed=4)


# ---- norms


def rms(x, g, eps=1e-6):
    rstd = 1 / (x.pow(2).sum(-1, keepdim=True) / x.shape[-1] + eps).sqrt()
    return x * rstd * g, rstd


def normal(x, g, b, eps):
    mean = x.sum(-1, keepdim=True) / x.shape[-1]
    rstd = 1 / ((x - mean).pow(2).sum(-1, keepdim=True) / x.shape[-1] + eps).sqrt()
    return (x - mean) * rstd * g + b, mean, rstd


def group_normal(x, w, b, groups, eps):
    n, c = x.shape[:2]
    rows = x.reshape(n, groups, -1)
    mean = rows.sum(-1) / rows.shape[-1]
    rstd = 1 / ((rows - mean[..., None]).pow(2).sum(-1) / rows.shape[-1] + eps).sqrt()
    y = ((rows - mean[..., None]) * rstd[..., None]).reshape(x.shape)
    each = (1, c) + (1,) * (x.dim() - 2)
    return y * w.view(each) + b.view(each), mean, rstd


case("npu_rms_norm", X, G, gradient=True)(rms)
case("npu_rms_norm", X, G, epsilon=0.5)(lambda x, g: rms(x, g, 0.5))
case("npu_gemma_rms_norm", X, G)(lambda x, g: rms(x, 1 + g))
case("npu_add_rms_norm", X, Y, G, gradient=True)(lambda a, b, g: (*rms(a + b, g), a + b))
case("npu_add_rms_norm_cast", X, Y, G)(lambda a, b, g: (rms(a + b, g)[0], *rms(a + b, g), a + b))
case("npu_add_layer_norm", X, Y, G, B, gradient=True)(lambda a, b, g, c: (*normal(a + b, g, c, 1e-5), a + b))


@case("npu_deep_norm", X, Y, B, G, alpha=0.3, gradient=True)
def _(x, gx, beta, gamma):
    y, mean, rstd = normal(0.3 * x + gx, gamma, beta, 1e-6)
    return mean, rstd, y


case("npu_layer_norm_eval", X, [16], G, B, gradient=True)(lambda x, _, g, b: normal(x, g, b, 1e-5)[0])
IMAGE = draw(2, 6, 3, 3, seed=5)


@case("npu_group_norm_silu", IMAGE, draw(6, seed=6), draw(6, seed=7), 3, gradient=True)
def _(x, w, b, groups):
    y, mean, rstd = group_normal(x, w, b, groups, 1e-5)
    return y / (1 + torch.exp(-y)), mean, rstd


@case("npu_group_norm_swish", IMAGE, 2, draw(6, seed=6), draw(6, seed=7), swish_scale=1.5, gradient=True)
def _(x, groups, w, b):
    y, mean, rstd = group_normal(x, w, b, groups, 1e-5)
    return y / (1 + torch.exp(-1.5 * y)), mean, rstd


# ---- activations


def gelu(x, tanh=False):
    if tanh:
        return x / 2 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return x / 2 * (1 + torch.erf(x / math.sqrt(2)))


def silu(x):
    return x / (1 + torch.exp(-x))


def fast_gelu(x):
    return x / (1 + torch.exp(-1.702 * x.abs())) * torch.exp(0.851 * (x - x.abs()))


case("npu_swiglu", WIDE, gradient=True)(lambda x: silu(x[..., :4]) * x[..., 4:])
case("npu_swiglu", WIDE, 1, gradient=True)(lambda x, _: silu(x[:, :3]) * x[:, 3:])


@case("npu_clipped_swiglu", 4 * WIDE, limit=3.0)
def _(x):
    gate, up = x[..., 0::2].clamp(max=3), x[..., 1::2].clamp(-3, 3)
    return gate / (1 + torch.exp(-1.702 * gate)) * (up + 1)


@case("npu_clipped_swiglu", 4 * WIDE, alpha=1.5, bias=0.5, interleaved=False)
def _(x):
    gate, up = x[..., :4].clamp(max=7), x[..., 4:].clamp(-7, 7)
    return gate / (1 + torch.exp(-1.5 * gate)) * (up + 0.5)


case("npu_geglu", WIDE, gradient=True)(lambda x: (x[..., :4] * gelu(x[..., 4:], True), gelu(x[..., 4:], True)))
case("npu_geglu", WIDE, -1, 0, True, gradient=True)(
    lambda x, *_: (gelu(x[..., :4]) * x[..., 4:], gelu(x[..., :4]))
)  # fmt: skip
case("npu_gelu", X, gradient=True)(gelu)
case("npu_gelu", X, approximate="tanh", gradient=True)(lambda x: gelu(x, True))
case("npu_fast_gelu", X, gradient=True)(fast_gelu)
case("fast_gelu", X, gradient=True)(fast_gelu)
case("npu_silu", X, gradient=True)(silu)
case("npu_silu_", X)(silu)
case("npu_mish", X, gradient=True)(lambda x: x * torch.tanh(torch.log1p(torch.exp(x))))
MASK = draw(2, 1, 6, 8, seed=8) > 0.5


def ratio(x):
    e = torch.exp(x - x.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


case("npu_scaled_masked_softmax", draw(2, 3, 6, 8, seed=9), MASK, 0.7, False, gradient=True)(
    lambda x, m, s, _: ratio(torch.where(m, -10000.0, x * s))
)
case("npu_scaled_masked_softmax", draw(2, 3, 8, 8, seed=9), MASK, 0.7, True)(
    lambda x, m, s, _: ratio(torch.where(torch.arange(8) > torch.arange(8)[:, None], -10000.0, x * s))
)
case("npu_softmax_cross_entropy_with_logits", X, ratio(Y), gradient=True)(
    lambda x, labels: (labels * (torch.exp(x).sum(-1, keepdim=True).log() - x)).sum(-1)
)

# ---- rotary position

SPOT = draw(2, 3, 4, 8, seed=10)
COS, SIN = torch.cos(draw(1, 3, 1, 8, seed=11)), torch.sin(draw(1, 3, 1, 8, seed=12))


def turned(x, cos, sin, pairs=False):
    out = x * cos
    for i in range(8):
        other = (i ^ 1) if pairs else (i + 4) % 8
        out = out.index_add(-1, torch.tensor([i]), (x[..., other] * (-1 if other > i else 1) * sin[..., i])[..., None])
    return out


case("npu_rotary_mul", SPOT, COS, SIN, gradient=True)(turned)
case("npu_rotary_mul", SPOT, COS, SIN, "interleave", gradient=True)(lambda x, c, s, _: turned(x, c, s, True))
case("npu_apply_rotary_pos_emb", SPOT, draw(2, 3, 1, 8), COS, SIN)(
    lambda q, k, c, s: (turned(q, c, s), turned(k, c, s))
)
case("npu_interleave_rope", SPOT, COS, SIN)(lambda x, c, s: turned(x[..., [0, 2, 4, 6, 1, 3, 5, 7]], c, s))

# ---- products and quantisation

W8, X8 = draw(16, 5, seed=13, low=-100, high=100).char(), draw(4, 16, seed=14, low=-100, high=100).char()
SCALE, ROWS = draw(5, seed=15, low=0.001, high=0.01), draw(4, seed=16, low=0.5, high=1.5)
BIAS32 = draw(5, seed=17, low=-500, high=500).int()


def exactly(a, b):
    return torch.tensor(a.long().tolist(), dtype=torch.float64) @ torch.tensor(b.long().tolist(), dtype=torch.float64)


def to_int8(x):
    return x.round().clamp(-128, 127).char()


case("npu_linear", X, draw(5, 16), draw(5), gradient=True)(lambda x, w, b: torch.einsum("ij,kj->ik", x, w) + b)
case("npu_bmmV2", draw(2, 3, 4), draw(2, 4, 5), [], gradient=True)(lambda a, b, _: torch.einsum("bij,bjk->bik", a, b))
case("npu_quant_matmul", X8, W8, SCALE / 30, offset=draw(5, seed=18), types=FP32)(
    lambda x, w, s, offset: to_int8(exactly(x, w) * s + offset)
)
case("npu_quant_matmul", X8, W8, SCALE, pertoken_scale=ROWS, bias=BIAS32, output_dtype=torch.float16, types=FP32)(
    lambda x, w, s, pertoken_scale, bias: ((exactly(x, w) + bias) * s * pertoken_scale[:, None]).half()
)
case("npu_quant_matmul", X8, W8, SCALE, output_dtype=torch.int32, types=FP32)(lambda x, w, s: exactly(x, w).int())
case("npu_weight_quant_batchmatmul", X, W8, SCALE, draw(5, seed=18), bias=draw(5, seed=19))(
    lambda x, w, s, offset, bias: x @ ((w + offset) * s) + bias
)
case("npu_weight_quant_batchmatmul", X, W8, SCALE * draw(4, 1, low=0.5, high=1.0), antiquant_group_size=4)(
    lambda x, w, s: sum(x[:, 4 * i : 4 * i + 4] @ (w[4 * i : 4 * i + 4] * s[i]) for i in range(4))
)
# the last group of rows is a short one
case("npu_weight_quant_batchmatmul", X, W8, SCALE * draw(3, 1, low=0.5, high=1.0), antiquant_group_size=6)(
    lambda x, w, s: sum(x[:, 6 * i : 6 * i + 6] @ (w[6 * i : 6 * i + 6] * s[i]) for i in range(3))
)
THREE = draw(3, 16, 5, seed=20)
case("npu_grouped_matmul", [X], [THREE], group_list=torch.tensor([1, 1, 4]), split_item=2, group_type=0)(
    lambda x, w, group_list: [torch.cat([x[0][:1] @ w[0][0], x[0][1:] @ w[0][2]])]
)
case("npu_grouped_matmul", [X], [THREE], bias=[draw(3, 5)], group_list=torch.tensor([1, 0, 3]), split_item=2,
     group_type=0, group_list_type=1, act_type=5)(
    lambda x, w, bias, group_list: [
        silu(torch.cat([x[0][:1] @ w[0][0] + bias[0][0], x[0][1:] @ w[0][2] + bias[0][2]]))
    ]
)  # fmt: skip
case("npu_grouped_matmul", [X], [draw(16, 3)], act_type=4)(
    lambda x, w: [x[0] @ w[0] / (1 + torch.exp(-1.702 * (x[0] @ w[0])))]
)
case("npu_grouped_matmul", [X, Y[:2]], [draw(16, 3), draw(16, 2)])(lambda x, w: [a @ b for a, b in zip(x, w)])
case("npu_grouped_matmul", [X.t().contiguous()], [Y], group_list=torch.tensor([1, 4]), split_item=3, group_type=2)(
    lambda x, w, group_list: [torch.stack([x[0][:, :1] @ w[0][:1], x[0][:, 1:] @ w[0][1:]])]
)
case("npu_trans_quant_param", SCALE, types=FP32)(
    lambda s: torch.tensor([int(v) & 0xFFFFFFFF for v in s.float().numpy().view("uint32")])
)
ZERO = draw(16, seed=21, low=-3, high=3).double()
case("npu_quantize", 9 * X, draw(16, low=0.1, high=2.0), ZERO, torch.qint8, 1, types=FP32)(
    lambda x, s, z, *_: to_int8(x / s + z)
)
case("npu_quantize", 9 * X, draw(16, low=0.1, high=2.0), None, torch.qint8, -1, False, types=FP32)(
    lambda x, s, *_: to_int8(x * s)
)


@case("npu_dynamic_quant", X, smooth_scales=G, types=FP32)
def _(x, smooth_scales):
    scale = (x * smooth_scales).abs().max(-1)[0] / 127
    return to_int8(x * smooth_scales / scale[:, None]), scale


@case("npu_dynamic_quant", X, quant_mode="pertensor", types=FP32)
def _(x):
    scale = x.abs().max() / 127
    return to_int8(x / scale), scale.view(1)


case("npu_anti_quant", X8, draw(16), offset=draw(16, seed=1), types=FP32)(
    lambda x, s, offset: ((x + offset) * s).half()
)

# ---- experts

GATE = draw(5, 8, seed=22)
DONE = torch.tensor([False, True, False, False, True])


@case("npu_moe_gating_top_k_softmax", GATE, DONE, 2)
def _(x, done, k):
    share = ratio(x)
    order = (-share).argsort(-1)[:, :k]
    rows = torch.tensor([[column * 5 + row for column in range(k)] for row in range(5)], dtype=torch.int32)
    return share.gather(1, order), torch.where(done[:, None], 8, order).int(), rows


def gate(x, k, bias=0, sigmoid=False, scale=1.0, renorm=False, groups=1, kept=1, two=False):
    share = 1 / (1 + torch.exp(-x)) if sigmoid else ratio(x)
    out, places = [], []
    for row, ranked in zip(share, share + bias):
        parts = ranked.view(groups, -1)
        worth = [sum(sorted(p.tolist())[-2:]) if two else max(p.tolist()) for p in parts]
        good = sorted(range(groups), key=lambda i: -worth[i])[:kept]
        allowed = [i for i in range(len(ranked)) if i // parts.shape[1] in good]
        best = sorted(allowed, key=lambda i: -ranked[i].item())[:k]
        y = row[best]
        out.append((y / (y.sum() + 1e-20) if sigmoid or renorm else y) * scale)
        places.append(best)
    return torch.stack(out), torch.tensor(places, dtype=torch.int32), None


case("npu_moe_gating_top_k", GATE, 3)(gate)
case("npu_moe_gating_top_k", GATE, 3, bias=draw(8, seed=23), norm_type=1, k_group=2, group_count=4, group_select_mode=1,
     routed_scaling_factor=2.5, types=FP32)(
    lambda x, k, bias: gate(x, k, bias, True, 2.5, groups=4, kept=2, two=True)
)  # fmt: skip
TOKENS, CHOICE = draw(4, 6, seed=24), torch.tensor([[2, 0], [1, 2], [0, 1], [2, 1]], dtype=torch.int32)
COLUMNS = torch.tensor([[0, 4], [1, 5], [2, 6], [3, 7]], dtype=torch.int32)  # an expert of a row: row + 4 * which


@case("npu_moe_init_routing", TOKENS, COLUMNS, CHOICE, 4)
def _(x, columns, choice, active):
    # sorted by expert; within one as the choices stand in memory
    order = sorted(range(8), key=lambda i: choice.flatten()[i].item())
    slots = [columns.flatten()[i].item() for i in order]
    place = torch.tensor([slots.index(i) for i in range(8)], dtype=torch.int32)
    return torch.stack([x[s % 4] for s in slots]), place, choice.flatten()[order]


case("npu_moe_compute_expert_tokens", torch.tensor([0, 0, 1, 3, 3, 3], dtype=torch.int32), 5, types=FP32)(
    lambda rows, n: torch.tensor([2, 3, 3, 6, 6], dtype=torch.int32)
)


@case("npu_moe_finalize_routing", draw(8, 6), TOKENS, None, draw(3, 6, seed=1), draw(4, 2, seed=2),
      torch.tensor([3, 1, 0, 5, 2, 7, 6, 4], dtype=torch.int32), CHOICE)  # fmt: skip
def _(rows, skip, _, bias, scales, place, choice):
    out = skip.clone()
    for i in range(4):
        for j in range(2):
            out[i] += scales[i, j] * (rows[place[j * 4 + i]] + bias[choice[i, j]])
    return out


@case("npu_moe_token_permute", TOKENS, CHOICE.long(), gradient=True)
def _(x, choice):
    order = sorted(range(8), key=lambda i: choice.flatten()[i].item())
    return x[[i // 2 for i in order]], torch.tensor([order.index(i) for i in range(8)], dtype=torch.int32)


@case("npu_moe_token_unpermute", draw(8, 6), torch.tensor([3, 1, 0, 5, 2, 7, 6, 4]).int(), draw(4, 2), gradient=True)
def _(rows, place, probs):
    return torch.stack([sum(rows[place[2 * i + j].item()] * probs[i, j] for j in range(2)) for i in range(4)])


# a row whose place is behind the last one was dropped, and what the last one holds is no part of it
case("npu_moe_token_unpermute", torch.tensor([[1.0, 2], [math.inf, 4]]).double(), torch.tensor([0, 2, 1]).int())(
    lambda rows, place: torch.stack([rows[0], torch.zeros_like(rows[0]), rows[1]])
)
case("npu_moe_token_unpermute", torch.zeros(0, 3).double(), torch.tensor([0, 1]).int())(
    lambda rows, place: torch.zeros(2, 3, dtype=rows.dtype)
)

# ---- boxes: corners for npu_iou and npu_ptiou, centre and size with trans=True


def boxes(n, seed):
    at, size = draw(n, 2, seed=seed, low=0.0, high=8.0), draw(n, 2, seed=seed + 1, low=2.0, high=6.0)
    return torch.cat([at, at + size], 1)


def compared(a, b):
    """(intersection, union, area of the box around both, squared distance of centres, squared diagonal of that box)"""
    (ax, ay, aX, aY), (bx, by, bX, bY) = a.unbind(-1), b.unbind(-1)
    common = (torch.minimum(aX, bX) - torch.maximum(ax, bx)).relu() * (
        torch.minimum(aY, bY) - torch.maximum(ay, by)
    ).relu()
    union = (aX - ax) * (aY - ay) + (bX - bx) * (bY - by) - common
    w, h = torch.maximum(aX, bX) - torch.minimum(ax, bx), torch.maximum(aY, bY) - torch.minimum(ay, by)
    apart = ((aX + ax) / 2 - (bX + bx) / 2) ** 2 + ((aY + ay) / 2 - (bY + by) / 2) ** 2
    return common, union, w * h, apart, w * w + h * h


def centred(t):
    x, y, w, h = t
    return torch.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], -1)


def spread(*shape_and_seed):
    n, seed = shape_and_seed
    return torch.cat([draw(2, n, seed=seed, low=4.0, high=6.0), draw(2, n, seed=seed + 1, low=2.0, high=5.0)])


def giou(a, b, *_, **__):
    common, union, around, *_ = compared(centred(a), centred(b))
    return (common / union - (around - union) / around)[:, None]


def diou(a, b, *_, **__):
    common, union, _, apart, diagonal = compared(centred(a), centred(b))
    return (common / union - apart / diagonal)[None]


def ciou(a, b, *_, **__):
    iou = diou(a, b)[0]
    common, union, *_ = compared(centred(a), centred(b))
    v = 4 / math.pi**2 * (torch.atan(b[2] / b[3]) - torch.atan(a[2] / a[3])) ** 2
    alpha = (v / (1 - common / union + v)).detach()
    return (iou - alpha * v)[None]


for name, e in (("npu_iou", 0.001), ("npu_ptiou", 0.0)):  # the formulas of torch_npu.contrib's documentation
    sums = lambda a, b, e=e: map(torch.add, compared(a[None], b[:, None]), (e, 0.001))  # noqa: E731
    case(name, boxes(5, 30), boxes(3, 32))(lambda a, b, sums=sums: torch.div(*sums(a, b)))
case("npu_giou", spread(5, 34), spread(5, 36), True, gradient=True)(giou)
case("npu_diou", spread(5, 34), spread(5, 36), True, gradient=True)(diou)
case("npu_ciou", spread(5, 34), spread(5, 36), True, False, gradient=True)(ciou)

# ---- shapes, types, order

BOX = draw(2, 3, 4, seed=40)
case("npu_dtype_cast", X, torch.float16, types=FP32, gradient=True)(lambda x, t: x.half())
case("npu_dtype_cast_", X.clone(), Y)(lambda x, y: y)
case("npu_transpose", BOX, [2, 0, 1], gradient=True)(lambda x, _: torch.einsum("abc->cab", x))
case("npu_confusion_transpose", BOX, [1, 0, 2], [3, 8], True, gradient=True)(
    lambda x, *_: torch.stack([torch.cat([x[0, i], x[1, i]]) for i in range(3)])
)
case("npu_confusion_transpose", BOX, [1, 0], [6, 4], False, gradient=True)(lambda x, *_: torch.cat([x[0], x[1]]).t())
case("npu_broadcast", draw(1, 4), [3, 4], gradient=True)(lambda x, _: torch.cat([x, x, x]))
case("npu_reshape", BOX, [4, 6], gradient=True)(lambda x, _: torch.stack(x.flatten().split(6)))
case("npu_slice", BOX, [0, 1, 2], [2, 2, -1], gradient=True)(lambda x, *_: x[:, 1:3, 2:])
case("npu_pad", X, [1, 0, 2, 3])(
    lambda x, _: torch.cat([torch.zeros(1, 21), torch.cat([torch.zeros(4, 2), x, torch.zeros(4, 3)], 1)])
)
case("npu_one_hot", torch.tensor([2, 0, 3]), -1, 5, 2, -1, types=FP32)(
    lambda x, *_: torch.tensor([[2.0 if i == j else -1.0 for i in range(5)] for j in (2, 0, 3)])
)
case("npu_max", BOX, 1, gradient=True)(
    lambda x, _: (x.sort(1, descending=True)[0][:, 0], x.argsort(1)[:, -1].int())
)  # fmt: skip
case("npu_min", BOX, 1, True, gradient=True)(lambda x, *_: (x.sort(1)[0][:, :1], x.argsort(1)[:, :1].int()))
case("npu_sort_v2", X, 0, True)(lambda x, *_: -(-x).sort(0)[0])
PLACES, NEW = torch.tensor([[2], [0]]), draw(2, 16, seed=41)
case("npu_scatter_nd_update", X, PLACES, NEW)(lambda x, _, u: torch.stack([u[1], x[1], u[0], x[3]]))
case("npu_scatter_nd_update_", X.clone(), PLACES, NEW)(lambda x, _, u: torch.stack([u[1], x[1], u[0], x[3]]))
case("one_", X.clone())(lambda x: torch.tensor([[1.0] * 16] * 4))


@case("npu_top_k_top_p", X, draw(4, low=0.3, high=0.9), torch.tensor([3, 16, 5, 9], dtype=torch.int32))
def _(x, p, k):
    out = torch.full_like(x, -math.inf)
    for i, row in enumerate(x):
        best = sorted(range(16), key=lambda j: -row[j].item())[: int(k[i])]
        share, held = ratio(row[best]), 0.0
        for j, s in zip(best, share.tolist()):
            if held < p[i]:  # the first whose sum reaches p is the last that stays
                out[i, j] = row[j]
            held += s
    return out


# ---- attention: the layouts, masks and lengths are test_attention.py's

Q, KEYS, VALUES = draw(2, 4, 5, 8, seed=50), draw(2, 2, 7, 8, seed=51), draw(2, 2, 7, 8, seed=52)


def attended(q, k, v, scale, hide=None):
    score = torch.einsum("bhid,bhjd->bhij", q, k.repeat_interleave(2, 1)) * scale
    score = score if hide is None else score.masked_fill(hide, -math.inf)
    return torch.einsum("bhij,bhjd->bhid", ratio(score), v.repeat_interleave(2, 1)), score


HIDE = torch.arange(7) > torch.arange(5)[:, None] + 2
for _name in ("npu_fusion_attention", "npu_fusion_attention_v3"):
    case(_name, Q, KEYS, VALUES, 4, "BNSD", scale=0.4, atten_mask=HIDE, gradient=True)(
        lambda q, k, v, *_, atten_mask: (attended(q, k, v, 0.4, atten_mask)[0],)
    )
for _name in ("npu_prompt_flash_attention", "npu_fused_infer_attention_score"):
    _scale = "scale_value" if "prompt" in _name else "scale"
    case(_name, Q, KEYS, VALUES, atten_mask=HIDE, num_heads=4, num_key_value_heads=2, input_layout="BNSD",
         next_tokens=2147483647, **{_scale: 0.4})(
        lambda q, k, v, atten_mask: attended(q, k, v, 0.4, atten_mask)[0]
    )  # fmt: skip
case("npu_incre_flash_attention", Q[:, :, :1], KEYS, VALUES, num_heads=4, num_key_value_heads=2, input_layout="BNSD",
     scale_value=0.4, actual_seq_lengths=[7, 4])(
    lambda q, k, v: attended(q, k, v, 0.4, torch.arange(7) >= torch.tensor([7, 4]).view(2, 1, 1, 1))[0]
)  # fmt: skip

# ---- what is not an operator on numbers: test_fused.py
ELSEWHERE = """Format dropout_with_byte_mask empty_with_format empty_with_swapped_memory get_npu_format get_storage_size
    npu_alloc_float_status npu_change_data_ptr npu_clear_float_status npu_format_cast npu_format_cast_
    npu_get_float_status npu_prefetch""".split()


# ---- the test of the table


def put(value, dtype, device, leaf=False):
    if isinstance(value, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in value):
        return [put(v, dtype, device, leaf) for v in value]
    if not isinstance(value, torch.Tensor):
        return value
    made = value.to(dtype) if value.is_floating_point() else value
    made = made.to(device).clone()
    return made.requires_grad_(leaf and made.is_floating_point())


def tensors(value):
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in tensors(v)]
    return [value]


def fp64(value, dtype):
    """The same numbers as a type rounds them."""
    if isinstance(value, (list, tuple)):
        return type(value)(fp64(v, dtype) for v in value)
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.to(dtype).double()
    return value


def run(one: Case, dtype, leaf=False):
    """(what the device makes, what the formula makes, the device's arguments, the formula's)"""
    import torch_npu

    there = [put(v, dtype, "npu", leaf) for v in one.given]
    named = {k: put(v, dtype, "npu") for k, v in one.named.items()}
    here = [fp64(v, dtype) for v in one.given]
    here = [put(v, torch.float64, "cpu", leaf) for v in here]
    tensors_named = {
        k: fp64(v, dtype)
        for k, v in one.named.items()
        if isinstance(v, torch.Tensor) or (isinstance(v, list) and isinstance(v[0], torch.Tensor))
    }
    got = getattr(torch_npu, one.name)(*there, **named)
    return got, one.want(*here, **tensors_named), there, here


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_values(one):
    for dtype in one.types:
        got, want, *_ = run(one, dtype)
        got, want = tensors(got), tensors(want)
        assert len(got) >= len(want), f"{one.name}: {len(got)} results, not {len(want)}"
        for i, (a, b) in enumerate(zip(got, want)):
            if b is None:
                continue
            assert a.device.type == "npu" and a.shape == b.shape, f"{one.name}, result {i}: {a.shape}, not {b.shape}"
            if b.is_floating_point():
                near = (
                    {"rtol": 2e-3, "atol": 2e-3} if torch.float16 in (dtype, a.dtype) else {"rtol": 2e-5, "atol": 2e-6}
                )
                torch.testing.assert_close(
                    a.cpu().double(), b.double(), **near, msg=lambda m: f"result {i}, {dtype}: {m}"
                )
            else:
                assert a.dtype == b.dtype and torch.equal(a.cpu(), b), f"{one.name}, result {i}: {a.cpu()}, not {b}"


@pytest.mark.parametrize("one", [c for c in CASES if c.gradient], ids=lambda c: c.name)
def test_gradients(one):
    got, want, there, here = run(one, torch.float32, leaf=True)
    pairs = [
        (a, b)
        for a, b in zip(tensors(got), tensors(want))
        if isinstance(b, torch.Tensor) and b.requires_grad and isinstance(a, torch.Tensor) and a.requires_grad
    ]
    assert pairs, f"{one.name}: no result has a gradient"
    for a, b in pairs[:1] if "norm" in one.name and one.name != "npu_deep_norm" else pairs[-1:]:
        way = draw(*b.shape, seed=60)
        b.backward(way.to(b.dtype))
        a.backward(way.to(a.dtype).npu())
    for a, b in zip(tensors(there), tensors(here)):
        if isinstance(b, torch.Tensor) and b.requires_grad and b.grad is not None:
            near = {"rtol": 2e-3, "atol": 2e-3} if got is not None and one.name == "npu_dtype_cast" else {}
            torch.testing.assert_close(a.grad.cpu().double(), b.grad, **(near or {"rtol": 1e-4, "atol": 1e-5}))


def test_every_operator_is_in_the_table():
    from labkit.device import fused

    assert sorted({*(c.name for c in CASES), *ELSEWHERE}) == fused.names()
    have = {name.partition(".")[0] for name, (_, _, gradient) in fused._OPERATORS.items() if gradient}
    tested = {c.name for c in CASES if c.gradient}
    assert {n for n in have if not n.startswith("_npu") and n != "one_"} <= tested


@pytest.mark.parametrize("name", ["npu_silu_", "npu_dtype_cast_", "npu_scatter_nd_update_", "one_"])
def test_in_place_under_functionalization(name):
    import torch_npu

    one = next(c for c in CASES if c.name == name)
    there = [put(v, torch.float32, "npu") for v in one.given]
    again = [put(v, torch.float32, "npu") for v in one.given]
    want = getattr(torch_npu, name)(*there)
    got = torch.func.functionalize(getattr(torch.ops.npu, name))(*again)
    torch.testing.assert_close(got, want)
    torch.testing.assert_close(again[0], there[0])


def test_unsigned_scales_and_types_that_are_not_made():
    import torch_npu

    x, w, packed = X8.npu(), W8.npu(), torch_npu.npu_trans_quant_param(SCALE.float().npu())
    unsigned = torch_npu.npu_quant_matmul(x, w, packed.view(torch.uint64))
    assert torch.equal(unsigned.cpu(), to_int8((exactly(X8, W8) * SCALE.float()).float()))
    with pytest.raises(RuntimeError, match="dst_type"):
        torch_npu.npu_dynamic_quant(X.half().npu(), dst_type=torch.quint4x2)
