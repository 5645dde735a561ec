"""Kernels that are wrong on purpose: one schema for all of them, and its loader.

A table of a TOML file is a fault, its name the test's. Three files have them: tests/faults/broken/index.toml (the whole
kernel is wrong), tests/faults/mutants.toml and kernels/<operator>/mutants.toml (a right kernel with a change).

    noticed    what notices it: a finding's code; "numbers" (a result is off), "bits" (a result is not rounded once) or
               "time" (the launch takes longer). Default: the name, its "_" as "-"
    file       the kernel, below the checkout. Default: <name>.asc beside the TOML file
    way        in place of file: a kernel of scripts/operator_times.py; step, dtype: which of its instantiations
    edits      [[old, new], ...], or [old, new, n]: the n-th time that old occurs. Else old occurs once
    entry      of several kernels in the file, this one
    args       "half 64": a tensor of 64 random halves; "empty half 64": one that nothing was stored in; "zero half 64",
               "one half 64": of that number; numbers and structs as they are. blocks: 1 where it is not given
    timeout    seconds of host time
    fatal      the launch does not finish
    warning    the finding is a warning, not an error
    also       further codes that come with it; a table gives the reason
    warnings   warnings that may stand beside it: a stopped or repaired kernel leaves work open
    line       false where no line of the kernel can be known
    family     the parts of the API that the change touches

An exercise's known-wrong solutions (`[[mutant]]` in its spec.toml) name what notices them by the same word.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from places import REPO

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib


@dataclass(frozen=True)
class Fault:
    """One fault; the fields are those of the schema above."""

    name: str
    file: Path
    noticed: str
    edits: tuple = ()
    way: str = ""
    step: int | None = None
    dtype: str = "float16"
    entry: str | None = None
    args: list = field(default_factory=list)
    blocks: int = 1
    timeout: float | None = None
    fatal: bool = False
    warning: bool = False
    also: dict | tuple = ()
    warnings: tuple = ()
    line: bool = True
    family: tuple = ()

    def text(self, right: str | None = None) -> str:
        """The wrong text. right: the kernel's own, where it is more than the file's."""
        text = self.file.read_text(encoding="utf-8") if right is None else right
        for old, new, *which in self.edits:
            found = text.count(old)
            assert found == 1 or which and 1 <= which[0] <= found, f"{self.name}: {old!r} occurs {found} times"
            at, parts = which[0] if which else 1, text.split(old)
            text = old.join(parts[:at]) + new + old.join(parts[at:])
        return text


def load(path: Path) -> dict[str, Fault]:
    """The faults of a file, by name. Raises TypeError for a word that the schema does not have."""
    found = {}
    for name, row in tomllib.loads(path.read_text(encoding="utf-8")).items():
        file = REPO / row.pop("file") if "file" in row else path.parent / f"{name}.asc"
        found[name] = Fault(name, file, row.pop("noticed", name.replace("_", "-")), **row)
    return found
