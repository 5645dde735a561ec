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
        self.named: set[str] = set()  # all targets, imported ones and aliases too
        self.foreign = False

    def has_target(self, name: str) -> bool:
        return name in self.project.targets

    def target(self, name: str, kind: str = "lib") -> Target:
        if name not in self.project.targets:
            self.project.targets[name] = Target(name, kind, self.here)
        return self.project.targets[name]

    def all_targets(self) -> set[str] | None:
        return None if self.foreign else self.named

    def run(self, commands) -> None:
        # a command of a package's own, or an included file that is not there, may make targets
        known = {
            *_KNOWN,
            *self.functions,
            *(c.words[0][0].lower() for c in commands if c.name in ("function", "macro")),
        }
        self.foreign |= any(c.name not in known for c in commands)
        super().run(commands)

    def do_include(self, w: list[str]) -> None:
        self.foreign |= bool(w) and not self.path(w[0]).is_file()
        super().do_include(w)

    def do_add_custom_target(self, w: list[str]) -> None:
        self.named.add(w[0])

    def _add(self, w: list[str], kind: str) -> None:
        self.named |= set(w[:1])
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

_KNOWN = set(  # cmake's own commands that make no target of a name that we cannot see
    "project cmake_minimum_required cmake_policy find_package add_executable add_library add_custom_target set unset "
    "set_target_properties set_property get_property set_source_files_properties get_target_property option list "
    "string file math message include include_directories link_directories link_libraries add_compile_definitions "
    "add_compile_options add_link_options add_definitions target_sources target_link_libraries enable_language "
    "return target_include_directories target_compile_definitions target_compile_options target_compile_features "
    "install target_link_options target_link_directories aux_source_directory get_filename_component add_dependencies "
    "break add_test enable_testing configure_file add_custom_command execute_process find_library find_path "
    "find_program find_file if elseif else endif foreach endforeach while endwhile function endfunction macro endmacro "
    "continue mark_as_advanced include_guard cmake_parse_arguments source_group".split()
)
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
