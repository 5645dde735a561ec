"""What a program's launches left: findings in the learner's lines, and modelled times; read from the twin's reports."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace

from labkit import messages
from labkit.launch.answer import SIGNALS, line_at, merged
from labkit.launch.record import Finding
from labkit.paths import display_path


@dataclass
class Launch:
    """All launches of one kernel from one line. us: modelled, each; count: how many."""

    kernel: str
    blocks: int
    file: str
    line: int
    us: list[float] = field(default_factory=list)
    finished: bool = True
    mix: tuple[int, int] = (0, 1)  # cube cores, vector cores of a block

    def json(self) -> dict:
        return dict(
            kernel=self.kernel,
            blocks=self.blocks,
            aic=self.mix[0],
            aiv=self.mix[1],
            file=self.file,
            line=self.line,
            count=len(self.us),
            modelled_us=round(sum(self.us), 3),
            each_us=[round(u, 3) for u in self.us[:32]],
            finished=self.finished,
        )

    def __str__(self) -> str:
        times = (
            messages.text("program.launch_one", us=f"{self.us[0]:.2f}")
            if len(self.us) == 1
            else messages.text(
                "program.launch_many",
                count=len(self.us),
                least=f"{min(self.us):.2f}",
                most=f"{max(self.us):.2f}",
                total=f"{sum(self.us):.2f}",
            )
        )
        place = f"{display_path(self.file)}:{self.line}" if self.line > 0 else "?"
        kind = f" (AIC:AIV {self.mix[0]}:{self.mix[1]})" if self.mix[0] else ""  # else vector cores, one a block
        return f"{self.kernel}[{self.blocks}]{kind} {place}: {times}"


@dataclass(repr=False)
class Result:
    """status: the program's own. findings: merged over launches; launches: in the order of the first ones.

    steps: the commands that were run, for a folder. late, died: see supervise.Ended.
    """

    status: int
    findings: list[Finding] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    output: str = ""
    steps: list[str] = field(default_factory=list)
    chip: str = ""
    host_us: float = 0.0
    late: bool = False
    died: int = 0

    @property
    def errors(self) -> list[Finding]:
        return [f for f in self.findings if f.severity == "error"]

    @property
    def exit_code(self) -> int:
        """The program's own status; 3 when the checks found an error."""
        return 3 if self.errors else self.status

    def json(self) -> dict:
        return dict(
            status=self.status,
            exit_code=self.exit_code,
            chip=self.chip,
            time_kind="modelled",
            host_us=round(self.host_us, 3),
            late=self.late,
            died=self.died,
            launches=[launch.json() for launch in self.launches],
            findings=[
                dict(
                    code=f.code,
                    severity=f.severity,
                    file=f.file,
                    line=f.line,
                    block=f.block,
                    count=f.count,
                    numbers=f.numbers,
                    **dict(zip(messages.PARTS, f.lines())),
                )
                for f in self.findings
            ],
            steps=self.steps,
            output=self.output,
        )

    def __repr__(self) -> str:
        return "\n".join([*self.output.rstrip("\n").split("\n"), *self.lines()] if self.output else self.lines())

    def lines(self) -> list[str]:
        """What stands behind the program's own output: each launch, then the findings, then one line that sums up."""
        out = [str(launch) for launch in self.launches[:20]]
        if len(self.launches) > 20:
            out.append(messages.text("program.more_launches", count=len(self.launches) - 20))
        out += [str(f) for f in sorted(self.findings, key=lambda f: f.severity != "error")]
        total = sum(u for launch in self.launches for u in launch.us)
        out.append(
            messages.text(
                "program.summary",
                status=self.status,
                launches=sum(len(x.us) for x in self.launches),
                us=f"{total:.2f}",
                chip=self.chip,
                errors=len(self.errors),
                warnings=len(self.findings) - len(self.errors),
            )
        )
        return out


def of(ended, settings) -> Result:
    """The result of what supervise.run returned."""
    result = read(ended.reports, status=ended.status, chip=settings.chip, timeout=settings.timeout)
    result.output, result.late, result.died = ended.output, ended.late, ended.died
    if result.late and not any(f.code in ("time-out", "host-time-out") for f in result.findings):
        # it was killed, or ended while it was asked where it is: no success, whatever its status says
        result.findings.append(Finding("host-late", "error", -1, "", 0, {"seconds": f"{settings.timeout:g}"}))
    return result


def read(reports: list[dict], *, status: int, chip: str, timeout: float) -> Result:
    """The result that the reports of one run amount to."""
    result = Result(status, chip=chip)
    raw: list[Finding] = []
    for report in reports:
        places = {a["number"]: a for a in report["allocations"]}
        for launch in report["launches"]:
            _add_launch(result.launches, launch)
            raw += _named(merged(launch["findings"]), places)
        raw += [replace(f, block=-1) for f in _named(merged(report["findings"]), places)]
        if "fault" in report:
            fault = report["fault"]
            raw += _named(merged(fault["findings"]), places)
            raw.insert(0, _fault(fault, places, timeout))
        result.host_us += report["host_us"]
    kept: dict[tuple, Finding] = {}
    for f in raw:
        known = kept.setdefault((f.code, f.file, f.line), f)
        if known is not f:
            known.count += f.count
    result.findings = list(kept.values())
    return result


def _add_launch(launches: list[Launch], launch: dict) -> None:
    for known in launches:
        if (known.kernel, known.blocks, known.file, known.line) == tuple(
            launch[k] for k in ("kernel", "blocks", "file", "line")
        ):
            break
    else:
        known = Launch(launch["kernel"], launch["blocks"], launch["file"], launch["line"])
        known.mix = (launch.get("aic", 0), launch.get("aiv", 1))
        launches.append(known)
    known.us.append(launch["us"])
    known.finished = known.finished and launch["finished"]


def _allocation(number: int, places: dict[int, dict]) -> str:
    a = places.get(number)
    if a is None:
        return "?"
    key = "program.allocation" if a["line"] > 0 else "program.allocation_bare"
    return messages.text(key, number=number, bytes=a["bytes"], place=f"{display_path(a['file'])}:{a['line']}")


def _named(findings: list[Finding], places: dict[int, dict]) -> list[Finding]:
    """The findings with an allocation's name where the twin gives its number,
    and the line where it gives an address.
    """
    for f in findings:
        if "argument" in f.numbers:
            f.numbers["tensor"] = _allocation(f.numbers["argument"], places)
        if "allocation" in f.numbers:
            f.numbers["tensor"] = _allocation(f.numbers["allocation"], places)
        if "object" in f.numbers and (exact := line_at(f.numbers["object"], f.numbers["code"])):
            f.file, f.line = exact
    return findings


def _fault(fault: dict, places: dict[int, dict], timeout: float) -> Finding:
    """What ended a program before its time. In the host's own code the line comes from the debug information alone."""
    kind, host = fault["kind"], fault["host"]
    file, line = fault["file"], fault["line"]
    if fault["object"] and (exact := line_at(fault["object"], fault["offset"])):
        file, line = exact
    numbers = dict(
        seconds=f"{timeout:g}",
        signal=SIGNALS.get(fault["signal"], str(fault["signal"])),
        address=hex(fault["address"]),
        last_line=fault["line"],
        what="",
    )
    code = kind
    if host and kind == "crash":
        by_signal = {"SIGABRT": "host-abort", "SIGFPE": "host-divide"}
        code = by_signal.get(numbers["signal"], "host-touch" if fault["device_memory"] else "host-crash")
        numbers["tensor"] = _allocation(fault["allocation"], places) if fault["allocation"] else "?"
    elif host and kind == "time-out":
        code = "host-time-out"
    return Finding(code, "error", -1 if host else fault["block"], os.path.normpath(file) if file else "", line, numbers)
