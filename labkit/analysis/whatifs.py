"""What would help, and by how much: the launch's instructions replayed with one thing changed.

Contract. The launch is made once more without effects (nothing is read or written), and its instructions are replayed
on the modelled clock, each time with one change. The promised gain is the replay's, not a guess. A change that a
learner cannot make (a pipe that costs nothing) serves to find the bound and is never advice.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.analysis.facts import Facts
from labkit.launch.record import PIPES, LaunchRecord

WORTH = 0.02  # of the time: less than that is no advice
AGREES = 0.02  # how far the repeated launch's time may be from the record's


@dataclass(frozen=True)
class Change:
    """One change: the time with it, and what it saves. amount: how many times, where the change has a size."""

    name: str
    amount: float
    us: float
    saves_us: float


@dataclass(frozen=True)
class Replayed:
    changes: list[Change]  # a learner can make, best first
    without: dict[str, float]  # time in us without a pipe, "order" (pipes do not wait for one another), "hbm", "l2"
    tried: bool = True  # False: the bound alone, the launch is too long for more


# Changes of which the larger ones contain the smaller: the best of each family counts.
_SIZES = {"tiles": (2, 4, 8, 16), "fewer_blocks": (2, 4, 8, 16, 32), "more_blocks": (2, 4, 8, 16)}
_PLAIN = ("barriers", "banks", "instructions", "vector", "aligned", "rows")


def _all_changes(record: LaunchRecord, f: Facts) -> list[tuple[str, float]]:
    sizes = [
        (name, n)
        for name, some in _SIZES.items()
        for n in some
        if name != "more_blocks" or n * record.blocks < f.places
    ]
    return (
        [("without", i) for i, _ in enumerate(PIPES)]
        + [(name, 0) for name in (*_PLAIN, "buffers")]
        + [("bytes", 0.5), ("more_blocks", max(f.places // record.blocks, 1)), *sizes]
    )


def replay(record: LaunchRecord, f: Facts, changes: bool = True) -> Replayed | None:
    """None where the launch cannot be timed again, or came out differently: its control flow depends on its data.
    changes=False: what the bound needs, alone."""
    again = record.again
    if again is None or not record.finished:
        return None
    asked: list[tuple[str, float]] = [("same", 0), ("order", 0), ("hbm", 0), ("l2", 0)]
    if changes:
        asked += _all_changes(record, f)
    answer, results = again.what_if(asked)
    times = {(name, amount): (used, us) for (name, amount), (_, used, us) in zip(asked, results)}
    same = times.get(("same", 0), (0, -1))[1]
    if same < 0 and changes:
        return replay(record, f, changes=False)
    if same < 0 or abs(same / record.time_us - 1) > AGREES:
        return None
    room = record.ub_size // max(record.ub_used, answer.get("ub_top", 0), 1)
    found: dict[str, Change] = {}
    for (name, amount), (used, us) in times.items():
        if (
            name in ("same", "order", "hbm", "l2", "without")
            or us < 0
            or (name == "tiles" and amount > room)
            or (name == "buffers" and room < 2)
        ):
            continue
        change = Change(name, used, us, same - us)
        if change.saves_us > WORTH * same and (name not in found or change.saves_us > 1.02 * found[name].saves_us):
            found[name] = change
    if changes and f.imbalance > WORTH:
        saved = f.imbalance * f.core_us
        found["balance"] = Change("balance", 0, same - saved, saved)
    without = {PIPES[int(amount)]: us for (name, amount), (_, us) in times.items() if name == "without"}
    without |= {name: times[name, 0][1] for name in ("order", "hbm", "l2")}
    return Replayed(sorted(found.values(), key=lambda c: -c.saves_us), without, changes)
