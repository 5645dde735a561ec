"""Workers that need not import PyTorch each: python -m labkit.camp.nursery <socket fd> is a process of the grader's own
that has imported what every worker needs and, asked to, forks. The child then gives up what inside.py lists, before it
knows anything of a submission. No code of a learner's ever runs in the nursery, and it has no solution and no golden.

It is not used under bubblewrap, which can only start a program.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback

from labkit.camp import inside, lockdown

_lock = threading.Lock()
_made: list[Nursery] = []


class Forked:
    """A process that the nursery forked, with the few words of subprocess.Popen that a watch needs."""

    def __init__(self, pid: int):
        self.pid, self._ended, self._fd = pid, False, -1
        try:
            self._fd = os.pidfd_open(pid)
        except ProcessLookupError:
            self._ended = True

    def poll(self) -> int | None:
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        """Raises subprocess.TimeoutExpired."""
        if self._look(timeout) is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout)
        return 0

    def _look(self, seconds: float | None) -> int | None:
        if not self._ended and select.select([self._fd], [], [], seconds)[0]:
            self._ended = True
        return 0 if self._ended else None

    def __del__(self):
        if self._fd >= 0:
            os.close(self._fd)


class Nursery:
    """The grader's end. env: all variables that it has."""

    def __init__(self, env: dict[str, str]):
        self._socket, theirs = socket.socketpair()
        words = [sys.executable, "-s", "-m", "labkit.camp.nursery", str(theirs.fileno())]
        self.process = subprocess.Popen(words, env=env | {"LABKIT_DEVICE": "none"}, pass_fds=[theirs.fileno()],
                                        stdin=subprocess.DEVNULL, start_new_session=True, cwd="/")  # fmt: skip
        theirs.close()

    def fork(self, request: dict, fds: list[int]) -> Forked:
        """request: what _child reads. fds: of standard error, then those that keep their place in the list. Raises
        OSError where it is gone.
        """
        text = json.dumps(request).encode()
        socket.send_fds(self._socket, [struct.pack("<I", len(text))], fds)
        self._socket.sendall(text)
        said = self._socket.recv(4)
        if len(said) < 4:
            raise OSError("the nursery of workers has ended")
        return Forked(struct.unpack("<I", said)[0])

    def close(self) -> None:
        self._socket.close()
        self.process.kill()
        self.process.wait()


def nursery(env: dict[str, str]) -> Nursery:
    """The one of this process, started if there is none."""
    with _lock:
        if _made and (_made[0].process.poll() is not None or _made[0].owner != os.getpid()):
            _made.clear()
        if not _made:
            _made.append(Nursery(env))
            _made[0].owner = os.getpid()
        return _made[0]


def fork(request: dict, fds: list[int], env: dict[str, str]) -> Forked:
    """As Nursery.fork; one that has ended is started again, once."""
    for last in (False, True):
        found = nursery(env)
        try:
            with _lock:
                return found.fork(request, fds)
        except OSError:
            found.close()
            if last:
                raise
    raise AssertionError


def close() -> None:
    with _lock:
        while _made:
            _made.pop().close()


# ---- in the nursery


def _read(s: socket.socket, size: int) -> bytes:
    parts = b""
    while len(parts) < size:
        part = s.recv(size - len(parts))
        if not part:
            os._exit(0)
        parts += part
    return parts


def _serve(fd: int) -> None:
    lockdown.hide_memory()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them here
    asked, mine = socket.socket(fileno=fd), os.getpid()
    _import()
    gc.collect()
    gc.freeze()
    while True:
        head, fds, _, _ = socket.recv_fds(asked, 4, 8)
        if not head:
            os._exit(0)
        request = json.loads(_read(asked, struct.unpack("<I", head)[0]))
        pid = os.fork()
        if pid == 0:
            try:
                asked.close()
                _child(request, fds, mine)
            except BaseException:
                traceback.print_exc()
            os._exit(1)
        for each in fds:
            os.close(each)
        asked.sendall(struct.pack("<I", pid))


def _import() -> None:
    import torch  # noqa: F401
    import torch._dynamo  # noqa: F401
    from torch.testing._internal import optests  # noqa: F401

    from labkit.camp import imports, pace, probes, told, wire, worker  # noqa: F401
    from labkit.exercises import diagnose, operators  # noqa: F401
    from labkit.source import errors  # noqa: F401


def _child(request: dict, fds: list[int], parent: int) -> None:
    """Becomes what confine.start would have started: session, group, variables, then inside.py's steps."""
    from labkit.camp import worker

    os.setsid()
    for number in (signal.SIGINT, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    if request["group"]:
        with open(request["group"], "w", encoding="ascii") as file:
            file.write("0")
    nothing = os.open("/dev/null", os.O_RDWR)
    for place, fd in enumerate((nothing, nothing, fds[0])):
        os.dup2(fd, place)
    os.close(nothing)
    os.close(fds[0])
    os.environ.clear()
    os.environ.update(request["env"])
    tempfile.tempdir = None
    time.tzset()
    plan = request["plan"] | {"parent": parent}
    inside.give_up(plan)
    worker.serve(*fds[1:])


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
