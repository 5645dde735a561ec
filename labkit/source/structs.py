"""Plain structs of a kernel's source as Python can fill them: fields, lengths and the layout that C gives them.

A tiling struct is written once, in C++, and Python must lay out exactly the same bytes. What is not plain data (methods
aside, anything this scanner does not know) is left out rather than guessed: a struct is in the table only when every
field of it is understood. The trampolines' `sizeof` (labkit.source.lowering.lower) is the check on the result.
"""

from __future__ import annotations

import ast
import ctypes
import operator
import re
import struct as _struct
from collections.abc import Mapping

from labkit.source.scan import Block, Outline, mask, split, strip_attributes

# C spelling -> (ctypes type, canonical name). half and bfloat16_t travel as their 16 bits.
SCALARS: dict[str, type] = {
    "bool": ctypes.c_bool,
    "char": ctypes.c_char,
    "signed char": ctypes.c_int8,
    "unsigned char": ctypes.c_uint8,
    "int8_t": ctypes.c_int8,
    "uint8_t": ctypes.c_uint8,
    "int16_t": ctypes.c_int16,
    "uint16_t": ctypes.c_uint16,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "short": ctypes.c_short,
    "unsigned short": ctypes.c_ushort,
    "int": ctypes.c_int,
    "unsigned": ctypes.c_uint,
    "unsigned int": ctypes.c_uint,
    "long": ctypes.c_long,
    "unsigned long": ctypes.c_ulong,
    "long long": ctypes.c_longlong,
    "unsigned long long": ctypes.c_ulonglong,
    "size_t": ctypes.c_size_t,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "half": ctypes.c_uint16,
    "float16_t": ctypes.c_uint16,
    "bfloat16_t": ctypes.c_uint16,
    "uintptr_t": ctypes.c_uint64,
    "intptr_t": ctypes.c_int64,
    "*": ctypes.c_uint64,  # a field that is a pointer to global memory: GM_ADDR, T*, __gm__ T*
}


class Struct(list):
    """Fields of a struct: (ctype, field, array_len) with array_len None for a plain field, else its element count.

    pack: byte limit of `#pragma pack` or 1 for `__attribute__((packed))`, else None; align: of `alignas`, else None.
    """

    def __init__(self, fields=(), *, pack: int | None = None, align: int | None = None) -> None:
        super().__init__(fields)
        self.pack, self.align = pack, align
        self.made: type[ctypes.Structure] | None = None  # one Python type a struct, or nested ones would not fit


def canonical(ctype: str) -> str:
    """`const unsigned  int` -> "unsigned int"; std:: and cv-qualifiers dropped, integer words in one order."""
    words = re.sub(r"\b(?:const|volatile|struct|std\s*::)|(?<!\w)::", " ", ctype).split()
    if words and set(words) <= {"unsigned", "signed", "long", "short", "int", "char"}:
        core = [w for w in ("char", "short", "long", "int") for _ in range(words.count(w))]
        if "char" not in core and len(core) > 1 and "int" in core:
            core.remove("int")
        sign = "unsigned" if "unsigned" in words else "signed" if "signed" in words and "char" in core else ""
        return " ".join(filter(None, [sign, *(core or ["int"] * (sign != "unsigned"))]))
    return " ".join(words)


def aliases(text: str) -> dict[str, str]:
    """`using A = B;` and `typedef B A;` of the file, for plain names."""
    masked = mask(text)
    found = {m[1]: canonical(m[2]) for m in re.finditer(r"\busing\s+(\w+)\s*=\s*([\w:\s]+?)\s*;", masked)}
    found.update({m[2]: canonical(m[1]) for m in re.finditer(r"\btypedef\s+([\w:\s]+?)\s+(\w+)\s*;", masked)})
    return found


def resolve(ctype: str, names: Mapping[str, str]) -> str:
    """The canonical spelling of `ctype`, aliases followed."""
    name = canonical(ctype)
    for _ in range(len(names)):
        if name not in names or names[name] == name:
            break
        name = names[name]
    return name


# ---- constants: array lengths

_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.Mod: operator.mod,
}


def _constants(text: str) -> dict[str, str]:
    plain = mask(text, directives=False)
    found = {m[1]: m[2] for m in re.finditer(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]+)$", plain, re.M)}
    found.update(
        {m[1]: m[2] for m in re.finditer(r"\bconst(?:expr)?\s+(?:static\s+)?[\w:\s]+?\b(\w+)\s*=\s*([^;{}]+);", plain)}
    )
    return found


def _integer(expression: str, constants: Mapping[str, str], depth: int = 0) -> int | None:
    """Value of a C integer expression over named constants; None when it is anything more."""

    def value(node: ast.AST) -> int:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.Name) and node.id in constants and depth < 8:
            known = _integer(constants[node.id], constants, depth + 1)
            if known is not None:
                return known
        raise ValueError(expression)

    try:
        return value(
            ast.parse(re.sub(r"(?<=[0-9a-fA-F])[uUlL]+\b", "", expression.replace("'", "")).strip(), mode="eval").body
        )
    except (SyntaxError, ValueError, ZeroDivisionError):
        return None


# ---- the structs


def structs(text: str) -> dict[str, Struct]:
    """name -> fields of every plain struct defined in `text`, in order of definition."""
    outline = Outline(text)
    constants, names, table = _constants(text), aliases(text), {}
    for block in outline.blocks:
        if block.kind != "type" or "template" in outline.masked[block.head : block.open]:
            continue
        name = block.name or _typedef_name(outline, block)
        fields = _fields(outline, block, constants, names, table)
        if name and fields:
            table[name] = Struct(
                fields, pack=_pack(outline, block), align=_align(outline.masked[block.head : block.open])
            )
            typedef = _typedef_name(outline, block)
            if typedef:
                table[typedef] = table[name]
    return table


def _typedef_name(outline: Outline, block: Block) -> str:
    if not re.match(r"\s*typedef\b", outline.masked[block.head : block.open]):
        return ""
    m = re.match(r"\s*(?:__attribute__\s*\(\(.*?\)\)\s*)?(\w+)\s*;", outline.masked[block.close + 1 :])
    return m[1] if m else ""


def _align(head: str) -> int | None:
    m = re.search(r"alignas\s*\(\s*(\d+)\s*\)", head)
    return int(m[1]) if m else None


def _pack(outline: Outline, block: Block) -> int | None:
    tail = re.match(r"\s*__attribute__\s*\(\((.*?)\)\)", outline.masked[block.close + 1 :])
    if "packed" in outline.masked[block.head : block.open] or (tail and "packed" in tail[1]):
        return 1
    stack: list[int | None] = [None]
    for m in re.finditer(
        r"^[ \t]*#[ \t]*pragma[ \t]+pack[ \t]*\(([^)\n]*)\)", mask(outline.text, directives=False), re.M
    ):
        if m.start() > block.open:
            break
        words = [w.strip() for w in m[1].split(",") if w.strip()]
        limit = next((int(w) for w in words if w.isdigit()), None)
        if "push" in words:
            stack.append(limit if limit is not None else stack[-1])
        elif "pop" in words:
            stack = stack[:-1] or [None]
        else:
            stack[-1] = limit
    return stack[-1]


def _fields(outline: Outline, block: Block, constants, names, table) -> list[tuple[str, str, int | None]] | None:
    head = strip_attributes(outline.masked[block.head : block.open])
    if not re.search(r"\bstruct\b", head) or ":" in head.replace("::", ""):
        return None  # class, union, enum, or derived: not plain data with all fields in sight
    fields: list[tuple[str, str, int | None]] = []
    for start, end in split(outline.masked, block.open + 1, block.close, separator=";", angles=False):
        statement = outline.masked[start:end].strip()
        if not statement or re.match(r"(?:static|using|typedef|constexpr)\b", statement):
            continue
        found = _declared(statement, constants, names, table)
        if found is None:
            return None
        fields += found
    return fields


_DECLARATION = re.compile(
    r"((?:const\s+|unsigned\s+|signed\s+|long\s+|short\s+|struct\s+)*(?:[A-Za-z_][\w:]*))\s+(.+)", re.S
)
_POINTER = re.compile(r"(?:GM_ADDR\b|(?:const\s+)?[A-Za-z_][\w:]*\s*\*)(.+)", re.S)
_DECLARATOR = re.compile(r"\s*(\w+)\s*((?:\[[^\]]*\]\s*)*)(?:[={].*)?$", re.S)


def _declared(statement: str, constants, names, table) -> list[tuple[str, str, int | None]] | None:
    if "alignas" in statement or "__attribute__" in statement:
        return None  # a field with its own alignment: ctypes cannot say that
    statement = re.sub(r"\b__gm__\s+", "", statement)
    pointer = _POINTER.fullmatch(statement)
    m = pointer or _DECLARATION.fullmatch(statement)
    ctype = "*" if pointer else resolve(m[1], names) if m else ""
    if ctype not in SCALARS and (ctype not in table or table[ctype].align):
        return None
    fields = []
    declared = m[m.lastindex]
    for start, end in split(declared, 0, len(declared)):
        d = _DECLARATOR.match(declared[start:end].replace("*", " ") if pointer else declared[start:end])
        if d is None:
            return None
        length = None
        for size in re.findall(r"\[([^\]]*)\]", d[2]):
            n = _integer(size, constants)
            if n is None:
                return None
            length = n * (length or 1)
        fields.append((ctype, d[1], length))
    return fields


# ---- Python values to C bytes


def as_ctypes(name: str, table: Mapping[str, Struct]) -> type[ctypes.Structure]:
    """The ctypes.Structure of table[name], nested structs included. Raises KeyError for an unknown struct."""
    spec = table[name]
    if spec.made is not None:
        return spec.made
    members = []
    for ctype, field, length in spec:
        member = SCALARS[ctype] if ctype in SCALARS else as_ctypes(ctype, table)
        members.append((field, member if length is None else member * length))
    body: dict = {"_fields_": members, "__doc__": f"struct {name}"}
    if spec.pack:
        body = {"_pack_": spec.pack, "_layout_": "ms", **body}
    made = type(name, (ctypes.Structure,), body)
    size = ctypes.sizeof(made)
    if spec.align and size % spec.align:  # C rounds the size of an alignas struct up
        body["_fields_"] = [*members, ("_tail", ctypes.c_uint8 * (-size % spec.align))]
        made = type(name, (ctypes.Structure,), body)
    spec.made = made
    return made


def half_bits(value: float) -> int:
    """IEEE binary16 of a number, rounded to nearest even; beyond 65504 it is infinity, as on the device."""
    try:
        return int.from_bytes(_struct.pack("<e", value), "little")
    except OverflowError:
        return 0x7C00 if value > 0 else 0xFC00


def bfloat16_bits(value: float) -> int:
    """bfloat16 of a number, rounded to nearest even."""
    try:
        bits = int.from_bytes(_struct.pack("<f", value), "little")
    except OverflowError:
        return 0x7F80 if value > 0 else 0xFF80
    if value != value:
        return (bits >> 16) | 0x40
    return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16


def encode(ctype: str, value, table: Mapping[str, Struct] | None = None) -> ctypes._SimpleCData | ctypes.Structure:
    """`value` as the C object that a kernel takes: a number for a scalar;
    a dict, ctypes.Structure or bytes for a struct.

    Raises TypeError (wrong kind of value), OverflowError (does not fit the integer type),
    KeyError (unknown field or struct).
    """
    table = table or {}
    if isinstance(value, (bytes, bytearray)):
        return (ctypes.c_uint8 * len(value)).from_buffer_copy(value)
    if isinstance(value, (ctypes.Structure, ctypes.Array)):
        return value
    if ctype in SCALARS:
        return _scalar(ctype, value)
    made = as_ctypes(ctype, table)()
    for field, item in dict(value).items():
        _fill(made, table[ctype], field, item, table)
    return made


def _fill(made: ctypes.Structure, spec: Struct, field: str, item, table) -> None:
    known = {f: (c, n) for c, f, n in spec}
    if field not in known:
        raise KeyError(f"{type(made).__name__} has no field {field!r}; it has {', '.join(known)}")
    ctype, length = known[field]
    if length is None:
        value = encode(ctype, item, table)
        setattr(made, field, _plain(value))
        return
    items = list(item)
    if len(items) > length:
        raise OverflowError(f"{type(made).__name__}.{field} holds {length} values, {len(items)} were given")
    for i, one in enumerate(items):
        getattr(made, field)[i] = _plain(encode(ctype, one, table))


def addresses(made: ctypes.Structure, name: str, table: Mapping[str, Struct]) -> list[int]:
    """The addresses that its fields hold, those of nested structs too; 0 is left out."""
    found: list[int] = []
    for ctype, field, length in table.get(name, ()):
        if ctype != "*" and ctype in SCALARS:
            continue
        held = getattr(made, field)
        for one in [held] if length is None else held:
            found += [one] if ctype == "*" else addresses(one, ctype, table)
    return [a for a in found if a]


def _plain(value):
    return value.value if isinstance(value, ctypes._SimpleCData) else value


def _scalar(ctype: str, value) -> ctypes._SimpleCData:
    make = SCALARS[ctype]
    if ctype == "*":
        value = value.data_ptr() if hasattr(value, "data_ptr") else value or 0
    if hasattr(value, "item") and not isinstance(value, (int, float)):
        value = value.item()  # a numpy scalar or a tensor of one element
    if ctype in ("half", "float16_t"):
        return make(half_bits(float(value)))
    if ctype == "bfloat16_t":
        return make(bfloat16_bits(float(value)))
    if make in (ctypes.c_float, ctypes.c_double):
        return make(float(value))
    if make is ctypes.c_bool:
        return make(bool(value))
    number = operator.index(value)
    if make is ctypes.c_char:
        return make(number & 0xFF)
    made = make(number)
    if made.value != number:
        raise OverflowError(f"{number} does not fit {ctype}")
    return made
