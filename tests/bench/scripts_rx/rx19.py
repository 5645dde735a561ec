"""conv2d sheet: one CSV row per layer, times as a caller sees them who waits for each result."""
import time
from dataclasses import astuple, dataclass, fields

import torch
import torch.nn.functional as F
import torch_npu


@dataclass(frozen=True)
class Layer:
    batch: int
    cin: int
    cout: int
    side: int
    kernel: int
    stride: int

    @property
    def out_side(self):
        return (self.side + 2 * (self.kernel // 2) - self.kernel) // self.stride + 1

    @property
    def flop(self):
        return 2 * self.batch * self.cout * self.out_side**2 * self.cin * self.kernel**2

    def tensors(self):
        g = torch.Generator().manual_seed(self.cout)
        x = torch.randn(self.batch, self.cin, self.side, self.side, generator=g)
        w = torch.randn(self.cout, self.cin, self.kernel, self.kernel, generator=g) / (self.cin * self.kernel**2) ** 0.5
        return x, w


@dataclass
class Row:
    first_call_ms: float
    p50_ms: float
    p90_ms: float
    n: int
    gflop_per_s_p50: float
    max_err_f64: float


SHEET = [
    Layer(2, 3, 16, 48, 7, 2),
    Layer(2, 16, 32, 24, 3, 1),
    Layer(2, 32, 64, 24, 3, 2),
    Layer(2, 64, 128, 16, 1, 1),
]


def waited_ms(layer, x, w):
    torch.npu.synchronize()
    t = time.perf_counter()
    y = F.conv2d(x, w, stride=layer.stride, padding=layer.kernel // 2)
    torch.npu.synchronize()
    return (time.perf_counter() - t) * 1e3, y


def run(layer, n=25):
    cx, cw = layer.tensors()
    x, w = cx.to("npu"), cw.to("npu")
    first, y = waited_ms(layer, x, w)
    exact = F.conv2d(cx.double(), cw.double(), stride=layer.stride, padding=layer.kernel // 2)
    assert y.shape == exact.shape and y.shape[-1] == layer.out_side
    for _ in range(3):
        waited_ms(layer, x, w)
    ms = torch.tensor([waited_ms(layer, x, w)[0] for _ in range(n)], dtype=torch.float64)
    p50, p90 = ms.quantile(0.5).item(), ms.quantile(0.9).item()
    return Row(first, p50, p90, n, layer.flop / p50 / 1e6, (y.cpu().double() - exact).abs().max().item())


def cell(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    print("# fp32 NCHW, padding kernel//2, no bias; all *_ms are host time from call to end of synchronize")
    print("# first_call_ms is the very first conv with that shape in this process (operator load included) and is in no other column")
    print("# gflop_per_s_p50 = 2*N*Cout*H*W*Cin*K*K / p50_ms, i.e. with the wait in it, below what back-to-back calls would reach")
    print(f"# allow_hf32 for conv: {torch.npu.conv.allow_hf32}")
    print(",".join(f.name for f in fields(Layer) + fields(Row)))
    for layer in SHEET:
        print(",".join(map(cell, astuple(layer) + astuple(run(layer)))))
