import argparse
import time

import torch
import torch_npu


def options():
    p = argparse.ArgumentParser(description="How long does a caller wait for one torch.bmm?")
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--side", type=int, default=96)
    p.add_argument("--calls", type=int, default=400)
    p.add_argument("--warmup", type=int, default=20)
    p.add_argument("--pool", type=int, default=16, help="distinct input pairs, taken in turn")
    return p.parse_args()


def rank(ordered, q):
    """Nearest-rank percentile, no interpolation."""
    return ordered[max(0, -(-int(q * len(ordered)) // 100) - 1)]


def main():
    o = options()
    torch.manual_seed(0)
    shape = (o.batch, o.side, o.side)
    pairs = [(torch.randn(shape, device="npu"), torch.randn(shape, device="npu")) for _ in range(o.pool)]
    a, b = pairs[0]
    want = torch.bmm(a.cpu().double(), b.cpu().double())
    rel = ((torch.bmm(a, b).cpu().double() - want).norm() / want.norm()).item()

    for i in range(o.warmup):
        torch.bmm(*pairs[i % o.pool])
    torch.npu.synchronize()

    waits = []
    for i in range(o.calls):
        a, b = pairs[i % o.pool]
        start = time.perf_counter_ns()
        torch.bmm(a, b)
        torch.npu.synchronize()
        waits.append(time.perf_counter_ns() - start)

    waits.sort()
    mib = sum(2 * a.nbytes for a, _ in pairs) / 2**20
    print(f"torch.bmm, {o.batch} x [{o.side},{o.side}] @ [{o.side},{o.side}], float32, one call in flight at a time")
    print(f"  relative error (Frobenius) against float64: {rel:.1e}")
    print(f"  n = {len(waits)} calls after {o.warmup} unrecorded ones; call + synchronize, nothing else, between the two readings")
    for q in (50, 75, 90, 95):
        print(f"  P{q:<3d} {rank(waits, q) / 1e3:9.2f} us")
    print(f"  min  {waits[0] / 1e3:9.2f} us, max {waits[-1] / 1e3:.2f} us (no call was left out; P99 would rest on 4 calls, so it is not given)")
    print(f"  The {o.pool} input pairs take {mib:.1f} MiB together: cache-resident, hence no statement about cold memory.")
    print("  A caller who keeps the queue full would see a different, probably smaller, cost per call.")


if __name__ == "__main__":
    main()
