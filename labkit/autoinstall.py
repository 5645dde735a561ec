"""Makes `import labkit; import torch; x.npu()` work in any order, without labkit importing torch itself.

A finder in front of the others waits for `torch`; when it has been executed the device is installed. Where that is
impossible (no compiler, say) torch still imports and the reason is a warning: the doctor has the cure.
"""
from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import warnings


def _install() -> None:
    try:
        import labkit.device  # noqa: F401  (its import installs)
    except Exception as error:
        warnings.warn(f"labkit: the npu device is not there: {error} (labkit doctor tells more)", stacklevel=2)


class _Loader(importlib.abc.Loader):
    """torch's own loader, with one step behind it."""

    def __init__(self, inner):
        self._inner = inner

    def create_module(self, spec):
        return self._inner.create_module(spec)

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self._inner
        self._inner.exec_module(module)
        _install()

    def __getattr__(self, name):
        return getattr(self._inner, name)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def watch() -> None:
    """Installs the device now if torch is there, else as soon as it is imported. LABKIT_DEVICE=none: never."""
    if os.environ.get("LABKIT_DEVICE", "auto") == "none":
        return
    if "torch" in sys.modules:
        _install()
    elif not any(isinstance(f, _Finder) for f in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
