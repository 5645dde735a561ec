"""The check: the learner's region in its file, built, run on every case, compared and explained.

It does not stop at an error that it can explain: all cases run, and the one with the most specific diagnosis is shown.
Exceptions of golden.py are ours and are not caught; what the learner's code does, up to a crash of the launch, ends in
a Result.
"""

from __future__ import annotations

import time
import traceback
from collections import Counter
from dataclasses import dataclass

from labkit import chips, messages, paths
from labkit.exercises import launch, operators
from labkit.exercises.cases import Case
from labkit.exercises.diagnose import (
    VAGUE,
    WHOLE,
    Diagnosis,
    compare_values,
    diagnose,
    first_error,
    of_program,
    printed,
    tensor_to_numpy,
)
from labkit.exercises.progress_log import code_hash, ever_passed, last_hint
from labkit.exercises.progress_log import record as log
from labkit.exercises.result import CheckFailed, Result
from labkit.exercises.session import current
from labkit.exercises.spec import HINT_LEVELS, Spec, load, pick
from labkit.exercises.stub import CELL, Joined, RegionError, Template, given_name, template
from labkit.launch.record import LaunchError, strict
from labkit.source.errors import CompileError, SourceError

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
class Failure:
    """A failed case."""

    case: Case
    diagnosis: Diagnosis
    record: object = None
    where: str = ""
    fatal: bool = False


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
        result.next.append(messages.text("exercise.compare-offer", id=spec.id))
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


def examine(spec: Spec, source: str, first_line: int = 1, *, even_stub: bool = False) -> Result:
    """The verdict alone: no log, no strictness, no memory of earlier checks.
    even_stub: judge our stub like any other code.
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
    _judge(spec, ours, source, first_line, session, result)
    return result


def _cannot_run(spec: Spec, session) -> str:
    if spec.on_device and session.reason:
        return messages.text("exercise.skip-npu", reason=session.reason)
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


def _judge(spec: Spec, ours: Template, source: str, first_line: int, session, result: Result) -> None:
    name = f"exercise {spec.id}"
    try:
        joined = ours.join(source, name, first_line)
    except RegionError as error:
        return _fail(
            result, Failure(None, Diagnosis("regions", {"message": str(error), "id": spec.id})), source, first_line
        )
    made, failure = _build(spec, joined, name)
    if failure:
        return _fail(result, failure, source, first_line)
    cases = spec.function(spec.cases)(session.seed, session.quick)
    failures: list[Failure] = []
    records: dict[str, object] = {}
    for case in cases:
        failure = _run(spec, made, case, joined, records)
        if failure:
            failures.append(failure)
            if failure.fatal:
                break
    result.cases, result.failed = len(cases), len(failures)
    if failures:
        shown = _failure_to_show(failures, in_order=spec.kind == "adapter")
        _tell_cases(spec, result, shown, failures, cases)
        return _fail(result, shown, source, first_line)
    result.lines = [messages.text("exercise.pass" if len(cases) > 1 else "exercise.pass-one", cases=len(cases))]
    if spec.kind == "kernel":
        _measure(spec, ours, cases, records, result, source, first_line)


def _failure_to_show(failures: list[Failure], in_order: bool = False) -> Failure:
    """The failure to show: a finding or a crash; else the pattern that most cases agree on, a place before "nothing at
    all" before "no pattern".

    A case of one element is all tail and all output: what it shows ("never written") is true and misleading. in_order:
    the cases of an operator are unlike each other, and each takes the ones before for granted.
    """

    def rank(failure: Failure) -> int:
        if failure.diagnosis.finding is not None or failure.fatal:
            return 0
        return 3 if failure.diagnosis.key in VAGUE else 2 if failure.diagnosis.key in WHOLE else 1

    best = min(map(rank, failures))
    if in_order and best:
        return failures[0]
    among = [f for f in failures if rank(f) == best]
    votes = Counter(f.diagnosis.key for f in among)
    return among[0] if best == 0 else max(among, key=lambda f: votes[f.diagnosis.key])


def _build(spec: Spec, joined: Joined, name: str):
    """(kernel, program, operator or function, None) or (None, Failure)."""
    if not spec.in_python:
        try:
            if spec.kind == "adapter":
                return _registered(operators.build(joined.text, name, spec))
            return (
                launch.program(joined.text, spec.id)
                if spec.kind == "program"
                else launch.build(joined.text, name, spec.entry)
            ), None
        except CompileError as error:
            first = (error.problems or [{}])[0]
            where = f"{paths.display_path(first['file'])}:{first.get('line', 0)}" if first.get("file") else ""
            if isinstance(error, SourceError):  # found in the text before the compiler applied #line
                where = _place(joined, name, error.line)
            numbers = {
                "message": first.get("message") or str(error),
                "hint": first.get("hint") or messages.text("exercise.compile-hint"),
            }
            return None, Failure(None, Diagnosis("compile", numbers), where=where)
    try:
        if spec.kind == "adapter":
            return _registered(operators.build(joined.text, name, spec))
        return launch.function(joined.text, name, spec.entry), None
    except SyntaxError as error:
        where = _place(joined, name, error.lineno or 0)
        return None, Failure(
            None,
            Diagnosis("compile", {"message": error.msg, "hint": messages.text("exercise.compile-hint")}),
            where=where,
        )
    except Exception as error:
        return None, _exception(error, joined, name)


def _registered(made):
    return (None, Failure(None, made)) if isinstance(made, Diagnosis) else (made, None)


def _run(spec: Spec, made, case: Case, joined: Joined, records: dict) -> Failure | None:
    name = f"exercise {spec.id}"
    if spec.kind == "python":
        try:
            got = launch.run_function(spec, made, case)
        except Exception as error:
            if _is_ours(error, name):
                raise
            failure = _exception(error, joined, name)
            failure.case = case
            return failure
        found = compare_values(got, case.expected, case.tolerance)
        return Failure(case, found) if found else None
    if spec.kind == "program":
        got, ended = launch.run_program(spec, made, case)
        found = of_program(ended) or printed(compare_values(got, case.expected, case.tolerance))
        return Failure(case, found, ended, found.where()) if found else None
    if spec.kind == "adapter":
        found, record, error = operators.judge(spec, made, case)
        if found is None:
            return None
        where = found.where() or (_exception(error, joined, name).where if error is not None and spec.in_python else "")
        return Failure(
            case, found, record, where if where != name else "", fatal=record is not None and not record.finished
        )
    try:
        outputs, record = launch.run_kernel(spec, made, case)
    except LaunchError as error:
        found = first_error(error.record) or Diagnosis(
            "launch", {"message": getattr(error.record, "crashed", None) or str(error)}
        )
        return Failure(case, found, error.record, found.where(), fatal=True)
    records[case.name] = record
    found = first_error(record) or _compare(case, spec, outputs)
    return Failure(case, found, record, found.where()) if found else None


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


def _is_ours(error: BaseException, name: str) -> bool:
    """An exception of golden.py's own, which the learner's code has no part in."""
    unfit = {"TypeError", "AttributeError"}  # golden.py could not use what the learner's code returned: None, mostly
    return (
        not any(file == name for file, _ in _frames(error))
        and getattr(error, "kind", type(error).__name__) not in unfit
    )


def _frames(error: BaseException) -> list[tuple[str, int]]:
    """(file, line) from the outside in; of an exception in another process those that it had there."""
    there = getattr(error, "frames", None)  # labkit.RankError
    return (
        there if there is not None else [(f.filename, f.lineno or 0) for f in traceback.extract_tb(error.__traceback__)]
    )


def _exception(error: Exception, joined: Joined, name: str) -> Failure:
    places = [joined.place(line) for file, line in _frames(error) if file == name]
    mine = [n for kind, n in places if kind == CELL]
    where = f"{name}:{mine[-1]}" if mine else f"{given_name(name)}:{places[-1][1]}" if places else name
    return Failure(
        None,
        Diagnosis("exception", {"type": getattr(error, "kind", type(error).__name__), "message": str(error) or "-"}),
        where=where,
    )


def _place(joined: Joined, name: str, line: int) -> str:
    kind, number = joined.place(line)
    return f"{name if kind == CELL else given_name(name)}:{number}"


def _tell_cases(spec: Spec, result: Result, shown: Failure, failures: list[Failure], cases) -> None:
    names = ", ".join(f.case.name for f in failures[:8]) + (", ..." if len(failures) > 8 else "")
    common = {"case": shown.case.name, "failed": len(failures), "cases": len(cases), "names": names}
    if spec.kind != "kernel":
        args = ", ".join(_short(a) for a in shown.case.args)
        result.notes.append(messages.text("exercise.case-python", args=args, **common))
    else:
        result.notes.append(messages.text("exercise.case", blocks=shown.case.blocks or spec.blocks, **common))
    if failures[-1].fatal and failures[-1].case is not cases[-1]:
        result.notes.append(messages.text("exercise.stopped", case=failures[-1].case.name))


def _short(value) -> str:
    text = f"tensor{tuple(value.shape)}" if hasattr(value, "shape") else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _fail(result: Result, failure: Failure, source: str, first_line: int) -> None:
    found = failure.diagnosis
    result.state, result.diagnosis, result.numbers = "FAIL", found.key, found.numbers
    result.lines, result.where, result.map, result.record = found.lines(), failure.where, found.map, failure.record
    result.case = failure.case.name if failure.case else ""
    result.source_line = _line_at(result, source, first_line)
    printed = getattr(failure.record, "output", "") or ""
    if printed:
        result.notes += [messages.text("exercise.printed"), *printed.splitlines()[:20]]


def _line_at(result: Result, source: str, first_line: int) -> str:
    """The line of code that `where` names, in the cell or in the given part."""
    name, _, line = result.where.rpartition(":")
    mine = f"exercise {result.exercise}"
    if not line.isdigit() or name not in (mine, given_name(mine)):
        return ""
    text = source.split("\n") if name == mine else template(load(result.exercise)).lines
    index = int(line) - (first_line if name == mine else 1)
    return text[index] if 0 <= index < len(text) else ""


def _measure(spec: Spec, ours: Template, cases, records: dict, result: Result, source: str, first_line: int) -> None:
    """Time, budget and warnings of a right kernel."""
    timed = next((c for c in cases if c.timed), cases[-1])
    record = records.get(timed.name)
    result.record, result.case = record, timed.name
    if record is None:
        return
    result.time_us, result.time_kind, result.chip = record.time_us, record.time_kind, record.chip
    result.checked_on = _checked_on(result)
    numbers = {
        "case": timed.name,
        "time_us": record.time_us,
        "time_kind": messages.text(f"exercise.{record.time_kind}"),
    }
    limit, ratio = spec.budget.max_ub_bytes, spec.budget.max_ratio
    if limit and record.ub_used > limit:
        found = Diagnosis("too-much-ub", {"ub_used": record.ub_used, "limit": limit})
        return _fail(result, Failure(timed, found, record), source, first_line)
    if ratio:
        reference = reference_us(spec, ours, timed)
        numbers |= {"reference_us": reference, "max_ratio": ratio, "limit_us": reference * ratio}
        if record.time_us > reference * ratio:
            return _fail(result, Failure(timed, Diagnosis("too-slow", numbers), record), source, first_line)
    result.lines.append(messages.text("exercise.pass-ratio" if ratio else "exercise.pass-time", **numbers))
    for finding in record.findings:
        what, _, hint = finding.lines()
        result.notes.append(
            messages.text(
                "exercise.warning", code=finding.code, where=f"{finding.file}:{finding.line}", what=what, try_=hint
            )
        )


_references: dict[tuple, float] = {}


def reference_us(spec: Spec, ours: Template, case: Case) -> float:
    """Time of our own solution on `case`, on the same target, in microseconds."""
    solution = ours.solution()
    key = (spec.id, current().target, case.name, case.blocks, solution)
    if key not in _references:
        name = f"solution {spec.id}"
        kernel = launch.build(ours.join(solution, name).text, name, spec.entry)
        _references[key] = launch.run_kernel(spec, kernel, case)[1].time_us
    return _references[key]
