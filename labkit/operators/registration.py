"""Operators of PyTorch made of Ascend C kernels: one C++ source for a node and for the twin.

    lab = labkit.register("kernels/silu/silu_torch.asc")     # builds, loads and registers
    y = torch.ops.lab.silu(x)

The source is what torch_npu's samples show: TORCH_LIBRARY_FRAGMENT, implementations for PrivateUse1, Meta and, if
wanted, AutogradPrivateUse1, and launches kernel<<<blocks, nullptr, stream>>>(...). Registering it again after an edit
replaces it.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from labkit import device, messages, paths
from labkit.launch.kernel import Kernel, text_of
from labkit.launch.record import LaunchRecord
from labkit.operators import build, errors, launch, views
from labkit.operators.errors import RegistrationError
from labkit.source.lowering import parse

__all__ = ["Operators", "RegistrationError", "register"]

_numbers = itertools.count()
_registered: list["Operators"] = []
_loaded: set[Path] = set()  # by this process, ever


@dataclass
class Operators:
    """What register() gives back. names: of the operators, "lab::silu"; kernels: what they launch;
    record: of the last launch.
    """

    name: str
    filename: str
    path: Path
    names: list[str] = field(default_factory=list)
    kernels: dict[str, Kernel] = field(default_factory=dict, repr=False)
    record: LaunchRecord | None = field(default=None, repr=False)
    number: int = -1
    library: object = field(default=None, repr=False)

    def keys(self, name: str) -> list[str]:
        """The dispatch keys that an operator has an implementation for."""
        import torch

        has = torch._C._dispatch_has_kernel_for_dispatch_key
        return [
            key
            for key in ("PrivateUse1", "Meta", "AutogradPrivateUse1", "Autograd", "CompositeImplicitAutograd", "CPU")
            if has(name, key)
        ]

    def __repr__(self) -> str:
        import torch

        lines = []
        for name in self.names:
            ns, _, op = name.partition("::")
            packet = getattr(getattr(torch.ops, ns), op, None)
            if packet is None:
                lines.append(messages.text("adapter.gone", op=name))
                continue
            schemas = [str(getattr(packet, overload)._schema) for overload in packet.overloads()]
            keys = self.keys(name)
            lines += [f"{schema}   [{', '.join(keys)}]" for schema in schemas]
            if "Meta" not in keys and "CompositeImplicitAutograd" not in keys:
                lines.append("  " + messages.text("adapter.no_meta", op=name))
        return "\n".join(lines) or messages.text("adapter.nothing", file=self.name)


def register(
    path: str | os.PathLike | None = None,
    *,
    text: str | None = None,
    filename: str | None = None,
    folder: str | os.PathLike | None = None,
    timeout: float = 10.0,
    checks: bool = True,
    schedule: str = "program",
) -> Operators:
    """Builds an operator's C++ source, or `text`, loads it and registers what it says. Cached by content.

    A path that does not exist from here is taken from the checkout. What an earlier call registered under the same file
    name, or under the same operator's name, is replaced. folder: where its quoted includes are, by default that of
    `filename`. timeout, checks, schedule: of its launches on the twin, as labkit.kernel has them. Raises
    FileNotFoundError, labkit.CompileError, RegistrationError.
    """
    if (path is None) == (text is None):
        raise TypeError("give a path or text=, one of the two")
    if text is None:
        file = Path(path) if Path(path).exists() else paths.repo_root() / path
        text, filename = text_of(file), filename or str(file.resolve())
    filename = filename or "adapter.asc"
    name = paths.display_path(filename) if filename.startswith("/") else filename
    target = device.install()
    folder = Path(folder).resolve() if folder else None
    defined = errors.check_schemas(text, name)
    if target == "npu":
        return _on_npu(text, filename, name, defined, folder)
    how = dict(timeout=timeout, checks=checks, schedule=schedule, chip=device.chip())
    kernels = _kernels(text, filename, how, folder)  # first: a mistake in a kernel shows in a second
    built = build.for_twin(
        text, filename, lambda _: messages.note(messages.text("adapter.building", file=name)), folder
    )
    made = Operators(name, filename, built, kernels=kernels)
    _replace(filename, defined)
    _load(made)
    return made


def _kernels(text: str, filename: str, how: dict, folder: Path | None) -> dict[str, Kernel]:
    """name as launched -> Kernel, built. Raises RegistrationError for one that is not there."""
    parts = [(part, parse(part.text, part.filename)) for part in views.kernels_of(text, filename, folder)]

    def made(launched: str) -> Kernel:
        bare = launched.partition("<")[0].strip().removeprefix("::")
        part = next((p for p, kernels in parts if any(bare in (k.name, k.qualified) for k in kernels)), None)
        if part is None:
            known = ", ".join(k.qualified for _, kernels in parts for k in kernels) or "-"
            raise RegistrationError(messages.text("adapter.no_kernel", kernel=launched, file=filename, known=known))
        return Kernel(part.text, part.filename, entry=launched.removeprefix("::"), **how)

    names = list(build.launched(text, filename))
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(names, pool.map(made, names)))


# ---- loading


def _load(made: Operators) -> None:
    import torch

    before = set(torch._C._dispatch_get_all_op_names())
    dangling = set(torch._C._dispatch_find_dangling_impls())
    made.number = next(_numbers)
    try:
        made.library = _library(made.path)
    except OSError as error:
        m = re.search(r"undefined symbol: (\w+)", str(error))
        if m is None:
            raise
        raise RegistrationError(messages.text("adapter.undefined", name=_plain(m[1]), file=made.name)) from None
    made.library.labkit_register.restype = ctypes.c_char_p
    launch.serve(made.number, made)
    said = made.library.labkit_register(made.number)
    if said is not None:
        launch.forget(made.number)
        raise errors.explained(said.decode(errors="replace"), made.name)
    made.names = sorted({n.partition(".")[0] for n in set(torch._C._dispatch_get_all_op_names()) - before})
    lost = [d for d in torch._C._dispatch_find_dangling_impls() if d not in dangling]
    if lost:
        made.library.labkit_unregister()
        launch.forget(made.number)
        named = [d.split("\n")[0].removeprefix("name: ").strip() for d in lost]
        op, known = named[0], [n for n in made.names if n not in {d.partition(".")[0] for d in named}]
        raise RegistrationError(messages.text("adapter.dangling", op=op, file=made.name, known=", ".join(known) or "-"))
    _registered.append(made)


def _plain(symbol: str) -> str:
    """helper(at::Tensor const&) of _Z6helperRKN2at6TensorE, where the machine has a tool for it."""
    try:
        return subprocess.run(["c++filt", symbol], capture_output=True, text=True, timeout=10).stdout.strip() or symbol
    except (OSError, subprocess.TimeoutExpired):
        return symbol


def _library(path: Path) -> ctypes.CDLL:
    """Loaded anew: a library that was loaded before still holds, in its statics,
    handles of operators that are gone since.
    """
    if path not in _loaded:
        _loaded.add(path)
        return ctypes.CDLL(str(path))
    with tempfile.TemporaryDirectory() as folder:
        return ctypes.CDLL(shutil.copy(path, folder))


def _replace(filename: str, defined: list[str]) -> None:
    for old in list(_registered):
        if old.filename == filename or set(old.names) & set(defined):
            _unregister(old)


def _unregister(old: Operators) -> None:
    """Takes back what a library registered, and what Python added to or remembered of its operators."""
    forget(old.names)
    old.library.labkit_unregister()
    launch.forget(old.number)
    _registered.remove(old)
    _drop(old.names)


def forget(names: list[str]) -> None:
    """Takes back what torch.library added to operators: register_fake, register_autograd,
    and what else it keeps alive.
    """
    import torch.library
    from torch._library.simple_registry import singleton

    for name in names:
        entry = singleton._data.pop(name, None)
        inner = getattr(getattr(entry, "fake_impl", None), "lib", None)
        if inner is not None:
            inner._destroy()
        ns, _, op = name.partition("::")
        for library in list(torch.library._keep_alive):
            if (
                library.ns == ns
                and library._op_impls
                and all(i.split("/")[1].partition(".")[0] == op for i in library._op_impls)
            ):
                library._destroy()
                torch.library._keep_alive.remove(library)


def _drop(names: list[str]) -> None:
    """torch.ops remembers what it has looked up."""
    import torch

    for name in names:
        ns, _, op = name.partition("::")
        space = getattr(torch.ops, ns)
        space.__dict__.pop(op, None)
        if op in getattr(space, "_dir", ()):
            space._dir.remove(op)


def drop(names: list[str]) -> None:
    """Unregisters the libraries that define one of `names`, and removes what Python keeps of them."""
    for old in list(_registered):
        if old.library is not None and set(old.names) & set(names):
            _unregister(old)
    forget(names)
    _drop(names)


# ---- on a node


def _on_npu(text: str, filename: str, name: str, defined: list[str], folder: Path | None) -> Operators:
    import torch

    if any(set(old.names) & set(defined) for old in _registered):
        if all(old.filename != filename for old in _registered):
            raise RegistrationError(messages.text("adapter.restart", file=name))
    path = build.for_npu(text, filename, messages.note, folder)
    old = next((o for o in _registered if o.path == path), None)
    if old is not None:
        return old
    if any(set(o.names) & set(defined) for o in _registered):
        raise RegistrationError(messages.text("adapter.restart", file=name))
    torch.ops.load_library(str(path))
    made = Operators(name, filename, path, names=defined)
    _registered.append(made)
    return made
