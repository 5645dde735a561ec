"""What the simulated device costs: an operator beyond the CPU's own, the import,
its first build, an operator's build.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from labkit.paths import kernels_dir
from speed.timing import Row, alternately, seconds

_CALLS = 500
_DISPATCH, _IMPORT, _BUILD, _ADAPTER = 8e-6, 0.2, 30.0, 12.0  # the bars, in seconds


def rows() -> list[Row]:
    return [_dispatch(), _import(), _adapter()]


def _dispatch() -> Row:
    """The worst of four small operators: seconds a call beyond the same operator on the CPU."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # a call, and not the waking of a second thread
    found = []
    for name, make in (
        ("add", lambda x, y: x + y),
        ("add_", lambda x, y: x.add_(1)),
        ("mm", lambda x, y: x @ y),
        ("softmax", lambda x, y: x.softmax(-1)),
    ):

        def calls(device: str):
            x, y = torch.rand(16, 16, device=device), torch.rand(16, 16, device=device)

            def run():
                for _ in range(_CALLS):
                    make(x, y)

            return run

        ours, theirs = alternately(calls("npu"), calls("cpu"), rounds=41)
        found.append(((ours - theirs) / _CALLS, ours / _CALLS, theirs / _CALLS, name))
    torch.set_num_threads(threads)
    extra, ours, theirs, name = max(found)
    return Row(
        f"an ATen operator on npu beyond the CPU's / 8 us (worst of 4: {name})",
        ours,
        theirs,
        extra / _DISPATCH,
        "<= 1.0",
    )


def _import() -> Row:
    def script(code: str):
        return lambda: subprocess.run(
            [sys.executable, "-c", code], check=True, env={**os.environ, "LABKIT_DEVICE": "sim"}
        )

    ours, theirs = alternately(script("import labkit, torch; torch.npu"), script("import torch"), rounds=7)
    return Row("importing labkit and torch beyond torch / 0.2 s", ours, theirs, (ours - theirs) / _IMPORT, "<= 1.0")


def _adapter() -> Row:
    import labkit

    file = kernels_dir() / "silu" / "silu_torch.asc"
    fresh = f"{file.read_text(encoding='utf-8')}\n// {os.getpid()} {time.time_ns()}\n"
    took = seconds(lambda: labkit.register(text=fresh, filename=str(file)))
    return Row("building an operator's C++ side / 12 s", took, _ADAPTER, took / _ADAPTER, "<= 1.0")


def slow_rows() -> list[Row]:
    """The device's library, built into an empty cache."""
    with tempfile.TemporaryDirectory(prefix="labkit-bench-") as empty:
        code = "from labkit.device import build; build.library()"
        env = {**os.environ, "LABKIT_CACHE": empty, "LABKIT_DEVICE": "none"}
        took = seconds(
            lambda: subprocess.run([sys.executable, "-c", code], check=True, env=env, stderr=subprocess.DEVNULL)
        )
    return [Row("first build of the simulated device / 30 s", took, _BUILD, took / _BUILD, "<= 1.0")]
