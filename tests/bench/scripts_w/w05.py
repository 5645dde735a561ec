"""What does merging gate and up projection of the MLP give at our decoding shape?"""
import numpy as np
import torch
import torch.nn as nn
import torch_npu

ROWS, WIDTH, HIDDEN = 512, 256, 768
SAMPLES = 60


class GatedMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.up = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x):
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))


class MergedMLP(nn.Module):
    def __init__(self, old):
        super().__init__()
        self.weight = nn.Parameter(torch.cat([old.gate.weight, old.up.weight]).detach())
        self.down = old.down

    def forward(self, x):
        gate, up = nn.functional.linear(x, self.weight).chunk(2, dim=-1)
        return self.down(nn.functional.silu(gate) * up)


class Stack(nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.layers = nn.ModuleList(GatedMLP() for _ in range(layers))

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return x

    def merge(self):
        for i, layer in enumerate(self.layers):
            self.layers[i] = MergedMLP(layer)
        return self


@torch.no_grad()
def stream_times(model, x):
    for _ in range(15):
        model(x)
    torch.npu.synchronize()
    marks = [torch.npu.Event(enable_timing=True) for _ in range(SAMPLES + 1)]
    marks[0].record()
    for mark in marks[1:]:
        model(x)
        model(x)
        mark.record()
    torch.npu.synchronize()
    return np.array([1e3 * a.elapsed_time(b) / 2 for a, b in zip(marks, marks[1:])])


def line(name, us):
    p10, p50, p90 = np.percentile(us, [10, 50, 90])
    print(f"{name:8} P50 {p50:7.2f} us   P10 {p10:7.2f}   P90 {p90:7.2f}   {len(us)} samples of two passes")
    return p50


def main():
    torch.manual_seed(2)
    model = Stack().npu().eval()
    x = torch.randn(ROWS, WIDTH).npu()

    with torch.no_grad():
        wanted = model(x).cpu()
    separate = stream_times(model, x)
    model.merge()
    with torch.no_grad():
        assert torch.allclose(model(x).cpu(), wanted, atol=1e-4)
    merged = stream_times(model, x)

    print(f"two gated MLPs, {ROWS} x {WIDTH} -> {HIDDEN}, float32, stream time of a pass")
    old, new = line("separate", separate), line("merged", merged)
    print(f"merged / separate at this shape: {new / old:.3f}")


if __name__ == "__main__":
    main()
