"""Build ahead of time, say what is built, and delete it: `labkit prebuild`, `labkit clean`, `make clean`.

Standard library only until `prebuild` is called, so that `make clean` works without an environment.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed

from labkit import paths

# part -> (name of its entry in the cache, the folders with its sources)
_PARTS = {"twin": ("twin-runner", ("twin/src", "twin/include")), "device": ("labdevice", ("device/csrc",))}


def built(part: str) -> bool:
    """Whether the "twin" or the "device" is there: brought by a platform wheel, or in the cache, and no source of it
    was touched since it was built."""
    if _brought(part):
        return True
    name, folders = _PARTS[part]
    entries = (paths.cache_dir() / "build").glob(f"{name}-*/{name}*")
    newest = max((entry.stat().st_mtime for entry in entries), default=0.0)
    package = paths.twin_dir().parent
    sources = [file for folder in folders for file in (package / folder).rglob("*") if file.is_file()]
    return newest > max((source.stat().st_mtime for source in sources), default=0.0)


def _brought(part: str) -> bool:
    from labkit.build import compiler, shipped
    from labkit.device import build as device

    if part == "twin":
        return shipped.twin("twin-runner") is not None
    try:
        return shipped.device(device.torch_home()[1]) is not None
    except compiler.ToolError:  # no torch, or too old a one
        return False


def prebuild() -> Iterator[tuple[str, float]]:
    """Build all parts at once; yields (what, seconds) as they become ready. Raises CompileError, ToolError.

    what: the end of a key doctor.part.*
    """
    from labkit.build import runtime
    from labkit.device import build as device
    from labkit.operators import build as operators

    parts = {"twin": runtime.runner, "device": device.library, "headers": operators.prepare}
    start = time.monotonic()
    with ThreadPoolExecutor(len(parts)) as pool:
        made = {pool.submit(make): name for name, make in parts.items()}
        for done in as_completed(made):
            done.result()
            yield made[done], time.monotonic() - start


def clear() -> int:
    """Delete everything that was built; a learner's progress and code stay. Returns the bytes freed."""
    folder = paths.cache_dir() / "build"
    freed = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    shutil.rmtree(folder, ignore_errors=True)
    return freed


if __name__ == "__main__":
    print(f"{clear() / 2**20:.0f} MB freed in {paths.cache_dir()}")
