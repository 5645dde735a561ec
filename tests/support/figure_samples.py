"""Samples for the tests of the figures: records as a launch leaves them, one figure of each kind,
and helpers that read an SVG.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import namedtuple
from dataclasses import dataclass, field

import numpy as np

from labkit import figures
from labkit.figures.svg import Figure
from labkit.launch.record import PIPES, Finding

KB = 1024
SVG = "{http://www.w3.org/2000/svg}"
DTYPE = np.dtype(
    [("block", "u2"), ("pipe", "u1"), ("op", "u2"), ("line", "i4"), ("start", "f8"), ("end", "f8"), ("bytes", "u4")]
)


@dataclass
class Record:
    """The fields of a LaunchRecord that figures read."""

    timeline: np.ndarray
    kernel: str = "add_custom"
    time_us: float | None = None
    time_kind: str = "modelled"
    timeline_total: int = 0
    op_names: list = field(default_factory=lambda: ["DataCopy", "Add", "SetFlag"])
    pipe_names: list = field(default_factory=lambda: list(PIPES))
    findings: list = field(default_factory=list)
    buffers: list = field(default_factory=list)
    ub_size: int = 192 * KB


def pipeline(
    tiles: int, depth: int = 2, blocks: int = 1, load: float = 0.9, add: float = 0.35, store: float = 0.7
) -> Record:
    """A double-buffered Add: load on MTE2 (line 21), Add on V (33), store on MTE3 (41);
    a slot is reused when its reader is done.
    """
    rows = []
    for b in range(blocks):
        v, out, t2, tv, t3 = [], [], 0.5 * b, 0.0, 0.0
        for i in range(tiles):
            start = max(t2, v[i - depth] if i >= depth else 0.0)
            t2 = start + load
            rows.append((b, 4, 0, 21, start, t2, 16384))
            tv = max(t2, tv, out[i - depth] if i >= depth else 0.0) + add
            rows.append((b, 1, 1, 33, tv - add, tv, 16384))
            t3 = max(tv, t3) + store
            rows.append((b, 5, 0, 41, t3 - store, t3, 16384))
            v.append(tv)
            out.append(t3)
    array = np.array(rows, DTYPE)
    return Record(array, time_us=float(array["end"].max()) + 1.5, timeline_total=len(array))


def race(count: int = 5) -> Record:
    record = pipeline(5)
    record.findings = [
        Finding("race-raw", "error", 0, "k.asc", 33, {"pipe": "V", "other": "MTE2", "other_line": 21}, count)
    ]
    return record


def slots(count: int, each: int) -> list[dict]:
    return [
        dict(name=f"q{i // 2}", pos="VECIN" if i < 4 else "VECOUT", bytes=each, kind="queue", index=i % 2)
        for i in range(count)
    ]


STEPS = [
    dict(name="scalar loop", modelled=None, measured=1239689.1, source="asc-devkit 9.1"),
    dict(name="vector Add, 1 core", modelled=6700.0, measured=6909.6, source="asc-devkit 9.1"),
    dict(name="48 cores", modelled=312.0, measured=306.58, source="asc-devkit 9.1"),
    dict(name="mine", modelled=170.0),
]


def period(n: int, step: int, at: int) -> np.ndarray:
    bad = np.zeros(n, bool)
    bad[at::step] = True
    return bad


Work = namedtuple("Work", "name device stream start_us end_us host_us engine")


def device_work(count: int = 3) -> list[Work]:
    """Copies on one stream, kernels on another, each behind its copy; the last is a product on the default stream."""
    rows = []
    for i in range(count):
        rows += [
            Work("MEMCPY_H2D", 0, 5, 10 * i, 10 * i + 10, 4 * i, "copy in"),
            Work("aten::add", 0, 7, 10 * i + 10, 10 * i + 14, 4 * i + 2, "vector"),
        ]
    return [*rows, Work("aten::mm", 0, 0, 10 * count, 10 * count + 8, 4 * count, "cube")]


MAKERS = {
    "ruler": lambda: figures.memory_ruler(slots(6, 16 * KB), zoom=(0, 400)),
    "ruler over": lambda: figures.memory_ruler(slots(6, 40 * KB)),
    "ruler overlap": lambda: figures.memory_ruler(
        [
            dict(name="x", pos="VECIN", addr=0, bytes=64 * KB, kind="local"),
            dict(name="y", pos="VECCALC", addr=32 * KB, bytes=64 * KB, kind="local"),
        ],
        highlight="y",
    ),
    "ruler misaligned": lambda: figures.memory_ruler([dict(name="z", addr=131080, bytes=1000)], zoom=(131080, 1000)),
    "ruler empty": lambda: figures.memory_ruler([]),
    "ruler many": lambda: figures.memory_ruler([dict(bytes=3000) for _ in range(3000)]),
    "timeline": lambda: figures.pipe_timeline(pipeline(6, blocks=2)),
    "timeline race": lambda: figures.pipe_timeline(race()),
    "timeline dense": lambda: figures.pipe_timeline(pipeline(30000), max_bars=400),
    "timeline crowd": lambda: figures.pipe_timeline(pipeline(400, blocks=3), blocks=[0, 1, 2], max_bars=4000),
    "timeline empty": lambda: figures.pipe_timeline(pipeline(3), t0=100.0, t1=200.0),
    "timelines": lambda: figures.compare_timelines(pipeline(8, 1), pipeline(8, 2), ("one slot", "two slots")),
    "tiling": lambda: figures.tiling_map(10000, 8, 512, 4),
    "tiling uneven": lambda: figures.tiling_map(100003, 48, 1000, 2),
    "tiling many": lambda: figures.tiling_map(10_000_000, 1000, 128, 2, "aligned"),
    "tiling explicit": lambda: figures.tiling_map(1000, 4, 128, 4, [(0, 256), (256, 256), (512, 300), (800, 200)]),
    "slicing": lambda: figures.slicing(10_000, 8, 256),
    "slicing many": lambda: figures.slicing(1_000_000, 48, 512, 3, 4, block=47, split="even"),
    "slicing nothing left": lambda: figures.slicing(100, 8, 64, block=7),
    "buffering": lambda: figures.buffering(0.31, 0.52, 0.24),
    "cube and vector": lambda: figures.cube_vector(2.0, 1.5, 4, launch=3.0),
    "mismatch": lambda: figures.mismatch_map(period(10000, 16, 3), 8, 512),
    "mismatch noise": lambda: figures.mismatch_map(np.random.default_rng(0).random(100000) < 0.03, 20, 256),
    "mismatch none": lambda: figures.mismatch_map(np.zeros(100, bool), 4, 32),
    "core": lambda: figures.core_on_one_page(),
    "core cube": lambda: figures.core_on_one_page("M"),
    "core step": lambda: figures.core_on_one_page(step=4),
    "fractals": lambda: figures.fractal_layout(40, 72, "Nz", mark=(17, 40)),
    "fractals many": lambda: figures.fractal_layout(128, 256, "Zn", 1),
    "fractals rows": lambda: figures.fractal_layout(5, 9, "ND", 4),
    "curves": lambda: figures.curves(
        {"native": [4.2, 3.9, 3.1, 2.0004], "by hand": [4.2, 3.9001, 3.1, 2.0], "by the pass": [4.21, 3.9, 3.1, 2.0]}
    ),
    "curves flat": lambda: figures.curves({"one": [1.0] * 50}, "epoch", "scale"),
    "ladder": lambda: figures.ladder(STEPS, log=True),
    "streams": lambda: figures.stream_timeline(device_work()),
    "streams of ranks": lambda: figures.stream_timeline({"rank 0": device_work(), "rank 1 <two>": device_work(200)}),
    "ladder linear": lambda: figures.ladder(STEPS[1:]),
}


def root(figure: Figure) -> ET.Element:
    return ET.fromstring(figure.svg)


def all_text(figure: Figure) -> list[str]:
    return [e.text or "" for e in root(figure).iter(SVG + "text")]


def boxes(figure: Figure, starts: str) -> list[tuple[float, float]]:
    """(x, width) of the rectangles whose tooltip starts with a text."""
    return [
        (float(e.get("x")), float(e.get("width")))
        for e in root(figure).iter(SVG + "rect")
        if (e.findtext(SVG + "title") or "").startswith(starts)
    ]
