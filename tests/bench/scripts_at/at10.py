# torch.gather along the last dim: one working set again and again vs. more sets than L2 holds
import torch
import torch_npu

ROWS, COLS = 2048, 2048
PER_SET = ROWS * COLS * (4 + 8 + 4)  # fp32 read, int64 index, fp32 written
L2 = torch.npu.get_device_properties(0).L2_cache_size
SETS = -(-2 * L2 // PER_SET)  # twice the L2 in total
ROUNDS = 3


def make():
    src = torch.randn(ROWS, COLS).npu()
    idx = torch.argsort(torch.rand(ROWS, COLS), dim=1).npu()
    return src, idx, torch.empty_like(src)


def go(sets, order):
    a = torch.npu.Event(enable_timing=True)
    b = torch.npu.Event(enable_timing=True)
    a.record()
    for i in order:
        src, idx, dst = sets[i]
        torch.gather(src, 1, idx, out=dst)
    b.record()
    return a, b


def main():
    torch.manual_seed(1)
    base = make()
    # values do not matter for the time: the other sets are copies, each at an address of its own
    sets = [base] + [tuple(t.clone() for t in base) for _ in range(SETS - 1)]

    again = [0] * SETS
    rotate = list(range(SETS))
    for order in (again, rotate):
        go(sets, order)
    torch.npu.synchronize()

    marks = {"same set": [], "rotating": []}
    for _ in range(ROUNDS):
        torch.gather(base[0], 1, base[1], out=base[2])  # set 0 is in L2 when its turn comes
        marks["same set"].append(go(sets, again))
        marks["rotating"].append(go(sets, rotate))
    torch.npu.synchronize()

    print(f"gather dim=1, {ROWS}x{COLS} fp32, int64 index (a permutation of each row), out= given")
    print(f"one set {PER_SET / 2**20:.0f} MiB, L2 {L2 / 2**20:.0f} MiB, rotating over {SETS} sets\n")
    head = f"{'access':<10} {'median us':>10} {'min':>8} {'max':>8} {'useful GB/s':>12}"
    print(head)
    print("-" * len(head))
    for name, pairs in marks.items():
        us = sorted(a.elapsed_time(b) * 1e3 / SETS for a, b in pairs)
        mid = us[len(us) // 2]
        print(f"{name:<10} {mid:>10.2f} {us[0]:>8.2f} {us[-1]:>8.2f} {PER_SET / mid / 1e3:>12.0f}")
    print(f"\n{ROUNDS} rounds of {SETS} calls. 'same set' finds its data in L2 as far as it fits, 'rotating' has to fetch")
    print("it from memory. Where the two agree, something else than the path to the data is the limit.")


if __name__ == "__main__":
    main()
