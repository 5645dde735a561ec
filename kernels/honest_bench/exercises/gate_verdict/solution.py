"""The verdict of a gate."""


def verdict(ratio, low, high, matters=0.005):
    """ratio: new time over old, its interval [low, high]. Its ends belong to the interval. A difference
    below `matters` is none, one of `matters` itself counts: allow for rounding."""
    # >>> exercise: when is it "same"? | 什么时候是 "same"？
    if low <= 1 <= high or abs(ratio - 1) < matters - 1e-9:
        return "same"
    # <<<
    return "slower" if ratio > 1 else "faster"
