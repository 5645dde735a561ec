"""How long a learner waits: from an edited kernel to a checked result, and from an unchanged one."""

from __future__ import annotations

import itertools
import time

from labkit.paths import kernels_dir
from speed.timing import Row, seconds

_COLD_BAR, _WARM_BAR = 0.9, 0.1  # seconds
_edits = itertools.count()


def _checked(text: str, x, y, z) -> None:
    """Build, launch on 8 blocks and compare with torch: what one press of the run key does."""
    import torch

    import labkit

    kernel = labkit.kernel(text=text, filename="add.asc")
    kernel[8](x, y, z, {"blockLength": x.numel() // 8, "tileLength": 2048})
    assert torch.equal(z.cpu(), x.cpu() + y.cpu())


def _tensors():
    import torch

    n = 8 * 4096
    x, y = (torch.randn(n).half().npu() for _ in range(2))
    return x, y, torch.zeros_like(x)


def _edited() -> str:
    """The add kernel with a line that no earlier build has seen."""
    text = (kernels_dir() / "add" / "add.asc").read_text(encoding="utf-8")
    return f"{text}\n// edit {time.time_ns()} {next(_edits)}\n"


def rows() -> list[Row]:
    tensors = _tensors()
    text = _edited()
    _checked(text, *tensors)  # the twin and the device are built by now
    warm = min(seconds(lambda: _checked(text, *tensors)) for _ in range(5))
    cold = sorted(seconds(lambda: _checked(_edited(), *tensors)) for _ in range(5))[2]
    return [
        Row(
            "edit to checked, kernel changed", cold, _COLD_BAR, cold / _COLD_BAR, "<= 1", "compared with the bar itself"
        ),
        Row(
            "edit to checked, kernel unchanged",
            warm,
            _WARM_BAR,
            warm / _WARM_BAR,
            "<= 1",
            "compared with the bar itself",
        ),
    ]


_INLINE = "torch::Tensor twice(torch::Tensor x) { return x + x; }"


def slow_rows() -> list[Row]:
    """torch.utils.cpp_extension.load_inline of a one-line operator against our whole loop. Needs ninja."""
    import shutil
    import tempfile

    from torch.utils.cpp_extension import load_inline

    tensors = _tensors()
    _checked(_edited(), *tensors)
    folder = tempfile.mkdtemp()
    try:
        theirs = seconds(
            lambda: load_inline(f"twice_{time.time_ns()}", _INLINE, functions=["twice"], build_directory=folder)
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    ours = sorted(seconds(lambda: _checked(_edited(), *tensors)) for _ in range(5))[2]
    return [Row("load_inline of one line / our whole loop", ours, theirs, theirs / ours, ">= 40")]
