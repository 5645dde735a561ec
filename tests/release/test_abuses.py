"""Twelve of the 330 abuses of scripts/abuse_trial.py; the trial itself is a command, its table in data/."""

from __future__ import annotations

import csv
import random
from collections import Counter

import abuse_cases
import abuse_trial
from places import REPO


def test_the_rule_draws_every_family_alike():
    rows = abuse_cases.draw(1, 330)
    assert rows == abuse_cases.draw(1, 330) and rows != abuse_cases.draw(2, 330)
    counts = Counter(r["family"] for r in rows)
    assert set(counts) == {*abuse_cases.KERNELS, "source", "cache", "place"} and set(counts.values()) == {30}
    for family, bodies in abuse_cases.KERNELS.items():
        seen = {r["body"] for r in rows if r["family"] == family}
        assert len(seen) >= min(5, len(bodies)), family
    assert {r["place"] for r in rows if r["family"] in abuse_cases.KERNELS} == set(abuse_cases.PLACES)


def test_a_wrong_verdict_or_a_leftover_would_be_seen():
    row = {"family": "crash", "fatal": True, "got": "LaunchError", "healthy": "right", "left": ""}
    assert abuse_trial.judge(row) == "ok"
    for wrong in ({"got": "right"}, {"got": "wrong"}, {"got": "KeyError"}, {"got": "LaunchError without a word"},
                  {"healthy": "wrong"}, {"left": "1 processes"}):  # fmt: skip
        assert abuse_trial.judge(row | wrong) != "ok", wrong
    assert abuse_trial.judge(row | {"fatal": False, "got": "right"}) == "ok"
    assert abuse_trial.judge(row | {"fatal": False, "got": "wrong"}) != "ok"
    assert abuse_trial.judge({"family": "place", "got": "other: KeyError", "healthy": "right", "left": ""}) != "ok"


def test_some_of_them(tmp_path):
    """Kernels and sources in one process. Damaged caches and odd places build the lab anew: the trial alone has them."""
    rows = abuse_cases.draw(1, 330)
    rng = random.Random(len(rows))
    # those that take no seconds of waiting, so that the ten stay quick
    quick = [r for r in rows if r["family"] in ("crash", "fork", "thread", "descriptor", "memory", "source")
             and "while (true)" not in r.get("text", "")]  # fmt: skip
    drawn = rng.sample(quick, 10) + rng.sample([r for r in rows if r["family"] == "outside"], 2)
    done = abuse_trial.run(drawn, tmp_path)
    assert [r["number"] for r in done] == sorted(r["number"] for r in drawn)
    assert not [r for r in done if r["verdict"] != "ok"]


def test_the_table_is_the_rules():
    """Each row is the draw's; what is not in it has not been run (README says how many have)."""
    with open(REPO / "data" / "abuse_trial.csv", encoding="utf-8", newline="") as lines:
        table = list(csv.DictReader(lines))
    drawn = {str(r["number"]): (r["family"], str(r["body"]), r["place"]) for r in abuse_cases.draw(1, 330)}
    assert table and all(drawn[r["number"]] == (r["family"], r["body"], r["place"]) for r in table)
    assert all((r["verdict"] == "ok") == (abuse_trial.judge(typed(r)) == "ok") for r in table)


def typed(row: dict) -> dict:
    return row | {"fatal": row["fatal"] == "True"}
