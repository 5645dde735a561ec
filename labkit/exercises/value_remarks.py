"""What two values of a Python exercise say about each other: one sentence, "" where nothing is sure."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np

from labkit import messages

# A wrong unit: bytes for elements (2, 4, 8), bits for bytes, a repeat or a unit (16, 32), KB, and thousands.
UNITS = (2, 4, 8, 16, 32, 1000, 1024, 10**6, 1024**2, 10**9, 1024**3)


def factor(a: Any, b: Any) -> int:
    """The unit by which two numbers differ, 0 if by none."""
    if not a or not b or (a < 0) != (b < 0):
        return 0
    try:
        ratio = max(abs(a), abs(b)) / min(abs(a), abs(b))
    except OverflowError:  # an int that no float can hold
        return 0
    return next((f for f in UNITS if abs(ratio - f) <= 1e-3 * f), 0)


def in_one_case(got: Any, expected: Any, pairs: list) -> bool:
    """Do got and expected differ by a unit, and another pair (got, expected) of numbers by anything else?"""
    unit = factor(got, expected) if _number(got) and _number(expected) else 0
    numbers = [(a, b) if abs(got) > abs(expected) else (b, a) for a, b in pairs if _number(a) and _number(b)]
    return unit > 0 and any(abs(large - small * unit) > unit for large, small in numbers)  # unit: both may be rounded


def written(value: Any) -> str:
    """What repr says; of a value that cannot say it (an int of 5000 digits, a repr that raises) its type."""
    try:
        return repr(value)
    except Exception:
        return f"<{type(value).__name__}>"


def remark(got: Any, expected: Any, wrong: list | None = None) -> str:
    """In the language in force. wrong: of two dicts the keys that differ by more than their tolerance."""

    def say(key: str, **numbers) -> str:
        return messages.text(f"value.{key}", **numbers)

    if got is None:
        return say("none")
    if _number(expected) and _number(got):
        return _of_numbers(got, expected, say)
    if isinstance(expected, dict):
        if not isinstance(got, dict):
            return say("type", got=type(got).__name__, expected="dict")
        missing, more = [k for k in expected if k not in got], [k for k in got if k not in expected]
        alike = {*map(str, missing)} & {*map(str, more)}  # 1 and "1"
        missing, more = (list(map(written if alike else str, keys)) for keys in (missing, more))
        if missing or more:
            return say("keys", missing=", ".join(missing) or "-", more=", ".join(more) or "-")
        wrong = wrong or [k for k in expected if not _equal(got[k], expected[k])]
        if statements(expected):
            told = [
                say("statement", what=k, got=_word(got[k]), expected=_word(expected[k])) for k in wrong if k != "result"
            ]
            first = next((k for k in wrong if isinstance(expected[k], list)), None)
            inner = remark(got[first], expected[first]) if len(wrong) == 1 and first is not None else ""
            return f"{first}: {inner}" if inner else " ".join(told[:3])
        inner = remark(got[wrong[0]], expected[wrong[0]]) if len(wrong) == 1 else ""
        if not inner and all(isinstance(x[k], str) for x in (got, expected) for k in wrong):  # beside a result
            return " ".join(say("statement", what=k, got=got[k], expected=expected[k]) for k in wrong[:3])
        return f"{wrong[0]}: {inner}" if inner else ""
    if isinstance(expected, (list, tuple)):
        return _of_sequences(got, expected, say)
    if type(got) is not type(expected) and type(expected) in (str, bool, int):
        return say("type", got=type(got).__name__, expected=type(expected).__name__)
    if isinstance(expected, str) and got.strip().lower() == expected.strip().lower():
        return say("spelling")
    if isinstance(expected, str) and expected.isalpha() and len(got.split()) > 3:  # golden's own words
        return say("told", got=got, expected=expected)
    return ""


def missing_product(got: Any, expected: Any, named: dict[str, Any]) -> str:
    """That one number is the other one times an argument of the function, or times two of them; "" where it is not, or
    several would do. A pair of sequences is asked for its one place that differs."""
    if isinstance(expected, (list, tuple)) and isinstance(got, (list, tuple)) and len(got) == len(expected):
        wrong = [(a, b) for a, b in zip(got, expected) if not _equal(a, b)]
        got, expected = wrong[0] if len(wrong) == 1 else (None, None)
    if not (_number(got) and _number(expected)) or got * expected <= 0:
        return ""
    ratio = max(got / expected, expected / got)
    known = [(n, v) for n, v in named.items() if _number(v) and v > 1]
    pairs = [(f"{a} * {b}", x * y) for i, (a, x) in enumerate(known) for b, y in known[i:]]
    fits = [name for name, value in (*known, *pairs) if abs(ratio - value) <= 1e-6 * value]
    if len(fits) != 1:
        return ""
    return messages.text("value.without" if abs(got) < abs(expected) else "value.with", name=fits[0])


def unchanged(got: Any, expected: Any, named: dict[str, Any]) -> str:
    """That what is wrong in a sequence stands there as an argument of the function had it; "" where it does not."""
    if not all(isinstance(x, (list, tuple)) and len(x) == len(expected) for x in (got, expected)):
        return ""
    wrong = [k for k in range(len(expected)) if not _equal(got[k], expected[k])]
    if not wrong or not all(map(_number, (*got, *expected))):
        return ""
    for name, value in named.items():
        same = isinstance(value, (list, tuple)) and len(value) == len(got)
        if same and all(_equal(value[k], got[k]) for k in wrong):
            return messages.text("value.unchanged", name=name, places=", ".join(map(str, wrong[:4])))
    return ""


def chosen(got: Any, expected: Any, named: dict[str, Any]) -> str:
    """That both numbers stand in one sequence among the function's arguments: another was taken than should be."""
    if not (_number(got) and _number(expected)) or _equal(got, expected):
        return ""
    for name, value in named.items():
        if isinstance(value, (list, tuple)) and all(map(_number, value)) and got in value and expected in value:
            return messages.text("value.chosen", name=name, got=got, expected=expected)
    return ""


def statements(expected: Any) -> bool:
    """A few words of golden's own about the result, in place of the result."""
    if not isinstance(expected, dict):
        return False
    values = list(expected.values())
    return any(isinstance(v, bool) for v in values) or len(values) < 6 and all(isinstance(v, str) for v in values)


def _word(value: Any) -> str:
    return messages.text("value.yes" if value else "value.no") if isinstance(value, bool) else str(value)


def _permuted(some, others) -> bool:
    """The same elements, as often each, in any order; of what cannot be compared, as tensors, nothing is said."""
    left = list(others)
    for x in some:
        at = next((i for i, y in enumerate(left) if _equal(x, y)), None)
        if at is None:
            return False
        del left[at]
    return not left


def _without(some, others) -> list:
    left = list(others)
    return [x for x in some if x not in left or left.remove(x)]


def _of_numbers(got, expected, say) -> str:
    if isinstance(expected, int) and isinstance(got, float) and not got.is_integer():
        return say("float")
    if isinstance(expected, int) and abs(got - expected) == 1:
        return say("one-more" if got > expected else "one-less")
    if got == -expected and got:
        return say("sign")
    if unit := factor(got, expected):
        return say("times" if abs(got) > abs(expected) else "part", factor=unit)
    return ""


def _of_sequences(got, expected, say) -> str:
    if not isinstance(got, (list, tuple)):
        return say("type", got=type(got).__name__, expected=type(expected).__name__)
    if len(got) != len(expected) and all(isinstance(x, str) for x in (*got, *expected)):
        more, missing = _without(got, expected), _without(expected, got)
        key = "other" if more and missing else "more" if more else "less"
        return say(key, more=", ".join(map(repr, more)), missing=", ".join(map(repr, missing)))
    if len(got) != len(expected):
        return say("length", got=len(got), expected=len(expected))
    wrong = [k for k in range(len(expected)) if not _equal(got[k], expected[k])]
    numbers = all(_number(x) for x in (*got, *expected))
    if numbers and any(got) and all(_equal(a, -b) for a, b in zip(got, expected)):
        return say("signs")
    if len(wrong) > 1 and _permuted(got, expected):
        return say("order")
    if len(wrong) > 1 and len(expected) > 2:
        for key, mine, theirs in (("late", got[1:], expected[:-1]), ("early", got[:-1], expected[1:])):
            if all(map(_equal, mine, theirs)):
                return say(key)
    if all(isinstance(x, bool) for x in (*got, *expected)):
        told = [say("at", k=k, got=_word(got[k]), expected=_word(expected[k])) for k in wrong]
        return " ".join(told[:3])
    apart = {got[k] - expected[k] for k in wrong} if numbers else set()
    if len(wrong) > 1 and apart in ({1}, {-1}):
        key = "more" if apart == {1} else "less"
        return say(f"{key}-{'all' if len(wrong) == len(expected) else 'each'}", count=len(wrong), n=len(expected))
    if len(wrong) == 1 and len(expected) > 1:
        k = wrong[0]
        inner = remark(got[k], expected[k])
        return say("place", k=k, got=written(got[k]), expected=written(expected[k])) + (f" {inner}" if inner else "")
    return ""


def _number(x: Any) -> bool:
    return isinstance(x, Number) and not isinstance(x, (bool, complex))


def _equal(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except Exception:  # tensors of several elements
        return False


# ---- rows of a kernel's result


def of_rows(got: Any, expected: Any, inputs: list[Any]) -> str:
    """That each row is off by one number, or one factor, of its own, and which number of the row that is; "" otherwise.
    got, expected: arrays of rows of 4 elements or more, or of one number a row; inputs: arrays, those with as many rows
    are asked for their maximum, mean and so on."""
    several = got.ndim > 1 and got.shape[-1] >= 4
    width = got.shape[-1] if several else 1
    if got.shape != expected.shape or got.size < 2 * width:
        return ""
    a, b = (x.astype(np.float64).reshape(-1, width) for x in (got, expected))
    rows = [x.astype(np.float64).reshape(len(a), -1) for x in inputs if x.size and x.size % len(a) == 0]
    rows = [x for x in rows if x.shape[1] == width or not several and x.shape[1] > 3]
    with np.errstate(all="ignore"):
        sure = np.abs(b) > 1e-2 * np.abs(b).max()
        for key, values, valid in (("offset", a - b, np.ones_like(sure)), ("factor", a / b, sure)):
            values = np.where(valid, values, np.nan)
            if np.isnan(values).all(-1).any():
                continue
            middle = np.nanmedian(values, -1)
            apart = np.nanmax(np.abs(values - middle[:, None]), -1)
            most = np.abs(middle).max()
            room = 1e-2 * np.abs(middle) + (min(1e-2, 0.1 * most) if key == "offset" else 0)
            if not np.isfinite(most) or not (apart <= room).all() or np.ptp(middle) <= 0.05 * most:
                continue
            if name := _of_row(middle, rows):
                return messages.text(f"value.row-{key}-is", what=name)
            if several:
                return messages.text(f"value.row-{key}")
    return ""


def other_rows(got: Any, expected: Any, inputs: list[Any]) -> str:
    """That a result is made of rows, or columns, of an input, but of others than it should be; "" otherwise. All are
    arrays. Nothing is said of an input in which a row stands twice.
    """
    if got.shape != expected.shape or got.ndim < 2:
        return ""
    for number, given in enumerate(inputs, 1):
        for key, axis in ("rows", 0), ("columns", got.ndim - 1):
            if given.ndim != got.ndim:
                continue
            there = [line.tobytes() for line in np.moveaxis(given, axis, 0)]
            has, should = ([line.tobytes() for line in np.moveaxis(x, axis, 0)] for x in (got, expected))
            if len(set(there)) < len(there) or len(has) < 2 or not set(has) | set(should) <= set(there):
                continue
            a, b = (_listed([there.index(line) for line in lines]) for lines in (has, should))
            return messages.text(f"value.other-{key}", n=number, got=a, expected=b)
    return ""


def of_sign(got: Any, expected: Any, inputs: dict[str, Any]) -> str:
    """That a result is wrong exactly where an input of the same size is negative, positive or zero; "" otherwise. All
    are arrays; inputs: by name. Nothing is said of fewer than 8 elements, wrong or right, of that sign or of another.
    """
    if got.shape != expected.shape or got.dtype.kind not in "fiu":
        return ""
    a, b = (np.asarray(x, np.float64).reshape(-1) for x in (got, expected))
    with np.errstate(all="ignore"):
        wrong = ~(np.abs(a - b) <= 1e-2 * np.abs(b) + 1e-3 * np.abs(b[np.isfinite(b)]).max(initial=0.0))
    if min(wrong.sum(), (~wrong).sum()) < 8:
        return ""
    first = int(np.flatnonzero(wrong)[0])
    for name, given in inputs.items():
        if given.size != wrong.size or given.dtype.kind not in "fi":
            continue
        x = given.reshape(-1)
        for key, there in (("negative", x < 0), ("positive", x > 0), ("zero", x == 0)):
            if min(there.sum(), (~there).sum()) < 8 or wrong[~there].any():
                continue
            if wrong[there].mean() >= 0.95:
                where = messages.text(f"value.{key}")
                return messages.text(
                    "value.where-sign", name=name, where=where, got=f"{a[first]:.4g}", expected=f"{b[first]:.4g}"
                )
    return ""


def _listed(numbers: list[int], most: int = 6) -> str:
    return ", ".join(map(str, numbers[:most])) + (", ..." if len(numbers) > most else "")


def _of_row(numbers: np.ndarray, rows: list[np.ndarray]) -> str:
    for name, of in _OF_ROW.items():
        for x in rows:
            for sign, one in (("", of(x)), ("minus", -of(x)), ("inverse", 1 / of(x))):
                if np.allclose(numbers, one, rtol=2e-2, atol=1e-2):
                    what = messages.text(f"value.of-row-{name}")
                    return messages.text(f"value.of-row-{sign}", what=what) if sign else what
    return ""


_OF_ROW = {
    "max": lambda x: x.max(-1),
    "min": lambda x: x.min(-1),
    "mean": lambda x: x.mean(-1),
    "sum": lambda x: x.sum(-1),
    "deviation": lambda x: x.std(-1),
    "variance": lambda x: x.var(-1),
    "root": lambda x: np.sqrt((x * x).mean(-1)),
    "exp": lambda x: np.exp(x).sum(-1),
    "log": lambda x: np.log(np.exp(x).sum(-1)),
    "shifted": lambda x: np.log(np.exp(x - x.max(-1, keepdims=True)).sum(-1)),
}


def named(got: Any, known: list[tuple[str, Any]], tolerance: tuple[float, float] | None) -> str:
    """The sentence of the one known wrong tensor that `got` is; "" where it is none of them, or several."""
    rtol, atol = tolerance or (1e-3, 1e-5)
    mine = got.detach().cpu().double().numpy()
    said = {say for say, wrong in known if np.allclose(mine, wrong.double().numpy(), rtol, atol)}
    return said.pop() if len(said) == 1 else ""


def rounded_down(found: Any, case: Any) -> str:
    """Of a launch that is right up to some element and did nothing behind it: that its blocks have equal shares, whole
    tiles of the case and rounded down, so that what is left is nobody's; "" otherwise."""
    if found.key != "half-range" or not case.tile or not isinstance(found.numbers["blocks"], int):
        return ""
    right, blocks = found.numbers["right"], found.numbers["blocks"]
    total = round(right / found.numbers["part"])
    share, left = divmod(-(-total // case.tile), max(blocks, 1))
    if not share or not left or right != share * blocks * case.tile:
        return ""
    numbers = {"parts": share * blocks + left, "size": case.tile, "blocks": blocks, "share": share, "left": left}
    return messages.text("value.rounded-down", **numbers)
