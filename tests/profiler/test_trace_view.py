"""trace_view.json: what flows join, rows that nest, levels, and that the time of a step is accounted for."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profile_sessions import ns, partial_overlaps, processes, session

from labkit.profiler import overlap
from labkit.profiler.events import HostRange, Session
from labkit.profiler.layout import Layout, us_text
from labkit.profiler.settings import Settings
from labkit.profiler.trace_view import TraceView


def layout(seed: int = 1, level: str = "Level1", cann: int = 9, **how) -> Layout:
    return Layout(session(seed, **how), Settings(level=level, record_shapes=True, with_stack=True, cann=cann), pid=4242)


def events(seed: int = 1, **how) -> list[dict]:
    return TraceView(layout(seed, **how)).build()


@given(seed=st.integers(0, 10**6))
def test_time_of_each_step_is_its_computing_communication_and_free_time(seed):
    found = layout(seed)
    shares = overlap.shares(found, 0)
    for step in found.steps[0]:
        for begin, end in ((step.host_begin, step.host_end), (step.begin, step.end)):
            rows = [sum(e - b for b, e in part if begin <= b and e <= end) for part in shares]
            computing, communication, alone, free = rows
            assert computing + alone + free == end - begin
            assert alone <= communication
    for row in overlap.step_times(found, 0):
        assert row.computing + row.alone + row.free == row.stage + row.bubble
    kernels = overlap.union((w.begin, w.end) for w in found.works if w.computes)
    assert overlap.length(kernels) == overlap.length(shares.computing)


@given(seed=st.integers(0, 10**6))
def test_slices_of_a_row_nest_and_every_flow_ends_at_a_slice(seed):
    made = events(seed)
    assert not partial_overlaps(made)
    slices = {(e["pid"], e["tid"], e["ts"]) for e in made if e["ph"] == "X"}
    flows = Counter()
    for e in made:
        if e["ph"] in ("s", "f"):
            flows[e["cat"], e["id"]] += 1 if e["ph"] == "s" else -1
            assert flows[e["cat"], e["id"]] in (0, 1), "an id for one flow only"
            assert (e["pid"], e["tid"], e["ts"]) in slices, e
    assert not any(flows.values())


def test_device_time_hangs_on_the_operator_by_exact_text():
    made = events()
    kernels = {
        (e["pid"], e["tid"], e["ts"]): e for e in made if e["ph"] == "X" and "Task Type" in (e.get("args") or {})
    }
    ends = [e for e in made if e["ph"] == "f" and e["cat"] == "async_npu"]
    names = processes(made)
    joined = [kernels.get((e["pid"], e["tid"], e["ts"])) for e in ends if names[e["pid"]] == "Ascend Hardware"]
    assert joined and None not in joined
    assert sum(e["id"] == ns(e["ts"]) for e in ends) > 0.8 * len(ends)
    begins = [e for e in made if e["ph"] == "s" and e["cat"] == "async_npu"]
    cpu = {(e["pid"], e["tid"], e["ts"]) for e in made if e.get("cat") == "cpu_op"}
    assert all((e["pid"], e["tid"], e["ts"]) in cpu for e in begins)


@pytest.mark.parametrize("cann", (8, 9))
def test_processes_have_the_pids_of_their_generation(cann):
    made = events(cann=cann)
    names = {name: pid for pid, name in processes(made).items()}
    assert names["Python"] == 4242
    host = 0 if cann == 8 else 31
    assert names["CANN"] == 4242 << 10 | 7 << 5 | host
    assert names["Ascend Hardware"] == 4242 << 10 | {8: 13, 9: 14}[cann] << 5
    assert ("HCCL" in names) == (cann == 8) and ("Communication" in names) == (cann == 9)
    labels = {e["args"]["labels"] for e in made if e["name"] == "process_labels"}
    assert labels == {"CPU", "NPU" if cann == 8 else "NPU 0"}
    flow = next(e for e in made if e.get("cat") == "HostToDevice")
    assert int(flow["id"]) % 2**32 == 0 or cann == 8
    assert all(isinstance(e["ts"], str) for e in made if "ts" in e)


def test_levels_prune():
    full = {name for name in processes(events()).values()}
    low = events(level="Level0")
    assert "CANN" in full and "CANN" not in processes(low).values()
    assert not any(e.get("cat") == "HostToDevice" for e in low)
    assert any(e.get("cat") == "async_npu" for e in low)
    none = events(level="Level_none")
    assert list(processes(none).values()) == ["Python"]


def test_times_are_exact_and_the_same_in_every_run():
    assert us_text(1_767_225_600_000_001_007) == "1767225600000001.007"
    assert events() == events()


def test_ranges_that_do_not_nest_get_a_row_of_their_own():
    from labkit.profiler.events import HostRange, Session

    made = Session(ranges=[HostRange("a", "user", 0, 0, 50), HostRange("b", "user", 0, 20, 90)], end=90)
    rows = TraceView(Layout(made, Settings(), pid=1)).build()
    assert not partial_overlaps(rows)
    assert len({e["tid"] for e in rows if e["ph"] == "X"}) == 2


def test_a_mark_that_overlaps_an_outer_range_gets_a_row_of_its_own():
    """Also behind a range inside that one, which has ended."""
    from labkit.profiler.events import Session
    from labkit.profiler.raw import Mark

    marks = [
        Mark(name, "start/end", "default", 0, *ends) for name, ends in {"a": (0, 10), "b": (1, 2), "c": (5, 15)}.items()
    ]
    rows = TraceView(Layout(Session(end=20), Settings(), pid=1), marks).build()
    assert not partial_overlaps(rows)
    of = {e["name"]: e["tid"] for e in rows if e["ph"] == "X"}
    assert of["a"] == of["b"] != of["c"]


def test_a_row_has_the_ranges_of_one_thread():
    """Three that overlap in the first thread, two in the second: the third row of one was the second of the other."""
    times = [(0, 0, 10), (0, 1, 11), (0, 2, 12), (0, 3, 13), (1, 20, 30), (1, 21, 31)]
    ranges = [HostRange(f"r{b}", "user", thread, float(b), float(e)) for thread, b, e in times]
    threads: dict[int, set] = defaultdict(set)
    for span in Layout(Session(end=40.0, ranges=ranges), Settings(), pid=100).spans:
        threads[span.tid].add(span.range.thread)
    assert len(threads) == 6 and all(len(of) == 1 for of in threads.values())
