"""Which rank the others wait for, from their stays in the same collectives."""


def slow_rank(stays: dict) -> tuple:
    """(the slow rank, us that the other ranks waited, on average). stays: from each rank to its times in the
    collectives, in us, in the same order on all ranks. The shortest stay in a collective is its transfer."""
    # >>> exercise: `transfers`, the shortest stay in each collective; `waits`, of each rank the time beyond them; `slow` and `cost` (5 lines) | `transfers`：每次通信的最短停留；`waits`：每个 rank 超出的时间；`slow` 与 `cost`（5 行）
    # stub: slow, cost = max(stays, key=lambda rank: sum(stays[rank])), 0.0
    transfers = [min(column) for column in zip(*stays.values())]
    waits = {rank: sum(mine) - sum(transfers) for rank, mine in stays.items()}
    slow = min(waits, key=waits.get)
    others = [us for rank, us in waits.items() if rank != slow]
    cost = sum(others) / len(others)
    # <<<
    return slow, cost
