"""Predict before you run: an answer, judged against one that is computed from the spec, never typed into it."""

from __future__ import annotations

import math
import time
from numbers import Number
from typing import Any

from labkit import chips, messages
from labkit.exercises.diagnose import Diagnosis
from labkit.exercises.judge import finish
from labkit.exercises.result import CheckFailed, Result
from labkit.exercises.spec import Spec, SpecError, load, pick
from labkit.launch.record import strict

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
# A wrong unit: bytes for elements (2, 4, 8), bits for bytes, a repeat or a unit (32), KB, and thousands.
_UNITS = (2, 4, 8, 16, 32, 1000, 1024, 10**6, 1024**2, 10**9, 1024**3)


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


def predict(exercise_id: str, value: Any) -> Result:
    """Check a prediction. `...` is TODO. Raises SpecError, and CheckFailed under LABKIT_STRICT=1 unless PASS."""
    spec = load(exercise_id)
    if spec.kind != "predict":
        raise TypeError(f"{exercise_id} is not a prediction: its cell starts with %%exercise {exercise_id}")
    started = time.perf_counter()
    result = examine(spec, value)
    finish(spec, result, repr(value), time.perf_counter() - started)
    if strict() and result.state in ("FAIL", "TODO"):
        raise CheckFailed(result)
    return result


def examine(spec: Spec, value: Any) -> Result:
    """The verdict alone."""
    result = Result(spec.id, "PASS", target="host")
    if value is Ellipsis:
        result.state, result.lines = "TODO", [messages.text("exercise.todo-predict")]
        return result
    right = answer(spec)
    found = judge(spec, value, right)
    shown = show(spec, value)
    if found is None:
        result.lines = [messages.text("exercise.pass-predict", got=shown)]
    else:
        result.state, result.diagnosis, result.numbers = "FAIL", found.key.removeprefix("prediction-"), found.numbers
        result.lines = found.lines()
    return result


def unit(spec: Spec) -> str:
    """The answer's unit in the language in force."""
    return pick(spec.answer.unit) if isinstance(spec.answer.unit, dict) else spec.answer.unit


def show(spec: Spec, value: Any) -> str:
    return (f"{value:g}" if isinstance(value, float) else str(value)) + (f" {unit(spec)}" if unit(spec) else "")


def equal(spec: Spec, value: Any, right: Any) -> bool:
    """Is `value` the answer, within the spec's tolerance?
    Text: case and spaces do not matter, any of a list will do.
    """
    if spec.answer.type == "number":
        whole = isinstance(right, int)
        rtol = spec.answer.rtol if spec.answer.rtol is not None else 0.0 if whole else 0.01
        return abs(value - right) <= spec.answer.atol + rtol * abs(right)
    accepted = right if isinstance(right, (list, tuple)) else [right]
    return _plain(value) in {_plain(word) for word in accepted}


def _plain(word: Any) -> str:
    return "".join(str(word).split()).casefold()


def judge(spec: Spec, value: Any, right: Any) -> Diagnosis | None:
    """None when right; else the diagnosis. A mutant with words of its own comes first."""
    wanted = {"number": "number", "text": "text", "choice": "choice"}[spec.answer.type]
    is_number = isinstance(value, Number) and not isinstance(value, (bool, complex))
    if (
        is_number != (wanted == "number")
        or wanted == "choice"
        and _plain(value) not in {_plain(c["key"]) for c in spec.answer.choices}
    ):
        examples = {
            "number": "42",
            "text": '"MTE2"',
            "choice": " / ".join(f'"{c["key"]}"' for c in spec.answer.choices),
        }
        return Diagnosis("prediction-type", {"got": repr(value), "wanted": wanted, "example": examples[wanted]})
    if equal(spec, value, right):
        return None
    got = show(spec, value)
    for mutant in spec.mutants:
        if mutant.say and equal(spec, value, evaluate(spec, mutant.value)):
            return Diagnosis("prediction-mutant", {"got": got, "say": filled(spec, mutant.say)})
    if wanted == "text":
        return Diagnosis("prediction-wrong-text", {"got": got})
    if wanted == "choice":
        return Diagnosis("prediction-wrong-choice", {"got": got})
    return Diagnosis(
        _number_key(value, right), {"got": got, "factor": _factor(value, right), "unit": unit(spec) or "-"}
    )


def _factor(value: Any, right: Any) -> float | int:
    ratio = max(abs(value), abs(right)) / min(abs(value), abs(right)) if value and right else 0
    return next((f for f in _UNITS if abs(ratio - f) <= 1e-3 * f), 0)


def _number_key(value: Any, right: Any) -> str:
    if isinstance(right, int) and abs(value - right) == 1:
        return "prediction-off-by-one"
    if value == -right:
        return "prediction-sign"
    if _factor(value, right) and value * right > 0:
        return "prediction-unit-factor"
    return "prediction-too-big" if value > right else "prediction-too-small"
