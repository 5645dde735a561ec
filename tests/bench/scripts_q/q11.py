"""Device time of softmax out of the profiler's kernel table, not off a clock: active steps only, by shape."""
import argparse
import contextlib
import io
import tempfile
from pathlib import Path

import pandas as pd
import torch
import torch_npu

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--widths", type=int, nargs="+", default=[256, 1024, 4096])
parser.add_argument("--rows", type=int, default=512)
parser.add_argument("--active", type=int, default=20)
args = parser.parse_args()


def kernels(function, active):
    """The kernel table of `active` steps, behind one step that is skipped and two that are thrown away."""
    profiler = torch_npu.profiler
    plan = profiler.schedule(wait=1, warmup=2, active=active, repeat=1)
    with tempfile.TemporaryDirectory() as folder:
        with contextlib.redirect_stdout(io.StringIO()):
            with profiler.profile(schedule=plan, on_trace_ready=profiler.tensorboard_trace_handler(folder)) as prof:
                for _ in range(3 + active):
                    function()
                    prof.step()
        tables = sorted(Path(folder).rglob("kernel_details.csv"))
        return pd.concat([pd.read_csv(table) for table in tables])


rows = {}
for width in args.widths:
    x = torch.rand(args.rows, width).npu()
    table = kernels(lambda: torch.softmax(x, -1), args.active)
    us = table["Duration(us)"].astype(float)
    rows[f"{args.rows} x {width}"] = {
        "kernels": len(us), "P10": us.quantile(0.1), "P50": us.median(), "P90": us.quantile(0.9), "max": us.max()}

report = pd.DataFrame(rows).T
print(report.round(2).to_string())
print("us on the device, float32, softmax over the last dimension, the input left in the L2 by the step before; "
      "neither the launch nor the host is in it. Only these shapes were profiled.")
