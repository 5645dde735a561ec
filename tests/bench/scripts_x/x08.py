import torch
import torch_npu
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Config:
    tokens: int
    hidden: int
    dtype: torch.dtype = torch.bfloat16
    warmup: int = 6
    calls: int = 8
    runs: int = 3

    @property
    def dtype_name(self):
        return str(self.dtype).removeprefix("torch.")


def tensors(cfg):
    generator = torch.Generator().manual_seed(cfg.hidden)
    x = torch.randn(cfg.tokens, cfg.hidden, generator=generator)
    up = torch.randn(cfg.hidden, cfg.hidden, generator=generator) / cfg.hidden**0.5
    down = torch.randn(cfg.hidden, cfg.hidden, generator=generator) / cfg.hidden**0.5
    made = [x.npu(), up.npu(), down.npu()]
    for tensor in made:
        tensor = tensor.to(cfg.dtype)
    return made


def mlp(x, up, down):
    return torch.relu(x @ up) @ down


def benchmark(cfg):
    args = tensors(cfg)
    reference = mlp(*(t.cpu().double() for t in args))
    torch.testing.assert_close(mlp(*args).cpu().double(), reference, rtol=3e-2, atol=3e-2)
    for _ in range(cfg.warmup):
        mlp(*args)
    torch.npu.synchronize()
    runs = []
    for _ in range(cfg.runs):
        marks = [torch.npu.Event(enable_timing=True) for _ in range(cfg.calls + 1)]
        mlp(*args)
        marks[0].record()
        for mark in marks[1:]:
            mlp(*args)
            mark.record()
        torch.npu.synchronize()
        runs.append([a.elapsed_time(b) * 1e3 for a, b in zip(marks, marks[1:])])
    return np.array(runs)


def main():
    for cfg in (Config(512, 512), Config(512, 768), Config(768, 512)):
        runs = benchmark(cfg)
        p10, p50, p90 = np.percentile(runs, [10, 50, 90])
        print(f"{cfg.dtype_name} MLP, {cfg.tokens} tokens, hidden {cfg.hidden}: device time P50 {p50:.1f} us "
              f"(P10 {p10:.1f}, P90 {p90:.1f}; {runs.size} calls in {cfg.runs} runs)")


if __name__ == "__main__":
    main()
