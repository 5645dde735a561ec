"""Kernel times of the normalisation family at the widths of our models."""
import time
from functools import partial

import pandas as pd
import torch
import torch.nn.functional as F
import labkit  # noqa: F401

TOKENS = 128
WIDTHS = (512, 1024, 2048)


class Stopwatch:
    """with Stopwatch() as s: ...; s.us is what the device needed."""

    def __enter__(self):
        torch.npu.synchronize()
        self.begin = time.perf_counter_ns()
        return self

    def __exit__(self, *_):
        torch.npu.synchronize()
        self.us = (time.perf_counter_ns() - self.begin) / 1e3


def sample(fn, warm=15, count=100):
    for _ in range(warm):
        fn()
    got = []
    for _ in range(count):
        with Stopwatch() as watch:
            fn()
        got.append(watch.us)
    return pd.Series(got)


def family(width):
    x = torch.randn(TOKENS, width).half().npu()
    w, b = torch.ones(width).half().npu(), torch.zeros(width).half().npu()
    yield "layer_norm", partial(F.layer_norm, x, (width,), w, b)
    yield "softmax", partial(torch.softmax, x, -1)
    yield "scale", partial(torch.mul, x, w)


def main():
    rows = []
    for width in WIDTHS:
        for name, fn in family(width):
            s = sample(fn)
            rows.append({"kernel": name, "shape": f"{TOKENS}x{width}", "n": len(s), "p10": s.quantile(0.1),
                         "p50": s.median(), "p90": s.quantile(0.9), "p99": s.quantile(0.99)})
    table = pd.DataFrame(rows).set_index(["kernel", "shape"]).round(1)
    print("fp16, inputs in the L2 (warm), us of kernel time")
    print(table.to_string())
    ln, mul = (table.loc[name, "p50"].mean() for name in ("layer_norm", "scale"))
    print(f"On the device a layer_norm kernel takes {ln:.1f} us at {TOKENS} tokens on average over the three widths, "
          f"{ln / mul:.2f} times a plain scale.")


if __name__ == "__main__":
    main()
