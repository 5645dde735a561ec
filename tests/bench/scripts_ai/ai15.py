"""cross_entropy forward, with what is kept and what is set aside both on the table."""
from contextlib import ExitStack, contextmanager

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

CALLS = 1000


class Sink(list):
    def us(self):
        return np.array([1e3 * a.elapsed_time(b) for a, b in self])


@contextmanager
def bracketed(sink):
    a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    a.record()
    try:
        yield
    finally:
        b.record()
        sink.append((a, b))


@contextmanager
def read_out(title):
    """Gives a sink; when the block ends, waits for the device and prints all about it."""
    sink = Sink()
    yield sink
    torch.npu.synchronize()
    us = sink.us()
    fence = 1.5 * np.median(us)
    slow = us[us > fence]
    rest = us[us <= fence]
    p50, p90, p99 = np.percentile(us, [50, 90, 99])
    print(f"{title}\n   all {len(us)} calls:      mean {us.mean():7.2f}  P50 {p50:7.2f}  P90 {p90:7.2f}  P99 {p99:7.2f}  max {us.max():8.2f} us")
    if len(slow):
        print(f"   without {len(slow)} slow ones ({len(slow) / len(us):.1%}, beyond 1.5 medians, up to {slow.max():.1f} us): mean {rest.mean():7.2f} us.")
    else:
        print("   none beyond 1.5 medians")


def prepared(rows, classes, smoothing):
    gen = torch.Generator().manual_seed(classes)
    logits, target = torch.randn(rows, classes, generator=gen), torch.randint(classes, (rows,), generator=gen)
    d_logits, d_target = logits.npu(), target.npu()

    def call():
        return F.cross_entropy(d_logits, d_target, label_smoothing=smoothing)

    want = F.cross_entropy(logits, target, label_smoothing=smoothing).item()
    assert abs(call().item() - want) < 1e-4 * abs(want) + 1e-5
    for _ in range(30):
        call()
    return call


print("cross_entropy, forward only, mean over rows, float32, same inputs (hot L2); device time between events around each call")
for rows, classes, smoothing in (32, 100, 0.0), (64, 500, 0.0):
    call = prepared(rows, classes, smoothing)
    torch.npu.synchronize()
    with ExitStack() as stack:
        sink = stack.enter_context(read_out(f"{rows} rows, {classes} classes, label smoothing {smoothing}"))
        for _ in range(CALLS):
            with bracketed(sink):
                call()
print("Use the first line of each for planning, the second to compare with runs on a quiet machine.")
