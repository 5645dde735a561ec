"""Pickling for another process and back: functions of a notebook, their globals, classes, tensors.

pickle sends a function by its name, which the other side must be able to import; one from a notebook or from an
exercise is sent by its code, with the globals that it uses. Device tensors arrive as device tensors; `unload=True`
makes them CPU tensors.
"""

from __future__ import annotations

import builtins
import importlib
import io
import marshal
import pickle
import sys
import types

import torch

_OWN_CLASS = "__class__"  # the cell that super() looks into


def packed(thing, *, unload: bool = False) -> bytes:
    """Raises what pickle raises: TypeError, pickle.PicklingError."""
    sink = io.BytesIO()
    _Pickler(sink, unload).dump(thing)
    return sink.getvalue()


def unpacked(data: bytes):
    return pickle.loads(data)


class _Pickler(pickle.Pickler):
    def __init__(self, sink, unload: bool) -> None:
        super().__init__(sink, protocol=5)
        self._unload = unload

    def reducer_override(self, thing):
        if isinstance(thing, types.ModuleType):
            return importlib.import_module, (thing.__name__,)
        # the result of a functional collective, which may not be there yet
        if isinstance(thing, torch.Tensor) and hasattr(thing, "trigger_wait"):
            thing = thing.trigger_wait()
        if (
            isinstance(thing, torch.Tensor)
            and type(thing) in (torch.Tensor, torch.nn.Parameter)
            and (thing.device.type != "cpu" or not thing.is_leaf)
        ):
            plain = thing.detach().cpu()
            return (
                plain.__reduce_ex__(5)
                if self._unload
                else (_tensor, (plain, thing.device.type, thing.requires_grad, type(thing) is torch.nn.Parameter))
            )
        if isinstance(thing, property):
            return property, (thing.fget, thing.fset, thing.fdel, thing.__doc__)
        if isinstance(thing, (classmethod, staticmethod)):
            return type(thing), (thing.__func__,)
        if isinstance(thing, types.FunctionType) and not _importable(thing):
            return _function_parts(thing)
        if isinstance(thing, type) and not _importable(thing):
            inside = {k: v for k, v in vars(thing).items() if k not in ("__dict__", "__weakref__")}
            return _class, (type(thing), thing.__name__, thing.__bases__), inside, None, None, _furnish
        return NotImplemented


def _importable(thing) -> bool:
    """Whether the other process finds it under its name."""
    module = getattr(thing, "__module__", None)
    found = sys.modules.get(module) if module not in (None, "__main__") else None
    if found is None or getattr(found, "__spec__", None) is None and found is not builtins:
        return False
    for part in thing.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is thing


def _function_parts(f: types.FunctionType):
    cells = [None if name == _OWN_CLASS else cell for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ())]
    held = [cell.cell_contents if cell is not None else None for cell in cells]
    names = {name for code in _codes(f.__code__) for name in code.co_names}
    state = {
        "globals": {k: v for k, v in f.__globals__.items() if k in names},
        "cells": held,
        "defaults": f.__defaults__,
        "kwdefaults": f.__kwdefaults__,
        "dict": f.__dict__,
    }
    return _function, (marshal.dumps(f.__code__), f.__name__, f.__qualname__, len(cells)), state, None, None, _fill


def _codes(code: types.CodeType):
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _codes(const)


# ---- on the other side. Empty first and filled afterwards: a function may use itself, or the class that it is in


def _function(code: bytes, name: str, qualname: str, cells: int) -> types.FunctionType:
    made = types.FunctionType(
        marshal.loads(code),
        {"__builtins__": builtins, "__name__": "__main__"},
        name,
        None,
        tuple(types.CellType() for _ in range(cells)),
    )
    made.__qualname__ = qualname
    return made


def _fill(f: types.FunctionType, state: dict) -> None:
    f.__globals__.update(state["globals"])
    f.__defaults__, f.__kwdefaults__ = state["defaults"], state["kwdefaults"]
    f.__dict__.update(state["dict"])
    for name, cell, held in zip(f.__code__.co_freevars, f.__closure__ or (), state["cells"]):
        if name != _OWN_CLASS:
            cell.cell_contents = held


def _class(kind: type, name: str, bases: tuple) -> type:
    return types.new_class(name, bases, {"metaclass": kind} if kind is not type else None)


def _furnish(made: type, inside: dict) -> None:
    for name, value in inside.items():
        f = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        for part in (f.fget, f.fset) if isinstance(f, property) else (f,):
            if isinstance(part, types.FunctionType) and _OWN_CLASS in part.__code__.co_freevars:
                part.__closure__[part.__code__.co_freevars.index(_OWN_CLASS)].cell_contents = made
        if name not in ("__module__", "__doc__") or value is not None:
            setattr(made, name, value)


def _tensor(plain: torch.Tensor, device: str, requires_grad: bool, parameter: bool) -> torch.Tensor:
    made = plain.to(device)
    return (
        torch.nn.Parameter(made, requires_grad)
        if parameter
        else made.requires_grad_(requires_grad)
        if made.is_floating_point()
        else made
    )
