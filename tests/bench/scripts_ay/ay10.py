"""Host <-> device copies from pinned memory. CSV: direction, size, time of one copy, GB/s (10^9 bytes)."""
import argparse
import statistics

import torch
import torch_npu

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--mib", type=int, nargs="*", default=[1, 4, 16])
parser.add_argument("--reps", type=int, default=9)
parser.add_argument("--copies", type=int, default=4, help="copies between two events")
opt = parser.parse_args()


def timed(copy):
    copy()
    copy()
    torch.npu.synchronize()
    out = []
    for _ in range(opt.reps):
        begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        begin.record()
        for _ in range(opt.copies):
            copy()
        end.record()
        end.synchronize()
        out.append(begin.elapsed_time(end) / opt.copies)
    return out


print("direction,mib,memory,reps,copies_per_rep,median_ms,min_ms,max_ms,median_gb_per_s")
for mib in opt.mib:
    n = mib * 2 ** 20
    host = torch.randint(0, 256, (n,), dtype=torch.uint8).pin_memory()
    back = torch.empty(n, dtype=torch.uint8).pin_memory()
    card = torch.empty(n, dtype=torch.uint8, device="npu")
    moves = {
        "h2d": lambda: card.copy_(host, non_blocking=True),
        "d2h": lambda: back.copy_(card, non_blocking=True),
    }
    for direction, move in moves.items():
        ms = timed(move)
        mid = statistics.median(ms)
        print(f"{direction},{mib},pinned,{opt.reps},{opt.copies},{mid:.4f},{min(ms):.4f},{max(ms):.4f},{n / mid / 1e6:.2f}")
    assert torch.equal(host, back), "the bytes did not come back"
