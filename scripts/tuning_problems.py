"""The problems of scripts/tuning_trial.py, and the rule by which they are chosen.

The rule, fixed before the first run: for each program of the generator (pieces, rows, wide) two functions of notebooks
or kernels; two chains of scripts/drawn_chains.py, the first ones of seed 14 with more than 60 candidates; three kernels
that were written by hand and whose parameters are of different kinds (a template's tile, a template's step, a library's
tiling); two graphs whose fusion sets are searched, one with rows that fit UB and one with rows that do not. Sizes are
drawn by seed 14 from the ranges below, chips take turns. No problem is left out afterwards.
"""

from __future__ import annotations

import ctypes
import random
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

CHIPS = ("910B1", "910B2", "910B3", "910B4")
SEED, LEAST_CANDIDATES = 14, 60


def problems() -> dict[str, tuple[str, Callable]]:
    """name -> (kind, what makes the problem)."""
    import torch
    import torch.nn.functional as F

    r = random.Random(SEED)
    half, single = torch.float16, torch.float32
    rows, width, wide = (
        (lambda: r.randint(64, 512)),
        (lambda: r.randint(256, 3000)),
        (lambda: r.randint(15_000, 40_000)),
    )

    def empty(*shape, dtype=half):
        return torch.empty(*shape, dtype=dtype)

    m, n = rows(), width()
    made = {"swiglu": ("pieces", lambda g, u: F.silu(g) * u, (empty(m, n), empty(m, n)))}
    m, n = rows(), width()
    made["bias_gelu"] = ("pieces", lambda x, b: F.gelu(x + b), (empty(m, n, dtype=single), empty(n, dtype=single)))
    m, n = rows(), width()
    made["softmax"] = ("rows", lambda x: F.softmax(x, -1), (empty(m, n, dtype=single),))
    m, n = rows(), width()
    made["residual_norm"] = (
        "rows", lambda x, y, w: F.rms_norm(x + y, (w.shape[0],), w), (empty(m, n), empty(m, n), empty(n)),
    )  # fmt: skip
    m, n = r.randint(20, 100), wide()
    made["wide_softmax"] = ("wide", lambda x: F.softmax(x, -1), (empty(m, n, dtype=single),))
    m, n = r.randint(20, 100), wide()
    made["wide_norm"] = ("wide", lambda x: F.layer_norm(x, (x.shape[-1],)), (empty(m, n),))
    chips = iter(CHIPS * 4)
    found = {
        name: (f"generated, {kind}", _generated(name, function, tensors, next(chips)))
        for name, (kind, function, tensors) in made.items()
    }
    found |= {f"drawn_{number}": ("generated, drawn", make) for number, make in _drawn(2, chips)}
    n = r.randint(100_000, 900_000)
    found["axpy"] = ("by hand, tile", lambda chip=next(chips): _axpy(n, chip))
    m2, n2 = rows(), width()
    found["swiglu_steps"] = ("by hand, step", lambda chip=next(chips): _swiglu(m2, n2, chip))
    a, b, c = (r.randrange(256, 1025, 16) for _ in range(3))
    found["matmul"] = ("by hand, library", lambda chip=next(chips): _matmul(a, b, c, chip))
    m3, n3 = rows(), width()
    found["sets_norm"] = ("fusion sets", lambda chip=next(chips): _sets("sets_norm", m3, n3, chip))
    m4, n4 = r.randint(20, 60), wide()
    found["sets_wide"] = ("fusion sets", lambda chip=next(chips): _sets("sets_wide", m4, n4, chip))
    return found


def _generated(name: str, function, tensors, chip: str) -> Callable:
    def make():
        from labkit import fusion, tuning

        return tuning.generated(fusion.kernel(function, tensors, name=name, chip=chip, checks=False))

    return make


def _drawn(count: int, chips):
    """(number, maker) of the first chains that have enough candidates."""
    from drawn_chains import draw

    from labkit import fusion, tuning

    number = 0
    while count:
        number += 1
        chain = draw(SEED, number, wider=False)  # the rule that there was
        try:
            kernel = fusion.kernel(chain, chain.tensors(), name=f"drawn_{number}", checks=False)
            problem = tuning.generated(kernel)
        except fusion.Refused:
            continue
        if len(problem.candidates()) > LEAST_CANDIDATES:
            count -= 1
            yield number, _generated(f"drawn_{number}", chain, chain.tensors(), next(chips))


def _axpy(n: int, chip: str):
    import torch

    from labkit import device, tuning

    device.install(chip)
    x, y = (torch.zeros(n, dtype=torch.float16, device="npu") for _ in range(2))
    space = {"tile": tuple(range(1024, 16385, 1024)), "blocks": _cores(chip)}
    return tuning.written(
        "kernels/axpy/axpy.asc", space, lambda k, p: k[p["blocks"]](x, y, 2.0, n), entry="axpy<half, {tile}>",
        chip=chip, name="axpy", about=[n],
    )  # fmt: skip


def _swiglu(rows: int, width: int, chip: str):
    import torch

    from labkit import device, tuning

    device.install(chip)
    gate, up, y = (torch.zeros(rows, width, dtype=torch.float16, device="npu") for _ in range(3))
    return tuning.written(
        "kernels/swiglu/swiglu.asc",
        {"step": (0, 1, 2, 3, 4), "blocks": tuple(range(4, _cores(chip)[-1] + 1, 4))},
        lambda k, p: k[p["blocks"]](gate, up, y, rows, width, width, width), entry="swiglu<half, {step}>", chip=chip,
        name="swiglu_steps", about=[rows, width],
    )  # fmt: skip


ITERATE_ORDER = 17  # of the words of TCubeTiling: 0 walks down C first, 1 across


def _matmul(m: int, n: int, k: int, chip: str):
    """The Matmul object: base blocks, cores, which of its two ways to load; make_tiling on the host says what goes."""
    import torch

    import labkit
    from labkit import chips, device, tuning
    from labkit.launch.host_function import host_function

    device.install(chip)
    file = "kernels/matmul/matmul.asc"
    make = host_function(labkit.kernel(file, entry="product_mdl"), "make_tiling")
    cores = int(chips.load(chip)["cores"]["aic"])
    a, b = (torch.zeros(*s, dtype=torch.float16, device="npu") for s in ((m, k), (k, n)))
    c = torch.zeros(m, n, device="npu")
    room = torch.zeros(1 << 20, dtype=torch.uint8, device="npu")
    words: dict[tuple, object] = {}

    def tiling(p):
        key = tuple(p[x] for x in ("cores", "m", "n", "k"))
        if key not in words:
            made = (ctypes.c_int32 * 50)()
            words[key] = None if make(m, n, k, *key, made) else made
        return words[key]

    def launch(kernel, p):
        mine = type(tiling(p)).from_buffer_copy(tiling(p))
        mine[ITERATE_ORDER] = p["order"]
        return kernel[mine[0]](a, b, c, room, mine)

    space = {
        "load": ("norm", "mdl"),
        "cores": tuple(sorted({4, 8, 12, 16, cores})),
        "m": (32, 64, 128, 256),
        "n": (32, 64, 128, 256),
        "k": (64, 128),
        "order": (0, 1),
    }
    return tuning.written(
        file, space, launch, entry="product_{load}", chip=chip,
        refuse=lambda p: None if tiling(p) else "GetTiling returned -1", name="matmul", about=[m, n, k],
    )  # fmt: skip


def _cores(chip: str) -> tuple[int, ...]:
    from labkit import chips

    cores = int(chips.load(chip)["cores"]["aiv"])
    return tuple(sorted({1, 2, 4, 8, 12, 16, 24, 32, cores - 8, cores}))


def _sets(name: str, rows: int, width: int, chip: str):
    import torch
    import torch.nn.functional as F

    from labkit import tuning

    x, y, w = torch.empty(rows, width), torch.empty(rows, width), torch.empty(width)

    def norm(x, y, w):
        h = x + y
        return F.softmax(F.silu(F.layer_norm(h, (width,), w)) * y, -1) * 0.5, h

    def wide(x, y, w):
        h = torch.exp(x) * y
        low = h - h.amin(-1, keepdim=True)
        return torch.sigmoid(low / (low.sum(-1, keepdim=True) + 1.0)) * w

    return tuning.sets(norm if name == "sets_norm" else wide, (x, y, w), chip=chip, name=name)
