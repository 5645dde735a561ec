"""noise(seed): times that differ from run to run as measured ones do, the same in every run with the same seed."""

from __future__ import annotations

import ctypes

from labkit.device.library import lib


class noise:
    """From now on modelled times are disturbed; noise(None) ends that, and so does the end of a `with` block.

    jitter: standard deviation of a kernel's time, as a share of it. outliers: the share of launches at which something
    else on the machine holds the host up, by about outlier_us. first_launch_us: what an operator's first launch costs
    the host on top, since its binary is compiled or loaded then. hot_ms: device time, idle time taken off, after which
    the chip lowers its clock; kernels then take `slower` times as long, until it had a rest. The levels are for
    lessons: typical of a busy node, measured on none.
    """

    def __init__(
        self,
        seed: int | None,
        *,
        jitter: float = 0.03,
        outliers: float = 0.01,
        outlier_us: float = 300.0,
        first_launch_us: float = 20_000.0,
        hot_ms: float = 50.0,
        slower: float = 1.25,
    ):
        levels = {
            "jitter": jitter,
            "outliers": outliers,
            "outlier_us": outlier_us,
            "first_launch_us": first_launch_us,
            "hot_ms": hot_ms,
        }
        wrong = [name for name, value in levels.items() if value < 0]
        if wrong or slower < 1 or outliers > 1:
            raise ValueError(f"noise: {', '.join(wrong) or 'slower >= 1 and outliers <= 1'} out of range")
        if seed is None:
            lib().lab_noise(0, None)
            return
        values = (jitter, outliers, outlier_us * 1e3, first_launch_us * 1e3, hot_ms * 1e6, slower)
        lib().lab_noise(int(seed) & (2**64 - 1), (ctypes.c_double * len(values))(*values))

    def __enter__(self) -> "noise":
        return self

    def __exit__(self, *_) -> None:
        lib().lab_noise(0, None)
