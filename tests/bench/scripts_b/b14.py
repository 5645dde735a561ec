# right
# raw samples go to a file, and a box plot is made of them elsewhere
import json
import sys
import tempfile
import torch
import torch_npu

samples = {}
for n in (1 << 10, 1 << 16, (1 << 20) + 1):
    x = torch.rand(n, device="npu")
    for _ in range(30):
        torch.erf(x)
    events = [(torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)) for _ in range(50)]
    for s, e in events:
        s.record()
        torch.erf(x)
        e.record()
    torch.npu.synchronize()
    samples[n] = [s.elapsed_time(e) for s, e in events]
with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
    json.dump(samples, f)
print("erf at", sorted(samples), "elements written", file=sys.stderr)
