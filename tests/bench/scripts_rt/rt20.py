# Batch sweep for a small conv net's input: how long is the image batch on its way to the card, how long is one conv2d?
import random
import time
import torch
import torch_npu
import torch.nn.functional as F

BATCHES, REPEATS, SOURCES = (1, 2, 4, 8, 16), 33, 3
IMAGE = (3, 64, 64)
torch.manual_seed(20)
random.seed(20)
kernel = torch.randn(8, 3, 3, 3)
kernel_up = kernel.npu()


def clocked(action):
    torch.npu.synchronize()
    t = time.perf_counter()
    result = action()
    torch.npu.synchronize()
    return time.perf_counter() - t, result


class Point:
    def __init__(self, batch):
        self.batch = batch
        self.host = [torch.rand(batch, *IMAGE).pin_memory() for _ in range(SOURCES)]
        self.card = torch.empty(batch, *IMAGE, device="npu")
        self.copy, self.conv = [], []

    def visit(self, k, record=True):
        source = self.host[k % SOURCES]              # another source than last time, so each copy changes the target
        a, _ = clocked(lambda: self.card.copy_(source, non_blocking=True))
        b, y = clocked(lambda: F.conv2d(self.card, kernel_up, padding=1))
        if record:
            self.copy.append(a)
            self.conv.append(b)
        return source, y

    def check(self):
        for k in range(SOURCES):
            source, y = self.visit(k, record=False)
            want = F.conv2d(source.double(), kernel.double(), padding=1)
            assert (y.cpu().double() - want).abs().max() < 1e-3 * want.abs().max()


points = [Point(b) for b in BATCHES]
for p in points:
    p.check()
for k in range(REPEATS):
    for p in random.sample(points, len(points)):
        p.visit(k)

print(f"images {IMAGE}, fp32. Copies from pinned memory into an existing buffer; us, median (min / max), n={REPEATS} for each cell")
print(" batch |  bytes  | host -> device                   | GB/s | conv2d 3->8, 3x3, by itself")
for p in points:
    c, v = (sorted(t * 1e6 for t in s) for s in (p.copy, p.conv))
    m = REPEATS // 2
    size = p.card.nbytes
    print(f" {p.batch:5d} | {size:7d} | {c[m]:9.1f} ({c[0]:.1f} / {c[-1]:.1f}) | {size / c[m] / 1e3:5.2f} | {v[m]:9.1f} ({v[0]:.1f} / {v[-1]:.1f})")
print("Both columns contain call and wait; they were clocked one after the other, so their sum is not what a pipelined loader would see.")
print("GB/s is bytes over that median and therefore a mix of link speed and fixed cost, presumably least so at the largest batch.")
print(f"Batch order reshuffled each time; {SOURCES} host buffers per batch size in turn, likely in the CPU's caches; {SOURCES} unrecorded visits per size went before. Decoding and augmenting: not here.")
