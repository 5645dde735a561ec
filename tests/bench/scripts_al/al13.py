"""Cross entropy of a language model's head: throughput over the batch size."""
import torch
import torch.nn.functional as F
import torch_npu

VOCAB = 8192
BATCHES = [16, 64, 256, 1024]
REPEATS, WARMUP = 25, 5

scrub = torch.empty(torch.npu.get_device_properties(0).L2_cache_size * 5 // 4, dtype=torch.uint8, device="npu")


def sample(logits, target):
    start = torch.npu.Event(enable_timing=True)
    stop = torch.npu.Event(enable_timing=True)
    scrub.zero_()
    start.record()
    loss = F.cross_entropy(logits, target)
    stop.record()
    torch.npu.synchronize()
    return start.elapsed_time(stop), loss


def sweep():
    for batch in BATCHES:
        torch.manual_seed(batch)
        sets = [
            (torch.randn(batch, VOCAB, device="npu"), torch.randint(VOCAB, (batch,), device="npu")) for _ in range(3)
        ]
        for i in range(WARMUP):
            sample(*sets[i % 3])

        us = []
        for i in range(REPEATS):
            elapsed, loss = sample(*sets[i % 3])
            us.append(elapsed)
        logits, target = sets[(REPEATS - 1) % 3]
        torch.testing.assert_close(loss.cpu(), F.cross_entropy(logits.cpu(), target.cpu()), rtol=1e-4, atol=1e-4)

        t = torch.tensor(us)
        yield batch, t.median().item(), t.quantile(0.1).item(), t.quantile(0.9).item()


print(f"F.cross_entropy, vocabulary {VOCAB}, fp32; device time, L2 overwritten before each call; {REPEATS} samples")
print(f"{'batch':>6} {'median us':>11} {'p10 us':>9} {'p90 us':>9} {'Mtokens/s':>12} {'GB/s read':>11}")
for batch, median, p10, p90 in sweep():
    tokens = batch / (median * 1e-6) / 1e6
    gbs = batch * VOCAB * 4 / (median * 1e-6) / 1e9
    print(f"{batch:6d} {median:11.4f} {p10:9.4f} {p90:9.4f} {tokens:12.2f} {gbs:11.1f}")
