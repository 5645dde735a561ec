"""Residual + LayerNorm: F.layer_norm against the formula written out, by events, in turns.

Both sides get the same tensors, dtype and weights, and their results are compared before any clock starts. A round
times both once, order drawn by chance; the ratio is taken within rounds and gets a bootstrap interval. An interval
that holds 1 is reported as "no difference seen". L2 is warm. Each line speaks for its shape alone.

These are times of eager calls issued back to back: at such small shapes Python's rate of issue is a part of them, and
the number of launches decides. Nothing is said about the kernels alone.
"""
import numpy as np
import torch
import torch_npu

SHAPES = ((16, 256), (128, 256), (128, 1024))
ROUNDS = 60
CALLS = 5


def library(x, residual, weight, bias):
    return torch.nn.functional.layer_norm(x + residual, x.shape[-1:], weight, bias)


def written_out(x, residual, weight, bias):
    h = x + residual
    centred = h - h.mean(-1, keepdim=True)
    variance = centred.pow(2).mean(-1, keepdim=True)
    return centred * torch.rsqrt(variance + 1e-5) * weight + bias


def events(function, arguments):
    begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(CALLS):
        function(*arguments)
    end.record()
    return begin, end


def bootstrap(ratios, generator, times=1000):
    draws = generator.choice(ratios, (times, len(ratios)))
    return np.percentile(np.median(draws, 1), [2.5, 97.5])


@torch.no_grad()
def main():
    torch.manual_seed(15)
    generator = np.random.default_rng(15)
    sides = {"library": library, "written out": written_out}
    for rows, width in SHAPES:
        arguments = [torch.randn(*s).npu() for s in ((rows, width), (rows, width), (width,), (width,))]
        torch.testing.assert_close(library(*arguments).cpu(), written_out(*arguments).cpu(), rtol=1e-3, atol=1e-3)
        for _ in range(5):
            for function in sides.values():
                events(function, arguments)
        torch.npu.synchronize()
        pairs = {name: [] for name in sides}
        for _ in range(ROUNDS):
            for name in generator.permutation(list(sides)):
                pairs[str(name)].append(events(sides[str(name)], arguments))
        torch.npu.synchronize()
        us = {name: np.array([a.elapsed_time(b) * 1e3 / CALLS for a, b in p]) for name, p in pairs.items()}
        ratios = us["written out"] / us["library"]
        low, high = bootstrap(ratios, generator)
        verdict = "no difference seen" if low <= 1 <= high else "differs"
        print(f"({rows}, {width}) float32, {ROUNDS} rounds of {CALLS} eager calls back to back, warm L2")
        for name, values in us.items():
            print("    {:12} P10 {:8.2f}  P50 {:8.2f}  P90 {:8.2f} us a call".format(
                name, *np.percentile(values, [10, 50, 90])))
        print(f"    written out / library: {np.median(ratios):.3f}, 95 % of the median {low:.3f} .. {high:.3f}: {verdict}")


main()
