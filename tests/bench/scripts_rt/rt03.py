# Paired rounds: index_select and advanced indexing, N launches in a row each, who issues and finishes more per second?
import statistics as st
from time import perf_counter

import torch
import torch_npu

N, ROUNDS = 20, 32
gen = torch.Generator().manual_seed(3)
table = torch.randn(4096, 64, generator=gen).npu()
picks = [torch.randint(0, 4096, (512,), generator=gen).npu() for _ in range(N)]


def by_function():
    for i in picks:
        torch.index_select(table, 0, i)


def by_brackets():
    for i in picks:
        table[i]


def rate(burst):
    torch.npu.synchronize()
    t0 = perf_counter()
    burst()
    torch.npu.synchronize()        # a single wait, at the end of the burst
    return N / (perf_counter() - t0)


for i in picks:
    assert torch.equal(torch.index_select(table, 0, i), table[i])
host = table.cpu()
assert torch.equal(table[picks[0]].cpu(), host[picks[0].cpu()])
for f in (by_function, by_brackets) * 3:
    rate(f)                        # thrown away: first launches

rounds = []
for r in range(ROUNDS):
    if r % 2:
        b = rate(by_brackets)
        a = rate(by_function)
    else:
        a = rate(by_function)
        b = rate(by_brackets)
    rounds.append((a, b))

fa, fb = zip(*rounds)
ratio = sorted(a / b for a, b in rounds)
wins = sum(a > b for a, b in rounds)
print("gather of 512 rows out of 4096x64 float32 (1 MiB table, warm in L2 by design); both forms returned equal rows for all index sets")
print(f"{ROUNDS} pairs, order swapped every pair; a burst = {N} launches and one closing wait, that wait counted in; three bursts each beforehand do not count")
for label, v in (("torch.index_select(table, 0, i)", fa), ("table[i]", fb)):
    q = st.quantiles(v, n=4)
    print(f"  {label:32s} {q[1]:10.0f} launches/s   [quartiles {q[0]:.0f}, {q[2]:.0f}; lowest burst {min(v):.0f}, highest {max(v):.0f}]")
print(f"  within a pair, index_select / brackets: median {st.median(ratio):.3f}, from {ratio[0]:.3f} to {ratio[-1]:.3f}; index_select ahead in {wins} of {ROUNDS}")
undecided = ROUNDS * 0.2 < wins < ROUNDS * 0.8
print("  -> too even to call." if undecided else "  -> the direction is consistent over the pairs, for this table and index length; nothing else was run.")
