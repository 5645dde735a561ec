"""The child process in which kernels run, seen from Python.

One process is kept alive and serves launch after launch; it shares the device's memory, so a launch copies nothing.
A kernel that crashes, hangs or eats memory ends that process, never this one: the next launch starts another.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import socket
import struct
import subprocess
import threading
from dataclasses import dataclass, field

import numpy as np

from labkit import chips, device
from labkit.build import runtime
from labkit.build.process import emulator, end_below

EVENT = np.dtype(
    {
        "names": ["block", "pipe", "core", "op", "line", "bytes", "start", "end"],
        "formats": ["u2", "u1", "u1", "u2", "i4", "u4", "f8", "f8"],
        "offsets": [0, 2, 3, 4, 8, 12, 16, 24],
        "itemsize": 32,
    }
)
_GRACE_S = 5.0  # beyond the launch's own time limit, before the child is ended
_MEMORY_BYTES = 2 << 30  # what a launch may allocate: the clock's notes alone may take 0.75 GiB while they grow


@dataclass
class Request:
    """One launch. values: the bytes of each argument; ranges: (argument, address, bytes, written) of each tensor."""

    so: str
    entry: str
    kernel: str
    blocks: int
    cube_so: str = ""  # the same source compiled for cube cores
    core_mix: tuple[int, int] = (0, 1)  # cube cores, vector cores of a block
    values: list[bytes] = field(default_factory=list)
    ranges: list[tuple[int, int, int, bool]] = field(default_factory=list)
    timeout: float = 10.0
    threads: int = 1
    keep_events: int = 8192
    checks: bool = True
    effects: bool = True  # False: the clock alone, see labkit.kernel(timing_only=True)
    tiling_key: int = 0
    schedule: str = "program"  # or "worst", "worst:SEED": see is_schedule
    # the same launch with one thing changed: twin/src/launch/whatif.cpp
    what_ifs: list[tuple[str, float]] = field(default_factory=list)
    # what the L2 holds before: (address, bytes, dirty), oldest first; None: nothing, nor is it asked after
    l2: list[tuple[int, int, bool]] | None = None

    def encode(self) -> bytes:
        lines = [
            f"so={self.so}",
            f"cube_so={self.cube_so}",
            "core_mix={}:{}".format(*self.core_mix),
            f"entry={self.entry}",
            f"kernel={self.kernel}",
            f"blocks={self.blocks}",
            f"timeout={self.timeout}",
            f"threads={self.threads}",
            f"keep={self.keep_events}",
            f"checks={int(self.checks)}",
            f"effects={int(self.effects)}",
            f"schedule={self.schedule}",
            f"key={self.tiling_key}",
        ]
        lines += [f"whatif={what} {amount}" for what, amount in self.what_ifs]
        if self.l2 is not None:
            lines += ["keep_l2=1", *(f"l2={at} {size} {int(dirty)}" for at, size, dirty in self.l2)]
        lines += [f"value={v.hex()}" for v in self.values]
        lines += [f"range={a} {p} {n} {int(w)}" for a, p, n, w in self.ranges]
        return ("\n".join(lines) + "\nend\n").encode()


def is_schedule(word: str) -> bool:
    """Whether this names a schedule: program, worst, or worst:SEED with a number from 0 on."""
    return re.fullmatch(r"program|worst(:[0-9]{1,9})?", word) is not None


MOST_KNOWN = 4096
SECTOR = 512  # bytes, as twin/src/clock/traffic.h keeps them


class L2:
    """What launches left in a device's L2, for the next one. It depends on nothing but the launches of this program.

    What no launch has seen is not in it: a tensor is known by its storage, so memory that another
    one gets anew is cold.
    """

    def __init__(self) -> None:
        self.held: list[tuple[int, int, bool]] = []
        self._known: dict[int, object] = {}  # storages that launches have seen, by their number
        self._most = MOST_KNOWN  # entries, from which on those that are gone are left out

    def clear(self) -> None:
        self.held = []

    def drop(self, at: int, size: int) -> None:
        """Takes the sectors of [at, at + size) out of it: device memory is given out in whole ones."""
        at, end, left = at - at % SECTOR, -(-(at + size) // SECTOR) * SECTOR, []
        for lo, bytes_, dirty in self.held:
            hi = lo + bytes_
            if hi <= at or lo >= end:
                left.append((lo, bytes_, dirty))
                continue
            left += [(a, b - a, dirty) for a, b in ((lo, min(hi, at)), (max(lo, end), hi)) if a < b]
        self.held = left

    def meet(self, tensor) -> None:
        """A tensor that a launch is about to use; a new one is not held, whatever had its memory before."""
        from torch.multiprocessing.reductions import StorageWeakRef

        storage = tensor.untyped_storage()
        known = self._known.get(storage._cdata)
        if known is not None and not known.expired():
            return
        if len(self._known) > self._most:
            self._known = {k: w for k, w in self._known.items() if not w.expired()}
            self._most = max(MOST_KNOWN, 2 * len(self._known))  # with as many alive not at each new tensor
        self._known[storage._cdata] = StorageWeakRef(storage)
        self.drop(storage.data_ptr(), storage.nbytes())


class Runner:
    """The child for one chip. arena: (fd, base address, bytes) of the device memory, or None."""

    def __init__(self, chip: str, arena: tuple[int, int, int] | None):
        self.chip, self.arena, self.l2 = chip, arena, L2()
        self._process: subprocess.Popen | None = None
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        fd, base, size = self.arena or (-1, 0, 0)
        command = [
            *emulator(),
            str(runtime.runner()),
            str(theirs.fileno()),
            str(fd),
            str(base),
            str(size),
            chips.flat_file(self.chip),
            str(_MEMORY_BYTES),
        ]
        keep = (theirs.fileno(),) if fd < 0 else (theirs.fileno(), fd)
        # A group of its own: an interrupt typed at the notebook's terminal is for the notebook.
        self._process = subprocess.Popen(command, pass_fds=keep, start_new_session=True, stdin=subprocess.DEVNULL)
        theirs.close()
        self._socket = ours

    def stop(self) -> None:
        """Ends the child; the next launch starts another."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._process is not None:
            end_below(self._process.pid)  # what a kernel may have forked; orphans come to the runner
            self._process.kill()
            self._process.wait()
            self._process = None

    def launch(self, request: Request) -> tuple[dict, np.ndarray]:
        """Runs it. Returns the runner's answer and the timeline (dtype EVENT, microseconds).

        An answer with "fault" says how the launch ended early; "kind" is crash, time-out, load or died.
        """
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self.stop()
                self._start()
            try:
                self._socket.settimeout(6 * request.timeout + _GRACE_S)  # the runner counts its processor's time
                self._socket.sendall(request.encode())
                head = self._read(16)
                n_json, n_events = struct.unpack("<QQ", head)
                answer = json.loads(self._read(n_json).decode("utf-8", errors="replace"))
                events = np.frombuffer(self._read(n_events), dtype=EVENT)
            except (EOFError, OSError) as error:
                kind = "time-out" if isinstance(error, TimeoutError) else "died"
                self.stop()
                return {"fault": {"kind": kind}, "finished": False}, np.zeros(0, EVENT)
            except BaseException:  # an interrupt in the middle leaves the socket half read
                self.stop()
                raise
            # what an allocation had got before it failed is never freed
            leaked = any(f["code"] == "host-memory" for f in answer.get("findings", []))
            if leaked or "fault" in answer and answer["fault"]["kind"] != "load":
                self.stop()
            return answer, events

    def _read(self, n: int) -> bytes:
        parts = []
        while n:
            part = self._socket.recv(min(n, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            n -= len(part)
        return b"".join(parts)


_runners: dict[tuple, Runner] = {}


def runner_for(chip: str, arena: tuple[int, int, int] | None) -> Runner:
    """This process's runner for a chip and device memory; a forked child gets its own."""
    key = (os.getpid(), chip, arena)
    return _runners.get(key) or _runners.setdefault(key, Runner(chip, arena))  # two threads get the same one


def clear_l2() -> None:
    """Empties the modelled L2 of every device, as a benchmark does between its measurements: what kernels left in it
    and what PyTorch's operators did.
    """
    _clear_l2_of_kernels()
    if device.mode() == "sim":
        device.clear_l2()


def _clear_l2_of_kernels() -> None:
    for runner in _runners.values():
        runner.l2.clear()


device.at_a_ranks_call.append(_clear_l2_of_kernels)


def forget(chip: str) -> None:
    """Ends this process's runners for a chip: its table is not used again."""
    for key in [k for k in _runners if k[:2] == (os.getpid(), chip)]:
        _runners.pop(key).stop()


chips.at_change.append(forget)


@atexit.register
def _stop_all() -> None:
    for key, runner in _runners.items():
        if key[0] == os.getpid():
            runner.stop()
