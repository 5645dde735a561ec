"""A wrong solution that gives what a known-wrong one gives, on every case, has made the same mistake: its sentence says
more than a difference in numbers does. The known ones are the `[[mutant]]`s of the spec that have a `say`.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import os
import re
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from labkit import messages
from labkit.exercises import launch, operators, variations
from labkit.exercises.alike import bears, has_what_it_lacks, words
from labkit.exercises.cases import Case, tolerance_of
from labkit.exercises.changes import across_with
from labkit.exercises.diagnose import (
    Diagnosis,
    certain,
    compare_values,
    first_error,
    mismatches,
    not_launched,
    of_program,
    tensor_to_numpy,
)
from labkit.exercises.spec import Spec, pick
from labkit.exercises.stub import CELL, Joined, Template, template
from labkit.exercises.time_limit import CPU_SECONDS, TookTooLong, memory_limit, one_thread, time_limit
from labkit.exercises.value_remarks import statements
from labkit.launch.record import LaunchError
from labkit.source.errors import CompileError

WAITS = 10.0  # s, on the learner's patience, where each known-wrong answer launches or builds
MUCH = 200  # characters of a sentence that quotes two lines, where a smaller change may say more


def _remark(of: Callable[..., str]) -> Callable[..., str]:
    """A remark that fails is none: the verdict, known by then, is not lost with it. The tests see the error. It runs
    small cases hundreds of times: on one thread."""

    @functools.wraps(of)
    def careful(*given, **named) -> str:
        try:
            with one_thread():
                return of(*given, **named)
        except Exception:
            if os.environ.get("LABKIT_REMARKS") == "raise":
                raise
            return ""

    return careful


@_remark
def sentence_by_text(spec: Spec, ours: Template, source: str) -> str:
    """Of the known-wrong solution that reads like `source` but for layout, comments and names of its own."""
    mine = words(ours, source)
    for mutant in spec.mutants:
        if mutant.say and mine and words(ours, ours.mutant(mutant.regions, mutant.edit)) == mine:
            return pick(mutant.say)
    return ""


class Raised:
    """In place of a result: the function raised this. Two of them are the same where type and text are."""

    def __init__(self, error: BaseException):
        text = re.sub(r"0x[0-9a-fA-F]+|line \d+|(?<=\w):\d+\b", "", str(error))  # no address, no place
        self.name = (getattr(error, "kind", type(error).__name__), text)


class Reported:
    """In place of a result: what the twin found in the launch: sizes, addresses, and the line if it is a given one."""

    def __init__(self, found: Diagnosis, last: bool = False):
        self.last = last  # the launch did not end: no case is run behind it
        sizes = {k: v for k, v in found.numbers.items() if "line" not in k and "file" not in k}
        given = found.finding is not None and found.finding.file.startswith("given part")
        place = found.finding.line if given else 0
        self.name = (found.key, place, tuple(sorted((k, str(v)) for k, v in sizes.items())))


NOT_ENDED = Diagnosis("launch")


def of_run(spec: Spec, got: Any, ended) -> Any:
    """What counts of a program's run: a finding, its status, a kernel that it does not launch, else what it gave."""
    found = of_program(ended) or not_launched(ended, "\n".join(template(spec).lines))
    return Reported(found) if found else got


def sentence(
    spec: Spec,
    ours: Template,
    source: str,
    cases: list[Case],
    results: dict[int, Any],
    every: list[Case],
    mends: bool = True,
    only_known: bool = False,
) -> str:
    """What _told says; else what the known-wrong solutions with the same results are about. Arguments: see there. Where
    a wrong value is shown, also of one with the same results in all cases but those that raise: a second mistake."""
    say = _told(spec, ours, source, cases, results, every, mends, only_known)
    sound = [c for c in cases if not isinstance(results[id(c)], Raised)]
    if not say and sound and sound[0] is cases[0] and len(sound) < len(cases):
        say = _told(spec, ours, source, sound, results, every, mends, only_known=True)
    return say or (_of_the_same_results(spec, ours, cases, results) if mends and not only_known else "")


@_remark
def _of_the_same_results(spec: Spec, ours: Template, cases: list[Case], results: dict[int, Any]) -> str:
    """A comparison, no verdict: the answer's text has no mark of theirs. Where one or two are known, and where what is
    wrong is more than a yes or no, which many a mistake turns."""
    said: list[str] = []
    if spec.kind != "python" or spec.compiled or not any(_is_more(results[id(c)], c.expected) for c in cases):
        return ""
    until = time.monotonic() + WAITS
    for mutant, edit in _ways(spec):
        if time.monotonic() > until:  # of some only, so that it is not known whether they are the only ones
            return ""
        made = _build(spec, ours.mutant(mutant.regions, edit), ours) if mutant.say else None
        if made is not None and pick(mutant.say) not in said:
            if all(_same(_result(spec, made, case), results[id(case)]) for case in cases):
                said.append(pick(mutant.say))
    keys = {1: "variation.same-results", 2: "variation.same-results-two"}
    return messages.text(keys[len(said)], one=said[0], two=said[-1]) if len(said) in keys else ""


def _is_more(got: Any, expected: Any) -> bool:
    """Is there a wrong number or text in it?"""
    if isinstance(got, Raised):
        return False
    mine, right = list(_leaves(got)), list(_leaves(expected))
    return len(mine) != len(right) or any(not isinstance(a, bool) and not _same(a, b) for a, b in zip(mine, right))


@_remark
def _told(
    spec: Spec,
    ours: Template,
    source: str,
    cases: list[Case],
    results: dict[int, Any],
    every: list[Case],
    mends: bool,
    only_known: bool,
) -> str:
    """Of the known-wrong solution that agrees with `results` (id of a case -> what the learner's gave), else, unless
    only_known, of a variation of ours, else "".

    cases: those to compare, the most telling first, so that most candidates end at it. Results that many a mistake has
    in common (a yes or no, statements, an exception, a finding) name one only if the text has its marks as well; none
    is named where several agree and the text does not decide between them. every: all cases in their own order.
    mends: may the answer's own text, with one change, run in this process? Not that of a submission.
    """
    little, found = _say_little(cases, results), {}
    for mutant, edit in _ways(spec):
        cell = ours.mutant(mutant.regions, edit)
        marked = bool(mutant.say) and bears(ours, source, cell, lenient=little in ("bool", "finding"))
        if not mutant.say or little and not marked or _speaks_of_another(pick(mutant.say), cell, ours, source):
            continue
        if has_what_it_lacks(ours, source, cell):
            continue
        made = _build(spec, cell, ours)
        if made is not None and all(_same(_result(spec, made, case), results[id(case)]) for case in cases):
            say = pick(mutant.say)
            found[say] = found.get(say, False) or marked
    if len(found) > 1:
        found = {say: marked for say, marked in found.items() if marked}
    if not found and only_known:
        return ""
    if not found and spec.kind == "python":
        say = variations.sentence(ours, source, lambda text: _agrees(spec, text, cases, results), bool(little))
        if say or not mends:
            return say

        def passes(text: str) -> bool:
            return _passes(spec, text, cases)

        def put_back(cell: str) -> bool:
            return passes(ours.join(cell, "exercise").text)

        if say := _across_with(ours.join(source, "exercise"), passes):
            return say
        say = variations.repaired(ours, source, passes, bool(little), only_usual=True)
        if not say and not little:
            say = variations.difference_sentence(ours, source, put_back, None, alike=0.7)
        if not say or len(say) > MUCH:  # a line of ours for a line of theirs
            small = variations.repaired(ours, source, passes, bool(little))
            say = small if not say or 0 < len(small) < MUCH // 2 else say
        return say
    if not found and spec.kind in ("kernel", "program", "triton"):

        def gives_the_same(cell: str) -> bool:
            made = _build(spec, cell, ours)
            return made is not None and all(_same(_result(spec, made, case), results[id(case)]) for case in cases)

        def is_right(cell: str) -> bool:
            given = outcome(spec, ours, cell, every) or [None]
            return len(given) == len(every) and {variations.mark(c, r) for c, r in zip(every, given)} == {"="}

        if spec.kind == "triton":
            same = None if little else gives_the_same
            return variations.difference_sentence(ours, source, is_right, same) if mends else ""
        say, sure = variations.kernel_sentence(spec, ours, source, every, results, gives_the_same, bool(little))
        if sure or not mends:
            return say
        return variations.difference_sentence(ours, source, is_right, gives_the_same) or say
    return next(iter(found)) if len(found) == 1 else ""


def _ways(spec: Spec):
    """The known-wrong solutions, each with its edits; of several edits also each one alone: a mistake that may be made
    in two places is often made in one."""
    yield from ((m, m.edit) for m in spec.mutants)
    yield from ((m, (one,)) for m in spec.mutants if len(m.edit) > 1 for one in m.edit)


def outcome(spec: Spec, ours: Template, cell: str, cases: list[Case]) -> list[Any] | None:
    """What a cell gives on the cases, up to one whose launch does not end; None where it does not compile."""
    made = _build(spec, cell, ours)
    out: list[Any] = []
    for case in cases if made is not None else ():
        out.append(_result(spec, made, case))
        if getattr(out[-1], "last", False):
            break
    return out if made is not None else None


def _say_little(cases: list[Case], results: dict[int, Any]) -> str:
    """Why results like these have many possible causes: "bool" for nothing but a yes or no for each case, "finding"
    of the twin, "one" for a single thing said, "" where they are worth something."""
    given = [results[id(c)] for c in cases]
    if any(isinstance(r, Reported) for r in given):
        return "finding"
    if any(statements(c.expected) and not _has_numbers(c.expected) for c in cases):
        return "one"
    if any(isinstance(r, Raised) for r in given):  # what the other cases gave says more, where that is wrong too
        given = [
            r for c, r in zip(cases, given) if not isinstance(r, Raised) and compare_values(r, c.expected, c.tolerance)
        ]
    if all(isinstance(c.expected, (bool, str)) for c in cases) and len({c.expected for c in cases}) <= 2:
        return "bool"  # or one of two words
    return "" if len({repr(leaf) for r in given for leaf in _leaves(r)}) > 1 else "one"


def _has_numbers(value: Any) -> bool:
    """Is there a tensor of several elements in it, which says more than the statements beside it?"""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else (value,)
    return any(hasattr(part, "flatten") and getattr(part, "ndim", 0) and len(part.flatten()) > 1 for part in parts)


def _leaves(value: Any):
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, (list, tuple, set)):
        for one in list(value)[:50]:
            yield from _leaves(one)
    elif hasattr(value, "flatten") and not isinstance(value, np.generic):
        yield from (float(x) for x in (value.detach() if hasattr(value, "detach") else value).flatten()[:50])
    else:
        yield value


def _agrees(spec: Spec, text: str, cases: list[Case], results: dict[int, Any]) -> bool:
    try:
        with time_limit(2.0, 10.0), memory_limit():
            made = launch.function(text, f"exercise {spec.id}, a variation", spec.entry)
            return all(_same(_result(spec, made, case, 2.0), results[id(case)]) for case in cases)
    except (Exception, TookTooLong):
        return False


def _passes(spec: Spec, text: str, cases: list[Case]) -> bool:
    try:
        with time_limit(2.0, 10.0), memory_limit(), launch.quietly(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = launch.function(text, f"exercise {spec.id}, a variation", spec.entry)
            return all(
                compare_values(launch.run_function(spec, made, case), case.expected, case.tolerance) is None
                for case in cases
            )
    except (Exception, TookTooLong):
        return False


@_remark
def adapter_sentence(spec: Spec, ours: Template, source: str, cases: list[Case]) -> str:
    """The one difference from our text without which an operator is right. Of one in C++, which takes seconds to build,
    few are tried. The answer's own operator is registered again behind it."""
    name = f"exercise {spec.id}"

    def works(text: str) -> bool:
        try:
            made = operators.build(text, name, spec)
            with launch.quietly(), time_limit(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return not isinstance(made, Diagnosis) and all(
                    operators.judge(spec, made, case)[0] is None for case in cases
                )
        except (Exception, TookTooLong):
            return False

    def is_right(cell: str) -> bool:
        return works(ours.join(cell, name).text)

    try:
        turned = _conditions_turned(source)
        if turned and is_right(turned):
            return messages.text("variation.conditions")
        if spec.in_python and (say := _across_with(ours.join(source, name), works)):
            return say
        return variations.difference_sentence(ours, source, is_right, None, 12 if spec.in_python else 3)
    finally:
        with contextlib.suppress(Exception):
            operators.build(ours.join(source, name).text, name, spec)


def _across_with(joined: Joined, is_right: Callable[[str], bool]) -> str:
    """That a statement of the answer stands on the wrong side of a `with`: the file is right with it on the other."""
    with contextlib.suppress(SyntaxError):
        mine = {n for n, (kind, _) in enumerate(joined.origin, 1) if kind == CELL}
        for key, names, other in across_with(ast.parse(joined.text), mine):
            if is_right(ast.unparse(other)):
                return messages.text(f"variation.{key}", **names)
    return ""


def _conditions_turned(source: str) -> str:
    """The text with the opposite of every TORCH_CHECK's condition, "" where it has none."""
    parts, out = source.split("TORCH_CHECK("), ""
    for part in parts[1:]:
        depth = end = 0
        for end, sign in enumerate(part):
            depth += (sign in "([{") - (sign in ")]}")
            if depth < 0 or sign == "," and depth == 0:
                break
        out += f"TORCH_CHECK(!({part[:end]}){part[end:]}"
    return parts[0] + out if out else ""


SLOW = ("too-slow", "too-much-stored", "too-many-vector", "other-shares", "element-by-element")


@_remark
def slow_sentence(spec: Spec, ours: Template, source: str, case: Case, time_us: float) -> str:
    """Of the known-wrong solution that is right and takes exactly as long as the learner's, else ""."""
    found = set()
    for mutant in spec.mutants:
        if mutant.say and mutant.noticed in SLOW and bears(ours, source, ours.mutant(mutant.regions, mutant.edit)):
            made = _build(spec, ours.mutant(mutant.regions, mutant.edit), ours)
            try:
                record = launch.run_kernel(spec, made, case)[1] if made is not None else None
            except LaunchError:
                continue
            if record is not None and record.time_us == time_us:
                found.add(pick(mutant.say))
    return found.pop() if len(found) == 1 else ""


def _speaks_of_another(say: str, wrong: str, ours: Template, source: str) -> bool:
    """Does the sentence name what only the known-wrong text has, and neither the answer nor ours: CAST_FLOOR, f(x),
    f(...)?"""
    named = set(re.findall(r"\b[A-Za-z]+_\w+|\b\w+\(\w+\)|\b\w+\((?=\.\.\.\))", say))
    return any(w in wrong and w not in source and w not in ours.solution() for w in named)


def _build(spec: Spec, cell: str, ours: Template):
    name = f"exercise {spec.id}, known mistake"
    text = ours.join(cell, name).text
    try:
        with time_limit():
            if spec.kind == "program":
                return launch.program(text, spec.id)
            return launch.made_of(spec, text, name) if spec.is_kernel else launch.function(text, name, spec.entry)
    except (CompileError, Exception, TookTooLong):
        return None


def _result(spec: Spec, made, case: Case, seconds: float = CPU_SECONDS) -> Any:
    try:
        if spec.is_kernel:
            outputs, record = launch.run_kernel(spec, made, case)
            found = first_error(record)
            return Reported(found) if certain(found) else [out.got for out in outputs]
        if spec.kind == "program":
            got, ended = launch.run_program(spec, made, case)
            return of_run(spec, got, ended)
        with launch.quietly(), time_limit(seconds):
            return launch.run_function(spec, made, case)
    except LaunchError as error:
        return Reported(first_error(error.record) or NOT_ENDED, last=True)
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


def named_result(cases: list[Case], result_of: Callable[[Case], Any]) -> str:
    """The sentence of the one wrong result, of those that the cases name, that every one of them gave; "" for none.
    cases: those that failed. result_of: what came out, a list of arrays of a kernel, of lines of a program."""
    agreed: set[str] | None = None
    for case in cases:
        got = result_of(case)
        if case.mistakes is None or not isinstance(got, list):
            continue
        if all(isinstance(a, str) for a in got):
            here = {say for say, wrong in case.mistakes() if got == wrong}
        elif all(isinstance(a, np.ndarray) for a in got):
            here = {say for say, wrong in case.mistakes() if _is_that(got, wrong, case)}
        else:
            continue
        agreed = here if agreed is None else agreed & here
    return next(iter(agreed)) if agreed and len(agreed) == 1 else ""


def _is_that(got: list[np.ndarray], wrong: Any, case: Case) -> bool:
    """Is it that wrong result, and nearer to it than the tolerance tells it from the right one?"""
    wrong = wrong if isinstance(wrong, (tuple, list)) else (wrong,)
    right = case.expected if isinstance(case.expected, (tuple, list)) else (case.expected,)
    differs = False
    for mine, theirs, ours in zip(got, wrong, right):
        (array, dtype), (true, _) = _array(theirs), _array(ours)
        limits = tolerance_of(dtype, case.tolerance)
        if mine.shape != array.shape or mismatches(mine, array, *limits).any():
            return False
        differs |= bool(mismatches(array, true, *limits).any())
    return differs


def _array(value: Any) -> tuple[np.ndarray, str]:
    return tensor_to_numpy(value) if hasattr(value, "detach") else (np.asarray(value), str(np.asarray(value).dtype))
