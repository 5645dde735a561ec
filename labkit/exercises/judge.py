"""The check: the learner's region in its file, built, run on every case, compared and explained.

It does not stop at an error that it can explain: all cases run, and the one with the most specific diagnosis is shown.
Exceptions of golden.py are ours and are not caught; what the learner's code does, up to a crash of the launch, ends in
a Result.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import inspect
import time
from dataclasses import dataclass, field, replace
from typing import Any

from labkit import chips, messages
from labkit.exercises import value_remarks
from labkit.exercises.cases import Case
from labkit.exercises.diagnose import (
    VAGUE,
    Diagnosis,
    certain,
    compare_values,
    diagnose,
    first_error,
    more_telling,
    not_fetched,
    not_launched,
    of_output,
    of_program,
    tensor_to_numpy,
)
from labkit.exercises.failure import (
    Failure,
    find_bracket,
    is_ours,
    line_at,
    of_build,
    of_exception,
    of_time_limit,
    of_triton,
    on_cell,
    parameters_of,
    place_of,
    put,
    tell_cases,
    to_show,
    unmet,
    which_cases,
    works_with_ours,
)
from labkit.exercises.known_mistakes import (
    NOT_ENDED,
    Raised,
    Reported,
    adapter_sentence,
    named_result,
    of_run,
    sentence,
    sentence_by_text,
    slow_sentence,
)
from labkit.exercises.order import following, notebook_of
from labkit.exercises.place import HERE, Here
from labkit.exercises.progress_log import code_hash, ever_passed, last_hint, passed_ones
from labkit.exercises.progress_log import record as log
from labkit.exercises.question import filled
from labkit.exercises.result import CheckFailed, Result
from labkit.exercises.session import current
from labkit.exercises.slips import as_given, empty, endless, in_text, lacking, no_return, past_the_end, same_load
from labkit.exercises.spec import HINT_LEVELS, Spec, load, pick
from labkit.exercises.stub import Joined, RegionError, Template, template
from labkit.exercises.time_limit import TookTooLong
from labkit.exercises.timing import measure
from labkit.exercises.value_remarks import chosen, missing_product, of_rows, of_sign, other_rows, remark, unchanged
from labkit.launch.record import LaunchError, strict
from labkit.source.errors import CompileError

# What this process keeps of each exercise: the last cell, hints given, the text that passed. After a restart the log
# has the rest.
_cells: dict[str, tuple[str, int]] = {}
_hints: dict[str, int] = {}
_passed: dict[str, str] = {}


def hint_level(exercise_id: str, level: int | None = None) -> int:
    """Hints given so far; set when `level` is given."""
    if level is not None:
        _hints[exercise_id] = level
    elif exercise_id not in _hints:
        _hints[exercise_id] = last_hint(exercise_id)
    return _hints[exercise_id]


def has_passed(exercise_id: str) -> bool:
    return exercise_id in _passed or ever_passed(exercise_id)


def passed_cell(exercise_id: str) -> str | None:
    """The text that passed last in this process."""
    return _passed.get(exercise_id)


def forget(exercise_id: str) -> None:
    """What `reset` undoes: the cell, the hints, the pass."""
    _cells.pop(exercise_id, None)
    _hints.pop(exercise_id, None)
    _passed.pop(exercise_id, None)


@dataclass
class Runs:
    """The launch's record by a case's name; what came out by a case's id (names may stand twice)."""

    records: dict[str, Any] = field(default_factory=dict)
    results: dict[int, Any] = field(default_factory=dict)


def check(exercise_id: str, source: str | None = None, *, first_line: int = 1) -> Result:
    """Check a cell's text (default: the last `%%exercise` cell of this id).
    first_line: its first line's number in the cell.

    Raises SpecError for an unknown id, and CheckFailed under LABKIT_STRICT=1 unless PASS or SKIP.
    """
    spec = load(exercise_id)
    if spec.kind == "predict":
        raise TypeError(f'{exercise_id} is a prediction: labkit.predict("{exercise_id}", answer)')
    if source is None and exercise_id in _cells:
        source, first_line = _cells[exercise_id]
    started = time.perf_counter()
    if source is None:
        result = Result(exercise_id, "TODO", lines=[messages.text("exercise.no-source", id=exercise_id)])
    else:
        _cells[exercise_id] = (source, first_line)
        result = examine(spec, source, first_line)
    finish(spec, result, source or "", time.perf_counter() - started)
    if strict() and result.state in ("FAIL", "TODO"):
        raise CheckFailed(result)
    return result


def finish(spec: Spec, result: Result, source: str, seconds: float) -> None:
    """What every kind of check does at its end: title, next step, and the log."""
    result.title, result.seconds, result.hint_level = pick(spec.title), seconds, hint_level(spec.id)
    if result.state == "PASS":
        _passed[spec.id] = source
        result.why = filled(spec, spec.why)
        if spec.kind != "predict":
            result.next.append(messages.text("exercise.compare-offer", id=spec.id))
        result.next += _what_follows(spec.id)
    elif result.state in ("FAIL", "TODO"):
        level = result.hint_level
        key = "exercise.hint-offer" if level < HINT_LEVELS else "exercise.hints-used"
        result.next.append(messages.text(key, id=spec.id, level=level + 1, levels=HINT_LEVELS))
    log(
        "check",
        spec.id,
        state=result.state,
        target=result.target,
        seconds=round(seconds, 3),
        code=code_hash(source),
        diagnosis=result.diagnosis,
        hint_level=result.hint_level,
    )


def _what_follows(exercise_id: str) -> list[str]:
    """One line: the next exercise, or that there is none left."""
    name = following(exercise_id, passed_ones() | set(_passed))
    if not name:
        return [messages.text("exercise.all-done")]
    there = notebook_of(name)
    key = "exercise.next-here" if there == notebook_of(exercise_id) else "exercise.next-there"
    return [
        messages.text(key if there else "exercise.next-here", id=name, title=pick(load(name).title), notebook=there)
    ]


def examine(spec: Spec, source: str, first_line: int = 1, *, even_stub: bool = False, at: Here = HERE) -> Result:
    """The verdict alone: no log, no strictness, no memory of earlier checks.
    even_stub: judge our stub like any other code. at: where the submission is built and run.
    """
    session = current()
    # `labkit run` is the twin's, also on a node
    target = "twin" if spec.kind == "program" else session.target if spec.on_device else "host"
    result = Result(spec.id, "PASS", target=target)
    ours = template(spec)
    if ours.is_stub(source) and not even_stub:
        result.state, result.lines = "TODO", [messages.text("exercise.todo")]
        if target != "host":
            result.checked_on = messages.text("exercise.would-check-on", target=target)
        return result
    if why := _cannot_run(spec, session):
        result.state, result.lines = "SKIP", [why]
        return result
    if target == "host":
        result.checked_on = messages.text("exercise.checked-on-host")
    else:
        result.chip, result.time_kind = (
            (chips.DEFAULT, "modelled") if spec.kind == "program" else (session.chip, session.time_kind)
        )
        result.checked_on = _checked_on(result)
    _judge(spec, ours, source, first_line, session, result, at)
    return result


def _cannot_run(spec: Spec, session) -> str:
    if spec.on_device and session.reason:
        return messages.text("exercise.skip-npu", reason=session.reason)
    if spec.kind == "triton" and importlib.util.find_spec("triton") is None:
        return messages.text("triton.absent")
    if spec.needs == "npu" and session.target != "npu":
        return messages.text("exercise.skip-needs-npu", target=session.target)
    return ""


def _checked_on(result: Result) -> str:
    return messages.text(
        "exercise.checked-on",
        target=result.target,
        chip=result.chip,
        time_kind=messages.text(f"exercise.{result.time_kind}"),
    )


def _judge(spec: Spec, ours: Template, source: str, first_line: int, session, result: Result, at: Here) -> None:
    name = f"exercise {spec.id}"
    try:
        joined = ours.join(source, name, first_line)
    except RegionError as error:
        found = Diagnosis("regions", {"message": str(error), "id": spec.id})
        return put(spec, result, Failure(None, found), source, first_line)
    made, failure = _build(spec, joined, name, at)
    if failure:
        find_bracket(failure, ours, source, spec, first_line)
        _first_words(spec, ours, failure, source, joined)
        return put(spec, result, failure, source, first_line)
    cases = spec.function(spec.cases)(session.seed, session.quick)
    failures: list[Failure] = []
    runs = Runs()
    for case in cases:
        failure = _run(spec, made, case, joined, runs, at)
        if failure:
            failures.append(failure)
            if failure.fatal:
                break
    result.cases, result.failed = len(cases), len(failures)
    if failures:
        shown = to_show(failures, in_order=spec.kind == "adapter")
        tell_cases(spec, result, shown, failures, cases, made)
        said = _first_words(spec, ours, shown, source, joined)
        if not said and spec.kind == "python":
            said = _no_return(spec, ours, joined, made, shown, at)
        late = shown.diagnosis.numbers.get("type") == "time-out"  # of ranks: with each variation they may wait as long
        if not said and at.names_mistakes and not late:
            _name_mistake(spec, ours, source, shown, failures, cases, runs, at.mends_answers)
        if not shown.diagnosis.say and spec.kind == "adapter" and at.mends_answers and not failures[-1].fatal:
            shown.diagnosis = replace(shown.diagnosis, say=adapter_sentence(spec, ours, source, cases))
        if not shown.diagnosis.say and spec.kind == "kernel" and not spec.run:
            say = past_the_end(
                shown.diagnosis, shown.case, line_at(spec, shown.where, source, first_line), joined.text, spec.entry
            )
            say = say or _rows(failures, runs) or value_remarks.rounded_down(shown.diagnosis, shown.case)
            shown.diagnosis = replace(shown.diagnosis, say=say)
        if shown.diagnosis.key == "value" and spec.kind == "python":
            shown.diagnosis = _by_a_product(made, shown, failures, runs)
        if not shown.diagnosis.say and spec.kind == "python":
            shown.diagnosis = replace(shown.diagnosis, say=_rows(failures, runs))
        if not shown.diagnosis.say:
            vague = shown.diagnosis.key in VAGUE
            named = parameters_of(spec, made, joined, shown.case.args)
            seen = f"{which_cases(failures, cases, named)} {lacking(ours, source)}".strip() if vague else ""
            shown.diagnosis = replace(shown.diagnosis, say=as_given(ours, source) or seen)
        return put(spec, result, shown, source, first_line)
    if found := unmet(spec, joined, name, at, len(cases)):
        found = replace(found, say=sentence_by_text(spec, ours, source) or found.say)
        return put(spec, result, Failure(None, found), source, first_line)
    result.lines = [messages.text("exercise.pass" if len(cases) > 1 else "exercise.pass-one", cases=len(cases))]
    if spec.is_kernel:
        found = measure(spec, ours, cases, runs.records, result, source, getattr(made, "element_wise", ()))
        result.checked_on = _checked_on(result)
        if found:
            case = next(c for c in cases if c.name == result.case)
            say = sentence_by_text(spec, ours, source) or slow_sentence(spec, ours, source, case, result.time_us)
            if not say and spec.kind == "triton":
                say = same_load(ours, source)
            found = replace(found, say=say or found.say)
            at_line = found.numbers.get("line")
            where = place_of(joined, name, at_line) if at_line else ""
            put(spec, result, Failure(case, found, result.record, where), source, first_line)


def _build(spec: Spec, joined: Joined, name: str, at: Here):
    """(kernel, program, operator or function, None) or (None, Failure)."""
    try:
        made = at.build(spec, joined, name)
        return (None, Failure(None, made)) if isinstance(made, Diagnosis) else (made, None)
    except Exception as error:
        if not spec.in_python and not isinstance(error, CompileError):
            raise
        return None, of_build(spec, joined, name, error)
    except TookTooLong as error:
        if not spec.in_python:
            raise
        return None, of_time_limit(error, joined, name)


def _run(spec: Spec, made, case: Case, joined: Joined, runs: Runs, at: Here) -> Failure | None:
    name = f"exercise {spec.id}"
    if spec.kind == "python":
        try:
            got = at.run_function(spec, made, case)
        except TookTooLong as error:
            failure = of_time_limit(error, joined, name)
            failure.case = case
            return failure
        except Exception as error:
            if is_ours(error, name) and not works_with_ours(spec, case):
                raise
            runs.results[id(case)] = Raised(error)
            failure = of_exception(error, joined, name)
            failure.case = case
            return failure
        runs.results[id(case)] = got
        found = compare_values(got, case.expected, case.tolerance)
        return Failure(case, found) if found else None
    if spec.kind == "program":
        got, ended = at.run_program(spec, made, case)
        runs.results[id(case)] = of_run(spec, got, ended)
        found = (
            of_program(ended)
            or not_launched(ended, "\n".join(template(spec).lines))
            or of_output(got, case.expected, case.tolerance)
            or not_fetched(got, at, spec, made, case)
        )
        return Failure(case, found, ended, found.where()) if found else None
    if spec.kind == "adapter":
        try:
            found, record, error = at.run_operator(spec, made, case)
        except TookTooLong as late:
            failure = of_time_limit(late, joined, name)
            failure.case = case
            return failure
        if found is None:
            return None
        raised = error is not None and spec.in_python
        where = found.where() or (of_exception(error, joined, name).where if raised else "")
        return Failure(
            case, found, record, where if where != name else "", fatal=record is not None and not record.finished
        )
    try:
        outputs, record = at.run_kernel(spec, made, case)
    except LaunchError as error:
        found = first_error(error.record)
        runs.results[id(case)] = Reported(found or NOT_ENDED, last=True)
        on_cell(spec, error.record, joined, name)
        found = found or Diagnosis("launch", {"message": getattr(error.record, "crashed", None) or str(error)})
        return Failure(case, found, error.record, found.where(), fatal=True)
    except Exception as error:
        if spec.kind != "triton":
            raise
        runs.results[id(case)] = Raised(error)
        failure = of_triton(error, joined, name, made) if _not_taken(error) else of_exception(error, joined, name)
        failure.case, failure.fatal = case, True
        return failure
    on_cell(spec, record, joined, name)
    found = first_error(record)
    runs.records[case.name] = record
    runs.results[id(case)] = Reported(found) if certain(found) else [out.got for out in outputs]
    found = found if certain(found) else more_telling(found, _compare(case, spec, outputs))
    if found and found.finding is None and _copies_came_late(record):
        found = Diagnosis("late-copies", found.numbers, found.state, found.map)
    return Failure(case, found, record, found.where()) if found else None


def _not_taken(error: Exception) -> bool:
    """Is it a kernel that Triton's front end, or labkit.triton behind it, refuses?"""
    return hasattr(error, "error_message") or type(error).__name__ in ("Refused", "TooLarge")


def _copies_came_late(record) -> bool:
    """Was it the launch in which every transfer comes as late as the synchronisation allows?"""
    return getattr(getattr(getattr(record, "again", None), "request", None), "schedule", "").startswith("worst")


def _compare(case: Case, spec: Spec, outputs) -> Diagnosis | None:
    expected = case.expected if isinstance(case.expected, (tuple, list)) else (case.expected,)
    if len(expected) != len(outputs):
        raise ValueError(
            f"case {case.name} of {spec.id}: {len(expected)} expected results for {len(outputs)} Out/InOut arguments"
        )
    for k, (out, want) in enumerate(zip(outputs, expected), 1):
        array = tensor_to_numpy(want)[0] if hasattr(want, "detach") else want
        found = diagnose(
            out.got,
            array,
            case.tolerance,
            blocks=case.blocks or spec.blocks,
            tile=case.tile,
            initial=out.initial,
            dtype=out.dtype,
            split=case.split,
            layout=case.layout,
        )
        if found:
            if len(outputs) > 1:
                found.numbers.setdefault("inside", (k, len(outputs)))
            return found
    return None


def _first_words(spec: Spec, ours: Template, shown: Failure, source: str, joined: Joined) -> str:
    """What the text of the learner's part shows, as the diagnosis' sentence; "" for nothing."""
    key, say = shown.diagnosis.key, sentence_by_text(spec, ours, source) or empty(ours, source)
    if not say and key not in ("compile", "bracket-open", "bracket-closed", "exception"):
        mine, _, line = shown.where.rpartition(":")
        late = key == "took-too-long" and mine.startswith("exercise ") and line.isdigit()
        say = endless(joined, int(line)) if late else in_text(ours, source, joined if ours.comment == "#" else None)
    if say:
        shown.diagnosis = replace(shown.diagnosis, say=say)
    return say


def _arrays(values) -> list:
    """Those of them that are tensors or arrays, as arrays."""
    those = ((x, hasattr(x, "detach")) for x in values)
    return [tensor_to_numpy(x)[0] if is_tensor else x for x, is_tensor in those if is_tensor or hasattr(x, "__array__")]


def _rows(failures: list[Failure], runs: Runs) -> str:
    """What the rows of the first result that is wrong everywhere, and has rows, are off by, or where they come from."""
    for failure in failures:
        got, expected = runs.results.get(id(failure.case)), failure.case.expected
        one = isinstance(got, list) and len(got) == 1
        got, expected = (x if isinstance(x, (list, tuple)) else [x] for x in (got, expected))
        if failure.diagnosis.key not in VAGUE or len(got) != len(expected):
            continue
        inputs, mine, right = (_arrays(those) for those in (failure.case.args, got, expected))
        for a, b in zip(mine, right) if len(mine) == len(right) == len(got) else ():
            named = {messages.text("value.input", n=n): x for n, x in enumerate(inputs, 1)}
            if say := (of_rows(a, b, inputs) if one else "") or other_rows(a, b, inputs) or of_sign(a, b, named):
                return say
    return ""


def _by_a_product(made: Any, shown: Failure, failures: list[Failure], runs: Runs) -> Diagnosis:
    """The diagnosis; where it only shows two values, with the argument by which they differ."""
    got, expected, found = runs.results.get(id(shown.case)), shown.case.expected, shown.diagnosis
    if found.say not in ("", remark(got, expected)):
        return found
    if value_remarks.in_one_case(got, expected, [(runs.results.get(id(f.case)), f.case.expected) for f in failures]):
        found = replace(found, say="")
    try:
        named = inspect.signature(made).bind(*shown.case.args).arguments
        if say := chosen(got, expected, named):
            return replace(found, say=say)
        product = unchanged(got, expected, named) or missing_product(got, expected, named)
    except (TypeError, ValueError):  # golden's own run calls it with other arguments
        product = unchanged(got, expected, {f"input {k}": a for k, a in enumerate(shown.case.args, 1)})
    return replace(found, say=f"{found.say} {product}".strip())


def _no_return(spec: Spec, ours: Template, joined: Joined, made, shown: Failure, at: Here) -> str:
    """That the function gives None for want of a `return`, as the diagnosis' sentence: golden's `run` may have made
    something else of the None. Where only some ways through it end without one, the case is run again."""
    say, sure = no_return(ours, joined)
    if say and not sure:
        gave: list[bool] = []

        @functools.wraps(made)
        def noted(*args, **kwargs):
            result = made(*args, **kwargs)
            gave.append(result is None)
            return result

        with contextlib.suppress(Exception, TookTooLong):
            at.run_function(spec, noted, shown.case)
        say = say if any(gave) else ""
    if say:
        shown.diagnosis = replace(shown.diagnosis, say=say)
    return say


def _name_mistake(
    spec: Spec, ours: Template, source: str, shown: Failure, failures: list[Failure], cases, runs: Runs, mends: bool
) -> None:
    """Give the diagnosis the sentence of a known mistake that has the same results."""
    told = shown.diagnosis.key if shown.diagnosis.say else ""  # an exception's own cause gives way to a known mistake
    if spec.kind not in ("python", "kernel", "triton", "program") or told not in ("", "value", "exception"):
        return
    wrong = {id(f.case) for f in failures}
    order = [shown.case, *sorted((c for c in cases if c is not shown.case), key=lambda c: id(c) not in wrong)]
    given = [c for c in order if id(c) in runs.results]
    if id(shown.case) in runs.results:
        say = named_result([f.case for f in failures], lambda case: runs.results.get(id(case))) or sentence(
            spec, ours, source, given, runs.results, cases, mends, only_known=told == "exception"
        )
        shown.diagnosis = replace(shown.diagnosis, say=say or shown.diagnosis.say)
