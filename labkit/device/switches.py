"""Switches of torch_npu: taken and remembered where a program sets them, without effect on the simulated device.

What they choose on hardware (compilation of operators, private formats, HF32, the host's task queue, limits in time)
the simulation does not have, or does one way only.
"""

from __future__ import annotations

import contextlib
import math
import types
import warnings

import torch

from labkit import messages
from labkit.device.streams import StreamContext

_switch: dict[str, object] = {
    "deterministic_level": 0,
    "task_queue": 1,
    "sync_debug": 0,
    "nd": True,
    "compatible": False,
    "jit": False,
}


class _Options:
    """An object of settings: names that torch_npu has, with its defaults; another one is refused."""

    def __init__(self, **defaults):
        self.__dict__.update(defaults)

    def __setattr__(self, name, value):
        if name not in self.__dict__:
            raise AttributeError(f"torch_npu has no setting {name!r} here; it has {', '.join(self.__dict__)}")
        self.__dict__[name] = value


config = _Options(allow_internal_format=False)
conv = _Options(allow_hf32=True)
matmul = _Options(allow_hf32=False, cube_math_type=None)


def set_compile_mode(jit_compile: bool = False) -> None:
    """On hardware: whether operators are compiled for their shapes. Here there is nothing to compile."""
    _switch["jit"] = bool(jit_compile)


def is_jit_compile_false() -> bool:
    return not _switch["jit"]


# Options of the operator compiler and the values that torch_npu takes (torch_npu/npu/npu_config.py); None: any.
_OPTIONS: dict[str, list[str] | None] = {
    "ACL_PRECISION_MODE": ["allow_fp32_to_fp16", "must_keep_origin_dtype"],
    "ACL_OP_SELECT_IMPL_MODE": ["high_performance", "high_precision"],
    "ACL_AICORE_NUM": [str(n) for n in range(1, 33)],
    "ACL_OPTYPELIST_FOR_IMPLMODE": None,
    "ACL_OP_DEBUG_LEVEL": ["0", "1", "2", "3", "4"],
    "ACL_DEBUG_DIR": None,
    "ACL_OP_COMPILER_CACHE_MODE": ["disable", "enable", "force"],
    "ACL_OP_COMPILER_CACHE_DIR": None,
    "ACL_OP_DEBUG_OPTION": None,
    **dict.fromkeys(
        """ALLOW_CONV_HF32 ALLOW_INTERNAL_FORMAT ALLOW_MATMUL_HF32 CUBE_MATH_TYPE FORCE_ACLNN_OP_LIST MM_BMM_ND_ENABLE
        NPU_FUZZY_COMPILE_BLACKLIST OP_HOOK_ENABLE STRONG_CONSISTENCY TORCH_NPU_USE_COMPATIBLE_IMPL autotune
        autotunegraphdumppath bmmv2_enable jitCompile jitCompileInit mdldumpconfigpath mdldumpswitch""".split()
    ),
}


def set_option(option: dict) -> None:
    """On hardware: options of the operator compiler. Here they are checked, and have no effect."""
    if not isinstance(option, dict):
        raise TypeError("npu option must be a dict.")
    for name, value in option.items():
        if name not in _OPTIONS:
            raise RuntimeError(f"invalid npu option name:{name}")
        allowed = _OPTIONS.get(name)
        if allowed is not None and str(value) not in allowed:
            raise ValueError(f"value of {name} should be in {allowed} but got {value}")
    if option.get("MM_BMM_ND_ENABLE") in ("enable", "disable"):
        set_mm_bmm_format_nd(option["MM_BMM_ND_ENABLE"] == "enable")


def set_op_timeout_ms(timeout: int) -> None:
    """On hardware: after how long an operator counts as hanging. labkit.kernel(timeout=...) is for a kernel here.
    Raises RuntimeError for what is no 32-bit number without a sign."""
    if timeout < 0:
        raise RuntimeError("can't convert negative value to unsigned int")
    if timeout >= 1 << 32:
        raise RuntimeError("Overflow when unpacking unsigned long")


def set_deterministic_level(level: int) -> None:
    """Every operator of the simulated device is deterministic."""
    _switch["deterministic_level"] = level


class _Deterministic(torch.autograd.Function):
    """The tensor itself; deterministic algorithms are on (or off) from here on, and the reverse after its gradient."""

    @staticmethod
    def forward(ctx, tensor, on):
        ctx.on = on
        torch.use_deterministic_algorithms(on)
        return tensor

    @staticmethod
    def backward(ctx, grad):
        torch.use_deterministic_algorithms(not ctx.on)
        return grad, None


def enable_deterministic_with_backward(tensor):
    return _Deterministic.apply(tensor, True)


def disable_deterministic_with_backward(tensor):
    return _Deterministic.apply(tensor, False)


def get_task_queue_enable() -> int:
    """1: operators go through a queue on the host. See labkit.register for what that means for a kernel's launch."""
    return _switch["task_queue"]


def set_task_queue_enable(mode: int) -> None:
    _switch["task_queue"] = mode


def set_sync_debug_mode(debug_mode) -> None:
    """Remembered. Which calls wait shows in labkit.device.timeline(): a copy to the host, .item(), nonzero() ..."""
    names = {"default": 0, "warn": 1, "error": 2}
    if debug_mode not in (*names, *names.values()):
        expected = "`default`, `warn`, `error`" if isinstance(debug_mode, str) else "0,1,2"
        raise RuntimeError(f"invalid value of debug_mode, expected one of {expected}")
    _switch["sync_debug"] = names.get(debug_mode, debug_mode)


def get_sync_debug_mode() -> int:
    return _switch["sync_debug"]


def set_mm_bmm_format_nd(is_nd: bool = True) -> None:
    _switch["nd"] = bool(is_nd)


def get_mm_bmm_format_nd() -> bool:
    return _switch["nd"]


def use_compatible_impl(is_enable: bool) -> None:
    _switch["compatible"] = bool(is_enable)


def are_compatible_impl_enabled() -> bool:
    return _switch["compatible"]


# ---- torch.npu.backends, torch.npu.aclnn


def _attention_switch(kind: str):
    """Two functions, to read and to set PyTorch's own switch; neither here nor in torch_npu does it choose."""

    def read() -> bool:
        warnings.warn(messages.text("device.switch_only", name=f"{kind}_sdp_enabled"))
        return getattr(torch._C, f"_get_{kind}_sdp_enabled")()

    def write(enabled: bool) -> None:
        warnings.warn(messages.text("device.switch_only", name=f"enable_{kind}_sdp"))
        getattr(torch._C, f"_set_sdp_use_{kind}")(enabled)

    return read, write


flash_sdp_enabled, enable_flash_sdp = _attention_switch("flash")
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = _attention_switch("mem_efficient")
math_sdp_enabled, enable_math_sdp = _attention_switch("math")


@contextlib.contextmanager
def sdp_kernel(enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True):
    """The three switches inside; as they were afterwards."""
    kinds = {"flash": enable_flash, "mem_efficient": enable_mem_efficient, "math": enable_math}
    warnings.warn(messages.text("device.switch_only", name="sdp_kernel"))
    before = {kind: getattr(torch._C, f"_get_{kind}_sdp_enabled")() for kind in kinds}
    try:
        for kind, on in kinds.items():
            getattr(torch._C, f"_set_sdp_use_{kind}")(on)
        yield {}
    finally:
        for kind, on in before.items():
            getattr(torch._C, f"_set_sdp_use_{kind}")(on)


def current_blas_handle() -> None:
    """None, as torch_npu says."""
    warnings.warn("NPU does not use blas handle.")


def preferred_linalg_library(backend=None):
    """Always the default one, as torch_npu says: there is no other to prefer."""
    warnings.warn("torch.npu.preferred_linalg_library isn't implemented!")
    return torch._C._LinalgBackend.Default


class _Plans:
    """torch.npu.backends.fft_plan_cache: it is empty, and stays so."""

    size = property(lambda self: 0)
    max_size = property(lambda self: 0)

    @max_size.setter
    def max_size(self, value) -> None:
        raise RuntimeError(messages.text("device.no_plans", value=value))

    def clear(self) -> None:
        """Nothing to do."""


def backends() -> types.ModuleType:
    module = types.ModuleType("torch_npu.npu.backends")
    module.fft_plan_cache = _Plans()
    module.sdp_kernel, module.preferred_linalg_library = sdp_kernel, preferred_linalg_library
    for kind, pair in (("flash", (flash_sdp_enabled, enable_flash_sdp)), ("math", (math_sdp_enabled, enable_math_sdp)),
                       ("mem_efficient", (mem_efficient_sdp_enabled, enable_mem_efficient_sdp))):  # fmt: skip
        setattr(module, f"{kind}_sdp_enabled", pair[0])
        setattr(module, f"enable_{kind}_sdp", pair[1])
    return module


class _Aclnn:
    """torch.npu.aclnn: convolutions' HF32 by another name."""

    @property
    def allow_hf32(self) -> bool:
        return conv.allow_hf32

    @allow_hf32.setter
    def allow_hf32(self, on: bool) -> None:
        conv.allow_hf32 = bool(on)

    @contextlib.contextmanager
    def flags(self, allow_hf32: bool = True):
        before, conv.allow_hf32 = conv.allow_hf32, bool(allow_hf32)
        try:
            yield
        finally:
            conv.allow_hf32 = before

    @staticmethod
    def version() -> None:
        warnings.warn("torch.npu.aclnn.version isn't implemented!")


aclnn = _Aclnn()


# ---- overflow: the chip of an A2 keeps infinities and NaN, and its overflow flag is not used in that mode


def get_npu_overflow_flag() -> bool:
    return False


def clear_npu_overflow_flag() -> None:
    pass


def npu_check_overflow(grad) -> bool:
    """Whether a tensor's sum in float32, or a number, is infinite or NaN: as torch_npu asks, so that large values that
    are all finite may overflow in their sum."""
    return not math.isfinite(grad.float().sum() if isinstance(grad, torch.Tensor) else grad)


def utils() -> types.ModuleType:
    """torch.npu.utils, as far as programs use it."""
    module = types.ModuleType("torch_npu.npu.utils")
    module.npu_check_overflow = npu_check_overflow
    module.get_cann_version, module._is_gte_cann_version = get_cann_version, _is_gte_cann_version
    module.set_device = lambda device: torch.npu.set_device(device)
    module.StreamContext = StreamContext
    module.get_soc_version = lambda: torch.npu.get_soc_version()
    module.get_npu_overflow_flag, module.clear_npu_overflow_flag = get_npu_overflow_flag, clear_npu_overflow_flag
    return module


# ---- torch_npu.utils


def npu_combine_tensors(list_of_tensor, require_copy_value=True):
    """One tensor that the given ones become parts of. None for an empty list."""
    if not list_of_tensor:
        return None
    if any(t is None or t.device.type != "npu" or not t.is_contiguous() for t in list_of_tensor):
        raise RuntimeError("Tensors to combine must be contiguous tensors on NPU.")
    if len({t.dtype for t in list_of_tensor}) > 1:
        raise RuntimeError("Tensors to combine must have the same dtype.")
    from labkit.device.fused import get_storage_size, npu_change_data_ptr

    sizes = [get_storage_size(t) for t in list_of_tensor]
    together = torch.zeros(sum(sizes), dtype=list_of_tensor[0].dtype, device="npu")
    begin = 0
    for t, size in zip(list_of_tensor, sizes):
        before = t.detach().clone() if require_copy_value else None
        npu_change_data_ptr(t, together, begin)
        if before is not None:
            t.detach().copy_(before)
        begin += size
    return together


def get_part_combined_tensor(combined_tensor, index, size):
    if combined_tensor is None or size == 0:
        return None
    if index + size > combined_tensor.numel():
        raise RuntimeError(f"(index + size) ({index + size}) > the combined tensor's size ({combined_tensor.numel()})")
    from labkit.device.fused import npu_change_data_ptr

    part = torch.empty(size, dtype=combined_tensor.dtype, device=combined_tensor.device)
    npu_change_data_ptr(part, combined_tensor, index)
    return part


def is_combined_tensor_valid(combined_tensor, list_of_tensor):
    if not list_of_tensor:
        return True
    if combined_tensor is None:
        return False
    begin, end = combined_tensor.data_ptr(), combined_tensor.data_ptr() + combined_tensor.untyped_storage().nbytes()
    return all(t is not None and t.is_contiguous() and begin <= t.data_ptr() < end for t in list_of_tensor)


class FlopsCounter:
    """Counts the operations of matrix products from start() to stop(), which forgets them as torch_npu's does."""

    def __init__(self):
        self._mode, self._paused_at, self._left_out = None, None, 0

    def start(self):
        from torch.utils.flop_counter import FlopCounterMode

        if self._mode is None:
            self._mode = FlopCounterMode(display=False)
            self._mode.__enter__()

    def stop(self):
        if self._mode is not None:
            self._mode.__exit__(None, None, None)
        self._mode, self._paused_at, self._left_out = None, None, 0

    def pause(self):
        if self._paused_at is None:
            self._paused_at = self._total()

    def resume(self):
        if self._paused_at is not None:
            self._left_out, self._paused_at = self._left_out + self._total() - self._paused_at, None

    def get_flops(self):
        """[those outside of pauses, all]; for a pass that computes anew what it did not keep."""
        total = self._total()
        return [(total if self._paused_at is None else self._paused_at) - self._left_out, total]

    def _total(self) -> int:
        return self._mode.get_total_flops() if self._mode is not None else 0


def save_async(obj, f, pickle_module=None, pickle_protocol=2, model=None, **_):
    """Saves at once: the file is there when this returns."""
    torch.save(obj, f, **({"pickle_module": pickle_module} if pickle_module else {}), pickle_protocol=pickle_protocol)


def get_cann_version(module="CANN") -> str:
    """There is no CANN here: "" as torch_npu says where it finds none."""
    return ""


def _is_gte_cann_version(version: str, module: str = "CANN") -> bool:
    """False: there is no CANN here. Raises RuntimeError where torch_npu does, before it looks for one."""
    if module == "DRIVER" or (version < "8.1.RC1" and version.partition(".")[0].isdigit()
                              and int(version.partition(".")[0]) <= 8):  # fmt: skip
        raise RuntimeError(f"there is no telling whether {module} is of {version} or newer: only from CANN 8.1.RC1 on")
    return False


def accepted(*_, **__) -> None:
    """Accepted, without effect on the simulated device."""


def _rebuild_npu_tensor(storage, storage_offset, size, stride, requires_grad, backward_hooks, npu_storage_info):
    """torch_npu.utils.storage's: what a file of torch_npu names for a tensor of the npu. npu_storage_info: True, or the
    format that it had there."""
    tensor = torch._utils._rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks).npu()
    if isinstance(npu_storage_info, bool):
        return tensor
    from labkit.device.fused import npu_format_cast

    return npu_format_cast(tensor, npu_storage_info)
