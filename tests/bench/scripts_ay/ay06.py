"""Steady-state dispatch cost of small operators.

With tensors of one element or one row the device is always faster than the host, so the spacing of the
launches on the stream is what a dispatch costs. A burst of BURST launches sits between two events.
"""
import functools
from collections import namedtuple

import torch
import torch_npu

BURST = 16
BURSTS = 12
Row = namedtuple("Row", "op mean lo hi")


@functools.lru_cache(maxsize=None)
def positions():
    """The table that the position operators read; built when first needed."""
    angle = torch.outer(torch.arange(4096.0), torch.arange(128.0) / 1e3)
    return torch.cos(angle).npu()


def cases():
    row = torch.tensor([17]).npu()
    a = torch.tensor([1.5]).npu()
    b = torch.tensor([2.5]).npu()
    return {
        "add": lambda: torch.add(a, b),
        "mul": lambda: torch.mul(a, b),
        "exp": lambda: torch.exp(a),
        "sigmoid": lambda: torch.sigmoid(a),
        "rsqrt": lambda: torch.rsqrt(a),
        "maximum": lambda: torch.maximum(a, b),
        "positions": lambda: torch.index_select(positions(), 0, row),
        "tanh": lambda: torch.tanh(a),
    }


def bursts(fn):
    marks = []
    for _ in range(BURSTS):
        head = torch.npu.Event(enable_timing=True)
        tail = torch.npu.Event(enable_timing=True)
        head.record()
        for _ in range(BURST):
            fn()
        tail.record()
        marks.append((head, tail))
    torch.npu.synchronize()
    return [1e3 * head.elapsed_time(tail) / BURST for head, tail in marks]


def main():
    torch.npu.synchronize()
    table = []
    for op, fn in cases().items():
        us = bursts(fn)
        table.append(Row(op, sum(us) / len(us), min(us), max(us)))

    print(f"steady-state dispatch cost, {torch.npu.get_device_name(0)}")
    print(f"{BURSTS} bursts of {BURST} launches, us per launch")
    print("+-----------+---------+---------+---------+")
    print("| op        |    mean |     min |     max |")
    print("+-----------+---------+---------+---------+")
    for r in table:
        print(f"| {r.op:<9} | {r.mean:7.2f} | {r.lo:7.2f} | {r.hi:7.2f} |")
    print("+-----------+---------+---------+---------+")


if __name__ == "__main__":
    main()
