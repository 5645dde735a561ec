"""Custom-operator projects of competitions, courses and students: their own tiling, our inputs and golden."""

from __future__ import annotations

from collections.abc import Callable

from . import Case, Outcome, judge

_CASES: list[Case] = []


def project(
    repository: str,
    path: str,
    kind: str = "vector",
    *,
    op: str = "",
    kernel: str = "",
    rtol: float | None = None,
    atol: float | None = None,
    **options,
):
    """A case: the function makes inputs, attributes, outputs (where the project does not say them) and golden."""

    def add(make: Callable) -> Callable:
        def run(source, _scratch) -> Outcome:
            from labkit.program import operator_project

            made = make()
            loaded = operator_project.load(
                source / path, op, kernel=kernel, include_dirs=[source / d for d in options.get("include_dirs", ())]
            )
            result = loaded(*made["inputs"], outputs=made.get("outputs"), **made.get("attrs", {}))
            golden = made["golden"]
            pairs = [
                *((o, g) for o, g in zip(result.outputs, golden) if g is not None),
                *zip(result.inputs, made.get("written", [])),
            ]
            return judge.outcome(pairs, result.record, rtol=rtol, atol=atol, steps=options.get("steps", 0))

        _CASES.append(Case("ops", repository, path, kind, run, note=options.get("note", "")))
        return make

    return add


def cases(_sources) -> list[Case]:
    from . import operators  # noqa: F401 - its cases join these

    return list(_CASES)


def kernel(
    repository: str,
    path: str,
    entry: str,
    kind: str = "vector",
    *,
    rtol: float | None = None,
    atol: float | None = None,
):
    """A case without a project: the function makes blocks, the kernel's arguments and, by argument,
    what must stand there.
    """

    def add(make: Callable) -> Callable:
        def run(source, _scratch) -> Outcome:
            import torch

            import labkit
            from labkit import device

            device.install()
            blocks, arguments, golden = make()
            given = [a.npu() if isinstance(a, torch.Tensor) else a for a in arguments]
            record = labkit.kernel(source / path, entry=entry, timeout=60)[blocks](*given)
            return judge.outcome([(given[i].cpu(), g) for i, g in golden.items()], record, rtol=rtol, atol=atol)

        _CASES.append(Case("ops", repository, path, kind, run))
        return make

    return add


def randn(*shape, dtype="float32", scale=1.0, seed=1):
    import torch

    return (torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * scale).to(getattr(torch, dtype))


def randint(low, high, shape, seed=1):
    import torch

    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed))


# ---- CANN operator challenge, fourth season


@project("A-Y-1/AscendC-S4", "Heaviside")
def heaviside():
    import torch

    x, v = randn(64, 100), randn(64, 100, scale=2, seed=2)
    x[::3] = 0
    return dict(inputs=[x, v], outputs=[(x.shape, x.dtype)], golden=[torch.heaviside(x, v)])


@project("A-Y-1/AscendC-S4", "Eye", note="the kernel's own fault: ones 32 bytes apart in a buffer of 4 bytes each")
def eye():
    import torch

    return dict(
        inputs=[torch.zeros(3, 40, 48)],
        outputs=[],
        attrs=dict(num_rows=40, num_columns=48),
        written=[torch.eye(40, 48).expand(3, 40, 48)],
        golden=[],
    )


# ---- seventh season


@project("JasperXzy/AscendC-S7", "Fmax")
def fmax():
    import torch

    x, y = randn(100, 77), randn(100, 77, seed=2)
    return dict(inputs=[x, y], golden=[torch.fmax(x, y)])


# ---- third season, two competitors


@project(
    "linnlh/ascendc-competition-s3",
    "basic/asinh/asinh",
    note="the kernel's own fault: a Cast reads y right after AllocTensor",
)
def asinh():
    x = randn(64, 1000, scale=3, dtype="float16")
    return dict(inputs=[x], golden=[x.float().asinh().half()])


@project("linnlh/ascendc-competition-s3", "basic/asinh_grad/asinh_grad")
def asinh_grad():
    y, dy = randn(32, 999), randn(32, 999, seed=2)
    return dict(inputs=[y, dy], golden=[dy / y.cosh()])


@project("linnlh/ascendc-competition-s3", "basic/div/div")
def div():
    x, y = randn(64, 512), randn(64, 512, seed=2).abs() + 0.5
    return dict(inputs=[x, y], golden=[x / y])


@project(
    "linnlh/ascendc-competition-s3",
    "basic/is_close/is_close",
    note="the kernel's own fault: its buffers reach into the last 8 KB of UB, which Select overwrites",
)
def is_close():
    import torch

    x = randn(64, 1000)
    y = x + (torch.arange(x.numel()).reshape(x.shape) % 3 == 0) * 1e-2
    return dict(inputs=[x, y], outputs=[(x.shape, torch.bool)], golden=[torch.isclose(x, y)])


@project(
    "linnlh/ascendc-competition-s3",
    "basic/softmax/softmax",
    note="the kernel's own fault: rows that are not whole 32-byte blocks",
)
def softmax():
    x = randn(40, 50, dtype="float16")
    return dict(inputs=[x], attrs=dict(dim=-1), golden=[x.float().softmax(-1).half()])


@project("linnlh/ascendc-competition-s3", "basic/scatter_elements/scatter_elements")
def scatter_elements():
    import torch

    var, updates = randn(10, 30), randn(6, 30, seed=2)
    indices = torch.stack(
        [torch.randperm(10, generator=torch.Generator().manual_seed(i))[:6] for i in range(30)], 1
    ).int()
    return dict(
        inputs=[var.clone(), indices, updates],
        outputs=[(var.shape, var.dtype)],
        attrs=dict(axis=0),
        golden=[var.scatter(0, indices.long(), updates)],
    )


@project(
    "xsh20021105/AscendC-S3",
    "03-NotEqual",
    note="the kernel's own fault: no block starts at its own share, so only one block is right",
)
def not_equal():
    import torch

    x, y = randint(-2, 3, (64, 512)).int(), randint(-2, 3, (64, 512), seed=2).int()
    return dict(inputs=[x, y], outputs=[(x.shape, torch.bool)], golden=[x != y])


@project("xsh20021105/AscendC-S3", "09-LogSumExp", atol=2e-3)
def log_sum_exp():
    import torch

    x = randn(20, 64)
    golden = torch.logsumexp(x, 1)
    return dict(
        inputs=[x], outputs=[(golden.shape, golden.dtype)], attrs=dict(dim=[1], keep_dim=False), golden=[golden]
    )


@project("xsh20021105/AscendC-S3", "04-Asinh")
def asinh_other():
    x = randn(100, 130, scale=2)
    return dict(inputs=[x], golden=[x.asinh()])


# ---- second season


@project("Youshikawa/ascendC-S2", "ascends2/Lerp/Lerp")
def lerp():
    a, b, w = randn(32, 512), randn(32, 512, seed=2), randn(32, 512, seed=3).abs()
    return dict(inputs=[a, b, w], golden=[a + w * (b - a)])


@project("Youshikawa/ascendC-S2", "ascends2/xlogy")
def xlogy():
    import torch

    x, y = randn(32, 512, dtype="float16"), (randn(32, 512, seed=2).abs() + 0.1).half()
    return dict(inputs=[x, y], golden=[torch.xlogy(x.float(), y.float()).half()])


@project("Youshikawa/ascendC-S2", "ascends2/Tril/Tril")
def tril():
    x = randn(4, 48, 64)
    return dict(inputs=[x], attrs=dict(diagonal=1), golden=[x.tril(1)])


# ---- homework and exercises


@project("KiaraStark/ascendc-homework", "LayerNormCustomSample/FrameworkLaunch/LayerNormCustom", atol=1e-3)
def layer_norm():
    import torch

    x, gamma, beta = randn(48 * 36 + 7, 1024), randn(1024, seed=2), randn(1024, seed=3)
    return dict(inputs=[x, gamma, beta], golden=[torch.nn.functional.layer_norm(x, (1024,), gamma, beta)])


@project("EliwiiKeeya/my_operators_ascendc", "cann-opdev-classic/01_MyAddCustom/MyAddCustom")
def my_add():
    a, b, c = (randn(8, 2048, seed=k) for k in (1, 2, 3))
    return dict(inputs=[a, b, c], golden=[a + b + c])


@project("EliwiiKeeya/my_operators_ascendc", "cann-opdev-classic/02_MyMatmulCustom/MyMatmulCustom", "cube", atol=1e-3)
def my_matmul():
    import torch

    a, b = randn(512, 1024, dtype="float16", scale=0.5), randn(1024, 512, dtype="float16", scale=0.5, seed=2)
    return dict(inputs=[a, b], outputs=[((512, 512), torch.float32)], golden=[a.float() @ b.float()])


@project("chiparon/ascendC", "baseline/7_broadcast_frameworklaunch/BroadcastCustom")
def broadcast():
    x = randn(16, 1)
    return dict(
        inputs=[x],
        outputs=[((16, 64), x.dtype)],
        attrs=dict(bufferMode=0, dim=2, isReuseSource=0, axis=1, num=64),
        golden=[x.expand(16, 64)],
    )


@project("chiparon/ascendC", "baseline/18_unaligned_wholereduces_frameworklaunch/WholeReduceSumCustom", atol=0.05)
def whole_reduce_sum():
    import torch

    x = randn(13, 123, dtype="float16", scale=0.1)
    return dict(inputs=[x], outputs=[((13,), torch.float16)], golden=[x.float().sum(1).half()])


@project("chiparon/ascendC", "baseline/10_matmul_frameworklaunch/MatmulCustomMultiCore", "cube")
def matmul_multi_core():
    import torch

    a, b, bias = (
        randn(1024, 256, dtype="float16", scale=0.5),
        randn(256, 640, dtype="float16", scale=0.5, seed=2),
        randn(640, seed=3),
    )
    return dict(inputs=[a, b, bias], outputs=[((1024, 640), torch.float32)], golden=[a.float() @ b.float() + bias])


@project("llrnb666-arch/HPC101-AscendC-FusedRMSNorm", "src/ascendc")
def fused_add_rms_norm():
    import torch

    x, residual, weight = (
        randn(32, 1024, dtype="float16"),
        randn(32, 1024, dtype="float16", seed=2),
        randn(1024, dtype="float16", seed=3),
    )
    total = x + residual
    golden = (total.float() * torch.rsqrt(total.float().pow(2).mean(-1, keepdim=True) + 1e-6)).half() * weight
    return dict(inputs=[x, residual, weight], outputs=[(x.shape, x.dtype)] * 2, golden=[golden, total])
