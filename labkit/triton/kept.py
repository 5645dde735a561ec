"""What a second process need not work out again: Triton's own key, and a kernel that was built already.

Both are kept under the names, sizes and times of change of all files that they depend on: that is read in 10 ms, where
hashing libtriton takes 170 ms, and reading a kernel's text and all headers that it reaches 80 ms.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from labkit import chips
from labkit.build import cache as built
from labkit.build import compiler

LABKIT = Path(__file__).resolve().parents[1]
OWN = ("build", "source", "launch", "twin", "chips.py")


def stamp(paths: Iterable[str | os.PathLike]) -> str:
    """Of files, and of all files in folders: names, sizes, times of change."""
    found = hashlib.sha256()
    stack = [str(p) for p in paths]
    while stack:
        path = stack.pop()
        try:
            inside = sorted(os.scandir(path), key=lambda e: e.name) if os.path.isdir(path) else []
            stat = os.stat(path)
        except FileNotFoundError:
            continue
        if not inside:
            found.update(f"{path} {stat.st_size} {stat.st_mtime_ns}\n".encode())
        for entry in inside:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    stack.append(entry.path)
            else:
                one = entry.stat()
                found.update(f"{entry.path} {one.st_size} {one.st_mtime_ns}\n".encode())
    return found.hexdigest()


def quick_key() -> None:
    """From now on Triton's key of itself is worked out once for an installation, not once a process."""
    from triton.runtime import autotuner
    from triton.runtime import cache as triton_cache

    whole = triton_cache.triton_key
    if getattr(whole, "labkit", False):
        return

    @cache
    def triton_key() -> str:
        root = Path(triton_cache.__file__).resolve().parents[1]
        parts = [root / n for n in ("compiler", "backends", "language", "_C", "runtime/cache.py")]
        return _kept("triton-key", stamp(parts), whole)

    triton_key.labkit = True
    triton_cache.triton_key = autotuner.triton_key = triton_key


@cache
def _surroundings() -> str:
    return stamp([*(LABKIT / name for name in OWN), compiler.find_cxx()])


def kernel(text: str, file: str, make: Callable[[], object]):
    """A labkit.launch.kernel.Kernel of this text: as it was built before, or by make()."""
    words = [_surroundings(), text, file, chips.chosen()]
    found = _kept("triton-kernel", hashlib.sha256("\0".join(words).encode()).hexdigest(), make)
    return found if all(Path(p).exists() for p in found._built.values()) else make()


def _kept(name: str, digest: str, make: Callable[[], object]):
    def write(work: Path) -> None:
        (work / "it").write_bytes(pickle.dumps(make()))

    return pickle.loads(built.keep(name, digest, "it", write).read_bytes())
