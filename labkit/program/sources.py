"""A program's source files as the host compiler takes them: launches lowered, ACLRT_LAUNCH_KERNEL made a call.

No line moves: line n of the learner's file stays line n for the compiler. A header that holds a launch is put in place
of the line that includes it, since what the compiler includes by itself cannot be lowered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from labkit.build.includes import in_place, text_of
from labkit.source import lowering
from labkit.source.errors import ENTRY_FILE
from labkit.source.kernels import clean, kernels
from labkit.source.scan import mask

_LAUNCHED = re.compile(r'#[ \t]*include[ \t]*[<"]aclrtlaunch_(\w+)\.h[">]|\bACLRT_LAUNCH_KERNEL\s*\(\s*(\w+)\s*\)')


def launched_by_name(texts: list[str]) -> list[str]:
    """The kernels that the program launches with ACLRT_LAUNCH_KERNEL or includes an aclrtlaunch_*.h for."""
    found = (m[1] or m[2] for text in texts for m in _LAUNCHED.finditer(text))
    return sorted(set(found) - {"kernel_func"})


@dataclass(frozen=True)
class Text:
    """A source file with the headers that lead to launches put in place; around: what else it includes;
    defines: the macros it is compiled with.
    """

    path: Path
    text: str
    around: str
    defines: dict[str, str] = field(default_factory=dict)


def read(path: Path, includes: list[str], definitions: Iterable[str] = ()) -> Text:
    """includes: the folders that the file is compiled with; definitions: "NAME" or "NAME=value"."""
    text = in_place(path, clean(path.read_text(encoding="utf-8", errors="replace")), includes, _has_launch)
    defines = {
        name: value if said else "1" for name, said, value in (d.removeprefix("-D").partition("=") for d in definitions)
    }
    return Text(path, text, text_of(text, path.parent, includes), defines)


def core_mixes(texts: list[Text], *, guessed: bool = False) -> dict[str, tuple[int, int]]:
    """name -> (cube cores, vector cores) of every kernel of the program, as its text looks; guessed: only of those
    that do not say it. Raises SourceError.
    """
    found: dict[str, tuple[int, int]] = {}
    for t in texts:
        found.update(
            lowering.core_mixes(t.text, str(t.path), t.around, defined=True, defines=t.defines, guessed=guessed)
        )
    return found


def lower(t: Text, mixes: dict[str, tuple[int, int]], by_name: list[str]) -> str:
    """C++ of one source file; by_name: see launched_by_name.
    Raises SourceError for a launch that is not written right.
    """
    text = lowering.for_host_too(t.text)
    lowered = lowering.lower_launches(text, str(t.path), mixes) if "<<<" in text else text
    quoted = str(t.path).replace("\\", "\\\\").replace('"', '\\"')
    end = "" if lowered.endswith("\n") else "\n"
    return f'#line 1 "{quoted}"\n{lowered}{end}' + _named_entries(t, mixes, by_name)


def _has_launch(text: str) -> bool:
    return "<<<" in mask(text, directives=False) or lowering.for_device_alone(text)


# ---- ACLRT_LAUNCH_KERNEL(name)(blocks, stream, arguments...)


# What an aclrtlaunch_<name>.h holds; part of the key under which the build keeps them.
LAUNCH_HEADER = '#pragma once\n#include "twin/host/aclrtlaunch.h"\nTWIN_LAUNCHED_BY_NAME({name})\n'


def write_launch_headers(folder: Path, by_name: list[str]) -> None:
    """An aclrtlaunch_<name>.h for each kernel, as CANN's build makes them."""
    for name in by_name:
        (folder / f"aclrtlaunch_{name}.h").write_text(LAUNCH_HEADER.format(name=name), encoding="utf-8")


def _named_entries(t: Text, mixes: dict[str, tuple[int, int]], by_name: list[str]) -> str:
    if not by_name or "__global__" not in t.text:
        return ""
    out: list[str] = []
    for kernel in kernels(t.text, str(t.path)):
        if kernel.name in by_name and kernel.defined and kernel.template is None and "0" not in kernel.guard:
            guards = [line for guard in kernel.guard for line in guard.split("\n")]
            aic, aiv = mixes.get(kernel.name, (0, 1))
            out += [
                *guards,
                f"TWIN_LAUNCH_ENTRY({kernel.name}, ::{kernel.qualified}, {aic}, {aiv})",
                *["#endif"] * len(kernel.guard),
            ]
    return "\n".join([f'#line 1 "{ENTRY_FILE}"', '#include "twin/host/aclrtlaunch.h"', *out]) + "\n" if out else ""
