"""A local leaderboard: a JSON file of entries, in which no figure is believed.

    board = Board("board.json", "residual_rms_norm")
    board.enter(Path("my_operator.py").read_text())    # judged first; taken only if it is right everywhere
    print(board.standing())                            # judged again, all of them, with inputs drawn now

Entering and listing judge in a process of its own with a clean environment, so that what a notebook has patched (a
clock, the judge itself) changes nothing. The file holds each entry's source and the digest that it had. A figure in the
file is a memory of the last time: listed is what comes out now, and a row whose source has been changed is not ranked.
All entries are timed at the same hidden shapes, drawn by the board's own seed. Who may write the file may take a row
away; a row that is better than its operator cannot be made.

    python -m labkit.migrate.leaderboard board.json [entry.py]
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

from labkit import paths
from labkit.messages import text
from labkit.migrate import capstone_entry
from labkit.migrate.capstone import Verdict
from labkit.migrate.capstone_tasks import TASKS

SECONDS = 180  # for each entry
_KEPT = (
    "PATH HOME LANG TMPDIR XDG_CACHE_HOME LABKIT_CACHE LABKIT_LANG LABKIT_MARCH LABKIT_THREADS OMP_NUM_THREADS "
    "ATEN_CPU_CAPABILITY ONEDNN_MAX_CPU_ISA MKL_CBWR GLIBC_TUNABLES"
).split()  # of the environment: what says where things are and what the host can do, not how the clock goes
_CHILD = "import sys; sys.path.insert(0, sys.argv.pop(1)); from labkit.migrate import leaderboard; leaderboard._serve()"


@dataclass(frozen=True)
class Row:
    """place: from 1 on; 0 where it is not ranked, and note says why. note: also what the file said otherwise."""

    place: int
    name: str
    digest: str
    total: float
    gain: float
    operator_us: float
    note: str = ""


@dataclass(frozen=True)
class Standing:
    task: str
    rows: list[Row] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [text("capstone.board", task=self.task)]
        for r in self.rows:
            place = f"{r.place}." if r.place else "-"
            lines.append(f"{place:>3} {r.name:34}{r.total:5.1f} {r.gain:6.2f}x {r.operator_us:8.2f} us  {r.digest}")
            lines += [f"      {r.note}"] if r.note else []
        return "\n".join(lines)

    __repr__ = __str__


class Board:
    """A file, made where there is none. seed: of its hidden shapes, None for a fresh one; an existing file keeps its
    own. Raises ValueError for a file that is no board, another task's, or an unknown task."""

    def __init__(self, path: str | os.PathLike, task: str = "", seed: int | None = None):
        self.path = Path(path)
        if self.path.exists():
            held = self._read()
            if task and task != held["task"]:
                raise ValueError(text("capstone.other-board", path=self.path.name, task=held["task"]))
        elif task in TASKS:
            seed = secrets.randbits(62) if seed is None else seed
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._write({"task": task, "seed": seed, "entries": []})
        else:
            raise ValueError(text("capstone.no-task", task=task, all=", ".join(TASKS)))

    def enter(self, source: str) -> Verdict:
        """Judges an entry and, if it is right everywhere, writes it down; one of the same name is replaced. The
        verdict. Raises ValueError for what is no entry of this board's task, and what judge() raises."""
        entry, held = capstone_entry.read(source), self._read()
        if entry.task.name != held["task"]:
            raise ValueError(text("capstone.other-task", task=entry.task.name, board=held["task"]))
        (verdict,) = judged([source], held["seed"])
        if isinstance(verdict, str):
            raise ValueError(verdict)
        if verdict.listed:
            new = {"name": verdict.name, "digest": verdict.digest, "total": verdict.total, "gain": verdict.gain}
            with self._alone():
                held = self._read()  # anew: others may have entered while this one was judged
                others = [e for e in held["entries"] if e.get("name") != verdict.name]
                self._write(held | {"entries": [*others, new | {"source": source}]})
        return verdict

    @contextlib.contextmanager
    def _alone(self):
        """One that writes at a time."""
        handle = os.open(self.path.parent, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def standing(self) -> Standing:
        """All entries, judged anew: by marks, then by gain, then by name. What the file says is compared."""
        held = self._read()
        ranked, others = [], []
        for stored, verdict in zip(
            held["entries"], judged([str(e.get("source")) for e in held["entries"]], held["seed"])
        ):
            if isinstance(verdict, str):
                others.append(Row(0, str(stored.get("name")), str(stored.get("digest")), 0.0, 0.0, 0.0, verdict))
                continue
            us = float(verdict.figures.get("operator_us", 0.0))
            row = (verdict.name, verdict.digest, verdict.total, verdict.gain, us)
            if verdict.digest != stored.get("digest"):
                others.append(Row(0, *row, text("capstone.changed", digest=stored.get("digest"))))
            elif verdict.task != held["task"] or not verdict.listed:
                others.append(Row(0, *row, text("capstone.not-right", why=[*verdict.refused, *verdict.wrong, "-"][0])))
            else:
                said = (stored.get("name"), stored.get("total"), stored.get("gain"))
                same = said == (verdict.name, verdict.total, verdict.gain)
                note = "" if same else text("capstone.corrected", total=said[1], gain=said[2])
                ranked.append(Row(1, *row, note))
        ranked.sort(key=lambda r: (-r.total, -r.gain, r.name, r.digest))
        others.sort(key=lambda r: (r.name, r.digest))
        placed = [Row(**asdict(r) | {"place": i + 1}) for i, r in enumerate(ranked)]
        return Standing(held["task"], placed + others)

    def _read(self) -> dict:
        try:
            held = json.loads(self.path.read_text(encoding="utf-8"))
            assert held["task"] in TASKS and isinstance(held["seed"], int)
            assert all(isinstance(e, dict) for e in held["entries"])
        except (ValueError, KeyError, TypeError, AssertionError):
            raise ValueError(text("capstone.no-board", path=self.path.name)) from None
        return held

    def _write(self, held: dict) -> None:
        fresh = self.path.with_name(self.path.name + ".new")
        fresh.write_text(json.dumps(held, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        fresh.replace(self.path)


def judged(sources: list[str], timed: int) -> list[Verdict | str]:
    """Verdicts from a fresh process, of the same order; a text where a source is no entry, or one of several ends the
    judge. timed: as for judge(). Raises RuntimeError where the judge of a single source ended early or not at all."""
    if not sources:
        return []
    try:
        return _judged(sources, timed)
    except RuntimeError:
        if len(sources) == 1:
            raise
    found: list[Verdict | str] = []
    for source in sources:  # each alone: one that never ends must not take the others' places
        try:
            found += _judged([source], timed)
        except RuntimeError as error:
            found.append(str(error))
    return found


def _judged(sources: list[str], timed: int) -> list[Verdict | str]:
    environment, seconds = {name: os.environ[name] for name in _KEPT if name in os.environ}, SECONDS * len(sources)
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-E", "-c", _CHILD, str(paths.import_root())],
                input=json.dumps({"sources": sources, "timed": timed}),
                capture_output=True, text=True, cwd=folder, env=environment, timeout=seconds,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise RuntimeError(text("capstone.judge-late", seconds=seconds)) from None
    if done.returncode:
        raise RuntimeError(text("capstone.judge-ended", why=(done.stderr.strip().splitlines() or ["?"])[-1][:300]))
    found = json.loads(done.stdout.rpartition("\n")[2])
    return [v if isinstance(v, str) else Verdict(**{k: _tuple(x) for k, x in v.items()}) for v in found]


def _tuple(value):
    return tuple(value) if isinstance(value, list) else value


def _serve() -> None:
    """The fresh process: sources on standard input, verdicts on the last line of standard output."""
    import labkit
    from labkit.migrate.capstone import judge

    asked, found = json.load(sys.stdin), []
    for source in asked["sources"]:
        try:
            found.append(asdict(judge(source, timed=asked["timed"])))
        except (ValueError, labkit.CompileError) as error:
            found.append(str(error))
    print("\n" + json.dumps(found), end="")


def _main(arguments: list[str]) -> int | str:
    """What sys.exit() takes."""
    if len(arguments) not in (1, 2):
        return __doc__.rstrip().rpartition("\n")[2].strip()
    try:
        board = Board(arguments[0])
        if arguments[1:]:
            print(board.enter(Path(arguments[1]).read_text(encoding="utf-8")))
        print(board.standing())
    except (OSError, ValueError, RuntimeError) as error:
        return str(error)
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
