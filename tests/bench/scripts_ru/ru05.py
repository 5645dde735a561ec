#!/usr/bin/env python
"""What one element costs in cumsum, topk and scatter_add - and what a call costs when there is hardly an element."""
import functools

import torch
import torch_npu

BLOCK = 16
BLOCKS = 9
REGISTRY = {}


def per_element(label):
    """Registers a case maker; what it makes is timed with a pair of events around BLOCK calls."""

    def wrap(make):
        @functools.wraps(make)
        def timed(n):
            call = make(n)
            for _ in range(BLOCK):
                call()
            torch.npu.synchronize()
            values = []
            for _ in range(BLOCKS):
                head = torch.npu.Event(enable_timing=True)
                tail = torch.npu.Event(enable_timing=True)
                head.record()
                for _ in range(BLOCK):
                    call()
                tail.record()
                tail.synchronize()
                values.append(head.elapsed_time(tail) * 1e3 / BLOCK)
            values.sort()
            return values[len(values) // 2]

        REGISTRY[label] = timed
        return timed

    return wrap


@per_element("cumsum, last axis")
def cumsum(n):
    x = torch.rand(8, n // 8, device="npu")
    return lambda: torch.cumsum(x, dim=-1)


@per_element("topk(4), last axis")
def topk(n):
    x = torch.rand(8, n // 8, device="npu")
    return lambda: torch.topk(x, 4, dim=-1)


@per_element("scatter_add_, 1-D")
def scatter_add(n):
    torch.manual_seed(3)
    into = torch.zeros(n, device="npu")
    where = torch.randperm(n).npu()
    x = torch.rand(n, device="npu")
    return lambda: into.scatter_add_(0, where, x)


print(f"events around {BLOCK} calls in a row, divided by {BLOCK}; median of {BLOCKS} such blocks")
print("float32; n input elements, for cumsum and topk as 8 rows of n / 8")
print("the time between the events includes whatever the stream waits for the next launch")
print()
for label, timed in REGISTRY.items():
    print(label)
    for n in (64, 65536):
        us = timed(n)
        print(f"    {f'{n} elements, us a call':<34}{us:>12.3f}")
        print(f"    {f'{n} elements, ns an element':<34}{us * 1e3 / n:>12.4f}")
