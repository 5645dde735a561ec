"""Communication that nothing hides: "Communication(Not Overlapped)" of step_trace_time.csv."""


def exposed(communication: list, computing: list) -> float:
    """us of communication in which the device computes nothing. Both are lists of (begin, end), in any order; the
    pieces of a list do not overlap each other."""
    # >>> exercise: `alone` (3 or 4 lines) | `alone`（3 到 4 行）
    # stub: alone = sum(end - begin for begin, end in communication)
    alone = 0
    for begin, end in communication:
        hidden = sum(max(0, min(end, e) - max(begin, b)) for b, e in computing)
        alone += end - begin - hidden
    # <<<
    return alone
