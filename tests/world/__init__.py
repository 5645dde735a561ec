"""Public kernels by other authors, and how each is run: only drivers of our own, never the sources.

`scripts/world_kernels.py` runs them against sources that lie elsewhere. See Case.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Outcome:
    """result: "verified" (right numbers, no finding), "built" (it compiled, but something was wrong) or "failed"."""

    result: str
    reason: str = ""


@dataclass
class Case:
    """One public kernel. path: in its repository; kind: "vector", "cube" or "mixed".

    run(source, scratch) does the work: source is the repository's folder, scratch an empty one. counted: False for what
    the bars leave out (note says why).
    """

    group: str
    repository: str
    path: str
    kind: str
    run: Callable[[Path, Path], Outcome] | None
    note: str = ""
    counted: bool = True
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        given = "".join(f" {k}={v}" for k, v in self.settings.items())
        return f"{self.path}{given}"
