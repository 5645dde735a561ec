"""Prefix sums: torch.cumsum against the triangular-matmul scheme that keeps the cube unit busy."""
import torch
import torch_npu  # noqa: F401

BLOCK = 64
REPEATS = 10
ROUNDS = 8


class CubeScan:
    """x is cut into blocks of BLOCK columns; each is multiplied by an upper triangle of ones."""

    def __init__(self, device):
        self.upper = torch.ones(BLOCK, BLOCK, device=device).triu()

    def __call__(self, x):
        rows, cols = x.shape
        tiles = x.view(rows, cols // BLOCK, BLOCK)
        return torch.matmul(tiles, self.upper).view(rows, cols)


def vector_scan(x):
    return torch.cumsum(x, dim=-1)


def timed(fn, x, repeats=REPEATS):
    tic = torch.npu.Event(enable_timing=True)
    toc = torch.npu.Event(enable_timing=True)
    tic.record()
    for _ in range(repeats):
        fn(x)
    toc.record()
    torch.npu.synchronize()
    return tic.elapsed_time(toc) / repeats * 1e3


def median(v):
    v = sorted(v)
    return (v[len(v) // 2] + v[(len(v) - 1) // 2]) / 2


def main():
    torch.manual_seed(2)
    torch.set_num_threads(1)
    dev = torch.device("npu")
    cube = CubeScan(dev)
    print(f"inclusive prefix sum along the rows, float32, {torch.npu.get_device_name()}")
    print(f"median of {ROUNDS} x {REPEATS} calls, us")
    print("+-------------+----------+-----------+-------+")
    print("| shape       | cumsum   | cube scan | ratio |")
    print("+-------------+----------+-----------+-------+")
    for rows, cols in ((16, 4096), (64, 4096), (128, 2048)):
        x = torch.rand(rows, cols, device=dev)
        for fn in (vector_scan, cube):
            timed(fn, x, 3)
        a, b = [], []
        for r in range(ROUNDS):
            for fn, sink in ((vector_scan, a), (cube, b))[:: 1 if r % 2 else -1]:
                sink.append(timed(fn, x))
        ma, mb = median(a), median(b)
        print(f"| {f'{rows} x {cols}':<11} | {ma:8.2f} | {mb:9.2f} | {ma / mb:5.2f} |")
    print("+-------------+----------+-----------+-------+")
    print("ratio: how many times the cube scan is faster than cumsum on the same input")


if __name__ == "__main__":
    main()
