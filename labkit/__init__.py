"""labkit: write, run, check and time Ascend C kernels, with or without an NPU.

Importing it is cheap: every name below is loaded at its first use, so that `labkit doctor` works where torch does not.
"""

from __future__ import annotations

import importlib
import importlib.util
import os

# A torch_npu wheel without CANN makes a plain `import torch` raise; labkit decides itself which device to use.
os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

__version__ = "0.2.0"

_PUBLIC = {
    "kernel": ("labkit.launch.kernel", "kernel"),
    "Kernel": ("labkit.launch.kernel", "Kernel"),
    "clear_l2": ("labkit.launch.runner", "clear_l2"),
    "LaunchError": ("labkit.launch.record", "LaunchError"),
    "CompileError": ("labkit.source.errors", "CompileError"),
    "expect": ("labkit.launch.record", "expect"),
    "doctor": ("labkit.environment", "doctor"),
    "register": ("labkit.operators.registration", "register"),
    "RegistrationError": ("labkit.operators.registration", "RegistrationError"),
    "operator": ("labkit.operators", "operator"),
    "setup": ("labkit.notebook.setup", "setup"),
    "exercise": ("labkit.exercises", "exercise"),
    "check": ("labkit.exercises", "check"),
    "hint": ("labkit.exercises", "hint"),
    "predict": ("labkit.exercises", "predict"),
    "progress": ("labkit.exercises", "progress"),
    "glossary": ("labkit.book.glossary", "glossary"),
    "journey": ("labkit.book.journey", "journey"),
    "board": ("labkit.book.board", "board"),
    "api": ("labkit.book.names", "api"),
    "explain": ("labkit.analysis", "explain"),
    "compare": ("labkit.analysis", "compare"),
    "roofline": ("labkit.analysis", "roofline"),
    "tables": ("labkit.analysis", "tables"),
    "save": ("labkit.analysis", "save"),
    "figures": ("labkit.figures", None),
    "fusion": ("labkit.fusion", None),
    "migrate": ("labkit.migrate", None),
    "trace": ("labkit.trace", None),
    "device": ("labkit.device", None),
    "profile_modules": ("labkit.profiler.modules", "profile_modules"),
    "profiler": ("labkit.profiler", None),
    "ranks": ("labkit.device.ranks", "ranks"),
    "RankError": ("labkit.device.ranks", "RankError"),
}
__all__ = sorted(_PUBLIC) + ["__version__"]


def __getattr__(name: str):
    if name in _PUBLIC:
        module, attribute = _PUBLIC[name]
    elif not name.startswith("_") and importlib.util.find_spec(f"{__name__}.{name}") is not None:
        module, attribute = f"{__name__}.{name}", None  # a room: labkit.bench.measure after a plain `import labkit`
    else:
        raise AttributeError(f"labkit has no {name!r}; it has {', '.join(sorted(_PUBLIC))}")
    loaded = importlib.import_module(module)
    value = loaded if attribute is None else getattr(loaded, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


from labkit.device import import_hook as _hook  # noqa: E402

_hook.PROVIDERS["profiler"] = "labkit.profiler.torch_npu_modules"
_hook.BEHIND += ["labkit.profiler.torch_profiler"]
_hook.TOUCHED["torch._inductor.compile_fx"] = "labkit.triton.inductor"
_hook.watch()

import sys as _sys  # noqa: E402

if "IPython" in _sys.modules:  # %%ascendc and %%exercise from the first cell on
    from labkit.notebook.magics import register as _register  # noqa: E402

    _register()
