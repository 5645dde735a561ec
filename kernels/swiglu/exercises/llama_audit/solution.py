"""What a published time would mean."""


def share_of_peak(ms: float, tokens: int, hidden: int, intermediate: int, peak: float) -> float:
    """Share of `peak` (operations a second) that gate and up projection reach if both together take `ms` milliseconds."""
    # >>> exercise: `share` (2 lines) | `share`（2 行）
    # stub: share = 0.0
    flops = 2 * 2 * tokens * hidden * intermediate
    share = flops / (ms * 1e-3) / peak
    # <<<
    return share
