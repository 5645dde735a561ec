"""The lie detector: rates of bytes that nobody moved, conversions that nothing makes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from labkit.bench.lies import mismatch, rates, words
from labkit.bench.lies.reading import says


def case(output: str, dtypes=("float16", "float32"), numbers=(), bytes_=6_000_000, us=10.0, **region):
    """One sample of an operator that takes and gives 6 MB in 10 us: 600 GB/s."""
    one = {"kernels": 1, "copies": 0, "copy_bytes": 0, "value_us": us, "bytes": bytes_, "dtypes": list(dtypes),
           "line": ["s.py", 3]} | region  # fmt: skip
    return SimpleNamespace(
        regions=[one, one | {"value_us": 2 * us}],
        text=SimpleNamespace(numbers=set(numbers)),
        seen=SimpleNamespace(output=output),
        find=lambda kind, place, variant="", **numbers: (kind, variant, numbers),
    )


@pytest.mark.parametrize(
    "output, said",
    [
        ("cast: 800 GB/s", "800"),
        ("cast: 0.8 TB/s", "0.8"),
        ("cast: 745.1 GiB/s", "745.1"),
        ("op,us,GB_per_s\ncast,10.0,800.0", "800"),
        ("op,us,GB/s\ncast,10.0,800", "800"),
        ("cast: 600 GB/s", None),
        ("cast: 640 GB/s", None),  # a median beside the quickest
        ("cast: 400 GB/s", None),  # only what is read, perhaps
        ("cast: 6,400 Gbit/s", None),
        ("800 GB/s at most, the card's peak", None),
        ("cast: 9,000 GB/s", None),  # something else
        ("op,us,GB_per_s\ncast,10.0,600.0", None),
    ],
)
def test_more_bytes_than_pass(output, said):
    found = list(rates.overstated(case(output)))
    assert [f[2]["said"] for f in found] == ([said] if said else [])


def test_a_rate_that_the_script_itself_states():
    assert list(rates.overstated(case("HBM has 800 GB/s", numbers=[800.0]))) == []


def test_an_operator_that_does_not_say_what_it_takes():
    assert list(rates.overstated(case("800 GB/s", bytes_=0))) == []


def test_copies_count():
    assert list(rates.overstated(case("800 GB/s", copies=1, copy_bytes=2_000_000))) == []


@pytest.mark.parametrize(
    "output, dtypes, found",
    [
        ("fp32 NCHW -> fp16", ("float16",), True),
        ("fp32 -> fp16", ("float16", "float32"), False),
        ("cast from float32 to bfloat16", ("bfloat16",), True),
        ("fp32: 10 us. To fp16", ("float16",), False),
        ("fp32, then fp16", ("float16",), False),
        ("fp32 -> fp16", ("int32",), False),
    ],
)
def test_a_conversion_that_nothing_makes(output, dtypes, found):
    assert bool(list(rates.unconverted(case(output, dtypes)))) is found


@pytest.mark.parametrize(
    "line, held",
    [
        ("nothing is said about others, or fp32, or a cold L2", True),
        ("fp32 was not measured", True),
        ("this does not hold for fp32", True),
        ("fp32: 10 us", False),
        ("not one sample was lost", False),
    ],
)
def test_what_a_report_does_not_claim(line, held):
    assert bool(says(words.DISCLAIMS, line)) is held


@pytest.mark.parametrize(
    "one, other, found",
    [
        ((["float16"], [8]), (["float32"], [8]), ("float16", "float32")),
        ((["float16"], [8]), (["float16"], [8]), None),
        ((["float16"], [8]), (["float32"], [4]), None),  # another result
        ((["float16"], [8]), (["int32"], [8]), None),
        ((["float16", "float32"], [8]), (["float32"], [8]), None),  # several results
    ],
)
def test_results_of_two_types(one, other, found):
    side = [[{"gives_of": types, "gives": [shape]}] * 2 for types, shape in (one, other)]
    assert mismatch._other_type(*side) == found
