"""torch.distributed on the simulated device: the backend "hccl" is gloo, which works on npu tensors in place.

    torch.distributed.init_process_group()            # or "hccl", "npu:hccl", "cpu:gloo,npu:hccl"

Each process has its own simulated devices and its own virtual clock. The clocks meet in each collective on npu tensors:
it begins when its last rank is there and takes as long on every rank (csrc/collectives.h). It runs on a stream of its
group; the stream that asked for it waits at once, or with async_op=True in Work.wait(). Unlike on a node, "hccl" here
takes CPU tensors too.
"""

from __future__ import annotations

import functools
import warnings

import torch

from labkit.device.library import lib


def register() -> None:
    """Once a process. torch without distributed has nothing to register."""
    add_data_parallel()
    if not torch.distributed.is_available():
        return
    # Work.result() alone tells what a collective filled. Torch says its warning only where an autograd function around
    # it ends, so that it cannot be held back at the call.
    warnings.filterwarnings("ignore", message="Work::result API")
    from torch.distributed import Backend, distributed_c10d

    if "hccl" not in Backend.backend_list:
        # The collectives of npu tensors end in the CPU's: hence a backend for both.
        Backend.register_backend("hccl", _gloo, devices=["npu", "cpu"])
        Backend.default_device_backend_map["cpu"] = "gloo"
        distributed_c10d._new_process_group_helper = _with_cpu(distributed_c10d._new_process_group_helper)
        for name in ("wait", "synchronize", "block_current_stream"):
            if hasattr(distributed_c10d.Work, name):
                setattr(distributed_c10d.Work, name, _on_the_stream(getattr(distributed_c10d.Work, name)))


def add_data_parallel() -> None:
    """What torch.nn.DataParallel calls, and a PyTorch without CUDA has not."""

    def to(tensor, index):
        return tensor.to("cpu" if index < 0 else f"npu:{index}")

    def scatter(tensor, devices, chunk_sizes=None, dim=0, streams=None):
        parts = tensor.split(chunk_sizes, dim) if chunk_sizes else tensor.chunk(len(devices), dim)
        return [to(part, index) for part, index in zip(parts, devices)]

    def gather(tensors, dim=0, destination_index=None):
        index = torch.npu.current_device() if destination_index is None else destination_index
        return torch.cat([to(t, index) for t in tensors], dim)

    def broadcast(tensor, devices):
        return [to(tensor, index) for index in devices]

    def broadcast_coalesced(tensors, devices, buffer_size):
        return [[to(t, index) for t in tensors] for index in devices]

    for name, function in (
        ("_scatter", scatter),
        ("_gather", gather),
        ("_broadcast", broadcast),
        ("_broadcast_coalesced", broadcast_coalesced),
    ):
        if not hasattr(torch._C, name):
            setattr(torch._C, name, function)


def _gloo(store, rank: int, size: int, timeout):
    from torch.distributed import ProcessGroupGloo

    # the default group is being made: its ranks number the clocks that meet in collectives
    if not torch.distributed.is_initialized():
        lib().lab_set_rank(rank, size)
    return ProcessGroupGloo(store, rank, size, timeout=timeout)


def _on_the_stream(inner):
    """Work.wait(): gloo makes the host wait for the bytes; beside it the current stream waits for the collective. The
    host's virtual clock goes on, as with HCCL."""

    @functools.wraps(inner)
    def wait(work, *args, **kwargs):
        done = inner(work, *args, **kwargs)
        try:
            tensors = work.result()
        except Exception:  # a send, a barrier: gloo keeps no tensors of it
            tensors = []
        device = torch.npu.current_device()
        for tensor in tensors:
            lib().lab_land(device, tensor.data_ptr(), tensor.nbytes)
        if not tensors:
            lib().lab_land(device, None, 0)
        return done

    return wait


def _with_cpu(inner):
    """A group that was asked for with the npu alone ("npu:hccl", or no name at all) has the CPU beside it."""

    @functools.wraps(inner)
    def helper(*args, **kwargs):
        made = inner(*args, **kwargs)
        group = made[0] if isinstance(made, tuple) else made
        kinds = {device.type for device in getattr(group, "_device_types", ())}
        if "npu" in kinds and "cpu" not in kinds:
            backend = group._get_backend(torch.device("npu"))
            group._register_backend(torch.device("cpu"), torch.distributed.ProcessGroup.BackendType.GLOO, backend)
        return made

    return helper


# ---- torch_npu.distributed


def is_hccl_available() -> bool:
    return True


def reinit_process_group(group=None, rebuild_link=True) -> None:
    """On a card: heals a broken link. Here no link breaks."""


def reduce_scatter_tensor_uneven(output, input, input_split_sizes=None, op=None, group=None, async_op=False):
    dist = torch.distributed
    sizes = input_split_sizes or [len(input) // dist.get_world_size(group)] * dist.get_world_size(group)
    return dist.reduce_scatter(output, list(input.split(sizes)), op or dist.ReduceOp.SUM, group, async_op)


def all_gather_into_tensor_uneven(output, input, output_split_sizes=None, group=None, async_op=False):
    dist = torch.distributed
    count = dist.get_world_size(group)
    sizes = output_split_sizes or [len(output) // count] * count
    if len(set(sizes)) == 1:
        return dist.all_gather(list(output.split(sizes)), input, group, async_op)
    # gloo gathers equal parts only: each rank sends all that it has to every one
    copies = torch.cat([input] * count)
    return dist.all_to_all_single(output, copies, sizes, [len(input)] * count, group, async_op)
