"""Two recordings side by side: what changed by step, cause, operator type, kernel and shape, and whether it is noise.

A difference counts when a permutation test of the steps' means finds it rarer than LEVEL under the assumption that
nothing changed; over many kernels the rule of Benjamini and Hochberg applies. With so few steps that no arrangement is
that rare, the answer is that there are too few.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from html import escape
from itertools import combinations
from math import comb

import numpy as np
import polars as pl

from labkit.messages import aligned, text
from labkit.trace import find_steps, idle, model
from labkit.trace.finding import time
from labkit.trace.reporting import Page, _html_table, _page

LEVEL = 0.05
EXACT, DRAWS = 20_000, 9_999  # all arrangements up to so many, else so many by chance, always the same ones


def attainable(n: int, m: int) -> float:
    """The smallest p that a two-sided test of n against m values can give."""
    return min(1.0, 2.0 / comb(n + m, n)) if n and m else 1.0


@lru_cache(maxsize=8)
def _arrangements(n: int, m: int) -> np.ndarray:
    """[arrangement, value]: 1 where a value is dealt to the first side. All of them, or many, the same each time."""
    if comb(n + m, n) <= EXACT:
        rows = np.array(list(combinations(range(n + m), n)))
    else:
        rows = np.argsort(np.random.default_rng(0).random((DRAWS, n + m)), axis=1)[:, :n]
        rows = np.vstack((np.arange(n), rows))  # the one that was seen counts as one of them
    table = np.zeros((len(rows), n + m))
    np.put_along_axis(table, rows, 1.0, axis=1)
    return table


def p_value(a, b) -> float:
    """How often a difference of means as large as this one comes about when the values are dealt out at random."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    n, m = len(a), len(b)
    if not n or not m:
        return 1.0
    both = np.concatenate((a, b))
    first = _arrangements(n, m) @ both
    differences = np.abs(first / n - (both.sum() - first) / m)
    seen = abs(a.mean() - b.mean())
    return float(np.count_nonzero(differences >= seen - 1e-9 * max(seen, 1.0)) / len(differences))


def adjusted(values: list[float]) -> list[float]:
    """p-values of several tests, so that of what is called a change at most LEVEL is chance (Benjamini, Hochberg)."""
    order = np.argsort(values, kind="stable")[::-1]
    found, least = [1.0] * len(values), 1.0
    for i, at in enumerate(order):
        least = min(least, values[at] * len(values) / (len(values) - i))
        found[at] = least
    return found


def verdict(before: float, after: float, p: float, enough: bool) -> str:
    if not enough:
        return "few"
    if p > LEVEL:
        return "noise"
    return "faster" if after < before else "slower"


class Comparison(Page):
    """What `labkit trace compare A B` shows: rank 0 of each."""

    def __init__(self, before, after):
        self.before, self.after = before, after
        self.a: model.Trace = before.trace
        self.b: model.Trace = after.trace

    @cached_property
    def steps(self) -> dict:
        (_, a), (_, b) = find_steps.times(self.a), find_steps.times(self.b)
        enough = attainable(len(a), len(b)) <= LEVEL
        x = float(np.median(a)) if len(a) else self.a.step_us()
        y = float(np.median(b)) if len(b) else self.b.step_us()
        p = p_value(a, b) if enough else 1.0
        return {
            "before_us": x,
            "after_us": y,
            "before_steps": len(a),
            "after_steps": len(b),
            "p": p,
            "before_spread_us": float(a.max() - a.min()) if len(a) else 0.0,
            "after_spread_us": float(b.max() - b.min()) if len(b) else 0.0,
            "verdict": verdict(x, y, p, enough),
        }

    @cached_property
    def categories(self) -> list[dict]:
        """Computing and each cause of idle time, by step."""
        rows = []
        sides = [(t, idle.account(t), *self._spans(t)) for t in (self.a, self.b)]
        for name in ("computing", *idle.CAUSES):
            values = []
            for trace, account, starts, ends in sides:
                if name == "computing":
                    from labkit.trace.intervals import covered

                    values.append(covered(starts, ends, trace.busy()))
                else:
                    values.append(np.array([account.between(name, s, e) for s, e in zip(starts, ends)]))
            if any(v.sum() > 1e-3 for v in values):
                rows.append(self._row({"name": name}, *values, *(float(np.mean(v)) if len(v) else 0.0 for v in values)))
        return self._shared(rows)

    def _spans(self, trace: model.Trace) -> tuple[np.ndarray, np.ndarray]:
        _, ends = find_steps.ends(trace)
        if len(ends) >= 2:
            return ends[:-1], ends[1:]
        start, end = trace.window()
        return np.array([start]), np.array([end])

    def _row(self, row: dict, a, b, x: float, y: float) -> dict:
        enough = attainable(len(a), len(b)) <= LEVEL
        p = p_value(a, b) if enough else 1.0
        return row | {"before_us": x, "after_us": y, "delta_us": y - x, "p": p, "enough": enough}

    def _shared(self, rows: list[dict]) -> list[dict]:
        tested = [r for r in rows if r["enough"]]
        for row, p in zip(tested, adjusted([r["p"] for r in tested])):
            row["p"] = p
        for row in rows:
            row["verdict"] = verdict(row["before_us"], row["after_us"], row["p"], row.pop("enough"))
        return sorted(rows, key=lambda r: (-abs(r["delta_us"]), str(r)))

    def _groups(self, trace: model.Trace, keys: list[str]) -> dict[tuple, tuple[int, np.ndarray]]:
        """(kernels, µs of each step) by group; the steps are those of the step times, the first left out."""
        numbers = find_steps.times(trace)[0] if trace.kernels["step"].null_count() < trace.kernels.height else []
        table = trace.compute().with_columns(pl.col(k).fill_null("-") for k in keys)
        found = {}
        for key, part in table.partition_by(keys, as_dict=True).items():
            if numbers:
                sums = dict(part.group_by("step").agg(pl.col("dur").sum()).iter_rows())
                values = np.array([sums.get(n, 0.0) for n in numbers])
                found[key] = part.filter(pl.col("step").is_in(numbers)).height / len(numbers), values
            else:
                found[key] = part.height / trace.step_count(), np.array([part["dur"].sum() / trace.step_count()])
        return found

    @cached_property
    def types(self) -> list[dict]:
        return self._kernels(["type"])

    @cached_property
    def shapes(self) -> list[dict]:
        """By operator type and shape of the inputs."""
        return self._kernels(["type", "in_shapes", "in_types"])

    def _kernels(self, keys: list[str]) -> list[dict]:
        a, b = self._groups(self.a, keys), self._groups(self.b, keys)
        none = [np.zeros(max((len(v) for _, v in side.values()), default=1)) for side in (a, b)]
        rows = []
        for key in sorted({*a, *b}, key=str):
            (n, x), (m, y) = a.get(key, (0, none[0])), b.get(key, (0, none[1]))
            row = dict(zip(keys, key)) | {"before_count": n, "after_count": m}
            rows.append(self._row(row, x, y, float(x.mean()), float(y.mean())))
            if abs(n - m) > 0.01 * max(n, m):
                rows[-1]["count"] = True
        rows = self._shared(rows)
        for row in rows:  # more or fewer launches are no matter of chance
            if row.pop("count", False):
                row["verdict"] = "gone" if not row["after_count"] else "new" if not row["before_count"] else "count"
        return rows

    @cached_property
    def findings(self) -> dict:
        a = {f.code: f for f in self.before.findings()}
        b = {f.code: f for f in self.after.findings()}
        return {
            "gone": sorted(set(a) - set(b)),
            "new": sorted(set(b) - set(a)),
            "still": [
                {"code": c, "before_us": a[c].gain_us, "after_us": b[c].gain_us} for c in sorted(set(a) & set(b))
            ],
        }

    def json(self) -> dict:
        return {
            "before": str(self.before.path),
            "after": str(self.after.path),
            "times": [self.a.word, self.b.word],
            "steps": self.steps,
            "categories": self.categories,
            "types": self.types,
            "shapes": self.shapes,
            "findings": self.findings,
        }

    def said(self) -> list[str]:
        s = self.steps
        lines = [f"A {self.before.path}", f"B {self.after.path}"]
        if self.a.word != self.b.word:
            lines.append(
                text("trace.compare.mixed", a=text(f"trace.word.{self.a.word}"), b=text(f"trace.word.{self.b.word}"))
            )
        change = 100 * (s["after_us"] / s["before_us"] - 1) if s["before_us"] else 0.0
        lines.append(
            text(
                "trace.compare.step",
                before=time(s["before_us"]),
                after=time(s["after_us"]),
                change=f"{change:+.1f} %",
                verdict=self._word(s["verdict"]),
            )
        )
        key = "trace.compare.few_steps" if s["verdict"] == "few" else "trace.compare.spread"
        lines.append(
            text(
                key,
                n=s["before_steps"],
                m=s["after_steps"],
                p=f"{s['p']:.3f}",
                a=time(s["before_spread_us"]),
                b=time(s["after_spread_us"]),
            )
        )
        lines.append(text("trace.compare.word", word=text(f"trace.word.{self.b.word}")))
        return lines

    @staticmethod
    def _word(name: str) -> str:
        return text("trace.compare." + name)

    def _tables(self, most: int = 12) -> list[tuple[str, list[str], list[list[str]]]]:
        def row(r: dict, name: str) -> list[str]:
            return [
                name,
                time(r["before_us"]),
                time(r["after_us"]),
                f"{r['delta_us'] / 1000:+.3f} ms",
                self._word(r["verdict"]),
            ]

        heads = [text(f"trace.compare.head_{h}") for h in ("name", "a", "b", "delta", "verdict")]
        found = [
            (
                text("trace.compare.categories"),
                heads,
                [row(r, text("trace.cause." + r["name"])) for r in self.categories],
            )
        ]
        found.append((text("trace.compare.types"), heads, [row(r, r["type"]) for r in self.types[:most]]))
        shapes = [
            row(
                r, f"{r['type']} {r['in_shapes']} {r['in_types']} ({r['before_count']:.4g} -> {r['after_count']:.4g} x)"
            )
            for r in self.shapes[:most]
        ]
        found.append((text("trace.compare.shapes"), heads, shapes))
        return found

    def _changes(self) -> list[str]:
        def names(codes: list[str]) -> str:
            return ", ".join(codes) or "-"

        return [
            text("trace.compare.gone_findings", codes=names(self.findings["gone"])),
            text("trace.compare.new_findings", codes=names(self.findings["new"])),
            text("trace.compare.still_findings", codes=names([f["code"] for f in self.findings["still"]])),
        ]

    def text(self) -> str:
        lines = [*self.said(), "", *self._changes()]
        for title, heads, rows in self._tables():
            cut = [[c if len(c) <= 60 else c[:59] + "…" for c in row] for row in [heads, *rows]]
            lines += ["", title, *(f"  {line}" for line in aligned(cut))]
        return "\n".join(lines)

    __str__ = __repr__ = lambda self: self.text()

    def _body(self) -> str:
        parts = [f"<p>{'<br>'.join(map(escape, self.said()))}</p><p>{'<br>'.join(map(escape, self._changes()))}</p>"]
        for title, heads, rows in self._tables(40):
            parts.append(_html_table(title, heads, rows))
        return "\n".join(parts)

    def html(self) -> str:
        return _page(text("trace.compare.title"), self._body())
