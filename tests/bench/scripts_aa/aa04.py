import functools
import statistics

import torch
import torch_npu

SCRUB_MIB = 512


def saxpy(alpha, x, y, out):
    return torch.add(y, x, alpha=alpha, out=out)


def nbytes(*tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def cold_samples(call, scrub, count):
    """Before each sample another tensor, larger than the L2, is read; only the call lies between the events."""
    pairs = []
    for _ in range(count):
        scrub.sum()
        start, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        pairs.append((start, end))
    torch.npu.synchronize()
    return [start.elapsed_time(end) * 1e3 for start, end in pairs]


def measure(n, scrub):
    x, y = torch.randn(n, device="npu"), torch.randn(n, device="npu")
    out = torch.empty_like(x)
    call = functools.partial(saxpy, 1.5, x, y, out)
    call()
    torch.testing.assert_close(out.cpu(), y.cpu() + 1.5 * x.cpu())
    cold_samples(call, scrub, 3)
    return nbytes(x, y), cold_samples(call, scrub, 20)


def main():
    torch.manual_seed(3)
    scrub = torch.zeros(SCRUB_MIB << 18, device="npu")
    print(f"saxpy, float32; {SCRUB_MIB} MiB of other data are read before every sample, so that inputs come from HBM; the output may stay in L2 and is not counted")
    for n in (1 << 21, 1 << 22, 1 << 23):
        read, times = measure(n, scrub)
        low, mid, high = statistics.quantiles(times, n=4)
        print(f"n = {n:>9,d}  inputs {read / 2**20:5.1f} MiB  median {mid:7.2f} us  (quartiles {low:.2f} and {high:.2f}, {len(times)} samples)"
              f"  inputs at {read / mid / 1e3:.0f} GB/s from HBM")


if __name__ == "__main__":
    main()
