"""Running what was built: one process group, its settings in the environment, each program's report, a time limit.

A program that takes too long gets SIGUSR2, at which the twin reports where it is and ends it;
one that does not end is killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from labkit import chips
from labkit.build.process import processor_time, wants_processor

_GRACE_S = 5.0
_POLL_S = 0.02


@dataclass(frozen=True)
class Settings:
    """chip: of chips.names(). timeout: seconds that each program may take, of its processor
    or asleep. schedule: "program", "worst" or "worst:SEED".
    l2: "warm", or "cold": each launch begins with an empty L2. spoil: a byte of what each launch writes is changed.
    """

    chip: str = chips.DEFAULT
    timeout: float = 60.0
    threads: int = 0
    checks: bool = True
    schedule: str = "program"
    l2: str = "warm"
    spoil: bool = False

    def environment(self, reports: Path) -> dict[str, str]:
        return {
            "LABKIT_TWIN_REPORT": str(reports),
            "LABKIT_TWIN_CHIP": chips.flat_file(self.chip),
            "LABKIT_TWIN_SOC": str(chips.load(self.chip)["chip"]["soc"]),
            "LABKIT_TWIN_THREADS": str(self.threads or os.cpu_count() or 1),
            "LABKIT_TWIN_CHECKS": str(int(self.checks)),
            "LABKIT_TWIN_SCHEDULE": self.schedule,
            "LABKIT_TWIN_L2": self.l2,
            "LABKIT_TWIN_SPOIL": str(int(self.spoil)),
        }


@dataclass
class Ended:
    """status: as a shell sees it (128 + signal). reports: what each program left, in the order of their starts.

    late: a program was ended because its time was up; died: the number of those that left no report.
    """

    status: int
    reports: list[dict] = field(default_factory=list)
    output: str = ""
    late: bool = False
    died: int = 0


def run(
    command: Sequence[str], cwd: Path, settings: Settings, *, env: dict[str, str] | None = None, capture: bool = False
) -> Ended:
    """Runs a command that is a program, or that starts programs.
    capture: collect what it prints instead of showing it.
    """
    with tempfile.TemporaryDirectory(prefix="labkit-run-") as folder:
        reports = Path(folder)
        words = {**os.environ, **settings.environment(reports), **(env or {})}
        sink = open(reports / "output", "w+b") if capture else None
        try:
            process = subprocess.Popen(
                list(command),
                cwd=cwd,
                env=words,
                start_new_session=True,
                stdin=subprocess.DEVNULL if capture else None,
                stdout=sink,
                stderr=subprocess.STDOUT if capture else None,
            )
            late = _watch(process, reports, settings.timeout)
            text = ""
            if sink is not None:
                sink.seek(0)
                text = sink.read().decode("utf-8", errors="replace")
        finally:
            if sink is not None:
                sink.close()
        found, died = _collect(reports)
    status = process.returncode if process.returncode >= 0 else 128 - process.returncode
    return Ended(status, found, text, late, died)


def _watch(process: subprocess.Popen, reports: Path, timeout: float) -> bool:
    asked: dict[int, float] = {}
    slept: dict[int, float] = {}
    try:
        while process.poll() is None:
            time.sleep(_POLL_S)
            now = time.time()
            for file in reports.glob("*.running"):
                pid = int(file.stem)
                try:
                    started = file.stat().st_mtime
                    if not wants_processor(pid):
                        slept[pid] = slept.get(pid, 0.0) + _POLL_S
                    # on a busy machine a program that has had no processor yet is not late
                    had = max(processor_time(pid), slept.get(pid, 0.0))
                    if pid not in asked and now - started > timeout and had > 0.75 * timeout:
                        os.kill(pid, signal.SIGUSR2)
                        asked[pid] = now
                    elif pid in asked and now - asked[pid] > _GRACE_S:
                        os.kill(pid, signal.SIGKILL)
                except (FileNotFoundError, ProcessLookupError):
                    pass
    except BaseException:  # an interrupt: nothing is left behind
        _end(process)
        raise
    return bool(asked)


def _end(process: subprocess.Popen) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    process.wait()


def _collect(reports: Path) -> tuple[list[dict], int]:
    found, died = [], 0
    for file in sorted(reports.glob("*.running"), key=lambda f: (f.stat().st_mtime_ns, f.name)):
        report = file.with_suffix(".json")
        if report.exists():
            found.append(json.loads(report.read_text(encoding="utf-8", errors="replace")))
        else:
            died += 1
    return found, died
