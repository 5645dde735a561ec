"""The time of a right kernel beside that of our own solution, and what its budget says."""

from __future__ import annotations

from typing import Any

from labkit import chips, messages
from labkit.exercises import launch
from labkit.exercises.cases import Case
from labkit.exercises.diagnose import Diagnosis
from labkit.exercises.result import Result
from labkit.exercises.session import current
from labkit.exercises.spec import Spec
from labkit.exercises.stub import Template, normalise

WAYS_IN, WAYS_OUT = ("to_ub", "to_l1", "to_l1_nz"), ("from_ub", "from_l0c")
COUNTED = (  # of a core's sums, what is compared here
    *(f"{what}.{way}" for what in ("bytes", "moves") for way in (*WAYS_IN, *WAYS_OUT)),
    *(f"instructions.{pipe}" for pipe in "VMS"),
)
MUCH_SLOWER = 1.5  # of ours: worth a note where no budget is broken
MORE = 1.4  # times ours: a difference that explains something
_IN, _OUT = ("bytes_in", "transfers"), ("bytes_out", "transfers")
_BUSY = {"MTE2": _IN, "MTE3": _OUT, "FIX": _OUT, "V": ("vector",), "M": ("cube",), "MTE1": ("cube",), "S": ("scalar",)}


def measure(
    spec: Spec, ours: Template, cases: list[Case], records: dict[str, Any], result: Result, source: str, element_wise=()
) -> Diagnosis | None:
    """Fill in the times and warnings of a right kernel; what breaks its budget, if anything does.
    element_wise: as in launch.TritonKernel."""
    timed = next((c for c in cases if c.timed), cases[-1])
    record = records.get(timed.name)
    _show(result, timed, record)
    if record is None:
        return None
    limit, ratio = spec.budget.max_ub_bytes, spec.budget.max_ratio
    if limit and record.ub_used > limit:
        return Diagnosis("too-much-ub", {"ub_used": record.ub_used, "limit": limit})
    if spec.budget.contiguous and element_wise:
        line, how = element_wise[0]
        return Diagnosis("element-by-element", {"line": line, "how": how, "time_us": record.time_us})
    same = normalise(source, spec.comment) == normalise(ours.solution(), spec.comment)
    found, numbers = _beside_ours(spec, ours, timed, record, same)
    if found:
        return found
    for case in cases if not same else ():  # a budget that is kept where the time is shown, and nowhere else
        other = records.get(case.name)
        if case.budgeted and case is not timed and other is not None:
            found, _ = _beside_ours(spec, ours, case, other, same)
            if found:
                _show(result, case, other)
                return found
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


def _show(result: Result, case: Case, record: Any) -> None:
    result.record, result.case = record, case.name
    if record is not None:
        result.time_us, result.time_kind, result.chip = record.time_us, record.time_kind, record.chip


def _beside_ours(
    spec: Spec, ours: Template, case: Case, record: Any, same: bool
) -> tuple[Diagnosis | None, dict[str, Any]]:
    """(what breaks the budget in one case, its times beside ours)."""
    ratio, sums = spec.budget.max_ratio, _sums(record)
    reference_us, our_sums = (record.time_us, sums) if same else reference(spec, ours, case)
    numbers = {
        "case": case.name,
        "time_us": record.time_us,
        "time_kind": messages.text(f"exercise.{record.time_kind}"),
        "reference_us": reference_us,
        "times": record.time_us / reference_us if reference_us else 1.0,
        "max_ratio": ratio,
        "limit_us": reference_us * (ratio or 0),
    }
    if found := _more_than_ours(spec, sums, our_sums, case.name):
        return found, numbers
    if ratio and record.time_us > reference_us * ratio:
        return Diagnosis("too-slow", numbers, say=difference(sums, our_sums)), numbers
    return _uneven(spec, sums, our_sums, case.name), numbers


def _more_than_ours(spec: Spec, sums: dict[str, Any], our_sums: dict[str, Any], case: str) -> Diagnosis | None:
    """What a right launch does otherwise than ours and may not, by the _sums of both."""
    if not sums or not our_sums:
        return None
    most, stored = spec.budget.max_stored, (sums.get("bytes_out", 0), our_sums.get("bytes_out", 0))
    if most and stored[1] and stored[0] > most * stored[1]:
        return Diagnosis("too-much-stored", {"case": case, "stored": stored[0], "ours": stored[1], "ratio": most})
    mine, theirs = sums["vector"], our_sums["vector"]
    if spec.budget.max_vector and mine > spec.budget.max_vector * theirs:
        return Diagnosis("too-many-vector", {"case": case, "mine": int(mine), "ours": int(theirs)})
    if spec.budget.shares and sums["shares"] != our_sums["shares"]:
        pairs = enumerate(zip(sums["shares"], our_sums["shares"]))
        block, (mine, theirs) = next((b, pair) for b, pair in pairs if pair[0] != pair[1])
        return Diagnosis("other-shares", {"case": case, "block": block, "mine": int(mine[1]), "ours": int(theirs[1])})
    return None


def _uneven(spec: Spec, sums: dict[str, Any], our_sums: dict[str, Any], case: str) -> Diagnosis | None:
    """What a launch that is fast enough may not do otherwise than ours."""
    most, loaded = spec.budget.max_loaded, (sums.get("bytes_in", 0), our_sums.get("bytes_in", 0))
    if most and loaded[1] and loaded[0] > most * loaded[1]:
        return Diagnosis("too-much-loaded", {"case": case, "loaded": loaded[0], "ours": loaded[1], "ratio": most})
    most, core = spec.budget.max_per_core, (sums.get("core_out", 0), our_sums.get("core_out", 0))
    if most and core[1] and core[0] > most * core[1]:
        return Diagnosis("uneven", {"case": case, "stored": core[0], "ours": core[1], "ratio": most})
    return None


_references: dict[tuple, tuple[float, dict[str, Any]]] = {}


def reference(spec: Spec, ours: Template, case: Case) -> tuple[float, dict[str, Any]]:
    """(microseconds, _sums) of our own solution on `case`, on the same target and chip.
    Its record would keep the tensors."""
    solution = ours.solution()
    key = (spec.id, current().target, chips.chosen(), case.name, case.blocks, solution)
    if key not in _references:
        name = f"solution {spec.id}"
        kernel = launch.made_of(spec, ours.join(solution, name).text, name)
        record = launch.run_kernel(spec, kernel, case)[1]
        _references[key] = record.time_us, _sums(record)
    return _references[key]


def difference(a: dict[str, Any], b: dict[str, Any]) -> str:
    """What a slow launch does more than ours, by the _sums of both: of what keeps its busiest pipe busy, else of
    anything, that with the largest factor. "" where they are not known."""
    if not a or not b:
        return ""
    found = []
    for name in ("bytes_in", "bytes_out", "transfers", "vector", "cube", "scalar"):
        if b[name] and a[name] > MORE * b[name]:
            found.append((a[name] / b[name], name))
    if a["cores"] and b["cores"] > MORE * a["cores"]:
        found.append((b["cores"] / a["cores"], "cores"))
    if a["pipe"] == "S" and b["vector"] > MORE * a["vector"]:  # GetValue and SetValue are in no count of instructions
        return messages.text("slower.scalar-unit", share=100 * a["share"], mine=a["vector"], ours=b["vector"])
    if not found and a["share"] > b["share"]:  # it does not wait: GetValue and SetValue are no instructions of a sum
        pipe, other = a["pipe"], b["us"].get(a["pipe"], 0.0)
        return messages.text("slower.busy", mine=a["us"][pipe], ours=other, pipe=pipe)
    if not found:
        return messages.text("slower.order", mine=100 * a["share"], ours=100 * b["share"], pipe=a["pipe"])
    causes = [one for one in found if one[1] in ("cores", *_BUSY.get(a["pipe"], ()))]
    times, name = max(causes or found, key=lambda one: (one[0], one[1] == "cores"))
    shown = {"times": times, "mine": a[name], "ours": b[name]}
    if name == "transfers":
        shown |= {
            "mean": (a["bytes_in"] + a["bytes_out"]) / a[name],
            "other": (b["bytes_in"] + b["bytes_out"]) / b[name],
        }
    return messages.text(f"slower.{name}", **shown)


def _sums(record: Any) -> dict[str, Any]:
    """Over all cores: bytes and transfers between GM and the cores, instructions, cores that copy anything; and the
    busiest pipe with the share of the cores' time in which it works. {} where the record has no cores."""
    if not getattr(record, "cores", None):
        return {}

    def total(*names: str) -> float:
        return sum(core[name] for core in record.cores for name in names)

    moves = [f"moves.{way}" for way in (*WAYS_IN, *WAYS_OUT)]

    def on(core, ways: tuple[str, ...]) -> float:
        return sum(core[f"bytes.{way}"] for way in ways)

    pipe = max(record.busy, key=record.busy.get, default="")
    return {
        "bytes_in": total(*(f"bytes.{way}" for way in WAYS_IN)),
        "bytes_out": total(*(f"bytes.{way}" for way in WAYS_OUT)),
        "core_out": max(sum(core[f"bytes.{way}"] for way in WAYS_OUT) for core in record.cores),
        "transfers": total(*moves),
        "vector": total("instructions.V"),
        "cube": total("instructions.M"),
        "scalar": total("instructions.S"),
        "shares": [(on(core, WAYS_IN), on(core, WAYS_OUT)) for core in record.cores],
        "cores": sum(any(core[name] for name in moves) for core in record.cores),
        "pipe": pipe,
        "us": dict(record.busy),
        "share": min(record.busy.get(pipe, 0.0) / record.core_us, 1.0) if record.core_us else 0.0,
    }
