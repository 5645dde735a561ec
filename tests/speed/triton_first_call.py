"""A process whose first call of a Triton kernel of 60 lines is timed: prints its seconds, beyond a first call of one
line, which loads Triton and the twin. With an empty TRITON_CACHE_DIR the kernel is lowered and built.
"""

from __future__ import annotations

import os
from pathlib import Path

import torch
import triton
import triton.language as tl

import labkit  # noqa: F401
from speed.timing import seconds

_STEPS = 12  # five lines each: a norm, a gate, a clip


@triton.jit
def _copy(x, z, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(z + at, tl.load(x + at))


def main() -> None:
    x = torch.ones(1024).npu()
    z = torch.zeros_like(x)
    _copy[(1,)](x, z, BLOCK=1024)
    folder = Path(os.environ["TRITON_CACHE_DIR"])
    file = folder / "sixty.py"  # Triton reads a kernel's text from its file
    if not file.exists():
        file.write_text(_text(f"{os.getpid()}.0"))
    names: dict = {"tl": tl, "triton": triton}
    exec(compile(file.read_text(), str(file), "exec"), names)
    print(seconds(lambda: names["sixty"][(1,)](x, z, 1024, BLOCK=1024)))


def _text(number: str) -> str:
    """The kernel; `number` stands in it, so that no cache has it."""
    lines = [
        "@triton.jit",
        "def sixty(x, z, n, BLOCK: tl.constexpr):",
        "    at = tl.arange(0, BLOCK)",
        "    v = tl.load(x + at, mask=at < n, other=0.0)",
        f"    v = v + {number}",
    ]
    for i in range(_STEPS):
        lines += [
            f"    mean{i} = tl.sum(v, axis=0) / n",
            f"    apart{i} = tl.where(at < n, v - mean{i}, 0.0)",
            f"    v = apart{i} * tl.rsqrt(tl.sum(apart{i} * apart{i}, axis=0) / n + 1e-5)",
            f"    v = v / (1 + tl.exp(-v)) + {i}.0",
            "    v = tl.minimum(tl.maximum(v, -8.0), 8.0)",
        ]
    return "\n".join([*lines, "    tl.store(z + at, v, mask=at < n)", ""])


main()
