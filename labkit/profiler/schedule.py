"""Which steps are recorded: torch_npu.profiler.schedule and ProfilerAction."""

from __future__ import annotations

from enum import Enum

from labkit.profiler.settings import warn


class ProfilerAction(Enum):
    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class Schedule:
    """Skips `skip_first` steps, then, again and again: waits, warms up, records. repeat: how often; 0: to the end.
    skip_first_wait: other than 0, the first time does not wait.
    """

    def __init__(self, wait: int, active: int, warmup: int = 0, repeat: int = 0, skip_first: int = 0,
                 skip_first_wait: int = 0) -> None:  # fmt: skip
        self.wait = wait
        self.active = active
        self.warmup = warmup
        self.repeat = repeat
        self.skip_first = skip_first
        self.skip_first_wait = skip_first_wait
        for name in ("wait", "warmup", "active", "repeat", "skip_first", "skip_first_wait"):
            value, least = getattr(self, name), int(name == "active")
            if not isinstance(value, int) or (value < least and name != "skip_first_wait"):
                warn(f"Invalid parameter {name}, reset it to {least}.")
                setattr(self, name, least)
        if self.warmup == 0:
            warn("Profiler won't be using warmup, this can skew profiler results")

    def __call__(self, step: int) -> ProfilerAction:
        if step < 0:
            raise ValueError("Invalid parameter step, which must be not less than 0.")
        if step < self.skip_first:
            return ProfilerAction.NONE
        step -= self.skip_first
        if self.skip_first_wait != 0:
            step += self.wait
        cycle = self.wait + self.warmup + self.active
        if self.repeat > 0 and step / cycle >= self.repeat:
            return ProfilerAction.NONE
        at = step % cycle
        if at < self.wait:
            return ProfilerAction.NONE
        if at < self.wait + self.warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < cycle - 1 else ProfilerAction.RECORD_AND_SAVE


def always(_: int) -> ProfilerAction:
    """Without a schedule everything is recorded."""
    return ProfilerAction.RECORD
