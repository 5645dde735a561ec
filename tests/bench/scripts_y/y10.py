import torch
import torch_npu
import itertools

import numpy as np

MIB = 2**20
L2_MIB = 192


class CopySet:
    def __init__(self, label, mib, count):
        self.label, self.mib, self.count = label, mib, count
        n = mib * MIB // 4
        self.pairs = [(torch.full((n,), 1.0 + i).npu(), torch.zeros(n).npu()) for i in range(count)]
        self.turn = itertools.cycle(self.pairs)

    @property
    def footprint(self):
        return 2 * self.mib * self.count

    def step(self):
        source, target = next(self.turn)
        target.copy_(source)

    def verify(self):
        return all(torch.equal(s.cpu(), t.cpu()) for s, t in self.pairs)


def samples(work, count):
    for _ in range(2 * work.count + 2):
        work.step()
    torch.npu.synchronize()
    marks = []
    for _ in range(count):
        start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        start.record()
        work.step()
        end.record()
        marks.append((start, end))
    torch.npu.synchronize()
    return np.array([s.elapsed_time(e) * 1e-3 for s, e in marks])


resident = CopySet("L2-resident copy rate", 32, 1)
streaming = CopySet("HBM copy bandwidth", 32, 8)
assert resident.footprint < L2_MIB / 2 and streaming.footprint > 2 * L2_MIB

print(f"Copy of float32 vectors, 32 MiB each ({32 * MIB // 4} elements); rates count the bytes read and the bytes written.")
for work in (resident, streaming):
    seconds = samples(work, 32)
    assert work.verify()
    rate = 2 * work.mib * MIB / seconds / 1e9
    p10, p50, p90 = np.percentile(rate, [10, 50, 90])
    place = "stays in the L2, the memory is not what this measures" if work is resident else "leaves the L2 before it is used again"
    print(f"{work.label}: {work.count} pair(s) in turn, {work.footprint} MiB in all against an L2 of {L2_MIB} MiB: the data {place}")
    print(f"    P10 {p10:.0f} GB/s, P50 {p50:.0f} GB/s, P90 {p90:.0f} GB/s, {rate.size} samples; P50 of a copy {np.median(seconds) * 1e6:.1f} us")
