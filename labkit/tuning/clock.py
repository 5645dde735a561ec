"""What a candidate takes: on the twin one launch's modelled time with an empty L2, on an NPU measured by events."""

from __future__ import annotations

from collections.abc import Callable

from labkit import chips, device
from labkit.tuning.problem import Invalid


def kind() -> str:
    """ "modelled" or "measured"."""
    return "measured" if (device.mode() or device.install()) == "npu" else "modelled"


def measured(launch: Callable[[], object]) -> float:
    """us, the median of labkit.bench's samples with a cold L2."""
    from labkit import bench

    return bench.measure(launch).median.value


def about(chip: str, *more) -> dict:
    """What times on that chip depend on: its table, and what the caller names."""
    import zlib

    table = repr(sorted(chips.flat(chip).items()))
    return {"chip": chip, "table": zlib.crc32(table.encode()), "more": [str(m) for m in more]}


def guarded(run: Callable[[dict], float]) -> Callable[[dict], float]:
    """run, with what a build or a launch raises as Invalid."""
    from labkit.codegen import Refused
    from labkit.launch.record import LaunchError
    from labkit.source.errors import CompileError

    def call(point: dict) -> float:
        try:
            return run(point)
        except (CompileError, LaunchError, Refused) as e:
            raise Invalid(str(e).strip().partition("\n")[0]) from e

    return call
