"""The size to take from a sweep."""


def sweet_spot(sizes: list, rates: list, p99: list, limit: float, share: float = 0.9):
    """The smallest size whose rate is surely at least `share` of the best rate, and whose p99 (us) is at most `limit`;
    None where there is none. sizes rise; rates: (low, middle, high) of each, the ends of a 95-percent interval. The
    best rate is that of the whole sweep, also beyond `limit`: the one with the largest middle. Sure is what holds even
    if the best is as high as its upper end."""
    # >>> exercise: `spot` (2 or 3 lines) | `spot`（2 到 3 行）
    # stub: spot = sizes[-1]
    best = max(rates, key=lambda r: r[1])
    spot = next((s for s, r, t in zip(sizes, rates, p99) if r[0] >= share * best[2] and t <= limit), None)
    # <<<
    return spot
