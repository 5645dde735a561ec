"""Fused attention over a small matrix of cases."""
import csv
import io
import itertools
import time

import torch
import torch_npu
import torch.nn.functional as F

torch.set_num_threads(1)
MATRIX = {"heads": (2, 4), "seq": (64, 192), "causal": (False, True)}
DIM, CALLS, SAMPLES = 64, 3, 15
COLUMNS = ["heads", "seq", "causal", "calls_per_sample", "samples", "median_us", "max_us", "mflop", "gflop_per_s_at_median", "max_abs_err"]


def flop(heads, seq, causal):
    scores = seq * (seq + 1) // 2 if causal else seq * seq
    return 4 * heads * scores * DIM


def reference(q, k, v, causal):
    q, k, v = (t.cpu().double() for t in (q, k, v))
    s = q @ k.transpose(-1, -2) / DIM**0.5
    if causal:
        s = s.masked_fill(torch.ones(s.shape[-2:], dtype=torch.bool).triu(1), float("-inf"))
    return s.softmax(-1) @ v


def case(heads, seq, causal):
    torch.manual_seed(seq)
    q, k, v = (torch.randn(1, heads, seq, DIM).half().to("npu") for _ in range(3))
    y = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    err = (y.cpu().double() - reference(q, k, v, causal)).abs().max().item()
    for _ in range(4):
        F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    torch.npu.synchronize()
    us = []
    for _ in range(SAMPLES):
        t = time.perf_counter()
        for _ in range(CALLS):
            F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        torch.npu.synchronize()
        us.append((time.perf_counter() - t) / CALLS * 1e6)
    us.sort()
    mid = us[SAMPLES // 2]
    work = flop(heads, seq, causal)
    return dict(zip(COLUMNS, [heads, seq, causal, CALLS, SAMPLES, round(mid, 1), round(us[-1], 1), round(work / 1e6, 3),
                              round(work / mid / 1e3, 3), f"{err:.1e}"]))


text = io.StringIO()
sheet = csv.DictWriter(text, COLUMNS, lineterminator="\n")
sheet.writeheader()
for values in itertools.product(*MATRIX.values()):
    sheet.writerow(case(**dict(zip(MATRIX, values))))
print(text.getvalue(), end="")
print(f"# float16, batch 1, head dim {DIM}; host clock, one wait per sample counted in; flop = the two products only,")
print("# and for causal rows only the scores that are kept (diagonal and below). Error: to float64 on the CPU.")
