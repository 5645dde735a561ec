# Device time of an MLP by batch size; table at the end.
import time
import pandas as pd
import torch
import torch_npu

net = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 64)).npu().eval()
rows = []
with torch.no_grad():
    for batch in (16, 128, 1024):
        host = torch.ones(batch, 512)
        for _ in range(10):
            net(host.npu())
        torch.npu.synchronize()
        for _ in range(30):
            t0 = time.perf_counter()
            for _ in range(10):
                x = host.npu()
                net(x)
            torch.npu.synchronize()
            rows.append({"batch": batch, "forward_us": (time.perf_counter() - t0) / 10 * 1e6})
print(pd.DataFrame(rows).groupby("batch").forward_us.describe(percentiles=[0.5, 0.95]).to_string())
