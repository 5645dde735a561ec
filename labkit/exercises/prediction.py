"""Predict before you run: an answer, judged against one that is computed from the spec, never typed into it."""

from __future__ import annotations

import math
import time
from decimal import Decimal
from fractions import Fraction
from numbers import Number
from typing import Any

from labkit import messages
from labkit.exercises import formula_slips
from labkit.exercises.diagnose import Diagnosis
from labkit.exercises.judge import finish
from labkit.exercises.question import answer, evaluate, filled
from labkit.exercises.result import CheckFailed, Result
from labkit.exercises.spec import Spec, load, pick
from labkit.exercises.value_remarks import factor, written
from labkit.launch.record import strict


def predict(exercise_id: str, value: Any) -> Result:
    """Check a prediction. `...` is TODO. Raises SpecError, and CheckFailed under LABKIT_STRICT=1 unless PASS."""
    spec = load(exercise_id)
    if spec.kind != "predict":
        raise TypeError(f"{exercise_id} is not a prediction: its cell starts with %%exercise {exercise_id}")
    started = time.perf_counter()
    result = examine(spec, value)
    finish(spec, result, written(value), time.perf_counter() - started)
    if strict() and result.state in ("FAIL", "TODO"):
        raise CheckFailed(result)
    return result


def examine(spec: Spec, value: Any) -> Result:
    """The verdict alone."""
    result = Result(spec.id, "PASS", target="host")
    if value is Ellipsis:
        result.state, result.lines = "TODO", [messages.text("exercise.todo-predict")]
        return result
    if spec.answer.withheld:
        result.state, result.lines = "SKIP", [messages.text("exercise.withheld")]
        return result
    right, value = answer(spec), _plain_value(spec, value)
    found = judge(spec, value, right)
    shown = show(spec, value)
    if found is None:
        result.lines = [messages.text("exercise.pass-predict", got=shown)]
    else:
        result.state, result.diagnosis, result.numbers = "FAIL", found.key.removeprefix("prediction-"), found.numbers
        result.lines = found.lines()
    return result


def _plain_value(spec: Spec, value: Any) -> Any:
    """A tensor of one number, a number that was typed as text, a Decimal or a Fraction, as the number; one that no
    float can hold as infinity. A whole number that names a choice as that choice: 3 for "3"."""
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    if spec.answer.type == "choice" and type(value) is int:
        key = str(value)
        return key if key in {_plain(c["key"]) for c in spec.answer.choices} else value
    if spec.answer.type != "number":
        return value
    try:
        if isinstance(value, str):
            return float(value.replace(",", ""))
        if isinstance(value, (Decimal, Fraction)):
            return float(value)
        if isinstance(value, int):
            float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except ValueError:  # a word, which is no number; Decimal's signalling NaN
        return value if isinstance(value, str) else math.nan
    return value


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
        return Diagnosis("prediction-type", {"got": written(value), "wanted": wanted, "example": examples[wanted]})
    if is_number and not math.isfinite(value):
        return Diagnosis("prediction-not-finite", {"got": show(spec, value)})
    if equal(spec, value, right):
        return None
    got = show(spec, value)
    fits = [m for m in spec.mutants if m.say and equal(spec, value, evaluate(spec, m.value))]
    if fits:  # two ways to one number: nobody knows which was gone
        say = filled(spec, fits[0].say)
        for other in fits[1:]:
            say = messages.text("exercise.or", one=say, other=filled(spec, other.say))
        return Diagnosis("prediction-mutant", {"got": got, "say": say})
    if wanted == "text":
        return Diagnosis("prediction-wrong-text", {"got": got})
    if wanted == "choice":
        return Diagnosis("prediction-wrong-choice", {"got": got})
    if slip := formula_slips.sentence(spec, value, right):
        return Diagnosis("prediction-formula", {"got": got, "say": slip})
    side = messages.text("exercise.large" if abs(value) > abs(right) else "exercise.small")
    share = unit(spec) == "%"
    times = 0 if share else factor(value, right)
    numbers = {"got": got, "factor": times or _times(value, right), "side": side, "unit": unit(spec) or "-"}
    return Diagnosis(_number_key(value, right, share), numbers)


def _number_key(value: Any, right: Any, share: bool) -> str:
    """share: in per cent, of which no unit is off by 2 or by 8."""
    if isinstance(right, int) and abs(value - right) == 1:
        return "prediction-off-by-one"
    if value == -right:
        return "prediction-sign"
    if not share and factor(value, right) and value * right > 0:
        return "prediction-unit-factor"
    if _times(value, right) and value * right > 0:
        return "prediction-times" if abs(value) > abs(right) else "prediction-part"
    return "prediction-too-big" if value > right else "prediction-too-small"


def _times(a: Any, b: Any) -> int:
    """The small whole number by which two numbers differ, 0 if by none."""
    ratio = max(abs(a), abs(b)) / min(abs(a), abs(b)) if a and b else 0
    return round(ratio) if ratio < 12.5 and abs(ratio - round(ratio)) <= 1e-3 else 0
