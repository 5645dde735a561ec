"""Operators of PyTorch made of kernels: labkit.register builds one (registration.py),
labkit.operator is its Python side.

labkit.operator("swiglu") is kernels/swiglu/module.py. The folders of operators are submodules of this package:
kernels/swiglu/module.py is labkit.operators.swiglu.module. So `kernels` need not be on sys.path, where transformers
would take it for a package of its own, and what a module defines can be pickled for another process.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from labkit import messages, paths

__path__ = [*__path__, str(paths.kernels_dir())]  # where Python looks for labkit.operators.<name>: here, then there


def names() -> list[str]:
    """Operators that have a Python side."""
    return sorted(module.parent.name for module in paths.kernels_dir().glob("*/module.py"))


def operator(name: str) -> ModuleType:
    """The module of the operator `name`. Raises ValueError, with the names that there are."""
    if name not in names():
        raise ValueError(messages.text("operator.unknown", name=name, known=", ".join(names()) or "-"))
    return importlib.import_module(f"{__name__}.{name}.module")
