"""Public names of the real torch.npu (torch_npu 2.13): which the simulated device has, and what to use for the others.

scripts/torch_npu_names.py writes the table of them. At the end, what its operators ask of their arguments.
"""

from __future__ import annotations

import enum

import torch

from labkit import messages


class Format(enum.IntEnum):
    """torch_npu.Format: the formats by AscendCL's numbers."""

    UNDEFINED, NCHW, NHWC, ND, NC1HWC0, FRACTAL_Z = -1, 0, 1, 2, 3, 4
    NC1HWC0_C04, HWCN, NDHWC, FRACTAL_NZ, NCDHW, NDC1HWC0 = 12, 16, 27, 29, 30, 32
    FRACTAL_Z_3D, NC, NCL = 33, 35, 47
    FRACTAL_NZ_C0_16, FRACTAL_NZ_C0_32, FRACTAL_NZ_C0_2, FRACTAL_NZ_C0_4, FRACTAL_NZ_C0_8 = 50, 51, 52, 53, 54

    def __str__(self) -> str:
        return self.name


REAL_NAMES = frozenset(
    """
    BFloat16Storage BFloat16Tensor BoolStorage BoolTensor ByteStorage ByteTensor CharStorage CharTensor CubeMathType
    DoubleStorage DoubleTensor ErrCode Event ExternalEvent ExternalStream FloatStorage FloatTensor HalfStorage
    HalfTensor IntStorage IntTensor LongStorage LongTensor MemPool NPUGraph NPUPluggableAllocator NpuGraphOpHandler
    ShortStorage ShortTensor Stream StreamContext SyncLaunchStream aclnn amp are_compatible_impl_enabled
    autocast_utils backends caching_allocator_alloc caching_allocator_delete can_device_access_peer
    change_current_allocator check_uce_in_memory clear_npu_overflow_flag config conv current_blas_handle
    current_device current_stream default_generators default_stream deterministic device device_count device_of
    disable_deterministic_with_backward empty_cache empty_virt_addr_cache enable_deterministic_with_backward
    enable_flash_sdp enable_math_sdp enable_mem_efficient_sdp finalize_dump flash_sdp_enabled get_allocator_backend
    get_amp_supported_dtype get_autocast_dtype get_default_generator get_device_capability get_device_limit
    get_device_name get_device_properties get_mm_bmm_format_nd get_npu_overflow_flag get_per_process_memory_fraction
    get_rng_state get_rng_state_all get_soc_version get_stream_limit get_sync_debug_mode get_task_queue_enable graph
    graph_pool_handle graph_task_group_begin graph_task_group_end graph_task_update_begin graph_task_update_end
    graphs host_empty_cache host_memory_stats host_memory_stats_as_nested_dict init init_dump initial_seed
    ipc_collect is_autocast_enabled is_available is_bf16_supported is_current_stream_capturing is_initialized
    is_jit_compile_false make_graphed_callables manual_seed manual_seed_all math_sdp_enabled matmul
    max_memory_allocated max_memory_cached max_memory_reserved mem_efficient_sdp_enabled mem_get_info memory
    memory_allocated memory_cached memory_reserved memory_snapshot memory_stats memory_stats_as_nested_dict
    memory_summary mstx npu_config npugraph_ex npurt obfuscation_calculate obfuscation_finalize
    obfuscation_initialize preferred_linalg_library prof_error pta_error register_npu_graph_handler
    reset_accumulated_host_memory_stats reset_accumulated_memory_stats reset_max_memory_allocated
    reset_max_memory_cached reset_peak_host_memory_stats reset_peak_memory_stats reset_stream_limit restart_device
    sdp_kernel seed seed_all set_aoe set_autocast_dtype set_autocast_enabled set_compile_mode
    set_deterministic_level set_device set_device_limit set_dump set_mm_bmm_format_nd set_op_timeout_ms set_option
    set_per_process_memory_fraction set_rng_state set_rng_state_all set_stream set_stream_limit set_sync_debug_mode
    set_task_queue_enable stop_device stream streams stress_detect super_kernel_scope_begin super_kernel_scope_end
    synchronize use_compatible_impl use_mem_pool utilization utils
""".split()
)

# What to use instead: the last part of a message key (device.instead.*), and the names that it is about.
_INSTEAD = {
    "graph": """NpuGraphOpHandler graph_task_group_begin graph_task_group_end graph_task_update_begin
        graph_task_update_end npugraph_ex register_npu_graph_handler""",
    "allocator": "NPUPluggableAllocator change_current_allocator empty_virt_addr_cache",
    "event": "ExternalEvent",
    "limits": "get_device_limit get_stream_limit reset_stream_limit set_device_limit set_stream_limit",
    "faults": "check_uce_in_memory restart_device stop_device stress_detect",
    "dump": "finalize_dump init_dump set_aoe set_dump",
    "profile": "utilization",
    "secret": "obfuscation_calculate obfuscation_finalize obfuscation_initialize",
    "internal": """CubeMathType ErrCode autocast_utils deterministic npu_config prof_error
        pta_error""",
}


def instead(name: str) -> str:
    """What a program can use for a name of torch_npu that the simulation has not; "" where nothing is known."""
    group = next((g for g, names in _INSTEAD.items() if name in names.split()), None)
    return messages.text(f"device.instead.{group}") if group else ""


# The same for operators of torch_npu itself: words that a name has, and the last part of a message key (device.use.*).
_USE = {
    "moe_distribute all_reduce all_gather reduce_scatter alltoall": "collective",
    "quant": "quantised",
    "attention mla nsa": "attention",
    "moe": "experts",
    "lstm gru": "cells",
    "conv": "convolution",
    "dropout": "dropout",
    "nms roi box yolo iou grid_assign": "boxes",
}


def use(name: str) -> str:
    """What a program can use for an operator of torch_npu that the simulation has not."""
    group = next((g for words, g in _USE.items() if any(word in name for word in words.split())), "else")
    return messages.text(f"device.use.{group}")


# ---- said before anything is computed or stored


def halves(x: torch.Tensor, dim: int = -1, interleaved: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """x in two along an axis: the first and the second half, or every other one. Raises RuntimeError where the axis is
    of odd length: chunk() would make parts of different sizes, and what multiplies them may broadcast one."""
    count = x.size(dim)
    if count % 2:
        raise RuntimeError(messages.text("device.no_halves", dim=dim, count=count))
    if interleaved:
        pairs = x.unflatten(dim, (count // 2, 2))
        after = dim if dim < 0 else dim + 1
        return pairs.select(after, 0), pairs.select(after, 1)
    return x.narrow(dim, 0, count // 2), x.narrow(dim, count // 2, count // 2)


def known_format(number) -> Format:
    """A format by AscendCL's number. Raises RuntimeError for one that there is not."""
    try:
        return Format(int(number))
    except ValueError:
        raise RuntimeError(messages.text("device.no_format", number=number)) from None
