"""Row standardisation: hand-written steps against a one-pass version under torch.compile."""
import numpy as np
import pandas as pd
import torch
import torch_npu

EPS = 1e-5


def eager_standardise(x):
    mean = x.mean(-1, keepdim=True)
    centred = x - mean
    var = (centred * centred).mean(-1, keepdim=True)
    return centred * torch.rsqrt(var + EPS)


@torch.compile(backend="npu")
def compiled_standardise(x):
    second = (x * x).mean(-1, keepdim=True)
    return x * torch.rsqrt(second + EPS)


def event_us(fn, x):
    start, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    start.record()
    fn(x)
    end.record()
    return start, end


def main():
    rows = []
    for shape in [(128, 256), (512, 512)]:
        x = torch.randn(*shape).npu() + 0.5
        for _ in range(5):
            eager_standardise(x), compiled_standardise(x)
        torch.npu.synchronize()
        marks = {"eager": [], "compiled": []}
        for i in range(16):
            pair = [("eager", eager_standardise), ("compiled", compiled_standardise)]
            for name, fn in pair if i % 2 else reversed(pair):
                marks[name].append(event_us(fn, x))
        torch.npu.synchronize()
        us = {k: np.array([1e3 * s.elapsed_time(e) for s, e in v]) for k, v in marks.items()}
        row = {"shape": "x".join(map(str, shape))}
        for name, v in us.items():
            row[f"{name} P50"], row[f"{name} P90"] = np.percentile(v, [50, 90])
        row["speedup"] = row["eager P50"] / row["compiled P50"]
        rows.append(row)
    print("row standardisation, fp32, 16 alternating pairs per shape, input reused (L2 warm), microseconds")
    print(pd.DataFrame(rows).set_index("shape").round(2).to_string())


if __name__ == "__main__":
    main()
