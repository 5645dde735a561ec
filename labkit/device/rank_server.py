"""The process that the ranks of labkit.ranks() are forked from: it has imported PyTorch, which takes seconds.

There is one beside each process that has called ranks(), started for its first pool. Its environment, folder and limits
are those of the call, as if each rank were a program of its own; where one of them has changed since, as the words that
PyTorch reads when it is imported may have, the next pool gets a new server. The simulated device is no part of it: each
rank makes its own. A real card's runtime does not survive a fork, so that on a node ranks are programs.

multiprocessing's forkserver listens on a socket with a name, which labkit.camp's sandbox denies, and it is one for all
that a program forks.
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
from multiprocessing.connection import Connection
from multiprocessing.reduction import send_handle
from pathlib import Path
from socket import socketpair

from labkit.build.process import processor_time, wants_processor

START_S = 120.0  # importing torch on a busy machine
_LOOK_S = 0.1
_ANSWER_S = 60.0  # forking, on a busy machine
_NOT_READ = ("LABKIT_", "PYTEST_")  # words that no import in rank.serve() reads: each rank gets its own


class ServerDied(OSError):
    """It ended, or did not come up. status: its exit status; said: what it had written."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status, self.said = status, said


class Forked:
    """A rank, with the words of subprocess.Popen that a pool needs."""

    def __init__(self, server: _Server, pid: int) -> None:
        self.pid, self.returncode, self._server = pid, None, server

    def poll(self) -> int | None:
        if self.returncode is None:
            try:
                self.returncode = self._server.ask({"ended": self.pid})
            except OSError:  # a rank sees the server's end and ends alone; its number is nobody's to signal
                self.returncode = -signal.SIGKILL
        return self.returncode

    def wait(self, timeout: float = float("inf")) -> int:
        """Raises subprocess.TimeoutExpired."""
        until = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired(f"rank {self.pid}", timeout)
            time.sleep(0.005)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:  # a number stays a rank's until poll() has asked the server for its status
            os.kill(self.pid, number)


class _Server:
    def __init__(self, environment: dict[str, str], taken_over: tuple) -> None:
        self.taken_over = taken_over
        self._said = tempfile.TemporaryFile(prefix="labkit-ranks-")
        ours, theirs = socketpair()
        self._pipe = Connection(ours.detach())
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "labkit.device.rank", "serve", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=environment | {"LABKIT_DEVICE": "none"},
                stdin=subprocess.DEVNULL,
                stdout=self._said,
                stderr=self._said,
                start_new_session=True,
            )
        try:
            self._wait_for_import()
        except BaseException:
            self.close()
            raise

    def _wait_for_import(self) -> None:
        idle, pid = 0.0, self.process.pid
        while not self._pipe.poll(_LOOK_S):
            idle += 0.0 if wants_processor(pid) else _LOOK_S
            if max(idle, processor_time(pid)) > START_S:
                raise self._died()
        self._answer()

    def alive(self) -> bool:
        return self.process.poll() is None  # False in a fork of this process: Popen knows that it is not its child

    def ask(self, request: dict, fds: tuple[int, ...] = ()):
        """Raises OSError: what the server could not do, or that there is none any more."""
        if not self.alive():
            raise self._died()
        try:
            self._pipe.send(request)
            for fd in fds:
                send_handle(self._pipe, fd, self.process.pid)
            if not self._pipe.poll(_ANSWER_S):
                raise self._died()
            answer = self._answer()
        except BaseException:  # an interrupt too: whether an answer is still to come is not known
            self.close()
            raise
        if isinstance(answer, OSError):
            raise answer
        return answer

    def _answer(self):
        try:
            return self._pipe.recv()
        except (EOFError, ConnectionError):
            raise self._died() from None

    def _died(self) -> ServerDied:
        self.process.kill()
        status = self.process.wait()
        said = os.pread(self._said.fileno(), 1 << 20, 0) if not self._said.closed else b""
        return ServerDied(status, said.decode("utf-8", "replace").strip()[-1500:])

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._pipe.close()
        self._said.close()


_server: _Server | None = None


def fork(words: list[str], pipe: int, log: int, environment: dict[str, str]) -> Forked:
    """A rank that answers on `pipe` and writes to `log`. words: of its command line, all but the pipe. Raises OSError,
    ServerDied.
    """
    global _server
    taken_over = _taken_over(environment)
    if _server is None or not _server.alive() or _server.taken_over != taken_over:
        close()
        _server = _Server(environment, taken_over)
    return Forked(_server, _server.ask({"words": words, "environment": environment}, (pipe, log)))


@atexit.register
def close() -> None:
    """Ends the server. The ranks that it has end within a second."""
    global _server
    if _server is not None:
        _server.close()
        _server = None


def _taken_over(environment: dict[str, str]) -> tuple:
    """All that a program which is started now has of this process, but for the words that no import reads."""
    words = {name: value for name, value in environment.items() if not name.startswith(_NOT_READ)}
    here = os.stat(".")
    kept = re.findall(r"^(?:Umask|Uid|Gid|Sig(?:Blk|Ign)|Cap\w+|Cpus_allowed):.*$", _of_this_process("status"), re.M)
    return sys.executable, words, here.st_dev, here.st_ino, kept, _of_this_process("limits"), os.nice(0)


def _of_this_process(name: str) -> str:
    try:
        return Path(f"/proc/self/{name}").read_text(encoding="ascii", errors="replace")
    except OSError:  # not in every sandbox
        return ""
