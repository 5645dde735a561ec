"""Predictions of every kind of number; the verdicts on wrong ones are in test_exercise.py."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from places import FIXTURES

from labkit import messages
from labkit.exercises import predict


@pytest.fixture(autouse=True)
def room(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_KERNELS", str(FIXTURES / "kernels"))
    monkeypatch.setenv("LABKIT_PROGRESS", str(tmp_path / "progress.jsonl"))


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, "nan", "1e999", 10**400, -(10**5000), Decimal("NaN"), Decimal("sNaN"),
     Fraction(10**400)],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_a_prediction_without_an_end_is_refused(value, monkeypatch):
    for lang in messages.LANGUAGES:
        monkeypatch.setenv("LABKIT_LANG", lang)
        result = predict("fx_tiles", value)
        assert (result.state, result.diagnosis, len(result.lines)) == ("FAIL", "not-finite", 3)


def test_other_kinds_of_numbers_as_predictions():
    for one in (Decimal(16), Fraction(16), np.float32(16), "16"):
        assert predict("fx_tiles", one).passed, one
    assert predict("fx_tiles", Decimal("3.5")).diagnosis == "too-small"
    assert predict("fx_tiles", Fraction(7, 2)).diagnosis == "too-small"


def test_a_whole_number_names_a_choice(monkeypatch):
    monkeypatch.delenv("LABKIT_KERNELS")
    assert predict("rank_wait", 1).passed and predict("rank_wait", np.int64(1)).passed
    assert predict("rank_wait", 3).diagnosis != "type"
    for other in (True, 1.0, 7):
        assert predict("rank_wait", other).diagnosis == "type", other
