"""Old and new head of a ranking service: requests go to both in turn, drawn order; response time as the client sees it."""
import random
import time
import numpy as np
import torch
import torch_npu

random.seed(7)
old = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)).npu()
new = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1)).npu()
heads = {"old": old, "new": new}


def respond(head, request):
    begin = time.perf_counter()
    with torch.no_grad():
        heads[head](request.npu()).cpu()
    return 1e6 * (time.perf_counter() - begin)


requests = [torch.ones(size, 64) for size in (1, 32, 512)] * 40
for request in requests[:9]:
    respond("old", request), respond("new", request)
ratios, seen = {}, {}
for request in requests:
    pair = {head: respond(head, request) for head in random.sample(["old", "new"], 2)}
    ratios.setdefault(len(request), []).append(pair["new"] / pair["old"])
    seen.setdefault(len(request), []).append(pair["old"])
for size in ratios:
    low, mid, high = np.percentile(ratios[size], [5, 50, 95])
    print(f"{size:4d} items: old P50 {np.median(seen[size]):.0f} us; new/old {mid:.3f} (P5 {low:.3f}, P95 {high:.3f})")
