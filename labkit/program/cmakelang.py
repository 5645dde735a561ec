"""The language of CMakeLists.txt files: words, variables, conditions, loops, functions. Nothing is ever run.

Commands are methods `do_<name>` of a reader (labkit.program.cmakefile has those that make targets);
a command without one is passed over.
"""

from __future__ import annotations

import glob
import os
import re
from dataclasses import dataclass
from pathlib import Path

from labkit.program.cmakerules import refusal

_TOKEN = re.compile(
    r'#\[(=*)\[.*?\]\1\]|#[^\n]*|\[(=*)\[\n?(?P<bracket>.*?)\]\2\]|"(?P<quoted>(?:\\.|[^"\\])*)"|(?P<paren>[()])|(?P<bare>(?:\\.|\$<(?:[^<>\s]|<[^<>]*>)*>|[^\s()#"\\])(?:\\.|\$<(?:[^<>\s]|<[^<>]*>)*>|[^\s()#"\\]|"(?:\\.|[^"\\])*")*)',
    re.S,
)
_VARIABLE = re.compile(r"\$(?P<env>ENV)?\{(?P<name>[^${}]*)\}")


class CMakeError(Exception):
    """The file itself refuses, by message(FATAL_ERROR ...), or cmake would. The text is the message."""


@dataclass
class _Command:
    name: str
    words: list[tuple[str, bool]]  # (text, quoted)


def _commands(text: str) -> list[_Command]:
    out, name, depth = [], None, 0
    words: list[tuple[str, bool]] = []
    for m in _TOKEN.finditer(text):
        if m["paren"] == "(":
            if depth:
                words.append(("(", False))
            depth += 1
        elif m["paren"] == ")":
            depth -= 1
            if depth > 0:
                words.append((")", False))
            elif name is not None:
                out.append(_Command(name.lower(), words))
                name, words, depth = None, [], 0
            else:
                depth = 0
        elif depth == 0 and name is not None and (m["quoted"] is not None or m["bare"] is not None):
            raise CMakeError(f'Parse error. Expected "(", got "{m["quoted"] or m["bare"]}" behind {name}.')
        elif m["quoted"] is not None:
            words.append((re.sub(r'(\\\\)|\\\n|\\(")', r"\1\2", m["quoted"]), True))
        elif m["bracket"] is not None:
            words.append((m["bracket"].replace("$", "\0"), True))
        elif m["bare"] is not None:
            if depth:
                words.append((m["bare"], False))
            else:
                name = m["bare"]
    if depth > 0 and name is not None:
        raise CMakeError(f'Parse error. Function missing ending ")": {name}')
    return out


class _Return(Exception):
    pass


class Reader:
    """Runs one file and those that it includes; the settings are the variables that cmake itself would have."""

    def __init__(self, root: Path, definitions: dict[str, str]) -> None:
        self.root = root
        self.cached = dict(definitions)
        self.variables: dict[str, str] = {
            "CMAKE_SOURCE_DIR": str(root),
            "PROJECT_SOURCE_DIR": str(root),
            "CMAKE_BINARY_DIR": str(root / "build"),
            "PROJECT_BINARY_DIR": str(root / "build"),
            "CMAKE_CURRENT_BINARY_DIR": str(root / "build"),
            "CMAKE_SYSTEM_NAME": "Linux",
            "CMAKE_ASC_ARCHITECTURES": "dav-2201",
            "CMAKE_ASC_RUN_MODE": "npu",
            "RUN_MODE": "npu",
            "SOC_VERSION": "Ascend910B1",
            "UNIX": "1",
            **definitions,
        }
        self.functions: dict[str, tuple[list[str], list[_Command], bool]] = {}
        self.files: list[Path] = []
        self.ran: list[tuple[str, list[str]]] = []  # each command that ran, in order, and its words worked out

    # ---- files

    def file(self, path: Path) -> None:
        if len(self.files) > 40:
            return
        self.files.append(path)
        saved = {
            k: self.variables.get(k)
            for k in ("CMAKE_CURRENT_SOURCE_DIR", "CMAKE_CURRENT_LIST_DIR", "CMAKE_CURRENT_LIST_FILE")
        }
        self.variables.update(CMAKE_CURRENT_LIST_DIR=str(path.parent), CMAKE_CURRENT_LIST_FILE=str(path))
        if path.name == "CMakeLists.txt":
            self.variables["CMAKE_CURRENT_SOURCE_DIR"] = str(path.parent)
        try:
            self.run(_commands(path.read_text(encoding="utf-8", errors="replace").lstrip("\ufeff")))
        except _Return:
            pass
        finally:
            self.variables.update({k: v or "" for k, v in saved.items()})
            self.files.pop()

    @property
    def here(self) -> Path:
        return Path(self.variables.get("CMAKE_CURRENT_SOURCE_DIR") or self.root)

    def path(self, text: str) -> Path:
        return Path(os.path.normpath(self.here / text))

    # ---- words

    def value(self, name: str) -> str:
        return self.variables.get(name, self.cached.get(name, ""))

    def expand(self, text: str) -> str:
        for _ in range(20):
            new = _VARIABLE.sub(lambda m: os.environ.get(m["name"], "") if m["env"] else self.value(m["name"]), text)
            if new == text:
                break
            text = new
        return text.replace("\0", "$")

    def words(self, command: _Command) -> list[str]:
        out: list[str] = []
        for text, quoted in command.words:
            value = self.expand(text)
            out += [value] if quoted else [w for w in value.split(";") if w]
        return out

    # ---- control flow

    def has_target(self, name: str) -> bool:
        return False

    def run(self, commands: list[_Command]) -> None:
        i = 0
        while i < len(commands):
            c = commands[i]
            if (
                c.name in _BLOCK_WORDS
                or c.name in _BLOCKS
                and (not c.words or _block_end(commands, i) == len(commands))
            ):
                raise CMakeError(f"Flow control statements are not properly nested. ({c.name})")
            if c.name in _BLOCKS:
                end = _block_end(commands, i)
                getattr(self, f"_{c.name}")(c, commands[i + 1 : end])
                i = end + 1
                continue
            if c.name == "return":
                raise _Return
            if c.name in self.functions:
                self._call(c)
            else:
                self._refuse(c)
                self.ran.append((c.name, words := self.words(c)))
                if handler := getattr(self, f"do_{c.name}", None):
                    handler(list(words))
            i += 1

    def _refuse(self, c: _Command) -> None:
        """Raises CMakeError where cmake does; not where a variable is asked for that something outside may set."""
        asked = [m["name"] for text, quoted in c.words if not quoted for m in _VARIABLE.finditer(text) if not m["env"]]
        if all(name in self.variables or name in self.cached for name in asked):
            if said := refusal(c.name, self.words(c), self.all_targets()):
                raise CMakeError(said)

    def all_targets(self) -> set[str] | None:
        """Their names so far, None where others may exist."""
        return None

    def _if(self, c: _Command, body: list[_Command]) -> None:
        branches: list[tuple[_Command | None, list[_Command]]] = [(c, [])]
        depth = 0
        for one in body:
            if one.name in ("elseif", "else") and depth == 0:
                branches.append((one if one.name == "elseif" else None, []))
                continue
            depth += (one.name == "if") - (one.name == "endif")
            branches[-1][1].append(one)
        for head, commands in branches:
            if head is None or self.condition(head):
                return self.run(commands)

    def _foreach(self, c: _Command, body: list[_Command]) -> None:
        name, *rest = self.words(c)
        if rest[:1] == ["IN"]:
            items: list[str] = []
            mode = ""
            for word in rest[1:]:
                if word in ("ITEMS", "LISTS"):
                    mode = word
                else:
                    items += [w for w in self.value(word).split(";") if w] if mode == "LISTS" else [word]
            rest = items
        elif rest[:1] == ["RANGE"]:
            numbers = [int(n) for n in rest[1:]]
            rest = [
                str(n)
                for n in (
                    range(numbers[0] + 1) if len(numbers) == 1 else range(numbers[0], numbers[1] + 1, *numbers[2:])
                )
            ]
        for item in rest:
            self.variables[name] = item
            self.run(body)

    def _while(self, c: _Command, body: list[_Command]) -> None:
        for _ in range(1000):
            if not self.condition(c):
                break
            self.run(body)

    def _function(self, c: _Command, body: list[_Command]) -> None:
        name, *parameters = self.words(c)
        self.functions[name.lower()] = (parameters, body, True)

    def _macro(self, c: _Command, body: list[_Command]) -> None:
        name, *parameters = self.words(c)
        self.functions[name.lower()] = (parameters, body, False)

    def _call(self, c: _Command) -> None:
        parameters, body, scoped = self.functions[c.name]
        given = self.words(c)
        saved = dict(self.variables) if scoped else None
        self.variables.update(zip(parameters, given))
        self.variables.update(ARGN=";".join(given[len(parameters) :]), ARGV=";".join(given), ARGC=str(len(given)))
        try:
            self.run(body)
        except _Return:
            pass
        if saved is not None:
            saved.update({k[7:]: v for k, v in self.variables.items() if k.startswith("PARENT:")})
            self.variables = saved

    # ---- conditions

    def condition(self, c: _Command) -> bool:
        words = [(self.expand(t), q) for t, q in c.words]
        value, rest = self._or(words)
        return value

    def _or(self, w):
        value, w = self._and(w)
        while w and w[0] == ("OR", False):
            right, w = self._and(w[1:])
            value = value or right
        return value, w

    def _and(self, w):
        value, w = self._not(w)
        while w and w[0] == ("AND", False):
            right, w = self._not(w[1:])
            value = value and right
        return value, w

    def _not(self, w):
        if w and w[0] == ("NOT", False):
            value, w = self._not(w[1:])
            return not value, w
        if w and w[0] == ("(", False):
            value, w = self._or(w[1:])
            return value, w[1:]
        return self._test(w)

    def _test(self, w):
        if not w:
            return False, w
        (first, quoted), rest = w[0], w[1:]
        if not quoted and first in ("DEFINED", "EXISTS", "TARGET", "IS_DIRECTORY", "COMMAND", "IS_ABSOLUTE") and rest:
            name = rest[0][0]
            tests = {
                "DEFINED": lambda: (
                    name in self.variables or name in self.cached or (name[:4] == "ENV{" and name[4:-1] in os.environ)
                ),
                "EXISTS": lambda: self.path(name).exists(),
                "TARGET": lambda: self.has_target(name),
                "IS_DIRECTORY": lambda: self.path(name).is_dir(),
                "COMMAND": lambda: False,
                "IS_ABSOLUTE": lambda: os.path.isabs(name),
            }
            return tests[first](), rest[1:]
        if rest and not rest[0][1] and rest[0][0] in _OPERATORS and len(rest) > 1:
            return _OPERATORS[rest[0][0]](self._operand(w[0]), self._operand(rest[1]), self), rest[2:]
        return self._true(first, quoted), rest

    def _operand(self, word: tuple[str, bool]) -> str:
        text, quoted = word
        return self.value(text) if not quoted and (text in self.variables or text in self.cached) else text

    def _true(self, text: str, quoted: bool) -> bool:
        upper = text.upper()
        if upper in ("1", "ON", "YES", "TRUE", "Y"):
            return True
        if upper in ("", "0", "OFF", "NO", "FALSE", "N", "IGNORE", "NOTFOUND") or upper.endswith("-NOTFOUND"):
            return False
        if re.fullmatch(r"-?\d+(\.\d+)?", text):
            return float(text) != 0
        value = "" if quoted else self.value(text).upper()
        return value not in ("", "0", "OFF", "NO", "FALSE", "N", "IGNORE", "NOTFOUND") and not value.endswith(
            "-NOTFOUND"
        )

    # ---- commands: variables and files

    def do_set(self, w: list[str]) -> None:
        if not w:
            return
        name, values = w[0], w[1:]
        if "CACHE" in values:
            at = values.index("CACHE")
            if name not in self.cached and name not in self.variables:
                self.cached[name] = ";".join(values[:at])
            return
        parent = values[-1:] == ["PARENT_SCOPE"]
        value = ";".join(values[:-1] if parent else values)
        self.variables[name] = value
        if parent:
            self.variables[f"PARENT:{name}"] = value

    def do_unset(self, w: list[str]) -> None:
        self.variables.pop(w[0], None)

    def do_option(self, w: list[str]) -> None:
        if w and w[0] not in self.cached and w[0] not in self.variables:
            self.cached[w[0]] = w[2] if len(w) > 2 else "OFF"

    def do_list(self, w: list[str]) -> None:
        if len(w) < 2:
            return
        action, name, rest = w[0], w[1], w[2:]
        items = [i for i in self.value(name).split(";") if i]
        if action in ("APPEND", "PREPEND"):
            items = items + rest if action == "APPEND" else rest + items
        elif action == "REMOVE_ITEM":
            items = [i for i in items if i not in rest]
        elif action == "REMOVE_DUPLICATES":
            items = list(dict.fromkeys(items))
        elif action == "FILTER" and len(rest) == 3:
            items = [i for i in items if bool(re.search(rest[2], i)) == (rest[0] == "INCLUDE")]
        self.variables[name] = ";".join(items)

    def do_file(self, w: list[str]) -> None:
        if len(w) < 2 or w[0] not in ("GLOB", "GLOB_RECURSE"):
            return
        found: list[str] = []
        patterns = [p for p in w[2:] if p != "CONFIGURE_DEPENDS"]
        if "RELATIVE" in patterns:
            del patterns[patterns.index("RELATIVE") : patterns.index("RELATIVE") + 2]
        for pattern in patterns:
            full = self.path(pattern)
            if w[0] == "GLOB_RECURSE":
                found += sorted(str(p) for p in full.parent.rglob(full.name) if "build" not in p.parts)
            else:
                found += sorted(glob.glob(str(full)))
        self.variables[w[1]] = ";".join(dict.fromkeys(found))

    def do_aux_source_directory(self, w: list[str]) -> None:
        folder = self.path(w[0])
        found = sorted(str(p) for p in folder.glob("*") if p.suffix in (".cpp", ".cc", ".cxx", ".c"))
        self.variables[w[1]] = ";".join([*filter(None, self.value(w[1]).split(";")), *found])

    def do_get_filename_component(self, w: list[str]) -> None:
        if len(w) < 3:
            return
        p = self.path(w[1])
        parts = {
            "DIRECTORY": str(p.parent),
            "PATH": str(p.parent),
            "NAME": p.name,
            "EXT": p.suffix,
            "NAME_WE": p.name.split(".")[0],
            "ABSOLUTE": str(p),
            "REALPATH": str(p),
        }
        self.variables[w[0]] = parts.get(w[2], str(p))

    def do_string(self, w: list[str]) -> None:
        if len(w) >= 3 and w[0] in ("TOLOWER", "TOUPPER"):
            self.variables[w[2]] = w[1].lower() if w[0] == "TOLOWER" else w[1].upper()
        elif len(w) >= 4 and w[0] == "REPLACE":
            self.variables[w[3]] = "".join(w[4:]).replace(w[1], w[2])
        elif w[:2] == ["REGEX", "MATCH"] and len(w) >= 4:
            found = re.search(w[2].replace("\\\\", "\\"), "".join(w[4:]))
            self.variables[w[3]] = found[0] if found else ""
            self.variables.update(
                {f"CMAKE_MATCH_{i}": g or "" for i, g in enumerate(found.groups(), 1)} if found else {}
            )
        elif w[:2] == ["REGEX", "REPLACE"] and len(w) >= 5:
            self.variables[w[4]] = re.sub(w[2].replace("\\\\", "\\"), w[3].replace("\\\\", "\\"), "".join(w[5:]))

    def do_message(self, w: list[str]) -> None:
        if w[:1] == ["FATAL_ERROR"]:
            raise CMakeError(" ".join(w[1:]))

    def do_include(self, w: list[str]) -> None:
        if w and (path := self.path(w[0])).is_file():
            self.file(path)

    def do_add_subdirectory(self, w: list[str]) -> None:
        path = self.path(w[0]) / "CMakeLists.txt" if w else None
        if path is not None and path.is_file():
            saved = dict(self.variables)
            self.file(path)
            self.variables = saved


# ---- blocks, comparisons

_BLOCKS = {"if": "endif", "foreach": "endforeach", "while": "endwhile", "function": "endfunction", "macro": "endmacro"}
_BLOCK_WORDS = {"else", "elseif", *_BLOCKS.values()}  # behind their block's beginning alone


def _block_end(commands: list[_Command], start: int) -> int:
    opener, closer, depth = commands[start].name, _BLOCKS[commands[start].name], 0
    for i in range(start, len(commands)):
        depth += (commands[i].name == opener) - (commands[i].name == closer)
        if depth == 0:
            return i
    return len(commands)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _numbers(test):
    def compare(a, b, _):
        x, y = _number(a), _number(b)
        return x is not None and y is not None and test(x, y)

    return compare


def _versions(test):
    def key(text):
        return [int(n) for n in re.findall(r"\d+", text)]

    return lambda a, b, _: test(key(a), key(b))


_OPERATORS = {
    "STREQUAL": lambda a, b, _: a == b,
    "MATCHES": lambda a, b, _: bool(re.search(b.replace("\\\\", "\\"), a)),
    "EQUAL": _numbers(lambda a, b: a == b),
    "LESS": _numbers(lambda a, b: a < b),
    "GREATER": _numbers(lambda a, b: a > b),
    "LESS_EQUAL": _numbers(lambda a, b: a <= b),
    "GREATER_EQUAL": _numbers(lambda a, b: a >= b),
    "VERSION_LESS": _versions(lambda a, b: a < b),
    "VERSION_GREATER": _versions(lambda a, b: a > b),
    "VERSION_EQUAL": _versions(lambda a, b: a == b),
    "VERSION_GREATER_EQUAL": _versions(lambda a, b: a >= b),
    "VERSION_LESS_EQUAL": _versions(lambda a, b: a <= b),
    "IN_LIST": lambda a, b, reader: a in (reader.value(b) or b).split(";"),
}
