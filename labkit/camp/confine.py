"""A command that may do no harm: confined by what this machine offers without root.

What is promised, by level (`offers().level`, which every grade carries):

    bubblewrap  the command sees the files it is given, read-only, and one folder of its own in memory, which vanishes
                with it; no other process, no network, no host name; it cannot take a namespace of its own. Everything
                that it started ends with it, and it ends with the process that started it.
    namespaces  the same from our own calls where bubblewrap is not installed: other files are there but cannot be
                opened (Landlock, without which this level is not offered).
    landlock    (no user namespaces) files as above, its own folder is on the disk; no TCP, no socket at all with
                seccomp; names of other processes can be seen, their memory cannot; it may leave a process behind that
                was started in a session of its own, which the watch ends as long as its parent lives.
    none        limits of time and memory, nothing else. The grader refuses this level unless told otherwise.

On every level: memory and number of all its processes together, watched every 50 ms, which a program that does
nothing but fork outruns (where the kernel holds no limit, do not grade what you do not trust); processor time and
open files of each; size of a file; wall time; no core files; an environment without the caller's variables. The
kernel itself holds the number of processes too where a control group can be made (labkit.camp.group), or where
the grader is not root. With a control group, everything that a command started ends with it on every level.

Not promised: that a submission cannot find a hole in the kernel; that
it cannot measure the machine; that two submissions do not slow each other.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from labkit import paths
from labkit.build.compiler import ToolError, find_cxx
from labkit.build.process import processor_time, wants_processor
from labkit.camp import group, lockdown, nursery

_PREFIX = "labkit-camp-"
LEVELS = ("bubblewrap", "namespaces", "landlock", "none")
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/alternatives",
           "/etc/localtime",
           "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/sys/devices/system/cpu",
           "/sys/bus/pci/devices", "/sys/class/net")  # gloo lists these  # fmt: skip
_SYSTEM += tuple(sorted({"/".join(str(p.resolve()).split("/")[:4]) for p in Path("/sys/bus/pci/devices").glob("*")}))
_PROC = ("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/self", "/proc/filesystems", "/proc/sys/kernel",
         "/proc/sys/vm")  # fmt: skip
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_WATCH_S = 0.05
_LEAST_FREE = 256 << 20  # bytes of the machine's memory below which a command is ended whatever it holds itself


@dataclass(frozen=True)
class Limits:
    """wall_s: of the command. cpu_s, files: of each process; memory_bytes, processes: of all together; file_bytes: of
    one file; scratch_bytes: of the folder.
    """

    wall_s: float = 60.0
    cpu_s: int = 60
    memory_bytes: int = 3 << 30
    processes: int = 64
    files: int = 512
    file_bytes: int = 8 << 30  # the simulated device's memory is a sparse file of this process
    scratch_bytes: int = 512 << 20

    def words(self) -> dict[str, int]:
        return {"CORE": 0, "CPU": self.cpu_s, "NOFILE": self.files, "FSIZE": self.file_bytes, "NPROC": self.processes,
                "MEMLOCK": 1 << 20, "MSGQUEUE": 0}  # fmt: skip


@dataclass(frozen=True)
class Offers:
    """What this machine can promise. level: the strongest that works; missing: what does not and why, a line each."""

    level: str
    bubblewrap: str = ""
    landlock: int = 0
    seccomp: bool = False
    process_limit: bool = False
    group: bool = False
    missing: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [self.level, f"Landlock {self.landlock}" if self.landlock else "no Landlock"]
        parts += ["seccomp" if self.seccomp else "no seccomp"]
        how = "a control group" if self.group else "the kernel" if self.process_limit else "the watch"
        parts += [f"processes limited by {how}"]
        return ", ".join(parts)


class Refused(RuntimeError):
    """A confined process could not be made: what did not work."""


@dataclass
class Confined:
    """A running command. ended: "" or why the watch ended it: "time", "memory", "processes". peak_bytes,
    cpu_s: of all its processes together, as the watch saw them; idle_s: for which none of them wanted a processor.
    lock: open while its folder is in use.
    """

    process: subprocess.Popen
    limits: Limits
    home: Path
    errors: object
    ended: str = ""
    peak_bytes: int = 0
    cpu_s: float = 0.0
    idle_s: float = 0.0
    inherited: int = 0
    group: group.Group | None = None
    lock: int = -1
    _watch: threading.Thread | None = None

    def kill(self, why: str = "") -> None:
        """Ends everything that it started."""
        if self.process.poll() is None:
            self.ended = self.ended or why
            for _ in range(20):  # at the lower levels it may still be starting others
                family = _family(self.process.pid)
                for pid in family:
                    _end(pid)
                if not family:
                    break
            _end(self.process.pid)
        self.process.wait()
        if self.group is not None:
            if self.ended == "" and self.group.peak_reached():
                self.ended = "processes"
            self.group.end()

    def close(self) -> str:
        """Ends it, removes its folder, and gives the end of what it wrote on standard error."""
        self.kill()
        if self._watch is not None:
            self._watch.join()
        shutil.rmtree(self.home, ignore_errors=True)
        if self.lock >= 0:
            os.close(self.lock)
            self.lock = -1
        self.errors.seek(max(self.errors.seek(0, 2) - 4000, 0))
        text = self.errors.read().decode(errors="replace")
        self.errors.close()
        return text

    def _look(self) -> None:
        until = time.monotonic() + self.limits.wall_s
        while self.process.poll() is None:
            family = _family(self.process.pid)
            used = max(sum(map(_memory, (self.process.pid, *family))) - self.inherited, 0)
            self.cpu_s = max(self.cpu_s, sum(map(processor_time, (self.process.pid, *family))))
            if not any(map(wants_processor, (self.process.pid, *family))):
                self.idle_s += _WATCH_S
            self.peak_bytes = max(self.peak_bytes, used)
            if used > self.limits.memory_bytes or _free() < _LEAST_FREE:
                return self.kill("memory")
            if len(family) > self.limits.processes:
                return self.kill("processes")
            if time.monotonic() > until:
                return self.kill("time")
            time.sleep(_WATCH_S)


def _end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _family(pid: int) -> list[int]:
    """All that `pid` started and that still runs, parents first."""
    found, todo, children = [], [pid], _children
    while todo:
        new = children(todo.pop())
        if new is None:  # a kernel without CONFIG_PROC_CHILDREN
            every = _all_children()
            children, new = (lambda p: every.get(p, [])), every.get(pid, [])
        found += new
        todo += new
    return found


def _children(pid: int) -> list[int] | None:
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                found += map(int, file.read().split())
    except OSError:
        return None if not os.path.exists("/proc/thread-self/children") else found
    return found


def _all_children() -> dict[int, list[int]]:
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                continue
            children.setdefault(parent, []).append(int(name))
    return children


def _memory(pid: int) -> int:
    """Bytes that a process holds; pages of files that can be read again are not counted."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            return 1024 * sum(int(line.split()[1]) for line in file if line.startswith(("RssAnon:", "RssShmem:")))
    except (OSError, ValueError, IndexError):
        return 0


def _free() -> int:
    """Bytes that the machine has left; files in memory that no process has mapped show in nothing else."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            return next(1024 * int(line.split()[1]) for line in file if line.startswith("MemAvailable:"))
    except (OSError, ValueError, StopIteration):
        return 1 << 62


def _python_folders() -> list[str]:
    """What Python and the compiler need beside the system's folders."""
    named = [sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.dirname(os.path.realpath(sys.executable))]
    with contextlib.suppress(ToolError, IndexError):  # without a compiler; one that lies right below the root
        named += [str(Path(find_cxx()).resolve().parents[1])]
    return [p for p in dict.fromkeys(named) if p not in ("/", "/usr")]


def environment(scratch: Path, more: dict[str, str] | None = None) -> dict[str, str]:
    """All variables that a confined command has."""
    folders = dict.fromkeys([os.path.dirname(sys.executable), "/usr/local/bin", "/usr/bin", "/bin"])
    words = {"PATH": os.pathsep.join(folders), "HOME": str(scratch), "TMPDIR": str(scratch), "LANG": "C.UTF-8",
             "LABKIT_CACHE": str(scratch / "cache"),
             "PYTHONPATH": str(paths.import_root()), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1",
             "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}  # fmt: skip
    words |= {name: os.environ[name] for name in ("CXX", "LD_LIBRARY_PATH") if name in os.environ}
    return words | (more or {})


def start(
    command: Sequence[str],
    *,
    limits: Limits = Limits(),
    read: Sequence[str | Path] = (),
    env: dict[str, str] | None = None,
    pass_fds: Sequence[int] = (),
    stdout=subprocess.DEVNULL,
    offers_: Offers | None = None,
    forked: bool = False,
) -> Confined:
    """Starts `command` (words, the first an absolute path). It reads the system, Python, the package labkit and
    `read`; it writes in the folder that HOME, TMPDIR and its working folder name. forked: the command is
    labkit.camp.worker with the pass_fds, and where the level allows it comes out of the nursery, which has imported
    what it needs. Raises OSError, Refused.
    """
    have = offers_ or offers()
    reading = readable(read)
    forked = forked and have.level != "bubblewrap"
    with contextlib.ExitStack() as undo:  # of what was made, where a later step fails
        home, lock = _folder()
        undo.callback(os.close, lock)
        undo.callback(shutil.rmtree, home, ignore_errors=True)
        scratch = home / "scratch"
        scratch.mkdir(mode=0o700)
        plan = {
            "level": have.level, "made": have.level == "bubblewrap", "parent": os.getpid(), "scratch": str(scratch),
            "scratch_bytes": limits.scratch_bytes, "limits": limits.words(), "landlock": have.landlock > 0,
            "seccomp": have.seccomp, "read": reading + list(_PROC if have.level == "landlock" else ("/proc",)),
            "write": [str(scratch), "/dev/shm"] if have.level != "landlock" else [str(scratch)], "devices": DEVICES,
            "list": [str(paths.import_root())],
        }  # fmt: skip
        words = [sys.executable, "-s", "-m", "labkit.camp.inside", json.dumps(plan), *command]
        if have.level == "bubblewrap":
            words = _bubblewrap(have.bubblewrap, reading, scratch, limits) + words
        errors = undo.enter_context(tempfile.TemporaryFile(prefix="labkit-camp-"))
        within = group.make(2 * limits.processes)  # threads count there
        if within is not None:
            undo.callback(within.end)
        if forked:
            request = {"plan": plan, "env": environment(scratch, env),
                       "group": str(within.folder / "cgroup.procs") if within else ""}  # fmt: skip
            process = nursery.fork(request, [errors.fileno(), *pass_fds], environment(Path("/tmp"), env))
        else:
            process = subprocess.Popen(
                words, env=environment(scratch, env), stdin=subprocess.DEVNULL, stdout=stdout, stderr=errors,
                pass_fds=pass_fds, start_new_session=True, cwd="/", preexec_fn=within and within.join,
            )  # fmt: skip
        made = Confined(process, limits, home, errors, group=within, lock=lock)
        undo.pop_all()
    if forked:  # its memory is the nursery's until it writes; each process up to the worker counts it
        made.inherited = _memory(process.pid) * (3 if have.level == "namespaces" else 1)
    watch = threading.Thread(target=made._look, daemon=True)
    try:
        watch.start()
    except BaseException:  # no further thread can be had: nothing runs that nobody watches
        made.close()
        raise
    made._watch = watch
    return made


def _folder() -> tuple[Path, int]:
    """(a folder for one command, a descriptor that is locked as long as this process lives)"""
    _sweep()
    home = Path(tempfile.mkdtemp(prefix=_PREFIX))
    try:
        lock = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:  # no descriptor is left
        home.rmdir()
        raise
    fcntl.flock(lock, fcntl.LOCK_EX)
    return home, lock


@lru_cache(maxsize=1)
def _sweep() -> None:
    """Removes, once in a process, what graders left that were killed: our folders without a lock, a minute old."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # another user's; one that is in use, or gone meanwhile
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                status = os.fstat(lock)
                if status.st_uid == os.getuid() and time.time() - status.st_mtime > 60:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def readable(more: Sequence[str | Path] = ()) -> list[str]:
    """What every confined command may read, and `more`. An installed package has the solutions below its own folder:
    of the folders above them everything else is named.
    """
    every = [str(p) for p in (*_SYSTEM, *_python_folders(), paths.import_root() / "labkit")]
    if paths.installed():
        every = [p for folder in every for p in _beside(folder, str(paths.repo_root().resolve()))]
    given = [os.path.abspath(p) for p in more]  # the command's working folder is another
    return [p for p in dict.fromkeys([*every, *given]) if os.path.exists(p)]


@lru_cache(maxsize=256)
def _beside(folder: str, hidden: str) -> tuple[str, ...]:
    """The folder; where `hidden` lies in it, what it holds but that, without links that lead there."""
    real = os.path.realpath(folder)
    if real != hidden and not hidden.startswith(real.rstrip("/") + "/"):
        return () if real.startswith(hidden + "/") else (folder,)
    if real == hidden or os.path.islink(folder):
        return ()
    return tuple(p for name in sorted(os.listdir(folder)) for p in _beside(os.path.join(folder, name), hidden))


def _bubblewrap(program: str, reading: list[str], scratch: Path, limits: Limits) -> list[str]:
    words = [program, "--unshare-user", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    words += ["--proc", "/proc", "--dev", "/dev"]
    links, every = {}, [*reading]
    for path in every:
        if os.path.islink(path) and not path.startswith("/etc"):
            links[path] = os.readlink(path)
            to = os.path.normpath(os.path.join(os.path.realpath(os.path.dirname(path)), links[path]))
            if not any(f"{to}/".startswith(f"{p}/") for p in every if not os.path.islink(p)):
                every.append(to)  # it leads out of what is listed, perhaps to another link
    for path in sorted(set(every)):  # a folder before what lies in it
        if path in links:
            words += ["--symlink", links[path], path]
        else:
            words += ["--ro-bind", path, path]
    return [*words, "--size", str(limits.scratch_bytes), "--tmpfs", str(scratch), "--chdir", str(scratch), "--"]


def run(command: Sequence[str], **settings) -> tuple[int, str, str, str]:
    """(status, standard output, the end of standard error, why the watch ended it) of a confined command, awaited."""
    with tempfile.TemporaryFile(prefix="labkit-camp-") as out:
        made = start(command, stdout=out, **settings)
        status = made.process.wait()
        text = made.close()
        out.seek(0)
        return status, out.read(1 << 20).decode(errors="replace"), text, made.ended


# ---- what this machine offers


def offers() -> Offers:
    """The strongest level that works here: each is tried with a small command. LABKIT_CONFINE names the strongest to
    take, for tests and for machines where one of them gets in the way. Raises ValueError for another name.
    """
    return _offers(os.environ.get("LABKIT_CONFINE", "") or LEVELS[0])


@lru_cache(maxsize=len(LEVELS))
def _offers(wanted: str) -> Offers:
    if wanted not in LEVELS:
        raise ValueError(f"LABKIT_CONFINE={wanted!r}: it must be one of {', '.join(LEVELS)}")
    missing: list[str] = []
    landlock, seccomp = lockdown.landlock_version(), lockdown.can_filter()
    program = shutil.which("bwrap") or ""
    if not landlock:
        missing.append("Landlock: the kernel has none (5.13 or newer, with landlock among its LSMs)")
    if not seccomp:
        missing.append("seccomp: not in this kernel, or no call numbers for this machine")
    for level in LEVELS[LEVELS.index(wanted) :]:
        made = Offers(level, program, landlock, seccomp)
        if level == "bubblewrap" and not program:
            missing.append("bubblewrap: no bwrap in PATH (Debian, Ubuntu: apt install bubblewrap)")
            continue
        if level in ("namespaces", "landlock") and not landlock:
            continue
        why = _try(made)
        if not why:
            enough = _holds_processes(made)
            if not enough:
                missing.append("number of processes: no control group can be made and the kernel holds no limit for "
                               "root; the watch alone does, which a program that only forks outruns")  # fmt: skip
            grouped = group._above() is not None
            return replace(made, process_limit=enough, group=grouped, missing=tuple(missing))
        missing.append(f"{level}: {why}")
    raise Refused("; ".join(missing))


def _try(have: Offers) -> str:
    """Why a small command does not run at this level, or "" """
    status, out, said, _ = run([sys.executable, "-s", "-c", "print(6 * 7)"], offers_=have)
    if status == 0 and out.strip() == "42":
        return ""
    return (said.strip().split("\n") or [""])[-1][:200] or f"status {status}"


_FORKS = "import os\nfor n in range(40):\n    if os.fork() == 0:\n        os.kill(os.getpid(), 19)\nprint('all')"


def _holds_processes(have: Offers) -> bool:
    out = run([sys.executable, "-s", "-c", _FORKS], offers_=have, limits=Limits(processes=12, wall_s=10))
    return "all" not in out[1]


def promises(have: Offers) -> list[str]:
    """What a grade made here rests on, in lines for the report: the level, and what is missing."""
    return [str(have), *have.missing]
