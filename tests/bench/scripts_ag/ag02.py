import labkit
import time

import torch
import torch.nn.functional as F


class ColdLayerNorm:
    """layer_norm over a ring of inputs that is larger than the L2, so that each call reads from HBM."""

    rows, hidden, ring = 2048, 4096, 8

    def __init__(self):
        self.inputs = [torch.randn(self.rows, self.hidden, device="npu") for _ in range(self.ring)]
        self.weight = torch.ones(self.hidden, device="npu")
        self.bias = torch.zeros(self.hidden, device="npu")
        self.bytes_of_input = self.inputs[0].numel() * self.inputs[0].element_size()
        l2 = 192 * 2**20  # of this chip
        assert self.ring * self.bytes_of_input > l2, "the ring must not fit into the L2"

    def pass_over_ring(self):
        for x in self.inputs:
            self.result = F.layer_norm(x, (self.hidden,), self.weight, self.bias)


class Stopwatch:
    def __init__(self, work, calls):
        self.work, self.calls, self.samples = work, calls, []

    def warm(self, times=2):
        for _ in range(times):
            self.work()
        torch.npu.synchronize()
        return self

    def run(self, count):
        for _ in range(count):
            torch.npu.synchronize()
            begin = time.perf_counter_ns()
            self.work()
            torch.npu.synchronize()
            self.samples.append((time.perf_counter_ns() - begin) / 1e3 / self.calls)
        return self

    def report(self, name, moved):
        ordered = sorted(self.samples)
        middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
        print(f"{name}: median {middle:.1f} us a call (wall clock), {len(ordered)} samples "
              f"from {ordered[0]:.1f} to {ordered[-1]:.1f} us")
        print(f"   one sample is {self.calls} calls on {self.calls} different inputs and one wait at its end, which is included")
        print(f"   that is {moved / middle / 1e3:.0f} GB/s, input read and output written counted, inputs not in L2")


bench = ColdLayerNorm()
watch = Stopwatch(bench.pass_over_ring, calls=bench.ring).warm().run(16)
watch.report(f"layer_norm float32 {bench.rows} x {bench.hidden}", 2 * bench.bytes_of_input)
print("   (this shape only)")
