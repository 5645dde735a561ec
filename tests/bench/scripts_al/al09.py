"""F.dropout in training, as CSV: device time from a pair of events, L2 overwritten in front of each call."""
import csv
import itertools
import sys

import torch
import torch.nn.functional as F
import torch_npu

SIZES = (1 << 16, 1 << 19, 1 << 22)
DTYPES = (torch.float16, torch.float32)
RATES = (0.1,)
N, WARM = 15, 2

props = torch.npu.get_device_properties(0)
wiper = torch.empty(props.L2_cache_size + (8 << 20), dtype=torch.uint8, device="npu")

print("# device time of one F.dropout(x, p, training=True) in us; cold: the L2 is overwritten before every call,", file=sys.stderr)
print("# and the call is queued behind that, so that the host's launch is not part of it", file=sys.stderr)
out = csv.writer(sys.stdout)
out.writerow("elements dtype p n min_us p25_us p50_us p75_us max_us kept_share".split())

for size, dtype, p in itertools.product(SIZES, DTYPES, RATES):
    torch.npu.manual_seed(5)
    x = torch.ones(size, dtype=dtype, device="npu")

    result = F.dropout(x, p, training=True).float().cpu()
    kept = (result != 0).float().mean().item()
    assert abs(kept - (1 - p)) < 0.02, kept
    torch.testing.assert_close(result[result != 0].mean(), torch.tensor(1 / (1 - p)), rtol=1e-2, atol=1e-2)

    times = []
    for turn in range(WARM + N):
        first = torch.npu.Event(enable_timing=True)
        last = torch.npu.Event(enable_timing=True)
        wiper.fill_(turn % 250)
        first.record()
        F.dropout(x, p, training=True)
        last.record()
        torch.npu.synchronize()
        if turn >= WARM:
            times.append(first.elapsed_time(last) * 1000.0)

    q = torch.quantile(torch.tensor(times, dtype=torch.float64), torch.tensor([0, 0.25, 0.5, 0.75, 1], dtype=torch.float64))
    out.writerow([size, str(dtype).removeprefix("torch."), p, len(times), *(f"{v:.2f}" for v in q.tolist()), f"{kept:.3f}"])
