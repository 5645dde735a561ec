import torch
import torch_npu
import torch.nn.functional as F

P, SAMPLES = 0.1, 300


def bracket(body):
    """Milliseconds between two device markers around `body`; the queue is empty before the first one."""
    torch.npu.synchronize()
    a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    a.record()
    body()
    b.record()
    b.synchronize()
    return a.elapsed_time(b)


def summary(label, ms):
    us = sorted(1e3 * m for m in ms)
    n = len(us)
    print(f"{label:<22} p25 {us[n // 4]:8.2f}   p50 {us[n // 2]:8.2f}   p75 {us[3 * n // 4]:8.2f}   p95 {us[int(.95 * n)]:8.2f}   max {us[-1]:8.2f}")


def behaves(x):
    """Dropout has no reference value: look at what it must fulfil instead."""
    y = F.dropout(x, P, training=True).cpu().double()
    x = x.cpu().double()
    gone = y == 0
    scaled = torch.allclose(y[~gone], x[~gone] / (1 - P), rtol=1e-5)
    share = gone.double().mean().item()
    assert scaled and abs(share - P) < 0.01
    return share


torch.manual_seed(41)
inputs = [torch.randn(128, 1024, device="npu") for _ in range(8)]
share = behaves(inputs[0])
for x in inputs + inputs:
    bracket(lambda: F.dropout(x, P, training=True))
    bracket(lambda: None)

calls, empty = [], []
for i in range(SAMPLES):
    x = inputs[i % len(inputs)]
    calls.append(bracket(lambda: F.dropout(x, P, training=True)))
    empty.append(bracket(lambda: None))

print(f"F.dropout(x, p={P}), training mode, x = 128x1024 fp32: latency of one isolated call by device events, microseconds, N={SAMPLES}")
summary("dropout", calls)
summary("markers alone", empty)
print(f"The second line is NOT subtracted from the first. {share:.2%} of the elements came out as zero, the others scaled by 1/(1-p).")
print("Since the queue is empty, the host's issuing of the call can lie between the markers as well; a call in a full queue may take less.")
print(f"Eight inputs, {8 * inputs[0].nbytes >> 20} MiB in all, take turns: warm in L2. The 17 calls before (compilation) are not among the {SAMPLES}.")
