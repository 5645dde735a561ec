"""Launching kernel files on the twin, for the tests: arguments from a short description,
everything built beforehand.
"""

from __future__ import annotations

import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import labkit
from labkit.launch import record

DTYPES = {"half": "float16", "float": "float32", "bf16": "bfloat16"}


def build_all(paths, jobs: int = 2) -> None:
    """Compiles the kernels side by side, so that no test waits for its own; one that fails fails again in its test.

    paths: files, or what labkit.kernel takes, as dicts.
    """

    def build(path):
        try:
            labkit.kernel(**path) if isinstance(path, dict) else labkit.kernel(path)
        except Exception:
            pass

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(build, paths))


PAGE = 4096


def at_a_page(count: int, dtype):
    """An empty tensor that begins a page: whether a read past its end meets mapped memory does not depend on what the
    process has allocated before."""
    import torch

    room = torch.empty(count * dtype.itemsize + PAGE, dtype=torch.uint8, device="npu")
    begin = -room.data_ptr() % PAGE
    return room[begin : begin + count * dtype.itemsize].view(dtype)


def tensor(words: str, seed: int = 0):
    """ "half 64", "empty half 64", "zero int32 64", "one int32 64": a tensor on the device; else random values, exact in
    half, fixed by the words."""
    import torch

    *kind, dtype, count = words.split()
    dtype = getattr(torch, DTYPES.get(dtype, dtype))
    if kind == ["empty"]:
        return at_a_page(int(count), dtype)
    if kind:
        return at_a_page(int(count), dtype).fill_({"zero": 0, "one": 1}[kind[0]])
    rng = np.random.default_rng(zlib.crc32(words.encode()) + seed)
    values = torch.from_numpy(rng.integers(-64, 64, int(count)) / (8 if dtype.is_floating_point else 1)).to(dtype)
    return at_a_page(int(count), dtype).copy_(values)


def launch(
    path: Path, args: list, blocks: int = 1, timeout: float = 20.0, checks: bool = True, **more
) -> record.LaunchRecord:
    """The record, whether or not the launch finished. more: for labkit.kernel;
    text= stands in for what the file holds.
    """
    from labkit import device

    device.install()
    given = {"filename": str(path)} if "text" in more else {"path": path}
    k = labkit.kernel(**given, timeout=timeout, checks=checks, **more)
    values = []
    for i, a in enumerate(args):
        if isinstance(a, dict):
            a = dict(a)
            values.append(k.struct(a.pop("struct"), **a))
        else:
            values.append(tensor(a, i) if isinstance(a, str) else a)
    try:
        return k[blocks](*values)
    except record.LaunchError as error:
        return error.record
