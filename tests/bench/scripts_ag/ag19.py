import labkit
import numpy as np
import torch
import torch.nn.functional as F

SAMPLES = 80
ENTRIES, WIDTH = 16000, 256


def series(function):
    """Times of single calls on the device, us."""
    for _ in range(15):
        function()
    torch.npu.synchronize()
    pairs = []
    for _ in range(SAMPLES):
        start, stop = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        start.record()
        function()
        stop.record()
        pairs.append((start, stop))
    torch.npu.synchronize()
    return np.array([1e3 * start.elapsed_time(stop) for start, stop in pairs])


def compare(picks):
    weight = torch.randn(ENTRIES, WIDTH, device="npu")
    index = torch.randint(0, ENTRIES, (picks,), device="npu")

    def advanced():
        return weight[index]

    def embedding():
        return F.embedding(index, weight)

    assert torch.equal(advanced(), embedding())
    old = series(advanced)
    new = series(embedding)
    ratios = np.array([a / b for a, b in zip(old, new)])   # sample by sample
    q1, mid, q3 = np.percentile(ratios, [25, 50, 75])
    print(f"{picks:5} of {ENTRIES} rows, {WIDTH} wide: weight[index] {np.median(old):.1f} us, F.embedding {np.median(new):.1f} us, "
          f"paired ratio {mid:.3f} (quartiles {q1:.3f} to {q3:.3f}, {len(ratios)} pairs)")
    return mid


print("lookup, float32, device time by events, same indices for both, table warm in L2")
results = {picks: compare(picks) for picks in (4096, 8192, 16384)}
low, high = min(results.values()), max(results.values())
print(f"In pairs, F.embedding is {low:.2f} to {high:.2f} times as fast as weight[index] for these three numbers of rows.")
