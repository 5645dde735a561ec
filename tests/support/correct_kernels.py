"""Correct kernels: their cases, and one launch of a case, which must be right and give no finding."""

from __future__ import annotations

import numpy as np
import pins
import pytest
from places import CORRECT

import labkit

F16, F32, I8, I32 = np.float16, np.float32, np.int8, np.int32
# the order is kept by flags and queues, not by luck
POLLS = {"past_the_cache", "polled_marks"}  # how often its cores look at GM is not the same in two launches
SCHEDULES = ["program", "worst", "worst:1", "worst:2", "worst:3", "worst:9"]


def register(cases, *sizes, blocks=(1,), entry=None, tolerance=0.0, file=None):
    """Adds to `cases` golden(k, *size) -> (arguments, [wanted, ...]); None among the arguments: the next output;
    (array, wanted): an argument that the kernel changes.

    blocks: launched with each of these numbers; a name: with that one of the golden's own parameters.
    file: with several kernels; the golden has the kernel's name.
    """

    def add(golden):
        names = golden.__code__.co_varnames[1:]
        for size in (s if isinstance(s, tuple) else (s,) for s in sizes):
            for b in [size[names.index(blocks)]] if isinstance(blocks, str) else blocks:
                label = "x".join(map(str, size))
                name = golden.__name__
                which = (file or name, name if file else entry)
                cases.append(pytest.param(golden, size, b, which, tolerance, id=f"{name}-{label}-on{b}"))
        return golden

    return add


def values(n, dtype, low=-8.0, high=8.0):
    """n numbers that are exact in half, in an order fixed by n."""
    rng = np.random.default_rng(n)
    if np.issubdtype(dtype, np.integer):
        return rng.integers(
            max(low * 8, np.iinfo(dtype).min), min(high * 8, np.iinfo(dtype).max), n, endpoint=True
        ).astype(dtype)
    return (rng.integers(int(low * 64), int(high * 64), n, endpoint=True) / 64).astype(dtype)


def zeros(n, dtype=I32):
    return np.zeros(n, dtype)


def right_and_silent(golden, size, blocks, which, tolerance, schedule):
    """Launches a case under a schedule and compares every output."""
    import torch

    file, entry = which
    k = labkit.kernel(CORRECT / f"{file}.asc", entry=entry, schedule=schedule)
    arguments, wanted = golden(k, *size)
    outputs, given, pending = [], [], iter(wanted)
    for a in arguments:
        if a is None:
            w = next(pending)
            a = torch.empty(
                w.size, dtype=torch.bfloat16 if w.dtype == np.uint16 else torch.from_numpy(w[:0]).dtype, device="npu"
            )
            outputs.append((a, w))
        elif isinstance(a, tuple):
            outputs.append((torch.from_numpy(a[0]).npu(), a[1]))
            a = outputs[-1][0]
        elif isinstance(a, np.ndarray):
            a = torch.from_numpy(a).view(torch.bfloat16).npu() if a.dtype == np.uint16 else torch.from_numpy(a).npu()
        given.append(a)
    record = k[blocks](*given)
    assert record.finished and not record.findings, record.report()
    # the same in both schedules
    if golden.__name__ not in POLLS:
        pins.check(f"correct/{golden.__name__} {'x'.join(map(str, size))} on {blocks}", record)
    assert next(pending, None) is None
    for got, want in outputs:
        got = got.cpu().view(torch.int16).numpy().view(np.uint16) if want.dtype == np.uint16 else got.cpu().numpy()
        if tolerance:
            np.testing.assert_allclose(got, want.ravel(), rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(got, want.ravel())
