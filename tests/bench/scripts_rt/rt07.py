"""First AdamW step against the later ones. A worker thread per model size, one worker alive at a time."""
import threading
import time

import torch
import torch_npu

SIZES = {"small": (64, 64), "medium": (512, 256), "large": (1024, 1024)}
LATER = 60


class Worker(threading.Thread):
    def __init__(self, label, shape):
        super().__init__(name=label)
        self.shape, self.later, self.failure = shape, [], None

    def run(self):
        try:
            self.work()
        except Exception as e:               # a thread would swallow it
            self.failure = e

    def work(self):
        gen = torch.Generator().manual_seed(len(self.name))
        start = torch.randn(self.shape, generator=gen)
        slope = torch.randn(self.shape, generator=gen)
        twin = torch.nn.Parameter(start.double())
        p = torch.nn.Parameter(start.npu())
        p.grad, twin.grad = slope.npu(), slope.double()
        optimiser = torch.optim.AdamW([p], lr=1e-3)
        self.first = self.step(optimiser)
        reference = torch.optim.AdamW([twin], lr=1e-3)
        reference.step()
        self.error = (p.detach().cpu().double() - twin.detach()).abs().max().item()
        for _ in range(5):                   # settling steps, in neither figure
            self.step(optimiser)
        for _ in range(LATER):
            self.later.append(self.step(optimiser))

    @staticmethod
    def step(optimiser):
        torch.npu.synchronize()
        t = time.perf_counter()
        optimiser.step()
        torch.npu.synchronize()
        return (time.perf_counter() - t) * 1e3


crew = [Worker(label, shape) for label, shape in SIZES.items()]
for w in crew:
    w.start()
    w.join()                                 # sequential: workers must not disturb one another
    if w.failure:
        raise w.failure

print("AdamW, one fp32 parameter tensor, step() to finished, in ms; the wait is part of every number")
print("model     elements   FIRST step (state, compilation, launch)   later: median [min, max]      vs float64")
for w in crew:
    o = sorted(w.later)
    mid = (o[LATER // 2 - 1] + o[LATER // 2]) / 2
    print(f"{w.name:8s} {w.shape[0] * w.shape[1]:9d}   {w.first:10.3f} (a single observation)         "
          f"{mid:8.4f} [{o[0]:.4f}, {o[-1]:.4f}]   {w.error:.0e}")
print(f"Later = steps 7 to {6 + LATER} with the gradient left as it was, data warm. Device start-up and the transfer of the")
print("parameters lie before the clock. First steps are n = 1 per process and cannot be given a spread; besides, the first")
print("worker may have compiled what the other two then found ready, so the FIRST column is not a comparison of sizes.")
