"""How long does a user wait for torch.compile? And for a call after that?"""
import torch
import torch_npu
import time

import numpy as np

SHAPE, COMPILATIONS, CALLS = (256, 512), 10, 4
torch.set_num_threads(1)
torch.manual_seed(6)
x = torch.randn(SHAPE).npu()
shift = torch.randn(SHAPE[-1]).npu()


def function(t):
    return torch.nn.functional.gelu(t * 0.5 + shift) - t.mean(-1, keepdim=True)


def seconds(call):
    torch.npu.synchronize()
    begin = time.perf_counter()
    result = call()
    torch.npu.synchronize()
    return time.perf_counter() - begin, result


def fresh():
    torch._dynamo.reset()
    return torch.compile(function, backend="aot_eager")


for _ in range(10):
    expected = function(x)
for _ in range(2):
    fresh()(x)
torch.npu.synchronize()

first, later = [], []
for _ in range(COMPILATIONS):
    compiled = fresh()
    spent, result = seconds(lambda: compiled(x))
    torch.testing.assert_close(result.cpu(), expected.cpu())
    first.append(spent * 1e3)
    for _ in range(3):
        compiled(x)
    for _ in range(CALLS):
        spent, result = seconds(lambda: compiled(x))
        later.append(spent * 1e6)

print(f"torch.compile, backend aot_eager, function of a {SHAPE[0]} x {SHAPE[1]} float32 tensor")
p10, p50, p90 = np.percentile(first, [10, 50, 90])
print("Compilation: the first call after torch._dynamo.reset(), wall time with tracing and compilation in it, which is the subject.")
print("    Operators were loaded before, and two compilations went ahead unmeasured.")
print(f"    P10 {p10:.2f} ms, P50 {p50:.2f} ms, P90 {p90:.2f} ms, {len(first)} compilations")
p10, p50, p90 = np.percentile(later, [10, 50, 90])
print("A call when all is compiled: wall time of one call and the wait for it, from the fourth call after the compilation on.")
print(f"    P10 {p10:.1f} us, P50 {p50:.1f} us, P90 {p90:.1f} us, {len(later)} calls")
