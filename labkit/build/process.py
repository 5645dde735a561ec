"""Child processes: compilers with their stderr collected; none is left when one fails or the user interrupts.

And how much of the machine a process has had: a limit of wall time alone would end what is right on a busy machine.
"""

from __future__ import annotations

import errno
import glob
import os
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path


class TooSlow(RuntimeError):
    """A process was still running after its time and was ended. seconds: that time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"not finished after {seconds:.0f} s")
        self.seconds = seconds


def c_locale() -> dict[str, str]:
    """The environment with messages in English and plain quotes, which labkit.build.diagnostics reads."""
    return {**os.environ, "LC_ALL": "C", "LANGUAGE": "C"}


def emulator() -> list[str]:
    """What runs a program that CXX compiled for another kind of processor: LABKIT_EMULATOR, see scripts/arm_host.py."""
    return shlex.split(os.environ.get("LABKIT_EMULATOR", ""))


def processor_time(pid: int) -> float:
    """Seconds of processor time of a process and of those of its children that have ended; 0 where it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return sum(map(int, file.read().rpartition(b")")[2].split()[11:15])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return 0.0


def wants_processor(pid: int) -> bool:
    """Does one of its threads run, or wait for a processor or a disk? What sleeps or waits for another does not."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return False
    for task in tasks:
        try:
            with open(f"/proc/{pid}/task/{task}/stat", "rb") as file:
                if file.read().rpartition(b")")[2].split()[0] in (b"R", b"D"):
                    return True
        except (OSError, IndexError):
            continue  # it has ended meanwhile; the others may run
    return False


# A source may ask for more than a machine has (#include "/dev/zero", a template without an end): each process of a
# compiler gets half of the memory, 4 to 16 GiB of address space, and so many seconds of processor time. PyTorch's
# headers take 1.5 GiB.
MOST_KIB = min(max(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2048, 4 << 20), 16 << 20)
_MOST_S = 900
# Beside the compiler a second process reads standard input, whose other end only this program holds: when it ends, in
# whatever way, the read does, and with it the whole session.
_SCRIPT = f"""exec 3<&0 4>&2 </dev/null 2>/dev/null
ulimit -v {MOST_KIB}; ulimit -t {_MOST_S}
{{ read -r line <&3; kill -KILL 0; }} 4>&- & watch=$!
"$@" 2>&4 3<&- 4>&-; status=$?
kill $watch; wait $watch; exit $status"""
_LIMITED = ("/bin/sh", "-c", _SCRIPT, "compiler")


# The twin's runner, which can give up a process's rights before it becomes another program. labkit.build.runtime, which
# knows how it is built, puts it here.
confiner: Callable[[], Path] | None = None


class Workers:
    """Processes that belong together: `stop` ends all of them, from whatever thread they run in.

    Each has a session of its own: a driver's children (cc1plus, ld) end with it, and an interrupt that a notebook
    sends to Python alone still reaches them. It ends with this program, even where that is killed.

    only_in: the one folder below which they may change files, their temporary ones too, without any network; for a
    learner's text and flags (-Wl,-Map=FILE). Not so under LABKIT_EMULATOR, whose runner is another processor's.
    """

    def __init__(self, only_in: Path | None = None) -> None:
        self._prefix: list[str] = []
        if only_in is not None and confiner is not None and not emulator():
            self._prefix = [str(confiner()), "confined", str(only_in)]
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen] = set()
        self.stopped = False

    def run(self, command: Sequence[str], *, timeout: float, env: dict[str, str] | None = None) -> tuple[int, str]:
        """(exit code, stderr) of a command given as words. Raises TooSlow, OSError. After stop(): (0, "") at once."""
        with self._lock:
            if self.stopped:
                return 0, ""
            if shutil.which(command[0], path=(env or os.environ).get("PATH")) is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), command[0])
            ours, alive = os.pipe()
            try:
                process = subprocess.Popen(
                    [*_LIMITED, *self._prefix, *command],
                    stdin=ours,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    env=env or c_locale(),
                    start_new_session=True,
                )
            except BaseException:
                os.close(alive)
                raise
            finally:
                os.close(ours)
            self._running.add(process)
        try:
            stderr = process.communicate(timeout=timeout)[1].decode(errors="replace")
        except BaseException as error:
            _kill(process)
            process.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                raise TooSlow(timeout) from None
            raise
        finally:
            os.close(alive)
            with self._lock:
                self._running.discard(process)
        ended = process.returncode
        return (0, "") if self.stopped else (128 - ended if ended > 128 else ended, stderr)  # as a shell says signals

    def stop(self) -> None:
        with self._lock:
            self.stopped = True
            for process in self._running:
                _kill(process)


def _kill(process: subprocess.Popen) -> None:
    if process.poll() is not None:
        return  # its number may already belong to another process
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def descendants(root: int) -> list[int]:
    """Processes below `root` that have not ended, by /proc."""
    parent: dict[int, int] = {}
    for entry in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(entry, encoding="utf-8", errors="replace") as lines:
                before, _, after = lines.read().rpartition(")")
        except OSError:
            continue
        if after.split()[0] != "Z":
            parent[int(before.split()[0])] = int(after.split()[1])
    found, edge = [], {root}
    while edge := {pid for pid, above in parent.items() if above in edge}:
        found += sorted(edge)
    return found


def end_below(root: int, within: float = 2.0) -> None:
    """SIGKILL for every descendant of `root` until there is none, for at most so many seconds."""
    until = time.monotonic() + within
    while (below := descendants(root)) and time.monotonic() < until:
        for pid in below:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.002)
