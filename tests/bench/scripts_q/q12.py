"""Which tile is the right one for our add kernel, 1024 or 2048 halves? 4 blocks, 131072 elements. A test decides."""
import time
import unittest

import torch
import torch_npu  # noqa: F401

import labkit

N, BLOCKS, ROUNDS, LAUNCHES = 1 << 17, 4, 10, 10


class TileTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(0)
        cls.add = labkit.kernel("kernels/add/add.asc", checks=False)
        cls.x, cls.y = (torch.randint(0, 64, (N,)).half().npu() for _ in range(2))
        cls.z = torch.empty_like(cls.x)

    def launch(self, tile):
        self.add[BLOCKS](self.x, self.y, self.z, {"blockLength": N // BLOCKS, "tileLength": tile})

    def round_us(self, tile):
        begin = time.perf_counter()
        for _ in range(LAUNCHES):
            self.launch(tile)
        torch.npu.synchronize()
        return (time.perf_counter() - begin) * 1e6 / LAUNCHES

    def test_result(self):
        for tile in (1024, 2048):
            self.z.zero_()
            self.launch(tile)
            self.assertTrue(torch.equal(self.z.cpu(), (self.x + self.y).cpu()))

    def test_times(self):
        tiles = (1024, 2048)
        for tile in tiles:
            self.round_us(tile)
        total = dict.fromkeys(tiles, 0.0)
        for turn in range(ROUNDS):
            for tile in tiles if turn % 2 else tiles[::-1]:
                total[tile] += self.round_us(tile)
        mean = {tile: us / ROUNDS for tile, us in total.items()}
        winner, loser = sorted(tiles, key=mean.get)
        self.assertGreater(mean[loser], mean[winner])
        print(f"tile 1024: {mean[1024]:.2f} us, tile 2048: {mean[2048]:.2f} us a launch")
        print(f"for {N} halves on {BLOCKS} blocks, warm L2, tile {winner} wins by {100 * (mean[loser] / mean[winner] - 1):.1f} %")


if __name__ == "__main__":
    unittest.main(verbosity=0)
