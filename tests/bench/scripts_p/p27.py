"""Two layer norms side by side, in float16: the built-in one and one by hand; rounds in turn, the first side drawn."""
import random
import statistics
import time

import torch
import torch_npu  # noqa: F401


class Clock:
    def __enter__(self):
        torch.npu.synchronize()
        self.t = time.perf_counter()
        return self

    def __exit__(self, *_):
        torch.npu.synchronize()
        self.us = (time.perf_counter() - self.t) * 1e5


def by_hand(x):
    centred = x - x.mean(-1, keepdim=True)
    return centred * torch.rsqrt((centred * centred).mean(-1, keepdim=True) + 1e-5)


rng = random.Random(5)
x = torch.ones(512, 768, device="npu")
half = x.half()
sides = {"built-in": lambda: torch.nn.functional.layer_norm(half, (768,)), "by hand": lambda: by_hand(x)}
us = {name: [] for name in sides}
for lap in range(35):
    for name in rng.sample(list(sides), 2):
        with Clock() as c:
            for _ in range(10):
                sides[name]()
        if lap >= 5:
            us[name].append(c.us)
for name, t in us.items():
    print(f"{name}: (512, 768) float16, warm L2, median {statistics.median(t):.2f} us, stdev {statistics.stdev(t):.2f}")
print(f"built-in is {statistics.median(us['by hand']) / statistics.median(us['built-in']):.2f} times as fast")
