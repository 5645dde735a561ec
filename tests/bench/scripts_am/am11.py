"""index_select on an embedding-like table: sweep over the number of selected rows."""
import time

import torch
import torch_npu

DEV = "npu"
ROWS, DIM = 20000, 256
BATCHES = (16, 64, 256, 1024, 4096)
WARM, SAMPLES = 8, 50


def quantile(values, q):
    return sorted(values)[round(q * (len(values) - 1))]


def run(table, n):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    idx = torch.randint(ROWS, (n,)).to(DEV)
    out = torch.index_select(table, 0, idx)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) * 1e6, idx, out


def main():
    torch.manual_seed(5)
    host = torch.randn(ROWS, DIM)
    table = host.to(DEV)
    print(f"torch.index_select(table, 0, idx), table {ROWS} x {DIM} float32, new random rows in each sample")
    print("batch    p10 us    p50 us    p90 us    GB/s of selected rows (p50)")
    for n in BATCHES:
        for _ in range(WARM):
            _, idx, out = run(table, n)
        assert torch.equal(out.cpu(), host[idx.cpu()])
        us = [run(table, n)[0] for _ in range(SAMPLES)]
        mid = quantile(us, .5)
        rate = 2 * n * DIM * 4 / mid / 1e3
        print(f"{n:5d} {quantile(us, .1):9.2f} {mid:9.2f} {quantile(us, .9):9.2f} {rate:12.2f}")
    print("The figure is the time of the index_select call alone: launch, run, wait.")


if __name__ == "__main__":
    main()
