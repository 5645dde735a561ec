"""The lie detector: figures that no interval of a run can have, inputs that the L2 holds at each call, claims from too few
samples or one shape, steps that change what they take, requests in flight.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from drawn import one_in
from places import REPO

from labkit import bench
from labkit.bench.lies import cache, figures, judging, mismatch, rates, reading, spread, tables, turns, words
from labkit.bench.lies.reading import says

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def sample(**other) -> dict:
    """Four calls between two readings: 40 us."""
    return {"kernels": 4, "copies": 0, "value_us": 40.0, "host_us": 40.0, "calls": 4, "parts": [], "on_host": {},
            "line": ["s.py", 3], "among_threads": False, "names": ["aten::add"], "shapes": [[8, 8]], "dtypes": ["float32"]} | other  # fmt: skip


def case(output: str, regions=None, numbers=(), strings="", **seen):
    regions = [sample(), sample(value_us=44.0)] if regions is None else regions
    return SimpleNamespace(
        regions=regions,
        groups={},
        text=SimpleNamespace(numbers=set(numbers), strings=strings),
        seen=SimpleNamespace(output=output, regions=regions, **seen),
        find=lambda kind, place, variant="", **numbers: (kind, variant, numbers),
    )


@pytest.mark.parametrize(
    "output, said",
    [
        ("add 8 x 8: median 10500.00 us a call, worst 11000.00", "10500.00 us"),
        ("add 8 x 8: median 0.0105 us a call", "0.0105 us"),
        ("P50 10,500 ms", "10,500 ms"),
        ("shape,median_us\\n8x8,10500.0".replace("\\n", "\n"), "10500.0 us"),
        ("| shape | p50 (ms) |\n|---|---|\n| 8 x 8 | 10.5 |", "10.5 ms"),
        ("shape     us p50\n8 x 8    10500.0", "10500.0 us"),
        ('{"shape": [8, 8], "us": {"median": 10500.0}}', "10500.0 us"),
        ('[{"n": 8, "median_ms": 10.5}]', "10.5 ms"),
        ("median 10.5 us a call", None),
        ("median 42.0 us", None),
        ("median 0.0105 ms a call, P90 0.011 ms", None),
        ("median 90 us", None),  # of two regions together
        ("total 10500 us", None),
        ("median 10.5 us a call, P90 10500 us a call", None),  # who uses the unit well means another thing
        ("10500 us of budget, median 10.5 us", None),
        ("median 0.0105 us a row", None),
        ("median 10.5 us, standard deviation 0.01 us", None),
        ("10500 us in all calls", None),
        ("3000 us", None),  # of what?
        ("median 900 us", None),  # not a factor of a unit
        ("shape,total_us\n8x8,10500.0", None),
        ("shape,us_per_row\n8x8,0.0105", None),
        ('{"batch": 8, "items_per_s_median": 11000}', None),
        ("samples,p50_second_half_us\n200,10.54", None),
        ("shape  median calls/s\n8 x 8  11000", None),
        ("at_s,median_us\n10500,10.5", None),
        ("The median of 10500 us is what the paper has", None),
    ],
)
def test_a_figure_that_no_interval_can_have(output, said):
    assert [f[2]["said"] for f in figures.impossible(case(output))] == ([said] if said else [])


def test_a_figure_of_the_text_or_of_a_first_call_is_no_wrong_unit():
    assert not list(figures.impossible(case("median 10500 us", numbers=[10500.0])))
    assert not list(figures.impossible(case("median 10500 us", strings="the old median 10500 us")))
    late = [sample(), sample(value_us=20_000.0)]
    assert not list(figures.impossible(case("longest 20000 us", regions=late)))
    assert not list(figures.impossible(case("median 10500 us", regions=[])))


@pytest.mark.parametrize(
    "held, found",
    [
        ([1.0, 1.0, 1.0], True),
        ([0.0, 1.0, 1.0], False),  # one of them emptied or changed: the script takes turns
        ([None, None, None], False),
        ([1.0, 1.0], False),
    ],
)
def test_inputs_that_the_l2_holds_at_each_call(held, found):
    regions = [sample(held=h) for h in held]
    c = case("", memory=True, cold=None, held=regions)
    assert [f[:2] for f in cache.warmed(c)] == ([("hot_cache", "held")] if found else [])


@pytest.mark.parametrize(
    "report, claims",
    [
        ("what it gets out of the main memory", True),
        ("sum of columns, cold cache", True),
        ("HBM GB/s 1200", True),
        ("L2 cold, 3 us", True),
        ("cold 20 ms, later calls 3 us", False),  # a first call
        ("1200 GB/s", False),  # a rate, of whatever
        ("nothing is said about a cold cache", False),
        ("cumsum with fresh input values each time", False),  # just written, perhaps into the L2
        ("1200 GB/s, the HBM's peak is 1600", False),
    ],
)
def test_what_says_that_data_come_from_memory(report, claims):
    assert cache.claims_memory(reading.Text(), report) is claims


@pytest.mark.parametrize(
    "report, calls",
    [
        ("the P99 above, which one call in a hundred exceeds", 100),
        ("99 of 100 calls need no more", 100),
        ("once in 1,000 calls", 1000),
        ("bytes counted, one call of 128 MiB each", 0),
        ("one call in 100 us", 0),
        ("one wait for 100 calls, once in 20 calls a wait", 0),
        ("1 in 20 requests waits longer", 20),
        ("99.9 % of all requests are quicker", 1000),
        ("95 % of calls", 20),
        ("100 % of calls", 0),
        ("30 % of the calls", 0),
        ("one of 20 shapes, 2 of 40 windows", 0),
        ("the first 10 of 200 calls are warm-up", 0),
        ("blocks of 100 calls", 0),
        ("P99 3 us", 0),
    ],
)
def test_of_how_many_calls_a_report_speaks(report, calls):
    assert words.frequency(report) == calls


@pytest.mark.parametrize("order, drawn", [("aaabbbccc", 3), ("abcabcabc", 9), ("aabcbacca", 9), ("aaaa", 4)])
def test_samples_of_one_thing_or_of_a_mix(order, drawn):
    regions = [
        {"via": [["s.py", 3]], "start": i, "names": [n], "shapes": [], "dtypes": [], "on_host": {}}
        for i, n in enumerate(order)
    ]
    c = SimpleNamespace(regions=regions, text=SimpleNamespace(bare=set()))
    assert spread.drawn(c) == drawn
    for r in regions[:2]:  # two more whose values a line throws away, while another keeps the others
        r["via"] = [["s.py", 3], ["s.py", 8]]
    for r in regions[2:]:
        r["via"] = [["s.py", 3], ["s.py", 9]]
    c.text.bare = {("s.py", 8)}
    assert spread.used(c) == regions[2:]
    c.text.bare = {("s.py", 8), ("s.py", 9)}
    assert spread.used(c) == regions, "nobody takes a value: the function keeps them itself"


def test_lines_that_take_no_value():
    source = "warm()\nx = [lap() for _ in range(6)]\ny = lap()\nobj.lap()\n"
    assert reading.read({"s.py": source}).bare == {("s.py", 1), ("s.py", 4)}


@pytest.mark.parametrize(
    "said, held",
    [
        ("It holds for tensors of every size, from a bias", True),
        ("faster whatever the shape", True),
        ("use it for all lengths", True),
        ("it holds for every size above", False),
        ("it holds for all shapes listed", False),
        ("--rows takes any size", False),
        ("faster at 512 x 512", False),
    ],
)
def test_what_concludes_for_every_size(said, held):
    assert bool(says(words.EVERY, said)) is held


@pytest.mark.parametrize(
    "said, compares",
    [
        ("cross_entropy against the vocabulary", False),
        ("time against length", False),
        ("fused against composed", True),
        ("the fused one does  0  times the rows of the composed formula", True),
        ("a step takes 1.3 times the step of ours", True),
        ("the tail is 1.3 times the median of all", False),
        ("3 times the size of the L2", False),
    ],
)
def test_what_compares_two(said, compares):
    assert bool(says(words.COMPARES, said)) is compares


@pytest.mark.parametrize(
    "report, labelled",
    [
        ("  64 x 500 forward 12.0\n  64 x 500 forward+backward 31.0", True),
        ("fwd 12.0 us\nfwd + bwd 31.0 us", True),
        ("forward and backward\nold 12.0\nnew 31.0", False),
        ("forward 12.0\nforward 31.0", False),
    ],
)
def test_rows_of_one_way_and_of_both(report, labelled):
    assert mismatch._both_labelled(report) is labelled


@pytest.mark.parametrize(
    "kept, names",
    [
        ("[b for b in rates if rates[b] >= 0.9 * best]", True),
        ("[b for b in sorted(rates) if rates[b] >= best]", True),
        ("[b for b, us in times.items() if us <= best]", True),
        ("[t for t in times if t < limit]", False),
        ("[us for b, us in times.items() if us <= best]", False),
        ("[i for i, t in enumerate(times) if t < limit]", False),
        ("[b for b in rates if b < limit]", False),
    ],
)
def test_candidates_by_their_figures_are_no_samples(kept, names):
    assert tables.names_of_table(ast.parse(kept).body[0].value) is names


def test_what_is_filled_in_may_have_spaces_around_it():
    assert reading.names_outliers("without  0  slow ones") and not reading.names_outliers("the fast and the slow ones")


@pytest.mark.parametrize("waits, others, found", [(2, [0, 3], False), (2, [0, 0], True), (0, [0, 3], True)])
def test_the_work_of_another_request_in_flight_is_not_this_ones(waits, others, found):
    left = {"kind": "host", "pending_end_us": 4.0, "pending_start_us": 0.0, "waited_behind": False, "waits": waits,
            "open": others, "end_line": ["s.py", 5]}  # fmt: skip
    c = case("", regions=[sample(**left)])
    c.claims = ""
    assert bool(list(judging._unsynchronised(c))) is found


@pytest.mark.parametrize(
    "report, parts, counts, found, inner",
    [
        ("gelu: 24.6 us per call", [5], [], 5, ""),
        ("gelu, 4 layers: 24.6 us a call of all", [5], [], 0, ""),  # said: several of them
        ("gelu: 24.6 us per round", [5], [], 0, ""),
        ("softmax: 24.6 us per call", [5], [], 0, ""),  # another one's name
        ("gelu: 6.1 us per call", [20], [], 0, ""),
        ("gelu: 6.1 us per call, 33 calls/ms", [5], [20], 0, ""),  # divided by all, too
        ("gelu: 6.1 us per call", [3], [], 0, ""),
        ("gelu\n\nus per call\n24.6", [5], [], 5, "gelu"),  # a table, and a loop of plain calls within the rounds
        ("gelu\n\nus per call\n24.6", [5], [], 0, ""),
        ("gelu\n\nus a call of all\n24.6", [5], [], 0, "gelu"),
        ("gelu\n\nus per call\n6.1", [20], [], 0, "gelu"),
    ],
)
def test_the_time_of_a_round_is_no_call_s(report, parts, counts, found, inner):
    taken = [sample(names=["aten::gelu"], calls_of={"aten::gelu": 20}, parts=parts, counts=counts)] * 3
    c = case(report, regions=taken)
    c.text = SimpleNamespace(inner={inner})
    assert mismatch._outer(c, taken) == found
    assert not mismatch._outer(c, [taken[0] | {"calls_of": {"aten::gelu": 18}}, taken[0]])


@pytest.mark.parametrize(
    "calls, rows, parts", [(8, 32, True), (1, 32, False), (8, 64, False), (4, 64, True), (8, 128, False)]
)
def test_what_is_worked_off_block_by_block_is_the_same_work(calls, rows, parts):
    whole = [sample(calls_of={"aten::softmax": 1, "aten::mm": 2}, shapes=[[256, 256], [256, 32]])]
    blocks = [sample(calls_of={"aten::softmax": calls, "aten::copy_": 3}, shapes=[[rows, 256], [rows, 32]])]
    assert mismatch._in_parts(blocks, whole) is parts
    columns = [sample(calls_of={"aten::softmax": calls}, shapes=[[256, rows]])]  # three projections, one for all
    assert mismatch._in_parts(columns, whole) is parts


@pytest.mark.parametrize(
    "report, held",
    [
        ("3.4 times as fast as brackets, for any table and any number of picked rows", True),
        ("it wins whatever the number of rows, faster for any number of columns", True),
        ("3.4 times as fast as brackets at this number of rows", False),
        ("the same numbers for all rows", False),
    ],
)
def test_any_number_of_rows_is_every_shape(report, held):
    assert bool(reading.says(words.EVERY, report)) is held


@pytest.mark.parametrize(
    "report, names, drawn",
    [
        ("dropout p 0.1: 7.2 us", ["aten::add"], False),
        ("dropout p 0.1: 7.2 us", ["aten::add", "aten::native_dropout"], True),
        ("no dropout: 7.2 us", ["aten::add"], True),  # said
        ("residual add: 7.2 us", ["aten::add"], True),
    ],
)
def test_dropout_that_drops_nothing_is_seen(report, names, drawn):
    c = case(report, regions=[sample(names=names)])
    c.text.words = {"Dropout", "eval"}
    assert bool(list(rates.undropped(c))) is not drawn
    c.text.words = {"Dropout"}
    assert not list(rates.undropped(c))


@pytest.mark.parametrize(
    "called, checks", [({"eq", "abs", "ne", "mul"}, ["isfinite"]), ({"abs", "mul"}, []), ({"isclose"}, ["isclose"])]
)
def test_a_check_of_the_results_inside_a_sample(called, checks):
    from labkit.bench.lies import operators

    assert operators.checks(called) == checks
    inside = {
        "totals": [],
        "checks": checks,
        "calls": 9,
        "first": [],
        "copy_bytes": 0,
        "beside": {},
        "makers": [],
        "names": ["aten::mm"],
    }
    inside |= {"random_us": 0.0, "filled_us": 0.0}
    for report, said in (("9.1 us a call", False), ("9.1 us a call, check included", True)):
        c = case(report, regions=[sample(**inside)])
        c.claims = report
        assert bool(list(judging._inside(c))) is (bool(checks) and not said)


@pytest.mark.parametrize(
    "text, said",
    [
        ("very_first_call_ms_not_in_samples", True),
        ("捕获（主机时钟，一次性）", True),
        ("capture_once_ms", True),
        ("capture is paid once", True),
        ("call_ms", False),
        ("捕获器", False),
    ],
)
def test_a_first_call_is_said_in_keys_and_in_chinese(text, said):
    assert words.once(text) is said


@pytest.mark.parametrize("report, samples, few", [("P95 1 us P50 2", 10, 95), ("P95 1 us P50 2", 11, 0), ("P90", 5, 0)])
def test_a_percentile_of_ten_samples_is_the_largest(report, samples, few):
    assert words.few_for(report, samples) == few


def test_threads_that_measure_at_once_are_known():
    """What lies in a region by time is not its own alone then; one behind the other is no overlap."""
    from labkit.bench.lies import watch

    def region(thread, start, end, line):
        return SimpleNamespace(thread=thread, start=start, end=end, via=(("a.py", line),))

    one, two = region(1, 0, 10, 1), region(2, 5, 15, 2)
    assert watch._crossed([one, two]) == {one.via, two.via}
    assert watch._crossed([one, region(1, 5, 15, 2)]) == set()  # a whole run and a step of it
    assert watch._crossed([one, region(2, 10, 15, 2)]) == set()
    assert watch._crossed([region(1, 0, 30, 1), region(1, 1, 2, 2), region(2, 20, 25, 3)]) == {
        (("a.py", 1),), (("a.py", 3),)
    }  # fmt: skip


@pytest.mark.parametrize(
    "apart, waited, first, found",
    [(0.0, 1, 19.3, True), (5.0, 1, 19.3, False), (0.0, 0, 19.3, False), (0.0, 1, 18.4, False)],
)
def test_the_first_of_two_behind_a_wait_pays_for_its_launch(monkeypatch, apart, waited, first, found):
    """apart: us between the end of the one and the begin of the other, where a wait may be."""
    one, other = [], []
    for start in (0.0, 40.0, 80.0):
        alike = {"kind": "event", "host_us": 18.0, "busy_us": 4.4}
        one.append(sample(start=start, value_us=first, waits_between=waited if start else 0, **alike))
        other.append(sample(start=start + 18.0 + apart, value_us=18.2, waits_between=1, **alike))
    monkeypatch.setattr(turns, "_turns", lambda c: [(one, other)])
    assert bool(list(turns.drained(case("")))) is found
    other[:] = [r | {"busy_us": 6.0} for r in other]  # they do other work: the difference may be that
    assert not list(turns.drained(case("")))


@pytest.mark.parametrize(
    "report, said",
    [
        ("reading it back and waiting for the device are part of that time", True),
        ("the wait is in the figure", True),
        ("the device waits in a queue", False),
    ],
)
def test_a_wait_that_is_part_of_the_time(report, said):
    assert bool(reading.says(words.COUNTED, report)) is said


STEPS = """
import random, numpy as np, torch, torch_npu
from torch import nn

class Hand(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        {forward}

def trainer(norm):
    torch.manual_seed(11)
    net = nn.Sequential(nn.Linear(64, 64), norm, nn.Linear(64, 1)).npu()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-2)

    def step(x, y):
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        optimizer.step()
    return step

ways = {{"library": trainer(nn.LayerNorm(64)), "hand-written": trainer(Hand(64))}}
x, y = torch.rand(32, 64).npu() + 1.0, torch.randn(32, 1).npu()
us = {{name: [] for name in ways}}
for step in [*ways.values()] * 2: step(x, y)
for name in random.Random(1).sample([*ways] * 20, 40):
    a, b = (torch.npu.Event(enable_timing=True) for _ in range(2))
    a.record(); ways[name](x, y); b.record(); torch.npu.synchronize()
    us[name].append(1e3 * a.elapsed_time(b))
print("32 x 64, a training step: speedup", {{name: np.percentile(t, [50, 90]) for name, t in us.items()}})
"""
MASKS = """
import random, numpy as np, torch, torch_npu
import torch.nn.functional as F

def library(q, k, v):
    return F.scaled_dot_product_attention(q, k, v{causal})

mask = torch.full((32, 32), float("-inf")).triu(1).npu()

def ours(q, k, v):
    return torch.matmul((torch.matmul(q, k.transpose(-2, -1)) * 0.25 + mask).softmax(-1), v)

torch.manual_seed(1)
given = [torch.randn(1, 2, 32, 16).npu() for _ in range(3)]
us = {{library: [], ours: []}}
for f in us: f(*given)
for f in random.Random(1).sample([library, ours] * 20, 40):
    a, b = (torch.npu.Event(enable_timing=True) for _ in range(2))
    a.record(); f(*given); b.record(); torch.npu.synchronize()
    us[f].append(1e3 * a.elapsed_time(b))
print("1 x 2 x 32 x 16: library / our version: speedup", *(np.percentile(t, [50, 90]) for t in us.values()))
"""
MEAN = "x = x - x.mean(-1, keepdim=True); "
NORM = "return x * ((x * x).mean(-1, keepdim=True) + 1e-5).rsqrt() * self.weight + self.bias"


@pytest.mark.parametrize(
    "script, found",
    [
        (STEPS.format(forward=NORM), ["mismatch"]),
        (STEPS.format(forward=MEAN + NORM), []),
        (MASKS.format(causal=""), ["mismatch"]),
        (MASKS.format(causal=", is_causal=True"), []),
    ],
    ids=["other steps", "same steps", "no mask", "same mask"],
)
def test_two_ways_that_train_or_that_bring_their_own_mask(tmp_path, script, found):
    (tmp_path / "bench.py").write_text(script)
    assert [k for k in bench.check(tmp_path / "bench.py").kinds if k == "mismatch"] == found


JUDGED = "ah03 ah04 ah09 ah12 ah14 ai02 ai08 ai11 ai12 ai15 ai19 i06".split()


@pytest.mark.parametrize("name", [n for n in JUDGED if one_in(8, n, [REPO / "labkit" / "bench"])])
def test_a_script_is_judged_as_its_key_says(name):
    """Steps of two functions; data that are said to come from memory; a unit; rows of one way and of both; a frequency
    from 40 samples; an optimizer's elements; candidates picked by rate; a tail of blocks; every size; slow ones that are
    named and counted; a mask that one side lacks; a flush that is too small. One in 8 of them in each run."""
    folder = Path(__file__).parent / f"scripts_{name.rstrip('0123456789')}"
    said = tomllib.loads((folder / "expected.toml").read_text(encoding="utf-8"))[name]
    assert bench.check(folder / f"{name}.py").kinds == ([said] if said else [])


@pytest.mark.parametrize(
    "shapes, found",
    [
        ([("bmm", [(8, 8), (8, 8)], (8, 8)), ("sum", [(8, 8)], ()), ("add_", [(), ()], ())], ["add_", "sum"]),
        ([("bmm", [(8, 8), (8, 8)], (8, 8)), ("sum", [(8, 8)], ())], []),  # what is asked for
        ([("norm", [(8, 8)], ()), ("add_", [(), ()], ()), ("mul", [(8, 8), ()], (8, 8))], []),  # a gradient is clipped
        ([("mse_loss", [(8, 8), (8, 8)], ()), ("add", [(), ()], ())], []),
    ],
)
def test_a_sum_of_each_result_inside_a_sample(shapes, found):
    from labkit.bench.lies import operators

    kernels = [
        SimpleNamespace(
            name=f"aten::{name}",
            inputs=[SimpleNamespace(shape=s) for s in takes],
            outputs=[SimpleNamespace(shape=gives)],
        )
        for name, takes, gives in shapes
    ]
    assert operators.sums(kernels) == found
    region = sample(names=["aten::bmm", "aten::sum"], first=[], copy_bytes=0, copy_us=0.0, beside={}, makers=[], checks=[], backward=False, updates=0,
                    random_us=0.0, filled_us=0.0, totals=found)  # fmt: skip
    for output, strings, told in (("bmm 9.1 us", "", True), ("bmm 9.1 us, the sum of all included", "sums", False),
                                  ("bmm 9.1 us, results checked", "", False), ("batch 9.1 us", "", False)):  # fmt: skip
        c = case(output, regions=[region], strings=strings)
        c.claims, c.text.words = f"{output}\n{strings}", {"bmm", "sum", "isfinite"}
        assert [f[1] for f in judging._inside(c)] == (["summed"] if found and told else [])
