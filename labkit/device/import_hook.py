"""Steps that wait for PyTorch, or a module of it, to be imported:
importing it at once would cost every program a second.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable


class _Loader(importlib.abc.Loader):
    """The module's own loader, with one step behind it."""

    def __init__(self, inner, step: Callable):
        self._inner, self._step = inner, step

    def create_module(self, spec):
        return self._inner.create_module(spec)

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self._inner
        self._inner.exec_module(module)
        self._step(module)

    def __getattr__(self, name):
        return getattr(self._inner, name)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, name: str, step: Callable):
        self.name, self.step = name, step

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self.step)
        return spec


def after_import(name: str, step: Callable) -> None:
    """Calls step(module) when the module `name` is there: now, or as soon as something imports it."""
    if name in sys.modules:
        step(sys.modules[name])
    else:
        sys.meta_path.insert(0, _Finder(name, step))
