"""A wrong solution that gives what a known-wrong one gives, on every case, has made the same mistake: its sentence says
more than a difference in numbers does. The known ones are the `[[mutant]]`s of the spec that have a `say`.
"""

from __future__ import annotations

import builtins
import difflib
import keyword
import re
from typing import Any

import numpy as np

from labkit.exercises import launch, variations
from labkit.exercises.cases import Case
from labkit.exercises.diagnose import Diagnosis, compare_values, first_error
from labkit.exercises.spec import Mutant, Spec, pick
from labkit.exercises.stub import Template, normalise
from labkit.exercises.time_limit import CPU_SECONDS, TookTooLong, time_limit
from labkit.exercises.value_remarks import statements
from labkit.launch.record import LaunchError
from labkit.source.errors import CompileError

ALIKE = 0.8  # share of the words in order

# Words that are nobody's own name.
_KEPT = {*keyword.kwlist, *dir(builtins)} | set(
    "uint32_t int32_t uint64_t uint8_t auto const constexpr half float double int bool void static inline template "
    "typename true false sizeof static_cast for if else while return".split()
)


def sentence_by_text(spec: Spec, ours: Template, source: str) -> str:
    """Of the known-wrong solution that reads like `source` but for layout, comments and names of its own."""
    mine = _canonical(ours, source)
    for mutant in spec.mutants:
        if mutant.say and mine and _canonical(ours, ours.mutant(mutant.regions)) == mine:
            return pick(mutant.say)
    return ""


def _reads_alike(ours: Template, source: str, mutant: Mutant) -> bool:
    """Most of the words in common. A finding, a yes or no, a time have several causes: then the text counts as well."""
    mine, theirs = (
        [("#" if w.startswith("#") and w != "#" else w) for w in _canonical(ours, text) if re.match(r"[\w#\"']", w)]
        for text in (source, ours.mutant(mutant.regions))
    )
    return difflib.SequenceMatcher(None, mine, theirs, autojunk=False).ratio() >= ALIKE


def _canonical(ours: Template, source: str) -> list[str]:
    """The words of the learner's regions, with names that nobody else uses numbered in the order in which they come."""
    text = normalise(re.sub(r'""".*?"""|"[^"\n]*"', "", "\n".join(ours.given()), flags=re.S), ours.comment)
    given, own, out = set(re.findall(r"\w+", text)), {}, []
    for text, _ in ours.split(source):
        for line in normalise(text, ours.comment).split("\n"):
            words = re.findall(r'\w+|"[^"\n]*"|\'[^\'\n]*\'|\S', line)
            for k, word in enumerate(words):
                bound = re.match(r"[a-z]\w*$", word) and word not in given and (k == 0 or words[k - 1] != ".")
                called = words[k + 1 : k + 2] == ["("] or word in _KEPT
                out.append(f"#{own.setdefault(word, len(own))}" if bound and not called else word)
        out.append("----")
    return out


class Raised:
    """In place of a result: the function raised this."""

    def __init__(self, error: BaseException):
        self.name = getattr(error, "kind", type(error).__name__)


class Reported:
    """In place of a result: what the twin found in the launch: sizes, addresses, and the line if it is a given one."""

    def __init__(self, found: Diagnosis):
        sizes = {k: v for k, v in found.numbers.items() if "line" not in k and "file" not in k}
        given = found.finding is not None and found.finding.file.startswith("given part")
        place = found.finding.line if given else 0
        self.name = (found.key, place, tuple(sorted((k, str(v)) for k, v in sizes.items())))


def sentence(spec: Spec, ours: Template, source: str, cases: list[Case], results: dict[int, Any]) -> str:
    """Of the known-wrong solution that agrees with `results` (id of a case -> what the learner's gave), else "".

    cases: those to compare, the most telling first, so that most candidates end at it. None is named where several
    agree, or where results are statements ("right": False), which many a mistake has in common.
    """
    if any(statements(case.expected) for case in cases):
        return ""
    found = set()
    little = any(isinstance(results[id(c)], Reported) for c in cases) or _coarse(cases)
    for mutant in spec.mutants:
        if not mutant.say or little and not _reads_alike(ours, source, mutant):
            continue
        made = _build(spec, ours.mutant(mutant.regions, mutant.edit), ours)
        if made is not None and all(_same(_result(spec, made, case), results[id(case)]) for case in cases):
            found.add(pick(mutant.say))
    if not found and spec.kind == "python" and not any(isinstance(r, Raised) for r in results.values()):
        return variations.sentence(ours, source, lambda text: _agrees(spec, text, cases, results), _coarse(cases))
    return found.pop() if len(found) == 1 else ""


def _coarse(cases: list[Case]) -> bool:
    return all(isinstance(case.expected, bool) for case in cases)


def _agrees(spec: Spec, text: str, cases: list[Case], results: dict[int, Any]) -> bool:
    try:
        with time_limit(2.0, 10.0):
            made = launch.function(text, f"exercise {spec.id}, a variation", spec.entry)
            return all(_same(_result(spec, made, case, 2.0), results[id(case)]) for case in cases)
    except (Exception, TookTooLong):
        return False


def slow_sentence(spec: Spec, ours: Template, source: str, case: Case, time_us: float) -> str:
    """Of the known-wrong solution that is right and takes exactly as long as the learner's, else ""."""
    found = set()
    for mutant in spec.mutants:
        if mutant.say and mutant.noticed == "too-slow" and _reads_alike(ours, source, mutant):
            made = _build(spec, ours.mutant(mutant.regions), ours)
            try:
                record = launch.run_kernel(spec, made, case)[1] if made is not None else None
            except LaunchError:
                continue
            if record is not None and record.time_us == time_us:
                found.add(pick(mutant.say))
    return found.pop() if len(found) == 1 else ""


def _build(spec: Spec, cell: str, ours: Template):
    name = f"exercise {spec.id}, known mistake"
    text = ours.join(cell, name).text
    try:
        with time_limit():
            return (
                launch.build(text, name, spec.entry)
                if spec.kind == "kernel"
                else launch.function(text, name, spec.entry)
            )
    except (CompileError, Exception, TookTooLong):
        return None


def _result(spec: Spec, made, case: Case, seconds: float = CPU_SECONDS) -> Any:
    try:
        if spec.kind == "kernel":
            outputs, record = launch.run_kernel(spec, made, case)
            found = first_error(record)
            return Reported(found) if found else [out.got for out in outputs]
        with launch.quietly(), time_limit(seconds):
            return launch.run_function(spec, made, case)
    except LaunchError as error:
        found = first_error(error.record)
        return Reported(found) if found else Raised(error)
    except (Exception, TookTooLong) as error:
        return Raised(error)


def _same(theirs: Any, mine: Any) -> bool:
    if isinstance(theirs, (Raised, Reported)) or isinstance(mine, (Raised, Reported)):
        return type(theirs) is type(mine) and theirs.name == mine.name
    if isinstance(theirs, list) and all(isinstance(a, np.ndarray) for a in theirs):
        return len(theirs) == len(mine) and all(
            a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(theirs, mine)
        )
    try:
        return type(theirs) is type(mine) and compare_values(mine, theirs) is None
    except Exception:  # something that cannot be compared is not the same
        return False
