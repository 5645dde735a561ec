"""The benchmark kit: steady state, intervals, verdicts on a noisy device, files, the gate."""

from __future__ import annotations

import json
import sqlite3

import numpy as np
import polars
import pytest
import torch
from typer.testing import CliRunner

import labkit
from labkit import bench
from labkit.bench import results, statistics
from labkit.bench.timing import Measurement
from labkit.cli import app


@pytest.fixture(scope="module", autouse=True)
def npu():
    labkit.device.install()


def busy(us: float):
    """A function whose kernel takes so many modelled microseconds."""
    return lambda: labkit.device.launch("busy", us)


def normal(n: int, seed: int = 0, middle: float = 100.0, spread: float = 3.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(middle, spread, n)


# ---- statistics


@pytest.mark.parametrize("q", [10, 50, 90, 99])
def test_intervals_of_percentiles_cover_what_they_promise(q):
    """By samples whose percentiles are known: the share of 2,000 intervals that hold the true one."""
    true = -np.log(1 - q / 100)
    draw = np.random.default_rng(1)
    got = [statistics.percentile(draw.exponential(size=200), q) for _ in range(2000)]
    covered = np.mean([i.low <= true <= i.high for i in got])
    if q == 99:  # of 200 samples hardly two lie above it: its upper end is the largest sample
        assert covered > 0.8
    else:
        assert 0.93 < covered < 0.97, covered
    assert statistics.percentile([5.0] * 50, q) == statistics.Interval(5, 5, 5)


def test_a_wider_confidence_is_a_wider_interval():
    x = normal(300)
    assert statistics.percentile(x, 50, 0.99).half > statistics.percentile(x, 50, 0.95).half > 0
    with pytest.raises(ValueError, match="no samples"):
        statistics.percentile([], 50)


def test_a_bootstrap_interval():
    i = statistics.interval(normal(400), np.mean)
    assert i.low < 100 < i.high and i == statistics.interval(normal(400), np.mean), "drawn by a seed"
    assert i.half == pytest.approx(1.96 * 0.03 / 20, rel=0.15)
    assert statistics.interval([2.0, 2.0], np.std) == statistics.Interval(0, 0, 0)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("before, level", [(10, 1.5), (40, 1.03), (150, 0.9)])
def test_the_steady_state_begins_behind_the_change(seed, before, level):
    x = np.concatenate([normal(before, seed, 100 * level), normal(200, seed + 100)])
    assert abs(statistics.steady_from(x) - before) <= (40 if level == 1.03 else 3)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_steady_from_the_first_sample_stays_whole(seed):
    assert statistics.steady_from(normal(300, seed)) == 0


def test_slow_first_samples_are_left_out():
    x = normal(100)
    x[:3] = 20_000, 900, 140
    assert statistics.steady_from(x) == 3
    x[:3] = 100, 100, 140
    assert statistics.steady_from(x) == 0, "one that comes later is an outlier and stays"
    assert list(statistics.outliers(x)) == [2]


def test_outliers_are_named():
    x = normal(200)
    x[17], x[120] = 200, 20
    assert list(statistics.outliers(x)) == [17, 120]
    assert len(statistics.outliers([1.0] * 50)) == 0 == len(statistics.outliers([1.0, 9.0]))


def test_a_drift_is_seen():
    x = normal(400) * np.linspace(1, 1.1, 400)
    change, chance = statistics.drift(x)
    assert change == pytest.approx(0.095, abs=0.02) and chance < 1e-6
    assert statistics.drift(normal(400))[1] > 1e-3


# ---- measuring


def test_a_quiet_device_gives_one_number():
    m = bench.measure(busy(20), name="twenty")
    assert m.median.value == pytest.approx(20, rel=1e-3) and m.std < 1e-6 and len(m.samples) == 200
    assert m.time_kind == "modelled" and "modelled" in repr(m) and m.notes == [] and m.row()["outliers"] == 0


def test_neither_the_host_nor_the_events_are_in_the_time():
    x = torch.ones(1 << 12).npu()
    alone = bench.measure(lambda: x.mul(2)).median.value
    labkit.device.reset_clock()
    labkit.clear_l2()
    x.mul(2)
    (span,) = labkit.device.timeline()
    assert alone == pytest.approx(span.end_us - span.start_us, abs=0.01)


def test_a_function_that_the_host_issues_slowly_takes_the_hosts_time():
    x = torch.ones(64).npu()

    def many():
        for _ in range(60):
            x.mul(2)

    assert bench.measure(many).median.value > 60 * 6 - 160, "longer than the filler hides"


def test_cold_and_warm():
    x = torch.ones(1 << 20).npu()
    cold, warm = (bench.measure(lambda: x.mul(2), cache=cache) for cache in ("cold", "warm"))
    assert warm.median.value < 0.9 * cold.median.value


def test_cold_and_warm_of_an_own_kernel():
    add, count = labkit.kernel("kernels/add/add.asc", l2="warm"), 40 << 15
    x, y, z = (torch.ones(count, dtype=torch.float16).npu() for _ in range(3))
    tiling = {"blockLength": count // 40, "tileLength": 4096}
    cold, warm = (
        bench.measure(lambda: add[40](x, y, z, tiling), cache=cache, least=12, most=12) for cache in ("cold", "warm")
    )
    assert warm.median.value < 0.9 * cold.median.value


@pytest.mark.parametrize("wrong", [{"cache": "hot"}, {"aim": 0}, {"least": 5, "most": 4}, {"rest": -1}])
def test_wrong_arguments(wrong):
    with pytest.raises(ValueError):
        bench.measure(busy(1), **wrong)


SEEDS = 40  # of 200 in November 2026: every median within 1 %, 95 % of the intervals held the true one


def test_the_true_median_on_a_noisy_device():
    true, near, held = 20.0, 0, 0
    for seed in range(SEEDS):
        with labkit.device.noise(seed):
            m = bench.measure(busy(true))
        near += abs(m.median.value / true - 1) < 0.01
        held += m.median.low <= true <= m.median.high
    assert near == SEEDS
    assert held >= SEEDS - 6, "of 40 intervals of 95 % more than 6 miss once in a thousand"


@pytest.mark.parametrize("ratio, verdict", [(1.0, "same"), (1.03, "slower"), (0.97, "faster")])
def test_a_difference_of_three_percent_is_found_and_none_is_invented(ratio, verdict):
    said = []
    for seed in range(4):
        with labkit.device.noise(100 + seed):
            said.append(bench.compare(busy(20), busy(20 * ratio), seed=seed))
    assert [c.verdict for c in said] == [verdict] * len(said)
    assert all(c.ratio.low <= ratio <= c.ratio.high for c in said) or ratio == 1


def test_a_hot_chip_is_named():
    with labkit.device.noise(3, hot_ms=20, outliers=0, jitter=0.001, first_launch_us=0, slower=1.2):
        m = bench.measure(busy(200), rest=0, least=400)
        rested = bench.measure(busy(200), rest=3.0, least=400)
    assert m.median.value > 1.15 * rested.median.value, "sustained load is another number than a burst"


# ---- verdicts on samples


def test_a_verdict_needs_sureness_and_size():
    a = normal(400, 1)
    assert bench.judge(np.stack([a, a * 1.001], 1)).verdict == "same", "sure, and too small to matter"
    assert bench.judge(np.stack([a, normal(400, 2) * 1.03], 1)).verdict == "slower"
    assert bench.judge(np.stack([a[:10], normal(10, 2, 101, 20)], 1)).verdict == "same", "large, and not sure"
    with pytest.raises(ValueError, match="pairs"):
        bench.judge(np.ones((3, 2)))
    with pytest.raises(ValueError, match="new took no time in 1 of 40 pairs"):
        bench.judge(np.stack([np.ones(40), np.arange(40.0)], 1), ("old", "new"))
    said = repr(bench.judge(np.stack([a, a * 1.1], 1), ("old", "new")))
    assert "new is 10.00 % slower than old" in said


# ---- files


def made(name: str = "mul", scale: float = 1.0, seed: int = 0) -> Measurement:
    return Measurement(name, normal(200, seed) * scale, normal(30, 5), "modelled")


@pytest.mark.parametrize("ending", ["json", "db"])
def test_a_file_gives_back_what_was_saved(tmp_path, ending):
    path = bench.save(tmp_path / f"r.{ending}", [made(), made("add")])
    back = bench.load(path)
    assert [m.name for m in back] == ["mul", "add"]
    assert np.array_equal(back[0].samples, made().samples) and np.array_equal(back[0].warm, made().warm)
    assert (back[0].time_kind, back[0].cache) == ("modelled", "cold")


def test_a_database_keeps_all_runs_and_pandas_reads_it(tmp_path):
    import pandas

    path = tmp_path / "runs.db"
    bench.save(path, [made(scale=2)])
    bench.save(path, [made()])
    assert np.median(bench.load(path)[0].samples) == pytest.approx(100, rel=0.01), "the newest"
    with sqlite3.connect(path) as db:
        frame = pandas.read_sql("select * from measurement join run on run.id = measurement.run", db)
    assert len(frame) == 2 and json.loads(frame["environment"][0])["torch"] == torch.__version__


def test_tables_have_the_environment(tmp_path):
    import pandas

    frame = pandas.read_csv(bench.save(tmp_path / "r.csv", [made()]))
    assert frame["name"][0] == "mul" and frame["time"][0] == "modelled" and frame["torch"][0] == torch.__version__
    assert {"median low", "p99", "std", "commit", "date"} <= set(frame.columns)
    rows = polars.read_parquet(bench.save(tmp_path / "r.parquet", [made(), made("add")]))
    assert rows["name"].to_list() == ["mul", "add"] and rows["torch"][0] == torch.__version__
    with pytest.raises(ValueError, match="xyz"):
        bench.save(tmp_path / "r.xyz", [made()])


def test_pytest_benchmarks_form(tmp_path):
    path = bench.save_for_pytest_benchmark(tmp_path / "p.json", [made()])
    (one,) = json.loads(path.read_text())["benchmarks"]
    assert one["stats"]["median"] == pytest.approx(np.median(made().samples) * 1e-6)
    (back,) = bench.load(path)
    assert np.allclose(back.samples, made().samples) and back.time_kind == "modelled"
    document = json.loads(path.read_text())
    del document["benchmarks"][0]["stats"]["data"]
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match="benchmark-save-data"):
        bench.load(path)


def test_times_of_nothing_in_pytest_benchmarks_form(tmp_path):
    """A modelled time may be 0; no time at all is no measurement, and half an entry no file of its."""
    nothing = bench.Measurement("nothing", np.zeros(2), np.array([]), "modelled", "warm")
    path = bench.save_for_pytest_benchmark(tmp_path / "p.json", [nothing])
    assert json.loads(path.read_text())["benchmarks"][0]["stats"]["ops"] == 0
    assert bench.load(path)[0].samples.tolist() == [0, 0]
    with pytest.raises(ValueError, match="none has no times"):
        bench.save_for_pytest_benchmark(
            path, [bench.Measurement("none", np.array([]), np.array([]), "modelled", "warm")]
        )
    for document in ({}, {"benchmarks": 5}, {"benchmarks": [{}]}, {"benchmarks": [{"stats": {"data": [1.0]}}]}):
        path.write_text(json.dumps(document))
        with pytest.raises(ValueError, match="p.json"):
            bench.load(path)


def test_the_gate(tmp_path):
    old = bench.save(tmp_path / "old.json", [made(), made("add"), made("gone")])
    same = bench.save(tmp_path / "same.json", [made(seed=1), made("add", seed=2), made("gone", seed=3)])
    slow = bench.save(tmp_path / "slow.json", [made(seed=1), made("add", 1.03, seed=2), made("new")])
    run = CliRunner()
    fine = run.invoke(app, ["bench", "compare", str(old), str(same)])
    assert fine.exit_code == 0 and "nothing is significantly slower, of 3" in fine.output
    bad = run.invoke(app, ["bench", "compare", str(old), str(slow)])
    assert bad.exit_code == 1 and "1 slower: add" in bad.output and "gone is only in old.json" in bad.output
    (tmp_path / "broken.json").write_text("{")
    assert run.invoke(app, ["bench", "compare", str(old), str(tmp_path / "broken.json")]).exit_code == 2
    measured = made()
    measured.time_kind = "measured"
    mixed = bench.save(tmp_path / "mixed.json", [measured])
    assert run.invoke(app, ["bench", "compare", str(old), str(mixed)]).exit_code == 2


def test_the_gate_raises_few_false_alarms():
    said = [results.against(made(seed=seed), made(seed=seed + 1000)).verdict for seed in range(100)]
    assert said.count("same") >= 95
    found = [results.against(made(seed=s), made(scale=1.03, seed=s + 1000)).verdict for s in range(100)]
    assert found.count("slower") >= 95
