import statistics

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch_npu


def loader(batches, batch, length, dim):
    for _ in range(batches):
        yield torch.randn(batch, length, dim).pin_memory()


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class EventLog:
    def __init__(self):
        self.pairs = []

    def start(self):
        self.pairs.append([torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)])
        self.pairs[-1][0].record()

    def stop(self):
        self.pairs[-1][1].record()

    def milliseconds(self):
        torch.npu.synchronize()
        return [begin.elapsed_time(end) for begin, end in self.pairs]


def evaluate(encoder, batches):
    log = EventLog()
    outputs = []
    for batch in batches:
        log.start()
        x = batch.to("npu", non_blocking=True)
        y = encoder(x)
        log.stop()
        outputs.append(y.mean())
    return log.milliseconds(), torch.stack(outputs).mean().item()


def main():
    torch.manual_seed(4)
    dim, length = 256, 64
    encoder = Attention(dim, 4).npu().eval()
    print(f"Forward time of one self-attention layer on the device (events), length {length}, dim {dim}, float32")
    with torch.no_grad():
        for batch in (8, 16, 32):
            evaluate(encoder, loader(4, batch, length, dim))
            times, _ = evaluate(encoder, list(loader(24, batch, length, dim)))
            q1, q2, q3 = statistics.quantiles(times, n=4)
            print(f"  batch {batch:3d}: forward {q2:.3f} ms (quartiles {q1:.3f} to {q3:.3f}, {len(times)} batches)")


if __name__ == "__main__":
    main()
