"""Kernels drawn by a rule that was written before any of them was built or run: our inputs and golden.

Repositories: hicann's ops-nn, ops-math, ops-cv, ops-transformer, mat-chem-sim-pred, cann-samples and
ascend-transformer-boost, vllm-ascend, sgl-kernel-npu, and those with "ascendc" in their name of which a snapshot could be
had. A candidate is a folder with op_host and op_kernel whose definition names ascend910b (any chip in students'), of at
most 900 lines of kernel and 1,200 of host code, or a file by itself of at most 400 lines; without generated files, code of
Ascend 950, communication between cards, attention and recurrent operators; none of data/world_kernels.csv. In each
repository random.Random(18) shuffles the sorted paths; they are taken round robin over the sorted repositories, none left
out. These are the first 38; the other 22 are draw.py's, by the same rule as code, in
further_second.py.
"""

from __future__ import annotations

from pathlib import Path

from . import Case, Outcome, judge, programs
from .projects import randint, randn

_CASES: list[Case] = []
MATCHEM = "prediction/ProcessControl/"


def cases(_sources) -> list[Case]:
    from . import further_operators, further_second  # noqa: F401 - their cases join these

    return list(_CASES)


def project(repository: str, path: str, kind: str = "vector", *, op="", kernel="", include_dirs=(), note="", **close):
    """As projects.project: the function makes inputs, attributes, outputs, and golden (None: not looked at)."""

    def add(make):
        def run(source, _scratch) -> Outcome:
            from labkit.program import operator_project

            made = make()
            loaded = operator_project.load(
                source / path, op, kernel=kernel, include_dirs=[source / d for d in include_dirs]
            )
            result = loaded(*made["inputs"], outputs=made.get("outputs"), **made.get("attrs", {}))
            pairs = [(o, g) for o, g in zip(result.outputs, made["golden"]) if g is not None]
            pairs += [(result.inputs[i], g) for i, g in made.get("written", {}).items()]
            pairs = [p for o, g in pairs for p in (zip(o, g) if isinstance(o, list) else [(o, g)])]
            return judge.outcome(pairs, result.record, **close)

        _CASES.append(Case("drawn", repository, path, kind, run, note=note))
        return make

    return add


def kernel(repository: str, path: str, entry: str, kind: str = "vector", *, note="", include_dirs=(), key=0, **close):
    """As projects.kernel; an argument ("Name", fields) is a struct of the source, which goes to GM."""

    def add(make):
        def run(source, _scratch) -> Outcome:
            import torch

            import labkit
            from labkit import device

            device.install()
            blocks, arguments, golden = make()
            folders = [source / d for d in include_dirs]
            k = labkit.kernel(source / path, entry=entry, timeout=60, tiling_key=key, include_dirs=folders)
            given = [
                a.npu() if isinstance(a, torch.Tensor) else k.struct(a[0], **a[1]) if isinstance(a, tuple) else a
                for a in arguments
            ]
            record = k[blocks](*given)
            return judge.outcome([(given[i].cpu(), g) for i, g in golden.items()], record, **close)

        _CASES.append(Case("drawn", repository, path, kind, run, note=note))
        return make

    return add


def program(repository: str, path: str, kind: str = "vector", *, note=""):
    def run(source, _scratch) -> Outcome:
        return programs.run(Path(source) / path)

    _CASES.append(Case("drawn", repository, path, kind, run, note=note))


def like(*tensors):
    return [(t.shape, t.dtype) for t in tensors]


# ---- students and competitors


@project("Golden-Irises/AscendC", "PoolAvgCustom")
def pool_avg():
    import torch

    x = randn(24, 60)
    golden = x.view(-1, 8).mean(1)
    return dict(inputs=[x, torch.tensor([8], dtype=torch.int32)], outputs=like(golden), golden=[golden])


@project(
    "HWXROS/AscendcS7",
    "PdistGrad",
    atol=1e-3,
    note="the kernel's own slip: GetWithOffset(0, length) has size and offset the wrong way round; the card does not notice",
)
def pdist_grad():
    import torch

    x = randn(20, 64).requires_grad_()
    y = torch.nn.functional.pdist(x)
    grad = randn(*y.shape, seed=2)
    y.backward(grad)
    return dict(inputs=[grad, x.detach(), y.detach()], outputs=like(x.detach()), attrs=dict(p=2.0), golden=[x.grad])


@project(
    "JeffDing/AscendC_Code",
    "SinhCustomSample/FrameworkLaunch/SinhCustomSegmentation",
    rtol=4e-3,
    atol=2e-3,
    note="the kernel's own fault: uneven shares double the number of tiles twice",
)
def sinh_segmented():
    x = randn(40, 80, dtype="float16")
    return dict(inputs=[x], outputs=like(x), golden=[x.float().sinh().half()])


@kernel("grandolantow/get_topk_ascendC", "csrc/ops/helloworld/op_kernel/kernel_helloworld.cpp", "helloworld")
def hello():
    import torch

    x, y = randn(8 * 2048, dtype="float16"), randn(8 * 2048, dtype="float16", seed=2)
    return 8, [x, y, torch.zeros_like(x), x.numel()], {2: x + y}


@kernel(
    "hipudding/ascendc_threshold",
    "ascendc_operators/threshold/threshold_opencv_kernel.cpp",
    "threshold_opencv",
    include_dirs=["ascendc_operators/include"],
    note="the kernel's own: its buffers fill 248 KB of UB, Atlas A2 has 192",
)
def threshold():
    import torch

    x = randn(5000, scale=100)
    tiling = ("ThresholdOpencvTilingData", dict(maxVal=255, thresh=20, totalLength=5000, threshType=0, dtype=5))
    return 4, [tiling, x, torch.zeros_like(x)], {2: torch.where(x > 20, 255.0, 0.0)}


@project("linnlh/ascendc-perf-s2", "GroupNormV2", atol=1e-3)
def group_norm_v2():
    import torch

    x = randn(2, 8, 10, 8)
    one, zero = torch.ones(8), torch.zeros(8)
    golden = torch.nn.functional.group_norm(x, 4, one, zero, 1e-4)
    stats = ((2, 4), torch.float32)
    return dict(
        inputs=[x, one, zero],
        outputs=[*like(x), stats, stats],
        attrs=dict(num_groups=4, data_format="NCHW", eps=1e-4, is_training=True),
        golden=[golden, None, None],
    )


@project("wenyi1989/AscendC", "ThreeNN-02/Framework")
def three_nn():

    a, b = randn(1, 6, 3), randn(1, 32, 3, seed=2)
    dist = ((a[0, :, None] - b[0, None]) ** 2).sum(-1)
    near = dist.topk(3, largest=False)
    golden = [near.values[None], near.indices[None].int()]
    return dict(inputs=[a, b], outputs=like(*golden), golden=golden)


@project("Golden-Irises/AscendC", "VecAddFl32")
def vec_add():
    x, y = randn(64, 96), randn(64, 96, seed=2)
    return dict(inputs=[x, y], outputs=like(x), golden=[x + y])


@project("HWXROS/AscendcS7", "Fmax")
def fmax_s7():
    import torch

    x, y = randn(64, 100), randn(64, 100, seed=2)
    return dict(inputs=[x, y], outputs=like(x), golden=[torch.fmax(x, y)])


@project("JeffDing/AscendC_Code", "SinhCustomSample/FrameworkLaunch/SinhCustom", rtol=4e-3, atol=2e-3)
def sinh():
    x = randn(8, 2048, dtype="float16")
    return dict(inputs=[x], outputs=like(x), golden=[x.float().sinh().half()])


@kernel("grandolantow/get_topk_ascendC", "csrc/ops/cache_miss_topk/op_kernel/cache_miss_topk.cpp", "cache_miss_topk")
def cache_miss_topk():
    import torch

    batch, n = 6, 2048
    miss, free = randint(0, 2, (batch, n)).to(torch.uint8), (randint(0, 4, (batch, n), seed=2) == 0).to(torch.uint8)
    old = torch.where(randint(0, 3, (batch, n), seed=3) == 0, -1, 7)
    short = miss.sum(1, dtype=torch.int64) - free.sum(1, dtype=torch.int64)
    empty = old == -1
    golden = (free.bool() | (empty & (empty.cumsum(1) <= short[:, None]))).to(torch.uint8)
    return 3, [miss, free, old, batch, 2, 2, 1, 2], {1: golden}


@project(
    "linnlh/ascendc-perf-s2",
    "Pdist",
    atol=1e-3,
    note="the kernel's own fault: the last block waits for more pairs than there are, unless their number is a multiple of 8",
)
def pdist():
    import torch

    x = randn(20, 64)
    golden = torch.nn.functional.pdist(x)
    return dict(inputs=[x], outputs=like(golden), attrs=dict(p=2.0), golden=[golden])


@project("wenyi1989/AscendC", "Triu/FrameworkLaunch/Triu")
def triu():
    x = randn(4, 48, 64)
    return dict(inputs=[x], outputs=like(x), attrs=dict(diagonal=1), golden=[x.triu(1)])


@project("Golden-Irises/AscendC", "MatMadCustom", "cube", atol=1e-3)
def mat_mad():
    w, x, bias = randn(48, 80, scale=0.5), randn(80, 64, scale=0.5, seed=2), randn(64, seed=3)
    golden = w @ x + bias
    return dict(inputs=[w, x, bias], outputs=like(golden), golden=[golden])


# ---- ascend-transformer-boost: kernels by themselves, their tiling filled by hand


@kernel(
    "hicann/ascend-transformer-boost",
    "src/kernels/mixkernels/stridedbatchmatmul/op_kernel/stridedbatchmatmul.cpp",
    "stridedbatchmatmul",
    "cube",
    include_dirs=["src/kernels", "src"],
)
def strided_batch_matmul():

    import torch

    m, n, k, batch, heads = 32, 48, 64, 2, 3
    a, b = randn(batch * heads, m, k, dtype="float16"), randn(batch * heads, k, n, dtype="float16", seed=2)
    tiling = dict(usedCoreNum=1, M=m, N=n, Ka=k, Kb=k, singleCoreM=m, singleCoreN=n, singleCoreK=k, baseM=m, baseN=n)
    tiling |= dict(baseK=k, depthA1=1, depthB1=1, stepM=1, stepN=1, stepKa=1, stepKb=1, dbL0A=1, dbL0B=1, dbL0C=1)
    tiling |= dict(shareL1Size=(m * k + k * n) * 2, shareL0CSize=m * n * 4, batchM=1, batchN=1, singleBatchM=1)
    tiling |= dict(singleBatchN=1, BatchNum=0)
    names = _tcube()
    cube = b"".join(tiling.get(name, 0).to_bytes(4, "little") for name in names)
    words = [0, 0, batch, heads, batch * heads]
    for i in range(batch):
        words += [i * heads * m * k, i * heads * k * n, i * heads * m * n, m * k, k * n, m * n]
    head = b"".join(w.to_bytes(4, "little") for w in words)
    golden = (a.float() @ b.float()).half()
    return batch * heads, [a, b, torch.zeros_like(golden), bytearray(head + cube * batch)], {2: golden}


def _tcube():
    import re

    from labkit.build import headers

    text = (headers.TREES["kernel"] / "twin" / "base" / "tiling_structs.h").read_text()
    block = text.split("#define TWIN_FIELDS_TCubeTiling(F)")[1].split("#define")[0]
    return re.findall(r"F\(int32_t, (\w+)\)", block)


@kernel(
    "hicann/ascend-transformer-boost",
    "src/kernels/kernels/activation/swiglu_backward/kernel/swiglu_backward.cpp",
    "swiglu_backward",
    include_dirs=["src", "src/kernels"],
    key=0,
    atol=1e-4,
)
def swiglu_backward():
    import torch

    x = randn(16, 128).requires_grad_()
    a, b = x.chunk(2, -1)
    y = a.sigmoid() * a * b
    grad = randn(16, 64, seed=2)
    y.backward(grad)
    tiling = dict(colLen=64, rowLen=16, colLenPerCore=64, rowLenPerCore=4, coreNumPerLine=1, basicColLen=64)
    tiling = ("SwiGluBackwardTilingData", dict(tiling, basicRowLen=2))
    return 4, [grad, x.detach(), torch.zeros(16, 128), tiling], {2: x.grad}


@kernel(
    "hicann/ascend-transformer-boost",
    "src/kernels/mixkernels/reshape_and_cache/op_kernel/reshape_and_cache_compress.cpp",
    "reshape_and_cache_wins",
    include_dirs=["src/kernels", "src"],
    key=220000000,
    note="the kernel's own fault: its buffer holds two tokens of half, it copies a whole window",
)
def reshape_and_cache_wins():
    import torch

    heads, size, lengths, wins = 4, 32, [10, 7], [3, 5, 2, 4, 6, 1, 2, 3]
    key, value = randn(sum(lengths), heads, size, dtype="float16"), randn(17, heads, size, dtype="float16", seed=2)
    slots = [0, *torch.tensor(wins).cumsum(0)[:-1].tolist()]
    cache = [torch.zeros(sum(wins), size, dtype=torch.float16) for _ in range(2)]
    for source, out in zip((key, value), cache):
        for i, (slot, win) in enumerate(zip(slots, wins)):
            end = sum(lengths[: i // heads + 1])
            out[slot : slot + win] = source[end - win : end, i % heads]
    tiling = dict(numTokens=8, numHeads=heads, headSizeK=size, headSizeV=size, numBatchs=2)
    empty = [torch.zeros_like(c) for c in cache]
    small = [torch.tensor(v, dtype=torch.int32) for v in (slots, wins, lengths + [0] * 6)]
    arguments = [key, value, None, None, *small, *empty, ("ReshapeAndCacheTilingData", tiling)]
    return 3, arguments, {7: cache[0], 8: cache[1]}


# ---- samples


program("hicann/cann-samples", "Samples/1_Features/hardware_features/vector_function/gelu_without_vf.asc")
program(
    "hicann/cann-samples",
    "Samples/0_Introduction/vector_add_c_api/main.asc",
    note="a core's part of 8,534 floats is no whole number of 32 bytes, and its copies are of whole blocks",
)


# ---- process control and time series


@kernel(
    "hicann/mat-chem-sim-pred",
    MATCHEM + "PIDModelFit/pid_step_response_features/op_kernel/pid_step_response_features_kernel.cpp",
    "pid_step_response_features_kernel",
    rtol=1e-3,
    atol=1e-4,
)
def step_response():
    import torch

    b, c, n, dt = 3, 5, 60, 0.5
    t = torch.arange(n) * dt
    rate = torch.rand(b, c, 1, generator=torch.Generator().manual_seed(1)) + 0.1
    pv = 2 * (1 - torch.exp(-rate * t) * torch.cos(rate * t))
    sp = torch.full((b, n), 2.0)
    target, first, last = sp[:, -1:, None].expand(b, c, 1), pv[..., :1], pv[..., -1:]
    delta = (target - first).abs().clamp_min(1e-6)
    scaled, error = (pv - first) / delta, (sp[:, None] - pv).abs()
    peak, trough = pv.max(-1), pv.min(-1)

    def time_of(where):
        return torch.where(where.any(-1), where.float().argmax(-1), n - 1) * dt

    late = (error > (delta * 0.05).clamp_min(1e-4)).float() * (t + dt)
    rise = (time_of(scaled >= 0.9) - time_of(scaled >= 0.1)).clamp_min(0)
    columns = [first[..., 0], last[..., 0], (target - last).abs()[..., 0], peak.values, trough.values]
    columns += [((peak.values - target[..., 0]).clamp_min(0) / delta[..., 0])]
    columns += [((target[..., 0] - trough.values).clamp_min(0) / delta[..., 0]), rise, peak.indices * dt]
    columns += [late.max(-1).values, error.sum(-1) * dt, (error**2).sum(-1) * dt]
    golden = torch.stack(columns, -1)
    tiling = dict(batch=b, candidates=c, sample_count=n, total_tasks=b * c, core_num=4, feature_count=12)
    tiling = ("StepResponseFeaturesTilingData", dict(tiling, sample_interval=dt, settle_band_ratio=0.05))
    return 4, [pv.contiguous(), sp, torch.zeros_like(golden), tiling], {2: golden}


@kernel(
    "hicann/mat-chem-sim-pred",
    MATCHEM + "TimeSeriesForecast/selective_scan_1d/op_kernel/selective_scan_1d_kernel.cpp",
    "selective_scan1_d",
    atol=1e-4,
    note="the kernel's own: scalar stores of two cores share a cache line, as its host code says of others of the folder",
)
def selective_scan():
    import torch

    b, length, d, n = 2, 20, 6, 16
    u, delta = randn(b, length, d), randn(b, length, d, seed=2).abs() * 0.3
    a, bb, c, skip = (
        -randn(d, n, seed=3).abs(),
        randn(b, length, n, seed=4),
        randn(b, length, n, seed=5),
        randn(d, seed=6),
    )
    state, golden = torch.zeros(b, d, n), torch.zeros(b, length, d)
    for t in range(length):
        step = delta[:, t, :, None]
        state = torch.exp(step * a) * state + step * bb[:, t, None] * u[:, t, :, None]
        golden[:, t] = (state * c[:, t, None]).sum(-1) + skip * u[:, t]
    tiling = ("SelectiveScanTiling", dict(batch=b, length=length, dim=d, state=n))
    return 5, [u, delta, a, bb, c, skip, torch.zeros_like(golden), None, tiling], {6: golden}


@kernel(
    "hicann/mat-chem-sim-pred",
    MATCHEM + "PIDModelFit/pid_control_performance_metrics/op_kernel/pid_control_performance_metrics_kernel.cpp",
    "pid_control_performance_metrics_kernel",
    rtol=1e-3,
    atol=1e-3,
    note="the kernel's own: mae is the integral over n, its README says the mean",
)
def control_metrics():
    import torch

    b, n, dt, band = 5, 50, 0.5, 0.1
    sp = torch.full((b, n), 1.0)
    pv = sp + randn(b, n, scale=0.3)
    low, high, least = torch.full((b,), 0.4), torch.full((b,), 1.6), torch.full((b,), 0.02)
    error, t = (sp - pv).abs(), torch.arange(n) * dt
    mean, sample, whole = pv.mean(1), pv.std(1), pv.std(1, unbiased=False)
    outside = ((pv < low[:, None]) | (pv > high[:, None])).sum(1).float()
    ise = (error**2).sum(1) * dt
    columns = [mean, sample, whole]
    for s in (sample, whole):
        columns += [(high - low) / (6 * s), torch.minimum(high - mean, mean - low) / (3 * s)]
    columns += [(least / whole**2).clamp(0, 1), error.sum(1) * dt, ise, (t * error).sum(1) * dt, error.mean(1)]
    columns += [(ise / (n * dt)).sqrt(), error.max(1).values, outside / n, outside]
    columns += [
        (pv - sp).max(1).values.clamp_min(0) / (high - low),
        (sp - pv).max(1).values.clamp_min(0) / (high - low),
    ]
    columns += [((error > band) * (t + dt)).max(1).values, error[:, -1]]
    golden = torch.stack(columns, 1)
    tiling = dict(batch=b, sample_count=n, core_num=3, metric_count=20, sample_interval=dt, settle_band=band)
    arguments = [pv, sp, low, high, least, torch.zeros_like(golden), ("ControlPerformanceTilingData", tiling)]
    return 3, arguments, {5: golden}
