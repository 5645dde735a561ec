"""Where things are: one place, so that no other module builds a path out of `__file__`."""

from __future__ import annotations

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_SHARE = _PACKAGE / "share"  # of an installed package: what setup.py put there


def installed() -> bool:
    """Whether this is a package that brought its notebooks along, rather than a checkout."""
    return _SHARE.is_dir()


def repo_root() -> Path:
    """The folder that holds notebooks/, kernels/ and data/: the checkout, or their place in an installed package."""
    return _SHARE if installed() else _PACKAGE.parent


def import_root() -> Path:
    """What PYTHONPATH must hold for this labkit to be imported."""
    return _PACKAGE.parent


def twin_dir() -> Path:
    """The twin's C++ sources, include tree and chip tables."""
    return _PACKAGE / "twin"


def kernels_dir() -> Path:
    return repo_root() / "kernels"


def notebooks_dir() -> Path:
    return repo_root() / "notebooks"


def data_dir() -> Path:
    return repo_root() / "data"


def cache_dir() -> Path:
    """Where everything built is kept: LABKIT_CACHE, else XDG_CACHE_HOME/labkit,
    else ~/.cache/labkit. Made if missing. Raises OSError with what to do where it cannot be.
    """
    named = os.environ.get("LABKIT_CACHE")
    base = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "labkit"
    try:
        base.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        part = next(p for p in (base, *base.parents) if p.exists() and not p.is_dir())
        raise NotADirectoryError(
            f"the lab keeps what it builds in {base}, but {part} is a file: move it, or set LABKIT_CACHE to a folder"
        ) from error
    return base


def display_path(path: str | os.PathLike) -> str:
    """`path` as a reader should see it: relative to the checkout or the working folder where that is possible."""
    p = Path(path)
    for base in (Path.cwd(), repo_root()):
        try:
            return str(p.resolve().relative_to(base.resolve()))
        except ValueError:
            continue
    return str(p)
