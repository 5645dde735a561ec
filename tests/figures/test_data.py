"""What a figure says is right: widths are to scale, shares and sums agree with the data, what is wrong is refused."""

from __future__ import annotations

import re
from collections import namedtuple

import numpy as np
import pytest
from figure_samples import DTYPE, KB, MAKERS, STEPS, SVG, all_text, boxes, period, pipeline, race, root, slots

from labkit import figures
from labkit.figures import svg as svg_module
from labkit.figures import trace, widgets, words
from labkit.figures.mismatch import tile_counts
from labkit.figures.svg import COLOURS, Figure
from labkit.launch.record import PIPES

# ---------------------------------------------------------------- memory ruler


def test_ruler_is_to_scale():
    sizes = [8 * KB, 16 * KB, 48 * KB]
    figure = figures.memory_ruler([dict(name=f"b{i}", pos="VECIN", bytes=b) for i, b in enumerate(sizes)])
    places = [boxes(figure, f"b{i},")[0] for i in range(3)]
    px = (svg_module.WIDTH - 32) / (192 * KB)
    for (x, wide), size, start in zip(places, sizes, (0, 8 * KB, 24 * KB), strict=True):
        assert wide == pytest.approx(size * px, abs=0.02) and x == pytest.approx(16 + start * px, abs=0.02)
    assert boxes(figure, "8 KB reserved")[0] == pytest.approx((16 + 184 * KB * px, 8 * KB * px), abs=0.02)


def test_ruler_budget():
    fits = figures.memory_ruler(slots(6, 16 * KB))
    assert "52 % of 184 KB" in fits.desc and "88 KB free" in fits.desc and not boxes(fits, "over by")
    over = figures.memory_ruler(slots(6, 40 * KB))
    assert "57,344 B too many" in over.desc and "over by 57,344 B" in all_text(over)
    ((x, wide),) = boxes(over, "over by")
    px = (svg_module.WIDTH - 32) / (240 * KB)
    assert wide == pytest.approx(56 * KB * px, abs=0.02) and x == pytest.approx(16 + 184 * KB * px, abs=0.02)
    hatched = [
        e.get("fill") for e in root(over).iter(SVG + "rect") if (e.findtext(SVG + "title") or "").startswith("over by")
    ]
    assert hatched[0].endswith("-red-back)")


def test_ruler_addresses_follow_the_rounded_size():
    figure = figures.memory_ruler([dict(name="a", bytes=100), dict(name="b", bytes=100)])
    assert "b, buffer: 100 B @ 128 (28 B padding)" in figure.desc


def test_ruler_overlap_is_said_and_seen():
    figure = MAKERS["ruler overlap"]()
    assert "Overlapping: 1." in figure.desc
    tops = {
        float(e.get("y"))
        for e in root(figure).iter(SVG + "rect")
        if re.match("[xy], 65", e.findtext(SVG + "title") or "")
    }
    assert len(tops) == 2


def test_ruler_zoom_counts_bytes():
    figure = figures.memory_ruler([dict(name="t", bytes=400)], zoom=(0, 400))
    assert "400 B = 12.5 blocks of 32 B: not a multiple, 16 B of padding." in figure.desc
    used, padding = boxes(figure, "16 B used"), boxes(figure, "16 B padding")
    assert len(used) == len(padding) == 1 and used[0][1] == pytest.approx(padding[0][1], abs=0.02)
    assert "a multiple" in figures.memory_ruler([], zoom=(0, 64)).desc
    off = figures.memory_ruler([], zoom=(131080, 1000))
    assert "8 B past a 32 B line" in off.desc and len(boxes(off, "8 B off")) == 1


def test_ruler_highlight_by_name_and_number():
    assert (
        figures.memory_ruler(slots(6, KB * 16), highlight="q1").svg
        != figures.memory_ruler(slots(6, KB * 16), highlight=2).svg
    )


def test_ruler_of_a_record_shows_ub_only_once():
    record = pipeline(1)
    view = dict(name="VECIN", pos="VECIN", addr=0, bytes=KB, kind="queue", group=0, index=0)
    record.buffers = [view, dict(view), dict(name="CO1", pos="CO1", addr=0, bytes=KB, kind="queue", group=1, index=0)]
    figure = figures.memory_ruler_from_record(record)
    assert figure.desc.splitlines()[1:] == ["1 queue 0 VECIN, queue slot 0: 1,024 B @ 0"]


@pytest.mark.parametrize(
    "wrong", [dict(size=0), dict(reserved=192 * KB), dict(align=0), dict(zoom=(0, 0)), dict(zoom=(-1, 4))]
)
def test_ruler_refuses(wrong):
    with pytest.raises(ValueError):
        figures.memory_ruler([], **wrong)


@pytest.mark.parametrize("size", [10 << 20, 16 << 20, 1 << 30])
def test_ruler_of_more_than_any_chip_has(size):
    figure = figures.memory_ruler([dict(name="a", bytes=64)], size=size)
    ticks = [t for t in all_text(figure) if t.isdigit() and t not in "01"]
    assert 2 <= len(ticks) <= 10


def test_ruler_of_tuples_and_of_a_kind_of_ones_own():
    piece = namedtuple("piece", "name pos addr bytes")  # it has a method `index`
    assert "1 a VECIN" in figures.memory_ruler([piece("a", "VECIN", 0, 64)]).desc
    own = figures.memory_ruler([dict(bytes=64, kind="mine", pos="X", group=1)])
    assert "mine 1" in own.desc


def test_ruler_refuses_a_buffer_without_size():
    with pytest.raises(ValueError, match="bytes"):
        figures.memory_ruler([dict(name="x")])


# ---------------------------------------------------------------- timelines


def test_bars_are_to_scale():
    record = pipeline(6)
    figure = figures.pipe_timeline(record)
    high = record.timeline["end"].max()
    px = (682 - 116) / high
    adds = boxes(figure, "Add line 33")
    rows = record.timeline[record.timeline["pipe"] == 1]
    assert len(adds) == len(rows) == 6
    for (x, wide), row in zip(adds, rows, strict=True):
        assert wide == pytest.approx((row["end"] - row["start"]) * px, abs=0.02) and x == pytest.approx(
            116 + row["start"] * px, abs=0.02
        )


def test_busy_shares():
    record = pipeline(6)
    figure = figures.pipe_timeline(record)
    span = record.timeline["end"].max()
    for code, pipe in ((4, "MTE2"), (1, "V"), (5, "MTE3")):
        rows = record.timeline[record.timeline["pipe"] == code]
        share = words.percent((rows["end"] - rows["start"]).sum() / span)
        assert share in all_text(figure) and f"{pipe}: busy {share}" in figure.desc


def test_lanes_follow_the_tile():
    lanes = [t for t in all_text(figures.pipe_timeline(pipeline(3))) if t in PIPES]
    assert lanes == ["MTE2", "V", "MTE3"]


@pytest.mark.parametrize("kind", ["modelled", "measured"])
def test_axis_names_the_kind_of_time(kind):
    record = pipeline(3)
    record.time_kind = kind
    figure = figures.pipe_timeline(record)
    assert f"time, {kind} (us)" in all_text(figure) and kind in figure.desc


def test_dense_timelines_merge_and_keep_the_sum():
    record = pipeline(5000)
    figure = figures.pipe_timeline(record, max_bars=300)
    tips = [e.findtext(SVG + "title") or "" for e in root(figure).iter(SVG + "rect")]
    merged = [int(m.group(1).replace(",", "")) for m in (re.match(r"([\d,]+) merged", t) for t in tips) if m]
    assert sum(merged) + sum(" us" in t and "merged" not in t for t in tips) == len(record.timeline)
    assert sum(" us" in t for t in tips) <= 300
    assert any("short instructions merged into" in t for t in all_text(figure))


def test_merged_height_is_the_busy_share():
    figure = figures.pipe_timeline(pipeline(5000))
    heights = [
        float(e.get("height"))
        for e in root(figure).iter(SVG + "rect")
        if re.match(r"\d+ merged: Add", e.findtext(SVG + "title") or "")
    ]
    assert np.mean(heights) == pytest.approx(22 * 0.35 / 0.9, rel=0.1)


def test_window_clips():
    figure = figures.pipe_timeline(pipeline(6), t0=1.0, t1=2.0)
    assert all(116 - 0.01 <= x and x + wide <= 682.01 for x, wide in boxes(figure, "Add") + boxes(figure, "DataCopy"))
    assert "shown: 1 us." in figure.desc


def test_races_are_marked_and_spelled_out():
    figure = figures.pipe_timeline(race())
    assert "race-raw at line 33, block 0, seen 5 times. V is not ordered against MTE2 at line 21." in figure.desc
    assert "race-raw" in all_text(figure) and "1" in all_text(figure)
    assert [e for e in root(figure).iter(SVG + "path") if e.get("class") == "lk-x"]
    assert "race" not in figures.pipe_timeline(pipeline(5)).svg


def test_cut_timeline_says_so():
    record = pipeline(4)
    record.timeline_total = 1000
    assert "first 12 of 1,000 instructions" in figures.pipe_timeline(record).desc


def test_plain_array_is_enough():
    assert "op 1" in figures.pipe_timeline(pipeline(3).timeline).svg


def test_blocks_default_to_the_first_and_the_slowest():
    figure = figures.pipe_timeline(pipeline(3, blocks=4))
    assert "block 0, 3 (4 ran)" in figure.title and {"block 0", "block 3"} <= set(all_text(figure))
    assert "block 2 (4 ran)" in figures.pipe_timeline(pipeline(3, blocks=4), blocks=2).title


def test_overlap_of_pipes():
    rows = np.array([(0, 4, 0, 1, 0, 4, 0), (0, 1, 1, 2, 3, 6, 0), (0, 5, 0, 3, 10, 12, 0)], DTYPE)
    lanes = trace.lanes_of(trace.read_trace(rows), [0], 0, 12)
    assert trace.overlap(lanes) == pytest.approx(1.0)
    assert "8 % of the time" in figures.pipe_timeline(rows).desc


def test_comparison_shares_one_scale():
    a, b = pipeline(8, 1), pipeline(8, 2)
    figure = figures.compare_timelines(a, b, ("one slot", "two slots"))
    px = (682 - 116) / max(a.timeline["end"].max(), b.timeline["end"].max())
    assert {round(wide, 1) for _, wide in boxes(figure, "Add")} == {round(0.35 * px, 1)}
    assert f"takes {b.time_us / a.time_us:.2f} times" in figure.desc


def test_modelled_and_measured_are_not_divided():
    a, b = pipeline(4), pipeline(4)
    b.time_kind = "measured"
    figure = figures.compare_timelines(a, b)
    assert (
        "times as long" not in figure.desc
        and "measured" in figure.desc
        and "time, modelled, measured (us)" in all_text(figure)
    )


def test_timeline_refuses():
    with pytest.raises(TypeError, match="structured array"):
        figures.pipe_timeline([1, 2, 3])
    with pytest.raises(ValueError, match="window"):
        figures.pipe_timeline(pipeline(3), t0=2.0, t1=1.0)
    bare = pipeline(1)
    bare.timeline = None
    with pytest.raises(ValueError, match="timeline"):
        figures.pipe_timeline(bare)


# ---------------------------------------------------------------- tiling and mismatch


@pytest.mark.parametrize(("n", "blocks"), [(10000, 8), (100003, 48), (5, 8), (0, 4), (7, 1)])
def test_splits_cover_everything_once(n, blocks):
    for pieces in (figures.split_even(n, blocks), figures.split_aligned(n, blocks, 2)):
        assert len(pieces) == blocks and sum(length for _, length in pieces) == n
        assert all(a + la == b for (a, la), (b, _) in zip(pieces, pieces[1:], strict=False))
    assert all(start % 16 == 0 for start, length in figures.split_aligned(n, blocks, 2) if length)


def test_tiling_is_to_scale():
    figure = figures.tiling_map(10000, 8, 512, 4)
    (_, whole), *_ = boxes(figure, "tile 0")
    ((_, tail),) = boxes(figure, "tail 226")
    assert tail / whole == pytest.approx(226 / 512, abs=0.001)
    cores = boxes(figure, "core ")
    assert len(cores) == 8 and all(wide == pytest.approx(728 / 8, abs=0.02) for _, wide in cores)


def test_tiling_flags_what_is_no_multiple_of_32():
    figure = figures.tiling_map(10000, 8, 512, 4)
    assert (
        "tail 226 = 904 B: 8 B more than a multiple of 32 B" in figure.desc
        and "6 of 8 cores start off a 32 B line" in figure.desc
    )
    clean = figures.tiling_map(8 * 1024, 8, 256, 4)
    assert "No tail." in clean.desc and "multiple" not in clean.desc and "!" not in all_text(clean)
    assert "A tile is 400 B, no multiple of 32 B." in figures.tiling_map(800, 8, 100, 4).desc


def test_tiling_finds_holes_and_doubles():
    assert "12 elements are covered twice" in MAKERS["tiling explicit"]().desc
    assert "100 elements belong to no core" in figures.tiling_map(300, 2, 100, 4, [(0, 100), (200, 100)]).desc


def test_tiling_uneven_rows():
    figure = figures.tiling_map(100003, 48, 1000, 2)
    assert "core 0–18: 2,084 elements" in figure.desc and "core 19–47: 2,083 elements" in figure.desc


@pytest.mark.parametrize(
    "wrong", [dict(n=-1), dict(blocks=0), dict(tile=0), dict(dtype_bytes=0), dict(split="odd"), dict(split=[(-1, 2)])]
)
def test_tiling_refuses(wrong):
    with pytest.raises(ValueError):
        figures.tiling_map(**{**dict(n=100, blocks=2, tile=32, dtype_bytes=4), **wrong})


@pytest.mark.parametrize(
    ("bad", "want"),
    [
        (period(10000, 16, 3), (16, (3,))),
        (period(10000, 8, 0), (8, (0,))),
        (period(4096, 2, 1), (2, (1,))),
        (np.ones(1000, bool), None),
        (np.zeros(1000, bool), None),
        (np.arange(1000) >= 900, None),
        (np.random.default_rng(1).random(5000) < 0.05, None),
        (period(64, 64, 5), None),
        ((np.arange(8192) % 64) >= 32, (64, tuple(range(32, 64)))),
    ],
)
def test_find_period(bad, want):
    found = figures.find_period(bad)
    assert (found and (found.period, found.offsets)) == want


def test_period_inside_one_core_only():
    bad = np.zeros(8192, bool)
    bad[4100:6000:16] = True
    found = figures.find_period(bad)
    assert (found.period, found.offsets) == (16, (4,))


def test_mismatch_places_and_shares():
    bad = np.zeros(48 * 2048 * 20, bool)
    bad[2048 * 20 * 5 + 2048 * 3 : 2048 * 20 * 5 + 2048 * 4] = True  # core 5, tile 3
    bad[-100:] = True
    figure = figures.mismatch_map(bad, 48, 2048)
    assert (
        "core 5: tile 3 100 %" in figure.desc
        and "core 47: tile 19 5 %" in figure.desc
        and "core 6–46: all right" in figure.desc
    )
    assert "element 210,944: core 5, tile 3" in figure.desc and "2 tiles of 2 cores" in figure.desc
    assert {"× 100 %", "× 5 %", "·"} <= set(all_text(figure))


def test_mismatch_counts():
    bad = np.random.default_rng(3).random(1000) < 0.2
    wrong, every = tile_counts(bad, figures.split_even(1000, 7), 32)
    assert wrong.sum() == bad.sum() and every.sum() == 1000 and (wrong <= every).all()
    figure = figures.mismatch_map(bad, 7, 32)
    assert figure.title == f"{int(bad.sum())} of 1,000 elements are wrong"


def test_mismatch_where_cores_have_nothing_and_elements_no_core():
    desc = figures.mismatch_map(np.arange(5) == 1, 8, 4).desc
    assert "core 1: tile 0 100 %" in desc and "core 2–4: all right" in desc and "core 5–7: no elements" in desc
    desc = figures.mismatch_map(np.arange(100) == 50, 1, 10, split=[(0, 20)]).desc
    assert "element 50, which no core has" in desc and "?" not in desc
    assert figures.mismatch_map([True], 1, 1, split=[]).desc.count("core") == 2, "no core, and nothing of one"


# ---------------------------------------------------------------- core, ladder


def test_core_shows_the_chips_numbers():
    figure = figures.core_on_one_page()
    assert {"192 KB", "512 KB", "64 KB", "128 KB"} <= set(all_text(figure)) and "24 AIC, 48 AIV" in figure.title
    assert {"MTE2", "V", "MTE3", "S", "MTE1", "M", "FIX", "GM", "L1", "L0A", "L0B", "L0C"} <= set(all_text(figure))


@pytest.mark.parametrize("pipe", ["MTE2", "V", "MTE3", "S", "MTE1", "M", "FIX"])
def test_active_pipe_is_told_in_words(pipe):
    figure = figures.core_on_one_page(pipe)
    assert f"now: {pipe}" in all_text(figure) and f"Active now: {pipe}" in figure.desc


def test_core_refuses():
    for wrong in (dict(active="MTE9"), dict(tile="L7"), dict(step=99)):
        with pytest.raises(ValueError):
            figures.core_on_one_page(**wrong)


@pytest.mark.parametrize("log", [False, True])
def test_ladder_bars(log):
    rows = STEPS[1:] if not log else STEPS
    figure = figures.ladder(rows, log=log)
    low, high = (100.0, 1239689.1) if log else (0.0, 6909.6)
    for row in rows:
        for kind in ("modelled", "measured"):
            if row.get(kind):
                ((x, wide),) = [b for b in boxes(figure, f"{row['name']}: {words.time_text(row[kind])} us {kind}")]
                want = np.log(row[kind] / low) / np.log(high / low) if log else row[kind] / high
                assert x == 214 and wide == pytest.approx(376 * want, abs=0.02)
    assert any("logarithmic" in t for t in all_text(figure)) == log
    assert "[1] asc-devkit 9.1" in figure.desc


def test_ladder_keeps_the_two_kinds_apart():
    figure = figures.ladder(STEPS, log=True)
    assert (
        "not modelled" in all_text(figure)
        and "no published measurement" in all_text(figure)
        and "−3 %" in all_text(figure)
    )
    fills = {
        kind: {
            e.get("fill")
            for e in root(figure).iter(SVG + "rect")
            if (e.findtext(SVG + "title") or "").endswith(f"us {kind}")
        }
        for kind in ("modelled", "measured")
    }
    assert all("diagonal" in f for f in fills["modelled"]) and fills["measured"] == {COLOURS["grey"]}


@pytest.mark.parametrize(
    "rows", [[], [dict(name="a")], [dict(name="a", modelled=0.0)], [dict(name="a", modelled=float("inf"))]]
)
def test_ladder_refuses(rows):
    with pytest.raises(ValueError):
        figures.ladder(rows)


# ---------------------------------------------------------------- widgets


def test_ruler_widget_follows_its_sliders():
    pytest.importorskip("ipywidgets")
    panel = figures.memory_ruler_widget()
    panel.controls["dtype"].value = "float"
    panel.controls["tile"].value = 100
    assert "400 B = 12.5 blocks of 32 B: not a multiple" in panel.picture.value and "<svg" in panel.picture.value
    panel.controls["depth"].value, panel.controls["queues"].value, panel.controls["tile"].value = 4, 6, 2048
    assert "20 buffers on one position: only 8 are allowed" in panel.picture.value and "too many" in panel.picture.value


def test_pipes_widget_walks():
    pytest.importorskip("ipywidgets")
    panel = figures.pipes_widget()
    seen = set()
    for step in range(8):
        panel.controls["step"].value = step
        assert f"Step {step} of 7." in panel.picture.value
        seen.add(panel.picture.value)
    assert len(seen) == 8


def test_widget_text_is_short_and_constant():
    pytest.importorskip("ipywidgets")
    for make in (figures.memory_ruler_widget, figures.pipes_widget):
        plain = make()._repr_mimebundle_()["text/plain"]
        assert plain == make()._repr_mimebundle_()["text/plain"] and len(plain) < 80 and "children" not in plain


@pytest.mark.parametrize("make", [figures.memory_ruler_widget, figures.pipes_widget])
def test_widgets_fall_back_to_figures(make, monkeypatch):
    monkeypatch.setattr(widgets, "_panel", lambda: None)
    figure = make()
    assert isinstance(figure, Figure) and "<svg" in figure.svg
    monkeypatch.undo()
    monkeypatch.setenv("LABKIT_PLAIN", "1")
    assert set(make()._repr_mimebundle_()) == {"text/plain"}


def test_ruler_state_numbers():
    figure, said = widgets.ruler_state(4096, "half", 2, 3)
    assert said == [
        "A tile of 4,096 half: 8,192 B = 256 blocks of 32 B: a multiple.",
        "6 buffers of 8,192 B = 49,152 B: 26 % of 184 KB usable.",
    ]
    assert "136 KB free" in figure.desc


def test_a_launch_on_an_npu_leaves_a_sentence_instead_of_a_figure():
    from types import SimpleNamespace

    from labkit import figures

    measured = SimpleNamespace(time_kind="measured", timeline=None, buffers=[], ub_size=0, time_us=3.0, kernel="k")
    for made in (
        figures.pipe_timeline(measured),
        figures.compare_timelines(measured, measured),
        figures.memory_ruler_from_record(measured),
    ):
        assert made.title == "SKIP" and "NPU" in made.desc and "<svg" in made.svg


# ---------------------------------------------------------------- curves


def test_curves_do_not_tell_the_last_bits_apart():
    first = figures.curves({"native": [4.2, 3.9], "by hand": [4.2, 3.8]})
    assert first.svg == figures.curves({"native": [4.2000001, 3.9], "by hand": [4.2, 3.8000002]}).svg
    assert "within 0.1 of" in first.desc and "by hand: 4.200, 3.800" in first.desc
    assert "within 0.001 of" in figures.curves({"a": [1.0], "b": [1.0]}).desc
    assert (
        "a: 2.7" in figures.curves({"a": [2.74]}, digits=1).desc.split("\n")
        and "within 0.1 of" in figures.curves({"a": [1.0], "b": [1.01]}, digits=1).desc
    )


@pytest.mark.parametrize(
    "series", [{}, {"a": []}, {"a": [1.0], "b": [1.0, 2.0]}, {"a": [float("nan")]}, {str(i): [1.0] for i in range(5)}]
)
def test_curves_that_cannot_be_drawn(series):
    with pytest.raises(ValueError, match="series of one length"):
        figures.curves(series)
