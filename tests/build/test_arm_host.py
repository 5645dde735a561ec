"""The same bits, times and findings where the twin is that of an Arm host: scripts/arm_host.py."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from drawn import one_in

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("arm_host", ROOT / "scripts" / "arm_host.py")
arm_host = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(arm_host)

LAUNCHES = """
import hashlib
import numpy as np
import torch
import labkit

def numbers(*shape, dtype=np.float32):  # some at the ends of fp16's range, and a NaN
    some = np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)
    some.reshape(-1)[:: 97] *= 3e4
    some.reshape(-1)[5] = np.nan
    with np.errstate(over="ignore"):
        return some.astype(dtype)

def launch(file, entry, blocks, out, *args):
    out = torch.from_numpy(out).npu()
    args = [torch.from_numpy(a).npu() if isinstance(a, np.ndarray) else out if a is ... else a for a in args]
    record = labkit.kernel(file, entry=entry)[blocks](*args)
    got = out.cpu().numpy()
    digest = hashlib.sha256(got.tobytes()).hexdigest()[:16]
    print(entry, digest, f"{record.time_us:.6f}", record.codes(), bool(np.isfinite(got).sum() > 99))

HALF = np.float16
launch("kernels/softmax/softmax.asc", "softmax_rows<float>", 4, np.zeros((20, 77), np.float32), numbers(20, 77), ..., 20, 77)
launch("kernels/softmax/softmax.asc", "softmax_rows<half>", 4, np.zeros((20, 77), HALF), numbers(20, 77, dtype=HALF), ..., 20, 77)
for t, name in (HALF, "half"), (np.float32, "float"):
    launch("kernels/swiglu/swiglu.asc", f"swiglu<{name}>", 8, np.zeros((24, 96), t), numbers(24, 96, dtype=t),
           numbers(24, 97, dtype=t)[:, 1:].copy(), ..., 24, 96, 96, 96)
launch("kernels/matmul/cube.asc", "cube_product<2>", 1, np.zeros((80, 64), np.float32), numbers(80, 128, dtype=HALF) / HALF(64),
       numbers(128, 64, dtype=HALF), ..., 80, 64, 128)
"""


# Four minutes, most of them a second compiler's over the whole twin: in one of six states of what it is made of.
@pytest.mark.skipif(
    not one_in(6, "arm", [ROOT / "labkit" / "twin", ROOT / "scripts"]),
    reason="Not this time: LABKIT_DRAWN=all runs it.",
)
@pytest.mark.skipif(bool(arm_host.missing()), reason=f"not here: {', '.join(arm_host.missing())}")
def test_an_arm_host_computes_the_same():
    command = [sys.executable, "-c", LAUNCHES]
    here, arm = (
        subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
        for env in (None, arm_host.environment())
    )
    assert here.returncode == 0, here.stderr
    assert arm.returncode == 0, arm.stderr
    assert len(here.stdout.splitlines()) == 5 and "False" not in here.stdout
    assert arm.stdout == here.stdout


def test_without_the_compiler_it_says_what_to_install(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert arm_host.main(["true"]) == 2
    assert "apt-get install g++-aarch64-linux-gnu qemu-user-static" in capsys.readouterr().err
