"""Launches of the operators' kernels in kernels/: for every kernel the sizes where it can go wrong,
its arguments and what must come out.
"""

from __future__ import annotations

import torch
from ops_lab import close, golden, laid, module, values

import labkit
from labkit import paths

TIMES = module("operator_times", paths.repo_root() / "scripts" / "operator_times.py")
GOLD = {name: golden(name) for name in ("swiglu", "rms_norm", "bias_gelu")}


def empty(*shape, dtype=torch.float32):
    return torch.empty(shape, dtype=dtype, device="npu")


def apart(x):
    """How far the rows lie from each other."""
    return x.stride(0) if x.shape[0] > 1 else x.shape[1]


def span(x):
    """The memory from the first element of the rows to the last."""
    return x.as_strided(((x.shape[0] - 1) * apart(x) + x.shape[1],), (1,))


def _gated(rows, width, dtype):
    gate, up, grad = (values((rows, width), dtype, i) for i in range(3))
    gate[-1, 0], gate[0, -1] = -60, 60  # exp of it is infinite in half, 1 + exp of its negative is 1
    return gate, up, grad


def swiglu(kernel, rows, width, blocks, dtype):
    gate, up, _ = _gated(rows, width, dtype)
    g, u, y = laid(gate, "packed"), laid(up, "offset"), empty(rows, width, dtype=dtype)
    yield kernel[blocks](span(g), span(u), y, rows, width, apart(g), apart(u))
    yield y, GOLD["swiglu"].swiglu(gate, up), 1e-6


def swiglu_backward(kernel, rows, width, blocks, dtype):
    gate, up, grad = _gated(rows, width, dtype)
    d, g, u = laid(grad, "offset"), laid(gate, "packed"), laid(up, "packed")
    made = empty(rows, width, dtype=dtype), empty(rows, width, dtype=dtype)
    yield kernel[blocks](span(d), span(g), span(u), *made, rows, width, apart(d), apart(g), apart(u))
    yield from zip(made, GOLD["swiglu"].backward(grad, gate, up), (GOLD["swiglu"].terms(grad, gate, up), 1e-6))


def _normal(rows, width, dtype):
    """Rows of very different size: of the smallest ones eps is a part."""
    x = values((rows, width), torch.float64, 0) * torch.logspace(-3, 1, rows, dtype=torch.float64)[:, None]
    x, weight, dy = x.to(dtype), values((width,), dtype, 1, 1.0), values((rows, width), dtype, 2, 1.0)
    return x, weight, dy, *GOLD["rms_norm"].rms_norm(x, weight)


def rms_norm(kernel, rows, width, blocks, dtype):
    x, weight, _, want, statistic = _normal(rows, width, dtype)
    on, y, rstd = laid(x, "packed"), empty(rows, width, dtype=dtype), empty(rows, 1)
    yield kernel[blocks](span(on), laid(weight, "offset"), y, rstd, rows, width, apart(on), 1e-6)
    yield from ((y, want, 1e-6), (rstd, statistic, 0))


def rms_norm_backward(kernel, rows, width, blocks, dtype, groups=None):
    x, weight, dy, _, statistic = _normal(rows, width, dtype)
    d, on, dx = laid(dy, "offset"), laid(x, "packed"), empty(rows, width, dtype=dtype)
    each = -(-rows // groups) if groups else 0
    parts = empty(-(-rows // each) if groups else blocks, width)
    yield kernel[blocks](
        span(d),
        span(on),
        weight.npu(),
        statistic.npu(),
        dx,
        parts,
        rows,
        width,
        apart(d),
        apart(on),
        *[each] * bool(groups),
    )
    made = dx, parts.cpu().sum(0).to(dtype)
    yield from zip(
        made, GOLD["rms_norm"].backward(dy, x, weight, statistic), GOLD["rms_norm"].terms(dy, x, weight, statistic)
    )


def rms_norm_wide_backward(kernel, rows, width, blocks, dtype):
    yield from rms_norm_backward(kernel, rows, width, blocks, dtype, groups=blocks + 1)


def _biased(rows, width, dtype):
    x, bias, dy = (
        values((rows, width), dtype, 0, 3.0),
        values((width,), dtype, 1, 2.0),
        values((rows, width), dtype, 2, 1.0),
    )
    x[-1, -1] = -5.5 - bias[-1]  # where 1 + tanh has few digits left
    return x, bias, dy


def bias_gelu(kernel, rows, width, blocks, dtype):
    x, bias, dy = _biased(rows, width, dtype)
    on, y = laid(x, "packed"), empty(rows, width, dtype=dtype)
    yield kernel[blocks](span(on), laid(bias, "offset"), y, rows, width, apart(on))
    yield y, GOLD["bias_gelu"].bias_gelu(x, bias), GOLD["bias_gelu"].terms(dy, x, bias)[0]


def bias_gelu_backward(kernel, rows, width, blocks, dtype):
    x, bias, dy = _biased(rows, width, dtype)
    d, on, dx, parts = (
        laid(dy, "offset"),
        laid(x, "packed"),
        empty(rows, width, dtype=dtype),
        torch.zeros(blocks, width, device="npu"),
    )
    yield kernel[blocks](span(d), span(on), bias.npu(), dx, parts, rows, width, apart(d), apart(on))
    yield from zip(
        (dx, parts.cpu().sum(0).to(dtype)),
        GOLD["bias_gelu"].backward(dy, x, bias),
        GOLD["bias_gelu"].terms(dy, x, bias)[1:],
    )


_SMALL = ((1, 1, 3), (7, 33, 3), (600, 16, 2), (100, 100, 4), (40, 500, 2), (9, 4096, 2), (2, 5120, 1))
_GATED = ((1, 5000, 3), (37, 33, 2), (3, 11008, 5), (5, 20000, 4), (20, 10240, 1))  # the last: full tiles
_BIASED = ((1, 1, 3), (7, 33, 3), (100, 100, 4), (9, 4096, 2), (3, 12000, 5))
_WIDE = ((1, 1, 1), (5, 20001, 3), (2, 10007, 2))
WAYS = {  # a kernel: what runs it, and (rows, width, blocks)
    "swiglu": (swiglu, _GATED),
    "swiglu_backward": (swiglu_backward, _GATED),
    "rms_norm": (rms_norm, _SMALL),
    "rms_norm_backward": (rms_norm_backward, _SMALL),
    "rms_norm_wide": (rms_norm, _WIDE),
    "rms_norm_wide_backward": (rms_norm_wide_backward, _WIDE),
    "bias_gelu": (bias_gelu, _BIASED),
    "bias_gelu_backward": (bias_gelu_backward, _BIASED),
}


def name_of(dtype) -> str:
    return str(dtype).removeprefix("torch.")


def build(way: str, dtype, step: int | None = None, text: str | None = None, **more):
    """The kernel, or what `text` makes of it."""
    path = paths.kernels_dir() / TIMES.LAUNCHES[way].file
    given = {"path": path} if text is None else {"text": text, "filename": str(path)}
    return labkit.kernel(**given, entry=TIMES.entry(way, name_of(dtype), step), **more)


def wrong(way: str, kernel, dtype, until: str = "") -> list[str]:
    """What is wrong with a kernel: codes of findings, "numbers" where results are off, "bits" where 16-bit results are
    not those that were rounded once. until: it is enough when this is found."""
    run, shapes = WAYS[way]
    found = []
    for rows, width, blocks in shapes:
        steps = run(kernel, rows, width, blocks, dtype)
        try:
            found += next(steps).codes()
        except labkit.launch.record.LaunchError as error:
            found += error.record.codes()
            continue
        for number, (got, want, scale) in enumerate(steps):
            try:
                close(got, want, 8 if want.dtype == torch.float32 else 2, scale)
            except AssertionError:
                found.append("numbers")
            if (
                number == 0
                and dtype != torch.float32
                and want.numel() > 100
                and (got.cpu() == want).double().mean() < 0.98
            ):
                found.append("bits")
        if until in found:
            break
    return list(dict.fromkeys(found))
