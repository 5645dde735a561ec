"""Cases of the exercises on compiling and launching: y = a x + y, its instantiations, its host program, its launches."""
from __future__ import annotations

import struct

import torch

from labkit.exercise import Case, InOut

FACTOR = 1.5
UB_BYTES = 192 * 1024 - 8 * 1024
DTYPES = {"half": torch.half, "float": torch.float}


def expected(x, y, a=FACTOR):
    """The product is rounded before the sum, as Muls and Add do it."""
    return x * torch.tensor(a, dtype=x.dtype) + y


def typed_cases(seed, quick):
    """(element type, n, blocks); the last one is timed."""
    g = torch.Generator().manual_seed(seed)
    made = []
    for name, n, blocks in (("half", 777, 1), ("float", 50_257, 2), ("half", 400_000, 2))[1 if quick else 0:]:
        x, y = (torch.randn(n, generator=g).to(DTYPES[name]) for _ in range(2))
        made.append(Case(f"{name} n={n}", (x, InOut(y), FACTOR, n), expected(x, y), blocks=blocks, timed=n == 400_000))
    return made


def run_typed(kernel, args, case):
    """The instantiation that the case's dtype asks for."""
    import labkit
    name = "half" if args[0].dtype is torch.half else "float"
    wanted = f"axpy<{name}>"
    if kernel.entry != wanted:
        kernel = labkit.kernel(text=kernel.text, filename=kernel.filename, entry=wanted)
    return kernel[case.blocks](*args)


def pick_cases(seed, quick):
    """(dtype, n, blocks) -> instantiation: the largest tile that leaves each block two tiles or more."""
    asked = [("half", 1 << 20, 8), ("float", 1 << 20, 8), ("half", 65_536, 8), ("float", 777, 1), ("half", 8 * 2 * 2048, 8), ("half", 8 * 2 * 2048 - 1, 8),
             ("float", 48 * 2 * 4096, 48)]
    tiles = {"half": (512, 2048, 8192, 15_360), "float": (512, 2048, 4096, 7680)}
    made = []
    for name, n, blocks in asked[:4] if quick else asked:
        tile = max([t for t in tiles[name] if n >= 2 * t * blocks], default=tiles[name][0])
        made.append(Case(f"{name} n={n} blocks={blocks}", (name, n, blocks), f"axpy<{name}, {tile}>"))
    return made


def macro_cases(seed, quick):
    """x in half, any length: the kernel copies whole units of 32 bytes into a buffer that is longer."""
    g = torch.Generator().manual_seed(seed)
    made = []
    for n in (16, 250) if quick else (16, 31, 250, 256):
        x, y = (torch.randn(n, generator=g).half() for _ in range(2))
        room = (n + 15) // 16 * 16
        x, y = (torch.cat([t, torch.zeros(room - n).half()]) for t in (x, y))
        made.append(Case(f"n={n}", (x, InOut(y), FACTOR, n), expected(x, y), blocks=1, tile=16))
    return made
