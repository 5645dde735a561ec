"""What need not be launched."""

MARGIN = 1.25


def hopeless(predicted, pairs):
    """Whether a candidate cannot be the best; one that may be as fast as the best can. predicted: its us by the
    predictor; pairs: (predicted, timed) of those that were launched. The true time may be as low as
    predicted / (MARGIN x worst), worst being the largest predicted / timed so far, at least 1."""
    # >>> exercise: the least that it may take, against the best that was timed (3 lines) | 它至少需要的时间，与计时中最好的比较（3 行）
    # stub: return False
    best = min(us for _, us in pairs)
    too_high = max(1.0, max(p / us for p, us in pairs))
    return predicted / (too_high * MARGIN) > best
    # <<<
