"""RMS norms of several epsilons, eager against torch.compile, in paired rounds."""
import os
import random
import tempfile
import time

os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp()     # nothing left over from an earlier run

import torch
import torch_npu

DEV = "npu"
CALLS = 40
SHAPE = (256, 1024)
EPSILONS = [10 ** -random.uniform(5, 6) for _ in range(6)]     # a norm of its own for each pair


def make_norm(eps):
    def rms_norm(x, w):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * w
    return rms_norm


def eager_round(fn, inputs, w):
    for i in range(CALLS):
        out = fn(inputs[i % len(inputs)], w)
    return out


def compiled_round(norm, inputs, w):
    torch._dynamo.reset()
    return eager_round(torch.compile(norm, dynamic=False), inputs, w)


def clock(fn, *args):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    out = fn(*args)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) / CALLS * 1e6, out


def spread(v):
    v = sorted(v)
    mid = (v[len(v) // 2 - 1] + v[len(v) // 2]) / 2
    return f"mean {sum(v) / len(v):.3f}, median {mid:.3f}, range {v[0]:.3f} .. {v[-1]:.3f}"


torch.manual_seed(21)
inputs = [torch.randn(SHAPE).to(DEV) for _ in range(3)]
w = torch.randn(SHAPE[-1]).to(DEV)
for fn in (eager_round, compiled_round):
    clock(fn, make_norm(1e-4), inputs, w)

eager, compiled = [], []
for r, eps in enumerate(EPSILONS):
    norm = make_norm(eps)
    got = {}
    for fn in ((eager_round, compiled_round) if r % 2 == 0 else (compiled_round, eager_round)):
        got[fn] = clock(fn, norm, inputs, w)
    torch.testing.assert_close(got[eager_round][1], got[compiled_round][1], atol=1e-4, rtol=1e-4)
    eager.append(got[eager_round][0])
    compiled.append(got[compiled_round][0])

print(f"rms_norm {SHAPE} float32: {len(EPSILONS)} paired rounds of {CALLS} calls, one epsilon each, who begins alternates")
print(f"     eager us/call: {spread(eager)}")
print(f"  compiled us/call: {spread(compiled)}")
print(f"  compiled / eager: {spread([c / e for c, e in zip(compiled, eager)])}")
print("us/call: one rms_norm of a running model at this shape, inputs in cache, back-to-back calls, launch included.")
