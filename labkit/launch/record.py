"""What a launch leaves: its time, its timeline, and what the checks found.

A launch prints its error findings at once and returns a LaunchRecord. It raises LaunchError only when it did not
finish (crash, time-out, hang, out of memory), and under LABKIT_STRICT=1 for any error finding. A lesson that breaks a
kernel on purpose wraps the launch in `with labkit.expect("code")`.
"""

from __future__ import annotations

import html
import linecache
import os
import re
from dataclasses import dataclass, field

import numpy as np

from labkit import messages
from labkit.paths import display_path

PIPES = ["S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"]
POSITIONS = [
    "GM",
    "A1",
    "A2",
    "B1",
    "B2",
    "C1",
    "C2",
    "CO1",
    "CO2",
    "VECIN",
    "VECOUT",
    "VECCALC",
    "SPM",
    "TSCM",
    "C2PIPE2GM",
    "C2PIPE2LOCAL",
]


def strict() -> bool:
    return os.environ.get("LABKIT_STRICT", "0") not in ("", "0")


# Instructions that take (dst, src) or (dst, src0, src1, ...); Select and the library's calls have other orders.
_ORDERED = (
    "DataCopy DataCopyPad Copy LoadData Cast Duplicate Brcb Transpose Mmad Gather Add Sub Mul Div Max Min And Or Adds "
    "Muls Maxs Mins Exp Ln Abs Sqrt Rsqrt Reciprocal Relu LeakyRelu Not Axpy AddRelu SubRelu MulAddDst FusedMulAdd "
    "ShiftLeft ShiftRight ReduceSum ReduceMax ReduceMin WholeReduceSum WholeReduceMax WholeReduceMin BlockReduceSum "
    "BlockReduceMax BlockReduceMin PairReduceSum"
).split()
_OPERANDS = {"dst": 0, "src": 1, "src0": 1, "src1": 2, "fm": 1, "filter": 2}


def tensor_of(operand: str, code: str) -> tuple[str, str]:
    """(the tensor, the instruction) that "src" stands for in a line with one instruction; ("", "") where that is not
    sure: several of them on the line, or one that goes on on the next."""
    calls = list(re.finditer(r"\b(\w+)\s*(?:<[\w:, ]*>)?\(", code.partition("//")[0]))
    mine = [c for c in calls if c[1] in _ORDERED]
    if len(mine) != 1 or operand not in _OPERANDS:
        return "", ""
    given, depth = [""], 1
    for sign in code[mine[0].end() :]:
        depth += (sign in "([{") - (sign in ")]}")
        if depth == 0:
            break
        if sign == "," and depth == 1:
            given.append("")
        else:
            given[-1] += sign
    at = _OPERANDS[operand]
    found = re.fullmatch(r"(\w+)(\[.*\])?", given[at].strip()) if depth == 0 and at < len(given) else None
    return (found[0], mine[0][1]) if found else ("", "")


@dataclass
class Finding:
    """One thing that the checks found. code is stable; file and line are the learner's own; numbers fill the message.
    text: the line of code, where `file` is not a file to read it from.
    """

    code: str
    severity: str
    block: int
    file: str
    line: int
    numbers: dict = field(default_factory=dict)
    count: int = 1
    skipped: bool = False  # the instruction was not carried out
    text: str = field(default="", compare=False)

    @property
    def tensor(self) -> tuple[str, str]:
        """(tensor, instruction) that the finding is about, in the learner's own names, where that is sure."""
        if not self.text:
            linecache.checkcache(self.file)  # it may have been edited since
        return tensor_of(str(self.numbers.get("what", "")), self.text or linecache.getline(self.file, self.line))

    def lines(self, lang: str | None = None) -> list[str]:
        """[what happened, why it matters, what to try]; what happened says so where the twin left the instruction
        out."""
        numbers = {**self.numbers, "line": self.line}
        for key, value in numbers.items():  # "read", "a queue" ...: the twin's own words, in the reader's language
            if key != "call" and isinstance(value, str) and messages.has(f"word.{value}"):  # a call's name is no word
                numbers[key] = messages.text(f"word.{value}", lang=lang)
        name, call = self.tensor
        if name:
            numbers["what"] = messages.text("record.tensor", lang=lang, name=name, call=call, operand=numbers["what"])
        what, *more = messages.lines(f"finding.{self.code}", lang=lang, **numbers)
        if self.skipped:
            what += ("" if what.endswith("。") else " ") + messages.text("record.left_out", lang=lang)
        return [what, *more]

    @property
    def place(self) -> str:
        return (
            f"{display_path(self.file)}:{self.line}" if self.line > 0 else display_path(self.file) if self.file else "?"
        )

    def __str__(self) -> str:
        times = f" x{self.count}" if self.count > 1 else ""
        what, why, hint = self.lines()
        block = f" (block {self.block})" if self.block >= 0 else ""  # below 0: the host's own code
        return (
            f"{self.severity} [{self.code}] {self.place}{block}{times}\n"
            f"  {messages.after('record.what', what)}\n  {messages.after('record.why', why)}\n"
            f"  {messages.after('record.try', hint)}"
        )


WAYS = ("to_ub", "to_l1", "to_l1_nz", "from_ub", "from_l0c")  # between GM and a core, as in the chip tables
CORE_FIELDS = (
    "block",
    "core",
    "begin",
    "time",
    *(f"busy.{p}" for p in PIPES),
    *(f"instructions.{p}" for p in PIPES),
    *(f"moves.{w}" for w in WAYS),
    *(f"bytes.{w}" for w in WAYS),
    "read_hit",
    "read_miss",
    "vector16",
    "vector32",
    "vector_other",
    "fractals16",
    "fractals8",
    "fractals32",
    "bank",
    "startup",
    "unit_wait",
)


@dataclass
class LaunchRecord:
    """One launch. Times in microseconds; time_kind says whether they are modelled or measured.

    timeline: records (block, core, pipe, op, line, bytes, start, end); core 0 and 1 are a block's AIVs, 2 its AIC. It
    may be cut, timeline_total counts all instructions. busy: each pipe's busy time, the mean over the cores that have
    it. mix: (cube cores, vector cores) of a block, None where it is not known. cores: for each core its times in us and
    its sums, by the names of CORE_FIELDS; unit_wait: the part of busy.FIX in which FIXPIPE waited for unit flags, which
    the profiler counts as busy. extrapolated: a core ran so many instructions that only the first ones were timed, and
    the rest taken in proportion. buffers: how the kernel laid out
    UB. wall_s: host seconds spent.
    """

    target: str
    kernel: str
    blocks: int
    time_us: float
    time_kind: str
    chip: str
    findings: list[Finding] = field(default_factory=list)
    output: str = ""
    timeline: np.ndarray | None = None
    timeline_total: int = 0
    op_names: list[str] = field(default_factory=list)
    pipe_names: list[str] = field(default_factory=lambda: list(PIPES))
    busy: dict[str, float] = field(default_factory=dict)
    core_us: float = 0.0
    extrapolated: bool = False
    cores: list[dict] = field(default_factory=list)
    mix: tuple[int, int] | None = None
    ub_used: int = 0
    ub_size: int = 0
    buffers: list[dict] = field(default_factory=list)
    wall_s: float = 0.0
    finished: bool = True
    crashed: str | None = None
    # how labkit.explain times it again with one thing different
    again: object = field(default=None, repr=False, compare=False)

    def tables(self) -> dict:
        """pandas frames in msprof op's own columns: see labkit.launch.msprof_tables."""
        from labkit.launch.msprof_tables import tables  # brings pandas when asked

        return tables(self)

    @property
    def errors(self) -> list[Finding]:
        return [f for f in self.findings if f.severity == "error"]

    @property
    def ok(self) -> bool:
        """It finished and no check raised an error."""
        return self.finished and not self.errors

    def codes(self) -> list[str]:
        return [f.code for f in self.findings]

    def __str__(self) -> str:
        state = messages.text("record.ok" if self.ok else "record.not_ok", count=len(self.errors))
        time = messages.text(f"record.{self.time_kind}", us=f"{self.time_us:.2f}")
        if self.extrapolated:
            time += f" ({messages.text('record.extrapolated')})"
        lines = [
            f"{self.kernel}[{self.blocks}] {messages.text('record.on')} {self.target} ({self.chip}): {time}, {state}"
        ]
        lines += [f"  {f.severity} [{f.code}] {f.place}" for f in self.findings]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        text = str(self)
        return {"text/plain": text, "text/html": f"<pre style='margin:0;padding:0'>{html.escape(text)}</pre>"}

    def report(self) -> str:
        """All findings in full, errors first."""
        return "\n".join(str(f) for f in sorted(self.findings, key=lambda f: f.severity != "error"))


class LaunchError(RuntimeError):
    """The launch did not finish, or LABKIT_STRICT is set and the checks found an error. `.record` has the rest."""

    def __init__(self, record: LaunchRecord):
        self.record = record
        super().__init__(record.report() or str(record))

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class OnHardware(Exception):
    """A launch that is made to go wrong was about to run on a real NPU, where it can hang the device."""


class expect:
    """`with labkit.expect("race-raw") as seen:` - a launch in the body must give that finding;
    then it is shown, not raised.

    code: a finding's code, or "*" for any. seen.findings and seen.records hold what came. Raises AssertionError when
    the body's launches did not give it. On a real NPU the launch is not made at all and the body ends with a SKIP: a
    kernel that is wrong on purpose hangs or faults the device.
    """

    _open: list["expect"] = []

    def __init__(self, code: str):
        self.code, self.records, self.findings = code, [], []

    def __enter__(self) -> "expect":
        expect._open.append(self)
        return self

    def __exit__(self, kind, error, _traceback) -> bool:
        expect._open.remove(self)
        if isinstance(error, OnHardware):
            print(messages.text("record.skipped", code=self.code))
            return True
        # C++ in between: a bare RuntimeError
        stopped = isinstance(error, RuntimeError) and any(not r.finished for r in self.records)
        if error is not None and not isinstance(error, LaunchError) and not stopped:
            return False
        self.findings = [f for r in self.records for f in r.findings if self.code in ("*", f.code)]
        if not self.findings:
            seen = sorted({c for r in self.records for c in r.codes()})
            raise AssertionError(messages.text("record.not_seen", code=self.code, seen=", ".join(seen) or "-"))
        print("\n".join(str(f) for f in self.findings))
        return True


def may_launch(target: str) -> None:
    """Raises OnHardware for a launch inside `expect` on the npu target."""
    if target == "npu" and expect._open:
        raise OnHardware


watchers: list = []  # functions of a LaunchRecord, called for each launch: who profiles


def announce(record: LaunchRecord) -> LaunchRecord:
    """Shows what a launch printed and found; raises LaunchError where the module's contract says so."""
    for watcher in watchers:
        watcher(record)
    if record.output:
        print(record.output, end="" if record.output.endswith("\n") else "\n")
    if expect._open:
        expect._open[-1].records.append(record)
        if not record.finished:
            raise LaunchError(record)
        return record
    if not record.finished or (strict() and not record.ok):
        raise LaunchError(record)
    if record.findings:
        print(record.report())
    return record
