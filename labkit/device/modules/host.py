"""torch_npu.utils.affinity, ._error_code and .flops_count: the host's threads, the numbers of errors, a count."""

from __future__ import annotations

import enum
import os
import time
import warnings

import torch

from labkit import messages
from labkit.device.switches import FlopsCounter as _FlopsCounter

# ---- torch_npu.utils.affinity

_AT_FIRST = os.sched_getaffinity(0)


def bind(*cores) -> None:
    """torch_npu._C._npu_set_thread_affinity: the calling thread runs on these cores of the host; (-1, -1): on those
    that the process had at first. Cores that this machine has not are left out."""
    wanted = set(cores[0]) if len(cores) == 1 else set() if cores == (-1, -1) else set(range(cores[0], cores[1] + 1))
    if wanted and not wanted & _AT_FIRST:
        return warnings.warn(messages.text("device.no_cores", cores=sorted(wanted), have=sorted(_AT_FIRST)))
    os.sched_setaffinity(0, wanted & _AT_FIRST or _AT_FIRST)


def unbind() -> None:
    os.sched_setaffinity(0, _AT_FIRST)


def _set_thread_affinity(core_range=None) -> None:
    """The calling thread runs on the cores from the first to the last number of a pair, or of several pairs; None: on
    all."""
    import torch_npu

    if core_range is None:
        return torch_npu._C._npu_set_thread_affinity(-1, -1)
    pairs = [core_range] if all(isinstance(x, int) for x in core_range) else core_range
    if not core_range or any(not isinstance(pair, (list, tuple)) or len(pair) != 2 for pair in pairs):
        raise ValueError(f"Invalid core range: {core_range}" + pta_error(ErrCode.PARAM))
    for first, last in pairs:
        if not 0 <= first <= last:
            raise ValueError(f"Invalid core range values: [{first}, {last}]" + pta_error(ErrCode.VALUE))
    torch_npu._C._npu_set_thread_affinity(sorted({c for first, last in pairs for c in range(first, last + 1)}))


def _reset_thread_affinity() -> None:
    import torch_npu

    torch_npu._C._npu_reset_thread_affinity()


set_thread_affinity, reset_thread_affinity = _set_thread_affinity, _reset_thread_affinity

# ---- torch_npu.utils._error_code: ERR01002 is module 1, error 2


class ErrCode(enum.Enum):
    SUCCESS = (0, "success")
    PARAM = (1, "invalid parameter")
    TYPE = (2, "invalid type")
    VALUE = (3, "invalid value")
    PTR = (4, "invalid pointer")
    INTERNAL = (5, "internal error")
    MEMORY = (6, "memory error")
    NOT_SUPPORT = (7, "feature not supported")
    NOT_FOUND = (8, "resource not found")
    UNAVAIL = (9, "resource unavailable")
    SYSCALL = (10, "system call failed")
    TIMEOUT = (11, "timeout error")
    PERMISSION = (12, "permission error")
    ACL = (100, "call acl api failed")
    HCCL = (200, "call hccl api failed")
    GE = (300, "call ge api failed")

    @property
    def code(self) -> int:
        return self.value[0]

    @property
    def msg(self) -> str:
        return self.value[1]


def _of(number: int, module: str):
    def error(error: ErrCode) -> str:
        """The line behind a message: when, where, and the error's number."""
        group = torch.distributed.is_available() and torch.distributed.is_initialized()
        rank = torch.distributed.get_rank() if group else -1
        return (
            f"\n[ERROR] {time.strftime('%Y-%m-%d-%H:%M:%S')} (PID:{os.getpid()}, Device:{torch.npu.current_device()}, "
            f"RankID:{rank}) ERR{number:02}{error.code:03} {module} {error.msg}"
        )

    return error


pta_error, ops_error, dist_error, graph_error, prof_error = (
    _of(i, module) for i, module in enumerate(("PTA", "OPS", "DIST", "GRAPH", "PROF"))
)

# ---- torch_npu.utils.flops_count


class FlopsCounter(_FlopsCounter):
    def __init__(self):
        super().__init__()
        warnings.warn("this FlopsCounter goes: torch_npu.utils.FlopsCounter() is the same", FutureWarning, stacklevel=2)
