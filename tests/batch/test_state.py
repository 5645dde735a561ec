"""Killed at any moment, what is done is whole: every file operation of a result is cut short once."""

from __future__ import annotations

import os

import pytest

from labkit.batch import state


class Killed(BaseException):
    pass


def operations(monkeypatch, stop_at: int | None) -> list[str]:
    """Counts what changes the disk; the one numbered stop_at does not happen and nothing after it."""
    seen: list[str] = []

    def counted(name, real):
        def call(*arguments):
            if stop_at is not None and len(seen) >= stop_at:
                raise Killed
            seen.append(name)
            return real(*arguments)

        return call

    monkeypatch.setattr(state.os, "replace", counted("replace", os.replace))
    monkeypatch.setattr(state.os, "fsync", counted("fsync", os.fsync))
    return seen


RESULT = {"ok": True, "id": "n"}


def test_a_result_is_whole_or_absent_at_every_moment(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        steps = len(
            operations(patch, None) or state.State(tmp_path / "x").keep("n", "d", RESULT, "NB", "PAGE") or "x" * 6
        )
    assert steps == 6
    for stop in range(steps + 1):
        kept = state.State(tmp_path / str(stop))
        with monkeypatch.context() as patch:
            operations(patch, stop)
            try:
                kept.keep("n", "d", RESULT, "NB", "PAGE")
            except Killed:
                pass
        whole = stop == steps
        assert (kept.found("n", "d") == RESULT) is whole
        for file, text in (("n.ipynb", "NB"), ("n.html", "PAGE")):
            assert not (kept.out / file).exists() or (kept.out / file).read_text() == text
        with kept.alone():
            assert not list(kept.out.rglob("*.tmp")), "what was left is removed"
            kept.keep("n", "d", RESULT, "NB", "PAGE")
            assert kept.found("n", "d") == RESULT


def test_an_older_result_stays_until_the_newer_one_is_whole(tmp_path, monkeypatch):
    kept = state.State(tmp_path)
    kept.keep("n", "old", RESULT, "OLD", "")
    with monkeypatch.context() as patch, pytest.raises(Killed):
        operations(patch, 1)
        kept.keep("n", "new", RESULT, "NEW", "")
    assert kept.found("n", "old") == RESULT and (tmp_path / "n.ipynb").read_text() == "OLD"


@pytest.mark.parametrize("damage", ["", "{", '{"digest": "d"', "\0\0", "[]", '{"digest": "other", "result": {}}'])
def test_a_damaged_entry_is_no_result(tmp_path, damage):
    kept = state.State(tmp_path)
    kept.keep("n", "d", RESULT, "NB", "")
    (tmp_path / ".batch" / "n.json").write_text(damage)
    assert kept.found("n", "d") is None


def test_a_result_without_its_notebook_is_none(tmp_path):
    kept = state.State(tmp_path)
    kept.keep("n", "d", RESULT, "NB", "")
    (tmp_path / "n.ipynb").unlink()
    assert kept.found("n", "d") is None


def test_one_batch_in_a_folder(tmp_path):
    with state.State(tmp_path).alone(), pytest.raises(BlockingIOError, match="Another batch works in"):
        with state.State(tmp_path).alone():
            pass
    with state.State(tmp_path).alone():
        pass
