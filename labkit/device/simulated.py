"""Puts the simulated device into PyTorch: library, arena, names, torch.npu, and a stand-in for torch_npu."""
from __future__ import annotations

import importlib.machinery
import os
import sys
import types

from .. import messages
from . import build, library

DEFAULT_ARENA_GB = 64
_OOM_FIELDS = ("asked", "device", "capacity", "allocated", "cached", "free", "host_free")


def install() -> None:
    """Once a process, through labkit.device.install(). Raises RuntimeError, ToolError, CompileError."""
    import torch

    taken = torch._C._get_privateuse1_backend_name()
    if taken != "privateuseone":
        raise RuntimeError(messages.text("device.taken", name=taken))
    lib = library.load(build.library())
    gigabytes = _number("LABKIT_ARENA_GB", DEFAULT_ARENA_GB)
    if lib.lab_open(int(gigabytes * 2**30), int(_number("LABKIT_NPUS", 1))):
        raise RuntimeError(messages.text("device.no_arena", gigabytes=gigabytes, error=lib.lab_error().decode()))
    for limit in ("chip", "host", "fraction", "address"):
        key = f"device.oom.{limit}"
        template = messages.text(key, **{field: "{" + field + "}" for field in _OOM_FIELDS})
        lib.lab_set_text(key.encode(), template.encode())
    lib.lab_register()

    from . import npu, random
    torch.utils.rename_privateuse1_backend("npu")
    torch._register_device_module("npu", npu)
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
    random.adopt_default_generators()
    _stand_in(npu)


def _number(name: str, default: float) -> float:
    text = os.environ.get(name, "")
    try:
        value = float(text) if text else default
    except ValueError:
        value = 0.0
    if value <= 0:
        raise RuntimeError(messages.text("device.bad_number", name=name, value=text))
    return value


def _stand_in(npu: types.ModuleType) -> None:
    """`import torch_npu` gives a module that has torch.npu and says what it is. An unusable wheel is never imported."""
    import torch

    module = types.ModuleType("torch_npu", "Stand-in for torch_npu: the device is simulated by labkit.")
    module.__version__ = f"{torch.__version__.split('+')[0]}+sim"
    module.npu = npu
    module.__path__ = []  # a package, so that a submodule is reported as missing by its full name
    module.__spec__ = importlib.machinery.ModuleSpec("torch_npu", loader=None, is_package=True)

    def missing(name: str):
        raise AttributeError(messages.text("device.torch_npu_missing", name=name))

    module.__getattr__ = missing
    sys.modules.update({"torch_npu": module, "torch_npu.npu": npu, "torch.npu": npu})
