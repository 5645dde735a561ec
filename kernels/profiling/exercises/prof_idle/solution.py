"""How long no kernel ran."""


def idle(kernels, begin, end):
    """The share of [begin, end] in which no kernel runs. Kernels of two streams may overlap."""
    spans = kernels.sort_values("Start Time(us)")[["Start Time(us)", "Duration(us)"]].values
    busy, until = 0.0, begin
    for start, length in spans:
        # >>> exercise: what this kernel adds to `busy`, and how far `until` moves | 这个 kernel 给 `busy` 增加多少，`until` 移到哪里
        # stub: busy += length
        stop = min(start + length, end)
        busy += max(0.0, stop - max(start, until))
        until = max(until, stop)
        # <<<
    return 1 - busy / (end - begin)
