"""Switches of torch_npu: taken and remembered where a program sets them, without effect on the simulated device.

What they choose on hardware (compilation of operators, private formats, HF32, the host's task queue, limits in time)
the simulation does not have, or does one way only.
"""

from __future__ import annotations

import types

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


def set_option(option: dict) -> None:
    """On hardware: options of the operator compiler."""
    if not isinstance(option, dict):
        raise TypeError("npu option must be a dict.")


def set_op_timeout_ms(timeout: int) -> None:
    """On hardware: after how long an operator counts as hanging. labkit.kernel(timeout=...) is for a kernel here."""


def set_deterministic_level(level: int) -> None:
    """Every operator of the simulated device is deterministic."""
    _switch["deterministic_level"] = level


def enable_deterministic_with_backward(tensor):
    return tensor


def disable_deterministic_with_backward(tensor):
    return tensor


def get_task_queue_enable() -> int:
    """1: operators go through a queue on the host. See labkit.register for what that means for a kernel's launch."""
    return _switch["task_queue"]


def set_task_queue_enable(mode: int) -> None:
    _switch["task_queue"] = mode


def set_sync_debug_mode(debug_mode) -> None:
    """Remembered. Which calls wait shows in labkit.device.timeline(): a copy to the host, .item(), nonzero() ..."""
    names = {"default": 0, "warn": 1, "error": 2}
    if debug_mode not in (*names, *names.values()):
        raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`")
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


# ---- overflow: the chip of an A2 keeps infinities and NaN, and its overflow flag is not used in that mode


def get_npu_overflow_flag() -> bool:
    return False


def clear_npu_overflow_flag() -> None:
    pass


def npu_check_overflow(grad) -> bool:
    """Whether a tensor, or a number, holds an infinity or NaN."""
    import torch

    value = grad.float().sum() if isinstance(grad, torch.Tensor) else torch.tensor(float(grad))
    return not bool(torch.isfinite(value).item())


def utils() -> types.ModuleType:
    """torch.npu.utils, as far as programs use it."""
    module = types.ModuleType("torch_npu.npu.utils")
    module.npu_check_overflow = npu_check_overflow
    module.get_npu_overflow_flag, module.clear_npu_overflow_flag = get_npu_overflow_flag, clear_npu_overflow_flag
    return module
