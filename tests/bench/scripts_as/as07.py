# GNN neighbourhood sum: how fast is scatter_add_ on the NPU?
import statistics
import time

import torch
import torch_npu  # noqa: F401

torch.set_num_threads(1)
torch.manual_seed(5)

NODES, EDGES, DIM = 128, 384, 8
CALLS, TRIALS = 40, 15

message = torch.randn(EDGES, DIM).npu()
target = torch.randint(NODES, (EDGES,)).npu().unsqueeze(1).expand(EDGES, DIM)
acc = torch.zeros(NODES, DIM).npu()


def kernel():
    acc.scatter_add_(0, target, message)
    torch.npu.synchronize()


def trial():
    t = time.perf_counter()
    for _ in range(CALLS):
        kernel()
    return (time.perf_counter() - t) / CALLS


for _ in range(3):
    trial()
acc.zero_()
acc.scatter_add_(0, target, message)
ref = torch.zeros(NODES, DIM).scatter_add_(0, target.cpu(), message.cpu())
assert torch.allclose(acc.cpu(), ref, atol=1e-4)

seconds = [trial() for _ in range(TRIALS)]
mid = statistics.median(seconds)
lo, hi = min(seconds), max(seconds)

print(f"scatter_add_ of {EDGES} messages of width {DIM} into {NODES} nodes, float32, "
      f"on {torch.npu.get_device_name()}.")
print(f"The kernel takes {mid * 1e6:.1f} us (from {lo * 1e6:.1f} to {hi * 1e6:.1f} us over "
      f"{TRIALS} trials of {CALLS} calls).")
print(f"That is a device throughput of {EDGES / mid / 1e6:.2f} million edges a second, "
      f"or {EDGES * DIM / mid / 1e6:.1f} million atomic additions a second.")
