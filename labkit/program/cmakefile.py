"""What a CMakeLists.txt says about a program: its sources, definitions, include folders and what it links with.

The commands that describe targets, CANN's own among them. Whatever else a file does (packages, installing, custom
commands) is passed over.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from labkit.program.cmakelang import CMakeError, Reader

__all__ = ["CMakeError", "Project", "Target", "read"]


@dataclass
class Target:
    """kind: "exe", "lib" or "interface". sources: absolute paths. folder: of the CMakeLists.txt that made it."""

    name: str
    kind: str
    folder: Path
    sources: list[Path] = field(default_factory=list)
    definitions: list[str] = field(default_factory=list)
    includes: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)


@dataclass
class Project:
    targets: dict[str, Target] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)

    def variable(self, name: str) -> str:
        return self.variables.get(name, "")

    def programs(self) -> list[Target]:
        return [t for t in self.targets.values() if t.kind == "exe"]

    def parts(self, target: Target) -> list[Target]:
        """The target and every library of this project that it is linked with."""
        found, todo = [], [target.name]
        while todo:
            name = todo.pop(0)
            part = self.targets.get(name) or self.targets.get(name.rpartition("::")[2])
            if part is not None and part not in found:
                found.append(part)
                todo += part.links
        return found


def read(folder: str | os.PathLike, definitions: dict[str, str] | None = None) -> Project:
    """The project of `folder`/CMakeLists.txt; definitions are the -D words of cmake's command line.

    Raises FileNotFoundError, CMakeError.
    """
    root = Path(folder).resolve()
    reader = _Targets(root, definitions or {})
    reader.file(root / "CMakeLists.txt")
    reader.project.variables = {**reader.cached, **reader.variables}
    return reader.project


def program_words(words: list[str]) -> tuple[list[str], str, dict[str, str], list[str]]:
    """(sources, output, definitions, include folders) of a compiler's command line."""
    paths, output, definitions, includes = [], "", {}, []
    given = iter(words)
    for word in given:
        if word in ("-o", "-I", "-D"):
            value = next(given, "")
            output = value if word == "-o" else output
            word = word + value if word != "-o" else ""
        if word.startswith("-D"):
            name, _, setting = word[2:].partition("=")
            definitions[name] = setting
        elif word.startswith("-I"):
            includes.append(word[2:])
        elif _is_source(word):
            paths.append(word)
    return paths, output, definitions, includes


class _Targets(Reader):
    def __init__(self, root: Path, definitions: dict[str, str]) -> None:
        super().__init__(root, definitions)
        self.project = Project()
        self.common = Target("", "interface", root)  # add_definitions, include_directories

    def has_target(self, name: str) -> bool:
        return name in self.project.targets

    def target(self, name: str, kind: str = "lib") -> Target:
        if name not in self.project.targets:
            self.project.targets[name] = Target(name, kind, self.here)
        return self.project.targets[name]

    def _add(self, w: list[str], kind: str) -> None:
        if not w or "IMPORTED" in w or "ALIAS" in w:
            return
        made = self.target(w[0], kind)
        made.kind = "interface" if "INTERFACE" in w else kind
        made.sources += [p for s in w[1:] if _is_source(s) and (p := self.path(s)).is_file()]
        made.definitions += self.common.definitions
        made.includes += self.common.includes

    def do_add_executable(self, w: list[str]) -> None:
        self._add(w, "exe")

    def do_add_library(self, w: list[str]) -> None:
        self._add(w, "lib")

    def do_ascendc_library(self, w: list[str]) -> None:  # CANN's own: kernels with ACLRT_LAUNCH_KERNEL
        self._add(w, "lib")

    def do_target_sources(self, w: list[str]) -> None:
        if w:
            self.target(w[0]).sources += [p for s in w[1:] if _is_source(s) and (p := self.path(s)).is_file()]

    def do_target_link_libraries(self, w: list[str]) -> None:
        if w:
            self.target(w[0]).links += [x for word in w[1:] for x in _plain(word) if x not in _SCOPES]

    def do_target_include_directories(self, w: list[str]) -> None:
        if w:
            self.target(w[0]).includes += [
                str(self.path(x)) for word in w[1:] for x in _plain(word) if x not in _SCOPES
            ]

    do_ascendc_include_directories = do_target_include_directories

    def do_include_directories(self, w: list[str]) -> None:
        self.common.includes += [str(self.path(x)) for word in w for x in _plain(word) if x not in _SCOPES]

    def do_target_compile_definitions(self, w: list[str]) -> None:
        if w:
            self.target(w[0]).definitions += _defined(w[1:])

    do_ascendc_compile_definitions = do_target_compile_definitions

    def do_add_compile_definitions(self, w: list[str]) -> None:
        self._for_all(definitions=_defined(w))

    def do_add_definitions(self, w: list[str]) -> None:
        self.do_add_compile_options(w)

    def do_add_compile_options(self, w: list[str]) -> None:
        self._for_all(*self._options(w))

    def do_target_compile_options(self, w: list[str]) -> None:
        if w:
            definitions, includes = self._options(w[1:])
            self.target(w[0]).definitions += definitions
            self.target(w[0]).includes += includes

    do_ascendc_compile_options = do_target_compile_options

    def _for_all(self, definitions: list[str] = [], includes: list[str] = []) -> None:
        self.common.definitions += definitions
        self.common.includes += includes
        for made in self.project.targets.values():  # of this folder, also those made before
            if made.folder == self.here:
                made.definitions += definitions

    def _options(self, words: list[str]) -> tuple[list[str], list[str]]:
        flat = [x for word in words for x in _plain(word)]
        definitions = [x[2:] for x in flat if x.startswith("-D")]
        return [d for d in definitions if d], [str(self.path(x[2:])) for x in flat if x.startswith("-I") and len(x) > 2]


# ---- words

_SCOPES = {"PRIVATE", "PUBLIC", "INTERFACE", "SYSTEM", "BEFORE", "AFTER"}


def _is_source(word: str) -> bool:
    return word.endswith((".asc", ".cpp", ".cc", ".cxx", ".c"))


def _plain(word: str) -> list[str]:
    """A word without generator expressions: what stands in `$<$<COMPILE_LANGUAGE:ASC>:...>`, nothing for the rest."""
    if m := re.match(r"\$<\$<(?P<test>[A-Z_]+):(?P<of>[^>]*)>:", word):
        if m["test"] == "COMPILE_LANGUAGE" and not {"ASC", "CXX"} & set(m["of"].split(",")):
            return []
        word = word[m.end() :]
    elif m := re.fullmatch(r"\$<BUILD_INTERFACE:(.*)>", word):
        word = m[1]
    if word.startswith("$<"):
        return []
    surplus = word.count(">") - word.count("<")
    if word.endswith(">") and surplus > 0:  # the end of an expression that has spaces in it
        word = word[:-surplus]
    return [x for x in re.split(r"[;\s]+", word) if x]


def _defined(words: list[str]) -> list[str]:
    return [x.removeprefix("-D") for word in words for x in _plain(word) if x not in _SCOPES]
