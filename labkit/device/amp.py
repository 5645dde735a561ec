"""torch.npu.amp: the names that older programs use for torch.autocast("npu") and torch.amp.GradScaler("npu")."""

from __future__ import annotations

import functools
import types

import torch

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(torch.amp.autocast_mode.autocast):
    """torch.autocast("npu", ...)."""

    def __init__(self, enabled: bool = True, dtype: torch.dtype = torch.float16, cache_enabled: bool = True):
        super().__init__("npu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(torch.amp.GradScaler):
    """torch.amp.GradScaler("npu", ...)."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        dynamic: bool = True,
        enabled: bool = True,
    ):
        # dynamic=False of torch_npu: the scale stays as it is
        super().__init__(
            "npu",
            init_scale=init_scale,
            growth_factor=growth_factor if dynamic else 1.0 + 1e-12,
            backoff_factor=backoff_factor if dynamic else 1.0 - 1e-12,
            growth_interval=growth_interval,
            enabled=enabled,
        )


custom_fwd = functools.partial(torch.amp.custom_fwd, device_type="npu")
custom_bwd = functools.partial(torch.amp.custom_bwd, device_type="npu")


def _part(name: str, **contents) -> types.ModuleType:
    module = types.ModuleType(f"torch_npu.npu.amp.{name}")
    module.__dict__.update(contents, __all__=list(contents))
    return module


# The modules that these names stand in, as torch.cuda.amp has them.
autocast_mode = _part("autocast_mode", autocast=autocast, custom_fwd=custom_fwd, custom_bwd=custom_bwd)
grad_scaler = _part("grad_scaler", GradScaler=GradScaler)
common = _part("common", amp_definitely_not_available=lambda: False)
