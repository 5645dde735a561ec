"""Training step of the small vision model, driven by a worker thread.

The trainer of the product runs in a thread beside the UI, so does this benchmark. A step is forward, backward and
the optimizer; its end is a device wait, as the loss is shown after each step. Reported: mean, standard deviation,
median over the steps of a steady training run.
"""
import queue
import statistics
import threading
import time

import torch
import torch_npu

STEPS = 30


def build(channels):
    torch.manual_seed(14)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, channels, 3, padding=1), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4),
        torch.nn.Flatten(), torch.nn.Linear(16 * channels, 10)).npu()


class Trainer(threading.Thread):
    def __init__(self, channels, batch, size, results):
        super().__init__(daemon=True)
        self.model = build(channels)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.images = torch.randn(batch, 3, size, size).npu()
        self.labels = torch.randint(0, 10, (batch,)).npu()
        self.results = results

    def get_ready(self):
        self.model.eval()
        with torch.no_grad():
            for _ in range(10):
                self.model(self.images)
        torch.npu.synchronize()
        self.model.train()

    def step(self):
        begin = time.perf_counter()
        self.optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(self.model(self.images), self.labels)
        loss.backward()
        self.optimizer.step()
        torch.npu.synchronize()
        return (time.perf_counter() - begin) * 1e3

    def run(self):
        self.get_ready()
        self.results.put([self.step() for _ in range(STEPS)])


def main():
    print("training step (forward, backward, AdamW), float32, host clock with a wait after each step, after warm-up")
    for channels, batch, size in ((8, 4, 16), (8, 8, 16), (16, 8, 16)):
        results = queue.Queue()
        trainer = Trainer(channels, batch, size, results)
        trainer.start()
        times = results.get(timeout=60)
        trainer.join()
        print(f"channels {channels:2d}  batch {batch}  {size}x{size}: mean {statistics.fmean(times):.3f} ms"
              f" +- {statistics.stdev(times):.3f}, median {statistics.median(times):.3f} ms, {len(times)} steps")


if __name__ == "__main__":
    main()
