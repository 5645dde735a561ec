"""The kit beyond one time: throughput, sweeps, shapes, laws, drift, foreign files, pictures."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import labkit
from labkit import bench
from labkit.bench import laws, shapes, timing
from labkit.bench.duration import Runner
from labkit.bench.scaling import Point, Scaling
from labkit.bench.sizes import Sweep
from labkit.bench.statistics import Interval
from labkit.bench.timing import Measurement
from labkit.bench.utilisation import Utilisation, together, utilisation
from labkit.cli import app
from labkit.device import Span


@pytest.fixture(scope="module", autouse=True)
def npu():
    labkit.device.install()


def busy(us: float):
    return lambda: labkit.device.launch("busy", us)


def made(name="mul", middle=100.0, seed=0, spread=0.0, count=200) -> Measurement:
    samples = np.random.default_rng(seed).normal(middle, spread, count) if spread else np.full(count, middle)
    return Measurement(name, samples, np.array([900.0, 101.0]), "modelled")


# ---- utilisation


def span(engine, start, end, device=0, moved=0.0):
    return Span("op", device, 0, start, end, 0.0, engine, moved, 0.0)


def test_utilisation_counts_each_engine_and_their_union():
    spans = [
        span("vector", 0, 40, moved=4000),
        span("copy in", 20, 60),
        span("cores", 80, 120, moved=1000),
        span("link", 300, 400),
    ]
    used = utilisation(spans, 0, 100, hbm=1e9)
    assert used.engines == {"vector": 0.6, "cube": 0.2, "copy in": 0.4, "copy out": 0, "link": 0}
    assert used.device == pytest.approx(0.8) and used.launches == 3
    assert used.memory == pytest.approx((4000 + 500) / 1e9 / 100e-6)
    two = utilisation([*spans, span("vector", 0, 100, device=1)], 0, 100, hbm=1e9, devices=2)
    assert two.engines["vector"] == 0.8 and two.device == pytest.approx(0.9)


def test_shares_of_processes_add_up_on_one_card_only():
    parts = [Utilisation(10, {"vector": 0.4}, 0.5, 0.1, 3, 1)] * 2
    assert together(parts, one_card=True).engines["vector"] == 0.8
    assert together(parts, one_card=False).engines["vector"] == 0.4


def test_processes_together_have_as_much_weight_as_they_have_cards():
    """One whose window had nothing in it takes no engine from the others."""
    none, one = Utilisation(10), Utilisation(10, {"cube": 0.9}, 0.9, 0.3, 5)
    two = Utilisation(10, {"cube": 0.3}, 0.3, 0.0, 8, devices=2)
    apart = together([none, one, two], one_card=False)
    assert apart.devices == 4 and apart.launches == 13 and apart.engines == {"cube": pytest.approx((0.9 + 2 * 0.3) / 4)}
    assert apart.device == pytest.approx(0.375) and apart.memory == pytest.approx(0.075)
    shared = together([one, one], one_card=True)
    assert (shared.devices, shared.device, shared.engines["cube"]) == (1, 1.0, 1.8)


# ---- throughput


def test_the_throughput_of_a_device_that_is_always_busy():
    t = bench.throughput(busy(20), seconds=0.004, items=3, name="sleep")
    assert t.rate.value == pytest.approx(3e6 / 20, rel=0.01) and t.used.engines["vector"] > 0.98
    assert t.bound == "vector" and t.notes == [] and "modelled" in repr(t) and t.row()["time"] == "modelled"


def test_the_throughput_of_a_host_that_is_always_busy():
    t = bench.throughput(busy(1), seconds=0.002)
    assert t.rate.value == pytest.approx(1e6 / 6, rel=0.01), "6 us for each launch"
    assert t.bound == "host" and t.used.engines["vector"] == pytest.approx(1 / 6, rel=0.02)


def test_a_device_that_nobody_keeps_busy_has_no_bound():
    def step():
        busy(10)()
        torch.npu.synchronize()
        labkit.device.host_work(30)

    t = bench.throughput(step, seconds=0.002)
    assert t.used.device < 0.3 and t.host > 0.9


def test_a_throughput_that_falls_is_noted():
    with labkit.device.noise(1, hot_ms=15, outliers=0, jitter=0.002, first_launch_us=0, slower=1.2):
        hot = Runner(busy(20)).run(50, "hot", 1, lead=0)  # 30 ms: the chip lowers its clock on the way
    assert isinstance(hot, bench.Throughput) and hot.drift[0] > 0.05 and len(hot.notes) == 1


@pytest.mark.parametrize("seconds", [0, -1, math.inf, math.nan])
def test_a_duration_is_positive(seconds):
    with pytest.raises(ValueError, match="positive"):
        bench.throughput(busy(1), seconds=seconds)


# ---- drift: found, and not invented


def noted(m: Measurement) -> bool:
    m.notes = timing.notes(m, 1.0)
    return bool(m.notes)


def test_a_drift_is_not_invented():
    """Of samples without one, at the length that measure() takes and at the spread of the noisy device."""
    false = sum(noted(made(seed=seed, spread=3, count=230)) for seed in range(500))
    assert false <= 4, "two in a thousand at most are to be expected"


@pytest.mark.parametrize("shape", ["slope", "step", "late step"])
def test_a_drift_is_found(shape):
    grows = {
        "slope": np.linspace(1, 1.04, 230),
        "step": np.where(np.arange(230) < 115, 1, 1.03),
        "late step": np.where(np.arange(230) < 195, 1, 1.05),
    }[shape]
    found = 0
    for seed in range(100):
        m = made(seed=seed, spread=3, count=230)
        m.samples *= grows
        found += noted(m)
    assert found >= 95


def test_a_chip_that_gets_hot_is_found_on_the_device_and_a_rested_one_is_not_accused():
    hot = rested = 0
    for seed in range(10):
        with labkit.device.noise(seed, outliers=0.01):
            hot += any("%" in note for note in bench.measure(busy(20), rest=0, least=400).notes)
            rested += any("sample" in n and "level" in n or "drift" in n for n in bench.measure(busy(20)).notes)
    assert hot == 10 and rested == 0


def test_fresh_inputs_are_made_outside_of_the_time():
    calls = []

    def inputs(i):
        calls.append(i)
        return (torch.full((1 << 14,), float(i)).npu(),)

    alone = bench.measure(lambda x=torch.ones(1 << 14).npu(): x.mul(2), least=20).median.value
    m = bench.measure(lambda x: x.mul(2), inputs=inputs, least=20)
    assert calls == list(range(len(calls))) and len(calls) >= 50
    assert m.median.value == pytest.approx(alone, rel=1e-3)


# ---- sweeps


def swept(rates: dict[int, float], spread=0.0, limit=None, share=0.9) -> Sweep:
    measured = [made(str(s), 1e6 * s / r, seed=s, spread=1e6 * s / r * spread) for s, r in rates.items()]
    return Sweep("op", list(rates), measured, [float(s) for s in rates], share, limit)


def test_the_sweet_spot_is_the_smallest_near_the_best():
    rates = {1: 10, 2: 20, 4: 38, 8: 55, 16: 58, 32: 60, 64: 59}
    assert swept(rates).spot == 8
    assert swept(rates, share=0.98).spot == 32
    assert swept(rates, spread=0.2).spot in (16, 32, 64), "what is not sure to be near does not count"
    assert swept(rates, limit=1e6 * 8 / 55 - 1).spot is None, "near the best, and too slow"
    assert "take 8" in repr(swept(rates)) and swept(rates).table()["size"].tolist() == list(rates)


def test_a_curve_that_still_rises_has_no_sweet_spot():
    s = swept({1: 10, 2: 20, 4: 40})
    assert s.rising and s.spot is None and "try larger" in repr(s)


def test_a_sweep_measures_each_size_and_ends_where_memory_does():
    def make(size):
        if size > 4:
            raise torch.OutOfMemoryError("no room")
        return busy(10 + size)

    s = bench.sweep(make, (1, 2, 4, 8), least=20)
    assert s.sizes == [1, 2, 4] and "8" in s.notes[0]
    assert [round(m.median.value, 2) for m in s.measured] == [11, 12, 14]
    with pytest.raises(torch.OutOfMemoryError):
        bench.sweep(make, (8,))
    with pytest.raises(ValueError):
        bench.sweep(make, (4, 2))
    with pytest.raises(ValueError, match="at size 2 there is no rate: 2 items in 0 us"):
        bench.sweep(lambda size: lambda: None, (2, 4), least=20)
    with pytest.raises(ValueError, match="no rate: 0 items"):
        bench.sweep(make, (1, 2), items=lambda size: size - 1, least=20)


# ---- shapes


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_the_extremes_are_there(rank):
    most = 1 << 20
    edges = shapes.extremes(rank, most=most)
    assert (1,) * rank in edges and any(max(s) == most for s in edges)
    assert any(all(n % 2 and n > 1 for n in s) for s in edges)
    assert {15, 16, 17} <= {s[-1] for s in edges} and all(math.prod(s) <= most for s in edges)


def test_shapes_are_drawn_by_a_seed():
    drawn = shapes.draw(200, seed=1)
    assert drawn == shapes.draw(200, seed=1) != shapes.draw(200, seed=2)
    assert len(set(drawn)) == 200 and drawn[: len(shapes.extremes())] == shapes.extremes()
    inner = shapes.draw(200, seed=1, edges=False)
    sizes = np.log2([math.prod(s) for s in inner])
    assert np.quantile(sizes, 0.1) < 8 and np.quantile(sizes, 0.9) > 16, "small ones and large ones"
    assert 60 < sum(all(n % 2 for n in s) for s in inner) < 140
    with pytest.raises(ValueError, match="different shapes"):
        shapes.draw(100, rank=1, most=8)
    with pytest.raises(ValueError, match="rank"):
        shapes.draw(1, rank=0)


# ---- laws


@pytest.mark.parametrize("contention, coherence", [(0.0, 0.0), (0.1, 0.0), (0.05, 0.01), (0.6, 0.002)])
def test_the_law_that_made_a_curve_is_found(contention, coherence):
    n = [1, 2, 4, 8, 16]
    f = bench.fit(n, laws.usl(np.array(n), 50.0, contention, coherence))
    assert (f.one, f.contention, f.coherence) == pytest.approx((50, contention, coherence), abs=1e-4, rel=1e-3)
    assert f.off < 1e-3
    assert f.peak == (pytest.approx(math.sqrt((1 - contention) / coherence), rel=1e-2) if coherence else math.inf)


def test_amdahls_law_has_a_ceiling():
    f = bench.fit([1, 2, 4], laws.usl(np.array([1, 2, 4]), 10.0, 0.2, 0.0), coherence=False)
    assert f.ceiling == pytest.approx(50, rel=1e-3) and f.coherence == 0
    with pytest.raises(ValueError):
        bench.fit([1, 2], [1.0, 2.0])


# ---- pictures


def curve() -> Scaling:
    points = [
        Point(n, Interval(r, r * 0.97, r * 1.03), 0.5, Utilisation(), "host" if n > 2 else "")
        for n, r in ((1, 10.0), (2, 19.0), (4, 30.0))
    ]
    return Scaling("op", "streams", points, "modelled")


def pictures():
    noisy = made(seed=3, spread=3)
    noisy.samples[40] = 400
    rows = np.stack([noisy.samples, noisy.samples * 1.05], 1)
    yield bench.plot.samples(noisy)
    yield bench.plot.distribution(noisy)
    yield bench.plot.sweep(swept({1: 10, 2: 20, 4: 38, 8: 39}, spread=0.01, limit=300000.0))
    yield bench.plot.scaling(curve())
    yield bench.plot.comparison(bench.judge(rows, ("old", "new")))


def test_pictures_are_the_same_every_time_and_say_what_they_show():
    first, again = list(pictures()), list(pictures())
    for a, b in zip(first, again):
        assert a.svg == b.svg and len(a.svg) < 60_000
        tree = ElementTree.fromstring(a.svg)
        assert tree.tag.endswith("svg") and a.title in a.svg and "date" not in a.svg.lower().split("metadata")[0]
        assert not any("DejaVu-" in part for part in a.svg.split('"')), "text stays text: no outlines of a font"
    said = [p.desc for p in first]
    assert "1 outliers" in said[0] and "P99" in said[1] and "take 4" in said[2] and "contention" in said[3]
    assert "5.00 % slower" in said[4]


def test_the_last_digits_do_not_change_a_picture():
    a, b = made(seed=3, spread=3), made(seed=3, spread=3)
    b.samples *= 1 + 1e-12
    assert bench.plot.samples(a).svg == bench.plot.samples(b).svg


def test_a_picture_in_chinese(monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", "zh")
    assert "按顺序的样本" in bench.plot.samples(made()).svg


# ---- other tools


def test_pytest_benchmark_reads_ours_and_we_read_its(tmp_path):
    """By the real package: its compare command, and a file that a run of it leaves."""
    pytest.importorskip("pytest_benchmark")
    ours = bench.save_for_pytest_benchmark(tmp_path / "ours.json", [made(seed=1, spread=3)])
    test = tmp_path / "test_it.py"
    test.write_text("def test_it(benchmark):\n    benchmark.pedantic(lambda: sum(range(50)), rounds=20)\n")
    its = tmp_path / "its.json"
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", f"--rootdir={tmp_path}"]
    flags = [f"--benchmark-json={its}", "--benchmark-save-data", f"--benchmark-storage=file://{tmp_path}/kept"]
    alone = {k: v for k, v in os.environ.items() if "XDIST" not in k}  # beside other workers it measures nothing
    done = subprocess.run([*run, str(test), *flags], cwd=tmp_path, env=alone, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (read,) = bench.load(its)
    stats = json.loads(its.read_text())["benchmarks"][0]["stats"]
    assert len(read.samples) == 20 and np.median(read.samples) == pytest.approx(stats["median"] * 1e6)
    # every field that it writes of a benchmark's statistics is in ours
    assert set(stats) <= set(json.loads(ours.read_text())["benchmarks"][0]["stats"])
    compare = [sys.executable, "-m", "pytest_benchmark", "compare", str(ours), str(its), "--columns=median,iqr,rounds"]
    told = subprocess.run(compare, cwd=tmp_path, capture_output=True, text=True)
    assert told.returncode == 0, told.stdout + told.stderr
    assert "mul" in told.stdout and "test_it" in told.stdout


def test_show_prints_a_file_and_draws_it(tmp_path):
    drifting = made(spread=1, seed=2)
    drifting.samples *= np.linspace(1, 1.2, 200)
    path = bench.save(tmp_path / "r.json", [made(), drifting])
    said = CliRunner().invoke(app, ["bench", "show", str(path), "--plots", str(tmp_path / "plots")])
    assert said.exit_code == 0 and "median 100" in said.output and "%" in said.output
    assert len(list((tmp_path / "plots").glob("*.svg"))) == 4
    assert CliRunner().invoke(app, ["bench", "show", str(tmp_path / "none.json")]).exit_code == 2
