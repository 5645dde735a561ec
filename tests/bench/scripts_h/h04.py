"""Fused feed-forward. The plain module warms the card up; then the compiled one is timed."""
import contextlib
import time
import statistics
import torch
import torch_npu

class Block(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.up, self.down = torch.nn.Linear(n, 2 * n), torch.nn.Linear(2 * n, n)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))

@contextlib.contextmanager
def clock(into):
    torch.npu.synchronize()
    t = time.monotonic()
    yield
    torch.npu.synchronize()
    into.append((time.monotonic() - t) * 1e6 / 10)

for n in (64, 256):
    block = Block(n).npu().eval()
    fast = torch.compile(block, backend="aot_eager")
    x = torch.ones(32, n, device="npu")
    with torch.no_grad():
        for _ in range(10):
            block(x)
        us = []
        for _ in range(15):
            with clock(us):
                for _ in range(10):
                    fast(x)
    q = statistics.quantiles(us, n=10)
    print(f"32 x {n}: P10 {q[0]:.1f} P50 {q[4]:.1f} P90 {q[8]:.1f} us")
