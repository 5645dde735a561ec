"""A time limit for the learner's Python: a loop without end becomes a diagnosis, not a notebook that hangs.

Processor time is limited, so that a loaded machine makes nothing red; wall time as well, for a region that sleeps or
waits. Signals reach the main thread alone, which is where a notebook's cells run; elsewhere there is no limit.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading

CPU_SECONDS, WALL_SECONDS = 30.0, 180.0


class TookTooLong(BaseException):
    """Not an Exception: `except Exception` in a learner's loop must not swallow it. seconds: the limit."""

    def __init__(self, seconds: float):
        self.seconds = seconds
        super().__init__(f"{seconds:g} s")


@contextlib.contextmanager
def time_limit(cpu: float = CPU_SECONDS, wall: float = WALL_SECONDS):
    """Raises TookTooLong inside the block after `cpu` seconds of processor time or `wall` seconds, and once a second
    from then on, for code that swallows it."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    timers = ((signal.ITIMER_PROF, signal.SIGPROF, cpu), (signal.ITIMER_REAL, signal.SIGALRM, wall))

    def ends(seconds):
        def handler(number, frame):
            raise TookTooLong(seconds)

        return handler

    before = [signal.signal(number, ends(seconds)) for _, number, seconds in timers]
    running = [signal.setitimer(timer, seconds, 1.0) for timer, _, seconds in timers]
    try:
        yield
    finally:
        for (timer, number, _), handler, (left, interval) in zip(timers, before, running):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)
            if left:  # somebody else's timer goes on, later by what the block took
                signal.setitimer(timer, left, interval)


@contextlib.contextmanager
def memory_limit(more: int = 2 << 30):
    """Inside the block this process may take `more` bytes of address space beyond what it has: an allocation that is
    larger raises MemoryError, or what the library makes of it. For code of ours that nobody has run before."""
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        before = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (now + more, before[1]))
    except (ImportError, OSError, ValueError):  # not Linux, or the limit that is there is lower
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@contextlib.contextmanager
def one_thread():
    """Inside the block PyTorch computes on one thread: of many small tensors most time goes into waking the others, and
    on a machine that is busy into waiting for them."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
