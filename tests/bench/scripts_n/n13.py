"""Embedding lookups with many repeated tokens: plain lookup against looking up each distinct token once."""
import random
import unittest

import numpy as np
import torch
import torch_npu


def elapsed(fn, rounds, rng, other):
    pairs = {"a": [], "b": []}
    for _ in range(rounds):
        todo = [("a", fn), ("b", other)]
        rng.shuffle(todo)
        for key, f in todo:
            s, e = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
            s.record()
            f()
            e.record()
            pairs[key].append((s, e))
    torch.npu.synchronize()
    return [np.array([1e3 * s.elapsed_time(e) for s, e in pairs[k]]) for k in "ab"]


class EmbeddingLookup(unittest.TestCase):
    vocabulary, width, rounds = 5000, 256, 30

    def setUp(self):
        torch.manual_seed(7)
        self.table = torch.nn.Embedding(self.vocabulary, self.width).npu().requires_grad_(False)

    def case(self, tokens, distinct):
        ids = torch.randint(distinct, (tokens,)).npu()
        unique, inverse = torch.unique(ids, return_inverse=True)
        plain = lambda: self.table(ids)
        dedup = lambda: self.table(unique)
        torch.testing.assert_close(plain().cpu(), dedup()[inverse].cpu())
        for _ in range(5):
            plain(), dedup()
        torch.npu.synchronize()
        a, b = elapsed(plain, self.rounds, random.Random(tokens), dedup)
        ratio = np.percentile(a / b, [25, 50, 75])
        print(
            f"{tokens} tokens, {distinct} distinct, width {self.width}: plain {np.median(a):.2f} us, "
            f"deduplicated {np.median(b):.2f} us, {ratio[1]:.2f}x faster (quartiles {ratio[0]:.2f}-{ratio[2]:.2f}, warm L2)"
        )
        self.assertGreater(ratio[1], 1.0)

    def test_short(self):
        self.case(4096, 100)

    def test_medium(self):
        self.case(8192, 500)

    def test_long(self):
        self.case(16384, 500)


if __name__ == "__main__":
    unittest.TextTestRunner(verbosity=0).run(unittest.defaultTestLoader.loadTestsFromTestCase(EmbeddingLookup))
