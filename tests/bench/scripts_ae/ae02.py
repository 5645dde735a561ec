"""What a caller of the small classifier waits for one answer. The wait belongs to it, and is named."""
import functools
import time
from collections import defaultdict

import pandas as pd
import torch
from torch import nn
import labkit  # noqa: F401

LOG = defaultdict(list)


def answered(name):
    """Decorator: from the call to the answer on the host. Synchronises in each call, on purpose."""
    def wrap(fn):
        @functools.wraps(fn)
        def inner(*args):
            torch.npu.synchronize()      # nobody else's work in front of ours
            begin = time.perf_counter()
            out = fn(*args).cpu()        # the copy back waits for the device; it is what the caller waits for
            LOG[name].append(1e6 * (time.perf_counter() - begin))
            return out
        return inner
    return wrap


torch.manual_seed(0)
NET = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 16)).npu().eval()
SIZES = (1, 8, 32)


@answered("round trip")
@torch.inference_mode()
def classify(x):
    return NET(x.npu())


def main():
    inputs = {n: torch.randn(n, 256) for n in SIZES}
    for _ in range(40):
        for x in inputs.values():
            classify(x)
    rows = []
    for n, x in inputs.items():
        LOG.clear()
        for _ in range(150):
            classify(x)
        s = pd.Series(LOG["round trip"])
        rows.append({"batch": n, "requests": len(s), "P50": s.quantile(.5), "P90": s.quantile(.9), "P99": s.quantile(.99), "max": s.max()})
    table = pd.DataFrame(rows).set_index("batch").round(1)
    print("256 -> 512 -> 16, fp32, weights warm, one request at a time, us")
    print("round trip: input host to device, two layers, answer device to host, and the host's wait in each request;")
    print("this is latency for a lone caller, no kernel time and no throughput (requests are not pipelined)")
    print(table.to_string())
    one, many = table.loc[1, "P50"], table.loc[32, "P50"]
    print(f"A batch of 32 waits {many:.0f} us where a batch of 1 waits {one:.0f} us (P50, {len(s)} requests each).")


if __name__ == "__main__":
    main()
