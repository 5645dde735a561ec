"""Recordings made by hand, for the writers of the profiler: a plausible one, and random ones."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from pathlib import Path

from labkit.profiler.events import Allocation, Call, HostRange, Session, Step, Task, TensorFacts

DISPATCH = 6000.0


class Maker:
    """A program of steps as the virtual clock would run it: each operator costs the host a dispatch, then its kernel
    follows on its stream; times have fractions of a nanosecond, as the clock's have."""

    def __init__(self, seed: int, steps: int = 3, streams: int = 2, collectives: bool = True, marks: bool = True):
        self.draw = random.Random(seed)
        self.session = Session(begin=1000.0)
        self.host = 1234.5678
        self.busy: dict[tuple, float] = defaultdict(float)
        self.streams, self.collectives = streams, collectives
        for number in range(steps):
            self.step(number + 4)
        self.session.end = max([self.host] + [t.end for t in self.session.tasks])
        self.session.threads = 2

    def step(self, number: int) -> None:
        s, begin = self.session, self.host
        at = len(s.ranges)
        s.ranges.append(HostRange(f"ProfilerStep#{number}", "step", 0, begin, begin))
        for i in range(self.draw.randint(1, 12)):
            self.operator(at, number * 100 + i)
        if self.draw.random() < 0.7:
            self.call("aclrtSynchronizeStream", at, max(t.end for t in s.tasks))
        self.host += self.draw.choice([0.0, 500.25, 20000.0])
        s.ranges[at].end = self.host
        s.steps.append(Step(number, begin, self.host))

    def call(self, name: str, within: int, until: float) -> None:
        begin = self.host
        self.host = max(self.host + 300.1, until)
        self.session.calls.append(Call(name, 0, begin, self.host, max(0.0, until - begin - 300.1), range=within))

    def operator(self, parent: int, sequence: int) -> None:
        s, draw = self.session, self.draw
        kind = draw.choice(["kernel"] * 6 + ["copy_in", "copy_out", "event_record"] + ["collective"] * self.collectives)
        names = {"kernel": draw.choice(["aten::add", "aten::mm", "aten::copy_", "aten::softplus_"]),
                 "collective": "c10d::allreduce_", "event_record": "event"}  # fmt: skip
        name = names.get(kind, "aten::copy_")
        facts = TensorFacts((draw.randint(1, 9), 64), draw.choice(["float16", "bfloat16", "float32"]))
        begin = self.host
        at = len(s.ranges)
        s.ranges.append(HostRange(name, "op", 0, begin, begin, parent, sequence, inputs=[facts, "Scalar", [facts]],
                                  stack=("model.py(12): forward", "train.py(3): <module>")))  # fmt: skip
        self.host += DISPATCH
        stream = 7 if kind == "collective" else draw.randrange(self.streams)
        engine = {"kernel": "cube" if name == "aten::mm" else "vector", "collective": "link",
                  "event_record": "vector"}.get(kind, kind)  # fmt: skip
        starts = max(self.host, self.busy[engine], self.busy["stream", stream])
        ns = 0.0 if kind == "event_record" else draw.choice([0.4, 1591.2227, 2731.29, 40000.125])
        self.busy[engine] = self.busy["stream", stream] = starts + ns
        s.tasks.append(Task(name, kind, engine, 0, stream, self.host, starts, starts + ns, 4096.0, range=at, blocks=8,
                            inputs=[facts], outputs=[facts], ranks=4 if kind == "collective" else 0))  # fmt: skip
        s.calls.append(Call("launch", 0, begin + 1, self.host, range=at, task=len(s.tasks) - 1))
        s.allocations.append(Allocation(4096 * len(s.tasks), 2048, 0, stream, self.host, 10000, 2**21, at,
                                        self.host + 9000.5, 8000, 2**21))  # fmt: skip
        s.ranges[at].end = self.host + 1


def session(seed: int = 1, **how) -> Session:
    return Maker(seed, **how).session


def trace(folder: Path) -> list[dict]:
    return json.loads((folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text(encoding="utf-8"))


def ns(text: str) -> int:
    """Of a ts with three decimals, or with a tab behind it."""
    whole, _, rest = text.strip().partition(".")
    assert len(rest) == 3, text
    return int(whole + rest)


def processes(events: list[dict]) -> dict[int, str]:
    return {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}


def partial_overlaps(events: list[dict]) -> list[tuple]:
    """Slices of one row of which one begins inside another and ends behind it."""
    rows = defaultdict(list)
    for e in events:
        if e["ph"] == "X":
            begin = ns(e["ts"])
            rows[e["pid"], e["tid"]].append((begin, begin + round(e["dur"] * 1000), e["name"]))
    found = []
    for row, slices in rows.items():
        stack: list[tuple] = []
        for one in sorted(slices, key=lambda s: (s[0], -s[1])):
            while stack and stack[-1][1] <= one[0]:
                stack.pop()
            if stack and one[1] > stack[-1][1]:
                found.append((row, stack[-1], one))
            stack.append(one)
    return found
