"""Findings: each planted disease is named, and is gone when the disease is taken out; healthy programs stay unnamed."""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy as np
import planted_programs as programs
import planted_tree
import polars as pl
import pytest

from labkit import messages, trace
from labkit.trace import find_device, find_kernels, find_ranks, finding, idle, intervals, model

SEED = 29  # none of those of data/planted_traces.csv


def codes(machine, folder, **how) -> list[str]:
    return [f.code for f in trace.read(planted_tree.write(machine, folder, **how)).findings()]


@pytest.mark.parametrize("family", programs.FAMILIES)
@pytest.mark.parametrize("nine", [True, False])
def test_a_planted_disease_is_the_first_finding(tmp_path, family, nine):
    machine, _ = programs.sick(family, SEED + nine)
    assert codes(machine, tmp_path, nine=nine)[:1] == [programs.CODES[family]]


@pytest.mark.parametrize("seed", range(SEED, SEED + 6))
def test_nothing_is_said_of_a_healthy_program(tmp_path, seed):
    machine, kind = programs.well(seed)
    assert codes(machine, tmp_path) == [], kind


def cured(family: str):
    """The program of a family without its disease: the sizes at which it is none."""
    s = programs.usual(random.Random(family))
    m = programs.Machine(1, 4 if family in ("exposed_communication", "slow_rank") else 1)
    reduce = 30.0 * s.layers if len(m.ranks) > 1 else 0.0
    return programs.run(m, s, lambda i: programs.step(m, s, reduce=reduce))


@pytest.mark.parametrize("family", programs.FAMILIES)
def test_the_finding_goes_with_the_disease(tmp_path, family):
    assert programs.CODES[family] not in codes(cured(family), tmp_path)


def test_at_level0_without_calls_of_the_runtime_the_operators_say_who_waits(tmp_path):
    machine, _ = programs.sick("sync_in_loop", SEED)
    assert codes(machine, tmp_path, level=0)[:1] == ["synchronisation"]


@pytest.mark.parametrize("named", [True, False])
def test_where_the_host_waits_longest_is_said_not_where_most_often(named):
    spans = {"name": ["aten::item"] * 3 + ["aten::copy_"], "start": [0.0, 100, 200, 300], "dur": [10.0, 10, 10, 500]}
    host = pl.DataFrame(spans | {"kind": ["op"] * 4}) if named else model.empty(model.HOST)
    calls = pl.DataFrame(spans | {"name": ["aclrtSynchronizeStream"] * 3 + ["aclrtMemcpy"]})
    kernels = pl.DataFrame({"start": [900.0], "name": ["Add"]})
    recorded = SimpleNamespace(host=host, calls=calls, step_count=lambda: 1, compute=lambda: kernels)
    starts = np.array(spans["start"])
    gaps = SimpleNamespace(
        total=lambda cause: 530.0, length=1000.0, largest=lambda *_: [], blocked=(starts, starts + spans["dur"])
    )
    (found,) = find_device.synchronisation(find_device.Context(recorded, gaps, 1000.0))
    assert f"longest in {'aten::copy_' if named else 'aclrtMemcpy'}." in found.lines("en")[0]


def program(body, host=10.0, steps=6):
    m = programs.Machine(3)
    s = programs.Shape(layers=4, matmul=100, vector=50, host=host, steps=steps)
    return programs.run(m, s, lambda i: body(m, s))


@pytest.mark.parametrize("share, said", [(0.02, False), (0.20, True)])
def test_a_finding_has_to_be_worth_a_twentieth_of_a_step(tmp_path, share, said):
    def body(m, s):
        programs.step(m, s)
        m.op(
            "aten::nonzero",
            "NonZero",
            share * s.layers * 2.9 * (2 * s.matmul + 3.2 * s.vector),
            s.host,
            core="AI_CPU",
            blocks=1,
        )

    assert ("ai-cpu" in codes(program(body), tmp_path)) == said
    assert finding.FLOOR == 0.05


@pytest.mark.parametrize("blocks, said", [(48, False), (30, False), (24, True), (2, True)])
def test_few_cores_are_at_most_half_of_those_there_are(tmp_path, blocks, said):
    def body(m, s):
        programs.step(m, s)
        m.op("aten::sum", "ReduceSum", 2000, s.host, blocks=blocks)

    assert ("few-cores" in codes(program(body), tmp_path)) == said


@pytest.mark.parametrize("bound, said", [(0.55, False), (0.45, True)])
def test_low_utilisation_is_a_busiest_pipe_below_a_half(tmp_path, bound, said):
    def body(m, s):
        programs.step(m, s)
        m.op("npu::mine", "Mine", 2000, s.host, bound=bound, ratios={"vec": bound, "scalar": 0.1, "mte2": 0.2})

    assert ("low-utilisation" in codes(program(body), tmp_path)) == said


@pytest.mark.parametrize("mb, code", [(0.003, None), (24, "blocking-copy")])
def test_a_scalar_that_is_fetched_is_no_matter_of_copying(tmp_path, mb, code):
    def body(m, s):
        programs.step(m, s)
        m.copy_in(mb, False, 6)

    found = codes(program(body), tmp_path)
    assert ("blocking-copy" in found) == (code == "blocking-copy")


def test_a_pinned_copy_on_its_own_stream_costs_nothing(tmp_path):
    def body(m, s):
        m.copy_in(20, True, 20)
        programs.step(m, s)

    assert codes(program(body), tmp_path) == []


def test_casts_there_and_back_are_counted(tmp_path):
    machine, _ = programs.sick("cast_round_trips", SEED)
    found = trace.read(planted_tree.write(machine, tmp_path)).findings()[0]
    assert found.fields["count"] == sum(k.type == "Cast" for k in machine.ranks[0].kernels) == 2 * found.fields["back"]
    assert found.gain_us == pytest.approx(
        sum(k.dur for k in machine.ranks[0].kernels if k.type == "Cast") / len(machine.ranks[0].steps), rel=0.01
    )


def test_the_slow_rank_is_the_one_that_was_slowed(tmp_path):
    machine, sizes = programs.sick("slow_rank", SEED)
    found = [f for f in trace.read(planted_tree.write(machine, tmp_path)).findings() if f.code == "slow-rank"]
    assert [f.fields["rank"] for f in found] == [sizes["rank"]] and found[0].fields["cause"] == "computing"


@pytest.mark.parametrize("rate, said", [(10.0, False), (4.0, True)])
def test_a_slow_link_is_below_half_of_its_like(tmp_path, rate, said):
    machine = programs.Machine(2, 4)
    s = programs.Shape(layers=2, matmul=100, vector=40, steps=4)
    machine.links = [(1, 2, rate)]
    programs.run(machine, s, lambda i: programs.step(machine, s, reduce=60))
    found = [f for f in trace.read(planted_tree.write(machine, tmp_path)).findings() if f.code == "slow-link"]
    assert [(f.fields["source"], f.fields["target"]) for f in found] == ([(1, 2)] if said else [])
    assert [(f.fields["rate"], f.fields["usual"]) for f in found] == ([("4.0 GB/s", "18.0 GB/s")] if said else [])
    assert find_ranks.SLOW_LINK * 18 == 9, "the others have 18 GB/s"


def test_time_before_the_first_recorded_task_is_not_idle_while_earlier_work_ran(tmp_path):
    """As after a warm-up step: the host is far ahead when the recording begins."""
    machine = program(lambda m, s: programs.step(m, s))
    rank = machine.ranks[0]
    later = 5000.0
    for k in rank.kernels:
        k.start += later
    assert codes(machine, tmp_path) == []
    assert idle.IN_FLIGHT == 3


def test_all_time_of_the_window_has_a_cause(tmp_path):
    for family in ("sync_in_loop", "exposed_communication", "fragmentation", "pageable_copies"):
        machine, _ = programs.sick(family, SEED)
        profile = trace.read(planted_tree.write(machine, tmp_path / family))
        for one, account in zip(profile.traces, profile.accounts):
            parts = account.busy + sum(account.total(c) for c in idle.CAUSES)
            assert parts == pytest.approx(account.length, rel=1e-6)
            assert account.busy == pytest.approx(intervals.total(one.busy()))


def context(kernels: list[dict], calls: list[dict] = (), **given) -> find_device.Context:
    one = model.Trace(path=None, **given)
    one.kernels = model.fitted(pl.DataFrame(kernels), model.KERNELS)
    one.calls = model.fitted(pl.DataFrame(list(calls)), model.CALLS) if calls else one.calls
    account = idle.account(one)
    return find_device.Context(one, account, account.length)


def test_of_equal_kernels_the_same_one_is_named_in_every_run():
    """Polars gives the groups of a table in another order each time."""
    kernels = [dict(name=f"k{i}", type=f"T{i:02}", core="AI_CORE", start=200.0 * i, dur=50.0) for i in range(40)]
    compiling = [dict(name="opCompile", start=0.0 + 200 * i, dur=190.0) for i in range(40)]
    few = [k | {"blocks": 1 + i, "in_shapes": "1"} for i, k in enumerate(kernels)]
    for _ in range(5):
        (found,) = find_device.compiling(context(kernels, compiling))
        assert found.fields["type"] == "T00"
        (found,) = find_kernels.few_cores(context(few[:8], cores={"aic": 24, "aiv": 48}))
        assert found.fields["blocks"] == 1


def test_few_blocks_are_told_beside_the_cores_of_the_same_kernels():
    kernels = [dict(name="long", type="MatMul", core="AI_CORE", start=0.0, dur=100.0, blocks=12)]
    kernels += [
        dict(name="v", type="Add", core="AI_VECTOR_CORE", start=100.0 + 80 * i, dur=80.0, blocks=6) for i in range(5)
    ]
    (found,) = find_kernels.few_cores(context(kernels, cores={"aic": 24, "aiv": 48}))
    assert (found.fields["blocks"], found.fields["cores"]) == (6, 48)


def test_every_finding_and_problem_has_its_text_in_both_languages():
    keys = [k for k in messages.tables() if k.startswith(("trace.finding.", "trace.problem."))]
    assert {f"trace.finding.{c}" for c in programs.CODES.values()} <= set(keys)
    for key in keys:
        assert all(len(messages.lines(key, lang=lang)) == 3 for lang in ("en", "zh"))
        assert messages.lines(key, lang="zh")[0] != messages.lines(key, lang="en")[0]
