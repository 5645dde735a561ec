"""A prediction's question: its numbers, its text with the numbers in it, and the answer, worked out from the spec."""

from __future__ import annotations

import math
from typing import Any

from labkit import chips
from labkit.exercises.spec import Spec, SpecError, pick

_NAMES = {
    name: getattr(math, name) for name in ("ceil", "floor", "log2", "log", "sqrt", "exp", "gcd", "lcm", "prod", "pi")
}
_NAMES |= {
    "min": min,
    "max": max,
    "abs": abs,
    "round": round,
    "sum": sum,
    "int": int,
    "float": float,
    "len": len,
    "range": range,
}


def given(spec: Spec) -> dict[str, Any]:
    """The question's numbers, expressions worked out in their order."""
    values: dict[str, Any] = {}
    for name, value in spec.given.items():
        values[name] = evaluate(spec, value[1:], values) if isinstance(value, str) and value.startswith("=") else value
    return values


def evaluate(spec: Spec, expression: str, values: dict[str, Any] | None = None) -> Any:
    """An expression over given, chip["dotted.name"] and math. Raises SpecError with the expression."""
    values = given(spec) if values is None else values
    try:
        return eval(expression, {"__builtins__": {}, **_NAMES, "chip": _Chip(), **values})
    except Exception as error:
        raise SpecError(f"{spec.folder.name}/spec.toml: {expression!r} cannot be worked out: {error}") from error


class _Chip:
    """chip["ub.bytes"]: a number of the chip table, read when it is asked for."""

    def __getitem__(self, name: str):
        value = chips.flat(chips.DEFAULT)[name]
        return int(value) if value == int(value) else value


def answer(spec: Spec) -> Any:
    """The right answer."""
    if spec.answer.callable:
        return spec.function(spec.answer.callable)(**given(spec))
    return evaluate(spec, spec.answer.value)


def question(spec: Spec, lang: str | None = None) -> str:
    """The question with its numbers, and its choices."""
    lines = [filled(spec, spec.question, lang)]
    lines += [f'- `"{c["key"]}"`: {filled(spec, c, lang)}' for c in spec.answer.choices]
    return "\n".join(lines) if len(lines) == 1 else lines[0] + "\n\n" + "\n".join(lines[1:])


def filled(spec: Spec, table: dict, lang: str | None = None) -> str:
    """A text of the spec; in a prediction's texts {name} stands for a given number."""
    text = pick(table, lang)
    return text.format(**given(spec)) if spec.kind == "predict" else text
