import math
import statistics

import torch
import torch_npu
from torch.nn.functional import scaled_dot_product_attention as sdpa

# kernel time of SDPA, causal off, float16

HEADS = 4
DIM = 64
LENGTHS = (64, 128, 256)
LOOP = 12
TRIES = 5


def tensors(seq):
    torch.manual_seed(seq)
    return [torch.randn(1, HEADS, seq, DIM).half().npu() for _ in range(3)]


def check(q, k, v):
    qf, kf, vf = (t.cpu().float() for t in (q, k, v))
    want = torch.softmax(qf @ kf.transpose(-1, -2) / math.sqrt(DIM), -1) @ vf
    torch.testing.assert_close(sdpa(q, k, v).cpu().float(), want, rtol=2e-2, atol=2e-2)


def kernel_us(q, k, v):
    begin = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()
    begin.record()
    for _ in range(LOOP):
        sdpa(q, k, v)
        torch.npu.synchronize()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1000 / LOOP


torch.set_num_threads(1)
print(f"bench=sdpa heads={HEADS} head_dim={DIM} dtype=float16 inputs=warm loop={LOOP} tries={TRIES}")
for seq in LENGTHS:
    q, k, v = tensors(seq)
    check(q, k, v)
    for _ in range(2):
        kernel_us(q, k, v)
    got = [kernel_us(q, k, v) for _ in range(TRIES)]
    mid = statistics.median(got)
    flop = 4 * HEADS * seq * seq * DIM
    print(
        f"seq={seq} kernel_us={mid:.1f} min_us={min(got):.1f} max_us={max(got):.1f} "
        f"device_gflops={flop / mid / 1e3:.0f}"
    )
