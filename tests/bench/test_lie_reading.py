"""What the lie detector reads in a script's text."""

from __future__ import annotations

import ast
import re

import pytest

from labkit import bench
from labkit.bench.lies import clocks, reading, samples, units, words

DEVICE = """
class Series:
    def steady(self):
        v = np.asarray(self.raw)
        return v[np.abs(v - np.median(v)) <= 6 * {limit}]

def serve(series):
    begin = labkit.device.clock().{clock}
    model(x)
    series.raw.append(labkit.device.clock().{clock} - begin)
"""
TABLE = """
table = pd.DataFrame(rows)
table["us"] = [1e3 * a.elapsed_time(b) for a, b in marks]
near = table[table["us"] < 5.0]
print({use})
"""


def kinds(source: str) -> list[str]:
    return [d.how for d in reading.read({"script.py": source}).drops]


@pytest.mark.parametrize("clock, found", [("host_us", ["mask"]), ("device_us", ["mask"]), ("chip", [])])
def test_the_devices_clock_is_a_clock(clock, found):
    assert kinds(DEVICE.format(limit="mad(v)", clock=clock)) == found


@pytest.mark.parametrize(
    "use, found",
    [
        ("len(near), list(near.index)", []),
        ("near.index, near.empty", []),
        ("len(near), near.us.mean()", ["mask"]),
        ("near.mean(), len(table)", ["mask"]),
    ],
)
def test_rows_that_are_only_named_are_not_left_out(use, found):
    assert kinds(TABLE.format(use=use)) == found


@pytest.mark.parametrize(
    "use, found",
    [
        ("print(times[-3:])", []),
        ("print('slowest', *times[0:3])", []),
        ("for i, t in enumerate(times[-3:]):\n    print(i, t)", []),
        ("print(statistics.mean(times[:3]))", ["sorted"]),
        ("print(statistics.mean(1e6 * t for t in times[:3]))", ["sorted"]),
    ],
)
def test_a_few_that_are_shown_are_not_left_out(use, found):
    lap = "    begin = time.perf_counter()\n    f(x)\n    times.append(time.perf_counter() - begin)\n"
    assert kinds(f"times = []\nfor _ in range(99):\n{lap}times.sort()\n{use}\n") == found


@pytest.mark.parametrize(
    "report, most",
    [("P50 3 us, P99 4 us, P99.9 5 us", 99.9), ("p 95: 3 us", 95.0), ("P50 3 us", 0.0), ("deep99 of 100", 0.0)],
)
def test_the_largest_percentile_of_a_report(report, most):
    assert words.tail(report) == most


@pytest.mark.parametrize(
    "report, left",
    [
        ("the values of both agree with a float64 reference", None),
        ("checked against float64", None),
        ("results are compared to fp64", None),
        ("float16 matmul, 3 us", "float16"),
        ("fp16 beats fp32", "fp16"),
    ],
)
def test_the_type_of_a_reference_is_no_claim(report, left):
    report = re.sub(words.REFERENCE, "", report, flags=re.IGNORECASE)
    assert reading.says("|".join(words.DTYPES.values()), report) == left


@pytest.mark.parametrize(
    "said, found", [("as good as free in our training step", None), ("a training step: 3 ms", "training step")]
)
def test_a_step_is_claimed_where_it_is_what_was_timed(said, found):
    assert reading.says(words.TRAINING, said) == found


LIST = """
def sample():
    return np.array([a.elapsed_time(b) {by} for a, b in zip(starts, ends)])

{name} = sample()
print({use})
"""


@pytest.mark.parametrize(
    "name, by, use, wrong",
    [
        ("seconds", "", "seconds", True),
        ("ms", "", "ms", False),
        ("us", "* 1e3", "us", False),
        ("us", "", "us", True),
        ("seconds", "", "[x / 1e3 for x in seconds]", False),
    ],
)
def test_a_unit_through_a_functions_list(name, by, use, wrong):
    found = units.wrong_units(ast.parse(LIST.format(name=name, by=by, use=use)))
    assert bool(found) == wrong, found


@pytest.mark.parametrize(
    "said", ["The backward pass was not timed.", "forward of F.linear", "no backward", "the backward is left out"]
)
def test_a_report_may_say_that_it_is_the_forward(said):
    assert reading.says(words.ONLY, said)


def test_a_report_of_both_ways_says_no_such_thing():
    assert not reading.says(words.ONLY, "forward and backward of F.linear, 3 us")


def test_a_name_is_its_functions_own_and_what_is_returned_beside_a_time_hides_no_unit():
    script = """
def one():
    t = time.perf_counter_ns()
    y = x @ x
    return (time.perf_counter_ns() - t)DIVIDED, y
def all():
    us = []
    t, y = one()
    us.append(t)
    a_ms, b = time.perf_counter(), 1
"""
    for divided, said in ((" / 1e3", []), ("", [("us", "us", "ns")])):
        found = units.wrong_units(ast.parse(script.replace("DIVIDED", divided)))
        assert sorted(x[1:] for x in found) == [("a_ms", "ms", "s"), *said]


CLOSURES = """
def clock():
    began = 0
    def start():
        nonlocal began
        began = time.perf_counter_ns()
    def stop():
        return (time.perf_counter_ns() - began) / 1eBY
    return start, stop
def bench(f):
    start, stop = clock()
    def run():
        figures = []
        start()
        figures.append(stop() / calls)
        return sorted(figures)
    return run
def main():
    ms = bench(f)()
    s = sorted(ms)
"""


@pytest.mark.parametrize("by, wrong", [("3", True), ("6", False)])
def test_a_unit_through_functions_that_return_functions(by, wrong):
    found = units.wrong_units(ast.parse(CLOSURES.replace("BY", by)))
    assert [x[1] for x in found] == ["ms"] * wrong


@pytest.mark.parametrize(
    "line, alone",
    [
        ("no call, wait only | 0.3", True),
        ("the wait alone: 0.3 us", True),
        ("a synchronize on an idle card takes 0.3 us", True),
        ("只有一次同步，什么都不算：0.3 us", True),
        ("softmax: 9.3 us, call and wait only", False),
        ("softmax: 9.3 us, one wait at the end", False),
    ],
)
def test_a_wait_with_nothing_before_it(line, alone):
    assert bool(reading.says(words.WAIT_ALONE, line)) is alone


@pytest.mark.parametrize(
    "said, warm",
    [
        ("so it never leaves the L2", True),
        ("HBM has no part in this", True),
        ("all of it served by the L2", True),
        ("it leaves the L2 and comes back from HBM", False),
        ("HBM has its part in this", False),
    ],
)
def test_what_says_that_the_l2_holds_it(said, warm):
    assert bool(reading.says(words.WARM, said)) is warm


@pytest.mark.parametrize(
    "line, alone",
    [
        ("capture, not in the above: 3.2 ms", True),
        ("capture of the graph, ms: 3.20, 0.31", True),
        ("captured and replayed: median 12.3 us", False),
        ("graph, capture included: 12.3 us", False),
        ("the graph is captured from eager", False),
    ],
)
def test_a_row_of_the_captures_own(line, alone):
    assert words.once(line) is alone


IN_TURN = """
import random, time
import numpy as np, torch, torch_npu
torch.manual_seed(1)
x, up, down = torch.randn(256, 32).npu(), torch.randn(32, 64).npu() / 6, torch.randn(64, 32).npu() / 8
{ways}
us = {{name: [] for name in ways}}
for name in [*ways] * 2 + random.Random(1).sample([*ways] * {rounds}, {rounds} * len(ways)):
    t = time.perf_counter(); ways[name](); torch.npu.synchronize()
    us[name].append(1e6 * (time.perf_counter() - t))
for name in ways:
    print(f"{{name}}, 256 x 32: {{np.percentile(us[name][2:], [50, 90])}} us, compared, wait included")
"""
CHUNKS = """
def whole():
    return (x @ up).relu() @ down

def chunked():
    out = torch.empty_like(x)
    for src, dst in zip(x.chunk(4){less}, out.chunk(4)):
        dst.copy_((src @ up).relu() @ down)
    return out

ways = {{"reference, whole": whole, "chunked": chunked}}
"""
WAITS = 'ways = {{"relu": x.relu, "tanh": {called}, "the wait alone": lambda: None}}'
OPTIMIZERS = """
net = torch.nn.Linear(32, 64).npu()
for p in net.parameters(): p.grad = torch.ones_like(p)
groups = [{{"params": [net.weight]}}, {{"params": [net.bias], "weight_decay": 0.0}}]
one, other = torch.optim.AdamW(net.parameters(), foreach=True), torch.optim.AdamW({taken}, fused=True)
ways = {{"foreach": one.step, "fused{said}": other.step}}
"""


@pytest.mark.parametrize(
    "ways, found",
    [
        (CHUNKS.format(less=""), []),
        (CHUNKS.format(less="[:3]"), ["mismatch"]),
        (WAITS.format(called="x.tanh"), []),
        (WAITS.format(called="lambda: x.tanh"), ["no_work"]),
        (OPTIMIZERS.format(taken="groups", said=""), []),
        (OPTIMIZERS.format(taken="groups[:1]", said=""), ["mismatch"]),
        (OPTIMIZERS.format(taken="groups[:1]", said=", a subset of the parameters"), []),
    ],
    ids=["chunks", "a chunk less", "wait alone", "not called", "two groups", "one group", "said so"],
)
def test_less_is_done_or_not(tmp_path, ways, found):
    """A result that is written in parts is whole, and one that lacks a part is not; a row of the wait alone is no
    function that was not called; a step that leaves parameters out is named, unless the report says so."""
    (tmp_path / "bench.py").write_text(IN_TURN.format(ways=ways, rounds=12), encoding="utf-8")
    assert [k for k in bench.check(tmp_path / "bench.py").kinds if k in ("mismatch", "no_work")] == found


SOAK = """
import time, torch, torch_npu
x = torch.randn(64, 64).npu()
x + x
torch.npu.synchronize()
n, begin = 0, time.perf_counter()
while time.perf_counter() - begin < 0.5:
    x + x
    n += 1
torch.npu.synchronize()
took = time.perf_counter() - begin
print(f"64 x 64: {sustained} {n * 64 / took:.1f} rows/s, {n} calls")
"""


@pytest.mark.parametrize("said, found", [("sustained", []), ("mean", ["spread"])])
def test_a_loop_until_a_deadline_is_seen_by_its_first_calls(tmp_path, said, found):
    (tmp_path / "bench.py").write_text(SOAK.replace("{sustained}", said), encoding="utf-8")
    verdict = bench.check(tmp_path / "bench.py")
    assert f" {samples._LOOKS} calls" in verdict.output and verdict.kinds == found, (verdict, verdict.output)


def test_what_a_loop_is_told_that_looks_at_the_clock(monkeypatch):
    """Only one that works, and asks the same again and again; what waits for a time waits to its end."""
    now = [0]
    monkeypatch.setattr(clocks, "lib", lambda: type("Lib", (), {"lab_host_ns": lambda self: now[0]})())

    def told(step_ns, how="__lt__", true=True, limit=lambda i: 2.0):
        deadlines, said = samples.Deadlines(), []
        for i in range(samples._LOOKS + 1):
            now[0] += step_ns
            said.append(deadlines.answers(("s.py", 3), 0.5, limit(i), how, true))
        return said

    assert told(20_000) == [True] * samples._LOOKS + [False]
    assert told(20_000, "__ge__", False)[-1] is True
    assert all(told(40)) and all(told(20_000, limit=float)) and all(told(20_000, "__gt__", True))


@pytest.mark.parametrize(
    "rounded, us",
    [
        ("round(time.perf_counter() - t0, ndigits=9)", None),
        ("round(time.perf_counter() - t0, ndigits=3)", 1e3),
        ("round(time.perf_counter() - t0, None)", 1e6),
        ("round(time.perf_counter() - t0, digits)", None),
        ("((time.perf_counter() - t0) * 1e9) // 1", None),
        ("((time.perf_counter() - t0) * 1e3) // 1", 1e3),
        ("e.elapsed_time(f) // 1", 1e3),
        ("int(time.time() * (1000 * 1000))", 1.0),
        ("int(time.time() * (1 / 60))", 6e7),
        ("int(time.time_ns() / 1e3)", 1.0),
    ],
)
def test_the_steps_of_what_is_rounded(rounded, us):
    found = reading.read({"script.py": f"import time\nt = {rounded}\n"}).quantum
    assert found is None if us is None else found[0] == pytest.approx(us)


@pytest.mark.parametrize(
    "text",
    [
        "P = 0x" + "F" * 384,
        "ms = (time.perf_counter() - t0) * 1e200**2",
        "us = (time.perf_counter() - t0) * 10**400 / 1e6",
        "q = int(time.time() * 1000**18 * 1000**18 * 1000**18)",
        "s = " + " + ".join(["a"] * 300),
        "t = time.time()" + " - t0" * 900,
        "if x == 0:\n    y = 0\n" + "".join(f"elif x == {i}:\n    y = {i}\n" for i in range(168)),
    ],
)
def test_every_script_is_read_to_its_end(text):
    """Numbers that no float can hold, and expressions deeper than Python's own stack."""
    reading.read({"script.py": f"import time\n{text}\n"})


def test_a_power_is_no_product():
    assert units.value(ast.parse("10**100", mode="eval").body) == 1e100
    assert units.wrong_units(ast.parse("t_s = time.perf_counter() * 10**30")) == []
