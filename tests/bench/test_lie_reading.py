"""What the lie detector reads in a script's text."""

from __future__ import annotations

import ast
import re

import pytest

from labkit.bench.lies import reading, units, words

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
