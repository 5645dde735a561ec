"""How long a learner's part may take, on a machine that may be busy: seconds of processor time while its code is on
the stack, seconds in which it neither had nor wanted a processor, and seconds of processor time in all, the lab's own
work too. Wall time is in none of them.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from labkit.exercises.time_limit import TookTooLong

_LOOK_S = 0.05


@dataclass
class Pace:
    """What a request may take, and has: learners: with a frame of `mine` on the main thread's stack; idle; all.
    mine: how the file names of a learner's code begin. beat: called with each look, so not while code keeps Python's
    lock. pause: the judge is at work, not the learner's part.
    """

    learners_s: float
    idle_s: float
    all_s: float
    mine: str = "exercise "
    beat: Callable[[], object] = lambda: None
    learners: float = 0.0
    idle: float = 0.0
    all: float = 0.0
    pause: bool = False

    def late(self) -> float:
        """The limit that is passed, 0.0 for none."""
        return next((limit for had, limit in ((self.learners, self.learners_s), (self.idle, self.idle_s),
                                              (self.all, self.all_s)) if had > limit), 0.0)  # fmt: skip

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Raises TookTooLong in the block, on the main thread, and once a second from then on for code that swallows
        it. Code that keeps Python's lock is ended from outside, where the beats stop (labkit.camp.remote).
        """
        main, done = threading.main_thread(), threading.Event()

        def handler(number, frame):
            raise TookTooLong(self.late())

        before = signal.signal(signal.SIGALRM, handler)
        self.beat()
        watch = threading.Thread(target=self._look, args=(main.ident, main.native_id, done), daemon=True)
        watch.start()
        try:
            yield
        finally:
            done.set()
            watch.join()
            signal.signal(signal.SIGALRM, before)

    def _look(self, main: int, task: int, done: threading.Event) -> None:
        then, spent, wanted, told = time.monotonic(), time.process_time(), _wanted(task), 0.0
        while not done.wait(_LOOK_S):
            self.beat()
            now, cpu, wants = time.monotonic(), time.process_time(), _wanted(task)
            self.all += cpu - spent
            if self._is_on_stack(main):
                self.learners += cpu - spent
            if not self.pause and not _waits_for_disk(task):
                self.idle += min(max(now - then - (wants - wanted) - (cpu - spent), 0.0), 4 * _LOOK_S)
            then, spent, wanted = now, cpu, wants
            if self.late() and now - told > 1.0:
                told = now
                signal.pthread_kill(main, signal.SIGALRM)

    def _is_on_stack(self, thread: int) -> bool:
        frame = sys._current_frames().get(thread)
        while frame is not None:
            if frame.f_code.co_filename.startswith(self.mine):
                return True
            frame = frame.f_back
        return False


def _waits_for_disk(task: int) -> bool:
    """A module that is read for the first time on a machine with a busy disk: no idling of the learner's."""
    try:
        with open(f"/proc/self/task/{task}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[:1] == ["D"]
    except OSError:
        return False


def _wanted(task: int) -> float:
    """Seconds for which a thread was ready to run and had no processor."""
    try:
        with open(f"/proc/self/task/{task}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
