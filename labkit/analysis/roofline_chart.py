"""The roofline: what a chip can reach at a launch's operations a byte, and where the launch is.

Contract. Roofs come from the chip table: HBM and L2 bytes/s (slopes) and the peaks of the units that the launch uses
(flat lines). An operation is an element of a vector instruction, or a multiplication or addition of the cube. Each
memory has a dot of its own: filled, by all bytes between the cores and GM, which the L2 carries; hollow, by the bytes
read that the L2 did not hold, which HBM carries (what goes back to HBM later is not counted). Solid is HBM, dashed the
L2; every line carries its name and number.
"""

from __future__ import annotations

import math

from labkit import chips
from labkit.analysis.facts import facts
from labkit.figures.svg import WIDTH, Canvas, Figure, absent, number
from labkit.figures.words import percent, text_width
from labkit.launch.msprof_tables import cube_operations
from labkit.launch.record import LaunchRecord
from labkit.messages import text

LEFT, RIGHT, HEIGHT = 76, WIDTH - 28, 300
DASH = ' stroke-dasharray="7 4"'


def peaks(chip: str, blocks_cube: bool, record: LaunchRecord) -> list[tuple[str, float]]:
    """(name, operations a second) of the units that the launch uses, all cores together."""
    table = chips.load(chip)
    hz, lanes, total = (
        table["clock"]["hz"],
        table["vector"]["repeat_bytes"],
        {
            k: sum(c[k] for c in record.cores)
            for k in ("vector16", "vector32", "vector_other", "fractals16", "fractals8", "fractals32")
        },
    )
    vector, cube, k = table["cores"]["aiv"] * hz * lanes, table["cores"]["aic"] * hz * 2 * 256, table["cube"]["k"]
    found = (
        [
            ("cube fp16", cube * k["half"], total["fractals16"]),
            ("cube int8", cube * k["int8"], total["fractals8"]),
            ("cube fp32", cube * k["float"], total["fractals32"]),
        ]
        if blocks_cube
        else [
            ("vector fp16", vector / 2, total["vector16"]),
            ("vector fp32", vector / 4, total["vector32"] or total["vector_other"]),
        ]
    )
    return [(name, rate) for name, rate, used in found if used]


def rate_text(rate: float, unit: str) -> str:
    scale, name = (
        (1e15, "P") if rate >= 1e15 else (1e12, "T") if rate >= 1e12 else (1e9, "G") if rate >= 1e9 else (1e6, "M")
    )
    return f"{rate / scale:.3g} {name}{unit}"


def roofline(record: LaunchRecord) -> Figure:
    """The launch as a dot under the roofs. Raises ValueError for a launch without counters."""
    if (none := absent(record)) is not None:
        return none
    f, chip = facts(record), chips.load(record.chip)
    cube = sum(cube_operations(c, record.chip) for c in record.cores)
    done = cube or float(sum(c["vector16"] + c["vector32"] + c["vector_other"] for c in record.cores))
    moved = f.read + f.written
    title = text("fig_roof_title", kernel=record.kernel, chip=record.chip)
    c = Canvas()
    tops = peaks(record.chip, bool(cube), record)
    if not done or not moved or not tops:
        said = text("fig_roof_empty")
        return c.figure(title, said, c.heading(title, said) + 8)
    rate, slopes = done / (record.time_us * 1e-6), [("HBM", chip["gm"]["hbm"], ""), ("L2", chip["gm"]["l2"], DASH)]
    top_name, top = max(tops, key=lambda t: t[1])
    dots = [("L2", done / moved)] + ([("HBM", done / f.missed)] if f.missed else [])
    shares = [(rate / (dict((n, bw) for n, bw, _ in slopes)[name] * x), name, x) for name, x in dots]
    share, above, intensity = max([*shares, (rate / top, top_name, done / moved)])
    finding = text(
        "fig_roof_finding",
        rate=rate_text(rate, "op/s"),
        intensity=f"{intensity:.3g}",
        share=percent(share),
        roof=above,
        kind=text(f"fig_{record.time_kind}"),
    )
    low_x = math.floor(math.log10(min(done / moved, top / slopes[1][1]) / 4))
    high_x = math.ceil(math.log10(max([top / slopes[0][1], *(x for _, x in dots)]) * 4))
    low_y = math.floor(math.log10(min(rate, slopes[0][1] * 10.0**low_x)))
    high_y = math.ceil(math.log10(top * 1.5))
    y0 = c.heading(title, finding) + 22
    bottom = y0 + HEIGHT

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            LEFT + (math.log10(x) - low_x) / (high_x - low_x) * (RIGHT - LEFT),
            bottom - (math.log10(y) - low_y) / (high_y - low_y) * HEIGHT,
        )

    grid = [f"M{number(at(10.0**e, 1)[0])} {number(y0)}V{number(bottom)}" for e in range(low_x, high_x + 1)]
    grid += [f"M{LEFT} {number(at(1, 10.0**e)[1])}H{RIGHT}" for e in range(low_y, high_y + 1)]
    c.path("".join(grid), "g")
    for e in range(low_x, high_x + 1):
        c.text(at(10.0**e, 1)[0], bottom + 17, f"{10.0**e:g}", "s m c")
    for e in range(low_y, high_y + 1):
        c.text(LEFT - 6, at(1, 10.0**e)[1] + 4, rate_text(10.0**e, ""), "s m e")
    c.text(RIGHT, bottom + 33, text("fig_roof_x"), "s e")
    c.text(16, y0 - 8, text("fig_roof_y", unit="op/s"), "s m")
    rows = []
    for name, bw, dash in slopes:
        start = max(10.0**low_x, 10.0**low_y / bw)
        (x1, y1), (x2, y2) = at(start, bw * start), at(top / bw, top)
        c.line(x1, y1, x2, y2, "k", dash)
        words = f"{name} {rate_text(bw, 'B/s')}"
        angle = math.degrees(math.atan2(y2 - y1, x2 - x1))
        along = 0.68 if at(max(d for _, d in dots), rate)[0] < x1 + (x2 - x1) * 0.6 else 0.04  # away from the dots
        x, y = x1 + (x2 - x1) * along, y1 + (y2 - y1) * along
        c.add(f'<g transform="translate({number(x)} {number(y)}) rotate({number(angle)})">')
        c.text(0, -6, words, "s")
        c.add("</g>")
        rows.append(text("fig_roof_row", name=name, rate=rate_text(bw, "B/s")))
    for name, peak in tops:
        (x1, y), (x2, _) = at(peak / slopes[1][1], peak), at(10.0**high_x, peak)
        c.line(x1, y, x2, y, "k")
        c.text(x2 - 4, y - 6, f"{name} {rate_text(peak, 'op/s')}", "s e")
        rows.append(text("fig_roof_row", name=name, rate=rate_text(peak, "op/s")))
    for name, at_bytes in dots:
        x, y = at(at_bytes, rate)
        bw = next(b for n, b, _ in slopes if n == name)
        c.line(x, y, x, at(at_bytes, min(bw * at_bytes, top))[1], "x")
    for name, at_bytes in dots:
        x, y = at(at_bytes, rate)
        look = (
            c.fill("blue") + ' stroke="#fff" stroke-width="1.5"'
            if name == "L2"
            else ' fill="none" stroke="currentColor" stroke-width="2.5"'
        )
        c.add(f'<circle cx="{number(x)}" cy="{number(y)}" r="6"{look}/>')
        label = text("fig_roof_bytes", name=name)  # to the left, and below: apart, should the dots be close
        c.text(x - 10, y + 4, label, "s e") if name == "L2" else c.text(x, y + 22, label, "s c")
        rows.append(
            f"{text('fig_roof_dot')}, {text('fig_roof_bytes', name=name)}: {rate_text(rate, 'op/s')}, "
            f"{at_bytes:.3g} op/B"
        )
    words = f"{text('fig_roof_dot')}: {rate_text(rate, 'op/s')}"
    x, wide = at(dots[-1][1], rate)[0], text_width(words, 12, bold=True)
    c.text(x + 11 if x + 11 + wide < RIGHT else at(dots[0][1], rate)[0] - 11 - wide, at(1, rate)[1] + 4, words, "b")
    return c.figure(title, "\n".join([finding, *rows]), bottom + 44)
