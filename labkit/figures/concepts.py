"""Three pictures of an idea, drawn from the reader's own numbers: how work is sliced, what a second buffer gives, what
it gives to let the cube and the vector cores work on one product.

Contract. `slicing` follows one block's share down to the slots in UB. `buffering` and `cube_vector` replay a few
steps by the rule that a slot is free when its last reader is done; both panels have one time axis. Their times are
those of the picture, not of a launch, and the figure says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from labkit.figures.svg import WIDTH, Canvas, Figure, number
from labkit.figures.tiling import read_split
from labkit.figures.timeline import FILLS
from labkit.figures.words import size_text
from labkit.messages import text

LEFT, RIGHT = 118, WIDTH - 16
_BAR, _STEP = 22, 28
MOST = 12  # steps that can still be numbered
_SLOTS = ("blue", "purple/dots", "green/grid", "ochre/bars")


def slicing(
    n: int,
    blocks: int,
    tile: int,
    slots: int = 2,
    dtype_bytes: int = 2,
    *,
    block: int = 0,
    split: str | Sequence[tuple[int, int]] = "aligned",
) -> Figure:
    """n elements in GM -> a share for each block -> the tiles of one block -> its slots in UB, used in turn.

    n, tile in elements; slots: buffers of a queue; block: whose share is followed. Raises ValueError for numbers that
    make no tiling.
    """
    shares = read_split(n, blocks, dtype_bytes, split)
    if tile <= 0 or slots not in range(1, len(_SLOTS) + 1) or not 0 <= block < blocks:
        raise ValueError(
            f"tile={tile}, slots={slots}, block={block}: want tile > 0, slots 1 to 4, block below {blocks}"
        )
    start, length = shares[block]
    cuts = [(at, min(tile, length - at)) for at in range(0, length, tile)]
    title = text("fig_slice_title", n=f"{n:,}", blocks=blocks, tile=f"{tile:,}", slots=slots)
    used = max(len(cuts), 1)
    finding = text("fig_slice_finding", block=block, length=f"{length:,}", tiles=len(cuts), slots=min(slots, used))
    c = Canvas()
    y = c.heading(title, finding) + 6

    c.text(16, y + 15, text("fig_slice_gm"), "b")
    c.text(16, y + 29, size_text(n * dtype_bytes), "s m")
    scale = (RIGHT - LEFT) / max(n, 1)
    for i, (first, size) in enumerate(shares):
        if size:
            fill = _SLOTS[0] if i == block else "grey"
            c.rect(LEFT + first * scale, y, size * scale, 30, fill, cls="d")
            c.inside(LEFT + first * scale, y, size * scale, 30, text("fig_slice_block", block=i), fill, size=11) or (
                c.inside(LEFT + first * scale, y, size * scale, 30, str(i), fill, size=11)
            )
    tiles_at = y + 78
    x0, x1 = LEFT + start * scale, LEFT + (start + length) * scale
    c.path(f"M{x0:.2f} {y + 30:.2f}L{LEFT} {tiles_at:.2f}H{RIGHT}L{x1:.2f} {y + 30:.2f}z", "q")

    c.text(16, tiles_at + 15, text("fig_slice_share", block=block), "b")
    c.text(16, tiles_at + 29, size_text(length * dtype_bytes), "s m")
    shown = cuts if len(cuts) <= MOST else [*cuts[: MOST - 2], None, cuts[-1]]
    wide = (RIGHT - LEFT) / max(sum(1 if cut is None else cut[1] / tile for cut in shown), 1e-9)
    x, places = float(LEFT), []
    for i, cut in enumerate(shown):
        which = i if len(cuts) <= MOST or i < MOST - 1 else len(cuts) - 1
        if cut is None:
            c.text(x + wide / 2, tiles_at + 19, text("fig_slice_more", n=len(cuts) - MOST + 1), "s m c")
            x += wide
            continue
        part, fill = wide * cut[1] / tile, _SLOTS[which % slots]
        c.rect(x, tiles_at, part, 30, fill, cls="d", title=text("fig_tile_tip", tile=which, length=f"{cut[1]:,}"))
        c.inside(x, tiles_at, part, 30, text("fig_slice_tile", tile=which), fill, size=11) or c.inside(
            x, tiles_at, part, 30, str(which), fill, size=11
        )
        places.append((which, x + part / 2))
        x += part

    ub_at = tiles_at + 96
    c.text(16, ub_at + 15, text("fig_slice_ub"), "b")
    c.text(16, ub_at + 29, text("fig_slice_queue"), "s m")
    room = (RIGHT - LEFT) / 4
    begin = LEFT + (RIGHT - LEFT - room * slots) / 2
    rows = []
    for slot in range(slots):
        mine = [which for which in range(len(cuts)) if which % slots == slot]
        middle = begin + (slot + 0.5) * room
        for which, at in places:
            if which % slots == slot:
                c.line(at, tiles_at + 30, middle, ub_at, "l" if which < slots else "g")
        c.rect(begin + slot * room, ub_at, room, 30, _SLOTS[slot], cls="d", rx=3)
        c.inside(begin + slot * room, ub_at, room, 30, text("fig_slice_slot", slot=slot), _SLOTS[slot], size=11)
        told = ", ".join(map(str, mine[:6])) + (", …" if len(mine) > 6 else "")
        words = text("fig_slice_tiles", tiles=told) if mine else text("fig_slice_unused")
        c.text(middle, ub_at + 46, words, "s m c")
        rows.append(f"{text('fig_slice_slot', slot=slot)}: {words}")
    c.text(LEFT, ub_at + 68, text("fig_slice_bytes", bytes=f"{tile * dtype_bytes:,}"), "s m")
    return c.figure(title, "\n".join([finding, *rows]), ub_at + 80)


# ---- two panels on one time axis


@dataclass(frozen=True)
class _Step:
    """A bar: step `number` on `lane`, from `start` to `end`."""

    lane: str
    number: int
    start: float
    end: float


def _queued(times: Sequence[tuple[str, float]], count: int, slots: int, first: float = 0.0) -> list[_Step]:
    """`count` tiles through the stages in order, `slots` places between each two stages: a stage begins a tile when it
    is done with the one before, the stage before has it, and the place that it goes to is free again.
    """
    ends = {name: [] for name, _ in times}
    steps = []
    for i in range(count):
        ready = first
        for k, (name, us) in enumerate(times):
            free = ends[times[k + 1][0]][i - slots] if k + 1 < len(times) and i >= slots else first
            start = max(ready, free, ends[name][-1] if ends[name] else first)
            ready = start + us
            ends[name].append(ready)
            steps.append(_Step(name, i, start, ready))
    return steps


def buffering(load: float, compute: float, store: float, tiles: int = 6) -> Figure:
    """The same tiles through MTE2, V and MTE3 with one slot for each queue and with two.

    load, compute, store: us of one tile on its pipe; tiles: how many to draw, 2 to 12. Raises ValueError.
    """
    _wanted(tiles, load=load, compute=compute, store=store)
    stages = ("MTE2", load), ("V", compute), ("MTE3", store)
    panels = [(text(f"fig_{name}"), _queued(stages, tiles, s)) for s, name in ((1, "one_slot"), (2, "two_slots"))]
    one, two = (max(step.end for step in steps) for _, steps in panels)
    slowest = max(stages, key=lambda stage: stage[1])
    title = text("fig_buffer_title", tiles=tiles)
    finding = text("fig_buffer_finding", one=f"{one:.2f}", two=f"{two:.2f}", times=f"{one / two:.2f}", pipe=slowest[0])
    return _panels(title, finding, panels, {name: name for name, _ in stages}, FILLS)


def cube_vector(cube: float, vector: float, pieces: int = 6, launch: float = 0.0) -> Figure:
    """A product and what follows it: as two launches, and as one in which the vector cores follow piece by piece.

    cube, vector: us of one piece on its core; pieces: how many to draw, 2 to 12; launch: us between two launches.
    Raises ValueError.
    """
    _wanted(pieces, cube=cube, vector=vector)
    if not 0 <= launch < math.inf:
        raise ValueError(f"launch={launch}: want us, not below 0")
    whole = [_Step("AIC", i, i * cube, (i + 1) * cube) for i in range(pieces)]
    begin = pieces * cube + launch
    whole += [_Step("AIV", i, begin + i * vector, begin + (i + 1) * vector) for i in range(pieces)]
    fused = _queued((("AIC", cube), ("AIV", vector)), pieces, 2)
    panels = [(text("fig_fusion_before"), whole), (text("fig_fusion_after"), fused)]
    before, after = (max(step.end for step in steps) for _, steps in panels)
    title = text("fig_fusion_title", pieces=pieces)
    slower = "AIC" if cube >= vector else "AIV"
    finding = text(
        "fig_fusion_finding", before=f"{before:.2f}", after=f"{after:.2f}", times=f"{before / after:.2f}", core=slower
    )
    names = {"AIC": text("fig_lane_aic"), "AIV": text("fig_lane_aiv")}
    return _panels(title, finding, panels, names, {"AIC": "orange", "AIV": "purple"})


def _wanted(count: int, **times: float) -> None:
    if not 2 <= count <= MOST or not all(0 < us < math.inf for us in times.values()):  # nan too
        given = ", ".join(f"{k}={v}" for k, v in times.items())
        raise ValueError(f"{given}, {count} of them: want times above 0, and 2 to {MOST}")


def _panels(title: str, finding: str, panels, lanes: dict[str, str], fills: dict[str, str]) -> Figure:
    span = max(step.end for _, steps in panels for step in steps)
    scale = (RIGHT - LEFT) / span
    c = Canvas()
    y = c.heading(title, finding) + 8
    rows = []
    for name, steps in panels:
        end = max(step.end for step in steps)
        words = text("fig_panel", name=name, us=f"{end:.2f}")
        c.text(16, y + 12, words, "b")
        rows.append(words)
        y += 22
        top = y
        for lane, label in lanes.items():
            mine = [step for step in steps if step.lane == lane]
            c.text(16, y + 15, label)
            c.rect(LEFT, y, RIGHT - LEFT, _BAR, cls="q", rx=2)
            c.add(f'<g transform="translate(0 {number(y)})"{c.fill(fills[lane])}>')
            bars = [(LEFT + step.start * scale, (step.end - step.start) * scale, step) for step in mine]
            for x, wide, step in bars:
                tip = text("fig_step_tip", step=step.number, start=f"{step.start:.2f}", end=f"{step.end:.2f}")
                c.bar(x, 0, wide, _BAR, tip, edge=wide > 3)
            c.add("</g>")
            for x, wide, step in bars:
                c.inside(x, y, wide, _BAR, str(step.number), fills[lane], size=11)
            busy = sum(step.end - step.start for step in mine)
            rows.append(f"{label}: {busy / end:.0%}")
            y += _STEP
        c.line(LEFT + end * scale, top - 4, LEFT + end * scale, y - 2, "x")
        y += 12
    c.text(LEFT, y + 4, text("fig_panel_note"), "s m")
    return c.figure(title, "\n".join([finding, *rows]), y + 16)
