"""What a CMakeLists.txt says about a program: its sources, definitions, include folders and what it links with.

The commands that describe targets, CANN's own among them. Whatever else a file does (packages, installing, custom
commands) is passed over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from labkit.program.cmakelang import CMakeError, Reader

__all__ = ["CMakeError", "Project", "Target", "read"]


@dataclass
class Target:
    """kind: "exe", "lib" or "interface". sources: absolute paths. folder: of the CMakeLists.txt that made it.
    handed: definitions of those that are linked with it; public: of its links those that hand theirs on to them."""

    name: str
    kind: str
    folder: Path
    sources: list[Path] = field(default_factory=list)
    definitions: list[str] = field(default_factory=list)
    includes: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    handed: list[str] = field(default_factory=list)
    public: list[str] = field(default_factory=list)


@dataclass
class Project:
    targets: dict[str, Target] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    ran: list[tuple[str, list[str]]] = field(default_factory=list)  # (command, words) of each that ran, in order

    def variable(self, name: str) -> str:
        return self.variables.get(name, "")

    def programs(self) -> list[Target]:
        return [t for t in self.targets.values() if t.kind == "exe"]

    def parts(self, target: Target) -> list[Target]:
        """The target and every library of this project that it is linked with."""
        return self._linked([target.name], lambda part: part.links)

    def definitions(self, target: Target) -> list[str]:
        """The target's own, and those of what it is linked with."""
        linked = self._linked(target.links, lambda part: part.public)
        return list(dict.fromkeys([*target.definitions, *(d for part in linked for d in part.handed)]))

    def _linked(self, names: list[str], more: Callable[[Target], list[str]]) -> list[Target]:
        found, todo = [], list(names)
        while todo:
            name = todo.pop(0)
            part = self.targets.get(name) or self.targets.get(name.rpartition("::")[2])
            if part is not None and part not in found:
                found.append(part)
                todo += more(part)
        return found


def read(folder: str | os.PathLike, definitions: dict[str, str] | None = None) -> Project:
    """The project of `folder`/CMakeLists.txt; definitions are the -D words of cmake's command line.

    Raises FileNotFoundError, CMakeError.
    """
    root = Path(folder).resolve()
    reader = _Targets(root, definitions or {})
    reader.file(root / "CMakeLists.txt")
    reader.project.variables = {**reader.cached, **reader.variables}
    reader.project.ran = reader.ran
    return reader.project


def program_words(words: list[str]) -> tuple[list[str], str, dict[str, str], list[str]]:
    """(sources, output, definitions, include folders) of a compiler's command line."""
    paths, output, definitions, includes = [], "", {}, []
    given = iter(words)
    for word in given:
        if word in ("-o", "-I", "-D"):
            word += next(given, "")
        if word.startswith("-o"):
            output = word[2:]
        elif word.startswith("-D"):
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
            *(c.words[0][0].lower() for c in commands if c.name in ("function", "macro") and c.words),
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
        self._give(made, w[1:])
        made.definitions += self.common.definitions
        made.includes += self.common.includes

    def _give(self, made: Target, words: list[str]) -> None:
        made.sources += [p for s in words if _is_source(s) and (p := self.path(s)).is_file()]
        made.links += re.findall(r"\$<TARGET_OBJECTS:([^<>]+)>", " ".join(words))

    def do_add_executable(self, w: list[str]) -> None:
        self._add(w, "exe")

    def do_add_library(self, w: list[str]) -> None:
        self._add(w, "lib")

    def do_ascendc_library(self, w: list[str]) -> None:  # CANN's own: kernels with ACLRT_LAUNCH_KERNEL
        self._add(w, "lib")

    def do_target_sources(self, w: list[str]) -> None:
        if w:
            self._give(self.target(w[0]), w[1:])

    def do_target_link_libraries(self, w: list[str]) -> None:
        if w:
            made = self.target(w[0])
            for scope, x in self._scoped(w[1:]):
                made.links.append(x)
                made.public += [x] if scope != "PRIVATE" else []

    def do_target_include_directories(self, w: list[str]) -> None:
        if w:
            self.target(w[0]).includes += [str(self.path(x)) for _, x in self._scoped(w[1:])]

    do_ascendc_include_directories = do_target_include_directories

    def do_include_directories(self, w: list[str]) -> None:
        self._for_all(includes=[str(self.path(x)) for _, x in self._scoped(w)])

    def do_target_compile_definitions(self, w: list[str]) -> None:
        if w:
            self._define(self.target(w[0]), self._scoped(w[1:]))

    do_ascendc_compile_definitions = do_target_compile_definitions

    def do_add_compile_definitions(self, w: list[str]) -> None:
        self._for_all(definitions=[x.removeprefix("-D") for _, x in self._scoped(w)])

    def do_add_definitions(self, w: list[str]) -> None:
        self._for_all(*self._options(self._scoped(w, r"[;\s]+")))

    def do_add_compile_options(self, w: list[str]) -> None:
        definitions, includes = self._options(self._scoped(w, r"[;\s]+"))
        self.common.definitions += definitions  # of targets that are made from here on
        self.common.includes += includes

    def do_target_compile_options(self, w: list[str]) -> None:
        if w:
            words = self._scoped(w[1:], r"[;\s]+")
            self._define(self.target(w[0]), [(scope, x) for scope, x in words if x.startswith("-D")])
            self.target(w[0]).includes += self._options(words)[1]

    do_ascendc_compile_options = do_target_compile_options

    def do_add_subdirectory(self, w: list[str]) -> None:
        outer = self.common
        self.common = replace(outer, definitions=[*outer.definitions], includes=[*outer.includes])
        super().do_add_subdirectory(w)
        self.common = outer

    def _define(self, made: Target, words: list[tuple[str, str]]) -> None:
        made.definitions += [x.removeprefix("-D") for scope, x in words if scope != "INTERFACE" and x != "-D"]
        made.handed += [x.removeprefix("-D") for scope, x in words if scope != "PRIVATE" and x != "-D"]

    def _for_all(self, definitions: list[str] = [], includes: list[str] = []) -> None:
        """Of this folder, also of the targets made before."""
        for made in (self.common, *(t for t in self.project.targets.values() if t.folder == self.here)):
            made.definitions += definitions
            made.includes += includes

    def _options(self, words: list[tuple[str, str]]) -> tuple[list[str], list[str]]:
        definitions = [x[2:] for _, x in words if x.startswith("-D") and len(x) > 2]
        return definitions, [str(self.path(x[2:])) for _, x in words if x.startswith("-I") and len(x) > 2]

    def _scoped(self, words: list[str], between: str = ";") -> list[tuple[str, str]]:
        """(PRIVATE, PUBLIC or INTERFACE, word) of each, generator expressions worked out. between: where words end."""
        found, scope = [], "PUBLIC"
        for x in re.split(between, _worked_out(";".join(words), self.value("CMAKE_BUILD_TYPE"))):
            if x in ("PRIVATE", "PUBLIC", "INTERFACE"):
                scope = x
            elif x and x not in _ORDERS:
                found.append((scope, x))
        return found


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
_ORDERS = {"SYSTEM", "BEFORE", "AFTER"}
_FALSE = ("", "0", "OFF", "NO", "FALSE", "N", "IGNORE", "NOTFOUND")


def _is_source(word: str) -> bool:
    return word.endswith((".asc", ".cpp", ".cc", ".cxx", ".c"))


def _worked_out(text: str, build_type: str) -> str:
    """A text, its generator expressions worked out for C++ and kernels on Linux by g++; nothing for one that is not
    known, nor for one that depends on it."""
    unknown = "\0"

    def value(m: re.Match) -> str:
        plain = {"CXX_COMPILER_ID": "GNU", "PLATFORM_ID": "Linux", "CONFIG": build_type}
        if m[1] in plain:
            return plain[m[1]]
        name, _, of = m[1].partition(":")
        one, _, others = of.partition(",")
        tests = {
            "BOOL": of.upper() not in _FALSE and not of.upper().endswith("-NOTFOUND"),
            "NOT": of == "0",
            "AND": "0" not in of.split(","),
            "OR": "1" in of.split(","),
            "EQUAL": one.strip() == others.strip(),
            "CXX_COMPILER_ID": "GNU" in of.split(","),
            "STREQUAL": one == others,
            "IN_LIST": one in others.split(";"),
            "CONFIG": build_type.upper() in of.upper().split(","),
            "PLATFORM_ID": "Linux" in of.split(","),
            "COMPILE_LANGUAGE": bool({"ASC", "CXX"} & set(of.split(","))),
        }
        if name == "IF" and one in ("0", "1"):
            return others.split(",")[one == "0"] if "," in others else unknown
        decided = {"AND": "0" in of.split(","), "OR": "1" in of.split(",")}.get(name, False)
        if unknown in of and name in tests and not decided:
            return unknown
        if name in ("1", "BUILD_INTERFACE", "LINK_ONLY"):
            return of
        return str(int(tests[name])) if name in tests else "" if name in ("0", unknown) else unknown

    while (new := re.sub(r"\$<([^<>]*)>", value, text)) != text:  # inner ones first
        text = new
    return text.replace(unknown, "")
