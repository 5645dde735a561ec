import time

import torch
import torch.nn.functional as F
import torch.utils.benchmark as benchmark
import torch_npu


def clock():
    torch.npu.synchronize()
    return time.perf_counter()


def measurements(logits, target, repeats=25, number=8):
    timer = benchmark.Timer(
        stmt="F.cross_entropy(logits, target)",
        globals={"F": F, "logits": logits, "target": target},
        timer=clock,
        label="cross_entropy",
    )
    timer.timeit(10)
    return [timer.timeit(number).mean * 1e6 for _ in range(repeats)]


print("F.cross_entropy, float32 logits, mean reduction, forward only.")
print("torch.utils.benchmark with a clock that waits for the device; 25 measurements of 8 calls queued in a row;")
print("us per call; logits and targets stay the same and are hot in the L2.")
print()
print(f"{'batch':>6} {'classes':>8} {'median':>9} {'p25':>9} {'p75':>9} {'min':>9} {'max':>9}")
for batch, classes in ((32, 1000), (128, 1000), (64, 4096)):
    logits = torch.randn(batch, classes, device="npu")
    target = torch.randint(classes, (batch,), device="npu")

    on_host = F.cross_entropy(logits.cpu(), target.cpu())
    torch.testing.assert_close(F.cross_entropy(logits, target).cpu(), on_host, rtol=1e-4, atol=1e-4)

    us = torch.tensor(measurements(logits, target), dtype=torch.float64)
    p25, p50, p75 = us.quantile(torch.tensor([0.25, 0.5, 0.75], dtype=torch.float64)).tolist()
    print(f"{batch:6d} {classes:8d} {p50:9.2f} {p25:9.2f} {p75:9.2f} {us.min().item():9.2f} {us.max().item():9.2f}")
