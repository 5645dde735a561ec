"""The board: states from the log, as a widget, as HTML and as text."""

from __future__ import annotations

import re

import pytest

import labkit
from labkit.book import board as room
from labkit.book.board import snapshot
from labkit.exercises import progress_log


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_PROGRESS", str(tmp_path / "log.jsonl"))
    progress_log.record("check", "look_result_pipe", state="PASS")
    progress_log.record("check", "look_largest_tile", state="FAIL")
    progress_log.record("check", "look_largest_tile", state="FAIL")
    progress_log.record("check", "look_repair", state="TODO")


def test_states_and_what_comes_next(log):
    shown = snapshot()
    first = shown.chapters()[0]
    assert first.number == "00.01" and shown.counts(first) == {"passed": 1, "tried": 1, "open": 1}
    assert "look_largest_tile" in shown.next() and "00.01" in shown.next(), "as labkit next"
    assert sum(sum(shown.counts(c).values()) for c in shown.chapters()) == sum(
        len(c.exercises) for c in shown.chapters()
    )


def test_minutes_come_from_the_log(tmp_path, monkeypatch):
    path = tmp_path / "log.jsonl"
    path.write_text(
        '{"time": 0, "event": "check", "id": "look_repair", "state": "FAIL"}\n'
        '{"time": 600, "event": "check", "id": "look_repair", "state": "PASS"}\n'
    )
    monkeypatch.setenv("LABKIT_PROGRESS", str(path))
    shown = snapshot("00")
    assert shown.spent(shown.chapters()[0]) == 10.0 and "10 of 25 min" in repr(shown)


def test_the_table_says_in_words_what_the_signs_mean(log):
    table = snapshot("00").html()
    assert table.count("<span title=") == sum(len(c.exercises) for c in snapshot("00").chapters())
    assert re.search(r"title='look_result_pipe: [^']*, passed'[^>]*>✓<", table)
    assert re.search(r"title='look_repair: [^']*, open'[^>]*>○<", table) and "✓ passed, ◐ tried, ○ open" in table


def test_the_widget_reads_the_log_again(log):
    pytest.importorskip("ipywidgets")
    panel = labkit.board()
    assert "1 passed, 1 tried" in panel.picture.value and repr(panel).startswith("1 passed")
    progress_log.record("check", "look_repair", state="PASS")
    panel.again.click()
    assert "2 passed, 1 tried" in panel.picture.value
    panel.choice.value = "00"
    assert "01.01" not in panel.picture.value and "00.01" in panel.picture.value


def test_without_widgets_it_is_a_table(log, monkeypatch):
    monkeypatch.setattr(room, "_panel", lambda: None)
    bundle = labkit.board("00")._repr_mimebundle_()
    assert bundle["text/html"].startswith("<p>") and "00.01" in bundle["text/plain"]
    monkeypatch.setenv("LABKIT_PLAIN", "1")
    assert list(labkit.board("00")._repr_mimebundle_()) == ["text/plain"]


def test_in_chinese(log, monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", "zh")
    assert "已通过 1，试过 1" in snapshot().html() and "下一个" in repr(snapshot())


def test_all_done_and_no_such_stage(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_PROGRESS", str(tmp_path / "log.jsonl"))
    for name in snapshot().rows:
        progress_log.record("check", name, state="PASS")
    assert labkit.messages.text("exercise.all-done") == snapshot().next() and "0 tried, 0 open" in repr(snapshot())
    with pytest.raises(ValueError, match="no stage 77"):
        labkit.board("77")
