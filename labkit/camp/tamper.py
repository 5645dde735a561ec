"""Whether a submission changed what judges it. Where golden.py's `run` stands beside a learner's code (labkit.camp.way:
helper), that code could give torch.equal, abs or the lab's clock another body. A Seal has every function that Python,
PyTorch and the lab had before the submission came, and says which one is no longer the same; reaches() reads the
submission's text, in the grader's own process, for ways around it.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import importlib
import importlib.util
import os
import re
import sys
import types
from collections.abc import Callable
from operator import attrgetter, is_
from sys import getprofile, gettrace
from typing import Any

_HEAP, _IMMUTABLE = 1 << 9, 1 << 8  # Py_TPFLAGS_HEAPTYPE, Py_TPFLAGS_IMMUTABLETYPE
_PLAIN = (int, float, str, bool, tuple, frozenset)
# What Python and PyTorch themselves set anew in a class or a module while a program runs.
_LAZY = {"__abstractmethods__", "__doc__", "__annotations__", "__signature__", "__warningregistry__", "last_type"}

_COMPILERS = ("torch._", "torch.compiler.", "torch.utils._triton.")
_OURS = tuple(os.path.join(os.path.dirname(importlib.util.find_spec(n).origin), "") for n in ("torch", "labkit"))

# What a submission may use of Python beyond what our own solution does. Everything else is read by a teacher.
_LIBRARIES = {
    "torch", "torch_npu", "triton", "numpy", "math", "cmath", "itertools", "functools", "operator", "collections",
    "statistics", "typing", "dataclasses", "contextlib", "copy", "random", "__future__", "numbers", "fractions",
    "decimal", "heapq", "bisect", "re", "string", "enum", "abc",
}  # fmt: skip
_PARTS = {"library", "overrides", "utils", "testing", "hub", "package", "jit", "export", "timeline", "reset_clock",
          "clock_from_zero", "is_compiling", "is_tracing", "cell_contents", "currentframe", "settrace", "setprofile",
          # frames, by way of a generator; text that is evaluated or leads to attributes
          "gi_frame", "cr_frame", "ag_frame", "tb_frame", "tb_next", "f_back", "f_locals", "f_globals", "f_builtins",
          "gi_code", "f_code", "get_type_hints", "ForwardRef", "evaluate_forward_ref", "Formatter",
          # Python's own modules, which PyTorch's have by their names; memory and files
          "sys", "os", "gc", "types", "inspect", "builtins", "importlib", "traceback", "weakref", "threading", "ctypes",
          "ctypeslib", "subprocess", "pathlib", "tempfile", "shutil", "warnings", "stride_tricks", "memmap", "fromfile",
          "from_file", "tofile", "savetxt", "DataSource"}  # fmt: skip
_GETTERS = {"getattr", "attrgetter", "methodcaller"}
_CALLS = {
    "exec", "eval", "compile", "globals", "locals", "vars", "open", "input", "breakpoint", "setattr", "hasattr",
    "delattr", "type", "memoryview", "__import__",
}  # fmt: skip
_MAKING_TEXT = {"join", "format", "replace", "chr", "decode", "translate", "removeprefix", "removesuffix", "lower"}
_BASES = {"Module", "Function"}  # of a class of its own: torch.nn's and torch.autograd's
_SET = {"grad", "data", "weight", "bias", "requires_grad", "training"}  # attributes of tensors and modules


class Tampered(BaseException):
    """A submission changed this function of Python, PyTorch or the lab: "torch.equal". No Exception, which a judge
    would take for what an exercise raised.
    """


def compiles(text: str) -> bool:
    """Whether a module text gives functions to torch.compile, which looks into what it is given."""
    return "torch.compile" in text or "torch._dynamo" in text


def load(text: str) -> None:
    """Imports all that a module text imports anywhere, and has PyTorch and the lab change what they change of others
    when they are first used.
    """
    import torch._dynamo

    if compiles(text):
        torch.compile(torch.nn.Linear(1, 1), backend="eager")(torch.ones(1, 1))
    if "labkit.triton.install" in text:
        import labkit.triton

        labkit.triton.install()
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
        for name, module in list(sys.modules.items()):  # the tables of modules alone: asking one may load another
            inside = vars(module) if isinstance(module, types.ModuleType) else None
            if type(inside) is dict and name != "exercise":
                constants = name.startswith("labkit.")
                held = {k: v for k, v in inside.items() if callable(v) or issubclass(type(v), types.ModuleType)
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
            alone = isinstance(inside, dict)  # of a module: a new name there matters where it hides one of Python's
            made.append((place, inside, frozenset(inside), alone, tuple(kept), tuple(kept.values())))
            for name, value in kept.items():
                for f in _bodies(value):
                    functions.setdefault(id(f), (f"{place}.{name}", f))
        self._spaces = tuple(made)
        self._names = tuple(name for name, _ in functions.values())
        self._functions = tuple(f for _, f in functions.values())
        self._parts = tuple((part, tuple(map(part, self._functions)))
                            for part in map(attrgetter, ("__code__", "__defaults__", "__kwdefaults__")))  # fmt: skip
        self._watchers = (gettrace(), getprofile())

    def look(self) -> Callable[[], dict[str, Any]]:
        """The function that says what is no longer what it was, by name ("torch.equal"), and what stands there now. It
        reads no module and no class, so that nothing which is set there changes what it says.
        """
        python = frozenset(vars(builtins))
        parts = (self._spaces, self._parts, self._names, self._functions, self._watchers, _alone(_is_theirs), python)
        return functools.partial(_alone(_changes), *parts)


def _changes(spaces, parts, names_, functions, watchers, is_theirs, python) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for place, inside, known, alone, names, values in spaces:
        get = inside.get
        if not inside.keys() <= known:
            new = {n: inside[n] for n in {*inside} - known if not alone or n in python}
            new = {n: v for n, v in new.items() if n not in _LAZY and (callable(v) or hasattr(type(v), "__get__"))}
            changed |= {f"{place}.{n}": v for n, v in new.items() if not is_theirs(f"{place}.{n}", None, v)}
        if not all(map(is_, map(get, names), values)):
            pairs = [(f"{place}.{n}", v, get(n)) for n, v in zip(names, values, strict=True) if get(n) is not v]
            changed |= {name: now for name, before, now in pairs if not is_theirs(name, before, now)}
    for part, before in parts:
        now = tuple(map(part, functions))
        if not all(map(is_, now, before)):
            changed |= {n: a for n, a, b in zip(names_, now, before, strict=True) if a is not b}
    seen = (gettrace(), getprofile())
    return changed if seen == watchers else changed | {"sys.settrace": seen}


def _alone(function: types.FunctionType) -> types.FunctionType:
    """A copy with globals of its own, those of this module and Python's as they are now."""
    own = {**globals(), "__builtins__": dict(vars(builtins))}
    return types.FunctionType(function.__code__, own, function.__name__, function.__defaults__, function.__closure__)


def _is_theirs(name: str, before: Any, now: Any) -> bool:
    """PyTorch or the lab changed it, as Optimizer does with its `step` when the first one is made: a function of their
    own files around the one that was there, or a part of PyTorch's compiler.
    """
    if isinstance(now, types.ModuleType) and now is sys.modules.get(now.__name__):  # one that is loaded when it is used
        return name.rpartition(".")[2] == now.__name__.rpartition(".")[2]
    compiler = name.startswith(_COMPILERS)
    if compiler and not callable(now):
        return True
    inside = getattr(now, "__wrapped__", None)
    code = getattr(now, "__code__", None) or compiler and getattr(inside, "__code__", None)
    return bool(code) and code.co_filename.startswith(_OURS) and (compiler or before is None or inside is before)


def _bodies(value: Any) -> list[types.FunctionType]:
    """The Python functions behind what a class or a module holds."""
    if isinstance(value, property):
        parts = [value.fget, value.fset, value.fdel]
    elif isinstance(value, (classmethod, staticmethod)):
        parts = [value.__func__]
    else:
        parts = [value, vars(value).get("__wrapped__") if isinstance(value, types.FunctionType) else None]
    return [f for f in parts if isinstance(f, types.FunctionType)]


def guard(seal: Seal, found: Callable[[str], None]) -> Callable[[Callable, bool], Callable]:
    """What gives a function to which a look belongs: after each call. inside: golden.py calls it, whose own changes
    are none of the submission's. The process does not outlive what it finds.
    """
    look = seal.look()

    def guarded(function: Callable, inside: bool = False) -> Callable:
        return functools.partial(_alone(_guarded), function, inside, look, found, os._exit)

    return guarded


def _guarded(function, inside, look, found, leave, *args, **named):
    before = look() if inside else {}  # some goldens count the waits
    try:
        return function(*args, **named)
    finally:
        changed = [name for name, now in look().items() if before.get(name, look) is not now]
        if changed:
            try:
                found(changed[0])
            finally:
                leave(1)


class Guarded:
    """A learner's function under a guard; sent to a rank, it makes one there."""

    def __init__(self, function: Callable, guard_: Callable | None = None) -> None:
        functools.update_wrapper(self, function)
        if guard_ is None:
            load("")
            guard_ = guard(Seal(), lambda name: None)
        self._function, self._call, self._last = function, guard_(function, inside=True), guard_(bool)

    def __call__(self, *args, **named):
        return self._call(*args, **named)

    def after_rank(self) -> None:
        """Looks once more at the end of a rank's call: what the function returned may have run since."""
        self._last()

    def __reduce__(self):
        return Guarded, (self._function,)


def reaches(text: str, ours: str) -> list[str]:
    """What a submission's module text has, and our own has not, by which it could change or feed what judges it: names
    as they stand there. A wrong submission may pass with it, a right one seldom needs it.
    """
    mine, there = _bound(text), _bound(ours)
    imported = {name for name, source in there if source}
    return sorted(_used(text) - _used(ours) | {f"{name} =" for name, _ in mine - there if name in imported})


def _bound(text: str) -> set[tuple[str, str]]:
    """(name, what it is imported from; "" for a class, a function, a value) of each name that a module text gives. Not
    inside of functions and classes, whose names are their own."""
    found: set[tuple[str, str]] = set()
    todo: list[ast.AST] = list(ast.parse(text).body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import):
            found |= {(a.asname, a.name) if a.asname else (a.name.split(".")[0],) * 2 for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {(a.asname or a.name, f"{node.module}.{a.name}") for a in node.names}
        elif isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            found.add((node.name, ""))
            todo += node.decorator_list  # what stands in the head runs outside of it
            if isinstance(node, ast.ClassDef):
                todo += [*node.bases, *(k.value for k in node.keywords)]
            else:
                todo += [*node.args.defaults, *filter(None, node.args.kw_defaults)]
            continue
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add((node.id, ""))
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add((node.name, ""))
        todo += ast.iter_child_nodes(node)
    return found


def _used(text: str) -> set[str]:
    found: set[str] = set()
    nodes = list(ast.walk(ast.parse(text)))
    by_text = any(_last(node) in _GETTERS or isinstance(node, ast.alias) and node.name in _GETTERS for node in nodes)
    for node in nodes:
        if isinstance(node, ast.Attribute):
            found |= {node.attr} if _leads_on(node.attr) else set()
            if not isinstance(node.ctx, ast.Load) and node.attr not in _SET:
                found.add(f".{node.attr} =")
        elif isinstance(node, ast.Name):
            found |= {node.id} if node.id.startswith("__") or node.id in _CALLS else set()
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= {node.value} if re.fullmatch(r"__\w+__|\w*_hook", node.value) else set()
            found |= {part for part in node.value.split(".") if by_text and part.isidentifier() and _leads_on(part)}
        elif isinstance(node, ast.ClassDef):
            if not {*map(_last, node.bases)} <= _BASES or node.keywords or node.decorator_list:
                found.add(f"class {node.name}")
        elif isinstance(node, (ast.Match, ast.Global, ast.Nonlocal)):
            found.add(type(node).__name__.lower())
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found |= {node.name} if node.name.startswith("__") and node.name != "__init__" else set()
        elif isinstance(node, ast.Import):
            found |= {a.name for a in node.names if not _is_plain(a.name)}
        elif isinstance(node, ast.ImportFrom):
            found |= {a.name for a in node.names if not _is_plain(f"{node.module}.{a.name}")}
    if by_text and any(map(_makes_text, nodes)):
        found.add("getattr")  # of a name that does not stand there
    return found


def _leads_on(name: str) -> bool:
    """An attribute of this name is a way to what judges."""
    return name.startswith("_") and name not in ("_check", "__init__") or name in _PARTS or name.endswith("_hook")


def _last(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _makes_text(node: ast.AST) -> bool:
    sides = (node.left, node.right) if isinstance(node, ast.BinOp) else ()
    texts = any(isinstance(s, ast.Constant) and isinstance(s.value, str) for s in sides)
    return texts or isinstance(node, ast.JoinedStr) or _last(node) in _MAKING_TEXT


def _is_plain(module: str) -> bool:
    first, *rest = module.split(".")
    return first in _LIBRARIES and not any(part.startswith("_") or part in _PARTS for part in rest)
