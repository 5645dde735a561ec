import time

import torch
import torch_npu

WINDOW = 0.002  # seconds
WINDOWS = 5


def copies_in(seconds, x):
    """Transposed copies per second: queue them for a while, wait for the last, divide."""
    torch.npu.synchronize()
    count = 0
    begin = time.perf_counter()
    deadline = begin + seconds
    while time.perf_counter() < deadline:
        for _ in range(4):
            x.t().contiguous()
        count += 4
    torch.npu.synchronize()
    return count / (time.perf_counter() - begin)


def main():
    print("x.t().contiguous(), float32, x reused (hot L2): throughput of back-to-back copies")
    for rows, columns in ((128, 256), (256, 256), (512, 256)):
        x = torch.randn(rows, columns, device="npu")
        assert torch.equal(x.t().contiguous().t(), x)
        for _ in range(20):
            x.t().contiguous()
        rates = [copies_in(WINDOW, x) for _ in range(WINDOWS)]
        rate = sum(rates) / len(rates)
        gbps = 2 * x.numel() * x.element_size() * rate / 1e9
        print(f"  {rows} x {columns}: {rate:.3f} copies/s, which is {gbps:.4f} GB/s read and written")
    print("These are the device's figures; a later run that gives less than this by 0.1 % has a regression.")


if __name__ == "__main__":
    main()
