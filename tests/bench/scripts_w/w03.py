"""Device time of the fp16 text encoder at the batch that the ranking job uses."""
import io
from statistics import median, quantiles

import torch
import torch.nn as nn
import torch_npu

VOCAB, WIDTH, LAYERS = 4000, 256, 3
BATCH, LENGTH = 16, 64
BLOCKS, CALLS = 24, 4


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(VOCAB, WIDTH)
        self.blocks = nn.Sequential(*(Block(WIDTH) for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, ids):
        return self.norm(self.blocks(self.words(ids))).mean(dim=1)


def export_half(model):
    """What the training job leaves behind: a checkpoint with all weights in half."""
    buffer = io.BytesIO()
    torch.save({name: weight.half() for name, weight in model.state_dict().items()}, buffer)
    buffer.seek(0)
    return buffer


def serve(checkpoint):
    model = Encoder().npu()
    model.load_state_dict(torch.load(checkpoint, map_location="npu"))
    return model.eval().requires_grad_(False)


def main():
    torch.manual_seed(0)
    trained = Encoder().eval()
    fp16 = serve(export_half(trained))
    ids = torch.randint(0, VOCAB, (BATCH, LENGTH))
    on_card = ids.npu()

    with torch.no_grad():
        worst = (fp16(on_card).float().cpu() - trained(ids)).abs().max().item()
    assert worst < 2e-2, worst

    for _ in range(10):
        fp16(on_card)
    torch.npu.synchronize()

    marks = [torch.npu.Event(enable_timing=True) for _ in range(BLOCKS + 1)]
    marks[0].record()
    for mark in marks[1:]:
        for _ in range(CALLS):
            fp16(on_card)
        mark.record()
    torch.npu.synchronize()
    us = [1e3 * a.elapsed_time(b) / CALLS for a, b in zip(marks, marks[1:])]

    deciles = quantiles(us, n=10)
    print(f"encoder in fp16, {LAYERS} blocks of {WIDTH}, batch {BATCH} x {LENGTH} tokens, largest difference from float {worst:.1e}")
    print(f"stream time of a forward pass: P50 {median(us):.1f} us, P10 {deciles[0]:.1f}, P90 {deciles[-1]:.1f} "
          f"({BLOCKS} blocks of {CALLS} calls, back to back)")


if __name__ == "__main__":
    main()
