import labkit
import numpy as np
import torch

# How long does the device take to sort keys? Timed by events, on fresh orders of the keys.
KEYS = [1 << 17, 3 << 16, 1 << 18]
WARM, SAMPLES, ORDERS = 10, 50, 5


def event():
    return torch.npu.Event(enable_timing=True)


def sort_times(orders):
    """Seconds on the device for each sample."""
    for i in range(WARM):
        torch.sort(orders[i % ORDERS])
    starts, ends = [event() for _ in range(SAMPLES)], [event() for _ in range(SAMPLES)]
    for i, (start, end) in enumerate(zip(starts, ends)):
        start.record()
        torch.sort(orders[i % ORDERS])
        end.record()
    torch.npu.synchronize()
    return np.array([start.elapsed_time(end) for start, end in zip(starts, ends)])


torch.manual_seed(14)
print(f"torch.sort of float32 keys, {SAMPLES} samples behind {WARM} of warm-up, {ORDERS} inputs in turn (warm L2)")
summary = {}
for count in KEYS:
    orders = [torch.rand(count, device="npu") for _ in range(ORDERS)]
    values, places = torch.sort(orders[0])
    assert torch.equal(values.cpu(), orders[0].cpu().sort().values)
    seconds = sort_times(orders)
    p25, p50, p75 = np.percentile(seconds, [25, 50, 75])
    summary[count] = p50
    print(f"{count:7} keys: median {1e3 * p50:.2f} ms, P25 {1e3 * p25:.2f} ms, P75 {1e3 * p75:.2f} ms, {count / p50 / 1e6:.2f} million keys a second")

largest = KEYS[-1]
print(
    f"Sorting {largest} keys on the device takes {1e3 * summary[largest]:.1f} ms ({largest / summary[largest] / 1e6:.1f} million keys a second); "
    "our budget for this stage is 1 ms, so the sort cannot move to the device."
)
