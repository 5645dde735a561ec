"""The kernels of an Ascend C text: names, cores, parameters, templates, and the conditions they stand under.

Reading is by a scanner, not a compiler (labkit.source.scan): it finds what kernels look like in practice, and says
plainly what it cannot take. Nothing here changes the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from types import MappingProxyType

from labkit.source.errors import SourceError
from labkit.source.scan import Outline, closing, closing_angle, mask, split, strip_attributes, worth
from labkit.source.structs import SCALARS, aliases, canonical, resolve


@dataclass(frozen=True)
class Param:
    """A kernel parameter. kind: "gm" (a pointer to global memory), "scalar" or "struct" (anything else, by value).

    type: the text of the type; ctype: element type of a pointer, else the value's type, spelt canonically;
    array, default: their text, "" where there is none.
    """

    type: str
    name: str
    kind: str
    ctype: str
    array: str = ""
    default: str = ""


@dataclass(frozen=True)
class KernelSignature:
    """A `__global__` function; core_mix() gives its cores.

    template: text between the angle brackets of the template head, None for a plain function; namespace: "a::b";
    mix: the ratio (cube, vector) where it is written; body: its text, comments and strings masked; guard: the
    preprocessor conditions it stands under.
    """

    name: str
    params: tuple[Param, ...]
    line: int
    template: str | None = None
    namespace: str = ""
    mix: tuple[int, int] | None = None
    qualifiers: tuple[str, ...] = ()
    extern_c: bool = False
    defined: bool = True
    body: str = ""
    guard: tuple[str, ...] = ()

    @property
    def qualified(self) -> str:
        return f"{self.namespace}::{self.name}" if self.namespace else self.name


def symbol(entry: str) -> str:
    """The C name of an entry: `add` -> "add", `ns::add<half, 3>` -> "ns__add__half_3"."""
    head, _, arguments = entry.partition("<")
    head = re.sub(r"\W+", "__", head.strip())
    arguments = arguments.rstrip().removesuffix(">")
    for sign, word in (("<", " of "), (">", " end "), ("*", " pointer "), ("&", " ref ")):  # else two have one name
        arguments = arguments.replace(sign, word)
    tail = re.sub(r"\W+", "_", arguments.replace("-", "minus_")).strip("_")
    return f"{head}__{tail}" if tail else head


# ---- finding kernels

_NOT_A_NAME = {"__mix__", "__schedmode__", "__attribute__", "__launch_bounds__", "alignas", "decltype", "extern"}
_CORE_WORDS = {"__aicore__", "__vector__", "__cube__", "__mix__"}


def parse(text: str, filename: str = "<kernel>") -> list[KernelSignature]:
    """Every kernel of `text`, in order. Raises SourceError: none at all, no core qualifier, not void, overloaded."""
    text = clean(text)
    found: dict[str, KernelSignature] = {}
    for kernel in kernels(text, filename):
        if "0" in kernel.guard:
            continue  # inside `#if 0`
        before = found.get(kernel.qualified)
        if before is None or (kernel.defined and not before.defined):
            found[kernel.qualified] = kernel
        elif before.guard == kernel.guard and _types(before) != _types(kernel):
            raise SourceError(
                "source.overload", filename=filename, line=kernel.line, text=text, name=kernel.name, first=before.line
            )
    if not found:
        raise SourceError("source.no_kernel", filename=filename, line=1, text=text)
    return list(found.values())


def _types(kernel: KernelSignature) -> list[str]:
    return [canonical(p.type) for p in kernel.params]


def clean(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def kernels(text: str, filename: str) -> list[KernelSignature]:
    outline = Outline(text)
    names, guards, found, seen = aliases(text), _guards(text), [], set()
    for m in re.finditer(r"\b__global__\b", outline.masked):
        start = outline.statement_start(m.start())
        if start not in seen:
            seen.add(start)
            found.append(_signature(outline, start, m.start(), names, filename, guards))
    return found


def _signature(outline: Outline, start: int, at: int, names, filename: str, guards) -> KernelSignature:
    line = outline.lines.line(at)

    def wrong(key: str, **numbers) -> SourceError:
        return SourceError(key, filename=filename, line=line, text=outline.text, **numbers)

    opened = next(
        (m for m in re.finditer(r"([A-Za-z_]\w*)\s*\(", outline.masked[at:]) if m[1] not in _NOT_A_NAME), None
    )
    end = closing(outline.masked, at + opened.end() - 1) if opened else -1
    if opened is None or end < 0:
        raise wrong("source.not_a_function")
    name_at, paren, name = at + opened.start(1), at + opened.end() - 1, opened[1]
    head = outline.masked[start:name_at]
    template, offset = _template(outline, start, head)
    words = re.findall(r"[A-Za-z_]\w*|\*|&", strip_attributes(head[offset:]))
    marked = [w for w in re.findall(r"\b__\w+__\b", head[offset:]) if w not in ("__attribute__", "__launch_bounds__")]
    if not _CORE_WORDS & set(marked):
        raise wrong("source.no_core", name=name)
    linkage = _linkage_macros(outline.text)
    returns = [
        w
        for w in words
        if w not in ("extern", "static", "inline") and w not in linkage and not re.fullmatch(r"__\w+__", w)
    ]
    if returns[-1:] != ["void"]:  # what else stands there are macros: a call without a semicolon, one word of its own
        raise wrong("source.not_void", name=name, type=" ".join(returns) or "nothing")
    body = _body(outline, end)
    mix = re.search(r"\b__mix__\s*\(\s*(\d+)\s*,\s*(\d+)\s*\)", head)
    scopes = list(block.chain()) if (block := outline.around(at)) else []
    return KernelSignature(
        name=name,
        params=_params(outline, paren, end, names),
        line=line,
        template=template,
        mix=(int(mix[1]), int(mix[2])) if mix else None,
        qualifiers=tuple(marked),
        namespace="::".join(b.name for b in reversed(scopes) if b.kind == "namespace" and b.name),
        extern_c=bool(re.search(r'\bextern\s*"', head)) or any(b.kind == "linkage" for b in scopes),
        defined=bool(body),
        body=body,
        guard=tuple(guards(at)),
    )


def _template(outline: Outline, start: int, head: str) -> tuple[str | None, int]:
    """(text between the brackets of the template head, length of the head up to it)."""
    m = re.search(r"\btemplate\s*<", head)
    if not m:
        return None, 0
    end = closing_angle(outline.masked, start + m.end() - 1)
    return outline.text[start + m.end() : end].strip(), end + 1 - start


def _body(outline: Outline, after: int) -> str:
    m = re.compile(r"\s*\{").match(outline.masked, after + 1)
    return outline.masked[m.end() : max(m.end(), closing(outline.masked, m.end() - 1)) + 1] or " " if m else ""


def core_mix(kernel: KernelSignature, around: str = "", tiling_key: int | None = None) -> CoreMix:
    """(cube cores, vector cores) of a block of this kernel.
    around: its source with all that it includes, where at hand.
    """
    return says(kernel, tiling_key) or used(mask(around, directives=False) if around else kernel.body)


def says(kernel: KernelSignature, tiling_key: int | None = None) -> CoreMix | None:
    """The cores that a kernel names itself; None where they follow from what it does."""
    return declared(list(kernel.qualifiers), kernel.mix, kernel.body, tiling_key)


# ---- parameters

_TYPE_WORDS = {
    "const",
    "volatile",
    "struct",
    "class",
    "enum",
    "typename",
    "unsigned",
    "signed",
    "long",
    "short",
    "int",
    "char",
    "float",
    "double",
    "bool",
    "void",
    "auto",
    "__restrict__",
    "__restrict",
    "restrict",
    "GM_ADDR",
}


def _params(outline: Outline, paren: int, end: int, names) -> tuple[Param, ...]:
    inside = outline.masked[paren + 1 : end].strip()
    if inside in ("", "void"):
        return ()
    spans = split(outline.masked, paren + 1, end)
    return tuple(_param(outline.text[a:b], outline.masked[a:b], i, names) for i, (a, b) in enumerate(spans))


def _param(text: str, masked: str, index: int, names) -> Param:
    left = split(masked, 0, len(masked), separator="=")[0][1]
    default = " ".join(text[left + 1 :].split())
    visible = masked[:left].rstrip()
    array = re.search(r"(?:\[[^\]]*\]\s*)+$", visible)
    visible = visible[: array.start()].rstrip() if array else visible
    named = re.search(r"[A-Za-z_]\w*$", visible)
    if named and (named[0] in _TYPE_WORDS or not _has_type(visible[: named.start()])):
        named = None
    ctype = " ".join((visible[: named.start()] if named else visible).split())
    name = named[0] if named else f"arg{index}"
    kind, element = _classify(ctype, bool(array), names)
    return Param(ctype, name, kind, element, array[0].strip() if array else "", default)


def _has_type(before: str) -> bool:
    """Whether the words before a last identifier already make a type, so that the identifier is a name."""
    words = [
        w
        for w in re.findall(r"[A-Za-z_]\w*|[*&>]", before)
        if w not in ("const", "volatile", "struct", "class", "enum", "typename", "__gm__")
    ]
    return bool(words) and not before.rstrip().endswith("::")


def _classify(ctype: str, array: bool, names) -> tuple[str, str]:
    plain = re.sub(r"\b(?:__gm__|__restrict__|__restrict|restrict)\b", " ", ctype)
    if re.search(r"\bGM_ADDR\b", plain):
        return "gm", "uint8_t"
    if "*" in plain or array:
        return "gm", resolve(plain.replace("*", " "), names)
    value = resolve(plain, names)
    return ("scalar" if value in SCALARS else "struct"), value


# ---- preprocessor conditions


def _guards(text: str):
    """A function from an offset to the conditions in force there:
    literal lines such as "#ifdef X", "!"-free; "0" for `#if 0`.
    """
    plain = mask(text, directives=False)
    events: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    stack: list[list[str]] = []  # one list a level: the directives since its #if
    for m in re.finditer(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b((?:\\\n|[^\n])*)", plain, re.M):
        word, rest = m[1], " ".join(m[2].replace("\\\n", " ").split())
        if word.startswith("if"):
            guarded = word == "ifndef" and re.match(rf"\s*#[ \t]*define[ \t]+{re.escape(rest)}\b", plain[m.end() :])
            stack.append([] if guarded else [f"#{word} {rest}"])  # an include guard is no condition
        elif word == "endif":
            if stack:
                stack.pop()
        elif stack and stack[-1]:
            stack[-1].append(f"#{word} {rest}".strip())
        events.append((m.end(), tuple("\n".join(level) for level in stack if level)))
    starts = [offset for offset, _ in events]

    def at(offset: int) -> tuple[str, ...]:
        return tuple("0" if g == "#if 0" else g for g in events[bisect_right(starts, offset) - 1][1])

    return at


_CONDITION = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif|define|undef)\b((?:\\\n|[^\n])*)", re.M)
_TWIN_DEFINES = {"__NPU_ARCH__": "2201"}  # what a kernel's headers define here


def active(text: str, defines: Mapping[str, str] = MappingProxyType({})) -> str:
    """`text` with what `#if` leaves out turned into spaces; same length, same lines.

    Only a condition that the text and `defines` (macro -> value) decide leaves anything out: a macro that is defined
    nowhere in sight may come from a header that nobody read, so both branches of its `#if` stay.
    """
    if "#" not in text:
        return text
    known: dict[str, str | None] = {**_TWIN_DEFINES, **defines}  # None: it may be defined, as what is not known
    visible = mask(text, directives=False)
    # of each #if: whether the branch is compiled, and whether that or one before it was; None: not known
    levels: list[tuple[bool | None, bool | None]] = []
    out, at = [], 0

    def left_out() -> bool:
        return any(taken is False for taken, _ in levels)

    for m in _CONDITION.finditer(visible):
        word, rest = m[1], " ".join(m[2].replace("\\\n", " ").split())
        if word in ("define", "undef"):
            if not left_out():
                _note(word, rest, known, all(taken for taken, _ in levels))
            continue
        out += [_hidden(text[at : m.start()]) if left_out() else text[at : m.start()], m[0]]
        at = m.end()
        if word.startswith("if"):
            guard = word == "ifndef" and re.match(rf"\s*#[ \t]*define[ \t]+{re.escape(rest)}\b", visible[at : at + 400])
            taken = False if left_out() else True if guard and rest not in known else _decide(word, rest, known)
            levels.append((taken, taken))
        elif levels:
            _, before = levels.pop()
            if word == "endif":
                continue
            taken = False if before or left_out() else True if word == "else" else _decide("if", rest, known)
            taken = None if taken and before is None else taken
            levels.append((taken, before if taken is False else taken))
    return "".join([*out, _hidden(text[at:]) if left_out() else text[at:]])


def _hidden(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _note(word: str, rest: str, known: dict[str, str | None], sure: bool) -> None:
    """A `#define` or `#undef`; sure: it is compiled for certain."""
    name = re.match(r"(\w+)(\()?", rest)
    if not name:
        return
    if word == "undef":
        known.pop(name[1], None)
    elif name[1] not in known or sure:
        known[name[1]] = ("?" if name[2] else rest[name.end() :].strip()) if sure else None


def _decide(word: str, rest: str, known: Mapping[str, str | None]) -> bool | None:
    """Whether `#if rest` holds; None where that depends on what is not known."""
    if word != "if":
        name = rest.split(" ")[0]
        return word == "ifdef" if known.get(name) is not None else None

    def value(m: re.Match) -> str:
        seen, word = set(), m[0]
        while re.fullmatch(r"[A-Za-z_]\w*", word) and word not in seen:
            seen.add(word)
            word = known.get(word) or "?"
        return re.sub(r"(?<=[\da-fA-F])[uUlL]+$", "", word)

    def defined(m: re.Match) -> str:
        return "1" if known.get(m[1] or m[2]) is not None else "?"

    text = re.sub(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))", defined, rest)
    text = re.sub(r"\b[A-Za-z_]\w*\b", value, text)
    text = re.sub(r"(?<=\d)[uUlL]+\b", "", text).strip()
    if re.search(r"[\d?)]\s*\(", text):
        return None  # a macro with arguments
    if not re.fullmatch(r"(?:\d+|0[xX][\da-fA-F]+|[-+*%()<>=!&|?\s])+", text):
        return None
    some = {0, 1, -1, 99991, *(int(n, 0) for n in re.findall(r"\b(?:[1-9]\d*|0[xX][\da-fA-F]+)\b", text) if len(n) < 9)}
    found = set()
    for guess, step in [(g, s) for g in some for s in (0, 7)]:  # what is not known must not matter
        values = (f"({guess + step * i})" for i in count())
        try:
            filled = re.sub(r"\?", lambda _: next(values), text)
            found.add(bool(worth(filled)))
        except (LookupError, ArithmeticError, ValueError, MemoryError, RecursionError):
            return None
    return found.pop() if len(found) == 1 else None


def _linkage_macros(text: str) -> set[str]:
    """Macros that stand for `extern "C"` or for nothing, as in `KERNEL_LINKAGE __global__ __aicore__ void add()`."""
    return (
        set(
            re.findall(
                r'^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]*(?:extern[ \t]+"C"|static|inline)?[ \t]*(?://[^\n]*)?$',
                text,
                re.M,
            )
        )
        if "#" in text
        else set()
    )


# ---- which cores a kernel runs on: (cube cores, vector cores) of a block
#
# It is what the head says (`__vector__`, `__cube__`, `__mix__(1, 2)`), else the task type in the body, else what the
# source uses, as CANN's compiler works it out: a Matmul object is served by the cube core of a block with two vector
# cores; the cube's own instructions alone make a cube kernel.

VECTOR, CUBE, MIX_1_1, MIX_1_2 = (0, 1), (1, 0), (1, 1), (1, 2)
CoreMix = tuple[int, int]

_HEADS = {"__vector__": VECTOR, "__cube__": CUBE, "__mix__": MIX_1_2}
_TASK_TYPES = {
    "AIV_ONLY": VECTOR,
    "AIC_ONLY": CUBE,
    "MIX_AIV_1_0": VECTOR,
    "MIX_AIC_1_0": CUBE,
    "MIX_AIC_1_1": MIX_1_1,
    "MIX_AIC_1_2": MIX_1_2,
    "MIX_AIV_HARD_SYNC": VECTOR,
    "MIX_AIC_HARD_SYNC": CUBE,
}
_TASK = re.compile(
    r"\bKERNEL_TASK_TYPE(?:_DEFAULT)?\s*\(\s*(?:(?P<key>[^,()]+),)?\s*[\w:\s]*?KERNEL_TYPE_(?P<type>\w+)\s*\)"
)
_CUBE_OBJECT = re.compile(r"\b(?:REGIST_MATMUL_OBJ\w*|MatmulImpl\s*<|Matmul\s*<|matmul_intf\.h)")
_CUBE_WORDS = re.compile(
    r"\b(?:Mmad|LoadData(?:[23][dD]\w*|With(?:Sparse|Transpose)|RepeatParam)?|Fixpipe|TPosition::(?:A1|A2|B1|B2|CO1|C1|C2)|QuePosition::(?:A1|A2|B1|B2|CO1)|__cbuf__|__ca__)\b"
)
_VECTOR_WORDS = re.compile(r"\b(?:VECIN|VECOUT|VECCALC)\b|Hardware::UB")
_BOTH = re.compile(
    r"\bASCEND_IS_(?:NOT_)?AIC\b|\bASCEND_IS_(?:NOT_)?AIV\b|\bg_coreType\b|\b__DAV_C220_(?:CUBE|VEC)__\b|\bMIX_AIC_1_|\b__mix__\b"
)


def declared(marked: list[str], mix: CoreMix | None, body: str, tiling_key: int | None = None) -> CoreMix | None:
    """What the kernel says itself; None where it does not. marked: the words of its head; body: its text, masked."""
    if mix and "__mix__" in marked:
        return mix
    for word in marked:
        if word in _HEADS:
            return _HEADS[word]
    default = None
    for m in _TASK.finditer(body):
        mix_of_type = _TASK_TYPES.get(m["type"])
        if m["key"] and tiling_key is not None and m["key"].strip().rstrip("uUlL") == str(tiling_key):
            return mix_of_type
        default = default or mix_of_type
    return default


def used(text: str) -> CoreMix:
    """What the instructions in a text need. text: the source with all that it includes, comments masked."""
    if _CUBE_OBJECT.search(text):
        return CUBE if re.search(r"#\s*define\s+ASCENDC_CUBE_ONLY\b", text) and not _BOTH.search(text) else MIX_1_2
    if not _CUBE_WORDS.search(text):
        return VECTOR
    return MIX_1_2 if _VECTOR_WORDS.search(text) or _BOTH.search(text) else CUBE


def wanted(
    kernels: Iterable[KernelSignature], entries: Iterable[str], filename: str, text: str
) -> list[tuple[str, KernelSignature]]:
    """(name, kernel) of what can be launched: each kernel that is no template, and of templates the instantiations in
    `entries` ("scale<half, 3>"). Raises SourceError for an entry that names no kernel, or no arguments of a template.
    """
    kernels = list(kernels)
    found = [(k.qualified, k) for k in _once(k for k in kernels if k.template is None)]
    names: set[str] = set()
    for entry in dict.fromkeys(entries):
        head, bracket, arguments = entry.partition("<")
        kernel = next((k for k in kernels if "".join(head.split()) in (k.qualified, k.name)), None)
        if kernel is None or (kernel.template is None and bracket):
            known = ", ".join(k.qualified for k in kernels)
            raise SourceError("source.no_entry", filename=filename, line=1, text=text, entry=entry, known=known)
        if kernel.template is None:
            continue
        if not bracket:
            raise SourceError(
                "source.template_entry",
                filename=filename,
                line=kernel.line,
                text=text,
                name=kernel.qualified,
                template=kernel.template,
            )
        name = f"{kernel.qualified}<{arguments}"
        if symbol(name) not in names:  # else the same instantiation, spelt twice
            names.add(symbol(name))
            found.append((name, kernel))
    return found


def _once(kernels: Iterable[KernelSignature]) -> Iterable[KernelSignature]:
    """Each kernel once: the first outside any condition, else one a branch (`#ifdef A ... #else ... #endif`)."""
    groups: dict[str, dict[tuple, KernelSignature]] = {}
    for kernel in kernels:
        groups.setdefault(kernel.qualified, {}).setdefault(kernel.guard, kernel)
    for group in groups.values():
        yield from [group[()]] if () in group else group.values()
