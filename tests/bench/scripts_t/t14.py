"""Selection operators, device time per call."""
import pandas as pd
import torch

import labkit  # noqa: F401


def device_time(n=4, repeats=6, warm=4):
    """Decorator: fn() becomes a function that returns a list of times per call, in us."""
    def deco(fn):
        def timed(*args):
            for _ in range(warm):
                fn(*args)
            torch.npu.synchronize()
            res = []
            for _ in range(repeats):
                start = torch.npu.Event(enable_timing=True)
                stop = torch.npu.Event(enable_timing=True)
                start.record()
                for _ in range(n):
                    fn(*args)
                stop.record()
                stop.synchronize()
                res.append(start.elapsed_time(stop) / n)
            return res
        timed.label = fn.__name__
        return timed
    return deco


@device_time()
def sort(x):
    return torch.sort(x, dim=-1)


@device_time()
def topk_16(x):
    return torch.topk(x, 16, dim=-1)


@device_time()
def argmax(x):
    return x.argmax(-1)


@device_time()
def cumsum(x):
    return x.cumsum(-1)


if __name__ == "__main__":
    frame = []
    for rows, cols in [(32, 1024), (32, 8192), (8, 32000)]:
        x = torch.randn(rows, cols, device="npu")
        for op in (sort, topk_16, argmax, cumsum):
            for t in op(x):
                frame.append({"op": op.label, "shape": f"{rows}x{cols}", "us": t})
    df = pd.DataFrame(frame)
    print("device time per call [us], fp32, inputs resident and reused")
    print(df.groupby(["shape", "op"])["us"].agg(["median", "min", "max", "count"]).round(4).to_string())
