"""What the twin costs beside the arithmetic: an instruction's book-keeping, a second host core, a compilation."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path

from speed.timing import Row, alternately, seconds

_KERNELS = Path(__file__).parent / "kernels"
_INSTRUCTIONS = 200_000


@contextmanager
def _threads(n: int):
    before = os.environ.get("LABKIT_THREADS")
    os.environ["LABKIT_THREADS"] = str(n)
    try:
        yield
    finally:
        if before is None:
            del os.environ["LABKIT_THREADS"]
        else:
            os.environ["LABKIT_THREADS"] = before


def rows() -> list[Row]:
    """Seconds an instruction against 100 ns; 48 blocks on one host core against two;
    compile times against their bars.
    """
    return [_instruction(), *_event_pass(), _two_cores(), *_compilations()]


def _instruction() -> Row:
    import torch

    import labkit

    kernel, x = labkit.kernel(_KERNELS / "instructions.asc"), torch.zeros(8).npu()
    full, empty = alternately(lambda: kernel[1](x, _INSTRUCTIONS), lambda: kernel[1](x, 1))
    each = (full - empty) / _INSTRUCTIONS
    return Row("an instruction of 8 floats / 100 ns", each, 100e-9, each / 100e-9, "<= 1.0")


def _event_pass() -> list[Row]:
    """Ten million instructions on 48 cores, launch and event pass together; and how the time grows from 2.5 million."""
    import torch

    import labkit

    kernel, x = labkit.kernel(_KERNELS / "instructions.asc", timing_only=True, timeout=60), torch.zeros(8).npu()
    took = [min(seconds(lambda: kernel[48](x, n // 48)) for _ in range(2)) for n in (2_500_000, 5_000_000, 10_000_000)]
    return [
        Row("10 million instructions timed / 6 s", took[2], 6.0, took[2] / 6.0, "<= 1.0"),
        Row("the same / four times a quarter of it", took[2], 4 * took[0], took[2] / (4 * took[0]), "<= 1.2"),
    ]


def _two_cores() -> Row:
    import torch

    import labkit

    kernel, x = labkit.kernel(_KERNELS / "exponents.asc"), torch.zeros(8).npu()

    def on(n: int):
        def launch():
            with _threads(n):
                kernel[48](x, 1600)

        return launch

    one, two = alternately(on(1), on(2), rounds=7)
    return Row("48 blocks: one host core / two", two, one, one / two, ">= 1.7")


def _compilations() -> list[Row]:
    import labkit

    found = []
    for what, name, bar in (("a kernel of tier 1", "swiglu", 1.5), ("one with a Matmul object", "matmul", 4.0)):
        file = _KERNELS / f"{name}.asc"
        if file.exists():
            texts = iter([f"{file.read_text()}\n// {os.getpid()} {i}\n" for i in range(3)])  # never in the cache
            took = min(seconds(lambda: labkit.kernel(text=next(texts), filename=str(file))) for _ in range(3))
            found.append(Row(f"compiling {what} / {bar} s", took, bar, took / bar, "<= 1.0"))
    return found
