"""torch_npu.profiler._NonIntrusiveProfile: with PROF_CONFIG_PATH set, each step of the last optimizer is a step of
dynamic_profile.
"""

from __future__ import annotations

import functools
import os

import torch

from labkit.profiler import dynamic_profile
from labkit.profiler.settings import error


class _NonIntrusiveProfile:
    OPTIMIZER_ID = 0

    @staticmethod
    def init():
        folder = os.environ.get("PROF_CONFIG_PATH", "")
        if not folder:
            return
        if not os.path.isdir(folder):
            error(f"The path '{folder}' is invalid, and profiler will not be enabled.")
            return
        dynamic_profile.init(folder)
        torch.optim.Optimizer._patch_step_function = _NonIntrusiveProfile.patch_step_function

    @staticmethod
    def patch_step_function(optimizer: torch.optim.Optimizer):
        _original(optimizer)
        _NonIntrusiveProfile.OPTIMIZER_ID = id(optimizer)
        kind = type(optimizer)
        if not getattr(kind.step, "step_hooked", None):
            kind.step = _NonIntrusiveProfile.step_wrapper(kind.step)
            kind.step.step_hooked = True

    @staticmethod
    def step_wrapper(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            out = function(*args, **kwargs)
            if id(args[0]) == _NonIntrusiveProfile.OPTIMIZER_ID:
                dynamic_profile.step()
            return out

        return wrapper


_original = torch.optim.Optimizer._patch_step_function
