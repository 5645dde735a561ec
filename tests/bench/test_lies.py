"""The lie detector: its clocks, what it reads, what it sees on the device, its words. The whole trial of 60 scripts is
scripts/lie_trial.py; here a script stands for each kind of observation."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from drawn import one_in
from places import REPO
from typer.testing import CliRunner

from labkit import bench, messages
from labkit.bench.lies import KINDS, _Runs, judging, mismatch, reading, sizes, words
from labkit.cli import app

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SETS = [Path(__file__).parent / f"scripts_{name}" for name in "abc"]


def text_of(source: str) -> reading.Text:
    return reading.read({"script.py": source})


@pytest.fixture(scope="module", autouse=True)
def one_import():
    """The process that has imported torch, and forks for each run, is kept from one script to the next: those of the
    trial leave nothing behind in it.
    """
    kept, leave = [], _Runs.__exit__

    def enter(self):
        self.server = kept.pop() if kept else None
        return self

    def keep(self, *error):
        if error and self.server is not None:  # without: it did not end in time, or is gone
            kept.append(self.server)
            self.server = None
        leave(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Runs, "__enter__", enter)
        patch.setattr(_Runs, "__exit__", keep)
        yield
    for server in kept:
        server.stdin.close()
        server.stdout.close()
        server.wait(timeout=20)


# ---- the scripts of the trial


@pytest.mark.parametrize("folder", SETS, ids=lambda f: f.name)
def test_each_set_has_twelve_wrong_and_eight_right_ones(folder):
    firsts = [p.read_text(encoding="utf-8").partition("\n")[0] for p in sorted(folder.glob("*.py"))]
    wrong = [line for line in firsts if line.startswith("# lies: ")]
    assert len(wrong) == 12 and sum(line.startswith("# right") for line in firsts) == 8
    assert {kind.strip() for line in wrong for kind in line[8:].split(",")} <= set(KINDS)


def test_every_kind_is_in_the_trial_and_has_its_words():
    said = {line for f in SETS for p in f.glob("*.py") for line in [p.read_text(encoding="utf-8").partition("\n")[0]]}
    assert {k.strip() for line in said if line.startswith("# lies") for k in line[8:].split(",")} == set(KINDS)
    keys = [k for k in messages.tables() if k.startswith("lies.") and isinstance(messages.tables()[k]["en"], dict)]
    assert {k.split(".")[1] for k in keys} == set(KINDS)
    for key in keys:
        for lang in messages.LANGUAGES:
            assert all(messages.lines(key, lang=lang)), key


# ---- seen on the device: one script of each kind of evidence; the others are in scripts/lie_trial.py

OBSERVED = ["a/wrong_sync_loop", "a/wrong_warmup", "a/wrong_hot_cache", "b/b04", "c/c09"]


@pytest.mark.parametrize("name", OBSERVED)
def test_a_wrong_script_is_named_with_line_and_evidence(name):
    script = Path(__file__).parent / f"scripts_{name}.py"
    listed = script.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# lies: ").split(", ")
    verdict = bench.check(script)
    assert not verdict.notes and verdict.kinds and set(verdict.kinds) <= set(listed), verdict
    found = verdict.findings[verdict.kinds.index(listed[0])]
    assert found.file == script.name and 1 < found.line <= len(script.read_text(encoding="utf-8").splitlines())
    assert any(c.isdigit() for c in found.lines()[0]) and "?" not in "".join(found.lines("zh")), found


@pytest.mark.parametrize("name", ["a/right_helper", "b/b19"])
def test_a_right_script_is_not_accused(name):
    verdict = bench.check(Path(__file__).parent / f"scripts_{name}.py")
    assert verdict.ok and verdict.regions and not verdict.notes, verdict


def keys(name: str) -> dict[str, str]:
    return tomllib.loads((Path(__file__).parent / f"scripts_{name}" / "expected.toml").read_text(encoding="utf-8"))


OF_TWENTY = "e n q r s v w x y z aa af ag ah ai al am an ao ap aq ar as at au aw ax ay"


@pytest.mark.parametrize(
    "name, wrong, right",
    [
        ("f", 6, 4),
        ("h", 21, 6),
        ("i", 21, 6),
        ("p", 12, 24),
        ("rt", 0, 24),
        ("ru", 0, 24),
        ("rv", 0, 24),
        ("rw", 0, 24),
        ("rx", 0, 20),
        *((n, 12, 8) for n in OF_TWENTY.split()),
    ],
)
def test_the_key_of_a_stranger_names_each_script(name, wrong, right):
    key = keys(name)
    assert sorted(key) == sorted(p.stem for p in (Path(__file__).parent / f"scripts_{name}").glob("*.py"))
    assert (
        sum(map(bool, key.values())) == wrong and len(key) == wrong + right and set(key.values()) - {""} <= set(KINDS)
    )


JUDGED = "e08 e02 e16 f04 h11 h26 i15 k10 n15 n11 n14 q01 q04 r01 r07 r16 s01 s14 s20 v04 v05 v14 v20 w05 w17 x04 x06 x09 x16 y05 y07 y16 z02 z09 z11 z12 z13 aa13 aa14 af07 af12 af14 af17 ag14 r05 ak06 ak19 al05 al06 al15 am01 am12 an02 an04 ao06 ao07 ao11 ao16 ao19 ap03 ap07 ap16 ap20 rt01 rt02 rt05 rt07 rt08 rt09 rt10 rt23 aq04 ar02 ar13 ar20 as06 as08 as09 as14 at09 at11 at12 at13 at18 at19 ru09 ru10 ru22 au01 au02 au09 au16 rv12 rv16 rv23 aw12 aw13 ax13 ax15 ax17 ax18 rw02 rw12 rw17 ay17 ay20 rx04 rx11 rx12 rx14 rx18 rx20 ba02 ba12 ai10 az07 ba03 aa17".split()


@pytest.mark.parametrize("name", [n for n in JUDGED if one_in(16, n, [REPO / "labkit" / "bench"])])
def test_a_script_is_judged_as_its_key_says(name):
    """Candidates behind one line and pandas; a filter behind a generator; a shape in an f-string that is no claim; two
    sides of different sizes; events beside the stream that works; a compilation given on its own; samples taken again
    until they are short; warm-up readings in the report, though its loop looks at the last ten; a round trip that waits;
    samples that labkit.bench takes; a kernel's time with the issuing in it; a side that gives less; copies beside; a worker thread
    that reads a value; the device's own clock; calls before the clock in the divisor; a request that
    waits and then reads; compilations that are asked for; one shape with packed weights; an add() of
    the script's own; gaps that are said to be in the figure; a unit; a
    projection in place of two, one behind the other; what fits the L2 by its own words;
    what is brought to the host by nature; the least sample called the typical one; calls set aside and listed; one
    packed tensor for two; a float() that reads a loss; before and after in prose; a warm-up that reads the clock; data that end
    before the batch does; a cache that the script empties itself; a shape with and without a batch of one; a difference
    in per cent; a copy that puts an input back; rows of a table of which one was timed; a task that reads a value and
    for which another waits; a tail of 40 samples; the type of a reference; a unit behind a function; a backward that was not timed; the P99 of 27 samples beside their median and largest; a name that
    two functions have; a call from its launch to its end; a sample of launch, run and wait; a pair in turn behind an emptied L2; a rate with a
    first launch in it; waits that are counted; types that errors are held against; the slowest three. One in 16 of them in each run."""
    letters = name.rstrip("0123456789")
    said = keys(letters)[name]
    assert bench.check(Path(__file__).parent / f"scripts_{letters}" / f"{name}.py").kinds == ([said] if said else [])


TWO_WAYS = """
import random, numpy as np, torch, torch_npu

def naive(x):
    centred = x - x.mean(-1, keepdim=True)
    return centred / ((centred * centred).mean(-1, keepdim=True) + 1e-5).sqrt()

def fused(x):
    {fused}

x = torch.arange(4096.0).reshape(16, 256).npu() / 64
us = {{naive: [], fused: []}}
for f in (naive, fused): f({given})
for f in random.Random(1).sample([naive, fused] * 20, 40):
    a, b = (torch.npu.Event(enable_timing=True) for _ in range(2))
    a.record(); f({given}); b.record(); torch.npu.synchronize()
    us[f].append(1e3 * a.elapsed_time(b))
print("16 x 256: naive", np.percentile(us[naive], [50, 90]), "fused", np.percentile(us[fused], [50, 90]), "us, speedup")
"""
RIGHT, HALF = "return torch.nn.functional.layer_norm(x, (256,))", "return x * (x.pow(2).mean(-1, keepdim=True)).rsqrt()"


@pytest.mark.parametrize(
    "fused, given, found",
    [
        (RIGHT, "x", []),
        (HALF, "x", ["mismatch"]),
        (HALF, "torch.randn(16, 256).npu()", []),  # not on the same tensors: nothing can be said
    ],
)
def test_two_that_are_compared_give_the_same(tmp_path, fused, given, found):
    script = tmp_path / "bench.py"
    script.write_text(TWO_WAYS.format(fused=fused, given=given))
    assert [k for k in bench.check(script).kinds if k == "mismatch"] == found


def test_several_calls_between_two_readings_are_no_more_than_one(tmp_path):
    script = tmp_path / "bench.py"
    several = "a.record(); [id(f({given})) for _ in range(4)];"  # each result is gone before the next call
    text = TWO_WAYS.replace("a.record(); f({given});", several)
    script.write_text(text.format(fused=RIGHT, given="x"))
    assert "mismatch" not in bench.check(script).kinds


@pytest.mark.parametrize(
    "said, compares",
    [
        ("merged / separate at this shape: 0.873", True),
        ("copies, MB / second: 12.5", False),
        ("keys / token: 3.2", False),
        ("before 12.1 us, after 8.4 us", True),
        ("The queue is empty before a burst and is drained after it.", False),
        ("fused against eager", True),
    ],
)
def test_a_quotient_of_two_names_compares(said, compares):
    assert bool(reading.says(words.COMPARES, said)) is compares


WARMED = """
import numpy as np, torch, torch_npu
x = torch.randn(256, 256).npu()
def timed(f):
    a, b = (torch.npu.Event(enable_timing=True) for _ in range(2))
    a.record(); y = f(); b.record(); torch.npu.synchronize()
    return 1e3 * a.elapsed_time(b)
first = [timed(lambda: {first}) for _ in range(8)]
us = [timed(lambda: {then}) for _ in range(30)]
print("256 x 256", np.percentile(us, [50, 90]), "us", {said!r}, np.percentile(first, [50, 90]))
"""


@pytest.mark.parametrize(
    "first, said, found",
    [
        ("x * 2.0", "faster than", False),  # the same work in fewer samples: a warm-up
        ("x.exp()", "faster than", True),
        ("x.exp()", "result checked against the CPU,", False),
    ],
)
def test_one_behind_the_other_is_an_order_where_two_are_compared(tmp_path, first, said, found):
    script = tmp_path / "bench.py"
    script.write_text(WARMED.format(first=first, then="x * 2.0", said=said))
    assert ("order" in bench.check(script).kinds) is found


@pytest.mark.parametrize(
    "reads", ["float(y.sum())", "int(y.argmax())", "bool((y > 0).any())", "[10, 20, 30][y.argmax() % 3]"]
)
def test_python_reads_a_value_of_the_device_in_many_ways(tmp_path, reads):
    """Each is a wait, and one of a tensor on the host is none."""
    for where, waits in (("npu", True), ("cpu", False)):
        script = tmp_path / f"{where}.py"
        script.write_text(
            "import time, torch, torch_npu\n"
            f"x, y = torch.rand(64, 64, device='npu'), torch.rand(64, 64, device={where!r})\n"
            f"t = [0.0] * 5\nfor i in range(5):\n    a = time.perf_counter(); x * 2; {reads}; t[i] = time.perf_counter() - a\n"
            "print(min(t), max(t))\n"
        )
        regions = bench.check(script).regions
        assert len(regions) == 5 and all(bool(r["waits"]) is waits for r in regions), [r["waits"] for r in regions]


def test_a_script_that_fails_that_hangs_and_that_measures_nothing(tmp_path):
    broken, slow, empty = (tmp_path / f"{name}.py" for name in ("broken", "slow", "empty"))
    broken.write_text("import time\nt = time.time()\nraise RuntimeError('no such card')\n")
    slow.write_text("import threading\nthreading.Event().wait()\n")
    empty.write_text("print('nothing')\n")
    assert "no such card" in str(bench.check(broken)) and bench.check(broken).ok
    assert "4" in bench.check(slow, timeout=4).notes[0]
    assert "no measurement was seen" in str(bench.check(empty))
    empty.write_text("def (:\n")
    with pytest.raises(SyntaxError):
        bench.check(empty)


def test_the_command_says_the_same_as_the_function(tmp_path):
    run, script = CliRunner(), SETS[2] / "c11.py"
    wrong, verdict = run.invoke(app, ["bench", "check", str(script)]), bench.check(script)
    assert wrong.exit_code == 1 and wrong.stdout.strip() == str(verdict)
    assert verdict.kinds == ["no_work"] and "c11.py:" in str(verdict) and "modelled" in str(verdict)
    assert verdict.json()["findings"][0]["kind"] == "no_work"
    bad = tmp_path / "bad.py"
    bad.write_text("x = = 1")
    assert run.invoke(app, ["bench", "check", str(bad)]).exit_code == 2


TAKES_A_FILE = """
import argparse, time, torch, torch_npu
given = argparse.ArgumentParser()
given.add_argument("out")
given.add_argument("--count", type=int, default=5)
given = given.parse_args()
x = torch.rand(64, 64, device="npu")
for _ in range(given.count):
    a = time.perf_counter(); (x * 2).sum().item(); print(given.out, time.perf_counter() - a)
"""


@pytest.mark.parametrize(
    "text, usage",
    [
        (TAKES_A_FILE, True),
        ("import sys\nif len(sys.argv) < 2:\n    sys.exit('Usage: bench.py FILE')\n", True),
        ("import sys\nout = sys.argv[1]\n", True),
        ("import sys\nprint([][3])\n", False),
        ("raise RuntimeError('no such card')\n", False),
    ],
)
def test_a_script_that_ended_before_it_measured_is_no_success(tmp_path, text, usage, monkeypatch):
    script = tmp_path / "suite.py"
    script.write_text(text)
    for lang, said in (("en", "labkit bench check suite.py new.json"), ("zh", "写在脚本名后面")):
        monkeypatch.setenv("LABKIT_LANG", lang)
        ended = CliRunner().invoke(app, ["bench", "check", str(script)])
        assert ended.exit_code == 2 and (said in ended.output) is usage, ended.output
        if not usage:
            break


def test_a_script_gets_its_own_arguments(tmp_path):
    script = tmp_path / "suite.py"
    script.write_text(TAKES_A_FILE)
    for given in (["new.json"], ["new.json", "--", "--count", "3"]):
        done = CliRunner().invoke(app, ["bench", "check", str(script), *given])
        assert done.exit_code in (0, 1) and "measurements that were seen" in done.output, done.output
    script.write_text("print('nothing')\n")
    assert CliRunner().invoke(app, ["bench", "check", str(script)]).exit_code == 0, "it went to its end"


# ---- clocks


def test_what_a_difference_of_two_readings_remembers():
    """In a process of its own, since the clocks are replaced for good."""
    code = """
import os, sys, time, statistics, timeit
from labkit import device
device.install()
from labkit.bench.lies import clocks
here = os.path.abspath(__file__)
notes = clocks.Notes(os.path.dirname(here), {here})
clocks.install(notes)
a = time.perf_counter()
b = time.perf_counter()
assert type(b - a) is clocks.Span and abs((b - a) - 40e-9) < 1e-12, b - a
total = (b - a) * 1e6 / 2 + (time.perf_counter() - b)
assert len(total.keys) == 2 and not any(r.kept for r in notes.regions.values())
f"{total:.3f}"
assert all(r.kept for r in notes.regions.values())
before = len(notes.regions)
spans = [time.time() - time.time() for _ in range(3)]
statistics.median(spans[1:])
assert [r.kept for r in notes.regions.values()][before:] == [False, True, True]
n = clocks.whole()(time.time() * 1000)
assert isinstance(n, int) and isinstance(n - clocks.whole()(time.time() * 1000), int)
assert type(time.time_ns() // 10**6 - time.time_ns() // 10**6) is clocks.NsSpan
count = len(notes.regions)
timeit.timeit("pass", number=3)
assert len(notes.regions) == count + 1
slept = time.perf_counter(); time.sleep(5); assert 4.9 < time.perf_counter() - slept < 5.1
"""
    script = Path(os.environ.get("TMPDIR", "/tmp")) / f"clocks_{os.getpid()}.py"
    script.write_text(code)
    try:
        said = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60, cwd=REPO,
                              env=dict(os.environ, PYTHONPATH=str(REPO)))  # fmt: skip
    finally:
        script.unlink()
    assert not said.returncode, said.stderr


# ---- the text

TIMES = "import time\nts = []\nfor _ in range(9):\n    t = time.time()\n    f()\n    ts.append(time.time() - t)\n"


@pytest.mark.parametrize(
    "tail, spread",
    [
        ("print(sum(ts) / len(ts))", False),
        ("print(np.mean(ts))", False),
        ("print(min(ts))", False),
        ("print(min(ts), max(ts))", True),
        ("print(np.median(ts))", True),
        ("ts.sort()\nprint(ts[len(ts) // 2])", True),
        ("ts.sort()\nprint(ts[4])", False),
        ("print(ts)", True),
        ("m = sum(ts) / 9\nprint(sum((t - m) ** 2 for t in ts))", True),
        ("json.dump(ts, file)", True),
        ("json.dump({'mean': sum(ts) / len(ts)}, file)", False),
        ("table = pd.DataFrame(ts).agg(['mean', 'median'])", True),
    ],
)
def test_what_is_reported(tail, spread):
    assert text_of(TIMES + tail).spread is spread


@pytest.mark.parametrize(
    "tail, dropped",
    [
        ("ts = [t for t in ts if t < 2]", True),
        ("ts = [t * 1e3 for t in ts]", False),
        ("ts = np.array(ts)\nts = ts[ts < ts.mean()]", True),
        ("ts = np.array(ts)\ngood = ts < 5\nprint(ts[good])", True),
        ("ts = sorted(ts)[2:-2]", True),
        ("ts.sort()\nprint(ts[: int(0.8 * len(ts))])", True),
        ("print(ts[3:])", False),
        ("ts.remove(max(ts))", True),
        ("names = [n for n in names if n > 3]", False),
        ("d = time.time() - t\nif d < 5:\n    ts.append(d)", True),
        ("while time.time() - t < 5:\n    pass", False),
        ("good = heapq.nsmallest(7, ts)", True),
        ("best = heapq.nsmallest(1, ts)", False),
        ("ts = np.clip(ts, 0, 5)", True),
        ("del ts[ts.index(max(ts))]", True),
        ("df = pd.DataFrame(ts)\ndf = df[df.us < df.us.quantile(0.9)]", True),
        ("df = pd.DataFrame(ts)\ndf = df[df.lap >= 3]", False),
        ("slow = sum(1 for t in ts if t > 5)", False),
        ("slow = len([t for t in ts if t > 5])", False),
        ("def again():\n    while True:\n        d = time.time() - t\n        if d < 5:\n            return d", True),
        ("while d > 5:\n    d = time.time() - t", True),
        ("for d in ts:\n    if len(ts) < 20:\n        continue", False),
        (
            "class Log:\n    def add(self, d):\n        self.kept.append(d)\n    def show(self):\n        ms = np.sort(self.kept)\n"
            "        return ms[ms <= 2 * np.median(ms)]\nlog = Log()\nlog.add(time.time() - t)",
            True,
        ),
    ],
)
def test_what_is_dropped(tail, dropped):
    assert bool(text_of(TIMES + tail).drops) is dropped


@pytest.mark.parametrize(
    "script, said, has",
    [
        ("t0 = perf_counter()\nus.append((perf_counter() - t0) * 1e3)", "us", "ms"),
        ("us.append((perf_counter() - begin) * 1e6)", None, None),
        ("self.us.append((time.perf_counter_ns() - self.t0) / 1e6)", "us", "ms"),
        ("self.us.append((time.perf_counter_ns() - self.t0) / 1e3)", None, None),
        ("took_ms = time.monotonic() - start", "ms", "s"),
        ("took_ms = time.monotonic() - start\nprint(took_ms * 1e3)", None, None),
        ("t_us = a.elapsed_time(b) / calls", "us", "ms"),
        ("t_us = a.elapsed_time(b) * (1e3 / calls)", None, None),
        ("def lap_us():\n    return np.median([1]) and a.elapsed_time(b)", None, None),
        ("def lap_us():\n    return a.elapsed_time(b)", "us", "ms"),
        ("lap_s = a.elapsed_time(b) / 1000", None, None),
        ("ms = (perf_counter() - t0) / 1000 * 1e3", None, None),
        ("calls = 1000\nt0 = perf_counter()\nus = (perf_counter() - t0) * 1e3", None, None),
        ("calls_per_s = n / (perf_counter() - t0)", None, None),
        ("mins = perf_counter() - t0", None, None),
    ],
)
def test_the_unit_of_a_name(script, said, has):
    assert [found[2:] for found in text_of(script).units] == ([(said, has)] if said else [])


@pytest.mark.parametrize(
    "clock, us",
    [
        ("int(time.time() * 1000)", 1e3),
        ("int(time.time())", 1e6),
        ("round(time.time(), 3)", 1e3),
        ("time.time_ns() // 10**6", 1e3),
        ("time.perf_counter()", None),
        ("int(time.perf_counter() * 1e9)", None),
    ],
)
def test_the_steps_of_a_clock(clock, us):
    found = text_of(f"import time\nt = {clock}\n").quantum
    assert found is None if us is None else found[0] == pytest.approx(us)


@pytest.mark.parametrize(
    "written, held", [("4096 rows", True), ("64 MiB", True), ("16M", True), ("40960", False), ("4.096", False)]
)
def test_a_shape_that_is_named(written, held):
    assert sizes.stated((4096, 4096), written, {4}) is held


@pytest.mark.parametrize(
    "said, held",
    [
        ("3 outliers were left out", True),
        ("the first 10 samples are thrown away", False),
        ("dropout, warm-up discarded", False),
        ("38 of 40 samples", True),
    ],
)
def test_what_says_that_samples_are_left_out(said, held):
    assert reading.names_outliers(said) is held


@pytest.mark.parametrize(
    "shown, step",
    [([0.012, 0.013, 0.012], 1e3), ([12, 13, 12], 1e3), ([0.0123, 0.0127, 0.0125], 0), ([0, 0, 0], 12_500)],
)
def test_the_steps_of_a_clock_as_they_show(shown, step):
    """Samples of 12.3, 12.7 and 12.5 ms, by clocks of seconds, of milliseconds, and one that never moves."""
    group = [{"shown": value, "host_us": us, "kind": "host"} for value, us in zip(shown, (12_300, 12_700, 12_500))]
    assert judging._step(group) == pytest.approx(step)


@pytest.mark.parametrize(
    "before, after, moves",
    [
        ("mean 400.2 us", "mean 19600.1 us", True),
        ("p50 6.21 us, sd 0.031", "p50 6.22 us, sd 0.044", False),
        ("12 rounds, 6.21 us", "3 rounds, 6.21 us", False),
        ("first call 20.10 ms\n6.21 us", "first call 1000.10 ms\n6.21 us", False),
        ("1200.5 GB/s", "24.1 GB/s", True),
        ("12 us", "500 us", True),
        ("12 calls", "500 calls", None),
    ],
)
def test_a_report_moves_where_a_first_launch_is_in_a_figure(before, after, moves):
    assert judging.moves(judging.Observed([], before), judging.Observed([], after)) is moves


@pytest.mark.parametrize(
    "report, held", [("fp16 in, fp32 sums: 3 us", False), ("fp16: 3 us", True), ("np.float64(3.5)", False)]
)
def test_a_type_that_is_claimed(report, held):
    """Where float32 was timed."""
    claimed = {d for d, pattern in words.DTYPES.items() if reading.says(pattern, report)}
    assert bool(claimed - {"float32"} and mismatch._said_alone(report, {"float32"})) is held


@pytest.mark.parametrize(
    "report, unseen",
    [
        ("batch 00: 1.2 ms\nbatch 07: 1.3 ms", ""),  # the numbers of batches, from none on
        ("".join(f"batch {i}: 1.2 ms\n" for i in range(12)), ""),
        ("shape (00, 512)", ""),
        ("batch 48: 1.2 ms", "48"),
        ("1000x48", "1000x48"),
        ("batch 2: 1 ms, batch 8: 2 ms, batch 64: 4 ms", "2"),
    ],
)
def test_a_number_of_a_batch_is_no_size(report, unseen):
    one = {"shapes": [[8, 512]], "host_shapes": [], "gives": [[8, 512], [16, 512]], "calls_of": {"mul": 3}, "calls": 3}
    case = SimpleNamespace(seen=SimpleNamespace(output=report), regions=[one])
    assert mismatch._unseen(case, [one]) == unseen


def test_what_a_script_writes_into_a_file_is_its_report(tmp_path):
    script = tmp_path / "writes.py"
    script.write_text("open('times.csv', 'w').write('elements,us\\n589824,3.5\\n')\n")
    assert "589824,3.5" in bench.check(script).output
    assert sizes.stated((768, 768), "mul,589824,3,1.5", {4})


AS_NUMBERS = """
import datetime, statistics, time
from collections import deque
import numpy as np
from labkit.bench.lies.clocks import NOTES, NsTick, Tick

def laps():
    for _ in range(3):
        begin = time.perf_counter()
        yield time.perf_counter() - begin

begin = time.perf_counter_ns()
ns = time.perf_counter_ns() - begin
assert f"{ns // 2:d} {round(1e3 * ns):d}" and len(range(ns)) == ns, "an int stays one"
assert (ns * np.ones(2)).shape == (2,) and ns * datetime.timedelta(1) and (ns * [1])[:1] == [1]
assert isinstance(time.perf_counter_ns() / 1e6, Tick) and isinstance(time.perf_counter_ns() * 1e-9, Tick)
assert isinstance(int(time.time()), NsTick) and int("ff", base=16) == 255 and np.zeros(1, dtype=int).dtype == np.int64
for now in (datetime.datetime.utcnow, datetime.datetime.today, datetime.datetime.now):
    before, first = len(NOTES.regions), now()
    assert now() - first is not None and len(NOTES.regions) == before + 1, now
for statistic in (statistics.mean, statistics.median, min, max, sorted, lambda ts: np.fromiter(ts, float)):
    for kind in (iter, list, deque, lambda ts: dict(enumerate(ts)).values()):
        before = sum(r.kept for r in NOTES.regions.values())
        statistic(laps() if kind is iter else kind(laps()))
        assert sum(r.kept for r in NOTES.regions.values()) == before + 3, (statistic, kind)
try:
    time.sleep(-1)
except ValueError:
    print("as numbers do")
"""


def test_a_reading_does_what_a_number_does(tmp_path):
    script = tmp_path / "numbers.py"
    script.write_text(AS_NUMBERS, encoding="utf-8")
    assert "as numbers do" in bench.check(script).output


def test_only_plain_numbers_are_evaluated():
    value = lambda text: reading._value(ast.parse(text, mode="eval").body)
    assert value("10 ** 6") == 10**6 and value("1e3 * 1e3") == 1e6
    assert value("open('x')") is None and value("10 ** 10 ** 9") is None
