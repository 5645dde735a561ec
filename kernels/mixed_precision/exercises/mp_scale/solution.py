"""The loss scale of the next step."""


def next_scale(scale, good, overflowed, growth, backoff, interval):
    """(scale, good, skip): scale and good for the next step; skip, whether this step's update is left out. The good that
    comes in: good steps in a row before this one; overflowed: whether this step overflowed. The scale is multiplied by
    backoff after an overflow, and by growth after `interval` good steps in a row, this one counted; after both, good is
    0."""
    # >>> exercise: an overflow, a good step, the last good step of an interval (5 lines) | 溢出、正常的一步、一个周期的最后一步（5 行）
    # stub: return scale, good, overflowed
    if overflowed:
        return scale * backoff, 0, True
    if good + 1 == interval:
        return scale * growth, 0, False
    return scale, good + 1, False
    # <<<
