"""Does a benchmark script lie? Reads it, runs it under observation on the simulated device, and names what is wrong.

    labkit.bench.check("bench_softmax.py")      # or: labkit bench check bench_softmax.py

Seen on the device: which kernels, copies and waits lay between two readings of the clock, how much of the time the
device worked, what was its first launch, what an empty L2 would have cost. Read in the text: how the samples are summed
up and what is claimed. Times are modelled; the questions are the same on a node.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from labkit import messages, paths
from labkit.bench.lies import cache, judging, mismatch, reading, turns
from labkit.bench.lies.judging import KINDS, Finding

__all__ = ["KINDS", "Finding", "Verdict", "check"]

TIMEOUT_S = 120.0


@dataclass
class Verdict:
    """findings: what is wrong, each with its line and evidence. notes: what the reader must know. output: what the
    script printed, logged and wrote into text files. regions: what was seen, a dict for each measurement. error: why
    the script ended early, "" where it did not."""

    script: str
    findings: list[Finding]
    notes: list[str] = field(default_factory=list)
    output: str = ""
    regions: list[dict] = field(default_factory=list)
    error: str = ""

    @property
    def ok(self) -> bool:
        return not self.findings

    @property
    def ended(self) -> bool:
        """Whether the script ended before it measured, and nothing is said of it."""
        return bool(self.error) and not self.regions and not self.findings

    @property
    def kinds(self) -> list[str]:
        return [f.kind for f in self.findings]

    def json(self) -> dict:
        return {
            "script": self.script,
            "findings": [
                {"kind": f.kind, "file": f.file, "line": f.line, **dict(zip(("what", "why", "try"), f.lines()))}
                for f in self.findings
            ],
            "notes": self.notes,
            "regions": len(self.regions),
            "time": "modelled",
        }

    def __str__(self) -> str:
        name = Path(self.script).name
        if self.findings:
            head = messages.text("lies.found", script=name, count=len(self.findings), regions=len(self.regions))
        elif self.regions:
            head = messages.text("lies.none", script=name, regions=len(self.regions))
        else:
            head = messages.text("lies.unseen", script=name)
        return "\n".join([head, *map(str, self.findings), *self.notes])

    __repr__ = __str__


def check(path: str | Path, *arguments: str, timeout: float = TIMEOUT_S) -> Verdict:
    """What is wrong with the benchmark script at `path`, which is run with `arguments`.

    It runs in a process of its own, with the simulated device and clocks that show virtual time; a second time with an
    L2 that each kernel finds empty where it speaks of bandwidth or compares in turns (where no figure moves then, or
    rows of a table are picked, once more to ask what the L2 holds), another time with longer first launches and
    compilations where a reading holds one: no figure of the report may move then (nor, of a rate, in a run in which
    first launches take no longer). `timeout`: seconds that each run may take; a script that does not end is judged by
    its text alone. Raises FileNotFoundError, SyntaxError.
    """
    script = Path(path).resolve()
    source = script.read_text(encoding="utf-8")
    compile(source, str(script), "exec")
    with _Runs(script, arguments, timeout) as runs:
        return _judged(path, source, script, runs)


def _judged(path, source: str, script: Path, runs: _Runs) -> Verdict:
    document, output = runs.run()
    files = [f for f in document["files"] if f != str(script) and f.endswith(".py") and os.path.isfile(f)]
    text = reading.read({str(script): source} | {f: Path(f).read_text(encoding="utf-8") for f in files})
    seen = judging.Observed(document["regions"], output, failed=bool(document["error"]), compared=document["compared"])
    seen.memory = cache.about_memory(text, output)
    in_turn = turns.takes_turns(text, seen, str(script))
    if seen.regions and (seen.memory or in_turn):
        seen.cold = runs.run("--cold")[0]["regions"]
        case = judging.Case(text, seen, str(script))
        warm = list(cache.warmed(case))
        about = cache.picks_rows(seen.regions) if warm else cache.claims_memory(text, output)
        if about or in_turn and not turns.shows(case):
            seen.held = runs.run("--held")[0]["regions"]
    if any(r["first"] or r["graphs"] for r in seen.regions):
        late, said = runs.run("--slow-first")
        seen.slow = judging.Observed(late["regions"], said)
        if any(r["first"] and r["counts"] for r in seen.regions) and not judging.moves(seen, seen.slow):
            early, said = runs.run("--quick-first")
            seen.quick = judging.Observed(early["regions"], said)
    if mismatch.alternatives(judging.Case(text, seen, str(script))):
        seen.apart = runs.run("--values")[0]["apart"]
    notes = []
    if document["error"]:
        notes.append(messages.text("lies.failed", error=document["error"]))
        if not seen.regions and _wants_arguments(document["error"], output, source):
            notes.append(messages.text("lies.usage", script=script.name))
    if not seen.regions:
        notes.append(messages.text("lies.no_regions"))
    return Verdict(str(path), judging.judge(text, seen, str(script)), notes, output, seen.regions, document["error"])


def _wants_arguments(error: str, output: str, source: str) -> bool:
    """Whether a script ended with its usage, or for want of what it takes from sys.argv."""
    if error.startswith("SystemExit"):
        return bool(re.search(r"\busage:|用法[:：]", f"{error}\n{output}", re.I))
    return error.startswith("IndexError") and bool(re.search(r"\bargv\b", source))


class _Runs:
    """The runs of one script, by a process that has imported torch once and forks for each of them."""

    def __init__(self, script: Path, arguments: tuple[str, ...], timeout: float):
        self.script, self.arguments, self.timeout = script, arguments, timeout
        self.server: subprocess.Popen | None = None

    def __enter__(self) -> _Runs:
        return self

    def __exit__(self, *_) -> None:
        if self.server:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.server.pid, signal.SIGKILL)
            self.server.communicate()
            self.server = None

    def run(self, *flags: str) -> tuple[dict, str]:
        """(what watch.py saw, what the script reported). At first nothing is computed, which makes large shapes quick;
        a script that looks at a value cannot go on then, and is run once more with values; so is one that swallowed
        that error, as a test runner does."""
        if "--values" in flags:
            return self._watched(*flags)
        document, output = self._watched("--shapes", *flags)
        refused = any(messages.text("device.shapes_only", lang=lang) in output for lang in messages.LANGUAGES)
        stopped = document["error"] or not document["regions"] or refused
        return self._watched(*flags) if stopped else (document, output)

    def _watched(self, *flags: str) -> tuple[dict, str]:
        with tempfile.TemporaryDirectory() as folder:
            out, said, logged = (Path(folder, name) for name in ("seen.json.out", "said", "logged"))
            request = {"folder": folder, "arguments": [str(out), *flags, str(self.script), *self.arguments]}
            ended = self._ask(request)
            text, log = (p.read_text(encoding="utf-8", errors="replace") if p.is_file() else "" for p in (said, logged))
            if not ended:
                return _unseen(messages.text("lies.timeout", seconds=self.timeout)), text
            if not out.is_file():
                return _unseen(" ".join((log or text).strip().splitlines()[-1:]) or "?"), text
            document = json.loads(out.read_text(encoding="utf-8"))
            logged = [line for line in log.splitlines() if not re.search(r"Warning\b|^\s", line)]
            return document, "\n".join(filter(None, [text, *logged, *document["written"]]))

    def _ask(self, request: dict) -> bool:
        """Does the run end in time?"""
        if self.server is None:
            environment = dict(os.environ, LABKIT_DEVICE="sim", MPLBACKEND="Agg", PYTHONDONTWRITEBYTECODE="1")
            root = str(paths.repo_root())
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, [root, environment.get("PYTHONPATH", "")]))
            self.server = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("serve.py"))], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, start_new_session=True,
            )  # fmt: skip
            self.server.stdout.readline()  # it is up: the limit is for the script
        with contextlib.suppress(BrokenPipeError):
            self.server.stdin.write(f"{json.dumps(request)}\n".encode())
            self.server.stdin.flush()
        if not select.select([self.server.stdout], [], [], self.timeout)[0]:
            self.__exit__()
            return False
        if not self.server.stdout.readline():  # it has gone, with what the script did
            self.__exit__()
        return True


def _unseen(error: str) -> dict:
    return {"error": error, "files": [], "regions": [], "compared": [], "written": [], "apart": []}
