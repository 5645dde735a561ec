"""Operators of torch_npu that multiply or quantise matrices, route tokens to experts, compare boxes or move elements.

As in fused.py, where they are registered.
"""

from __future__ import annotations

import torch
from torch.nn import functional as F

from labkit.device.fused import defines, scalar_type

# ---- products


@defines("npu_linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", True)
def _linear(input, weight, bias=None):
    return F.linear(input.float(), weight.float(), None if bias is None else bias.float()).to(input.dtype)


@defines("npu_bmmV2(Tensor self, Tensor mat2, int[] output_sizes) -> Tensor", True)
def _bmm_v2(self, mat2, output_sizes):
    y = (self.float() @ mat2.float()).to(self.dtype)
    return y.view(output_sizes) if output_sizes else y


def _product(x, weight, bias, scale, offset, antiquant_scale, antiquant_offset, per_token_scale):
    """One product of quantised or plain matrices, in fp32; integers exactly."""
    if antiquant_scale is not None:
        weight = weight.to(antiquant_scale.dtype)  # what the product takes is of this type, at each step
        weight = (weight if antiquant_offset is None else weight + antiquant_offset) * antiquant_scale
    whole = not (x.is_floating_point() or weight.is_floating_point())
    y = x.double() @ weight.double() if whole else x.float() @ weight.float()
    first = bias is not None and (scale is None or bias.dtype == torch.int32)
    y = y + bias if first else y
    if scale is not None:
        if scale.dtype in (torch.int64, torch.uint64):
            # npu_trans_quant_param packs an fp32 number into the low half; of uint64 PyTorch knows hardly an operator
            scale = scale.view(torch.int64).bitwise_and(0xFFFFFFFF).to(torch.int32).view(torch.float32)
        y = y * scale.float()
    if per_token_scale is not None:
        y = y * per_token_scale.float().unsqueeze(-1)
    y = y + offset.float() if offset is not None else y
    return y if bias is None or first else y + bias


def _rounded(y, dtype):
    return y.round().clamp(-128, 127).to(dtype) if dtype == torch.int8 else y.to(dtype)


@defines(
    "npu_quant_matmul(Tensor x1, Tensor x2, Tensor scale, *, Tensor? offset=None, Tensor? pertoken_scale=None, "
    "Tensor? bias=None, ScalarType? output_dtype=None, int? x1_dtype=None, int? x2_dtype=None, "
    "int? pertoken_scale_dtype=None, int? scale_dtype=None, int[]? group_sizes=None, Tensor? y_scale=None) -> Tensor"
)
def _quant_matmul(x1, x2, scale, *, offset=None, pertoken_scale=None, bias=None, output_dtype=None, **_):
    dtype = scalar_type(output_dtype)
    if scale.dtype == torch.float16:
        raise RuntimeError("npu_quant_matmul: scale is float32, bfloat16, int64 or uint64, not float16")
    if dtype == torch.int32:
        scale = None
    return _rounded(_product(x1, x2, bias, scale, offset, None, None, pertoken_scale), dtype)


@defines(
    "npu_weight_quant_batchmatmul(Tensor x, Tensor weight, Tensor antiquant_scale, Tensor? antiquant_offset=None, "
    "Tensor? quant_scale=None, Tensor? quant_offset=None, Tensor? bias=None, int antiquant_group_size=0, "
    "int inner_precise=0, int? weight_dtype=None) -> Tensor"
)
def _weight_quant_batchmatmul(
    x, weight, antiquant_scale, antiquant_offset=None, quant_scale=None, quant_offset=None, bias=None,
    antiquant_group_size=0, inner_precise=0, weight_dtype=None):  # fmt: skip
    def spread(t):  # a number for each group of rows becomes one for each row; the last group may have fewer
        if t is None or not antiquant_group_size:
            return t
        return t.repeat_interleave(antiquant_group_size, 0)[: weight.shape[0]]

    y = _product(x, weight, None, None, None, spread(antiquant_scale), spread(antiquant_offset), None)
    y = y if bias is None else y + bias.float()
    if quant_scale is None:
        return y.to(x.dtype)
    return _rounded(y * quant_scale.float() + (0 if quant_offset is None else quant_offset.float()), torch.int8)


@defines(
    "npu_grouped_matmul(Tensor[] x, Tensor[] weight, *, Tensor[]? bias=None, Tensor[]? scale=None, "
    "Tensor[]? offset=None, Tensor[]? antiquant_scale=None, Tensor[]? antiquant_offset=None, "
    "Tensor[]? per_token_scale=None, Tensor? group_list=None, Tensor[]? activation_input=None, "
    "Tensor[]? activation_quant_scale=None, Tensor[]? activation_quant_offset=None, int? split_item=0, "
    "int? group_type=None, int? group_list_type=0, int? act_type=0, int[]? tuning_config=None, "
    "ScalarType? output_dtype=None) -> Tensor[]"
)
def _grouped_matmul(
    x, weight, *, bias=None, scale=None, offset=None, antiquant_scale=None, antiquant_offset=None,
    per_token_scale=None, group_list=None, split_item=0, group_type=None, group_list_type=0, act_type=0,
    output_dtype=None, **_):  # fmt: skip
    """Rows of x (group_type 0), or its columns (2), in groups, each times its weight. group_list: where groups end
    (group_list_type 0) or how long they are (1)."""
    tokens = per_token_scale
    one_weight = len(weight) == 1 and weight[0].dim() == 3
    if one_weight:
        weight, scale, bias, offset, antiquant_scale, antiquant_offset = (
            list(t[0]) if t and t[0].dim() > 1 else t
            for t in (weight, scale, bias, offset, antiquant_scale, antiquant_offset)
        )
    if group_list is not None and len(x) == 1:
        ends = list(group_list) if group_list_type == 0 else group_list.cumsum(0).tolist()
        ends = [int(e) for e in ends]
        begins = [0, *ends[:-1]]
        axis = 1 if group_type == 2 else 0
        x = [x[0].narrow(axis, b, e - b) for b, e in zip(begins, ends)]
        if group_type == 2 and len(weight) == 1:
            weight = [weight[0].narrow(0, b, e - b) for b, e in zip(begins, ends)]
        if tokens and len(tokens) == 1:
            tokens = [tokens[0][b:e] for b, e in zip(begins, ends)]
    plain = x[0].dtype if x[0].is_floating_point() else torch.int8
    dtype = scalar_type(output_dtype, plain)
    acts = {0: lambda y: y, 1: F.relu, 2: lambda y: F.gelu(y, approximate="tanh"), 5: F.silu,
            4: lambda y: y * torch.sigmoid(1.702 * y)}  # fmt: skip
    if (act := acts.get(act_type or 0)) is None:  # 3, the gelu by erf, is not there on a card either
        raise RuntimeError(f"npu_grouped_matmul: act_type is one of {sorted(acts)}, not {act_type}")

    def of(parts, i):
        return None if not parts else parts[i if len(parts) > 1 else 0]

    out = [
        _rounded(
            act(
                _product(
                    x[i],
                    weight[i],
                    of(bias, i),
                    of(scale, i),
                    of(offset, i),
                    of(antiquant_scale, i),
                    of(antiquant_offset, i),
                    of(tokens, i),
                )
            ),
            dtype,
        )  # fmt: skip
        for i in range(len(x))
    ]
    if group_type == 2:
        return [torch.stack(out)]
    return [torch.cat(out)] if split_item in (2, 3) else out


@defines("npu_trans_quant_param(Tensor scale, Tensor? offset=None, int? round_mode=0) -> Tensor")
def _trans_quant_param(scale, offset=None, round_mode=0):
    return scale.float().contiguous().view(torch.int32).to(torch.int64).bitwise_and(0xFFFFFFFF)


# ---- quantisation


@defines(
    "npu_quantize(Tensor self, Tensor scales, Tensor? zero_points, ScalarType dtype, int axis=1, bool div_mode=True) "
    "-> Tensor"
)
def _quantize(self, scales, zero_points, dtype, axis=1, div_mode=True):
    kind = {torch.qint8: torch.int8, torch.quint8: torch.uint8, torch.qint32: torch.int32}.get(dtype, dtype)

    def along(t):
        if t.dim() != 1:
            return t.float()
        where = axis if div_mode or axis == -2 else -1
        shape = [1] * self.dim()
        shape[where] = -1
        return t.float().view(shape)

    y = self.float() / along(scales) if div_mode else self.float() * along(scales)
    y = (y + along(zero_points) if zero_points is not None else y).round()
    limits = torch.iinfo(kind)
    return y.clamp(limits.min, limits.max).to(kind)


@defines(
    "npu_dynamic_quant(Tensor input, *, Tensor? smooth_scales=None, Tensor? group_index=None, "
    "ScalarType? dst_type=None, str quant_mode='pertoken', float dst_type_max=0.0) -> (Tensor, Tensor)"
)
def _dynamic_quant(input, *, smooth_scales=None, group_index=None, dst_type=None, quant_mode="pertoken", **_):
    if (kind := scalar_type(dst_type)) not in (torch.int8, torch.qint8):
        raise RuntimeError(f"npu_dynamic_quant: dst_type is torch.int8 here, not {kind}")
    x = input.float()
    if smooth_scales is not None:
        smooth = smooth_scales.float()
        if group_index is not None:
            counts = torch.diff(group_index.long(), prepend=group_index.new_zeros(1).long())
            smooth = smooth.repeat_interleave(counts, 0).view(*x.shape)
        x = x * smooth
    top = x.abs().amax(None if quant_mode == "pertensor" else -1, keepdim=True)
    scale = top / 127
    y = (x / scale.masked_fill(scale == 0, 1)).round().clamp(-128, 127).to(torch.int8)
    return y, (scale.view(1) if quant_mode == "pertensor" else scale.squeeze(-1))


@defines("npu_anti_quant(Tensor x, Tensor scale, *, Tensor? offset=None, ScalarType? dst_dtype=None) -> Tensor")
def _anti_quant(x, scale, *, offset=None, dst_dtype=None):
    return ((x.float() + (0 if offset is None else offset.float())) * scale.float()).to(dst_dtype or torch.float16)


# ---- mixtures of experts


@defines("npu_moe_gating_top_k_softmax(Tensor x, Tensor? finished=None, int k=1) -> (Tensor, Tensor, Tensor)")
def _moe_gating_top_k_softmax(x, finished=None, k=1):
    y, expert = torch.softmax(x.float(), -1).topk(k, -1)
    if finished is not None:
        expert = expert.masked_fill(finished.unsqueeze(-1), x.shape[-1])
    rows = expert.numel() // k
    row = torch.arange(rows * k, dtype=torch.int32, device=x.device).view(k, rows).t().reshape(expert.shape)
    return y.to(x.dtype), expert.int(), row.contiguous()


@defines(
    "npu_moe_gating_top_k(Tensor x, int k, *, Tensor? bias=None, int k_group=1, int group_count=1, "
    "int group_select_mode=0, int renorm=0, int norm_type=0, bool out_flag=False, float routed_scaling_factor=1.0, "
    "float eps=1e-20) -> (Tensor, Tensor, Tensor)"
)
def _moe_gating_top_k(x, k, *, bias=None, k_group=1, group_count=1, group_select_mode=0, renorm=0, norm_type=0,
                      out_flag=False, routed_scaling_factor=1.0, eps=1e-20):  # fmt: skip
    share = torch.sigmoid(x.float()) if norm_type else torch.softmax(x.float(), -1)
    ranked = share if bias is None else share + bias.float()
    if group_count > 1:
        groups = ranked.unflatten(-1, (group_count, -1))
        best = groups.topk(2, -1)[0].sum(-1) if group_select_mode else groups.amax(-1)
        kept = torch.zeros_like(best, dtype=torch.bool).scatter(-1, best.topk(k_group, -1)[1], True)
        ranked = groups.masked_fill(~kept.unsqueeze(-1), float("-inf")).flatten(-2)
    expert = ranked.topk(k, -1)[1]
    y = share.gather(-1, expert)
    if norm_type or renorm:
        y = y / (y.sum(-1, keepdim=True) + eps)
    return (y * routed_scaling_factor).to(x.dtype), expert.int(), share


@defines(
    "npu_moe_init_routing(Tensor x, Tensor row_idx, Tensor expert_idx, int active_num) -> (Tensor, Tensor, Tensor)"
)
def _moe_init_routing(x, row_idx, expert_idx, active_num):
    experts, order = expert_idx.flatten().sort(stable=True)
    source = row_idx.flatten()[order].long()
    place = torch.empty_like(source).scatter(0, source, torch.arange(len(source), device=x.device))
    kept = min(active_num, len(x)) * expert_idx.shape[-1]
    return x[source[:kept] % len(x)], place.int(), experts.int()


@defines("npu_moe_compute_expert_tokens(Tensor sorted_expert_for_source_row, int num_expert) -> Tensor")
def _moe_compute_expert_tokens(sorted_expert_for_source_row, num_expert):
    rows = sorted_expert_for_source_row.contiguous()
    experts = torch.arange(num_expert, dtype=rows.dtype, device=rows.device)
    return torch.searchsorted(rows, experts, right=True).to(rows.dtype)


@defines(
    "npu_moe_finalize_routing(Tensor expanded_permuted_rows, Tensor? skip1, Tensor? skip2, Tensor? bias, "
    "Tensor? scales, Tensor expanded_src_to_dst_row, Tensor? export_for_source_row, int? drop_pad_mode=0, int? k=1) "
    "-> Tensor"
)
def _moe_finalize_routing(expanded_permuted_rows, skip1, skip2, bias, scales, expanded_src_to_dst_row,
                          export_for_source_row, drop_pad_mode=0, k=1):  # fmt: skip
    rows = expanded_permuted_rows.float().flatten(0, -2)
    k = scales.shape[1] if scales is not None else 1
    to = expanded_src_to_dst_row.long().flatten()
    by_mode = drop_pad_mode in (2, 3)  # a row's experts beside each other; else one expert after the other
    to = to.view(-1, k) if by_mode else to.view(k, -1).t()
    parts = rows[to.clamp_min(0)].masked_fill((to < 0).unsqueeze(-1), 0)
    if bias is not None:
        parts = parts + bias.float()[export_for_source_row.long()]
    if scales is not None:
        parts = parts * scales.float().unsqueeze(-1)
    out = parts.sum(1)
    for skip in (skip1, skip2):
        out = out if skip is None else out + skip.float()
    return out.to(expanded_permuted_rows.dtype)


@defines(
    "npu_moe_token_permute(Tensor tokens, Tensor indices, int? num_out_tokens=None, bool padded_mode=False) "
    "-> (Tensor, Tensor)",
    True,
)
def _moe_token_permute(tokens, indices, num_out_tokens=None, padded_mode=False):
    k = indices.shape[1] if indices.dim() > 1 else 1
    order = indices.flatten().argsort(stable=True)
    kept = len(order) if not num_out_tokens else num_out_tokens + (len(order) if num_out_tokens < 0 else 0)
    return tokens[order[:kept] // k], order.argsort(stable=True).int()


@defines(
    "npu_moe_token_unpermute(Tensor permuted_tokens, Tensor sorted_indices, Tensor? probs=None, "
    "bool padded_mode=False, int[]? restore_shape=None) -> Tensor",
    True,
)
def _moe_token_unpermute(permuted_tokens, sorted_indices, probs=None, padded_mode=False, restore_shape=None):
    k = 1 if probs is None else probs.shape[1]
    kept = F.pad(permuted_tokens.float(), (0, 0, 0, 1))  # the rows that were dropped are the last: zeros
    rows = kept[sorted_indices.long().clamp_max(len(permuted_tokens))].unflatten(0, (-1, k))
    return (rows if probs is None else rows * probs.float().unsqueeze(-1)).sum(1).to(permuted_tokens.dtype)


# ---- boxes


def _corners(boxes, trans: bool):
    """x0, y0, x1, y1 of boxes [4, n]; trans: they are given by centre and size."""
    if not trans:
        return boxes.unbind(0)
    x, y, w, h = boxes.unbind(0)
    return x - w / 2, y - h / 2, x + w / 2, y + h / 2


def _overlap(a, b, mode: int, extra: float, eps: float = 0.0):
    """Common area over all area (mode 0) or over b's (1); a box of pixels is `extra` longer than its corners tell."""
    width = (torch.minimum(a[2], b[2]) - torch.maximum(a[0], b[0]) + extra).clamp_min(0)
    height = (torch.minimum(a[3], b[3]) - torch.maximum(a[1], b[1]) + extra).clamp_min(0)
    area = [(c[2] - c[0] + extra) * (c[3] - c[1] + extra) for c in (a, b)]
    common = width * height
    return common, (area[1] if mode else area[0] + area[1] - common) + eps


def _boxes_against(above: float):
    """Of boxes in pixels; the 0.001 of torch_npu.contrib's documentation, which keeps a division by nothing away."""

    def iou(bboxes, gtboxes, mode=0):
        a = [c.unsqueeze(0) for c in bboxes.float().unbind(-1)]
        b = [c.unsqueeze(1) for c in gtboxes.float().unbind(-1)]
        common, whole = _overlap(a, b, mode, 0.0, 0.001)
        return ((common + above) / whole).to(bboxes.dtype)

    return iou


defines("npu_iou(Tensor bboxes, Tensor gtboxes, int mode=0) -> Tensor")(_boxes_against(0.001))
defines("npu_ptiou(Tensor bboxes, Tensor gtboxes, int mode=0) -> Tensor")(_boxes_against(0.0))


def _pairs(self, gtboxes, trans, is_cross):
    a, b = _corners(self.float(), trans), _corners(gtboxes.float(), trans)
    return ([c.unsqueeze(1) for c in a], [c.unsqueeze(0) for c in b]) if is_cross else (a, b)


def _around(a, b):
    """Width and height of the smallest box around both."""
    return (torch.maximum(a[2], b[2]) - torch.minimum(a[0], b[0]),
            torch.maximum(a[3], b[3]) - torch.minimum(a[1], b[1]))  # fmt: skip


@defines("npu_giou(Tensor self, Tensor gtboxes, bool trans=False, bool is_cross=False, int mode=0) -> Tensor", True)
def _giou(self, gtboxes, trans=False, is_cross=False, mode=0):
    a, b = _pairs(self, gtboxes, trans, is_cross)
    common, whole = _overlap(a, b, mode, 0.0, 1e-16)
    width, height = _around(a, b)
    y = common / whole - (width * height - whole) / (width * height)
    return (y if is_cross else y.unsqueeze(1)).to(self.dtype)


def _distance(a, b, eps):
    width, height = _around(a, b)
    apart = (b[0] + b[2] - a[0] - a[2]) ** 2 + (b[1] + b[3] - a[1] - a[3]) ** 2
    return apart / 4 / (width**2 + height**2 + eps)


@defines("npu_diou(Tensor self, Tensor gtboxes, bool trans=False, bool is_cross=False, int mode=0) -> Tensor", True)
def _diou(self, gtboxes, trans=False, is_cross=False, mode=0):
    a, b = _pairs(self, gtboxes, trans, is_cross)
    common, whole = _overlap(a, b, mode, 0.0, 1e-9)
    y = common / whole - _distance(a, b, 1e-9)
    return (y if is_cross else y.unsqueeze(0)).to(self.dtype)


@defines(
    "npu_ciou(Tensor self, Tensor gtboxes, bool trans=False, bool is_cross=True, int mode=0, "
    "bool atan_sub_flag=False) -> Tensor",
    True,
)
def _ciou(self, gtboxes, trans=False, is_cross=True, mode=0, atan_sub_flag=False):
    a, b = _pairs(self, gtboxes, trans, is_cross)
    common, whole = _overlap(a, b, mode, 0.0, 1e-9)
    iou = common / whole
    slant = [torch.atan((c[2] - c[0]) / (c[3] - c[1] + 1e-9)) for c in (a, b)]
    v = 4 / torch.pi**2 * (slant[1] - slant[0]) ** 2
    y = iou - _distance(a, b, 1e-9) - v * (v / (1 + 1e-9 - iou + v)).detach()
    return (y if is_cross else y.unsqueeze(0)).to(self.dtype)


# ---- shapes and types


def _cast_back(ctx, grad):
    return grad.to(ctx.dtype), None


@defines("npu_dtype_cast(Tensor self, ScalarType dtype) -> Tensor", _cast_back)
def _dtype_cast(self, dtype):
    return self.to(dtype, copy=True)


defines("_npu_dtype_cast(Tensor self, ScalarType dtype) -> Tensor", _cast_back)(_dtype_cast)


@defines("npu_dtype_cast_(Tensor(a!) self, Tensor src) -> Tensor(a!)")
def _dtype_cast_(self, src):
    return self.copy_(src)


@defines("npu_transpose(Tensor self, int[] perm, bool require_contiguous=True) -> Tensor", True)
def _transpose(self, perm, require_contiguous=True):
    return self.permute(perm).clone(memory_format=torch.contiguous_format)


@defines("npu_confusion_transpose(Tensor self, int[] perm, int[] shape, bool transpose_first) -> Tensor", True)
def _confusion_transpose(self, perm, shape, transpose_first):
    moved = self.permute(perm).reshape(shape) if transpose_first else self.reshape(shape).permute(perm)
    return moved.clone(memory_format=torch.contiguous_format)


@defines("npu_broadcast(Tensor self, int[] size) -> Tensor", True)
def _broadcast(self, size):
    return self.expand(size).clone(memory_format=torch.contiguous_format)


@defines("npu_reshape(Tensor self, int[] shape, bool can_refresh=False) -> Tensor", True)
def _reshape(self, shape, can_refresh=False):
    return self.reshape(shape).clone()


@defines("npu_slice(Tensor self, int[] offsets, int[] size) -> Tensor", True)
def _slice(self, offsets, size):
    return self[tuple(slice(b, None if n < 0 else b + n) for b, n in zip(offsets, size))].clone()


@defines("npu_slice.out(Tensor self, int[] offsets, int[] size, *, Tensor(a!) out) -> Tensor(a!)")
def _slice_out(self, offsets, size, *, out):
    return out.copy_(_slice(self, offsets, size))


@defines("npu_pad(Tensor input, int[] paddings) -> Tensor")
def _pad(input, paddings):
    pairs = [paddings[i : i + 2] for i in range(0, len(paddings), 2)]
    return F.pad(input, [n for pair in reversed(pairs) for n in pair])


@defines("npu_one_hot(Tensor self, int num_classes=-1, int depth=1, Scalar on_value=1, Scalar off_value=0) -> Tensor")
def _one_hot(self, num_classes=-1, depth=1, on_value=1, off_value=0):
    classes = torch.arange(depth, device=self.device)
    return torch.where(self.unsqueeze(-1) == classes, float(on_value), float(off_value)).float()


@defines("npu_max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", True)
def _max(self, dim, keepdim=False):
    values, indices = torch.max(self, dim, keepdim)
    return values, indices.int()


@defines("npu_min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", True)
def _min(self, dim, keepdim=False):
    values, indices = torch.min(self, dim, keepdim)
    return values, indices.int()


@defines("npu_sort_v2(Tensor self, int dim=-1, bool descending=False) -> Tensor")
def _sort_v2(self, dim=-1, descending=False):
    return torch.sort(self, dim, descending)[0]


@defines("npu_scatter_nd_update_(Tensor(a!) self, Tensor indices, Tensor updates) -> Tensor(a!)")
def _scatter_nd_update_(self, indices, updates):
    return self.index_put_(tuple(indices.long().unbind(-1)), updates)


@defines("npu_scatter_nd_update(Tensor self, Tensor indices, Tensor updates) -> Tensor")
def _scatter_nd_update(self, indices, updates):
    return _scatter_nd_update_(self.clone(), indices, updates)


@defines("one_(Tensor(a!) self) -> Tensor(a!)")
def _one_(self):
    return self.fill_(1)


@defines("npu_top_k_top_p(Tensor logits, Tensor? p=None, Tensor? k=None) -> Tensor")
def _top_k_top_p(logits, p=None, k=None):
    ranked, order = logits.float().sort(-1)
    never = float("-inf")
    if k is not None:
        least = ranked.gather(-1, (logits.shape[-1] - k.long()).unsqueeze(-1))
        ranked = ranked.masked_fill(ranked < least, never)
    if p is not None:
        left_out = torch.softmax(ranked, -1).cumsum(-1) <= 1 - p.float().unsqueeze(-1)
        left_out[..., -1] = False
        ranked = ranked.masked_fill(left_out, never)
    return torch.empty_like(ranked).scatter(-1, order, ranked).to(logits.dtype)
