"""Build ahead of time, tell what is built, and throw it away: `labkit prebuild`, `labkit clean`, `make clean`.

Standard library only until `prebuild` is called, so that `make clean` works without an environment.
"""
from __future__ import annotations

import shutil

from labkit import paths


def built(what: str) -> bool:
    """Whether the cache holds a "twin" or "device", of this or an earlier version of the sources."""
    folder = paths.cache_dir() / "build"
    return any(path.is_dir() for path in folder.glob(f"*{what}*-*"))


def clear() -> int:
    """Delete everything that was built; a learner's progress and code stay. Returns the bytes freed."""
    folder = paths.cache_dir() / "build"
    freed = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    shutil.rmtree(folder, ignore_errors=True)
    return freed


if __name__ == "__main__":
    print(f"{clear() / 2**20:.0f} MB freed in {paths.cache_dir()}")
