"""GEMM, 512 x 512 x 512, in three dtypes, issued by a worker thread on its own stream."""
import queue
import random
import statistics
import threading

import torch
import torch_npu

N, PER_PAIR, PAIRS = 512, 4, 32
DTYPES = [torch.float32, torch.float16, torch.bfloat16]
torch.npu.matmul.allow_hf32 = False
torch.set_num_threads(1)

gen = torch.Generator().manual_seed(77)
base_a, base_b = (torch.randn(N, N, generator=gen) for _ in range(2))
operands = {d: (base_a.to(d).npu(), base_b.to(d).npu(), torch.empty(N, N, dtype=d, device="npu")) for d in DTYPES}
torch.npu.synchronize()
log = queue.Queue()


def issue():
    torch.npu.set_device(0)
    stream = torch.npu.Stream()
    plan = DTYPES * PAIRS
    random.Random(5).shuffle(plan)
    with torch.npu.stream(stream):
        for d in DTYPES * 4:
            a, b, c = operands[d]
            torch.mm(a, b, out=c)
        stream.synchronize()
        for d in plan:
            a, b, c = operands[d]
            opened, closed = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
            opened.record(stream)
            for _ in range(PER_PAIR):
                torch.mm(a, b, out=c)
            closed.record(stream)
            log.put((d, opened, closed))
    stream.synchronize()


worker = threading.Thread(target=issue)
worker.start()
worker.join()

us = {d: [] for d in DTYPES}
while not log.empty():
    d, opened, closed = log.get()
    us[d].append(opened.elapsed_time(closed) * 1e3 / PER_PAIR)

reference = base_a.double() @ base_b.double()
print(f"### `torch.mm(out=)`, {N}³, dtypes interleaved in shuffled order\n")
print(f"| dtype | pairs | median µs/call | quartiles | TFLOP/s at the median | max abs. error vs float64 |")
print("|---|--:|--:|--:|--:|--:|")
for d in DTYPES:
    lower, middle, upper = statistics.quantiles(us[d], n=4)
    error = (operands[d][2].cpu().double() - reference).abs().max().item()
    print(f"| {str(d).removeprefix('torch.')} | {len(us[d])} | {middle:.2f} | {lower:.2f} … {upper:.2f} "
          f"| {2 * N**3 / middle / 1e6:.2f} | {error:.3g} |")
print(f"\nOne event pair brackets {PER_PAIR} calls; µs/call = pair / {PER_PAIR}. HF32 is off. FLOP = 2·N³. "
      "Errors include the rounding of the inputs to the dtype. Operands are reused (L2-resident); "
      "12 untimed calls first. Gaps between launches count, if the issuing thread falls behind.")
