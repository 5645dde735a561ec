"""torch.distributed on the simulated device: the backend "hccl" is gloo, which works on npu tensors in place.

    torch.distributed.init_process_group("hccl")      # or "cpu:gloo,npu:hccl"

Each process has its own simulated devices and its own virtual clock. The clocks meet in each collective on npu tensors:
it begins when its last rank is there and takes as long on every rank (csrc/collectives.h). Unlike on a node, "hccl"
here takes CPU tensors too.
"""

from __future__ import annotations

import torch

from labkit.device.library import lib


def register() -> None:
    """Once a process. torch without distributed has nothing to register."""
    if not torch.distributed.is_available():
        return
    from torch.distributed import Backend

    if "hccl" not in Backend.backend_list:
        # The collectives of npu tensors end in the CPU's: hence a backend for both.
        Backend.register_backend("hccl", _gloo, devices=["npu", "cpu"])
        Backend.default_device_backend_map["cpu"] = "gloo"


def _gloo(store, rank: int, size: int, timeout):
    from torch.distributed import ProcessGroupGloo

    # the default group is being made: its ranks number the clocks that meet in collectives
    if not torch.distributed.is_initialized():
        lib().lab_set_rank(rank, size)
    return ProcessGroupGloo(store, rank, size, timeout=timeout)
