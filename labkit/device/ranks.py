"""Several processes from one notebook: `labkit.ranks(2, train)` calls train(rank)
in two processes with a process group.

    def train(rank, steps): ...        # torch.distributed is ready: backend "hccl", rank of 2; tensors on "npu"
    run = labkit.ranks(2, train, 10)   # waits; raises RankError when a rank raises, hangs or dies
    run[0], run[1]                     # what they returned, tensors on the CPU
    run.timelines                      # {"rank 0": [Span, ...], "rank 1": ...}, for labkit.figures.stream_timeline

The processes stay for the next call (seconds to start the first, milliseconds to call) and end with this one. Each call
begins with fresh clocks, an empty L2, no noise, the default stream, the parent's chip and the same seed on every rank.
On a node rank i has card i.
"""

from __future__ import annotations

import atexit
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from socket import socketpair

from labkit import messages
from labkit.build.process import processor_time, wants_processor
from labkit.device.detect import usable_npu
from labkit.device.rank_server import START_S, Forked, ServerDied, fork

_GRACE_S = 0.5  # for the other ranks, once one has raised
_BUSY = 10  # times as long may a call take on a machine that is busy otherwise
_LOOK_S = 0.1
_OWN_WORDS = {"LABKIT_NPUS": "1"}  # of a rank's environment, whatever the parent's says


class RankError(RuntimeError):
    """A rank raised, hangs or died. rank: which; kind, said: the exception's type and text;
    frames: (file, line) from the outside in.

    together: all ranks raised the same at the same place, so that none of them waits for another. output, errors: what
    the rank had printed, and written to standard error.
    """

    together = False
    output = errors = ""  # what the rank had written

    def __init__(self, rank: int, kind: str, said: str, frames: list[tuple[str, int]], others: str = "") -> None:
        self.rank, self.kind, self.said, self.frames = rank, kind, said, frames
        mine = [f"{file}:{line}" for file, line in frames if not _is_library(file)]
        text = messages.text("device.rank_error", rank=rank, kind=kind, said=said, where=mine[-1] if mine else "?")
        super().__init__(text + (f"\n{others}" if others else ""))

    def _render_traceback_(self) -> list[str]:
        return str(self).split("\n")


@dataclass(frozen=True, repr=False)
class Run:
    """One call on all ranks. results: by rank; timelines: the device's spans of each; output: what each printed;
    errors: what each wrote to standard error.
    """

    results: list
    timelines: dict
    output: list[str]
    errors: list[str]

    def __getitem__(self, rank: int):
        return self.results[rank]

    def __len__(self) -> int:
        return len(self.results)

    @property
    def us(self) -> list[float]:
        """When each rank's device had done everything, in modelled microseconds."""
        return [max((s.end_us for s in spans), default=0.0) for spans in self.timelines.values()]

    def __repr__(self) -> str:
        return messages.text("device.run", ranks=len(self), us=", ".join(f"{us:.1f}" for us in self.us))


def ranks(count: int, function: Callable, *arguments, timeout: float = 60.0) -> Run:
    """function(rank, *arguments) in `count` processes at once. timeout: seconds of processor time for each, or in
    which none of them wants a processor, as in a wait that nothing ends; and ten times as much real time, so that a
    busy machine is no time-out; LABKIT_RANKS_S makes it less, where a grader runs a submission's ranks. Raises
    RankError, ValueError.
    """
    timeout = min(timeout, float(os.environ.get("LABKIT_RANKS_S", timeout)))
    if not isinstance(count, int) or not 1 <= count <= 16:
        raise ValueError(messages.text("device.rank_count", count=count))
    pool = _pool(count)
    try:
        run = pool.call(function, arguments, timeout)
    except BaseException as error:  # an interrupt too: where the other ranks are is not known
        if isinstance(error, RankError):  # of this rank alone: which others had answered depends on the machine
            _show(error.rank, error.output, error.errors)
        if not getattr(error, "together", False):
            stop()
        raise
    for rank, said in enumerate(zip(run.output, run.errors, strict=True)):
        _show(rank, *said)
    return run


def _show(rank: int, output: str, errors: str) -> None:
    for text, stream in ((output, sys.stdout), (errors, sys.stderr)):
        print("".join(f"[rank {rank}] {line}\n" for line in text.splitlines()), end="", file=stream)


_pools: dict[int, "_Pool"] = {}


def _pool(count: int) -> "_Pool":
    pool = _pools.get(count)
    if pool is None or not pool.alive():
        stop()  # one pool at a time: a machine has few cores
        pool = _pools[count] = _Pool(count)
    return pool


def stop() -> None:
    """End the processes. The next call of ranks() starts new ones."""
    while _pools:
        _pools.popitem()[1].end()


atexit.register(stop)


class _Pool:
    def __init__(self, count: int) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="labkit-ranks-")
        self.processes: list[subprocess.Popen | Forked] = []
        self.pipes: list[Connection] = []
        try:
            self._start(count)
            self._collect()
        except BaseException:  # an interrupt too: stop() does not know of this pool yet
            self.end()
            raise

    def _start(self, count: int) -> None:
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            **_OWN_WORDS,
            "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        }
        for rank in range(count):
            ours, theirs = socketpair()
            with theirs, open(self._log(rank), "wb") as log:
                words = [str(rank), str(count), f"{self.folder.name}/store"]
                self.processes.append(self._begin(words, theirs.fileno(), log.fileno(), environment))
            self.pipes.append(Connection(ours.detach()))

    def _begin(self, words: list[str], pipe: int, log: int, environment: dict[str, str]) -> subprocess.Popen | Forked:
        if not usable_npu():
            try:
                return fork(words, pipe, log, environment)
            except ServerDied as error:
                said = messages.text("device.rank_died", status=error.status, said=error.said)
                raise RankError(int(words[0]), "exit", said, []) from None
        return subprocess.Popen(
            [sys.executable, "-m", "labkit.device.rank", *words, str(pipe)],
            pass_fds=[pipe],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # Jupyter ends a kernel's whole group; the ranks clean up first
        )

    def _log(self, rank: int) -> Path:
        return Path(self.folder.name) / f"rank{rank}.log"

    def _written(self, rank: int) -> str:
        try:
            return self._log(rank).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:  # a rank whose server is gone takes it for the end of all, and removes the folder
            return ""

    def alive(self) -> bool:
        return all(p.poll() is None for p in self.processes)

    def end(self) -> None:
        for process in self.processes:  # before their pipes are closed: a rank that sees that ends alone
            if process.poll() is None:  # else its number may already be another's
                os.killpg(process.pid, signal.SIGKILL)  # its session: what the function has started ends with it
            process.wait()
        for pipe in self.pipes:
            pipe.close()
        self.folder.cleanup()

    def call(self, function: Callable, arguments: tuple, timeout: float) -> Run:
        import torch

        from labkit import chips, device
        from labkit.device.parcel import packed, unpacked

        chip = device.chip() if device.chip() in chips.names() else None  # a variant's table is this process's own
        words = {name: value for name, value in os.environ.items() if name.startswith("LABKIT_")} | _OWN_WORDS
        work = packed((function, arguments, torch.initial_seed(), chip, words))
        for pipe in self.pipes:
            pipe.send_bytes(work)
        answers = [unpacked(answer) for answer in self._collect(timeout)]
        return Run(
            [a["result"] for a in answers],
            {f"rank {i}": a["spans"] for i, a in enumerate(answers)},
            [a["output"] for a in answers],
            [a["errors"] for a in answers],
        )

    def _collect(self, seconds: float = START_S) -> list[bytes]:
        """An answer of each rank. Raises RankError for the first that raised;
        else for one that died or did not come back in `seconds` as ranks() counts them.
        """
        answers: dict[int, bytes] = {}
        began = [processor_time(p.pid) for p in self.processes]
        until, then, idle = time.monotonic() + _BUSY * seconds, time.monotonic(), 0.0
        failed: RankError | None = None
        raised: list[tuple] = []
        while len(answers) < len(self.pipes):
            missing = [i for i in range(len(self.pipes)) if i not in answers]
            left = until - time.monotonic()
            ready = wait([self.pipes[i] for i in missing], min(_LOOK_S, max(0.0, left)))
            now, pids = time.monotonic(), [self.processes[i].pid for i in missing]
            if not ready:
                if failed and now >= until:
                    raise failed
                idle += 0.0 if any(map(wants_processor, pids)) else now - then
                most = max(processor_time(self.processes[i].pid) - began[i] for i in missing)
                if not failed and (max(idle, most) > seconds or now >= until):
                    raise self._late(missing, seconds)
            then = now
            for pipe in ready:
                rank = self.pipes.index(pipe)
                try:
                    answer = pipe.recv_bytes()
                except (EOFError, OSError):
                    # what another rank raised when this one was gone is no cause
                    raise (failed if failed and failed.kind not in _CAUGHT_IN else self._died(rank)) from None
                answers[rank] = answer[1:]
                if answer[:1] != b"E":
                    continue
                from labkit.device.parcel import unpacked

                *why, output, errors = unpacked(answer[1:])
                error = RankError(rank, *why)
                error.output, error.errors = output, errors
                raised.append((error.kind, error.frames))
                if failed is None or failed.kind in _CAUGHT_IN and error.kind not in _CAUGHT_IN:
                    failed = error
                until = min(until, time.monotonic() + _GRACE_S)
        if failed:
            failed.together = len(raised) == len(self.pipes) and all(r == raised[0] for r in raised)
            raise failed
        return [answers[rank] for rank in range(len(self.pipes))]

    def _died(self, rank: int) -> RankError:
        self.processes[rank].wait(timeout=10)
        last = self._written(rank).strip()[-1500:]
        return RankError(
            rank, "exit", messages.text("device.rank_died", status=self.processes[rank].returncode, said=last), []
        )

    def _late(self, missing: list[int], seconds: float) -> RankError:
        """Asks the ranks that have not come back where they are."""
        for rank in missing:
            self.processes[rank].send_signal(signal.SIGUSR1)
        time.sleep(0.3)
        places = {rank: self._place(rank) for rank in missing}
        rank = missing[0]
        others = "\n".join(
            messages.text(
                "device.rank_waits",
                rank=r,
                where=":".join(map(str, frames[-1]))
                if (frames := [f for f in place if not _is_library(f[0])])
                else "?",
            )
            for r, place in places.items()
        )
        return RankError(
            rank,
            "time-out",
            messages.text("device.rank_late", seconds=f"{seconds:g}", missing=", ".join(map(str, missing))),
            places[rank],
            others,
        )

    def _place(self, rank: int) -> list[tuple[str, int]]:
        """Frames of the main thread, the innermost last, as faulthandler has written them."""
        text = self._written(rank).rpartition("(most recent call first):")[2]
        return [(m[1], int(m[2])) for m in re.finditer(r'^  File "(.*)", line (\d+) in ', text, re.M)][::-1]


_CAUGHT_IN = ("DistBackendError", "RuntimeError", "ConnectionError")  # what a rank gets whose partner is gone


def _is_library(file: str) -> bool:
    return bool(
        re.search(r"[/\\](?:site-packages|dist-packages|lib[/\\]python[\d.]+|labkit[/\\]device)[/\\]|^<frozen", file)
    )
