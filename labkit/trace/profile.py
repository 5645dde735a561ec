"""The object that a reader of a trace holds: one rank or several, with report, findings and comparison."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import polars as pl

from labkit.trace.model import Trace


class Profile:
    """A recording. `traces`: one a rank; the tables of the first one are here as well: kernels, host, steps, ..."""

    def __init__(self, traces: list[Trace], path: Path):
        self.traces, self.path = traces, path

    @property
    def trace(self) -> Trace:
        return self.traces[0]

    @property
    def kernels(self) -> pl.DataFrame:
        return self.trace.kernels

    @property
    def host(self) -> pl.DataFrame:
        return self.trace.host

    @property
    def steps(self) -> pl.DataFrame:
        return self.trace.steps

    @cached_property
    def _findings(self) -> list:
        from labkit.trace import finders

        return finders.find(self.traces, self.accounts)

    @cached_property
    def accounts(self) -> list:
        """Of each rank the gaps of the device and their causes: labkit.trace.idle.Idle."""
        from labkit.trace import idle

        return [idle.account(trace) for trace in self.traces]

    def findings(self) -> list:
        """What is wrong, the most rewarding first."""
        return list(self._findings)

    def report(self):
        from labkit.trace.reporting import Report

        return Report(self)

    def compare(self, other: "Profile"):
        """What changed from this one to `other`."""
        from labkit.trace.comparison import Comparison

        return Comparison(self, other)

    def __repr__(self) -> str:
        return self.report().text()

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()
