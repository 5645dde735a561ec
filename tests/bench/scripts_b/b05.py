# lies: warmup, spread
import time
import torch


class Timer:
    def __init__(self, name):
        self.name = name

    def __enter__(self):
        torch.cuda.synchronize()
        self.start = time.perf_counter()

    def __exit__(self, exc_type, exc_value, traceback):
        torch.cuda.synchronize()
        elapsed = time.perf_counter() - self.start
        print(f"{self.name} took {elapsed} seconds")


x = torch.randn(2000, 100, device="cuda")
with Timer("sort of 2000 x 100"):
    torch.sort(x, dim=0)
with Timer("cumsum of 2000 x 100"):
    torch.cumsum(x, 0)
