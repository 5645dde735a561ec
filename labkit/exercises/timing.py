"""The time of a right kernel beside that of our own solution, and what its budget says."""

from __future__ import annotations

from typing import Any

from labkit import messages
from labkit.exercises import launch
from labkit.exercises.cases import Case
from labkit.exercises.diagnose import Diagnosis
from labkit.exercises.result import Result
from labkit.exercises.session import current
from labkit.exercises.spec import Spec
from labkit.exercises.stub import Template, normalise

MUCH_SLOWER = 1.5  # of ours: worth a note where no budget is broken


def measure(
    spec: Spec, ours: Template, cases: list[Case], records: dict[str, Any], result: Result, source: str, element_wise=()
) -> Diagnosis | None:
    """Fill in the times and warnings of a right kernel; what breaks its budget, if anything does.
    element_wise: as in launch.TritonKernel."""
    timed = next((c for c in cases if c.timed), cases[-1])
    record = records.get(timed.name)
    result.record, result.case = record, timed.name
    if record is None:
        return None
    result.time_us, result.time_kind, result.chip = record.time_us, record.time_kind, record.chip
    limit, ratio = spec.budget.max_ub_bytes, spec.budget.max_ratio
    if limit and record.ub_used > limit:
        return Diagnosis("too-much-ub", {"ub_used": record.ub_used, "limit": limit})
    if spec.budget.contiguous and element_wise:
        line, how = element_wise[0]
        return Diagnosis("element-by-element", {"line": line, "how": how, "time_us": record.time_us})
    solution = ours.solution()
    same = normalise(source, spec.comment) == normalise(solution, spec.comment)
    reference = record.time_us if same else reference_us(spec, ours, timed)
    numbers = {
        "case": timed.name,
        "time_us": record.time_us,
        "time_kind": messages.text(f"exercise.{record.time_kind}"),
        "reference_us": reference,
        "times": record.time_us / reference if reference else 1.0,
        "max_ratio": ratio,
        "limit_us": reference * (ratio or 0),
    }
    if ratio and record.time_us > reference * ratio:
        return Diagnosis("too-slow", numbers)
    result.lines.append(messages.text("exercise.pass-ratio" if ratio else "exercise.pass-time", **numbers))
    if not ratio and numbers["times"] > MUCH_SLOWER:
        result.notes.append(messages.text("exercise.much-slower", id=spec.id, **numbers))
    for finding in record.findings:
        what, _, hint = finding.lines()
        result.notes.append(
            messages.text(
                "exercise.warning", code=finding.code, where=f"{finding.file}:{finding.line}", what=what, try_=hint
            )
        )
    return None


_references: dict[tuple, float] = {}


def reference_us(spec: Spec, ours: Template, case: Case) -> float:
    """Time of our own solution on `case`, on the same target, in microseconds."""
    solution = ours.solution()
    key = (spec.id, current().target, case.name, case.blocks, solution)
    if key not in _references:
        name = f"solution {spec.id}"
        kernel = launch.made_of(spec, ours.join(solution, name).text, name)
        _references[key] = launch.run_kernel(spec, kernel, case)[1].time_us
    return _references[key]
