"""What labkit.explain shows of a launch: the columns, the trace, the roofline, the words, and the advice, which is
checked by making the change."""

from __future__ import annotations

import csv
import itertools
import json
import re
import xml.etree.ElementTree as ET

import explain_kernels as kernels
import pytest
from twin_launch import tensor

import labkit
from labkit import chips, messages
from labkit.analysis import bound as bounds
from labkit.analysis import compare, explain, roofline, save, simulator, tables
from labkit.launch.msprof_tables import COLUMNS

HEADERS = {  # the beginning and the number of columns, as Ascend/msopprof's metric_csv_header.h has them for 910B
    "ArithmeticUtilization": (
        20,
        "block_id,sub_block_id,aic_time(us),aic_total_cycles,aic_cube_ratio,aic_cube_fp16_ratio",
    ),
    "L2Cache": (
        24,
        "block_id,sub_block_id,aic_time(us),aic_total_cycles,aic_write_cache_hit,aic_write_cache_miss_allocate",
    ),
    "Memory": (38, "block_id,sub_block_id,aic_time(us),aic_total_cycles,aic_l1_read_bw(GB/s),aic_l1_write_bw(GB/s)"),
    "MemoryL0": (
        12,
        "block_id,sub_block_id,aic_time(us),aic_total_cycles,aic_l0a_read_bw(GB/s),aic_l0a_write_bw(GB/s)",
    ),
    "MemoryUB": (
        10,
        "block_id,sub_block_id,aic_time(us),aic_total_cycles,aiv_time(us),aiv_total_cycles,aiv_ub_read_bw_vector(GB/s)",
    ),
    "PipeUtilization": (
        48,
        "block_id,sub_block_id,aic_time(us),aic_total_cycles,aic_cube_time(us),aic_cube_ratio,aic_mte1_time(us)",
    ),
    "ResourceConflictRatio": (
        18,
        "block_id,sub_block_id,aic_time(us),aic_total_cycles,aic_cube_wait_ratio,aic_mte1_wait_ratio",
    ),
    "OpBasicInfo": (
        9,
        "Op Name,Op Type,Task Duration(us),Block Dim,Mix Block Dim,Device Id,Pid,Current Freq,Rated Freq",
    ),
}

# the launch with one thing wrong, the same without it, the advice that leads there, and what bounds the first
CASES = {
    "single buffer": (lambda: kernels.queues(buffers=1), lambda: kernels.queues(buffers=2), "buffers", "order"),
    "small tiles": (lambda: kernels.queues(256, 128, 2), lambda: kernels.queues(256 * 16, 8, 2), "tiles", "scalar"),
    "bank conflict": (lambda: kernels.banks(0), lambda: kernels.banks(256), "banks", "banks"),
    "scalar loop": (lambda: kernels.elements(0), lambda: kernels.elements(1), "vector", "scalar"),
    "short instructions": (
        lambda: kernels.elements(2, n=16384),
        lambda: kernels.elements(1, n=16384),
        "instructions",
        "startup",
    ),
    "small transfers": (
        lambda: kernels.rows(rows=8, count=64),
        lambda: kernels.rows(rows=64, count=8),
        "tiles",
        "transfers",
    ),
    "barriers": (lambda: kernels.barriers(0), lambda: kernels.barriers(1), "barriers", "order"),
    "one core": (
        lambda: kernels.queues(4096, 96, 2),
        lambda: kernels.queues(4096, 6, 2, blocks=16),
        "more_blocks",
        "mte2",
    ),
    "ladder: one core": (
        lambda: kernels.ladder(1, blocks=1),
        lambda: kernels.ladder(2, blocks=48),
        "more_blocks",
        "mte2",
    ),
    "ladder: single buffer": (
        lambda: kernels.ladder(3, blocks=1),
        lambda: kernels.ladder(4, blocks=1),
        "buffers",
        "mte2",
    ),
    "unaligned": (
        lambda: kernels.rows(gap=16, width=128, shift=8),
        lambda: kernels.rows(gap=16, width=128),
        "aligned",
        "mte2",
    ),
    "short rows": (lambda: kernels.rows(gap=4), lambda: kernels.rows(gap=0), "rows", "mte2"),
    "one core has twice the work": (
        lambda: kernels.ladder(4, 8, rows=9, width=65536),
        lambda: kernels.ladder(4, 8, rows=72, width=8192),
        "balance",
        "imbalance",
    ),
    "48 tiny blocks": (
        lambda: kernels.queues(256, 1, 2, blocks=48),
        lambda: kernels.queues(256, 4, 2, blocks=12),
        "fewer_blocks",
        "launch",
    ),
}


def check(name: str) -> None:
    """The advice names the change first or second, and making it gives what was promised, within a quarter."""
    wrong, right, change, kind = CASES[name]
    slow, fast = wrong(), right()
    said = explain(slow)
    assert said.bound.kind == kind, str(said)
    assert change in [c.name for c in said.advice], str(said)
    promised = next(c.saves_us for c in said.advice if c.name == change)
    assert slow.time_us - fast.time_us == pytest.approx(promised, rel=0.25), str(said)


@pytest.mark.parametrize("name", CASES)
def test_the_advice_keeps_its_promise(name):
    check(name)


def test_a_wrong_bound_is_noticed(monkeypatch):
    right = bounds._kind
    swap = {"startup": "banks", "banks": "startup", "scalar": "vector", "transfers": "hbm"}
    monkeypatch.setattr(bounds, "_kind", lambda *a: swap.get(right(*a), right(*a)))
    for name in "small tiles", "bank conflict", "scalar loop", "short instructions", "small transfers":
        with pytest.raises(AssertionError):
            check(name)


def test_a_wrong_promise_is_noticed(monkeypatch):
    from labkit.launch.kernel import Again

    right = Again.what_if

    def too_much(self, changes):
        answer, times = right(self, changes)
        return answer, [[name, amount, us if name == "same" else 0.6 * us] for name, amount, us in times]

    monkeypatch.setattr(Again, "what_if", too_much)
    with pytest.raises(AssertionError):
        check("single buffer")


def test_the_words_in_both_languages(monkeypatch):
    for lang, launch in itertools.product(("en", "zh"), (kernels.queues, kernels.rows, kernels.elements)):
        monkeypatch.setenv("LABKIT_LANG", lang)
        lines = explain(launch()).lines
        assert 5 <= len(lines) <= 10
        assert all(lines) and "?" not in "".join(lines) and "{" not in "".join(lines)
        assert messages.text("fig_modelled") in lines[0]


def test_every_bound_and_change_has_its_words():
    from labkit.analysis import whatifs

    kinds = re.split(r",\s+", re.search(r"kind: ([\w,\s]+)\.", bounds.Bound.__doc__)[1])
    for part in "bound", "kind":
        assert {k.split(".")[-1] for k in messages.tables() if k.startswith(f"explain.{part}.")} == set(kinds)
    changes = {*whatifs._PLAIN, *whatifs._SIZES, "buffers", "bytes", "balance"}
    assert {k.split(".")[-1] for k in messages.tables() if k.startswith("explain.change.")} == changes


def test_trying_changes_does_nothing_twice():
    x = tensor("float 32768")
    z = x.new_empty(x.shape)
    record = labkit.kernel(text=kernels.QUEUES, filename="queues.asc")[1](x, z, 2048, 16, 1, 2)
    z.fill_(7)
    first = str(explain(record))
    assert (z == 7).all()
    assert str(explain(record)) == first  # and says the same again


def test_without_a_replay_it_still_tells_the_bound():
    record = kernels.elements(0)
    record.again = None
    said = explain(record)
    assert said.bound.kind == "scalar" and not said.advice
    assert messages.text("explain.no_replay") in said.lines


def test_a_launch_too_long_for_all_changes(monkeypatch):
    from labkit.launch.kernel import Again

    right, slow = Again.what_if, kernels.rows(gap=4)
    monkeypatch.setattr(
        Again,
        "what_if",
        lambda self, changes: right(self, changes) if len(changes) < 9 else ({}, [[*c, -1] for c in changes]),
    )
    said = explain(slow)
    assert said.bound.kind == "mte2" and not said.advice and said.lines[-1] == messages.text("explain.no_replay")


# ---- tables


@pytest.mark.parametrize("name", HEADERS)
def test_headers(name, tmp_path):
    count, begin = HEADERS[name]
    assert len(COLUMNS[name]) == count and ",".join(COLUMNS[name]).startswith(begin)
    home = save(kernels.queues(count=4), tmp_path)
    lines = (home / f"{name}.csv").read_text().splitlines()
    assert lines[0] == ",".join(COLUMNS[name]) + ","
    assert all(line.endswith(",") and line.count(",") == lines[0].count(",") for line in lines)


def test_the_numbers_are_the_records():
    record = kernels.queues(tile=2048, count=8, buffers=2, rounds=3, blocks=2)
    frames = record.tables()
    pipes, memory, basic = (frames[n] for n in ("PipeUtilization", "Memory", "OpBasicInfo"))
    assert list(pipes["block_id"]) == [0, 1] and list(pipes["sub_block_id"]) == ["vector0"] * 2
    for i, core in enumerate(record.cores):
        assert pipes["aiv_vec_time(us)"][i] == core["busy.V"]
        assert pipes["aiv_vec_ratio"][i] == pytest.approx(core["busy.V"] / core["time"])
        assert memory["GM_to_UB_datas(KB)"][i] == 64 and memory["aiv_mte2_instructions"][i] == 8
    assert basic.iloc[0]["Task Duration(us)"] == record.time_us and basic.iloc[0]["Op Type"] == "vector"
    assert pipes["aic_time(us)"].isna().all() and pipes["aiv_icache_miss_rate"].isna().all()  # not there; not modelled
    assert frames["MemoryUB"]["aiv_ub_read_bw_vector(GB/s)"].isna().all()
    assert pipes.attrs["time_kind"] == "modelled"
    bandwidth = memory["aiv_gm_to_ub_bw(GB/s)"][0]
    assert bandwidth == pytest.approx(65536 / 2**30 / (record.cores[0]["time"] * 1e-6))


def test_no_counters_no_tables():
    from labkit.launch.record import LaunchRecord

    measured = LaunchRecord(target="npu", kernel="k", blocks=1, time_us=1.0, time_kind="measured", chip="910B1")
    with pytest.raises(ValueError, match="counters"):
        tables(measured)
    for said in explain(measured), roofline(measured), compare(measured, measured):  # a lesson continues on an NPU
        assert said.title == "SKIP"
    empty = simulator.trace(measured)
    assert empty["traceEvents"] == [] and empty["otherData"]["instructions_shown"] == "0"


# ---- files


def test_the_trace(tmp_path):
    record = kernels.queues(count=4, blocks=2)
    home = save(record, tmp_path)
    trace = json.loads((home / "simulator" / "trace.json").read_text())
    assert trace["profilingType"] == "op" and trace["otherData"]["time_kind"] == "modelled"
    assert {e["ph"] for e in trace["traceEvents"]} == {"M", "X"}  # nothing is opened that would have to be closed
    bars = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert len(bars) == len(record.timeline)
    assert {e["pid"] for e in bars} == {"core0.veccore0", "core1.veccore0"}
    assert all(e["dur"] >= 0 and e["ts"] >= 0 and e["name"] in record.op_names for e in bars)
    assert sum(e["dur"] for e in bars if e["tid"] == "VECTOR" and e["pid"] == "core0.veccore0") == pytest.approx(
        record.cores[0]["busy.V"], rel=1e-3
    )
    own = home / "simulator" / "core0.veccore0"
    assert json.loads((own / "trace.json").read_text())["schemaVersion"] == 1
    rows = list(csv.DictReader(open(own / "core0.veccore0_instr_exe.csv", encoding="utf-8")))
    assert sum(int(r["call_count"]) for r in rows) == (record.timeline["block"] == 0).sum()
    assert "modelled" in (home / "README.txt").read_text()


def test_nothing_overlaps_on_a_thread(tmp_path):
    """Perfetto reads whole nanoseconds, and drops what overlaps an earlier event of the same thread."""
    record = kernels.queues(256, 8, 4)
    assert record.ok
    # The clock shows transfers of a pipe one behind the other; where a record has several under way, they get threads.
    record.timeline = record.timeline.copy()
    moves = record.timeline["pipe"] == record.pipe_names.index("MTE2")
    record.timeline["end"][moves] += 1.5 * (record.timeline["end"] - record.timeline["start"])[moves].max()
    for file in ("trace.json", "core0.veccore0/trace.json"):
        bars = [
            e
            for e in json.loads((save(record, tmp_path) / "simulator" / file).read_text())["traceEvents"]
            if e["ph"] == "X"
        ]
        by_thread: dict[tuple, list] = {}
        for e in bars:
            by_thread.setdefault((e["pid"], e["tid"]), []).append(
                (int(e["ts"] * 1000), int(e["ts"] * 1000) + int(e["dur"] * 1000))
            )
        assert len(by_thread) > len({record.pipe_names[p] for p in record.timeline["pipe"]}) and len(bars) == len(
            record.timeline
        )
        for spans in by_thread.values():
            assert all(end <= start for (_, end), (start, _) in itertools.pairwise(sorted(spans)))


def test_the_same_files_again(tmp_path):
    record = kernels.queues(count=4)
    one, two = save(record, tmp_path / "one"), save(record, tmp_path / "two")
    names = sorted(str(p.relative_to(one)) for p in one.rglob("*") if p.is_file())
    assert len(names) == 13
    assert all((one / n).read_bytes() == (two / n).read_bytes() for n in names)


# ---- figures


def test_the_roofline():
    record = kernels.queues(buffers=2, rounds=8, blocks=4)
    figure = roofline(record)
    assert figure.svg == roofline(record).svg
    root = ET.fromstring(figure.svg)
    dot = root.find(".//{http://www.w3.org/2000/svg}circle")
    assert dot is not None and root.get("role") == "img"
    assert (
        f"HBM {chips.load()['gm']['hbm'] / 1e12:.3g} TB/s" in figure.svg
        and "vector fp32" in figure.svg
        and "modelled" in figure.desc
    )
    # 8 operations, 8 bytes an element, 4 of them read
    assert "at 2 operations a byte" in figure.desc and "1 op/B" in figure.desc
    more = ET.fromstring(roofline(kernels.queues(buffers=2, rounds=32, blocks=4)).svg).find(
        ".//{http://www.w3.org/2000/svg}circle"
    )
    assert float(more.get("cx")) != float(dot.get("cx"))


def test_a_launch_that_computes_nothing_has_no_dot():
    record = kernels.queues(count=2)
    for core in record.cores:
        core.update(vector16=0, vector32=0, vector_other=0)
    assert "<circle" not in roofline(record).svg


def test_an_empty_kernel_keeps_no_pipe_busy(tmp_path):
    source = tmp_path / "empty.asc"
    source.write_text(
        '#include "kernel_operator.h"\nextern "C" __global__ __aicore__ void empty(GM_ADDR x) {}\n', encoding="utf-8"
    )
    assert "busy in that time: no pipe." in str(explain(labkit.kernel(source)[1](tensor("half 64"))))


def test_two_launches_side_by_side():
    one, two = kernels.queues(buffers=1), kernels.queues(buffers=2)
    both = compare(one, two, labels=("single", "double"))
    assert str(both) == str(compare(one, two, labels=("single", "double")))
    first = next(r for r in both.rows if r[0] == messages.text("compare.time", kind="modelled"))
    assert float(first[3]) == pytest.approx(two.time_us / one.time_us, abs=0.006)
    assert next(r for r in both.rows if r[0] == "read from GM")[1:] == ("128 KB", "128 KB", "1.00")
    bundle = both._repr_mimebundle_()
    assert "<svg" in bundle["text/html"] and "<table>" in bundle["text/html"] and "single" in bundle["text/plain"]
