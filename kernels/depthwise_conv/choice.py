"""Drawn calls of lab::depthwise_conv2d beside the framework's operator, forward and backward, on the modelled clock.

    python kernels/depthwise_conv/choice.py --write         # data/depthwise_conv_choice.csv, minutes
    python kernels/depthwise_conv/choice.py --check 60      # measures its first rows anew for 60 seconds

The calls are golden.draw's for the seeds SEEDS, COUNT each, with float16 and float32, in NCHW and in channels_last,
no bias. A time is the sum of what a call launches, each call beginning with an empty L2. `forward_on` and `backward_on`
say whether our operator used the cube. The two sides are not modelled alike: ours is replayed instruction by
instruction, the framework's operator has a price by a rule that no published depthwise convolution went into.
"""

from __future__ import annotations

import csv
import importlib.util
import sys
import time
from pathlib import Path

import torch
from torch.nn.functional import conv2d

import labkit
from labkit import paths

_SPEC = importlib.util.spec_from_file_location("golden_depthwise_conv", Path(__file__).with_name("golden.py"))
golden = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(golden)

SEEDS, COUNT = (21, 22), 60
TABLE = paths.data_dir() / "depthwise_conv_choice.csv"
FIELDS = "n c h w kernelH kernelW strideH strideW outH outW type channels_last forward_on backward_on".split()
FIELDS += "forward_us framework_forward_us backward_us framework_backward_us".split()


def took(call) -> tuple[float, str]:
    """us of what `call` launches, and whether a kernel of the cube was among it."""
    labkit.clear_l2()
    before = labkit.device.clock().launches
    call()
    torch.npu.synchronize()
    spans = labkit.device.timeline_since(before)
    return sum(s.end_us - s.start_us for s in spans), "cube" if any("_cube" in s.name for s in spans) else "vector"


def measure(case: dict, dtype, last: bool) -> list:
    """One row of the table."""
    x = torch.zeros(case["x"], dtype=dtype).npu()
    x = (x.to(memory_format=torch.channels_last) if last else x).requires_grad_()
    weight = torch.zeros(case["x"][1], 1, *case["kernel"], dtype=dtype).npu().requires_grad_()
    how, times = [case[k] for k in ("stride", "padding", "dilation")], []
    for forward in (
        lambda: torch.ops.lab.depthwise_conv2d(x, weight, None, *how),
        lambda: conv2d(x, weight, None, *how, groups=x.shape[1]),
    ):
        with torch.no_grad():
            times.append(took(forward))
        y = forward()
        dy = torch.zeros_like(y)
        times.append(took(lambda y=y, dy=dy: torch.autograd.grad(y, (x, weight), dy)))
    ours, ours_back, theirs, theirs_back = times
    on = [ours[1], ours_back[1]]
    us = [f"{t[0]:.2f}" for t in (ours, theirs, ours_back, theirs_back)]
    kind = str(dtype).removeprefix("torch.")
    return [*case["x"], *case["kernel"], *case["stride"], *y.shape[2:], kind, int(last), *on, *us]


def rows():
    """All rows of the table, one after the other."""
    for seed in SEEDS:
        for case in golden.draw(seed, COUNT):
            for dtype in (torch.float16, torch.float32):
                for last in (False, True):
                    yield measure(case, dtype, last)


def differs(seconds: float) -> tuple[int, list[int]]:
    """(rows that were measured anew within the seconds, the numbers of those that are not as in the table)."""
    with open(TABLE, encoding="utf-8", newline="") as text:
        table = list(csv.reader(text))[1:]
    end, count, other = time.monotonic() + seconds, 0, []
    for count, (was, now) in enumerate(zip(table, rows()), 1):
        other += [count] * (was != [str(v) for v in now])
        if time.monotonic() > end:
            break
    return count, other


if __name__ == "__main__":
    labkit.register(Path(__file__).with_name("depthwise_conv_torch.asc"))
    if "--check" in sys.argv[1:]:
        count, other = differs(float(sys.argv[-1]))
        print(f"{count} rows measured anew, {len(other)} of them not as in the table", *other)
        sys.exit(bool(other))
    made = list(rows())
    if "--write" in sys.argv[1:]:
        with open(TABLE, "w", encoding="utf-8", newline="") as out:
            csv.writer(out, lineterminator="\n").writerows([FIELDS, *made])
    for where in ("forward", "backward"):
        ours, theirs, on = (FIELDS.index(f) for f in (f"{where}_us", f"framework_{where}_us", f"{where}_on"))
        for core in ("cube", "vector"):
            mine = [r for r in made if r[on] == core]
            print(where, core, len(mine), "calls,", sum(float(r[ours]) > float(r[theirs]) for r in mine), "slower")
