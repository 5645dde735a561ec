"""From (got, expected) to what went wrong: a key, its numbers and a core x tile map.

A difference ("max error 3.2 at 992") shows a learner that the kernel is wrong; a diagnosis ("only the last 8 elements
of each core, and they were never written") shows where to look. Pure functions; numpy only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from labkit import messages
from labkit.exercises.cases import tolerance_of
from labkit.exercises.layout import MismatchMap, layouts, mismatch_map
from labkit.exercises.patterns import PATTERNS, Evidence
from labkit.exercises.value_remarks import remark, written

# Keys that say little: another case of the same check may say more. WHOLE: true of any very small case.
VAGUE = ("scattered", "wrong-everywhere", "value", "rounding")
WHOLE = ("unwritten", "all-zero")


@dataclass(frozen=True)
class Diagnosis:
    """key: a section `diagnosis.<key>` of diagnosis.toml, or a finding's code. state: what the wrong elements hold.
    say: a sentence that names the mistake, in the language in force; it comes first.
    """

    key: str
    numbers: dict = field(default_factory=dict)
    state: str = ""
    map: MismatchMap | None = None
    finding: Any = None
    say: str = ""

    def lines(self, lang: str | None = None) -> list[str]:
        """[what, why, try], and a line on what the wrong elements hold; [the mistake, what was seen] where `say` is."""
        if self.finding is not None:
            told = list(self.finding.lines())
            return [self.say, told[0]] if self.say else told
        if self.key in ("prediction-mutant", "prediction-formula", "prediction-wrong-choice"):
            return [messages.text(f"diagnosis.{self.key}", lang=lang, **self.numbers)]
        told = messages.lines(f"diagnosis.{self.key}", lang=lang, **self.numbers)
        inside = self.numbers.get("inside")  # the key of a dict, or (k, n): result k of n
        if inside is not None:
            part = (
                messages.text("diagnosis.result", lang=lang, k=inside[0], n=inside[1])
                if isinstance(inside, tuple)
                else inside
            )
            told[0] = messages.text("diagnosis.part", lang=lang, part=part, what=told[0])
        if self.state and self.key not in ("unwritten", "all-zero"):
            told[0] += " " + messages.text(f"diagnosis.state-{self.state}", lang=lang)
        return [self.say, told[0]] if self.say else told

    def where(self) -> str:
        """file:line of a finding, "" otherwise."""
        return f"{self.finding.file}:{self.finding.line}" if self.finding is not None else ""


# Two copies to one place: often what another mistake leads to, which a further finding or the numbers name. A barrier
# that is missing between two products: the twin's numbers do not depend on it, so wrong ones have another cause.
FOLLOWS = ("copy-order", "mmad-order")


def first_error(record) -> Diagnosis | None:
    """The first finding of severity error, as a diagnosis; one that may follow from another comes last."""
    errors = [f for f in getattr(record, "findings", None) or () if f.severity == "error"]
    finding = min(errors, key=lambda f: f.code in FOLLOWS, default=None)
    return None if finding is None else Diagnosis(finding.code, dict(finding.numbers), finding=finding)


def certain(found: Diagnosis | None) -> bool:
    """Whether it is a finding that stands for itself, whatever the numbers are."""
    return found is not None and found.finding is not None and found.key not in FOLLOWS


def more_telling(found: Diagnosis | None, seen: Diagnosis | None) -> Diagnosis | None:
    """Of a finding and of what the numbers show: the one that names the mistake."""
    return found if found and (certain(found) or seen is None or seen.key in VAGUE) else seen


def of_program(result) -> Diagnosis | None:
    """What is wrong with a program's run apart from its results:
    a finding (for a program each of them counts), or its status.
    """
    finding = min(result.findings, key=lambda f: f.severity != "error", default=None)
    if finding is not None:
        return Diagnosis(finding.code, dict(finding.numbers), finding=finding)
    return Diagnosis("status", {"status": result.status}) if result.status else None


def not_launched(result, solution: str) -> Diagnosis | None:
    """A kernel that our solution launches and the program's record of launches has not, whatever was printed."""
    there = {launch.kernel for launch in result.launches if launch.us}
    for name in dict.fromkeys(re.findall(r"\b(\w+)\s*(?:<[^<>;]*>)?\s*<<<", solution)):
        if not any(name == k or re.search(rf"\b{name}\b", k) for k in there):
            return Diagnosis("not-launched", {"kernel": name})
    return None


def not_fetched(got, at, spec, made, case) -> Diagnosis | None:
    """A program that prints the same when what its launches wrote was changed: its result is not the device's. Where
    golden.py says how much is then wrong, not all of it is.
    """
    again = at.run_program(spec, made, case, spoil=True)[0]
    lines = again["printed"] if isinstance(again, dict) and "printed" in again else again
    partly = case.spoiled is not None and lines != list(case.spoiled)
    return Diagnosis("not-fetched") if partly or again == got else None


def of_output(got: Any, expected: Any, tolerance: tuple[float, float] | None = None) -> Diagnosis | None:
    """A program prints where a function returns. {"printed": ..., "launches": ...}: its launches are compared too."""
    both = isinstance(expected, dict) and expected.keys() == {"printed", "launches"} == got.keys()
    lines, right = (got["printed"], expected["printed"]) if both else (got, expected)
    found = compare_values(lines, right, tolerance)
    if found is None and both and got["launches"] != expected["launches"]:
        return Diagnosis(
            "other-launches", {k: "; ".join(v["launches"]) for k, v in (("got", got), ("expected", expected))}
        )
    return Diagnosis("printed", found.numbers) if found is not None and found.key == "value" else found


def diagnose(
    got,
    expected,
    tolerance: tuple[float, float] | None = None,
    *,
    blocks: int | None = 1,
    tile: int | None = None,
    record=None,
    initial=None,
    dtype: str | None = None,
    split: Sequence[int] | None = None,
    layout: str = "contiguous",
) -> Diagnosis | None:
    """None when `got` is right and the launch found no error.

    got, expected: arrays (any numeric dtype; bfloat16 as float32 with dtype="bfloat16"). initial: scalar or array, what
    the output held before the launch. The other arguments are those of Case.
    """
    found = first_error(record)
    if certain(found):
        return found
    got, expected = np.asarray(got), np.asarray(expected)
    dtype = dtype or str(expected.dtype)
    if got.shape != expected.shape:
        return Diagnosis("shape", {"got_shape": _shape(got), "expected_shape": _shape(expected)})
    rtol, atol = tolerance_of(dtype, tolerance)
    wrong = mismatches(got, expected, rtol, atol)
    if not wrong.any():
        return found
    itemsize = 2 if dtype in ("float16", "bfloat16") else expected.dtype.itemsize
    inside = {}
    if "c" in (got.dtype.kind, expected.dtype.kind):  # patterns are of real numbers: those of the part that is wrong
        part = "imag" if np.array_equal(got.real[wrong], expected.real[wrong], equal_nan=True) else "real"
        got, expected, inside = getattr(got, part), getattr(expected, part), {"inside": part}
        initial = None if initial is None else getattr(np.asarray(initial), part)
    flat = [np.asarray(a).reshape(-1).astype(np.float64) for a in (got, expected)]
    tried = layouts(len(flat[0]), blocks or 1, tile, split, layout, itemsize)
    start = None if initial is None else np.broadcast_to(np.asarray(initial, np.float64), got.shape).reshape(-1)
    evidence = Evidence(
        *flat,
        wrong.reshape(-1),
        rtol,
        atol,
        dtype,
        itemsize,
        expected.shape[-1] if expected.ndim > 1 else 0,
        tried,
        start,
    )
    with np.errstate(all="ignore"):
        key, numbers = _first_match(evidence)
    seen = Diagnosis(
        key, {**_common(evidence), **numbers, **inside}, evidence.state, mismatch_map(evidence.wrong, tried[0])
    )
    return more_telling(found, seen)


def mismatches(got: np.ndarray, expected: np.ndarray, rtol: float, atol: float) -> np.ndarray:
    """bool array: where `got` is not within atol + rtol * |expected|. Equal infinities and NaN for NaN are right."""
    if got.dtype.kind in "biu" and expected.dtype.kind in "biu" and not rtol and not atol:
        return got != expected
    wide = np.complex128 if "c" in (got.dtype.kind, expected.dtype.kind) else np.float64
    got, expected = got.astype(wide), expected.astype(wide)
    with np.errstate(invalid="ignore", over="ignore"):
        close = np.abs(got - expected) <= atol + rtol * np.abs(expected)
    finite = np.isfinite(expected) & np.isfinite(got)
    return ~np.where(finite, close, (got == expected) | (np.isnan(got) & np.isnan(expected)))


def _first_match(evidence: Evidence) -> tuple[str, dict]:
    for key, pattern in PATTERNS:
        found = pattern(evidence)
        if found is not None:
            return found if isinstance(found, tuple) else (key, found)
    raise AssertionError("the last pattern always matches")


def _common(e: Evidence) -> dict:
    """Numbers every message may use. Indices are flat; values as a reader wants them (4 digits)."""
    first = int(e.at[0])
    error = np.abs(e.got - e.expected)[e.at]
    return {
        "n": e.n,
        "count": len(e.at),
        "percent": 100 * len(e.at) / e.n,
        "first": first,
        "last": int(e.at[-1]),
        **dict(zip(("got", "expected"), _two(e.got[first], e.expected[first]))),
        "max_error": float(error.max()),
        "blocks": e.layouts[0].blocks,
        "tile": e.tile or "?",
        "dtype": e.dtype,
        "align": max(1, 32 // e.itemsize),
        "itemsize": e.itemsize,
    }


def _two(got: float, expected: float) -> tuple:
    """Both in four digits, or in as many more as it takes to see that they differ."""
    digits = 4
    while digits < 17 and got != expected and _number(got, digits) == _number(expected, digits):
        digits += 1
    return _number(got, digits), _number(expected, digits)


def _number(x: float, digits: int):
    return int(x) if np.isfinite(x) and x == int(x) and abs(x) < 1e6 else float(f"{x:.{digits}g}")


def _shape(a: np.ndarray) -> str:
    return "x".join(map(str, a.shape)) or "scalar"


def compare_values(got: Any, expected: Any, tolerance: tuple[float, float] | None = None) -> Diagnosis | None:
    """As `diagnose` for a Python function's result: numbers, text, sequences and dicts of them;
    tensors go to `diagnose`.
    """
    got, expected = _plain(got), _plain(expected)
    array = _as_array(expected)
    if array is not None:
        mine = _as_array(got)
        if mine is None:
            return _value(got, expected)
        if mine[1] != array[1]:
            return Diagnosis("dtype", {"got_dtype": mine[1], "expected_dtype": array[1]})
        return diagnose(mine[0], array[0], tolerance, dtype=array[1])
    if isinstance(expected, dict):
        if isinstance(got, dict) and got.keys() == expected.keys():  # only what differs is shown
            wrong = {k: found for k in expected if (found := compare_values(got[k], expected[k], tolerance))}
            part, other = next(((k, found) for k, found in wrong.items() if found.key != "value"), (None, None))
            if other:
                other.numbers.setdefault("inside", str(part))
            return other or (
                Diagnosis(
                    "value",
                    {"got": _short({k: got[k] for k in wrong}), "expected": _short({k: expected[k] for k in wrong})},
                    say=remark(got, expected, list(wrong)),
                )
                if wrong
                else None
            )
        pairs = None
    elif isinstance(expected, (list, tuple)):
        pairs = list(zip(got, expected)) if isinstance(got, (list, tuple)) and len(got) == len(expected) else None
    elif isinstance(expected, (float, complex)):
        is_number = isinstance(got, (int, float, type(expected))) and not isinstance(got, bool)
        return None if is_number and _close(got, expected, *tolerance or (1e-6, 1e-9)) else _value(got, expected)
    else:
        return (
            None
            if type(got) is type(expected) and got == expected or _int_equal(got, expected)
            else _value(got, expected)
        )
    if pairs is None:
        return _value(got, expected)
    for k, (mine, theirs) in enumerate(pairs, 1):
        if found := compare_values(mine, theirs, tolerance):
            if found.key == "value":
                return _value(got, expected)
            if len(pairs) > 1:
                found.numbers.setdefault("inside", (k, len(pairs)))
            return found
    return None


def _plain(value: Any) -> Any:
    """A number of numpy's as Python's: which of the two a function returns is no matter."""
    return value.item() if isinstance(value, np.generic) else value


def _close(got, expected, rtol: float, atol: float) -> bool:
    """Equal, both NaN, or finite and near."""
    if got == expected or got != got and expected != expected:
        return True
    try:
        return abs(expected) < math.inf and abs(got - expected) <= atol + rtol * abs(expected)
    except OverflowError:  # an int that no float can hold
        return False


def _value(got: Any, expected: Any) -> Diagnosis:
    return Diagnosis("value", {"got": _short(got), "expected": _short(expected)}, say=remark(got, expected))


def _int_equal(got, expected) -> bool:
    return (
        isinstance(expected, int)
        and not isinstance(expected, bool)
        and isinstance(got, (int, float))
        and not isinstance(got, bool)
        and got == expected
    )


def _short(value: Any, limit: int = 160) -> str:
    text = written(_named(value))
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _named(value: Any) -> Any:
    """The same with tensors too long to read replaced by their shape."""
    if isinstance(value, dict):
        return {k: _named(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_named, value)) if type(value) in (list, tuple) else value
    array = _as_array(value)
    return _Shape(array[0].shape) if array is not None and array[0].size > 16 else value


class _Shape(tuple):
    def __repr__(self) -> str:
        return f"tensor({', '.join(map(str, self))})"


def _as_array(value: Any) -> tuple[np.ndarray, str] | None:
    """(array, dtype name) of a tensor or array of at least one dimension or any tensor; None for anything else."""
    if isinstance(value, np.ndarray):
        return value, str(value.dtype)
    if type(value).__module__.split(".")[0] == "torch" and hasattr(value, "detach"):
        return tensor_to_numpy(value)
    return None


def tensor_to_numpy(tensor) -> tuple[np.ndarray, str]:
    """(array, dtype name); bfloat16 and complex32, which numpy has not, as float32 and complex64."""
    name = str(tensor.dtype).replace("torch.", "")
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    if tensor.is_complex():
        return (tensor.cfloat() if name == "complex32" else tensor).numpy(), name
    if name not in (
        "float16",
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "bool",
    ):
        tensor = tensor.float()
    return tensor.numpy(), name
