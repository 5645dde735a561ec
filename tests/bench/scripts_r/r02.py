"""Device-to-device copy_, written as a test case so that CI runs it along with the others."""
import statistics as st
import unittest

import torch
import torch_npu  # noqa: F401

import labkit

REPEATS = 30


class CopyBandwidth(unittest.TestCase):
    table = []

    @classmethod
    def setUpClass(cls):
        torch.manual_seed(0)
        cls.table.clear()

    @classmethod
    def tearDownClass(cls):
        print()
        print(f"copy_ npu -> npu, float32 contiguous, L2 emptied before each copy, {REPEATS} copies each; what is written may stay in the L2")
        print("   MiB | median us |   P10 us |   P90 us | GB/s read+written (of the median)")
        for mib, med, lo, hi, rate in cls.table:
            print(f"{mib:6} | {med:9.2f} | {lo:8.2f} | {hi:8.2f} | {rate:8.0f}")

    def run_size(self, mib):
        src = torch.randn(mib * 2**18).npu()
        dst = torch.empty_like(src)
        for _ in range(5):
            dst.copy_(src)
        torch.npu.synchronize()

        starts = [torch.npu.Event(enable_timing=True) for _ in range(REPEATS)]
        stops = [torch.npu.Event(enable_timing=True) for _ in range(REPEATS)]
        for start, stop in zip(starts, stops):
            labkit.device.clear_l2()
            torch.npu._sleep(30_000)
            start.record()
            dst.copy_(src)
            stop.record()
        torch.npu.synchronize()
        times = [a.elapsed_time(b) * 1000 for a, b in zip(starts, stops)]

        self.assertEqual(len(times), REPEATS)
        self.assertTrue(all(t > 0 for t in times))
        self.assertTrue(torch.equal(dst.cpu(), src.cpu()))
        deciles = st.quantiles(times, n=10)
        median = st.median(times)
        moved = 2 * src.numel() * src.element_size()
        self.table.append((mib, median, deciles[0], deciles[-1], moved / median / 1e3))

    def test_001_mib(self):
        self.run_size(1)

    def test_004_mib(self):
        self.run_size(4)

    def test_016_mib(self):
        self.run_size(16)

    def test_048_mib(self):
        self.run_size(48)


if __name__ == "__main__":
    unittest.main(verbosity=1)
