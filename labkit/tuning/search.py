"""labkit.fusion.tune: the fastest candidate of a problem, within a budget of launches, kept in an Optuna study.

Three sources propose candidates in turn: the predictor's order (where the problem has a predictor), the neighbours of
the best one so far, and an Optuna sampler. What cannot be built or is hopeless by the predictor is pruned and costs
nothing of the budget. Every proposal is a trial of one Optuna study, so that a study in a file can be gone on with and
drawn with Optuna's own pictures. What is proposed next depends on the trials alone, not on when the program was
started: a study that was interrupted goes on as if it had not been.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from labkit import messages
from labkit.tuning.problem import Invalid, Point, Problem, is_ordered

BUDGET = 0.15  # of the candidates, where nothing is said
SAMPLERS = ("tpe", "random", "nsga2", "gp")
TRUSTED_FROM = 4  # evaluations after which the predictor's errors are known well enough to prune by them
MARGIN = 1.25  # by which the predictor may be off further than it ever was
MOST_REPEATS = 3  # proposals of a sampler in a row that are known already, before any unknown candidate is taken


@dataclass(eq=False)
class Tuned:
    """best: the fastest candidate; us: its time; kind: "modelled" or "measured"; start_us: of the candidate that would
    be taken without tuning (None: not known). evaluations: launches that were timed, in all sessions; pruned: proposals
    that were not (some are no candidates), with the reason; history: (candidate, us) in the order of the evaluations;
    study: Optuna's."""

    problem: Problem
    study: object = field(repr=False)
    best: Point
    us: float
    history: list[tuple[Point, float]] = field(repr=False)
    pruned: list[tuple[Point, str]] = field(repr=False)
    budget: int
    evaluations: int

    @property
    def start_us(self) -> float | None:
        start = self.problem.start
        return next((us for point, us in self.history if point == start), None) if start else None

    @property
    def kind(self) -> str:
        return self.problem.time_kind

    @property
    def made(self):
        """What the best candidate is: the kernel, cut so; of fusion sets the chain of kernels. None: the problem does
        not say."""
        return self.problem.apply(self.best) if self.problem.apply else None

    def curve(self) -> list[float]:
        """The best time after each evaluation."""
        made, best = [], math.inf
        for _, us in self.history:
            best = min(best, us)
            made.append(best)
        return made

    def table(self):
        """A pandas frame, a row for each trial: what was timed and what was pruned."""
        import pandas

        rows = [{**point, "us": us, "why": ""} for point, us in self.history]
        rows += [{**point, "us": math.nan, "why": why} for point, why in self.pruned]
        frame = pandas.DataFrame(rows)
        frame.attrs["time_kind"] = self.kind
        return frame

    def __repr__(self) -> str:
        return messages.text(
            "tuning.result",
            name=self.problem.name,
            best=", ".join(f"{k}={v}" for k, v in self.best.items()),
            us=f"{self.us:.2f}",
            kind=messages.text(f"bench.{self.kind}"),
            start="-" if self.start_us is None else f"{self.start_us:.2f}",
            evaluations=self.evaluations,
            candidates=len(self.problem.candidates()),
            pruned=len(self.pruned),
        )


def tune(
    what,
    tensors: Sequence = (),
    *,
    budget: int | float = BUDGET,
    seed: int = 0,
    sampler: str = "tpe",
    prune: bool = True,
    guided: bool = True,
    storage: str | Path | None = None,
) -> Tuned:
    """The fastest candidate: on the twin by the modelled clock, on an NPU measured.

    what: a kernel of labkit.fusion.kernel, or a function (then `tensors` are its examples), or a Problem: of
    labkit.tuning.generated, sets or written, or one's own. A generated kernel is afterwards cut as the best candidate.
    budget: evaluations in all sessions of the study together, or their share of the possible candidates. prune:
    leave out what the predictor says is hopeless (what cannot be built is always left out). guided: also propose by the
    predictor and by neighbours; without it the sampler alone. storage: a file for the study, made where it is not
    there; another problem's study in it is refused.
    Raises ValueError for a wrong argument, or where no candidate is possible."""
    problem = problem_of(what, tensors)
    run = _Run(problem, seed, sampler, prune, guided, storage)
    return run.go(evaluations(problem, budget))


def problem_of(what, tensors: Sequence = ()) -> Problem:
    """The problem that `tune` takes those for."""
    if isinstance(what, Problem):
        return what
    from labkit.fusion.fused import FusedKernel, kernel
    from labkit.tuning.cuts import generated

    if isinstance(what, FusedKernel):
        return generated(what, *tensors)
    if not callable(what) or not tensors:
        raise ValueError(messages.text("tuning.inputs", kind=type(what).__name__))
    return generated(kernel(what, tensors, checks=False))


def evaluations(problem: Problem, budget: int | float) -> int:
    """A budget as a number of launches, at least one. A whole number counts launches, a float below or equal to 1 is a
    share of the candidates, rounded down."""
    if isinstance(budget, bool) or not isinstance(budget, (int, float)) or not budget > 0:
        raise ValueError(messages.text("tuning.budget", budget=budget))
    if isinstance(budget, float):
        if budget > 1:
            raise ValueError(messages.text("tuning.budget", budget=budget))
        return max(1, int(budget * len(problem.candidates()) + 1e-9))
    return budget


class _Run:
    def __init__(self, problem, seed, sampler, prune, guided, storage):
        if sampler not in SAMPLERS:
            raise ValueError(messages.text("tuning.sampler", sampler=sampler, samplers=", ".join(SAMPLERS)))
        self.problem, self.seed, self.sampler = problem, seed, sampler
        self.prune, self.guided = prune, guided
        self.candidates = problem.candidates()
        if not self.candidates:
            first = next(problem.points())
            raise ValueError(messages.text("tuning.none", name=problem.name, why=problem.refuse(first)))
        self.study = study_of(problem, storage)
        self.times: dict[tuple, float] = {}  # what was timed
        self.best, self.too_high = math.inf, 1.0  # the least time; the most of predicted / timed
        self.failed: dict[tuple, str] = {}  # what could not be built or launched although it looked possible
        self.order: list[tuple[tuple, float]] = []
        self.left_out: dict[tuple, str] = {}
        self.predicted: dict[tuple, float] = {}
        self._remember()
        self.open = [problem.key(p) for p in self.candidates]
        self.ranked = self._ranked()

    # ---- what earlier sessions know

    def _remember(self) -> None:
        for trial in self.study.get_trials(deepcopy=False):
            kind, key = trial.user_attrs.get("kind"), self._key_of(trial)
            if kind == "timed":
                self._note(key, trial.value)
            elif kind == "failed":
                self.failed[key] = trial.user_attrs["why"]
            elif kind == "pruned":
                self.left_out[key] = trial.user_attrs["why"]

    def _key_of(self, trial) -> tuple:
        return tuple(
            values[trial.params[name]] if is_ordered(values) else trial.params[name]
            for name, values in self.problem.parameters.items()
        )

    def _note(self, key: tuple, us: float) -> None:
        self.times[key] = us
        self.order.append((key, us))
        self.best = min(us, self.best)
        if self.problem.predict is not None:
            self.too_high = max(self.too_high, self._prediction(key) / us)

    @property
    def spent(self) -> int:
        return len(self.times) + len(self.failed)

    def known(self, key: tuple) -> bool:
        return key in self.times or key in self.failed

    # ---- the loop

    def go(self, budget: int) -> Tuned:
        while self.spent < budget and not self._all_known():
            self._turn()
        if not self.times:
            raise ValueError(
                messages.text("tuning.none", name=self.problem.name, why=next(iter(self.failed.values()), "-"))
            )
        key, us = min(self.order, key=lambda pair: pair[1])
        point = self.problem.point
        tuned = Tuned(
            self.problem,
            self.study,
            point(key),
            us,
            [(point(k), us) for k, us in self.order],
            [(point(k), why) for k, why in {**self.left_out, **self.failed}.items() if k not in self.times],
            budget,
            self.spent,
        )
        if self.problem.apply is not None:  # trying candidates has left the kernel as the last one
            self.problem.apply(self.problem.point(key))
        return tuned

    def _all_known(self) -> bool:
        """Whether nothing is left that is worth an evaluation."""
        return self._any_unknown() is None

    def _any_unknown(self) -> tuple | None:
        """The first candidate that is worth an evaluation."""
        self.open = [k for k in self.open if not self.known(k)]
        return next((k for k in self.open if self._hopeless(k) is None), None)

    def _turn(self) -> None:
        """One proposal that is timed, or a candidate of the sampler's that is pruned."""
        turn = self.spent
        point = self._start() or (self._proposed(turn) if self.guided else None)
        if point is None:
            return self._sampled()
        self._propose(point)

    def _propose(self, point: Point) -> None:
        self.study.enqueue_trial(
            {n: v.index(point[n]) if is_ordered(v) else point[n] for n, v in self.problem.parameters.items()}
        )
        self._judge(self._ask("random"))  # its values are given: no sampler needs to work

    def _start(self) -> Point | None:
        start = self.problem.start
        if not self.guided or start is None or self.known(self.problem.key(start)):
            return None
        return start if self.problem.refuse(start) is None else None

    def _proposed(self, turn: int) -> Point | None:
        """By the predictor's order and by the neighbours of the best, one in three each; the third is the sampler's."""
        kinds = (self._by_prediction, self._by_neighbours)
        return kinds[turn % 3]() if turn % 3 < 2 else None

    def _by_prediction(self) -> Point | None:
        self.ranked = [pair for pair in self.ranked if not self.known(pair[0])]
        return next((p for k, p in self.ranked if self._hopeless(k) is None), None)

    def _by_neighbours(self) -> Point | None:
        """Of the best candidate, or of the next best one where all of those are known."""
        for key, _ in sorted(self.times.items(), key=lambda pair: pair[1])[:3]:
            near = self.problem.neighbours(self.problem.point(key))
            near = [p for p in near if not self.known(k := self.problem.key(p)) and self._hopeless(k) is None]
            if near and self.problem.predict is not None:
                return min(near, key=lambda p: self._prediction(self.problem.key(p)))
            if near:
                return random.Random(f"{self.seed}/{self.spent}").choice(near)
        return None

    def _sampled(self) -> None:
        for _ in range(MOST_REPEATS):
            trial = self._ask(self.sampler)
            key = self._key_of(trial)
            if self.known(key):
                self._tell(trial, "again", state="FAIL")
            elif self._judge(trial):
                return
        unknown = [self.problem.point(k) for k in self.open if not self.known(k) and self._hopeless(k) is None]
        if unknown:
            self._propose(random.Random(f"{self.seed}/any/{self.spent}").choice(unknown))

    # ---- a trial

    def _ask(self, sampler: str):
        number = len(self.study.get_trials(deepcopy=False))
        self.study.sampler = sampler_of(sampler, self.seed, number)
        return self.study.ask({n: distribution(v) for n, v in self.problem.parameters.items()})

    def _judge(self, trial) -> bool:
        """Times a trial or prunes it. Whether it was timed, or failed."""
        key = self._key_of(trial)
        point = self.problem.point(key)
        why = self.problem.refuse(point) or self._hopeless(key)
        if why is not None:
            self.left_out[key] = why
            self._tell(trial, "pruned", why=why, state="PRUNED")
            return False
        try:
            us = self.problem.run(point)
        except Invalid as e:
            self.failed[key] = str(e)
            self._tell(trial, "failed", why=str(e), state="PRUNED")
            return True
        self._note(key, us)
        self._tell(trial, "timed", us=us)
        return True

    def _tell(self, trial, kind: str, *, us: float | None = None, why: str = "", state: str = "COMPLETE") -> None:
        import optuna

        trial.set_user_attr("kind", kind)
        if why:
            trial.set_user_attr("why", why)
        self.study.tell(trial, us, state=getattr(optuna.trial.TrialState, state), skip_if_finished=False)

    # ---- the predictor

    def _prediction(self, key: tuple) -> float:
        if key not in self.predicted:
            self.predicted[key] = self.problem.predict(self.problem.point(key))
        return self.predicted[key]

    def _ranked(self) -> list[tuple[tuple, Point]]:
        if self.problem.predict is None or not self.guided:
            return []
        keys = [(self.problem.key(p), p) for p in self.candidates]
        return sorted(keys, key=lambda pair: self._prediction(pair[0]))

    def _hopeless(self, key: tuple) -> str | None:
        """Why it cannot be the best: its prediction, less the most that the predictor was ever too high and a margin,
        is above the best time so far."""
        if not self.prune or self.problem.predict is None or len(self.times) < TRUSTED_FROM or key in self.times:
            return None
        bound = self._prediction(key) / (self.too_high * MARGIN)
        if bound <= self.best:
            return None
        return messages.text("tuning.hopeless", bound=f"{bound:.2f}", best=f"{self.best:.2f}")


# ---- Optuna


def study_of(problem: Problem, storage: str | Path | None):
    """A new study, or the one that the file has under the problem's name. Raises ValueError for another problem's."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    url = None
    if storage is not None:
        url = str(storage) if "://" in str(storage) else f"sqlite:///{Path(storage).absolute()}"
    study = optuna.create_study(study_name=problem.name, storage=url, direction="minimize", load_if_exists=True)
    was = study.user_attrs.get("problem")
    if was is None:
        study.set_user_attr("problem", problem.fingerprint)
        study.set_user_attr("time_kind", problem.time_kind)
    elif was != problem.fingerprint:
        raise ValueError(messages.text("tuning.other_study", name=problem.name, storage=storage))
    return study


def sampler_of(name: str, seed: int, number: int):
    """Optuna's sampler for the trial of that number."""
    import optuna

    own = random.Random(f"{seed}/{number}").getrandbits(31)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what Optuna calls experimental
        if name == "random":
            return optuna.samplers.RandomSampler(seed=own)
        if name == "nsga2":
            return optuna.samplers.NSGAIISampler(population_size=10, seed=own)
        if name == "gp":
            return optuna.samplers.GPSampler(seed=own, deterministic_objective=True)
        return optuna.samplers.TPESampler(n_startup_trials=8, multivariate=True, seed=own)


def distribution(values: tuple):
    """Of numbers that rise their places in the list, so that a sampler knows which lie beside each other."""
    import optuna

    if is_ordered(values):
        return optuna.distributions.IntDistribution(0, len(values) - 1)
    return optuna.distributions.CategoricalDistribution(values)
