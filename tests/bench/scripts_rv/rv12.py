import argparse
import pathlib
import tempfile
import time
from statistics import median

import torch
import torch_npu

torch.set_num_threads(1)


def parse():
    p = argparse.ArgumentParser(description="cumsum along either axis")
    p.add_argument("--rows", type=int, default=512)
    p.add_argument("--cols", type=int, default=512)
    p.add_argument("--repeat", type=int, default=40)
    p.add_argument("--dtype", default="float32", choices=["float16", "float32"])
    p.add_argument("--out", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "cumsum_axes.md")
    return p.parse_args()


def one(action):
    t = time.perf_counter()
    action()
    torch.npu.synchronize()
    return (time.perf_counter() - t) * 1e6


def collect(action, repeat):
    for _ in range(6):
        action()
    torch.npu.synchronize()
    v = sorted(one(action) for _ in range(repeat))
    return median(v), v[repeat * 3 // 4], v[-1]


def main():
    o = parse()
    x = torch.rand(o.rows, o.cols).to(getattr(torch, o.dtype)).to("npu")
    for axis in 0, 1:
        ref = x.cpu().double().cumsum(axis)
        rel = ((x.cumsum(axis).cpu().double() - ref).abs() / ref).max().item()
        assert rel < (1e-5 if o.dtype == "float32" else 2e-2), rel
    lines = [
        f"### `cumsum`, {o.rows} x {o.cols}, {o.dtype}",
        "",
        f"Every one of the {o.repeat} samples is a call and a wait. What a wait with nothing to wait for costs is the",
        "last row; it is *not* subtracted from the others.",
        "",
        "| axis | median, us | upper quartile, us | worst, us |",
        "|---|--:|--:|--:|",
    ]
    jobs = {"0 (down the columns)": lambda: x.cumsum(0), "1 (along the rows)": lambda: x.cumsum(1), "no call, wait only": lambda: None}
    for name, job in jobs.items():
        lines.append("| {} | {:.1f} | {:.1f} | {:.1f} |".format(name, *collect(job, o.repeat)))
    text = "\n".join(lines) + "\n"
    o.out.write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
