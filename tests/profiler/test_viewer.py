"""Traces for viewers: what Perfetto takes, and the page in the notebook."""

from __future__ import annotations

import gzip
import json
import re

import pytest
from profile_sessions import session

from labkit import profiler
from labkit.profiler import output_folder, viewer
from labkit.profiler.settings import Settings


@pytest.fixture
def folder(tmp_path):
    return output_folder.write(session(2), tmp_path / "x_ascend_pt", Settings(level="Level1"), 4242)


def test_perfetto_gets_small_numbers_from_zero(folder, tmp_path):
    path = profiler.viewer_json(folder, tmp_path / "view.json.gz")
    content = json.loads(gzip.decompress(path.read_bytes()))
    events = content["traceEvents"]
    timed = [e for e in events if e["ph"] != "M"]
    assert min(e["ts"] for e in timed) == 0 and all(isinstance(e["ts"], (int, float)) for e in timed)
    assert all(0 < e["pid"] < 100 and 0 < e["tid"] < 100 for e in events)
    ids = [e["id"] for e in events if "id" in e]
    assert ids and all(isinstance(i, int) and i < 2**31 for i in ids)
    original = viewer.read_events(folder)
    assert len(events) == len(original)
    assert [e["name"] for e in events if e["ph"] == "X"] == [e["name"] for e in original if e["ph"] == "X"]
    rows: dict = {}
    for e in timed:
        if e["ph"] == "X":
            rows.setdefault((e["pid"], e["tid"]), []).append(e)
    for those in rows.values():  # no time was lost: neighbours still do not overlap
        ends = [0.0]
        for e in sorted(those, key=lambda e: (e["ts"], -e["dur"])):
            while ends and ends[-1] <= e["ts"] + 1e-6:
                ends.pop()
            assert not ends or e["ts"] + e["dur"] <= ends[-1] + 1e-6
            ends.append(e["ts"] + e["dur"])


def test_the_page_is_whole_and_asks_for_nothing(folder):
    shown = profiler.show(folder)
    assert shown._repr_html_().startswith("<iframe") and "allow-scripts" in shown._repr_html_()
    assert not re.search(r"(src|href)\s*=|https?:|fetch\(|import\(|url\(", shown.html)
    data = json.loads(re.search(r'application/json">(.*?)</script>', shown.html, re.S)[1])
    bars = sum(len(row["bars"]) for row in data["rows"])
    assert bars == sum(e["ph"] == "X" for e in viewer.read_events(folder))
    assert any(row["name"] == "Ascend Hardware · Stream 0" for row in data["rows"])
    assert "@" not in re.sub(r'application/json">.*?</script>', "", shown.html, flags=re.S)


def test_a_name_cannot_end_the_page():
    made = session(2)
    made.ranges[0].name = "</script><b>"
    assert "</script><b>" not in profiler.show(made).html


def test_the_longest_slices_stay_in_a_long_trace(folder, monkeypatch):
    monkeypatch.setattr(viewer, "_MOST", 10)
    (data,), _, left_out = viewer.rows(viewer.read_events(folder))
    assert sum(len(row["bars"]) for row in data["rows"]) == 10 and left_out > 0


@pytest.mark.parametrize("content", ["", "{}", '{"a": 1}', "[1"])
def test_what_is_no_trace_is_named(tmp_path, content):
    path = tmp_path / "trace.json"
    path.write_text(content)
    with pytest.raises(ValueError, match="holds no trace"):
        profiler.show(path)
