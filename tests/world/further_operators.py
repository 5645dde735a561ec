"""The drawn kernels of CANN's operator repositories and of serving: see further.py."""

from __future__ import annotations

from .further import kernel, like, project
from .projects import randint, randn

# ---- CANN's operator repositories


@project("hicann/ops-cv", "image/upsample_bilinear2d", atol=1e-4)
def upsample_bilinear2d():
    import torch

    x = randn(2, 3, 10, 14)
    golden = torch.nn.functional.interpolate(x, (25, 31), mode="bilinear", align_corners=False)
    size = torch.tensor([25, 31], dtype=torch.int32)
    return dict(
        inputs=[x, size], outputs=like(golden), attrs=dict(align_corners=False, scales=[0.0, 0.0]), golden=[golden]
    )


@project("hicann/ops-math", "conversion/fill_diagonal_v2")
def fill_diagonal():
    import torch

    x = randn(50, 34)
    golden = x.clone().fill_diagonal_(7.5, wrap=False)
    return dict(inputs=[x, torch.tensor([7.5])], outputs=[], attrs=dict(wrap=False), golden=[], written={0: golden})


@project("hicann/ops-nn", "vfusion/scaled_masked_softmax_grad_v2", atol=1e-5)
def scaled_masked_softmax_grad():
    import torch

    y = randn(2, 3, 16, 100).softmax(-1)
    grad, mask = randn(2, 3, 16, 100, seed=2), randint(0, 3, (2, 3, 16, 100), seed=3) == 0
    golden = (y * (grad - (grad * y).sum(-1, keepdim=True)) * 0.5).masked_fill(mask, 0)
    return dict(
        inputs=[grad, y, mask],
        outputs=like(golden),
        attrs=dict(scale=0.5, fixed_triu_mask=False),
        golden=[torch.as_tensor(golden)],
    )


@project("hicann/ops-transformer", "posembedding/rope_quant_kvcache", atol=4e-3)
def rope_quant_kvcache():
    import torch

    batch, heads, kv, d, length = 3, 4, 2, 128, 10
    qkv = randn(batch, 1, (heads + 2 * kv) * d, dtype="float16")
    angle = randn(batch, 1, 1, d // 2, seed=2)
    cos, sin = (torch.cat([f(angle)] * 2, -1).half() for f in (torch.cos, torch.sin))
    scale, offset = randn(d, seed=3).abs() * 0.1 + 0.1, randint(-3, 4, (d,), seed=4).int()
    at = torch.tensor([0, 4, 9], dtype=torch.int32)
    q, k, v = qkv.view(batch, -1, d).split([heads, kv, kv], 1)

    def rope(t):
        turned = torch.cat([-t[..., d // 2 :], t[..., : d // 2]], -1)
        return ((t * cos[:, 0]) + (turned * sin[:, 0])).half()

    caches = [torch.zeros(batch, length, kv, d, dtype=torch.int8) for _ in range(2)]
    golden = [c.clone() for c in caches]
    for cache, t in zip(golden, (rope(k), v)):
        for i in range(batch):
            cache[i, at[i]] = (t[i].float() / scale + offset).round().clamp(-128, 127).to(torch.int8)
    return dict(
        inputs=[qkv, cos, sin, scale, offset, *caches, at],
        outputs=[((batch, 1, heads, d), torch.float16), *[((batch, 1, kv, d), torch.float16)] * 2],
        attrs=dict(size_splits=[heads * d, kv * d, kv * d], layout="BSND", kv_output=False),
        golden=[rope(q).view(batch, 1, heads, d), None, None],
        written={5: golden[0], 6: golden[1]},
    )


@project("hicann/ops-cv", "objdetect/roi_align_rotated", atol=1e-4)
def roi_align_rotated():
    import torch

    height, width, c, ph, pw, ratio, num = 12, 16, 24, 3, 2, 2, 8
    x = randn(2, height, width, c)
    rois = torch.stack(
        [
            randint(0, 2, (num,)).float(),
            torch.rand(num) * width,
            torch.rand(num) * height,
            torch.rand(num) * 6 + 2,
            torch.rand(num) * 6 + 2,
            randn(num, seed=3),
        ]
    )
    golden = torch.zeros(num, ph, pw, c)
    for r in range(num):
        b, cx, cy, w, h, theta = rois[:, r].tolist()
        cos, sin = float(torch.cos(rois[5, r])), float(torch.sin(rois[5, r]))
        for i in range(ph):
            for j in range(pw):
                for iy in range(ratio):
                    for ix in range(ratio):
                        yy = -h / 2 + i * h / ph + (iy + 0.5) * h / ph / ratio
                        xx = -w / 2 + j * w / pw + (ix + 0.5) * w / pw / ratio
                        y, xp = yy * cos - xx * sin + cy - 0.5, yy * sin + xx * cos + cx - 0.5
                        golden[r, i, j] += _bilinear(x[int(b)], y, xp) / ratio**2
    return dict(
        inputs=[x, rois],
        outputs=like(golden),
        attrs=dict(pooled_h=ph, pooled_w=pw, spatial_scale=1.0, sampling_ratio=ratio, aligned=True, clockwise=False),
        golden=[golden],
    )


def _bilinear(plane, y, x):
    height, width = plane.shape[:2]
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0
    y, x = max(y, 0), max(x, 0)
    y0, x0 = min(int(y), height - 1), min(int(x), width - 1)
    y, x = (y0 if y0 == height - 1 else y), (x0 if x0 == width - 1 else x)
    y1, x1, dy, dx = min(y0 + 1, height - 1), min(x0 + 1, width - 1), y - y0, x - x0
    upper = (1 - dx) * plane[y0, x0] + dx * plane[y0, x1]
    return (1 - dy) * upper + dy * ((1 - dx) * plane[y1, x0] + dx * plane[y1, x1])


@project("hicann/ops-math", "experimental/math/cosh_v2", rtol=2e-3, atol=2e-3)
def cosh_v2():
    x = randn(70, 90, dtype="float16")
    golden = x.float().cosh().half()
    return dict(inputs=[x], outputs=like(golden), golden=[golden])


@project("hicann/ops-nn", "foreach/foreach_addcdiv_list")
def foreach_addcdiv_list():
    import torch

    shapes = [(30, 40), (7,), (3, 5, 9)]
    a, b = ([randn(*s, seed=k) for s in shapes] for k in (1, 2))
    c, scalars = [randn(*s, seed=3).abs() + 0.5 for s in shapes], torch.tensor([0.5, -2.0, 3.0])
    golden = [x + s * y / z for x, y, z, s in zip(a, b, c, scalars)]
    return dict(inputs=[a, b, c, scalars], outputs=[like(*golden)], golden=golden)


@project("hicann/ops-transformer", "moe/moe_token_unpermute_with_ep_grad", atol=2e-2, rtol=4e-3)
def moe_token_unpermute_with_ep_grad():
    import torch

    tokens, k, d = 20, 2, 64
    grad, permuted = randn(tokens, d, dtype="float16"), randn(tokens * k, d, dtype="float16", seed=2)
    probs = torch.rand(tokens, k, generator=torch.Generator().manual_seed(3)).half()
    index = torch.randperm(tokens * k, generator=torch.Generator().manual_seed(1)).int()
    back = torch.zeros(tokens * k, d)
    back[index.long()] = (grad.float()[:, None] * probs.float()[..., None]).reshape(-1, d)
    golden = [back.half(), (grad.float()[:, None] * permuted[index.long()].float().view(tokens, k, d)).sum(-1).half()]
    return dict(
        inputs=[grad, index, permuted, probs],
        outputs=like(*golden),
        attrs=dict(padded_mode=False, restore_shape=[tokens, d], range=[0, tokens * k], topk_num=k),
        golden=golden,
    )


@project("hicann/ops-cv", "objdetect/stack_group_points")
def stack_group_points():
    import torch

    n, m, c, samples = [30, 20], [6, 5], 16, 8
    features = randn(sum(n), c)
    index = torch.cat([randint(0, n[i], (m[i], samples), seed=i + 1) for i in range(2)]).int()
    base = torch.tensor([0] * m[0] + [n[0]] * m[1])
    golden = features[index.long() + base[:, None]].permute(0, 2, 1).contiguous()
    counts = [torch.tensor(v, dtype=torch.int32) for v in (n, m)]
    return dict(inputs=[features, counts[0], index, counts[1]], outputs=like(golden), golden=[golden])


@project("hicann/ops-math", "experimental/math/arange")
def arange():
    import torch

    golden = torch.arange(-3.0, 200.0, 0.5)
    inputs = [torch.tensor([v]) for v in (-3.0, 200.0, 0.5)]
    return dict(inputs=inputs, outputs=like(golden), golden=[golden])


@project("hicann/ops-nn", "experimental/activation/swish_v2")
def swish_v2():
    import torch

    x = randn(70, 90)
    golden = x * torch.sigmoid(1.5 * x)
    return dict(inputs=[x], outputs=like(x), attrs=dict(scale=1.5), golden=[golden])


@project(
    "hicann/ops-transformer",
    "examples/add_example",
    note="the repository's own: op_host includes example/add_example/..., the folder is examples/",
)
def add_example_transformer():
    x, y = randn(32, 4, 4, 4), randn(32, 4, 4, 4, seed=2)
    return dict(inputs=[x, y], outputs=like(x), golden=[x + y])


# ---- serving


@kernel(
    "sgl-project/sgl-kernel-npu",
    "csrc/causal_conv1d_update/op_kernel/causal_conv1d_update.cpp",
    "causal_conv1d_update_bfloat16_t",
    atol=3e-2,
    rtol=2e-2,
    note="the kernel's own fault: the next token's state is copied into the buffer that Cast may still read",
)
def causal_conv1d_update():
    import torch

    batch, d, width = 6, 256, 4
    x, w = randn(batch, 1, d, dtype="bfloat16"), randn(width, d, dtype="bfloat16", seed=2)
    state, bias = randn(batch + 2, width - 1, d, dtype="bfloat16", seed=3), randn(d, dtype="bfloat16", seed=4)
    at = torch.tensor([3, 0, 7, 1, 5, 2], dtype=torch.int32)
    window = torch.cat([state[at.long()], x], 1).float()
    y = (window * w.float()).sum(1) + bias.float()
    golden, after = (y * y.sigmoid()).bfloat16()[:, None], state.clone()
    after[at.long()] = window[:, 1:].bfloat16()
    tiling = dict(numCore=3, blockFactor=2, blockTailFactor=2, batch=batch, seqLen=1, dim=d, width=width)
    tiling |= dict(stateLen=width - 1, hasIndices=1, hasBias=1, hasNumAccept=0, hasQueryLoc=0, activationMode=1)
    tiling = ("CausalConv1dUpdateTilingData", dict(tiling, padSlotId=-1))
    return 3, [x, w, state, at, bias, None, None, torch.zeros_like(x), None, tiling], {7: golden, 2: after}


@project(
    "vllm-project/vllm-ascend",
    "csrc/moe/moe_grouped_matmul",
    "cube",
    atol=5e-2,
    rtol=1e-2,
    note="the repository's own: the kernel's struct has no padding before TCubeTiling, the host's class has",
)
def moe_grouped_matmul():
    import torch

    counts, k, n = [20, 0, 44], 64, 128
    x, w = randn(64, k, dtype="float16", scale=0.5), randn(3, k, n, dtype="float16", scale=0.5, seed=2)
    parts = x.split(counts)
    golden = torch.cat([p.float() @ w[i].float() for i, p in enumerate(parts)]).half()
    groups = torch.tensor([[i, c] for i, c in enumerate(counts)])
    return dict(inputs=[[x], [w], groups], outputs=[like(golden)], attrs=dict(transpose_weight=False), golden=[golden])


@kernel("sgl-project/sgl-kernel-npu", "csrc/lora/op_kernel/sgemmv_shrink_kernel.cpp", "sgemmv_shrink_half", atol=2e-2)
def sgemmv_shrink():
    import torch

    tokens, hidden, rank, loras = [3, 2, 4], 256, 16, 2
    x, w = randn(sum(tokens), hidden, dtype="float16"), randn(loras, rank, hidden, dtype="float16", seed=2, scale=0.1)
    which, scale = torch.tensor([1, 0, 1], dtype=torch.int32), torch.tensor([0.5, 2.0], dtype=torch.float16)
    ranks, lengths = torch.tensor([8, 16], dtype=torch.int32), torch.tensor(tokens, dtype=torch.int32)
    golden = torch.zeros(sum(tokens), rank)
    for i, (part, out) in enumerate(zip(x.split(tokens), golden.split(tokens))):
        r = int(ranks[which[i]])
        out[:, :r] = part.float() @ w[which[i], :r].float().T * scale[which[i]].float()
    y = torch.zeros_like(golden)
    arguments = [x, w, which, 3, lengths, 3, ranks, loras, scale, loras, y, sum(tokens), 3, hidden, rank]
    return 3, arguments, {10: golden}


@project("vllm-project/vllm-ascend", "csrc/moe/transpose_kv_cache_by_block")
def transpose_kv_cache():
    import torch

    layers, blocks, size, heads, d, split = 2, 6, 16, 4, 32, 2
    caches = [[randn(blocks, size, heads, d, dtype="float16", seed=10 * j + i) for i in range(layers)] for j in (1, 2)]
    ids, golden = torch.tensor([4, 1, 5]), []
    for group in caches:
        golden.append([])
        for cache in group:
            new = cache.clone()
            part = cache[ids].view(3, split, size, heads // split, d)
            new[ids] = part.permute(0, 2, 1, 3, 4).reshape(3, size, heads, d)
            golden[-1].append(new)
    return dict(
        inputs=[*caches, ids],
        outputs=[],
        attrs=dict(blockSize=size, headNum=heads, headDim=d, splitNum=split, layerNum=layers),
        golden=[],
        written=dict(enumerate(golden)),
    )
