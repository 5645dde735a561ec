"""Steps that wait for PyTorch, or a module of it, to be imported: importing it at once would cost every program a
second. The first of them makes `import labkit; import torch; x.npu()` work in any order.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import os
import sys
import warnings
from collections.abc import Callable

# Parts of torch_npu that a later room makes: the first part of the module's name, and the room's module, which has
# MODULES, the names of the modules that there are, and contents(name). labkit/__init__.py fills it.
PROVIDERS: dict[str, str] = {}
# Modules of later rooms whose install() is called behind the simulated device's.
BEHIND: list[str] = []
# Modules of PyTorch, and of each the later room's module whose touch(module) is called as soon as it is there. The room
# is imported no earlier: Triton and sympy would cost every program a second.
TOUCHED: dict[str, str] = {}


class _Loader(importlib.abc.Loader):
    """The module's own loader, with one step behind it."""

    def __init__(self, inner, finder: _Finder):
        self._inner, self._finder = inner, finder

    def create_module(self, spec):
        return self._inner.create_module(spec)

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self._inner
        self._inner.exec_module(module)
        self._finder.done()
        self._finder.step(module)

    def __getattr__(self, name):
        return getattr(self._inner, name)


class _Finder(importlib.abc.MetaPathFinder):
    """Stays until the module has been loaded: a library that only looks for it (importlib.util.find_spec) asks for the
    same spec, and an import that failed may be tried again."""

    def __init__(self, name: str, step: Callable):
        self.name, self.step = name, step

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        look_at_place()
        spec = self._of_others(path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self)
        return spec

    def _of_others(self, path, target):
        """What the finders behind this one find: those before it have found nothing."""
        finders = list(sys.meta_path)
        for finder in finders[finders.index(self) + 1 :] if self in finders else finders:
            look = getattr(finder, "find_spec", None)  # one of the old kind has none; Python passes over it too
            if look is not None and (spec := look(self.name, path, target)) is not None:
                return spec
        return None

    def done(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)


def after_import(name: str, step: Callable) -> None:
    """Calls step(module) when the module `name` is there: now, or as soon as something imports it."""
    if name in sys.modules:
        step(sys.modules[name])
    else:
        sys.meta_path.insert(0, _Finder(name, step))


def _said(key: str, **words) -> str:
    return importlib.import_module("labkit.messages").text(f"device.{key}", **words)


def look_at_place() -> None:
    """Before PyTorch is loaded: its MKL ends a process without a word of why where the folder has been deleted.
    Raises FileNotFoundError there.
    """
    try:
        os.getcwd()
    except FileNotFoundError as error:
        raise FileNotFoundError(error.errno, _said("folder_gone")) from None


def _install(torch) -> None:
    try:
        importlib.import_module("labkit.device").install()
    except Exception as error:
        text = _said("not_there", error=error)
        warnings.warn(text, stacklevel=2)
        _refuse(torch, text)


def _refuse(torch, text: str) -> None:
    """x.npu() and module.npu() say why there is no device: the warning at the import is long gone by then."""

    def npu(self, *arguments, **named):
        raise importlib.import_module("labkit.build.compiler").ToolError(text)

    npu.refuses = True
    for kind in (torch.Tensor, torch.nn.Module):
        if not hasattr(kind, "npu"):
            kind.npu = npu


def withdraw() -> None:
    """Before another try: PyTorch takes no name that is there."""
    if torch := sys.modules.get("torch"):
        for kind in (torch.Tensor, torch.nn.Module):
            if getattr(kind.__dict__.get("npu"), "refuses", False):
                del kind.npu


def watch() -> None:
    """Installs the device now if torch is there, else as soon as it is imported. LABKIT_DEVICE=none: never.

    Where it cannot be installed (no compiler, say) torch still imports and the reason is a warning.
    """
    if os.environ.get("LABKIT_DEVICE", "auto") != "none":
        after_import("torch", _install)


# ---- `import torch_npu`, or torch, as the first line of a program


# The one line of labkit_torch_npu.pth, which scripts/bootstrap.py keeps in the environment's site-packages. Python runs
# it at each start (0.1 ms). The finder stands last: it is asked only for modules that nobody else has found, so a real
# torch_npu goes first. A library that merely looks whether there is one (importlib.util.find_spec, two frames up) finds
# none, or every program with transformers would move to the npu.
# Only where the current folder has been deleted (it has no links then) a second finder stands first: there
# MKL would end the program at `import torch`, before it can import labkit.
PTH = (
    "import sys; sys.meta_path.append(lambda: 0); sys.meta_path[-1].find_spec = lambda name, path=None, target=None: "
    '__import__("labkit.device.import_hook", fromlist=["_"]).torch_npu_spec() '
    'if name == "torch_npu" and sys._getframe(2).f_globals.get("__name__") != "importlib.util" '
    'and __import__("importlib.util").util.find_spec("labkit") else None; '
    '__import__("os").path.exists(".") and __import__("os").stat(".").st_nlink == 0 and '
    '(sys.meta_path.insert(0, lambda: 0) or setattr(sys.meta_path[0], "find_spec", '
    'lambda name, path=None, target=None: __import__("labkit.device.import_hook", fromlist=["_"]).look_at_place() '
    'if name == "torch" and sys._getframe(2).f_globals.get("__name__") != "importlib.util" '
    'and __import__("importlib.util").util.find_spec("labkit") else None))\n'
)


def keep_pth(folder: str) -> None:
    """Puts the file into `folder` if it is not there; a folder that cannot be written to is left alone."""
    path = os.path.join(folder, "labkit_torch_npu.pth")
    try:
        with open(path, encoding="utf-8") as file:
            if file.read() == PTH:
                return
    except OSError:
        pass
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(PTH)
    except OSError:
        pass


def torch_npu_spec() -> importlib.machinery.ModuleSpec | None:
    """The simulated torch_npu, for a program that imports it. LABKIT_DEVICE=none: none."""
    if os.environ.get("LABKIT_DEVICE", "auto") == "none":
        return None
    return importlib.machinery.ModuleSpec("torch_npu", _TorchNpu(), is_package=True)


class _TorchNpu(importlib.abc.Loader):
    def create_module(self, spec):
        try:
            importlib.import_module("labkit.device").install()
        except Exception as error:
            raise ImportError(_said("not_there", error=error)) from error
        return sys.modules["torch_npu"]

    def exec_module(self, module) -> None:
        pass
