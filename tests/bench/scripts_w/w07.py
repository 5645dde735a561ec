"""LayerNorm written out against nn.functional.layer_norm, in half, at the three shapes of our encoder."""
import random

import numpy as np
import torch
import torch_npu

SHAPES = [(1024, 1024), (2048, 512), (1024, 2048)]
PAIRS, CALLS = 30, 4


def written_out(x, weight, bias):
    wide = x.float()
    centred = wide - wide.mean(dim=-1, keepdim=True)
    scale = torch.rsqrt(centred.square().mean(dim=-1, keepdim=True) + 1e-5)
    return (centred * scale).half() * weight + bias


def library(x, weight, bias):
    return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, 1e-5)


def make_sample(function, *inputs):
    def sample():
        start, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(CALLS):
            function(*inputs)
        end.record()
        return start, end

    return sample


def read(marks):
    torch.npu.synchronize()
    return np.array([1e3 * start.elapsed_time(end) / CALLS for start, end in marks])


def interval(ratios, rng, rounds=2000):
    """95 % of the medians of resampled pairs."""
    again = rng.choice(ratios, size=(rounds, len(ratios)))
    return np.percentile(np.median(again, axis=1), [2.5, 97.5])


def main():
    random.seed(8)
    torch.manual_seed(8)
    rng = np.random.default_rng(8)
    print(f"half; {PAIRS} pairs in drawn order, {CALLS} calls to a sample, same input each time (it may stay in the L2)")
    for rows, width in SHAPES:
        x = torch.randn(rows, width).half().npu()
        weight = (1 + 0.1 * torch.randn(width)).half().npu()
        bias = (0.1 * torch.randn(width)).half().npu()
        a, b = written_out(x, weight, bias).float(), library(x, weight, bias).float()
        off = (a - b).abs().max().item()
        assert off < 0.02, off

        both = {"written out": make_sample(written_out, x, weight, bias), "layer_norm": make_sample(library, x, weight, bias)}
        for sample in both.values():
            for _ in range(6):
                sample()
        marks = {name: [] for name in both}
        for _ in range(PAIRS):
            for name in random.sample(list(both), 2):
                marks[name].append(both[name]())

        us = {name: read(pairs) for name, pairs in marks.items()}
        ratios = us["layer_norm"] / us["written out"]
        low, high = interval(ratios, rng)
        print(f"\n{rows} x {width}, results within {off:.4f} of each other")
        for name, values in us.items():
            p10, p50, p90 = np.percentile(values, [10, 50, 90])
            print(f"  {name:12} P50 {p50:6.1f} us a call   P10 {p10:6.1f}   P90 {p90:6.1f}")
        if high < 1:
            verdict = "layer_norm is faster at this shape"
        elif low > 1:
            verdict = "written out is faster at this shape"
        else:
            verdict = "no sure difference at this shape"
        print(f"  ratio within a pair {np.median(ratios):.3f} (95 %: {low:.3f} to {high:.3f}): {verdict}")


if __name__ == "__main__":
    main()
