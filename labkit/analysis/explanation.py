"""explain(record): what bounds a launch, by how much, and what would help, in words."""

from __future__ import annotations

import html
from dataclasses import dataclass, field

from labkit.analysis.bound import Bound, bound
from labkit.analysis.facts import Facts, facts
from labkit.analysis.whatifs import Change, Replayed, replay
from labkit.figures import Figure
from labkit.figures.svg import absent
from labkit.figures.words import percent, size_text, time_text
from labkit.launch.record import LaunchRecord
from labkit.messages import text


@dataclass(frozen=True, repr=False)
class Explanation:
    """`bound.kind` says what bounds the launch, `advice` holds at most two changes
    with their modelled gain; `str()` gives both.
    """

    record: LaunchRecord
    facts: Facts
    bound: Bound
    advice: list[Change] = field(default_factory=list)
    replayed: Replayed | None = None

    @property
    def lines(self) -> list[str]:
        return _lines(self)

    def __str__(self) -> str:
        return "\n".join(self.lines)

    __repr__ = __str__

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        first, *rest = self.lines
        bare = " style='list-style:none'"  # of a line that has its number already
        items = "".join(f"<li{bare if line[:1].isdigit() else ''}>{html.escape(line)}</li>" for line in rest)
        return {
            "text/plain": str(self),
            "text/html": f"<div><b>{html.escape(first)}</b><ul style='margin:0'>{items}</ul></div>",
        }


def explain(record: LaunchRecord) -> Explanation | Figure:
    """Times the launch again without effects, once, to try the changes.
    For a launch on a real NPU a figure that says that there is no timeline.
    """
    if (none := absent(record)) is not None:
        return none
    f = facts(record)
    replayed = replay(record, f)
    what = bound(f, replayed)
    return Explanation(record, f, what, _chosen(replayed, what), replayed)


def _chosen(replayed: Replayed | None, what: Bound) -> list[Change]:
    """The two best. Fewer bytes always help; where bytes are not the bound they come after changes in the kernel."""
    if replayed is None:
        return []
    if what.kind in ("hbm", "l2"):
        return replayed.changes[:2]
    last = [c for c in replayed.changes if c.name == "bytes" and what.kind in ("mte2", "mte3", "fixpipe")]
    return [*(c for c in replayed.changes if c.name != "bytes"), *last][:2]


def _lines(e: Explanation) -> list[str]:
    f, record = e.facts, e.record
    kind = text(f"fig_{record.time_kind}")
    lines = [
        text(
            "explain.head",
            kernel=record.kernel,
            us=time_text(f.time_us),
            kind=kind,
            blocks=record.blocks,
            chip=record.chip,
        ),
        text(
            f"explain.bound.{e.bound.kind}",
            share=percent(e.bound.share),
            pipe=e.bound.pipe,
            busy=percent(f.pipes[e.bound.pipe]),
            startup=percent(f.startup),
            bank=percent(f.bank),
            bytes=size_text(f.mean_move),
            blocks=record.blocks,
        ),
    ]
    busy = ", ".join(f"{p} {percent(share)}" for p, share in f.pipes.items() if share >= 0.005)
    busy = busy or text("explain.no_pipe")  # an empty kernel
    lines.append(text("explain.pipes", pipes=busy, us=time_text(f.longest["time"]), launch=percent(f.launch)))
    if f.read + f.written:
        hits = 1 - f.missed / f.read if f.read else 0.0
        lines.append(
            text(
                "explain.memory",
                read=size_text(f.read),
                written=size_text(f.written),
                hits=percent(hits),
                hbm=percent(f.hbm),
                each=size_text(f.mean_move),
            )
        )
    if record.blocks < f.places and e.bound.kind != "launch":
        lines.append(text("explain.few_blocks", blocks=record.blocks, places=f.places))
    if e.replayed is None:
        return [*lines, text("explain.no_replay")]
    if e.bound.kind not in ("launch", "imbalance", "order") and e.bound.pipe in e.replayed.without:
        lines.append(text("explain.free", pipe=e.bound.pipe, us=time_text(e.replayed.without[e.bound.pipe])))
    if e.replayed.without["order"] < 0.9 * f.time_us:
        lines.append(text("explain.order", us=time_text(e.replayed.without["order"])))
    for number, change in enumerate(e.advice, 1):
        gain = text(
            "explain.gain",
            us=time_text(change.us),
            saves=time_text(change.saves_us),
            share=percent(change.saves_us / f.time_us),
        )
        lines.append(
            text(
                "explain.advice",
                number=number,
                what=text(f"explain.change.{change.name}", amount=f"{change.amount:g}"),
                gain=gain,
            )
        )
    lines.append(
        text("explain.each_alone" if e.advice else "explain.nothing" if e.replayed.tried else "explain.no_replay")
    )
    return lines
