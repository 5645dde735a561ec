"""Whether a submission changed what judges it. Where golden.py's `run` stands beside a learner's code (labkit.camp.way:
helper), that code could give torch.equal, abs or the lab's clock another body. A Seal has every function that Python,
PyTorch and the lab had before the submission came, and says which one is no longer the same; reaches() reads the
submission's text, in the grader's own process, for ways around it.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import os
import sys
import types
from collections.abc import Callable
from operator import attrgetter, is_
from typing import Any

_HEAP, _IMMUTABLE = 1 << 9, 1 << 8  # Py_TPFLAGS_HEAPTYPE, Py_TPFLAGS_IMMUTABLETYPE
_PLAIN = (int, float, str, bool, tuple, frozenset)
# What Python and PyTorch themselves set anew in a class or a module while a program runs.
_LAZY = {"__abstractmethods__", "__doc__", "__annotations__", "__signature__", "__warningregistry__"}

# Ways from a function to what judges it, and objects that judge themselves. None of our solutions has one.
_WORDS = {
    "__globals__", "__closure__", "__code__", "__builtins__", "__subclasses__", "__wrapped__", "__self__",
    "cell_contents", "f_back", "f_locals", "f_globals", "f_builtins", "tb_frame", "tb_next", "gi_frame", "cr_frame",
    "ag_frame", "_getframe", "_current_frames", "currentframe", "settrace", "setprofile", "addaudithook",
    "get_objects", "get_referrers", "get_referents", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__",
    "__bool__", "__del__", "__getattribute__", "__torch_function__", "__torch_dispatch__", "reset_clock",
}  # fmt: skip
_MODULES = {"gc", "ctypes", "cffi", "builtins", "importlib", "inspect", "threading", "_thread", "signal", "atexit",
            "unittest", "sys", "marshal", "concurrent", "asyncio"}  # fmt: skip
_CALLS = {"exec", "eval", "compile", "globals", "vars", "__import__", "breakpoint"}


class Tampered(BaseException):
    """A submission changed this function of Python, PyTorch or the lab: "torch.equal". No Exception, which a judge
    would take for what an exercise raised.
    """


def load(text: str) -> None:
    """Imports all that a module text imports anywhere."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        for name in names:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)


class Seal:
    """The functions, classes and modules that every loaded module and class holds now, and the functions' code."""

    def __init__(self) -> None:
        spaces: list[tuple[str, Any, dict]] = []
        for name, module in list(sys.modules.items()):
            inside = getattr(module, "__dict__", None)
            if type(inside) is dict and name not in ("exercise", "__main__"):
                constants = name.startswith("labkit.")
                held = {k: v for k, v in inside.items() if callable(v) or isinstance(v, types.ModuleType)
                        or constants and k.isupper() and isinstance(v, _PLAIN)}  # fmt: skip
                spaces.append((name, inside, held))
        classes = {id(v): v for _, _, held in spaces for v in held.values() if isinstance(v, type)}
        for kind in classes.values():
            if kind.__flags__ & _HEAP and not kind.__flags__ & _IMMUTABLE:
                inside = vars(kind)
                held = {k: v for k, v in inside.items() if callable(v) or hasattr(type(v), "__get__")}
                spaces.append((f"{kind.__module__}.{kind.__qualname__}", inside, held))
        functions: dict[int, tuple[str, types.FunctionType]] = {}
        made = []
        for place, inside, held in spaces:
            kept = {k: v for k, v in held.items() if k not in _LAZY}
            made.append((place, inside.get, tuple(kept), tuple(kept.values())))
            for name, value in kept.items():
                for f in _bodies(value):
                    functions.setdefault(id(f), (f"{place}.{name}", f))
        self._spaces = tuple(made)
        self._names = tuple(name for name, _ in functions.values())
        self._functions = tuple(f for _, f in functions.values())
        self._parts = tuple((part, tuple(map(part, self._functions)))
                            for part in map(attrgetter, ("__code__", "__defaults__", "__kwdefaults__")))  # fmt: skip
        self._watchers = (sys.gettrace(), sys.getprofile())

    def broken(self) -> str:
        """The first of them that is no longer what it was, as "torch.equal"; "" where all are."""
        for place, get, names, values in self._spaces:
            if not all(map(is_, map(get, names), values)):
                name = next(n for n, v in zip(names, values, strict=True) if get(n) is not v)
                return f"{place}.{name}"
        for part, before in self._parts:
            now = tuple(map(part, self._functions))
            if not all(map(is_, now, before)):
                return next(n for n, a, b in zip(self._names, now, before, strict=True) if a is not b)
        if (sys.gettrace(), sys.getprofile()) != self._watchers:
            return "sys.settrace"
        return ""


def _bodies(value: Any) -> list[types.FunctionType]:
    """The Python functions behind what a class or a module holds."""
    if isinstance(value, property):
        parts = [value.fget, value.fset, value.fdel]
    elif isinstance(value, (classmethod, staticmethod)):
        parts = [value.__func__]
    else:
        parts = [value, vars(value).get("__wrapped__") if isinstance(value, types.FunctionType) else None]
    return [f for f in parts if isinstance(f, types.FunctionType)]


class Sealed:
    """A learner's function that looks, whenever it returns or raises, whether something was changed; then `found` is
    called with its name, and where that returns the process ends. Sent to a rank it does the same there.
    """

    def __init__(self, function: Callable, seal: Seal | None = None, found: Callable[[str], None] | None = None) -> None:
        functools.update_wrapper(self, function)
        # held by the call alone, so that what a learner's function gets hold of has no way to them
        self._call = _guarded(function, seal or Seal(), found or (lambda name: None), os._exit)
        self._function = function

    def __call__(self, *args, **named):
        return self._call(*args, **named)

    def __reduce__(self):
        return Sealed, (self._function,)


def _guarded(function: Callable, seal: Seal, found: Callable[[str], None], leave: Callable[[int], None]) -> Callable:
    broken = seal.broken

    def call(*args, **named):
        try:
            return function(*args, **named)
        finally:
            if changed := broken():
                try:
                    found(changed)
                finally:
                    leave(1)

    return call


def reaches(text: str, ours: str) -> list[str]:
    """What a submission's module text uses, and our own does not, that leads to what judges it: names as they stand
    there. An attribute counts, a name, a text in quotes, an import.
    """
    return sorted(_used(text) - _used(ours))


def _used(text: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute):
            found |= {node.attr} & _WORDS
        elif isinstance(node, ast.Name):
            found |= {node.id} & (_WORDS | _CALLS)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found |= {node.name} & _WORDS
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= {node.value} & (_WORDS | _CALLS)
        elif isinstance(node, ast.Import):
            found |= {a.name for a in node.names if a.name.partition(".")[0] in _MODULES}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in _MODULES:
            found.add(node.module or "")
        elif isinstance(node, ast.ImportFrom):
            found |= {a.name for a in node.names} & (_WORDS | _CALLS)
    return found
