"""torch.npu of the simulated device: devices, and the names of the modules beside it, as torch_npu has them.

A name that torch_npu has and the simulation has not raises an AttributeError that says so.
"""

from __future__ import annotations

import uuid
from typing import Any

import torch

from labkit import chips, messages
from labkit.device import amp, graphs, memory, random, rates, streams  # noqa: F401  (torch.npu.memory ... are modules there as well)
from labkit.device.devices import (
    current_device,
    device,
    device_count,
    device_of,
    existing,
    index,
    set_device,
    storage_types,
    tensor_types,
)
from labkit.device.graphs import (
    NPUGraph,
    capturing,
    graph,
    graph_pool_handle,
    make_graphed_callables,
    refuse,
    super_kernel_scope_begin,
    super_kernel_scope_end,
)
from labkit.device.library import lib
from labkit.device.memory import (
    MemPool,
    caching_allocator_alloc,
    caching_allocator_delete,
    empty_cache,
    get_per_process_memory_fraction,
    host_empty_cache,
    host_memory_stats,
    host_memory_stats_as_nested_dict,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_stats_as_nested_dict,
    memory_summary,
    reset_accumulated_host_memory_stats,
    reset_accumulated_memory_stats,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_host_memory_stats,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
    use_mem_pool,
)
from labkit.device.names import REAL_NAMES, instead
from labkit.device.random import (
    get_default_generator,
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from labkit.device.streams import (
    Event,
    ExternalStream,
    Stream,
    StreamContext,
    SyncLaunchStream,
    current_stream,
    default_stream,
    mstx,
    nvtx,  # noqa: F401
    set_stream,
    stream,
)
from labkit.device.switches import (
    aclnn,
    are_compatible_impl_enabled,
    clear_npu_overflow_flag,
    config,
    conv,
    current_blas_handle,
    disable_deterministic_with_backward,
    enable_deterministic_with_backward,
    enable_flash_sdp,
    enable_math_sdp,
    enable_mem_efficient_sdp,
    flash_sdp_enabled,
    get_mm_bmm_format_nd,
    get_npu_overflow_flag,
    get_sync_debug_mode,
    get_task_queue_enable,
    is_jit_compile_false,
    math_sdp_enabled,
    matmul,
    mem_efficient_sdp_enabled,
    preferred_linalg_library,
    sdp_kernel,
    set_compile_mode,
    set_deterministic_level,
    set_mm_bmm_format_nd,
    set_op_timeout_ms,
    set_option,
    set_sync_debug_mode,
    set_task_queue_enable,
    use_compatible_impl,
)
from labkit.device.switches import backends as _backends
from labkit.device.switches import utils as _utils

backends, utils = _backends(), _utils()
globals().update({**tensor_types(), **storage_types()})

__all__ = [
    "Event",
    "ExternalStream",
    "MemPool",
    "NPUGraph",
    "Stream",
    "StreamContext",
    "SyncLaunchStream",
    "amp",
    "are_compatible_impl_enabled",
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "can_device_access_peer",
    "clear_npu_overflow_flag",
    "config",
    "conv",
    "current_blas_handle",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "disable_deterministic_with_backward",
    "empty_cache",
    "enable_deterministic_with_backward",
    "get_allocator_backend",
    "get_amp_supported_dtype",
    "get_autocast_dtype",
    "get_default_generator",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_mm_bmm_format_nd",
    "get_npu_overflow_flag",
    "get_per_process_memory_fraction",
    "get_rng_state",
    "get_rng_state_all",
    "get_soc_version",
    "get_sync_debug_mode",
    "get_task_queue_enable",
    "graph",
    "graph_pool_handle",
    "init",
    "graphs",
    "host_empty_cache",
    "host_memory_stats",
    "initial_seed",
    "ipc_collect",
    "is_autocast_enabled",
    "is_available",
    "is_current_stream_capturing",
    "is_jit_compile_false",
    "is_bf16_supported",
    "is_initialized",
    "make_graphed_callables",
    "manual_seed",
    "manual_seed_all",
    "matmul",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "mstx",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_autocast_dtype",
    "set_autocast_enabled",
    "set_compile_mode",
    "set_deterministic_level",
    "set_device",
    "set_mm_bmm_format_nd",
    "set_op_timeout_ms",
    "set_option",
    "set_sync_debug_mode",
    "set_task_queue_enable",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
    "use_compatible_impl",
    "use_mem_pool",
    "utils",
    "aclnn",
    "backends",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "math_sdp_enabled",
    "mem_efficient_sdp_enabled",
    "sdp_kernel",
    "preferred_linalg_library",
    "super_kernel_scope_begin",
    "super_kernel_scope_end",
    "npurt",
    "host_memory_stats_as_nested_dict",
    "reset_accumulated_host_memory_stats",
    "reset_peak_host_memory_stats",
    *tensor_types(),
    *storage_types(),
]


# ---- state


def is_available() -> bool:
    return True


def is_initialized() -> bool:
    return True


def init() -> None:
    """Nothing to do: the device is ready once installed. Raises RuntimeError in a forked process."""
    if _is_in_bad_fork():
        raise RuntimeError(
            "Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, "
            "you must use the 'spawn' start method"
        )


_lazy_init = init  # what PyTorch's own code calls


def _is_in_bad_fork() -> bool:
    return bool(lib().lab_forked())


# ---- devices


def synchronize(device=None) -> None:
    """The host waits until the device has done everything that was issued to it, in virtual time."""
    refuse("torch.npu.synchronize()")
    lib().lab_synchronize(existing(device))


def can_device_access_peer(device_id, peer_device_id) -> bool:
    for number, what in ((device_id, "device id"), (peer_device_id, "peer device id")):
        if not 0 <= index(number) < device_count():
            raise AssertionError(f"Invalid {what}: there is no npu:{number}, this process has {device_count()}")
    return index(device_id) != index(peer_device_id)


class _Properties:
    """What get_device_properties() returns: the chip's facts, sizes in bytes. mem_get_info() gives the memory that can
    be used on this machine."""

    def __init__(self, chip: str, device: int = 0):
        table = chips.load(chip)
        self.name = get_device_name()
        self.total_memory = int(table["memory"]["hbm"])
        self.cube_core_num = int(table["cores"]["aic"])
        self.vector_core_num = int(table["cores"]["aiv"])
        self.L2_cache_size = int(table["memory"]["l2"])
        # as torch_npu fills what programs for CUDA ask for
        self.multi_processor_count = self.vector_core_num
        for name in """major minor is_multi_gpu_board is_integrated max_threads_per_multi_processor warp_size
                regs_per_multiprocessor gcnArchName""".split():
            setattr(self, name, None)
        self.uuid = uuid.uuid5(uuid.NAMESPACE_DNS, f"labkit-{chip}-{device}")

    def __repr__(self) -> str:
        return (
            f"_NPUDeviceProperties(name='{self.name}', total_memory={self.total_memory >> 20}MB, "
            f"cube_core_num={self.cube_core_num}, vector_core_num={self.vector_core_num}, "
            f"L2_cache_size={self.L2_cache_size >> 20}MB)"
        )


def _chip() -> str:
    return rates.chip() or chips.DEFAULT


def get_device_name(device_name=None) -> str:
    """e.g. "Ascend910B1 (simulated)"."""
    existing(device_name, AssertionError)
    return f"{chips.load(_chip())['chip']['name']} (simulated)"


def get_device_properties(device_name=None) -> _Properties:
    return _Properties(_chip(), existing(device_name, AssertionError))


def get_device_capability(device=None) -> None:
    """None, as torch_npu says: an Ascend chip has no compute capability."""


def get_amp_supported_dtype() -> list[torch.dtype]:
    return [torch.float16, torch.bfloat16, torch.float32]


def is_bf16_supported(including_emulation: bool = False) -> bool:
    return True


def get_soc_version() -> int:
    """The chip's number in AscendCL's list: 220 is the Ascend 910B1, 221 the B2, and so on."""
    return {"910B1": 220, "910B2": 221, "910B3": 222, "910B4": 223}.get(_chip(), 220)


def get_allocator_backend() -> str:
    return "native"


def is_current_stream_capturing() -> bool:
    return capturing()


def npurt() -> type:
    """The few calls of CANN's runtime that torch_npu hands on: npuHostRegister(), npuStreamCreate() ..."""
    return memory.npurt


def ipc_collect() -> None:
    """No tensor is shared with another process here."""


# ---- autocast, by its older names


def is_autocast_enabled() -> bool:
    return torch.is_autocast_enabled("npu")


def set_autocast_enabled(enable: bool) -> None:
    torch.set_autocast_enabled("npu", enable)


def get_autocast_dtype() -> torch.dtype:
    return torch.get_autocast_dtype("npu")


def set_autocast_dtype(dtype: torch.dtype) -> None:
    torch.set_autocast_dtype("npu", dtype)


# ---- names with an underscore that programs and torch_npu's own tests call


def _sleep(cycles: int) -> None:
    """The current stream is busy for so many cycles of the chip's clock."""
    if not isinstance(cycles, int):
        raise TypeError("torch.npu._sleep(): expected 'int'")
    if cycles <= 0:
        raise RuntimeError(f"torch.npu._sleep(): expected positive cycles, got {cycles}")
    lib().lab_launch(b"npu::_sleep", cycles / (chips.flat(_chip())["clock.hz"] / 1e9), 0, 0)


def _get_device_index(device, optional: bool = False, allow_cpu: bool = False) -> int:
    if device is None and not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got: {device}")
    if allow_cpu and torch.device(device).type == "cpu":
        return -1
    return index(device)


# ---- what is not there


def __getattr__(name: str) -> Any:
    if name not in REAL_NAMES:
        raise AttributeError(messages.text("device.npu_unknown", name=name))
    raise AttributeError(messages.text("device.npu_missing", name=name, instead=instead(name)))
