import os
import threading
import time

os.environ["OMP_NUM_THREADS"] = "1"
import torch
import torch_npu
import torch.nn.functional as F

VOCAB, DIM, IDS, LOOKUPS = 8192, 128, 2048, 30

torch.manual_seed(5)
table = torch.randn(VOCAB, DIM).half().to("npu")
pool = [torch.randint(0, VOCAB, (IDS,)).to("npu") for _ in range(8)]
torch.npu.synchronize()


class Clock:
    def stamp(self):
        self.t0 = time.perf_counter()


def client(me, gate, ends, spans):
    torch.npu.set_device(0)
    mine = torch.npu.Stream()
    a, b = (torch.npu.Event(enable_timing=True) for _ in "ab")
    with torch.npu.stream(mine):
        for ids in pool:
            F.embedding(ids, table)
        mine.synchronize()
        gate.wait()
        a.record()
        for i in range(LOOKUPS):
            F.embedding(pool[(me + i) % len(pool)], table)
        b.record()
        mine.synchronize()
        ends[me] = time.perf_counter()
    spans[me] = a.elapsed_time(b) * 1e3


def trial(n):
    clock, ends, spans = Clock(), [0.0] * n, [0.0] * n
    gate = threading.Barrier(n, action=clock.stamp)
    crowd = [threading.Thread(target=client, args=(k, gate, ends, spans)) for k in range(n)]
    [t.start() for t in crowd]
    [t.join() for t in crowd]
    return max(ends) - clock.t0, max(spans)


print(f"embedding {VOCAB}x{DIM} f16, {IDS} random ids/lookup, {LOOKUPS} lookups/thread, own stream each; median of 7 trials")
print("wall: common start -> last thread's wait is over | span: longest stream, event to event")
print(f"{'thr':>3} {'wall ms':>9} {'span ms':>9} {'Mids/s (wall)':>14}")
for n in 1, 2, 4:
    trial(n)
    runs = [trial(n) for _ in range(7)]
    wall = sorted(r[0] for r in runs)[3]
    span = sorted(r[1] for r in runs)[3]
    print(f"{n:>3} {wall * 1e3:>9.3f} {span / 1e3:>9.3f} {n * LOOKUPS * IDS / wall / 1e6:>14.2f}")
