"""What a program would cost, without computing it: operators by their shapes alone, and kernels that do the work of
several operators.

Both charge the same virtual clock and pass the same L2 as everything else on the simulated device, so their times can
be compared with those of a run.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from labkit.device.library import ENGINES, Passed, lib, records

if TYPE_CHECKING:
    import torch

_only_shapes = 0  # how many blocks of shapes_only() are open


class Piece(NamedTuple):
    """One piece of device work and how its modelled time comes about, in microseconds: fixed and begin are paid for the
    launch and its cores; then the longer of moved (its traffic) and busy (its computing) counts, of a product also a
    part of the shorter. All four are 0 where that is not known: a copy over the link, a kernel that the twin ran.
    start_us, host_us: when it began on the device, and when the host had issued it."""

    name: str
    engine: str
    us: float
    fixed_us: float
    begin_us: float
    moved_us: float
    busy_us: float
    cores: float
    bytes: float
    flops: float
    start_us: float
    host_us: float


def pieces(since: int = 0) -> list[Piece]:
    """The device's work since the clock's zero, from number `since` on, in the order of issue."""
    return [
        Piece(name, ENGINES[r.engine], (r.end - r.start) / 1e3, r.fixed / 1e3, r.begin / 1e3, r.moved / 1e3,
              r.busy / 1e3, r.cores, r.bytes, r.flops, r.start / 1e3, r.host / 1e3)
        for name, r in records(lib().lab_launches() - since)
    ]  # fmt: skip


@contextmanager
def shapes_only() -> Iterator[None]:
    """Within it, operators on npu tensors are charged and give tensors of the right shapes, but nothing is computed:
    what a model of any size costs, in the time that its shapes take. Reading a value raises RuntimeError."""
    global _only_shapes
    lib().lab_shapes_only(1)
    _only_shapes += 1
    try:
        yield
    finally:
        _only_shapes -= 1
        lib().lab_shapes_only(int(_only_shapes > 0))


def only_shapes() -> bool:
    """Whether nothing is computed now."""
    return _only_shapes > 0


def launch_fused(
    name: str,
    reads: Iterable["torch.Tensor"],
    writes: Iterable["torch.Tensor"],
    *,
    fixed_us: float,
    begin_us: float = 0.0,
    busy_us: float,
    cores: float,
    engine: str = "vector",
    flops: float = 0.0,
) -> float:
    """Charges one kernel that reads and writes these tensors once each; its modelled time in microseconds. The traffic
    and its time are worked out from what the L2 holds; a tensor that is expanded is read once."""
    spans = [(t, True, False) for t in reads] + [(t, False, True) for t in writes]
    passed = (Passed * len(spans))()
    for one, (t, read, written) in zip(passed, spans):
        size = min(t.numel() * t.element_size(), t.untyped_storage().nbytes())
        one.at, one.bytes, one.reads, one.writes = t.data_ptr(), size, read, written
    parts = (ctypes.c_double * 4)(fixed_us * 1e3, begin_us * 1e3, busy_us * 1e3, cores)
    traffic = (ctypes.c_double * 4)()
    return lib().lab_launch_fused(name.encode(), passed, len(spans), parts, ENGINES.index(engine), flops, traffic) / 1e3
