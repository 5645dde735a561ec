import pandas as pd
import torch
import torch.nn.functional as F
import torch_npu

device = torch.device("npu")
BATCH = 4      # launches between two events
SAMPLES = 24


def measure(elements):
    x = torch.randn(elements, device=device)
    for _ in range(10):
        F.gelu(x)
    torch.npu.synchronize()

    times = []
    for _ in range(SAMPLES):
        start = torch.npu.Event(enable_timing=True)
        stop = torch.npu.Event(enable_timing=True)
        start.record()
        for _ in range(BATCH):
            F.gelu(x)
        stop.record()
        torch.npu.synchronize()
        times.append(start.elapsed_time(stop) * 1e3 / BATCH)
    return times


rows = []
for elements in (1 << 20, 1 << 21, 1 << 22):
    for i, us in enumerate(measure(elements)):
        rows.append({"elements": elements, "sample": i, "us": us, "GB/s": 2 * 4 * elements / us / 1e3})

samples = pd.DataFrame(rows)
table = samples.groupby("elements").agg(
    n=("us", "size"),
    us_p25=("us", lambda s: s.quantile(0.25)),
    us_median=("us", "median"),
    us_p75=("us", lambda s: s.quantile(0.75)),
    GBps_median=("GB/s", "median"),
    GBps_min=("GB/s", "min"),
    GBps_max=("GB/s", "max"),
)
print("F.gelu, float32: what it draws from device memory (HBM), activations streamed in and streamed out.")
print(f"Time of one launch in us, from {SAMPLES} pairs of events around {BATCH} launches each; GB/s counts one read and one write.")
print(table.round(2).to_string())
print("A layer that reads its activations from HBM can plan with the GB/s of this table for these three sizes.")
