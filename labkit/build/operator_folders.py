"""Operators' folders as CANN's build sees them: the op_kernel contents of all operators side by side,
each under its operator's name.

So a kernel in swi_glu_grad/op_kernel may include "../swi_glu/glu_tiling_kernel.hpp", which lies in swi_glu/op_kernel.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from labkit import paths


def side_by_side(file: str | os.PathLike) -> list[str]:
    """The include folder that stands for a kernel's place in that build;
    nothing for a file that lies in no op_kernel.
    """
    folder = Path(file).resolve().parent
    while folder.name != "op_kernel":
        if folder == folder.parent:
            return []
        folder = folder.parent
    if folder.is_relative_to(paths.cache_dir().resolve()):
        return []  # what the lab keeps there are no neighbours, and there may be thousands
    family = folder.parent.parent
    kernels = {op: Path(op) / "op_kernel" for op in _operators(family)}
    for other in _subfolders(family.parent):
        for op in _operators(Path(other)):
            kernels.setdefault(op, Path(op) / "op_kernel")
    named: dict[str, Path] = {}
    for op, kernel in kernels.items():
        named.setdefault(Path(op).name, kernel)
    if len(named) < 2:
        return []
    view = (
        paths.cache_dir() / "op_folders" / hashlib.sha256("\n".join(map(str, named.values())).encode()).hexdigest()[:16]
    )
    if not view.is_dir():
        view.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f"{view.name}.", dir=view.parent))
        (made / "here").mkdir()
        for name, kernel in named.items():
            (made / name).symlink_to(kernel)
        try:
            made.rename(view)
        except OSError:  # another process was first
            shutil.rmtree(made)
    return [str(view / "here")]


def _subfolders(folder: Path) -> list[str]:
    try:
        return sorted(
            e.path for e in os.scandir(folder) if e.is_dir(follow_symlinks=False) and not e.name.startswith(".")
        )
    except OSError:
        return []


def _operators(family: Path) -> list[str]:
    return [op for op in _subfolders(family) if os.path.isdir(os.path.join(op, "op_kernel"))]
