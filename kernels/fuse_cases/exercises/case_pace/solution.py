"""A request's time, and the time of each of many."""


def pace(launches, issue):
    """The us from the first issue to the last result, and the us for each of many requests that follow one another.

    launches: what each takes on the device, us; issue: what the host needs to issue one, us. The host begins at 0 and
    issues one after the other, those of the next request too, without waiting for a result; the device runs them in
    order, each as soon as its issuing has ended and the one before is done.
    """
    # >>> exercise: `end`, when the last launch is done; `each`, what very many requests take, divided by their number: their beginning and end no longer count (4 lines) | `end`：最后一次启动完成的时间；`each`：极多请求所用时间除以请求数，首尾不再计（4 行）
    # stub: end = each = sum(launches)
    end = 0.0
    for k, us in enumerate(launches):
        end = max(end, (k + 1) * issue) + us
    each = max(sum(launches), len(launches) * issue)
    # <<<
    return end, each
