"""The plain structs of tiling classes (BEGIN_TILING_DATA_DEF ... END_TILING_DATA_DEF),
as CANN's build makes them for a kernel.
"""

from __future__ import annotations

import ast
import operator
import re

_STRUCT = re.compile(r"BEGIN_TILING_DATA_DEF\(\s*(?P<name>\w+)\s*\)(?P<body>.*?)END_TILING_DATA_DEF", re.S)
_FIELD = re.compile(
    r"TILING_DATA_FIELD_DEF(?P<kind>_ARR|_STRUCT)?\s*\(\s*(?P<type>[^,()]+?)\s*,\s*(?:(?P<count>[^,;()]+?)\s*,\s*)?(?P<name>\w+)\s*\)"
)
_CLASS = re.compile(r"REGISTER_TILING_DATA_CLASS\(\s*(\w+)\s*,\s*([\w:]+)\s*\)")
_CONSTANT = re.compile(
    r"\b(?:constexpr|const)\s+(?:static\s+)?[\w:]+(?:\s+\w+)?\s+(\w+)\s*(?:=\s*([^;{}]+)|\{([^;{}]+)\})\s*;|^[ "
    r"\t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]+)$",
    re.M,
)
_OPERATIONS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.LShift: operator.lshift,
}


def plain_structs(text: str) -> dict[str, str]:
    """name -> plain struct of each class in host code, with the bytes that the class writes;
    the first of a name counts.
    """
    text = without_dead(text)
    constants = {m[1] or m[4]: m[2] or m[3] or m[5] for m in _CONSTANT.finditer(text)}
    found: dict[str, str] = {}
    for m in _STRUCT.finditer(text):
        fields = []
        for f in _FIELD.finditer(m["body"]):
            kind = f["type"].rpartition("::")[2] if f["kind"] == "_STRUCT" else f["type"]
            count = f"[{_number(f['count'], constants)}]" if f["kind"] == "_ARR" else ""
            place = "alignas(8) " if f["kind"] == "_STRUCT" else ""  # as the host's class lays them
            fields.append(f"    {place}{kind} {f['name']}{count};")
        found.setdefault(m["name"], f"struct alignas(8) {m['name']} {{\n" + "\n".join(fields) + "\n};")
    return found


def without_dead(text: str) -> str:
    """Host code without comments and what stands in `#if 0`."""
    kept, depth, dead = [], 0, 0  # dead: the depth of the #if 0 around this line
    for line in re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S).split("\n"):
        word = re.match(r"\s*#\s*(if|ifdef|ifndef|else|elif|endif)\b\s*(.*)", line)
        if word and word[1].startswith("if"):
            depth += 1
            dead = dead or (depth if word[1] == "if" and word[2].strip() == "0" else 0)
        elif word and word[1] in ("else", "elif") and dead == depth:
            dead = 0
        elif word and word[1] == "endif":
            dead = 0 if dead == depth else dead
            depth -= 1
        kept.append("" if dead else line)
    return "\n".join(kept)


def registered(text: str) -> list[tuple[str, str]]:
    """(operator, struct) of each REGISTER_TILING_DATA_CLASS; operator may be Operator_key."""
    return [(op, name.rpartition("::")[2]) for op, name in _CLASS.findall(without_dead(text))]


def _number(expression: str, constants: dict[str, str]) -> str:
    """An array's size, from the host's own constants, which a kernel does not see."""

    def value(node) -> int:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
            return _OPERATIONS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.Name) and node.id in constants:
            return value(parsed(constants[node.id]))
        raise ValueError(expression)

    def parsed(text: str):
        plain = re.sub(r"static_cast\s*<[^>]*>|\(\s*(?:u?int\d+_t|size_t|int)\s*\)", "", re.sub(r"\b\w+::", "", text))
        return ast.parse(re.sub(r"(?<=\d)[uUlL]+\b", "", plain).strip(), mode="eval").body

    try:
        return str(value(parsed(expression)))
    except (ValueError, SyntaxError, RecursionError):
        return expression


_ARGUMENT = re.compile(r"ASCENDC_TPL_(UINT|BOOL|DTYPE|DATATYPE|FORMAT)_DECL\(([^()]*)")


def first_arguments(text: str) -> list[str]:
    """Of each template argument that ASCENDC_TPL_ARGS_DECL declares the first value, which a tiling key of 0 stands
    for: a key holds the places of the values in their lists.
    """
    out = []
    for m in _ARGUMENT.finditer(without_dead(text)):
        words = [w.strip() for w in m[2].replace("\\", " ").split(",")][1:]
        if m[1] == "UINT":  # behind the width: a list, or a count of ranges and their ends
            words = words[3:] if "LIST" not in words[1] else words[2:]
        out.append(f"TypeFromId<{words[0]}>::type" if m[1] in ("DTYPE", "DATATYPE") else words[0])
    return out


_LIST = re.compile(r"ASCENDC_TPL_(UINT|BOOL|DTYPE|DATATYPE|FORMAT)_(DECL|SEL)\(")


def _inside(text: str, begin: int) -> str:
    """What the bracket that ends at `begin` holds."""
    depth = 1
    for i in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if not depth:
            return text[begin:i]
    return text[begin:]


def _values(kind: str, words: list[str], constants: dict[str, str]) -> set[int] | None:
    """The numbers that a list of template arguments has; None where they are not known here."""
    flag = words.pop(0) if kind == "UINT" and words else ""
    numbers = []
    for word in words:
        known = _number(re.sub(r"^C_DT_", "DT_", word), constants)
        if not known.lstrip("-").isdigit():
            return None
        numbers.append(int(known))
    if flag.endswith(("RANGE", "MIX")) or flag in ("0", "2"):
        pairs, rest = numbers[1 : 1 + 2 * numbers[0]], numbers[1 + 2 * numbers[0] :]
        return {n for lo, hi in zip(pairs[::2], pairs[1::2]) for n in range(lo, hi + 1)} | set(rest)
    return set(numbers)


def unselected(text: str, arguments: list[int], types: dict[str, int]) -> str:
    """The arguments that a tiling function chose, as "name = value, ...", where ASCENDC_TPL_ARGS_DECL or every
    ASCENDC_TPL_ARGS_SEL is without them, so that CANN's build has no kernel for them; else "".

    types: the numbers of DT_FLOAT16 and so on.
    """
    text = without_dead(text).replace("\\", " ")
    constants = {m[1] or m[4]: m[2] or m[3] or m[5] for m in _CONSTANT.finditer(text)}
    constants |= {name: str(number) for name, number in types.items()}
    constants |= {"true": "1", "false": "0"}

    def lists(part: str) -> dict[str, set[int] | None]:
        found = {}
        for m in _LIST.finditer(part):
            name, *words = [w.strip() for w in _inside(part, m.end()).split(",")]
            found[name] = _values(m[1], words[1:] if m[1] == "UINT" and m[2] == "DECL" else words, constants)
        return found

    begins = {what: [m.end() for m in re.finditer(rf"ASCENDC_TPL_ARGS_{what}\(", text)] for what in ("DECL", "SEL")}
    if len(begins["DECL"]) != 1:
        return ""
    declared = lists(_inside(text, begins["DECL"][0]))
    chosen = dict(zip(declared, arguments))

    def has(one: dict[str, set[int] | None]) -> bool:
        return all(one.get(name) is None or value in one[name] for name, value in chosen.items())

    selected = [lists(_inside(text, at)) for at in begins["SEL"]]
    if len(declared) != len(arguments) or (has(declared) and (not selected or any(map(has, selected)))):
        return ""
    return ", ".join(f"{name} = {value}" for name, value in chosen.items())
