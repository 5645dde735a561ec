"""F.silu against x * sigmoid(x): pairs in an order that is drawn, over three sizes."""
import random

import torch
import torch_npu
import torch.nn.functional as F


class Duel:
    def __init__(self, a, b, seed=11, pairs=24):
        self.a, self.b, self.pairs = a, b, pairs
        self.rng = random.Random(seed)

    @staticmethod
    def _once(fn, x):
        begin, end = (torch.npu.Event(enable_timing=True) for _ in "12")
        begin.record()
        fn(x)
        end.record()
        return begin, end

    def fight(self, x):
        torch.testing.assert_close(self.a(x), self.b(x), rtol=1e-3, atol=1e-3)
        for _ in range(8):
            self.a(x), self.b(x)
        torch.npu.synchronize()
        marks = []
        for _ in range(self.pairs):
            if self.rng.random() < 0.5:
                first, second = self._once(self.a, x), self._once(self.b, x)
                marks.append((first, second))
            else:
                second, first = self._once(self.b, x), self._once(self.a, x)
                marks.append((first, second))
        torch.npu.synchronize()
        us = [tuple(1e3 * s.elapsed_time(e) for s, e in pair) for pair in marks]
        return us, sorted(v / w for v, w in us)

    def interval(self, ratios, draws=500):
        medians = sorted(sorted(self.rng.choices(ratios, k=len(ratios)))[len(ratios) // 2] for _ in range(draws))
        return medians[int(0.025 * draws)], medians[int(0.975 * draws)]


if __name__ == "__main__":
    duel = Duel(lambda x: x * torch.sigmoid(x), F.silu)
    print("two launches against one, fp16, same input each time (L2 warm)")
    for rows in (1024, 1280, 1536):
        us, ratios = duel.fight(torch.randn(rows, 1024).half().npu())
        low, high = duel.interval(ratios)
        a, b = (sorted(v)[len(v) // 2] for v in zip(*us))
        print(
            f"{rows:5} x 1024  median {a:6.2f} us against {b:6.2f} us; ratio {ratios[len(ratios) // 2]:.2f}, "
            f"95 % [{low:.2f}, {high:.2f}], {duel.pairs} pairs"
        )
