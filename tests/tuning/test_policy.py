"""labkit.tuning.Policy: learns, counts what it launches, looks at nothing else; and its rows of data/tuning.csv."""

from __future__ import annotations

import csv
import importlib.util
import math
import random
import statistics
import sys
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from labkit import tuning  # noqa: E402
from labkit.exercises.spec import load  # noqa: E402
from labkit.paths import data_dir, repo_root  # noqa: E402
from labkit.tuning import Policy, Problem, Table, policy  # noqa: E402
from labkit.tuning.policy import Lesson, places  # noqa: E402


def table(best: int, failing=()) -> Table:
    """64 candidates in a row; each step from the best one costs a tenth."""
    problem = Problem("row", {"i": tuple(range(64))}, lambda p: 1.0)
    times = {(i,): 1 + abs(i - best) / 10 for i in range(64) if i not in failing}
    return Table(problem, times, {}, {(i,): "does not compile" for i in failing})


def lesson(best: int, failing=()) -> Lesson:
    """Its features say how far a candidate is from the best one, as a graph's size may."""
    made = tuning.lesson(table(best, failing))
    return replace(made, features=[[abs(k[0] - best) / 64, k[0] / 64] for k in made.keys])


def wrongs(make) -> set[str]:
    """What a policy does wrong."""
    found = set()
    taught = [make(seed) for seed in range(3)]
    for one in taught:
        one.learn([lesson(b) for b in (5, 20, 50)], rounds=40)
    if not all(one.best(lesson(33), 3) <= 1.2 for one in taught):
        found.add("does not learn")
    if any(one.spent != len(one.seen) or one.spent > 3 * 64 for one in taught):
        found.add("counts wrongly")
    return found


def test_it_learns():
    assert wrongs(Policy) == set()


def test_alone_it_finds_more_than_chance():
    alone = [min(Policy(seed).search(tuning.lesson(table(40)), 20)) for seed in range(10)]
    chance = [min(random.Random(seed).sample(list(table(40).times.values()), 20)) for seed in range(10)]
    assert statistics.fmean(alone) < statistics.fmean(chance)


class Backwards(Policy):
    """Makes likelier what was slow."""

    def learn(self, lessons, *how, **more):
        turned = [
            replace(x, table=replace(x.table, times={k: 8 / us for k, us in x.table.times.items()})) for x in lessons
        ]
        return super().learn(turned, *how, **more)


class Forgets(Policy):
    """Begins anew with each round."""

    def learn(self, lessons, rounds=200, draws=8):
        for _ in range(0, rounds, 10):
            self.net = None
            super().learn(lessons, 1, draws)


class Free(Policy):
    """What it draws costs nothing."""

    spent = 0


@pytest.mark.parametrize("wrong", [Backwards, Forgets, Free])
def test_a_wrong_one_is_told(wrong):
    made = wrong(0)
    if wrong is Free:
        made.learn([lesson(5)], rounds=2)
        assert made.spent != len(made.seen)
    else:
        assert "does not learn" in wrongs(wrong)


def test_it_looks_at_nothing_that_it_did_not_launch():
    first, one = Policy(1), tuning.lesson(table(40))
    times = first.search(one, 15)
    drawn = {i for _, i in first.seen}
    hidden = {k: us if k[0] in drawn else 1e-3 for k, us in one.table.times.items()}
    again = Policy(1)
    assert again.search(replace(one, table=replace(one.table, times=hidden)), 15) == times
    assert again.seen == first.seen and first.spent >= 15 == len(times)


def test_what_cannot_be_launched_costs_and_counts_as_the_worst():
    one = tuning.lesson(table(40, failing=range(0, 64, 2)))
    made = Policy(0)
    times = made.search(one, 20)
    assert math.inf in times and min(times) < 2 and len(one.keys) == 64


def test_features_of_a_problem_that_says_none():
    problem = Problem("p", {"tile": (8, 16, 64), "how": ("a", "b"), "one": (3,)}, lambda p: 1.0)
    assert places(problem, {"tile": 16, "how": "b", "one": 3}) == [0.5, 0.0, 1.0, 0.0]


def test_untaught_or_of_other_features_it_is_refused():
    with pytest.raises(ValueError, match="learn"):
        Policy().order(lesson(3))
    made = Policy()
    made.learn([lesson(3)], rounds=1)
    with pytest.raises(ValueError, match="features"):
        made.order(tuning.lesson(table(3)))
    assert policy.WORST > 0


# ---- data/tuning.csv


def rows() -> list[dict]:
    return list(csv.DictReader((data_dir() / "tuning.csv").open(encoding="utf-8")))


def needed(method: str) -> float:
    """Launches until 1.05 of the optimum, in the mean of the generator's problems; one more than the budget where it is
    not reached."""
    found = [r for r in rows() if r["method"] == method and r["kind"].startswith("generated")]
    assert len(found) == 8
    return statistics.fmean(int(r["evaluations_to_near"] or int(r["budget"]) + 1) for r in found)


def test_the_exercise_asks_with_the_numbers_of_the_table():
    given = load("tune_when").given
    learnt = [r for r in rows() if r["method"] == "REINFORCE learnt, long"]
    assert given["spent"] == round(statistics.fmean(int(r["learning"]) for r in learnt))
    assert given["policy"] == round(needed("REINFORCE learnt, long"))
    assert given["search"] == round(needed("Optuna TPE"))


def test_every_problem_has_its_rows():
    problems = {r["problem"] for r in rows()}
    assert len(problems) == 13 == sum(r["method"] == "REINFORCE" for r in rows())
    assert all(int(r["learning"]) > 0 for r in rows() if "learnt" in r["method"])


@pytest.fixture
def trial(monkeypatch):
    monkeypatch.syspath_prepend(repo_root() / "scripts")
    spec = importlib.util.spec_from_file_location("tuning_trial", repo_root() / "scripts" / "tuning_trial.py")
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


def test_a_problem_timed_anew_gives_its_rows_again(trial):
    kind, make = trial.problems()["swiglu"]
    timed = Table.of(make())
    budget = trial.evaluations(timed.replay(), trial.BUDGET)
    for method, search in {
        "labkit tune": trial.tuned(),
        "REINFORCE": trial.by_policy,
        "random": trial.by_chance,
    }.items():
        seeds = trial.CHANCES if method == "random" else trial.SEEDS
        made = trial.row("swiglu", kind, timed, method, [search(timed, budget, s) for s in range(seeds)], budget)
        (kept,) = [r for r in rows() if (r["problem"], r["method"]) == ("swiglu", method)]
        assert {k: str(v) for k, v in made.items()} == kept
