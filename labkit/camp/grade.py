"""A folder of submissions to grades. The goldens, the cases drawn with the class seed and the expected values stay in
this process; a learner's code runs in workers that are confined, one for each exercise of each submission.
"""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from labkit import messages
from labkit.camp import confine, hidden, release, remote, way
from labkit.camp.submission import Answer, Submission, Unreadable, answers, submissions
from labkit.camp.tamper import Tampered, reaches
from labkit.camp.wire import Broken
from labkit.exercises import judge, order, prediction, question, session
from labkit.exercises.result import Result
from labkit.exercises.spec import Spec, SpecError, folders, load
from labkit.exercises.stub import template
from labkit.exercises.time_limit import TookTooLong, time_limit
from labkit.launch.record import LaunchError

JUDGE_CPU_S, JUDGE_WALL_S = 120.0, 1800.0  # of the judge's own work for one exercise; wall time tells of the machine
STATES = ("PASS", "FAIL", "TODO", "SKIP", "MISSING", "ERROR")


@dataclass
class Grade:
    """One exercise of one submission. state: the check's own, or MISSING (not handed in), or ERROR (the grader itself
    could not; a person must look). way: how far learner's code was kept from the verdict (labkit.camp.remote);
    isolation: of the run (labkit.camp.confine). cpu_seconds: of the worker, of what it started, and of the judge.
    """

    student: str
    assignment: str
    exercise: str
    state: str
    diagnosis: str = ""
    points: float = 0.0
    max_points: float = 1.0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    way: str = ""
    isolation: str = ""
    lines: list[str] = field(default_factory=list)


class NotIsolated(RuntimeError):
    """This machine can only limit time and memory, and nobody has said that this is enough."""


def grade(
    folder: str | Path,
    *,
    seed: int = 0,
    of_class: int | None = None,
    even_unconfined: bool = False,
    tell: Callable[[Grade], None] = lambda grade: None,
    budget: remote.Budget = remote.Budget(),
) -> list[Grade]:
    """Grades every notebook below `folder`. seed: the cases are drawn with it; of_class: a class seed, from which each
    assignment's seed follows. tell: called with each grade.
    Raises NotIsolated where nothing confines the submissions, unless even_unconfined; FileNotFoundError.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(messages.text("camp.no-folder", folder=folder))
    offers = confine.offers()
    if offers.level == "none" and not even_unconfined:
        raise NotIsolated(messages.text("camp.not-isolated", missing="; ".join(offers.missing)))
    made, found = [], submissions(folder)
    seeds = [seed if of_class is None else release.seed_of(of_class, s.assignment) for s in found]
    for grade in _all(found, seeds, str(offers), budget):
        made.append(grade)
        tell(grade)
    return made


@dataclass
class _Job:
    submission: Submission
    exercise: str
    answer: Answer | None
    problem: str = ""
    seed: int = 0
    worker: remote.Worker | None = None

    def prepare(self, budget: remote.Budget) -> None:
        """Starts the worker, so that it gets ready while another submission is judged."""
        if self.worker is None and self.answer is not None and self.answer.source is not None:
            if self.exercise in folders() and load(self.exercise).kind != "predict":
                self.worker = remote.Worker(way.start_of(load(self.exercise)), budget)


def _all(found: list[Submission], seeds: list[int], isolation: str, budget: remote.Budget) -> Iterable[Grade]:
    jobs = [replace(job, seed=seed) for submission, seed in zip(found, seeds) for job in _jobs(submission)]
    try:
        for k, job in enumerate(jobs):
            for soon in jobs[k : k + 2]:
                soon.prepare(budget)
            if k == 0 or job.seed != jobs[k - 1].seed:
                session.begin(TARGET="twin", SEED=job.seed, STRICT=False)
            yield _graded(job, isolation)
    finally:
        for job in jobs:
            if job.worker is not None:
                job.worker.close()


def _jobs(submission: Submission) -> list[_Job]:
    try:
        there, problem = answers(submission.path), ""
    except Unreadable as error:
        there, problem = {}, str(error)
    asked = [name for name in order.in_order() if order.notebook_of(name) == submission.path.name[:5]]
    names = dict.fromkeys([*asked, *there])
    if problem and not names:
        return [_Job(submission, "", None, problem)]
    return [_Job(submission, name, there.get(name), problem) for name in names]


def _graded(job: _Job, isolation: str) -> Grade:
    began, spent = time.perf_counter(), time.process_time()
    made = Grade(job.submission.student, job.submission.assignment, job.exercise, "MISSING", isolation=isolation)
    if job.problem:
        made.state, made.diagnosis, made.lines = "FAIL", "unreadable", [job.problem]
    elif job.answer is not None:
        try:
            with time_limit(JUDGE_CPU_S, JUDGE_WALL_S):
                _judge(job, made)
        except Tampered as changed:
            made.state, made.diagnosis = "FAIL", "tampered"
            made.lines = messages.lines("camp.tampered", name=str(changed))
        except TookTooLong as late:
            made.state, made.diagnosis = "FAIL", "took-too-long"
            made.lines = messages.lines("diagnosis.took-too-long", seconds=late.seconds)
        except SpecError as error:
            made.state, made.diagnosis, made.lines = "FAIL", "unknown", [str(error)]
        except (Broken, remote.RemoteError, LaunchError) as error:
            made.state, made.diagnosis, made.lines = "FAIL", "ended", [str(error)[:500]]
        except Exception as error:  # of the judge or a golden: on values that a submission gave, or our own fault
            made.state, made.diagnosis, made.lines = "ERROR", "", [f"{type(error).__name__}: {error}"[:500]]
            if _ours_passes(job.exercise, session.current().seed):
                made.state, made.diagnosis = "FAIL", "odd-value"
                made.lines = messages.lines("camp.odd-value", error=made.lines[0])
    if job.worker is not None:
        job.worker.close()
        spent -= job.worker.confined.cpu_s
    made.cpu_seconds = round(time.process_time() - spent, 2)
    made.points = made.max_points if made.state == "PASS" else 0.0
    made.seconds = round(time.perf_counter() - began, 2)
    return made


_passing: set[tuple[str, int]] = set()  # (exercise, seed) of which our own solution has passed


def _ours_passes(exercise: str, seed: int) -> bool:
    """Is our own solution judged without an error here and now? Then what went wrong came from the submission. A no is
    not remembered: where memory or a disk was full for a while, the next submission is looked at anew."""
    if (exercise, seed) not in _passing and _judged_right(exercise):
        _passing.add((exercise, seed))
    return (exercise, seed) in _passing


def _judged_right(exercise: str) -> bool:
    worker = None
    try:
        spec = load(exercise)
        if spec.kind == "predict":
            return prediction.examine(spec, question.answer(spec)).state == "PASS"
        worker = remote.Worker(way.start_of(spec))
        there = remote.Remote(lambda: worker)
        return judge.examine(spec, template(spec).solution(), first_line=2, at=there).state == "PASS"
    except Exception:
        return False
    finally:
        if worker is not None:
            worker.close()


def _judge(job: _Job, made: Grade) -> None:
    spec, answer = load(job.exercise), job.answer
    if (spec.kind == "predict") != (answer.source is None):
        raise SpecError(messages.text("camp.other-kind", id=spec.id))
    if spec.kind == "predict":
        made.way = "value"
        return _take(made, _prediction(spec, answer))
    there = remote.Remote(lambda: job.worker)
    try:
        result = judge.examine(spec, answer.source, first_line=2, at=there)
        _take(made, result)
        if made.state == "PASS":
            bad, count = hidden.wrong(
                spec.id, session.current().seed, lambda case: there.run_function(spec, None, case)
            )
            if count and 2 * bad >= count:
                made.state, made.diagnosis = "FAIL", "hard-coded"
                made.lines = messages.lines("camp.hard-coded", wrong=bad, count=count)
        if made.state == "PASS" and spec.in_python and (there.how == "helper" or spec.kind == "adapter"):
            ours = template(spec)
            used = reaches(ours.join(answer.source, "submission").text, ours.join(ours.solution(), "ours").text)
            if used:
                made.state, made.diagnosis = "FAIL", "reaches"
                made.lines = messages.lines("camp.reaches", names=", ".join(used))
    finally:
        made.way = there.how or way.way(spec)
        there.close()


def _prediction(spec: Spec, answer: Answer) -> Result:
    if answer.problem:
        return Result(spec.id, "FAIL", lines=[answer.problem], diagnosis="type")
    try:
        return prediction.examine(spec, answer.value)
    except (ArithmeticError, ValueError) as error:
        return Result(spec.id, "FAIL", lines=[f"{type(error).__name__}: {error}"[:200]], diagnosis="type")


def _take(made: Grade, result: Result) -> None:
    made.state, made.diagnosis, made.lines = result.state, result.diagnosis, [str(line)[:1000] for line in result.lines]


# ---- what is written


def write(grades: list[Grade], folder: str | Path) -> list[Path]:
    """grades.json (all that is known), grades.csv (a line an exercise), nbgrader.csv (a line a submission, in the
    columns of `nbgrader export`). Returns the files.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    data = {"isolation": confine.promises(confine.offers()), "grades": [asdict(g) for g in grades]}
    files = [folder / name for name in ("grades.json", "grades.csv", "nbgrader.csv")]
    files[0].write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    names = [
        "student",
        "assignment",
        "exercise",
        "state",
        "diagnosis",
        "points",
        "max_points",
        "seconds",
        "cpu_seconds",
        "way",
        "isolation",
    ]
    with open(files[1], "w", newline="", encoding="utf-8") as file:
        rows = csv.DictWriter(file, names, extrasaction="ignore", lineterminator="\n")
        rows.writeheader()
        rows.writerows({k: _cell(v) for k, v in asdict(g).items()} for g in grades)
    sums: dict[tuple[str, str], list[float]] = {}
    for g in grades:
        total = sums.setdefault((g.assignment, g.student), [0.0, 0.0])
        total[0] += g.points
        total[1] += g.max_points
    head = ["assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email", "raw_score",
            "late_submission_penalty", "score", "max_score"]  # fmt: skip
    with open(files[2], "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(head)
        for (assignment, student), (points, most) in sums.items():
            table.writerow([_cell(assignment), "", "", _cell(student), "", "", "", points, 0.0, points, most])
    return files


def _cell(value):
    """A text that a spreadsheet would take for a formula is made plain: names of folders come from submissions."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t") else value
