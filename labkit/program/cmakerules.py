"""What cmake refuses of a command's arguments: their number, their keywords, targets that do not exist. The sentences
are those of cmake 3.25. A command without a rule is accepted as it stands.
"""

from __future__ import annotations

import re

_SCOPES = {"PRIVATE", "PUBLIC", "INTERFACE"}
_COUNT = "{name} called with incorrect number of arguments"

# The least and the most arguments of a command.
_NUMBER = {
    "project": (1, 99),
    "find_package": (1, 99),
    "add_executable": (1, 999),
    "add_library": (1, 999),
    "set_target_properties": (2, 999),
    "set_property": (1, 999),
    "set_source_files_properties": (2, 999),
    "target_link_libraries": (1, 999),
    "target_include_directories": (2, 999),
    "target_compile_definitions": (2, 999),
    "target_compile_options": (2, 999),
    "target_compile_features": (2, 999),
    "target_link_options": (2, 999),
    "target_link_directories": (2, 999),
    "target_sources": (2, 999),
    "add_subdirectory": (1, 4),
    "set": (1, 9999),
    "unset": (1, 2),
    "option": (2, 3),
    "aux_source_directory": (2, 2),
    "get_filename_component": (3, 99),
    "add_dependencies": (2, 999),
    "enable_language": (1, 99),
    "message": (1, 999),
    "add_custom_target": (1, 9999),
    "add_test": (2, 999),
    "execute_process": (1, 999),
    "find_library": (2, 999),
    "find_path": (2, 999),
    "find_program": (2, 999),
    "find_file": (2, 999),
    "get_target_property": (3, 3),
    "target_precompile_headers": (2, 999),
}
# What a `target_*` command calls the things that it adds.
_ADDS = {
    "target_include_directories": ("include directories", {"SYSTEM", "BEFORE", "AFTER"}),
    "target_compile_definitions": ("compile definitions", set()),
    "target_compile_options": ("compile options", {"BEFORE"}),
    "target_compile_features": ("compile features", set()),
    "target_link_options": ("link options", {"BEFORE"}),
    "target_link_directories": ("link directories", {"BEFORE"}),
    "target_sources": ("sources", set()),
}
_PROJECT = {"VERSION", "DESCRIPTION", "HOMEPAGE_URL", "LANGUAGES"}
_PACKAGE = set(
    "EXACT QUIET REQUIRED MODULE CONFIG NO_MODULE COMPONENTS OPTIONAL_COMPONENTS GLOBAL NO_POLICY_SCOPE "
    "BYPASS_PROVIDER NAMES CONFIGS HINTS PATHS PATH_SUFFIXES NO_DEFAULT_PATH NO_PACKAGE_ROOT_PATH NO_CMAKE_PATH "
    "NO_CMAKE_ENVIRONMENT_PATH NO_SYSTEM_ENVIRONMENT_PATH NO_CMAKE_PACKAGE_REGISTRY NO_CMAKE_BUILDS_PATH "
    "NO_CMAKE_SYSTEM_PATH NO_CMAKE_SYSTEM_PACKAGE_REGISTRY CMAKE_FIND_ROOT_PATH_BOTH ONLY_CMAKE_FIND_ROOT_PATH "
    "NO_CMAKE_FIND_ROOT_PATH NO_CMAKE_INSTALL_PREFIX REGISTRY_VIEW".split()
)
_LISTS = {"COMPONENTS", "OPTIONAL_COMPONENTS", "NAMES", "CONFIGS", "HINTS", "PATHS", "PATH_SUFFIXES", "REGISTRY_VIEW"}
_SCOPES_OF_PROPERTIES = ("GLOBAL", "DIRECTORY", "TARGET", "SOURCE", "TEST", "CACHE", "INSTALL")
_LIST = set(
    "LENGTH GET JOIN SUBLIST FIND APPEND FILTER INSERT POP_BACK POP_FRONT PREPEND REMOVE_ITEM REMOVE_AT "
    "REMOVE_DUPLICATES REVERSE SORT TRANSFORM".split()
)
_LANGUAGES = {
    "ASC",
    "AICPU",
    "C",
    "CXX",
    "CUDA",
    "OBJC",
    "OBJCXX",
    "Fortran",
    "HIP",
    "ISPC",
    "Swift",
    "ASM",
    "CSharp",
    "NONE",
}


def refusal(name: str, words: list[str], targets: set[str] | None) -> str:
    """cmake's sentence, "" where it accepts the arguments. targets: names of all targets, None where they are not
    all known."""
    least, most = _NUMBER.get(name, (0, 10**6))
    if not least <= len(words) <= most:
        return _COUNT.format(name=name)
    if name in _ADDS:
        return _of_target(name, words, targets)
    rule = globals().get(f"_{name}")
    return rule(words, targets) if rule else ""


def _of_target(name: str, words: list[str], targets: set[str] | None) -> str:
    what, before = _ADDS[name]
    if targets is not None and words[0] not in targets:
        return f'Cannot specify {what} for target "{words[0]}" which is not built by this project.'
    rest = words[1:]
    while rest and rest[0] in before:
        rest = rest[1:]
    return "" if rest and rest[0] in _SCOPES else f"{name} called with invalid arguments"


def _target_link_libraries(words: list[str], targets: set[str] | None) -> str:
    if targets is not None and words[0] not in targets:
        return f'Cannot specify link libraries for target "{words[0]}" which is not built by this project.'
    old = {"LINK_PUBLIC", "LINK_PRIVATE", "LINK_INTERFACE_LIBRARIES"}
    if _SCOPES & set(words[2:]) and words[1] not in _SCOPES | old:
        return "The INTERFACE, PUBLIC or PRIVATE option must appear as the second argument, just after the target name."
    return ""


def _set_target_properties(words: list[str], targets: set[str] | None) -> str:
    name = "set_target_properties"
    if "PROPERTIES" not in words or words[-1] == "PROPERTIES":
        return f"{name} called with illegal arguments, maybe missing a PROPERTIES specifier?"
    at = words.index("PROPERTIES")
    if (len(words) - at) % 2 == 0:
        return f"{name} called with incorrect number of arguments."
    lost = [w for w in words[:at] if targets is not None and w not in targets]
    return f"{name} Can not find target to add properties to: {lost[0]}" if lost else ""


def _set_source_files_properties(words: list[str], targets) -> str:
    if "PROPERTIES" in words and (len(words) - words.index("PROPERTIES")) % 2 == 0:
        return _COUNT.format(name="set_source_files_properties") + "."
    return ""


def _set_property(words: list[str], targets: set[str] | None) -> str:
    if words[0] not in _SCOPES_OF_PROPERTIES:
        return f"set_property given invalid scope {words[0]}. Valid scopes are {', '.join(_SCOPES_OF_PROPERTIES)}."
    if "PROPERTY" not in words[:-1]:
        return "set_property not given a PROPERTY <name> argument."
    between = [w for w in words[1 : words.index("PROPERTY")] if w not in ("APPEND", "APPEND_STRING")]
    lost = [w for w in between if words[0] == "TARGET" and targets is not None and w not in targets]
    return f"set_property could not find TARGET {lost[0]}. Perhaps it has not yet been created." if lost else ""


def _project(words: list[str], targets) -> str:
    rest = words[1:]
    if "VERSION" in rest[:-1] and not re.fullmatch(r"\d+(\.\d+){0,3}", version := rest[rest.index("VERSION") + 1]):
        return "" if version in _PROJECT else f'VERSION "{version}" format invalid.'
    languages, skip = [], False
    for word in rest:
        if word not in _PROJECT and not skip:
            languages.append(word)
        skip = word in _PROJECT - {"LANGUAGES"}
    unknown = [w for w in languages if w not in _LANGUAGES and not w.startswith("ASM")]
    return f"Could not find cmake module file: CMakeDetermine{unknown[0]}Compiler.cmake" if unknown else ""


def _cmake_minimum_required(words: list[str], targets) -> str:
    name = "cmake_minimum_required"
    if words[:1] == ["VERSION"]:
        if len(words) < 2:
            return f"{name} called with no value for VERSION."
        if not re.match(r"\d+\.\d+", words[1]):
            return f'{name} could not parse VERSION "{words[1]}".'
        words = words[2:]
    other = [w for w in words if w != "FATAL_ERROR"]
    return f'{name} called with unknown argument "{other[0]}".' if other else ""


def _find_package(words: list[str], targets) -> str:
    version = False
    for word in words[1:]:
        if word in _LISTS or word == "REQUIRED":
            return ""
        if word not in _PACKAGE:
            if version or not re.match(r"\d", word):
                return f'find_package called with invalid argument "{word}"'
            version = True
    return ""


def _add_executable(words: list[str], targets: set[str] | None) -> str:
    return _made("add_executable", words, targets)


def _add_library(words: list[str], targets: set[str] | None) -> str:
    kinds = {"STATIC", "SHARED", "MODULE", "OBJECT", "UNKNOWN", "INTERFACE"}
    if "IMPORTED" in words[1:] and not kinds & set(words[1:]):
        return "add_library called with IMPORTED argument but no library type."
    return _made("add_library", words, targets)


def _made(name: str, words: list[str], targets: set[str] | None) -> str:
    if "ALIAS" in words[1:2]:
        if len(words) != 3:
            return f"{name} ALIAS requires exactly one target argument."
        lost = targets is not None and words[2] not in targets
        said = f'{name} cannot create ALIAS target "{words[0]}" because target "{words[2]}" does not already exist.'
        return said if lost else ""
    if re.search(r"[\s;/]", words[0]):
        return f'The target name "{words[0]}" is reserved or not valid for certain CMake features.'
    if targets is not None and words[0] in targets:
        return f'{name} cannot create target "{words[0]}" because another target with the same name already exists.'
    return ""


def _add_dependencies(words: list[str], targets: set[str] | None) -> str:
    if targets is not None and words[0] not in targets:
        return f'Cannot add target-level dependencies to non-existent target "{words[0]}".'
    return ""


def _set(words: list[str], targets) -> str:
    if "CACHE" in words[1:] and len(words) - words.index("CACHE", 1) not in (3, 4):
        return "set given invalid arguments for CACHE mode."
    return ""


def _unset(words: list[str], targets) -> str:
    bad = len(words) == 2 and words[1] not in ("CACHE", "PARENT_SCOPE")
    return "unset called with an invalid second argument" if bad else ""


def _list(words: list[str], targets) -> str:
    if len(words) < 2:
        return "list must be called with at least two arguments."
    return "" if words[0] in _LIST else f"list does not recognize sub-command {words[0]}"


def _file(words: list[str], targets) -> str:
    return "file must be called with at least two arguments." if len(words) < 2 else ""


def _include(words: list[str], targets) -> str:
    return "" if words else "include called with wrong number of arguments. include() only takes one file."


def _string(words: list[str], targets) -> str:
    if not words:
        return "string must be called with at least one argument."
    few = words[0] == "REPLACE" and len(words) < 4
    return "string sub-command REPLACE requires at least four arguments." if few else ""
