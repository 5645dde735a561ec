"""What went wrong with one case; which of several is shown; how it is told: place, inputs, the line of code."""

from __future__ import annotations

import contextlib
import inspect
import re
import traceback
from collections import Counter
from dataclasses import dataclass, replace

from labkit import messages, paths
from labkit.exercises import launch
from labkit.exercises.cases import Case
from labkit.exercises.diagnose import FOLLOWS, VAGUE, WHOLE, Diagnosis, certain
from labkit.exercises.place import Here
from labkit.exercises.result import Result, told_place
from labkit.exercises.slips import of_error, unbalanced
from labkit.exercises.spec import Spec
from labkit.exercises.stub import CELL, Joined, Template, given_name, template
from labkit.exercises.time_limit import TookTooLong, time_limit
from labkit.source.errors import CompileError, SourceError


@dataclass
class Failure:
    """A failed case."""

    case: Case
    diagnosis: Diagnosis
    record: object = None
    where: str = ""
    fatal: bool = False


def to_show(failures: list[Failure], in_order: bool = False) -> Failure:
    """The failure to show: a finding or a crash; else the pattern that most cases agree on, a place before "nothing at
    all" before "no pattern". An exception in fewer cases than have a wrong value comes last: it is of the odd case (no
    gradient at all), and what is wrong in the others has to be mended first.

    A case of one element is all tail and all output: what it shows ("never written") is true and misleading. in_order:
    the cases of an operator are unlike each other, and each takes the ones before for granted.
    """

    odd = 2 * sum(f.diagnosis.key == "exception" for f in failures) < len(failures)

    def rank(failure: Failure) -> int:
        if certain(failure.diagnosis) or failure.fatal:
            return 0
        if odd and failure.diagnosis.key == "exception":
            return 4
        return 3 if failure.diagnosis.key in VAGUE else 2 if failure.diagnosis.key in (*WHOLE, *FOLLOWS) else 1

    best = min(map(rank, failures))
    if in_order and best:
        return failures[0]
    among = [f for f in failures if rank(f) == best]
    votes = Counter(f.diagnosis.key for f in among)
    return among[0] if best == 0 else max(among, key=lambda f: votes[f.diagnosis.key])


def find_bracket(failure: Failure, ours: Template, source: str, spec: Spec, first_line: int) -> None:
    """Where a region's brackets do not match, that is what the compiler stumbled over, wherever it says it did."""
    if failure.diagnosis.key != "compile":
        return
    for text, start in ours.split(source):
        found = unbalanced(text, spec.comment)
        if found and not any(unbalanced(body, spec.comment) for body in ours.bodies()):
            line, bracket, is_open = found
            failure.diagnosis = Diagnosis("bracket-open" if is_open else "bracket-closed", {"bracket": bracket})
            failure.where = f"exercise {spec.id}:{line + start - 1 + first_line - 1}"
            return


def is_ours(error: BaseException, name: str) -> bool:
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


def of_build(spec: Spec, joined: Joined, name: str, error: Exception) -> Failure:
    if not spec.in_python:
        first = (error.problems or [{}])[0]
        where = f"{paths.display_path(first['file'])}:{first.get('line', 0)}" if first.get("file") else ""
        if isinstance(error, SourceError):  # found in the text before the compiler applied #line
            where = place_of(joined, name, error.line)
        numbers = {
            "message": first.get("message") or str(error),
            "hint": first.get("hint") or messages.text("exercise.compile-hint"),
        }
        return Failure(None, Diagnosis("compile", numbers), where=where)
    if isinstance(error, SyntaxError):
        numbers = {"message": error.msg, "hint": messages.text("exercise.compile-hint")}
        return Failure(None, Diagnosis("compile", numbers), where=place_of(joined, name, error.lineno or 0))
    return of_exception(error, joined, name)


def of_exception(error: BaseException, joined: Joined, name: str) -> Failure:
    places = [joined.place(line) for file, line in _frames(error) if file == name]
    mine = [n for kind, n in places if kind == CELL]
    where = f"{name}:{mine[-1]}" if mine else f"{given_name(name)}:{places[-1][1]}" if places else name
    kind = getattr(error, "kind", type(error).__name__)
    found = Diagnosis("exception", {"type": kind, "message": str(error) or "-"}, say=of_error(error, name))
    return Failure(None, found, where=where, fatal=kind == "time-out")  # ranks would wait as long in each further case


def of_triton(error: Exception, joined: Joined, name: str, made) -> Failure:
    """What Triton's front end, or ours behind it, does not take: on the line that it names."""
    line, key, said = 0, "triton-refused", str(error)
    if hasattr(error, "node") and hasattr(error, "error_message"):  # triton's CompilationError
        inner = error
        while isinstance(inner.__cause__, Exception):
            inner = inner.__cause__
        said = getattr(inner, "error_message", None) or (str(inner) if inner is not error else "") or said
        said = said.strip().split("\n")[-1] if said.startswith("at ") else said.strip()
        said = re.sub(r"^\w+\((['\"])(.*)\1\)$", r"\2", said)  # Triton keeps an exception's repr
        jit = getattr(made.jit, "fn", made.jit) if not hasattr(made.jit, "raw_src") else made.jit
        before = next((i for i, text in enumerate(jit.raw_src) if text.lstrip().startswith("def ")), 0)  # decorators
        line, key = jit.starting_line_number + before + getattr(error.node, "lineno", 1) - 1, "triton-compile"
    elif found := re.match(r".*?:(\d+): ", said):
        line = int(found[1])
    return Failure(None, Diagnosis(key, {"message": said}), where=place_of(joined, name, line) if line else name)


def on_cell(spec: Spec, record, joined: Joined, name: str) -> None:
    """The findings of a launch in Triton, whose lines are those of the joined text, at the learner's lines. In C++ a
    `#line` has done that already.
    """
    for f in getattr(record, "findings", None) or () if spec.kind == "triton" else ():
        if f.file == name:
            f.file, _, line = place_of(joined, name, f.line).rpartition(":")
            f.line = int(line)


def of_time_limit(error: TookTooLong, joined: Joined, name: str) -> Failure:
    failure = of_exception(error, joined, name)
    failure.diagnosis, failure.fatal = Diagnosis("took-too-long", {"seconds": error.seconds}), True
    return failure


def place_of(joined: Joined, name: str, line: int) -> str:
    kind, number = joined.place(line)
    return f"{name if kind == CELL else given_name(name)}:{number}"


def tell_cases(spec: Spec, result: Result, shown: Failure, failures: list[Failure], cases, made) -> None:
    names = ", ".join(f.case.name for f in failures[:8]) + (", ..." if len(failures) > 8 else "")
    common = {"case": shown.case.name, "failed": len(failures), "cases": len(cases), "names": names}
    if not spec.is_kernel:
        names_of = _parameters(made, shown.case.args) if spec.kind == "python" and not spec.run else ()
        args = ", ".join((f"{names_of[k]}=" if names_of else "") + _short(a) for k, a in enumerate(shown.case.args))
        result.notes.append(messages.text("exercise.case-python", args=args, **common))
    else:
        result.notes.append(messages.text("exercise.case", blocks=shown.case.blocks or spec.blocks, **common))
    raised = next((f for f in failures if f.diagnosis.key == "exception"), shown)
    if shown.diagnosis.key != "exception" and raised is not shown:
        said, where = raised.diagnosis.lines()[0].partition("\n")[0], told_place(raised.where)
        result.notes.append(messages.text("exercise.raised-too", case=raised.case.name, where=where, said=said))
    if failures[-1].fatal and failures[-1].case is not cases[-1]:
        result.notes.append(messages.text("exercise.stopped", case=failures[-1].case.name))


_NAMED = 3  # cases in one sentence


def which_cases(failures: list[Failure], cases, parameters: tuple[str, ...] = ()) -> str:
    """Where the answer is wrong, by the cases' names, if it is right in others: what an unknown mistake has to do with.
    "" where all fail, a failure ended the check, or a name belongs to cases of both sorts. parameters: the names of the
    cases' arguments; one that tells the wrong cases from the right ones by itself comes first.
    """
    wrong = {id(f.case) for f in failures}
    if not failures[-1].fatal and (told := _by_a_size(wrong, cases, parameters)):
        return told
    names = list(dict.fromkeys(f.case.name for f in failures))
    right = [c for c in cases if id(c) not in wrong]
    if not right or failures[-1].fatal or {c.name for c in right} & {*names}:
        return ""
    shown = "; ".join(names[:_NAMED])
    if len(names) > _NAMED:
        shown = messages.text("exercise.more-cases", names=shown, count=len(names) - _NAMED)
    return messages.text("exercise.which-cases", right=len(right), cases=len(cases), names=shown)


def _by_a_size(wrong: set[int], cases, parameters: tuple[str, ...]) -> str:
    """The size that is a multiple of 16, say, in the right cases alone, or less than the number of blocks in the wrong
    ones alone. Of two cases of either sort at least: one has something of its own in every size."""
    right = [c for c in cases if id(c) not in wrong]
    bad = [c for c in cases if id(c) in wrong]
    if len(right) < 2 or len(bad) < 2:
        return ""
    counts = {"right": len(right), "wrong": len(bad)}
    sizes = [
        (name, [c.args[k] for c in right], [c.args[k] for c in bad])
        for k, name in enumerate(parameters)
        if all(len(c.args) == len(parameters) and type(c.args[k]) is int for c in cases)
    ]
    for unit in (16, 8, 32, 64, 128, 4, 2):
        for name, here, there in sizes:
            if not any(n % unit for n in here) and all(n % unit for n in there):
                return messages.text("exercise.by-multiple", name=name, unit=unit, **counts)
    for name, here, there in sizes:
        if all(c.blocks for c in cases) and len({*here, *there}) > 2:
            fewer = [[n < c.blocks for n, c in zip(those, of)] for those, of in ((here, right), (there, bad))]
            if not any(fewer[0]) and all(fewer[1]):
                return messages.text("exercise.by-blocks", name=name, **counts)
    return ""


def parameters_of(spec: Spec, made, joined: Joined, args: tuple) -> tuple[str, ...]:
    """The names of what a case's arguments go to; () where golden's `run` passes them on."""
    if spec.run:
        return ()
    if spec.kind == "python":
        return _parameters(made, args)
    found = re.search(rf"\b{re.escape(spec.entry.split('<')[0])}\s*\(([^(){{}};]*)\)\s*\{{", joined.text)
    names = [re.findall(r"\w+", one)[-1:] for one in found[1].split(",")] if found else []
    return tuple(one[0] for one in names) if len(names) == len(args) and all(names) else ()


def _parameters(function, args: tuple) -> tuple[str, ...]:
    """The names of a function's parameters, where there is one for each argument."""
    try:
        names = tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ()
    return names if len(names) >= len(args) else ()


def _short(value) -> str:
    text = f"tensor{tuple(value.shape)}" if hasattr(value, "shape") else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def put(spec: Spec, result: Result, failure: Failure, source: str, first_line: int) -> None:
    found = failure.diagnosis
    result.state, result.diagnosis, result.numbers = "FAIL", found.key, found.numbers
    result.where, result.map, result.record = failure.where, found.map, failure.record
    result.case = failure.case.name if failure.case else ""
    result.source_line = line_at(spec, result.where, source, first_line)
    if found.finding is not None:
        found.finding.text = getattr(found.finding, "text", "") or result.source_line
        result.notes += _written(getattr(found.finding, "tensor", ("", ""))[0], source, first_line, result.where)
    result.lines = found.lines()
    printed = getattr(failure.record, "output", "") or ""
    if printed:
        result.notes += [messages.text("exercise.printed"), *printed.splitlines()[:20]]


def _written(tensor: str, source: str, first_line: int, where: str) -> list[str]:
    """Of a finding in the given part: where the learner's part has that tensor, which is where it can be mended."""
    name = tensor.partition("[")[0]
    if not name or not where.startswith(given_name("exercise ")):
        return []
    those = [n for n, line in enumerate(source.split("\n")) if re.search(rf"\b{name}\b", line.partition("//")[0])]
    return [
        messages.text("exercise.yours-has", name=name, line=n + first_line, code=source.split("\n")[n].strip())
        for n in those[-1:]
    ]


def line_at(spec: Spec, where: str, source: str, first_line: int) -> str:
    """The line of code that `where` names, in the cell or in the given part."""
    name, _, line = where.rpartition(":")
    mine = f"exercise {spec.id}"
    if not line.isdigit() or name not in (mine, given_name(mine)):
        return ""
    text = source.split("\n") if name == mine else template(spec).lines
    index = int(line) - (first_line if name == mine else 1)
    return text[index] if 0 <= index < len(text) else ""


def unmet(spec: Spec, joined: Joined, name: str, at: Here, cases: int) -> Diagnosis | None:
    """Of an answer that is right in all cases: what it was asked and does not do, by golden's `asked`."""

    def builds(text: str, entry: str) -> bool:
        try:
            return not isinstance(at.build(replace(spec, entry=entry), replace(joined, text=text), name), Diagnosis)
        except CompileError:
            return False

    say = spec.function(spec.asked)(joined.text, builds) if spec.asked else ""
    return Diagnosis("not-asked", {"cases": cases}, say=say) if say else None


def works_with_ours(spec: Spec, case: Case) -> bool:
    """Does golden.py get through this case with our own solution? Then what it raises with another is not its fault."""
    ours = template(spec)
    with contextlib.suppress(Exception, TookTooLong), launch.quietly(), time_limit():
        made = launch.function(ours.join(ours.solution(), "solution").text, f"solution {spec.id}", spec.entry)
        launch.run_function(spec, made, case)
        return True
    return False
