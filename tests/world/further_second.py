"""The 22 kernels that draw.py drew behind the first 38 of further.py: our inputs and golden."""

from __future__ import annotations

from .further import kernel, like, program, project
from .projects import randint, randn

PID, BOOST = "prediction/ProcessControl/PIDModelFit/", "src/kernels/"
BOOST_HEADERS = ["src", "src/kernels"]


def patches(planes: int, height: int, width: int, k: int, stride: int):
    """Indices of the elements that each place of a k x k window covers, one row a place."""
    import torch

    index = torch.arange(planes * height * width).view(1, planes, height, width).float()
    return torch.nn.functional.unfold(index, k, stride=stride)[0].T.int().contiguous()


# ---- students and competitors


@project("Golden-Irises/AscendC", "Caffe3DCustom")
def caffe3d():
    import torch

    golden = patches(3, 10, 12, 3, 2)
    return dict(
        inputs=[randn(3, 10, 12), randn(3, 3), torch.tensor([2], dtype=torch.int32)],
        outputs=like(golden),
        golden=[golden],
    )


@project("Golden-Irises/AscendC", "Caffe2DCustom")
def caffe2d():
    import torch

    golden = patches(1, 10, 14, 4, 2)
    return dict(
        inputs=[randn(10, 14), randn(4, 4), torch.tensor([2], dtype=torch.int32)], outputs=like(golden), golden=[golden]
    )


@kernel(
    "JeffDing/AscendC_Code",
    "SinhCustomSample/KernelLaunch/SinhKernelInvocation/sinh_custom.cpp",
    "sinh_custom",
    rtol=4e-3,
    atol=2e-3,
)
def sinh_launched():
    import torch

    x = randn(8 * 2048, dtype="float16")
    return 8, [x, torch.zeros_like(x)], {1: x.float().sinh().half()}


@project("linnlh/ascendc-perf-s2", "DepthToSpace")
def depth_to_space():
    x = randn(2, 4, 6, 32)
    golden = x.view(2, 4, 6, 2, 2, 8).permute(0, 1, 3, 2, 4, 5).reshape(2, 8, 12, 8)
    return dict(
        inputs=[x], outputs=like(golden), attrs=dict(block_size=2, mode="DCR", data_format="NHWC"), golden=[golden]
    )


@project(
    "linnlh/ascendc-perf-s2",
    "BallQuery",
    note="the kernel's own: its comparisons write 8 bytes for each of 64 repeats into 64 bytes, of which it needs the first 8",
)
def ball_query():
    import torch

    points, centres, count = randn(1, 64, 3), randn(1, 64, 3, seed=2) * 0.5, 8
    near = ((points[:, None] - centres[:, :, None]) ** 2).sum(-1) < 1.0
    golden = torch.zeros(1, 64, count, dtype=torch.int32)
    for i, row in enumerate(near[0]):
        found = row.nonzero()[:count, 0].int()
        if len(found):
            golden[0, i] = found[0]
            golden[0, i, : len(found)] = found
    return dict(
        inputs=[points, centres, None, None],
        outputs=like(golden),
        attrs=dict(min_radius=0.0, max_radius=1.0, sample_num=count),
        golden=[golden],
    )


@project("wenyi1989/AscendC", "Tril/FrameworkLaunch")
def tril():
    x = randn(3, 20, 32)
    return dict(inputs=[x], outputs=like(x), attrs=dict(diagonal=-2), golden=[x.tril(-2)])


@project("wenyi1989/AscendC", "Xlogy/Framework", atol=1e-4)
def xlogy():
    import torch

    x, y = randn(16, 64), randn(16, 64, seed=2).abs() + 0.1
    x[::3] = 0
    return dict(inputs=[x, y], outputs=like(x), golden=[torch.xlogy(x, y)])


# ---- CANN's operator repositories


@project("hicann/ops-cv", "examples/add_example")
def add_example():
    x, y = randn(4, 6, 5, 32), randn(4, 6, 5, 32, seed=2)
    return dict(inputs=[x, y], outputs=like(x), golden=[x + y])


@project(
    "hicann/ops-cv",
    "objdetect/iou_v2",
    atol=1e-5,
    note="true and harmless: the scalar unit copies lanes that nobody wrote to where later stores cover them",
)
def iou_v2():
    import torch

    def boxes(count, seed):
        corner = randn(count, 2, seed=seed).abs() * 20
        return torch.cat([corner, corner + randn(count, 2, seed=seed + 1).abs() * 20 + 1], 1)

    a, b, eps = boxes(50, 1), boxes(37, 5), 1.0
    side = (torch.min(a[None, :, 2:], b[:, None, 2:]) - torch.max(a[None, :, :2], b[:, None, :2]) + eps).clamp(min=0)
    area = [(t[:, 2] - t[:, 0] + eps) * (t[:, 3] - t[:, 1] + eps) for t in (a, b)]
    common = side.prod(-1)
    golden = common / (area[0][None] + area[1][:, None] - common)
    return dict(inputs=[a, b], outputs=like(golden), attrs=dict(mode="iou", eps=eps, aligned=False), golden=[golden])


@project(
    "hicann/ops-math",
    "experimental/conversion/concat_v2",
    note="the kernel's own: it stores straight from a VECIN queue, whose events order MTE2 and V, not MTE3",
)
def concat_v2():
    import torch

    x, y = randn(12, 40), randn(9, 40, seed=2)
    golden = torch.cat([x, y])
    return dict(inputs=[x, y], outputs=like(golden), attrs=dict(d=0), golden=[golden])


@project(
    "hicann/ops-math",
    "experimental/math/log1p_v2",
    atol=1e-5,
    note="the kernel's own: sizes are rounded up to a block, 33 x 65 elements end within one",
)
def log1p_v2():
    x = randn(33, 65).abs()
    return dict(inputs=[x], outputs=like(x), golden=[x.log1p()])


@project("hicann/ops-nn", "activation/glu", atol=1e-5)
def glu():
    import torch

    x = randn(3, 50, 160)
    golden = torch.nn.functional.glu(x, -1)
    return dict(inputs=[x], outputs=like(golden), attrs=dict(dim=-1), golden=[golden])


@project("hicann/ops-nn", "vfusion/modulate_grad", atol=1e-4)
def modulate_grad():
    # aclnn adds 1 to the scale before the kernel has it
    grad, x, scale, shift = randn(4, 12, 192), randn(4, 12, 192, seed=2), randn(4, 192, seed=3), randn(4, 192, seed=4)
    golden = [grad * scale[:, None], (grad * x).sum(1), grad.sum(1)]
    return dict(inputs=[grad, x, scale, shift], outputs=like(*golden), golden=golden)


@project("hicann/ops-transformer", "gmm/grouped_matmul_add", "cube", atol=2e-2)
def grouped_matmul_add():
    import torch

    x, w, y = randn(96, 48, dtype="float16"), randn(96, 80, dtype="float16", seed=2), randn(2 * 48, 80, seed=3)
    golden = y.clone()
    for g, (begin, end) in enumerate([(0, 32), (32, 96)]):
        golden[g * 48 : (g + 1) * 48] += x[begin:end].T.float() @ w[begin:end].float()
    return dict(
        inputs=[x, w, torch.tensor([32, 96]), y],
        outputs=[],
        attrs=dict(transpose_x=True, transpose_weight=False, group_type=2),
        golden=[],
        written={3: golden},
    )


@project("hicann/ops-transformer", "posembedding/interleave_rope", atol=4e-3)
def interleave_rope():
    import torch

    x = randn(2, 1, 20, 64, dtype="float16")
    angle = torch.cat([randn(2, 1, 20, 32, seed=2)] * 2, -1)
    cos, sin = angle.cos().half(), angle.sin().half()
    q = x.float().view(2, 1, 20, 32, 2).transpose(-1, -2).reshape(2, 1, 20, 64)
    golden = (q * cos + torch.cat([-q[..., 32:], q[..., :32]], -1) * sin).half()
    return dict(inputs=[x, cos, sin], outputs=like(golden), golden=[golden])


@kernel(
    "hicann/ascend-transformer-boost",
    BOOST + "mixkernels/rope_q_concat/op_kernel/rope_q_concat.cpp",
    "rope_q_concat",
    include_dirs=BOOST_HEADERS,
    key=20,
    atol=4e-3,
)
def rope_q_concat():
    import torch

    tokens, heads, d, extra = 10, 4, 64, 32
    q, more = randn(tokens, heads, d, dtype="float16"), randn(tokens, heads, extra, dtype="float16", seed=2)
    angle = torch.cat([randn(tokens, d // 2, seed=3)] * 2, -1)
    cos, sin = angle.cos().half(), angle.sin().half()
    wide, c, s = q.float(), cos.float()[:, None], sin.float()[:, None]
    turned = torch.cat([-wide[..., d // 2 :], wide[..., : d // 2]], -1)
    golden = torch.cat([(wide * c + turned * s).half(), more], -1)
    rows, cores = 5, 8
    tiling = dict(
        hiddenSizeQ=heads * d, headNumQ=heads, headDim=d, concatSize=extra, rotaryCoeff=2, ntokens=tokens,
        realCore=cores, nlCoreRun=rows, lCoreRun=rows, maxNPerLoopForUb=3, preCoreLoopTime=2, preCoreLoopNLast=2,
        lastCoreLoopTime=2, lastCoreLoopNLast=2,
    )  # fmt: skip
    given = [q, cos, sin, more, torch.zeros_like(golden), ("RopeQConcatTilingData", tiling)]
    return cores, given, {4: golden}


@kernel(
    "hicann/ascend-transformer-boost",
    BOOST + "kernels/activation/swiglu_forward/kernel/swiglu_forward.cpp",
    "swiglu_forward",
    include_dirs=BOOST_HEADERS,
    key=1,
    atol=4e-3,
)
def swiglu_forward():
    import torch

    rows, columns, cores = 24, 128, 6
    x = randn(rows, 2 * columns, dtype="float16")
    a, b = x.float().chunk(2, -1)
    golden = (torch.nn.functional.silu(a) * b).half()
    tiling = dict(
        rowLen=rows, colLen=columns, rowLenPerCore=rows // cores, colLenPerCore=columns, coreNumPerLine=1,
        basicRowLen=4, basicColLen=columns,
    )  # fmt: skip
    return cores, [x, torch.zeros_like(golden), ("SwiGluForwardTilingData", tiling)], {1: golden}


@kernel("hicann/mat-chem-sim-pred", PID + "pid_tuning_rule_batch/op_kernel/pid_tuning_rule_batch_kernel.cpp",
        "pid_tuning_rule_batch_kernel", rtol=1e-4, atol=1e-4)  # fmt: skip
def pid_tuning_rule_batch():
    import torch

    gain, tau, theta, lam = (randn(20, seed=s).abs() + 0.5 for s in (1, 2, 3, 4))
    gain[3] = 0
    valid, safe, ratio = (gain > 1e-6).float(), torch.where(gain > 1e-6, gain, 1.0), theta / tau
    rules = [
        (1.2 * tau / (safe * theta), 2 * theta, 0.5 * theta),
        ((tau + 0.5 * theta) / (safe * (lam + 0.5 * theta)), tau + 0.5 * theta, tau * theta / (2 * tau + theta)),
        (
            tau / (safe * theta) * (4 / 3 + theta / (4 * tau)),
            theta * (32 + 6 * ratio) / (13 + 8 * ratio),
            theta * 4 / (11 + 2 * ratio),
        ),
    ]
    params = torch.stack([torch.stack([k, k / i, k * d], -1) for k, i, d in rules], 1) * valid[:, None, None]
    kp, ki, kd = params.unbind(-1)
    effort = kp.abs() + tau[:, None] * ki.abs() + kd.abs() / tau[:, None]
    every = torch.ones(20, 3)
    golden = torch.stack([valid[:, None] * every, ratio[:, None] * every, effort, (lam / theta)[:, None] * every], -1)
    tiling = ("TuningRuleBatchTilingData", dict(batch=20, core_num=1, rule_count=3, param_count=3, diagnostic_count=4))
    given = [gain, tau, theta, lam, torch.zeros(20, 3, 3), torch.zeros(20, 3, 4), tiling]
    return 1, given, {4: params, 5: golden}


@kernel("hicann/mat-chem-sim-pred", "simulation/AI4PDE/deeponet/op_kernel/deeponet_kernel.cpp",
        "deeponet_forward_kernel", include_dirs=["simulation/AI4PDE/pde_common"],
        note="floorf in a kernel: whether the device compiler has it for A2 we could not find out",
        rtol=1e-3, atol=1e-3)  # fmt: skip
def deeponet():
    import torch

    batch, branch, trunk, latent, queries = 6, 10, 3, 8, 12
    b, t = randn(batch, branch), randn(queries, trunk, seed=2)
    wb, wt = randn(latent * branch + latent, seed=3) * 0.3, randn(latent * trunk + latent, seed=4) * 0.3
    codes = [
        torch.tanh(x @ w[: latent * n].view(latent, n).T + w[latent * n :])
        for x, w, n in ((b, wb, branch), (t, wt, trunk))
    ]
    golden = codes[0] @ codes[1].T
    tiling = dict(
        batchSize=batch, branchDim=branch, trunkDim=trunk, latentDim=latent, querySize=queries, tileSize=branch,
        coreNum=2, branchWeightSize=len(wb), trunkWeightSize=len(wt),
    )  # fmt: skip
    return 2, [b, t, wb, wt, torch.zeros(batch, queries), ("DeepOnetTilingData", tiling)], {4: golden}


# ---- serving


@project("vllm-project/vllm-ascend", "csrc/moe/copy_and_expand_eagle_inputs")
def eagle_inputs():
    import torch

    slots, pad, draft = 3, -1, 99
    starts, ends = [0, 5, 12, 16], [3, 11, 13]
    ids, positions, following = randint(0, 1000, (16,)).int(), torch.arange(16).int() + 100, [7, 8, 9]
    out = {"ids": [], "positions": [], "rejected": [], "masked": [], "new": []}
    for r, (begin, after, last) in enumerate(zip(starts, starts[1:], ends)):
        valid, rejected = last - begin + 1, after - last - 1
        out["new"] += [len(out["ids"]) + valid + k for k in range(slots)]
        out["ids"] += [*ids[begin : last + 1].tolist(), following[r], *[draft] * (slots - 1), *[pad] * rejected]
        out["positions"] += [int(positions[begin]) + k for k in range(valid + slots)] + [0] * rejected
        out["rejected"] += [0] * (valid + slots) + [1] * rejected
        out["masked"] += [0] * (valid + 1) + [1] * (slots - 1) + [0] * rejected
    types = dict(rejected=torch.int8, masked=torch.int8)
    golden = [torch.tensor(v, dtype=types.get(k, torch.int32)) for k, v in out.items()]
    mapping = ((16,), torch.int32)
    meta = [torch.tensor(v, dtype=torch.int32) for v in (following, starts, ends)]
    return dict(
        inputs=[ids, positions, *meta],
        outputs=[*like(*golden), mapping],
        attrs=dict(
            padding_token_id=pad, parallel_drafting_token_id=draft, num_padding_slots_per_request=slots,
            shift_input_ids=False, total_input_tokens=16,
        ),
        golden=[*golden, None],
    )  # fmt: skip


# ---- programs

program(
    "hicann/cann-samples",
    "Samples/1_Features/hardware_features/mem_bandwidth/src/bw_rcw.asc",
    note="the program's own: it refuses a chip whose 48 vector cores do not divide its 3.5 GB",
)
program("hicann/cann-samples", "Samples/0_Introduction/vector_add/main.asc")
