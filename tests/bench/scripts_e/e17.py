"""Performance tests of our operators. Run with python -m unittest or directly."""
import sys
import unittest

import numpy as np
import torch
import torch_npu


class TestSoftmaxSpeed(unittest.TestCase):
    """softmax must not get slower: the median is compared with the budget."""

    budget_us = 200.0

    def setUp(self):
        self.x = torch.ones(512, 1024, device="npu")
        for _ in range(25):
            torch.softmax(self.x, dim=-1)
        torch.npu.synchronize()

    def sample(self, function, count):
        starts = [torch.npu.Event(enable_timing=True) for _ in range(count)]
        ends = [torch.npu.Event(enable_timing=True) for _ in range(count)]
        for start, end in zip(starts, ends):
            start.record()
            function()
            end.record()
        torch.npu.synchronize()
        return np.array([s.elapsed_time(e) * 1e3 for s, e in zip(starts, ends)])

    def test_median_within_budget(self):
        us = self.sample(lambda: torch.softmax(self.x, dim=-1), 150)
        p10, p50, p90 = np.percentile(us, [10, 50, 90])
        print(f"softmax is fast: P10 {p10:.1f}  P50 {p50:.1f}  P90 {p90:.1f} us, n={len(us)}, warm L2")
        self.assertLess(p50, self.budget_us)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
