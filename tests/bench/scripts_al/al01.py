"""Layer norm of a transformer block: latency of one call, launch and device, in microseconds."""
import statistics
import time

import torch
import torch.nn.functional as F
import torch_npu

SHAPES = [(512, 1024), (2048, 2048), (2048, 4096)]
ROUNDS = 30
compute = torch.npu.Stream()


class Stopwatch:
    """with Stopwatch(record): ...   appends the microseconds of the block to the list."""

    def __init__(self, record):
        self.record = record

    def __enter__(self):
        torch.npu.synchronize()
        self.begin = time.perf_counter()
        return self

    def __exit__(self, *exc):
        torch.npu.current_stream().synchronize()
        self.record.append((time.perf_counter() - self.begin) * 1e6)
        return False


def normalise(x, weight, bias):
    with torch.npu.stream(compute):
        return F.layer_norm(x, (x.shape[-1],), weight, bias, 1e-5)


def main():
    l2 = torch.npu.get_device_properties(0).L2_cache_size
    evict = torch.empty(int(l2 * 1.25), dtype=torch.uint8, device="npu")
    print("layer_norm, fp16, L2 evicted before each call; latency of a call in us")
    for rows, width in SHAPES:
        x = torch.randn(rows, width, dtype=torch.float16, device="npu")
        weight = torch.rand(width, dtype=torch.float16, device="npu")
        bias = torch.rand(width, dtype=torch.float16, device="npu")
        torch.npu.synchronize()

        got = normalise(x, weight, bias)
        compute.synchronize()
        want = F.layer_norm(x.cpu().float(), (width,), weight.cpu().float(), bias.cpu().float())
        torch.testing.assert_close(got.cpu().float(), want, rtol=1e-2, atol=1e-2)

        for _ in range(5):
            normalise(x, weight, bias)
        torch.npu.synchronize()

        took = []
        for _ in range(ROUNDS):
            evict.zero_()
            with Stopwatch(took):
                normalise(x, weight, bias)
        deciles = statistics.quantiles(took, n=10)
        print(f"  {rows:5d} x {width:<5d}  median {statistics.median(took):8.2f}   "
              f"p10 {deciles[0]:8.2f}   p90 {deciles[-1]:8.2f}   n={len(took)}")


if __name__ == "__main__":
    main()
