"""Compiler errors in the terms of Ascend C: what is wrong, and what to try.

Most of it is a table: an entry `hint.*` of messages/build.toml with a `match` pattern (on the compiler's message, in
file order, first one wins) and the parts `what` (replaces the message) and `try`. Its groups fill the placeholders.
What needs more than a pattern - the types of a call's tensors, a name that only lacks its scope - is code below.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from labkit import messages
from labkit.build import headers
from labkit.build.compiler_output import Diagnostic
from labkit.source import api
from labkit.source.scan import split

Advice = tuple[str | None, str | None]  # (message in place of the compiler's, hint)


@dataclass(frozen=True)
class ErrorContext:
    """What is known around an error: the learner's lines, the words in them, and the kernels."""

    lines: Sequence[str] = ()
    words: frozenset[str] = field(default_factory=frozenset)
    kernels: tuple[str, ...] = ()

    def has(self, pattern: str) -> bool:
        return any(re.search(pattern, line) for line in self.lines)


def advise(error: Diagnostic, context: ErrorContext) -> Advice:
    """(message, hint) for one error; None where the compiler's own message stays."""
    for rule in (_asserted, _header, _claimed, _unknown, _call, _argument, _conversion):
        if advice := rule(error, context):
            return advice
    for key, pattern in _table():
        if m := pattern.search(error.message):
            return messages.say(key, **{k: v or "" for k, v in m.groupdict().items()})
    return None, None


@lru_cache(maxsize=1)
def _table() -> list[tuple[str, re.Pattern]]:
    return [
        (key, re.compile(entry["match"]))
        for key, entry in messages.tables().items()
        if key.startswith("hint.") and "match" in entry
    ]


# ---- static_assert: the twin's are whole sentences

_ASSERTED = re.compile(
    r"static[_ ]assert(?:ion)? failed(?: due to requirement '.*?')?(?:: (?P<text>.+)|\s+\"(?P<quoted>.+)\"|$)"
)


def _asserted(error: Diagnostic, context: ErrorContext) -> Advice | None:
    m = _ASSERTED.match(error.message)
    if not m:
        return None
    text = m["text"] or m["quoted"]
    return (text, None) if text else messages.say("hint.assert")


_NO_FILE = re.compile(r"^(?:(?P<a>\S+): No such file or directory|'(?P<b>[^']+)' file not found)")


def _header(error: Diagnostic, context: ErrorContext) -> Advice | None:
    m = _NO_FILE.match(error.message)
    near = api.close(m["a"] or m["b"], candidates=headers.names()) if m else ""
    return messages.say("hint.header_close", name=m["a"] or m["b"], close=near) if m and near else None


# ---- names

_NAME = r"'(?P<name>[^']+)'"
_SUGGESTED = re.compile(r"did you mean (?:to use )?'(?P<name>[^']+)'")
_UNKNOWN = [
    re.compile(p)
    for p in (
        rf"^{_NAME} was not declared in this scope",
        rf"^{_NAME} does not name a (?:template )?type",
        rf"^{_NAME} has not been declared",
        rf"^there are no arguments to {_NAME} that depend on",
        rf"^use of undeclared identifier {_NAME}",
        rf"^unknown type name {_NAME}",
        rf"^no template named {_NAME}",
        rf"^{_NAME} is not a template",
        rf"^no member named {_NAME} in (?P<scope>.+?)(?:;|$)",
        rf"^(?P<scope>.+) has no member named {_NAME}",
        rf"^{_NAME} is not a member of (?P<scope>.+?)(?:;|$)",
        rf"^{_NAME} is not a namespace-name",
    )
]


# A header that may bring the API; not one that is commented out.
_INCLUDES = r'^\s*#\s*include\s*(?:"|<kernel_)'


def undeclared(message: str) -> str:
    """The name that the compiler does not know, "" when the message is about something else."""
    return next((m["name"] for p in _UNKNOWN if (m := p.search(message))), "")


def absent(error: Diagnostic) -> tuple[str, Advice] | None:
    """(name, advice) when the error is that the twin lacks a documented name: then nothing else matters."""
    name = undeclared(error.message).rpartition("::")[2]
    if not name or not api.absent(name):
        return None
    on_a2, page = api.documented()[name]
    instead = (
        messages.text(f"instead.{name}")
        if messages.has(f"instead.{name}")
        else messages.text("instead.other" if on_a2 else "instead.not_on_a2")
    )
    return name, messages.say("hint.absent" if on_a2 else "hint.not_on_a2", name=name, page=page, instead=instead)


def _claimed(error: Diagnostic, context: ErrorContext) -> Advice | None:
    """Names that texts and forums use and that Ascend C never had."""
    name = undeclared(error.message).removeprefix("AscendC::")
    return messages.say(f"claim.{name}") if name and messages.has(f"claim.{name}") else None


def _unknown(error: Diagnostic, context: ErrorContext) -> Advice | None:
    m = next((m for p in _UNKNOWN if (m := p.search(error.message))), None)
    if m is None:
        return None
    name, scope = m["name"], m.groupdict().get("scope") or ""
    bare = name.rpartition("::")[2]
    if name == "std" or re.fullmatch(r"'?(?:namespace )?'?std'?", scope) or name.startswith("std::"):
        return messages.say("hint.stl", name=name if name.startswith("std") else f"std::{name}")
    if not scope and bare in api.names() | {"int32_t", "uint32_t", "uint8_t"} and not context.has(_INCLUDES):
        return messages.say("hint.no_header", name=bare)
    if not scope and re.fullmatch(r"(?:ORIG_)?DTYPE_[A-Z]\w*|FORMAT_[A-Z]\w*|TILING_KEY_VAR", bare):
        return messages.say("hint.operator_name", name=bare)
    if (enum := api.enum_of(bare)) and not scope:
        return messages.say("hint.enum", name=bare, enum=enum)
    if not scope and bare == name and bare in api.names() and not bare.startswith("__"):
        return messages.say("hint.namespace", name=bare)
    suggested = _suggestion(error, bare, scope, context)
    if suggested:
        return messages.say("hint.spelling", name=name, close=suggested)
    return (
        messages.say("hint.member", name=name, scope=_plain_scope(scope))
        if scope
        else messages.say("hint.undeclared", name=name)
    )


def _plain_scope(scope: str) -> str:
    """LocalTensor<half> of 'class LocalTensor<half>' or of 'Mine' {aka 'class LocalTensor<half>'}; AscendC of namespace
    'AscendC'."""
    quoted = re.findall(r"'([^']+)'", scope)
    return re.sub(r"^(?:class|struct|union|enum|using \w+ =) ", "", quoted[-1] if quoted else scope)


def _suggestion(error: Diagnostic, name: str, scope: str, context: ErrorContext) -> str:
    near = api.close(name, context.words)  # before the compiler's suggestion, which may be any odd name
    if near:
        return near
    m = _SUGGESTED.search(error.message)
    plausible = m and api.close(name, candidates=[m["name"].rpartition("::")[2]])
    return m["name"] if m and (scope or plausible) else ""


# ---- calls

_TENSOR = re.compile(r"(?:AscendC::)?(?P<kind>Local|Global)Tensor<(?P<type>[^<>]*)>")
_NO_MATCH = re.compile(r"no matching (?:member )?function for call to '(?P<call>.*)'$")
_CONFLICT = re.compile(r"conflicting types for parameter '\w+' \('(?P<a>[^']+)'(?: and | vs\. )'(?P<b>[^']+)'\)")
_COUNTS = re.compile(
    r"(?:expects|requires)(?P<least> at least)? (?P<want>\d+) arguments?, "
    r"(?:but )?(?P<have>\d+) (?:was |were )?provided"
)
_NO_CONVERSION = re.compile(
    r"no known conversion (?:for argument (?P<i>\d+) )?from '(?P<a>[^']+)'(?: (?:\{aka|\(aka) '[^']*'[})])?"
    r" to '(?P<b>[^']+)'(?:.*? for (?P<nth>\d+)\w\w argument)?"
)


def _call(error: Diagnostic, context: ErrorContext) -> Advice | None:
    m = _NO_MATCH.search(error.message)
    if not m:
        return _argument_count(error, context)
    name, arguments = _call_parts(m["call"])
    notes = [note.text for note in error.notes]
    rules: list[Callable[[], Advice | None]] = [
        lambda: _kernel_call(name, notes, context),
        lambda: _positions(name, arguments, notes),
        lambda: _raw_pointer(name, arguments, notes),
        lambda: _element_types(name, arguments, notes),
        lambda: _untold_type(name, notes),
        lambda: _counts(name, arguments, notes),
    ]
    return next((advice for rule in rules if (advice := rule())), None) or _no_form(name, _candidates(notes))


def _call_parts(call: str) -> tuple[str, list[str]]:
    """("Add", ["AscendC::LocalTensor<half>&", ...]); clang names no arguments."""
    head, inside = call, ""
    if call.endswith(")"):
        at = _opening(call)
        head, inside = call[:at], call[at + 1 : -1]
    if head.endswith(">"):
        head = head[: _opening(head)]
    return head.rpartition("::")[2], _parts(inside)


def _opening(text: str) -> int:
    """Where the bracket opens that the last character closes."""
    close, depth = text[-1], 0
    for i in range(len(text) - 1, -1, -1):
        depth += (text[i] == close) - (text[i] == {")": "(", ">": "<"}[close])
        if not depth:
            return i
    return 0


def _parts(inside: str) -> list[str]:
    return [inside[a:b].strip() for a, b in split(inside, 0, len(inside))] if inside.strip() not in ("", "void") else []


# the twin's own last parameter, where the call stands: no source writes it, and no message may name it
_HERE = "twin::Here"
_CANDIDATE = re.compile(r"^candidate(?: \d+)?: '(?P<signature>.*)'$")


def _parameters(signature: str) -> list[str]:
    """The types in "void AscendC::Add(const LocalTensor<T>&, ..., twin::Here) [with T = half]"."""
    text = signature.partition(" [with ")[0]
    text = text[: text.rfind(")") + 1]
    return _parts(text[_opening(text) + 1 : -1]) if text else []


@dataclass
class _Candidate:
    """A function that a call was tried with, and what the compiler has against it."""

    parameters: list[str]
    said: list[str] = field(default_factory=list)

    @property
    def written(self) -> list[str]:
        """The parameters that a source writes."""
        return [p for p in self.parameters if p != _HERE]

    def counts(self) -> list[re.Match]:
        return [m for n in self.said if (m := _COUNTS.search(n))]

    def wants(self, said: int) -> int:
        """How many arguments a source gives it. g++ counts the twin's own where it counts all parameters."""
        return len(self.written) if said == len(self.parameters) else said

    @property
    def ends_with_count(self) -> bool:
        kinds = [re.sub(r"\bconst\b|[&\s]", "", p) for p in self.written]
        return len(kinds) > 1 and "LocalTensor<" in kinds[0] and kinds[-1] in ("int32_t", "uint32_t")

    def form(self, name: str) -> str:
        shown = ", ".join(re.sub(r"\bconst |AscendC::|&$", "", p) for p in self.written)
        return f"{name}({shown})".replace("twin::Arg8", "uint8_t")


def _candidates(notes: list[str]) -> list[_Candidate]:
    """Of g++; clang gives no signatures. Those for another object, as the way out for who copies in, only where there
    are no others."""
    found: list[_Candidate] = []
    for note in notes:
        if m := _CANDIDATE.match(note):
            found.append(_Candidate(_parameters(m["signature"])))
        elif found:
            found[-1].said.append(note)
    return [c for c in found if not any("is not derived from" in n for n in c.said)] or found


def _kernel_call(name: str, notes: list[str], context: ErrorContext) -> Advice | None:
    if name not in context.kernels:
        return None
    for note in notes:
        if m := _COUNTS.search(note):
            return messages.say("hint.kernel_count", name=name, want=m["want"], have=m["have"])
        if m := _NO_CONVERSION.search(note):
            return messages.say("hint.kernel_type", name=name, i=m["i"] or m["nth"] or "?", a=m["a"], b=m["b"])
    return None


def _positions(name: str, arguments: list[str], notes: list[str]) -> Advice | None:
    """A GlobalTensor handed to an instruction that works on UB, and none of whose forms takes one."""
    told = any("could not match 'LocalTensor' against 'GlobalTensor'" in n for n in notes)
    given = [i for i, a in enumerate(arguments, 1) if "GlobalTensor<" in a]
    if not (given or told) or re.search(rf"\b{re.escape(name)}\s*\([^(){{}};]*\bGlobalTensor<", api.offered()):
        return None
    return messages.say("hint.gm_operand", name=name, i=given[0] if given else "?")


def _raw_pointer(name: str, arguments: list[str], notes: list[str]) -> Advice | None:
    if name == "SetGlobalBuffer":
        m = next((m for n in notes if (m := _NO_CONVERSION.search(n))), None)
        return messages.say("hint.gm_cast", a=m["a"], b=m["b"].replace("const ", "").rstrip("* ")) if m else None
    raw = re.compile(r"^(?:(?:const )?(?:uint8_t|unsigned char)) ?\*")
    pointer = next((i for i, a in enumerate(arguments, 1) if raw.match(a)), 0)
    told = any(re.search(r"Tensor<T>' against 'uint8_t \*'", n) for n in notes)
    return messages.say("hint.gm_pointer", name=name, i=pointer or "?") if pointer or told else None


def _element_types(name: str, arguments: list[str], notes: list[str]) -> Advice | None:
    """Only where the compiler wanted one type of two operands: those of Mmad, Exp or Sort32 may differ."""
    if name in ("Cast", "Compare", "CompareScalar", "Select", "Gather", "Compares"):
        return None  # their tensors may differ
    conflict = next((m for n in notes if (m := _CONFLICT.search(n))), None)
    if not conflict:
        return None
    a, b = conflict["a"], conflict["b"]
    typed: dict[str, int] = {}  # element type -> the first argument that has it
    for i, argument in enumerate(arguments, 1):
        if tensor := _TENSOR.search(argument):
            typed.setdefault(tensor["type"], i)
    if a in typed and b in typed:
        return messages.say("hint.element_types", name=name, i=typed[a], a=a, j=typed[b], b=b)
    return messages.say("hint.element_types2", name=name, a=a, b=b)


# nothing in their arguments says the element type
_OF_TYPE = ("AllocTensor", "DeQue", "Get", "GetWithOffset", "ReinterpretCast")


def _untold_type(name: str, notes: list[str]) -> Advice | None:
    untold = any(re.search(r"couldn't (?:deduce template parameter|infer template argument)", n) for n in notes)
    return messages.say("hint.untold_type", name=name) if name in _OF_TYPE and untold else None


def _counts(name: str, arguments: list[str], notes: list[str]) -> Advice | None:
    found = [m for n in notes if (m := _COUNTS.search(n))]
    if not found or len(found) < len(
        [n for n in notes if re.search(r"not viable|candidate expects|candidate template ignored", n)]
    ):
        return None
    have, candidates = found[0]["have"], _candidates(notes)
    if any(len(c.written) == int(have) and not c.counts() for c in candidates):
        return None  # a form with so many there is: something else is wrong
    counted = [(c.wants(int(m["want"])), m) for c in candidates for m in c.counts()]
    want = sorted({n for n, _ in counted} or {int(m["want"]) for m in found})
    told = dict(name=name, have=have, want=" / ".join(map(str, want)))
    if name == "DataCopyPad":
        return messages.say("hint.pad_count", **told)
    if forms := _forms(name, candidates):
        return messages.say("hint.form_count", **told, forms=forms)
    return messages.say("hint.arg_count", **told)


def _no_form(name: str, candidates: list[_Candidate]) -> Advice:
    if forms := _forms(name, candidates):
        return messages.say("hint.call_form", name=name, forms=forms)
    return messages.say("hint.call", name=name)


def _forms(name: str, candidates: list[_Candidate]) -> str:
    """How a function may be called that is no instruction of the kind (dst, ..., count); "" for one, and of clang."""
    if any(c.ends_with_count for c in candidates):
        return ""
    forms = list(dict.fromkeys(c.form(name) for c in candidates))
    return "; ".join(forms[:3]) + ("; ..." if len(forms) > 3 else "")


_FEW = re.compile(r"too (?P<how>few|many) arguments to (?:member )?function(?: call)?(?: '(?P<signature>[^']+)')?")


def _argument_count(error: Diagnostic, context: ErrorContext) -> Advice | None:
    m = _FEW.search(error.message)
    if not m or not m["signature"]:
        return None
    name, _ = _call_parts(m["signature"].partition(" [with ")[0].rpartition(")")[0] + ")")
    name = (name.split() or ["?"])[-1]
    params = [p for p in _parameters(m["signature"]) if p != _HERE]
    key = "hint.kernel_params" if name in context.kernels else "hint.params" if params else "hint.no_params"
    return messages.say(key, name=name, want=len(params), params=", ".join(params))


# ---- conversions

_INITIALIZING = re.compile(r"initializing argument (?P<i>\d+) of '(?:[^'(]*?[\s:])?(?P<name>\w+)(?:<[^']*>)?\(")
_FROM_TO = re.compile(r"'(?P<a>[^']+)'(?: (?:\{aka|\(aka) '[^']*'[})])? to '(?P<b>[^']+)'")


def _argument(error: Diagnostic, context: ErrorContext) -> Advice | None:
    """g++ gives the types in the message; the argument's number and the function are in a note."""
    m = next((m for n in error.notes if (m := _INITIALIZING.search(n.text))), None)
    types = _FROM_TO.search(error.message)
    if m and f"{_HERE}::" in m[0]:
        return messages.say("hint.extra")
    if not m or not types or "*" in types["a"] and "*" in types["b"]:
        return None
    key = "hint.kernel_type" if m["name"] in context.kernels else "hint.argument_type"
    return messages.say(key, name=m["name"], i=m["i"], a=types["a"], b=types["b"])


_CONVERT = re.compile(
    r"(?:conversion from|cannot convert|could not convert (?:'[^']*' from)?|no viable conversion from"
    r"|invalid conversion from|no viable overloaded '=')\s*'(?P<a>[^']+)'(?: (?:\{aka|\(aka) '[^']*'[})])?"
    r"(?: to (?:non-scalar type )?'(?P<b>[^']+)')?"
)


_ASSIGNED = re.compile(r"no match for 'operator=' in .* \(operand types are '(?P<b>[^']+)' and '(?P<a>[^']+)'\)")  # g++


def _conversion(error: Diagnostic, context: ErrorContext) -> Advice | None:
    m = _CONVERT.search(error.message) or _ASSIGNED.search(error.message)
    if not m or not m["b"]:
        return None
    a, b = _TENSOR.search(m["a"]), _TENSOR.search(m["b"])
    if a and b and a["kind"] == b["kind"]:
        return messages.say("hint.convert_tensor", a=a["type"], b=b["type"], kind=a["kind"])
    if a and b:
        return messages.say("hint.convert_place", a=f"{a['kind']}Tensor", b=f"{b['kind']}Tensor")
    if re.search(r"(?:uint8_t|unsigned char) ?\*", m["a"]) and "*" in m["b"]:
        return messages.say("hint.gm_cast", a=m["a"], b=m["b"].rstrip("* ").replace("const ", ""))
    return None
