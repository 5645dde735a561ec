"""dtype study for a square product. One worker thread and one stream per dtype, started one after the other."""
import os
import threading
import time
from statistics import median

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the host only feeds

import torch
import torch_npu

N, REPS, BURST = 256, 20, 4


class Worker(threading.Thread):
    def __init__(self, dtype, a, b):
        super().__init__(name=str(dtype))
        self.dtype, self.a, self.b = dtype, a.to(dtype).to("npu"), b.to(dtype).to("npu")
        self.device_us, self.wall_us = [], []

    def run(self):
        torch.npu.set_device(0)
        stream = torch.npu.Stream()
        with torch.npu.stream(stream):
            for _ in range(6):
                self.c = self.a @ self.b
            stream.synchronize()
            for _ in range(REPS):
                e0, e1 = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
                t = time.perf_counter()
                e0.record()
                for _ in range(BURST):
                    self.c = self.a @ self.b
                e1.record()
                stream.synchronize()
                self.wall_us.append((time.perf_counter() - t) * 1e6 / BURST)
                self.device_us.append(e0.elapsed_time(e1) * 1e3 / BURST)

    def error(self):
        exact = self.a.cpu().double() @ self.b.cpu().double()
        return ((self.c.cpu().double() - exact).norm() / exact.norm()).item()


torch.manual_seed(0)
left, right = torch.randn(N, N), torch.randn(N, N)
crew = [Worker(d, left, right) for d in (torch.float32, torch.float16, torch.bfloat16)]
torch.npu.synchronize()
for w in crew:
    w.start()
    w.join()  # the card belongs to one dtype at a time

base = median(crew[0].device_us)
for w in crew:
    dev, wall = median(w.device_us), median(w.wall_us)
    print(f"{w.name.removeprefix('torch.'):>9}: a {N}x{N}x{N} product takes {dev:.2f} us of its stream, gaps between launches included "
          f"({2 * N**3 / dev / 1e6:.2f} TFLOP/s, {base / dev:.2f}x float32's pace),\n"
          f"{'':>11}while the host sees {wall:.1f} us pass per product, its wait after every {BURST} counted in;\n"
          f"{'':>11}relative error (Frobenius, to a float64 product of the same rounded inputs) {w.error():.1e}")
print(f"Medians of {REPS} bursts of {BURST}; operands small enough to stay in L2; "
      f"float32 with whatever the stack's default for its matmul is.")
