"""Which is the quicker way to the k largest per row: torch.topk, or a full descending sort cut after k columns?"""
import time
import torch
import torch_npu


class Duel:
    K = 8

    def __init__(self, rows, cols, rounds=36):
        self.name, self.rounds = f"{rows} x {cols}", rounds
        # a permutation per row: no ties, so that the indices must be the same as well
        self.x = torch.stack([torch.randperm(cols) for _ in range(rows)]).float().npu()
        self.sides = {"topk": self._topk, "sort": self._sort}
        self.log = {s: [] for s in self.sides}

    def _topk(self):
        return torch.topk(self.x, self.K, dim=-1)

    def _sort(self):
        values, where = torch.sort(self.x, dim=-1, descending=True)
        return values[:, : self.K], where[:, : self.K]

    def agree(self):
        (v1, i1), (v2, i2) = self._topk(), self._sort()
        right = self.x.cpu().double().sort(-1, descending=True).values[:, : self.K]
        return torch.equal(v1, v2) and torch.equal(i1, i2) and torch.equal(v1.cpu().double(), right)

    def _clocked(self, side):
        torch.npu.synchronize()
        t = time.perf_counter()
        self.sides[side]()
        torch.npu.synchronize()
        return 1e6 * (time.perf_counter() - t)

    def fight(self):
        assert self.agree(), f"{self.name}: results differ, a comparison of times would be meaningless"
        for side in ("topk", "sort") * 4:
            self._clocked(side)
        for r in range(self.rounds):
            for side in (("topk", "sort"), ("sort", "topk"))[r % 2]:
                self.log[side].append(self._clocked(side))
        return self

    def verdict(self):
        t, s = (sorted(self.log[k]) for k in ("topk", "sort"))
        won = sum(a < b for a, b in zip(self.log["topk"], self.log["sort"]))
        h, q = self.rounds // 2, self.rounds // 4
        print(f"{self.name:>12} | topk {t[h]:9.1f} ({t[q]:.1f}-{t[-q]:.1f}) | sort+slice {s[h]:9.1f} ({s[q]:.1f}-{s[-q]:.1f}) | topk first in {won}/{self.rounds}")
        return won / self.rounds


torch.manual_seed(31)
print(f"Largest {Duel.K} per row. us per call incl. the wait for it: median (25th-75th percentile); sides swap places each round")
shares = [Duel(*shape).fight().verdict() for shape in ((16, 256), (64, 512), (128, 1024), (512, 128))]
print("Values and indices of both were equal for every shape, and the values equal to a float64 sort.")
clear = [s >= 0.75 for s in shares], [s <= 0.25 for s in shares]
if all(clear[0]):
    print(f"topk finished first in at least three rounds out of four in each of the {len(shares)} shapes tried.")
elif all(clear[1]):
    print(f"The sort finished first in at least three rounds out of four in each of the {len(shares)} shapes tried.")
else:
    print("No side wins clearly in all shapes tried; look at the line which is yours.")
print("Caveats: one k, float32, rows without ties, data already in the cache from the round before; first calls (compilation) left out.")
