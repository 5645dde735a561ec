"""How fast the twin computes: one thread, 16 KB tiles, all checks on, against torch's own CPU operators."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from speed.timing import Row, alternately

_KERNELS = Path(__file__).parent / "kernels"
_N = 1 << 23  # elements of the element-wise cases: large enough for a launch's fixed cost, small enough that torch's
# results come from its heap and not, page by page, from the system
_ROWS, _WIDTH = 4096, 1024


def _cases():
    """(name, kernel arguments, torch operator on the same CPU tensors, bar, elements)."""
    import torch

    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(_N, generator=generator).half() for _ in range(2))
    out = torch.empty_like(a)
    x = torch.randn(_ROWS, _WIDTH, generator=generator)
    gate = torch.empty_like(a)
    probabilities = torch.empty_like(x)

    def swiglu():  # into memory that is there already: torch at its best
        torch.ops.aten.silu.out(a, out=gate)
        return torch.mul(gate, b, out=out)

    yield "add", (a, b, torch.zeros_like(a), _N), lambda: torch.add(a, b, out=out), 2.5
    yield "swiglu", (a, b, torch.zeros_like(a), _N), swiglu, 3.0
    yield "softmax", (x, torch.zeros_like(x), _ROWS, _WIDTH), lambda: torch.softmax(x, 1, out=probabilities), 3.5


def _launcher(name: str, arguments):
    """A call that launches, the result tensor, and the same launch without the checks."""
    import torch

    import labkit

    on_device = [t.npu() if isinstance(t, torch.Tensor) else t for t in arguments]
    path = _KERNELS / f"{name}.asc"
    kernel, bare = labkit.kernel(path), labkit.kernel(path, checks=False)
    result = [t for t in on_device if isinstance(t, torch.Tensor)][-1]
    return lambda: kernel[1](*on_device), result, lambda: bare[1](*on_device)


def rows() -> list[Row]:
    """Twin against torch, one thread each; and the twin with its checks against the twin without."""
    import torch

    found = []
    threads, torch_threads = os.environ.get("LABKIT_THREADS"), torch.get_num_threads()
    os.environ["LABKIT_THREADS"] = "1"
    torch.set_num_threads(1)
    try:
        for name, arguments, reference, bar in _cases():
            launch, result, bare = _launcher(name, arguments)
            assert launch().ok
            torch.testing.assert_close(result.cpu(), reference(), rtol=4e-3, atol=4e-3)
            ours, theirs = alternately(launch, reference)
            found.append(Row(f"{name}: twin / torch CPU", ours, theirs, ours / theirs, f"<= {bar}"))
            checked, unchecked = alternately(launch, bare, rounds=7)
            found.append(Row(f"{name}: checks on / off", checked, unchecked, checked / unchecked, "<= 1.5"))
    finally:
        torch.set_num_threads(torch_threads)
        if threads is None:
            del os.environ["LABKIT_THREADS"]
        else:
            os.environ["LABKIT_THREADS"] = threads
    return found


def matmul_row() -> Row:
    """The rate of a 512 x 512 x 512 half product by a Matmul object, as a part of torch's fp32 rate;
    all host threads each.
    """
    import torch

    import labkit

    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(512, 512, generator=generator) for _ in range(2))
    kernel = labkit.kernel(_KERNELS / "matmul.asc")
    x, y, z, work = (
        a.half().npu(),
        b.half().npu(),
        torch.zeros(512, 512).npu(),
        torch.zeros(1 << 20, dtype=torch.uint8).npu(),
    )
    assert kernel[2](x, y, z, work).ok
    torch.testing.assert_close(z.cpu(), a.half().float() @ b.half().float(), rtol=1e-3, atol=1e-3)
    out = torch.empty(512, 512)
    ours, theirs = alternately(lambda: kernel[2](x, y, z, work), lambda: torch.mm(a, b, out=out), rest=0.01)
    return Row("matmul 512: rate of torch fp32 reached", ours, theirs, theirs / ours, ">= 0.25")


def triton_rows() -> list[Row]:
    """Triton kernels lowered to the twin, all checks on, against Triton's interpreter; and what lowering and building
    one takes. Empty where triton is not installed.
    """
    try:
        from speed import triton_kernels
    except ImportError:
        return []
    ours = triton_kernels.measured("npu", rounds=5)
    tests = str(Path(__file__).parents[1])
    words = {**os.environ, "TRITON_INTERPRET": "1", "LABKIT_DEVICE": "none"}
    words["PYTHONPATH"] = os.pathsep.join(filter(None, [tests, os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-m", "speed.triton_kernels"]
    theirs = json.loads(subprocess.run(command, env=words, check=True, capture_output=True, text=True).stdout)
    found = [
        Row(f"Triton {name}: interpreter / twin", ours[name], theirs[name], theirs[name] / ours[name], ">= 100")
        for name in ours
    ]
    with tempfile.TemporaryDirectory() as folder:
        script = [sys.executable, str(Path(__file__).with_name("triton_first_call.py"))]
        words = {**os.environ, "TRITON_CACHE_DIR": folder}
        cold, cached = (float(subprocess.check_output(script, env=words, text=True)) for _ in range(2))
    found.append(Row("lowering and building 60 lines of Triton / 1.5 s", cold, 1.5, cold / 1.5, "<= 1.0"))
    found.append(Row("the same in the next process / 0.1 s", cached, 0.1, cached / 0.1, "<= 1.0"))
    return found
