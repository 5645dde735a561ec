"""Findings across ranks: one that the others wait for, and a link that is slower than its like.

A collective ends together, so the rank that stays in it longest has waited longest. The shortest stay of all ranks is
what the transfer takes; the rest of each is waiting for the last to come.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

import numpy as np
import polars as pl

from labkit.trace import idle, intervals, model
from labkit.trace.finding import FLOOR, Finding, time

# Pairs below this size are left out: a small packet takes the latency, not the bandwidth.
SMALL_MB = 1.0
# Half of what the other links of the same kind reach: two transports that share one link come to that.
SLOW_LINK = 0.5
# Of the longest stay in a collective: where nobody waits longer than this, all came together and nobody was late.
APART = 0.1


class Across:
    """What the ranks of one program have in common."""

    def __init__(self, traces: list[model.Trace], accounts: list[idle.Idle]):
        self.traces, self.accounts = traces, accounts
        self.common: list[tuple[str, list[float], list[float]]] = []  # (operator, its time on each rank, its starts)
        if len(traces) > 1 and not traces[0].separate:
            self._match()

    def _match(self) -> None:
        """The collectives that every rank has, by name; where names come again, in their order."""
        seen: list[dict[tuple[str, int], tuple[float, float]]] = []
        for trace in self.traces:
            count: dict[str, int] = defaultdict(int)
            mine = {}
            for name, start, dur in trace.comm.sort("start").select("name", "start", "dur").iter_rows():
                mine[name, count[name]] = (dur, start)
                count[name] += 1
            seen.append(mine)
        for key in seen[0]:
            if all(key in mine for mine in seen):
                self.common.append((key[0], [mine[key][0] for mine in seen], [mine[key][1] for mine in seen]))

    @cached_property
    def waits(self) -> np.ndarray:
        """[collective, rank]: µs of waiting for the others."""
        if not self.common:
            return np.zeros((0, len(self.traces)))
        table = np.array([durs for _, durs, _ in self.common])
        return table - table.min(axis=1, keepdims=True)

    @cached_property
    def exposed(self) -> np.ndarray:
        """The same, but for what is hidden behind computing: that costs nothing."""
        waits = self.waits.copy()
        for i, trace in enumerate(self.traces):
            if len(waits):
                starts = np.array([begins[i] for _, _, begins in self.common])
                waits[:, i] -= intervals.covered(starts, starts + waits[:, i], trace.busy())
        return waits

    def waiting_us(self, i: int) -> float:
        """µs of a rank's communication in which it only waited, and computed nothing."""
        return float(self.exposed[:, i].sum()) if len(self.exposed) else 0.0

    def find(self) -> list[Finding]:
        return [] if self.traces[0].separate else [*self._slow_rank(), *self._slow_links()]

    def _slow_rank(self):
        waits = self.waits
        if not len(waits):
            return
        last = waits.argmin(axis=1)
        stays = np.array([durs for _, durs, _ in self.common])
        last[waits.max(axis=1) <= APART * stays.max(axis=1)] = -1
        counts = np.bincount(last[last >= 0], minlength=len(self.traces))
        slow = int(waits.sum(axis=0).argmin())
        # what only the slow rank costs: waiting in collectives to which it came last
        mine = self.exposed[last == slow]
        others = [i for i in range(len(self.traces)) if i != slow]
        steps = self.traces[slow].step_count()
        step = self.accounts[slow].length / steps
        gain = float(mine[:, others].mean(axis=1).sum()) / steps if len(mine) else 0.0
        if step <= 0 or gain < FLOOR * step or counts[slow] * 2 <= counts.sum():
            return
        busy = [a.busy / t.step_count() for a, t in zip(self.accounts, self.traces)]
        causes = "host", "data", "synchronisation"
        host = [sum(map(a.total, causes)) / t.step_count() for a, t in zip(self.accounts, self.traces)]
        more_busy = busy[slow] - float(np.median([busy[i] for i in others]))
        more_host = host[slow] - float(np.median([host[i] for i in others]))
        rank = self.traces[slow].rank if self.traces[slow].rank is not None else slow
        order = np.argsort(-mine[:, others].mean(axis=1), kind="stable")[:3]
        chosen = [self.common[i] for i in np.flatnonzero(last == slow)[order]]
        yield Finding(
            "slow-rank",
            gain,
            gain / step,
            {
                "rank": rank, "ranks": len(self.traces), "last": int(counts[slow]), "all": len(waits),
                "busy": time(busy[slow]), "others": time(float(np.median([busy[i] for i in others]))),
                "cause": "computing" if more_busy >= more_host else "host", "step": time(step),
            },
            [{"name": name, "start": starts[slow], "dur": max(durs)} for name, durs, starts in chosen],
            rank,
        )  # fmt: skip

    def _slow_links(self):
        tables = [t.links for t in self.traces if t.links.height]
        if not tables:
            return
        links = pl.concat(tables).filter(
            (pl.col("transport") != "LOCAL") & (pl.col("source") != pl.col("target")) & (pl.col("mb") >= SMALL_MB)
            & (pl.col("bandwidth") > 0)
        )  # fmt: skip
        pairs = links.group_by("transport", "source", "target").agg(pl.col("mb").sum(), pl.col("ms").sum(), pl.len())
        pairs = pairs.with_columns((pl.col("mb") / pl.col("ms")).alias("rate"))  # GB/s: the files have 1 MB as 10^6 B
        for (transport,), group in pairs.sort("transport", "source", "target").group_by(
            "transport", maintain_order=True
        ):
            if group.height < 3:
                continue  # of two none can be called the odd one
            usual = float(group["rate"].median())
            slow = group.filter(pl.col("rate") < SLOW_LINK * usual).sort("rate")
            if not slow.height:
                continue
            worst = slow.row(0, named=True)
            steps = max(self.traces[0].step_count(), 1)
            step = self.accounts[0].length / steps
            gain = worst["ms"] * 1000 * (1 - worst["rate"] / usual) / steps
            if step <= 0 or gain < FLOOR * step:
                continue
            yield Finding(
                "slow-link",
                gain,
                gain / step,
                {
                    "source": worst["source"], "target": worst["target"], "transport": transport,
                    "rate": f"{worst['rate']:.1f} GB/s", "usual": f"{usual:.1f} GB/s", "count": slow.height,
                    "pairs": group.height,
                },
                [
                    {"name": f"{r['source']}-{r['target']}", "start": 0.0, "dur": r["ms"] * 1000, "rate": r["rate"]}
                    for r in slow.head(5).iter_rows(named=True)
                ],
                worst["source"],
            )  # fmt: skip
