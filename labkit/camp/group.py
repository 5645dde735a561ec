"""The kernel's own limit on the number of processes: a control group for each confined command, where one can be made
(by root in a hierarchy of version 1, or where version 2 hands one down). It also knows all that a command started, also
what has left its session, so that nothing stays behind.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path

_numbers = count()


@dataclass
class Group:
    """A group that exists. folder: its place below /sys/fs/cgroup."""

    folder: Path

    def join(self) -> None:
        """The calling process goes in, with all that it will start. Raises OSError."""
        fd = os.open(self.folder / "cgroup.procs", os.O_WRONLY)
        try:
            os.write(fd, b"0")
        finally:
            os.close(fd)

    def members(self) -> list[int]:
        try:
            return [int(n) for n in (self.folder / "cgroup.procs").read_text().split() if n != "0"]
        except OSError:
            return []

    def peak_reached(self) -> bool:
        """Did something ask for one process too many?"""
        try:
            return any(int(n) > 0 for n in (self.folder / "pids.events").read_text().split()[1::2])
        except (OSError, ValueError):
            return False

    def end(self) -> None:
        """Ends every process in it and removes it."""
        for turn in range(400):
            for pid in self.members():
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
            try:
                self.folder.rmdir()
                return
            except FileNotFoundError:
                return
            except OSError:  # the last ones are not gone yet
                time.sleep(0.005 * min(turn, 10))


def make(processes: int) -> Group | None:
    """A group of at most `processes` processes and threads; None where none can be made."""
    above = _above()
    return None if above is None else _in(above, processes)


def _in(above: Path, processes: int) -> Group | None:
    folder = above / f"labkit-camp-{os.getpid()}-{next(_numbers)}"
    try:
        folder.mkdir()
    except OSError:
        return None
    try:
        (folder / "pids.max").write_text(str(processes))
        return Group(folder)
    except OSError:
        folder.rmdir()
        return None


@lru_cache(maxsize=1)
def _above() -> Path | None:
    """The nearest folder in which a group can be made and entered."""
    for place in _places():
        group = _in(place, 64)
        if group is None:
            continue
        try:
            subprocess.run(["/bin/true"], preexec_fn=group.join, check=True, timeout=20)
            _sweep(place)
            return place
        except (OSError, subprocess.SubprocessError):
            pass
        finally:
            group.end()
    return None


def _sweep(above: Path) -> None:
    """Removes the empty groups of graders that were ended."""
    for folder in above.glob("labkit-camp-*-*"):
        if not os.path.exists(f"/proc/{folder.name.split('-')[2]}"):
            try:
                folder.rmdir()
            except OSError:  # something still runs in it
                pass


def _places() -> Iterator[Path]:
    """Of the hierarchies with a limit of processes: the folder of this process, then those above it."""
    mounts = []
    try:
        for line in Path("/proc/self/mounts").read_text().splitlines():
            _, folder, kind, options = line.split()[:4]
            if kind == "cgroup" and "pids" in options.split(","):
                mounts.append((folder, "pids"))
            if kind == "cgroup2":
                mounts.append((folder, ""))
        mine = [line.split(":", 2)[1:] for line in Path("/proc/self/cgroup").read_text().splitlines()]
    except (OSError, ValueError):
        return
    for folder, controller in mounts:
        for names, path in mine:
            if controller in names.split(",") and (names == "") == (controller == ""):
                here = Path(folder + path)
                yield from (p for p in (here, *here.parents) if p == Path(folder) or Path(folder) in p.parents)
