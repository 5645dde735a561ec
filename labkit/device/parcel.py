"""Pickling for another process and back: functions of a notebook, their globals, classes, tensors.

pickle sends a function by its name, which the other side must be able to import; one from a notebook or from an
exercise is sent by its code, with the globals that it uses. Functions of one parcel share their globals and what they
enclose, as here; the next parcel begins anew. Device tensors arrive as device tensors; `unload=True` makes them CPU
tensors.
"""

from __future__ import annotations

import builtins
import dataclasses
import dis
import enum
import functools
import importlib
import io
import marshal
import pickle
import sys
import types
import typing

import torch

# Of vars() of a class: what making the class makes anew, and cannot be set.
_MADE_WITH_IT = {"__dict__", "__weakref__", "__slots__", "_abc_impl"}
# The same of an Enum, whose members are made with it.
_MADE_WITH_ENUM = {"_generate_next_value_", "_member_names_", "_member_map_", "_member_type_", "_value2member_map_"}
_MADE_WITH_ENUM |= {"_unhashable_values_", "_unhashable_values_map_", "_hashable_values_", "_use_args_", "__new__"}
# Of vars() of a member of an Enum: what the Enum gives it.
_GIVEN_TO_MEMBERS = {"_name_", "_value_", "_sort_order_", "_inverted_", "__objclass__"}
# Annotations of functions that are sent; of others nobody knows whether they can be.
_ANNOTATIONS = (str, type, type(None), typing.TypeVar, types.GenericAlias, types.UnionType, type(typing.List[int]))
_NAMELESS = (type(None), type(...), type(NotImplemented))  # pickle knows them, though no module has their names
# MISSING and its like, which dataclasses compares by `is`
_OF_DATACLASSES = {id(v): n for n, v in vars(dataclasses).items() if type(v).__module__ == "dataclasses"}


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
        self._globals: dict[int, dict] = {}  # by the id of a function's: the dict that stands for them over there

    def reducer_override(self, thing):
        if isinstance(thing, types.ModuleType):
            return importlib.import_module, (thing.__name__,)
        if isinstance(thing, torch.Tensor):
            return self._tensor_parts(thing)
        if id(thing) in _OF_DATACLASSES:
            return getattr, (dataclasses, _OF_DATACLASSES[id(thing)])
        if isinstance(thing, types.MappingProxyType):
            return _read_only, (dict(thing),)
        if isinstance(thing, types.CellType):
            return _cell, (), _held(thing), None, None, _fill_cell
        if isinstance(thing, property):
            return property, (thing.fget, thing.fset, thing.fdel, thing.__doc__)
        if isinstance(thing, (classmethod, staticmethod)):
            return type(thing), (thing.__func__,)
        if isinstance(thing, functools.cached_property):  # until Python 3.12 it has a lock, which pickle refuses
            return functools.cached_property, (thing.func,), {"attrname": thing.attrname}
        if isinstance(thing, functools._lru_cache_wrapper) and not _importable(thing):
            return _cached, (thing.__wrapped__, thing.cache_parameters())
        if isinstance(thing, (typing.TypeVar, typing.ParamSpec, typing.NewType, typing.ForwardRef)):
            return _type_parts(thing)
        if isinstance(thing, types.FunctionType) and not _importable(thing):
            return self._function_parts(thing)
        if isinstance(thing, type) and thing not in _NAMELESS and not _importable(thing):
            return _class_parts(thing)
        return NotImplemented

    def _tensor_parts(self, thing: torch.Tensor):
        if waits := hasattr(thing, "trigger_wait"):
            thing = thing.trigger_wait()  # the result of a functional collective, which may not be there yet
        parameter = type(thing) is torch.nn.Parameter
        if not (parameter or type(thing) is torch.Tensor):
            return NotImplemented
        if thing.device.type == "cpu" and thing.is_leaf:
            return thing.__reduce_ex__(5) if waits else NotImplemented
        plain = thing.detach().cpu()
        if self._unload and not parameter:
            return plain.__reduce_ex__(5)
        kind = "cpu" if self._unload else thing.device.type
        return _tensor, (plain, kind, thing.requires_grad, parameter)

    def _function_parts(self, f: types.FunctionType):
        shared = self._globals.setdefault(id(f.__globals__), {})
        names = {name for code in _codes(f.__code__) for name in _global_names(code)}
        state = {
            "globals": {k: v for k, v in f.__globals__.items() if k in names},
            "defaults": f.__defaults__,
            "kwdefaults": f.__kwdefaults__,
            "annotations": {k: v for k, v in f.__annotations__.items() if isinstance(v, _ANNOTATIONS)},
            "dict": f.__dict__,
        }
        made = (marshal.dumps(f.__code__), shared, f.__name__, f.__qualname__, f.__closure__)
        return _function, made, state, None, None, _fill


def _importable(thing) -> bool:
    """Whether the other process finds it under its name."""
    module = getattr(thing, "__module__", None)
    found = sys.modules.get(module) if module not in (None, "__main__") else None
    if found is None or getattr(found, "__spec__", None) is None and found is not builtins:
        return False
    for part in thing.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is thing


def _type_parts(thing):
    """Of what stands for a type in annotations."""
    if isinstance(thing, typing.ForwardRef):
        return typing.ForwardRef, (thing.__forward_arg__,)
    if getattr(sys.modules.get(thing.__module__), thing.__name__, None) is thing and thing.__module__ != "__main__":
        return NotImplemented
    if isinstance(thing, typing.NewType):
        return typing.NewType, (thing.__name__, thing.__supertype__)
    given = {"bound": thing.__bound__, "covariant": thing.__covariant__, "contravariant": thing.__contravariant__}
    return _type_variable, (type(thing), thing.__name__, getattr(thing, "__constraints__", ()), given)


def _codes(code: types.CodeType):
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _codes(const)


def _global_names(code: types.CodeType):
    """co_names has attributes too: a global that is only named like one need not be sent, and perhaps cannot be."""
    for instruction in dis.get_instructions(code):
        if instruction.opname.endswith(("_GLOBAL", "_GLOBALS", "LOAD_NAME")):
            yield instruction.argval


def _held(cell: types.CellType) -> tuple:
    """What it holds; () of a name that has no value yet."""
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def _class_parts(thing: type):
    inside = {k: v for k, v in vars(thing).items() if k not in _MADE_WITH_IT}
    inside = {k: v for k, v in inside.items() if not isinstance(v, types.MemberDescriptorType)}  # of __slots__
    own = {}
    if isinstance(thing, enum.EnumMeta):
        members = {name: member._value_ for name, member in thing.__members__.items()}
        inside = {k: v for k, v in inside.items() if k not in _MADE_WITH_ENUM and k not in members}
        for member in thing:  # what its __init__ gave them
            own[member._name_] = {k: v for k, v in vars(member).items() if k not in _GIVEN_TO_MEMBERS}
    else:
        members = {"__slots__": vars(thing)["__slots__"]} if "__slots__" in vars(thing) else {}
    bases = vars(thing).get("__orig_bases__", ())  # Generic[T], without which Generic is refused
    bases = bases if types.resolve_bases(bases) == thing.__bases__ else thing.__bases__  # not so of a NamedTuple
    made = (type(thing), thing.__name__, thing.__qualname__, bases, members)
    return _class, made, (inside, own), None, None, _furnish


# ---- on the other side. Empty first and filled afterwards: a function may use itself, or the class that it is in


def _function(code: bytes, shared: dict, name: str, qualname: str, closure: tuple | None) -> types.FunctionType:
    shared.setdefault("__builtins__", builtins)
    shared.setdefault("__name__", "__main__")
    made = types.FunctionType(marshal.loads(code), shared, name, None, closure)
    made.__qualname__ = qualname
    return made


def _fill(f: types.FunctionType, state: dict) -> None:
    f.__globals__.update(state["globals"])
    f.__defaults__, f.__kwdefaults__ = state["defaults"], state["kwdefaults"]
    f.__annotations__ = state["annotations"]
    f.__dict__.update(state["dict"])


def _cell() -> types.CellType:  # pickle does not find the type itself, nor that of a read-only dict
    return types.CellType()


def _read_only(inside: dict) -> types.MappingProxyType:
    return types.MappingProxyType(inside)


def _fill_cell(cell: types.CellType, held: tuple) -> None:
    if held:
        cell.cell_contents = held[0]


def _type_variable(kind: type, name: str, constraints: tuple, given: dict):
    return kind(name, *constraints, **given)


def _cached(f, parameters: dict):
    return functools.lru_cache(**parameters)(f)


def _class(kind: type, name: str, qualname: str, bases: tuple, members: dict) -> type:
    def begin(inside: dict) -> None:
        inside["__qualname__"] = qualname
        for key, value in members.items():  # not update(), of which an Enum would not hear
            inside[key] = value

    given = {"metaclass": kind} if kind is not type else None
    try:
        return types.new_class(name, bases, given, begin)
    except TypeError:  # perhaps __init_subclass__ wants keywords, which the class has not kept; nor does it need them,
        asks = [c for b in types.resolve_bases(bases) for c in b.__mro__ if "__init_subclass__" in vars(c)]
        if not asks or asks[0] is object:  # since it gets what was made of them
            raise
        kept = vars(asks[0])["__init_subclass__"]
        asks[0].__init_subclass__ = classmethod(lambda cls: None)
        try:
            return types.new_class(name, bases, given, begin)
        finally:
            asks[0].__init_subclass__ = kept


def _furnish(made: type, state: tuple[dict, dict]) -> None:
    inside, own = state
    for name, value in inside.items():
        if name not in ("__module__", "__doc__") or value is not None:
            setattr(made, name, value)
    for name, given in own.items():
        made[name].__dict__.update(given)


def _tensor(plain: torch.Tensor, device: str, requires_grad: bool, parameter: bool) -> torch.Tensor:
    made = plain.to(device)
    return torch.nn.Parameter(made, requires_grad) if parameter else made.requires_grad_(requires_grad)
