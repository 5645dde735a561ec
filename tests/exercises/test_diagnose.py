"""Each diagnosis from data built to show it, and near misses that must get another name."""

from __future__ import annotations

import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from labkit import messages
from labkit.exercises.cases import POISON_FLOAT
from labkit.exercises.diagnose import Diagnosis, _two, compare_values, diagnose, first_error
from labkit.exercises.layout import layouts, owners, splits
from labkit.exercises.patterns import PATTERNS

N, BLOCKS, TILE = 1000, 4, 64


def data(n: int = N, dtype=np.float32, seed: int = 0) -> np.ndarray:
    """Normal, no zeros."""
    x = np.random.default_rng(seed).standard_normal(n)
    return np.where(np.abs(x) < 1e-2, 0.5, x).astype(dtype)


def key(got, expected, **how) -> str | None:
    how = {"blocks": BLOCKS, "tile": TILE, "initial": POISON_FLOAT, **how}
    found = diagnose(got, expected, **how)
    if found is not None:
        for lang in messages.LANGUAGES:
            told = "\n".join(found.lines(lang))
            assert "{" not in told and " ?" not in told, f"a number that is missing: {told}"
    return found.key if found else None


def with_(x: np.ndarray, where, value) -> np.ndarray:
    x = x.copy()
    x[where] = value
    return x


def test_right_is_none():
    x = data()
    assert key(x, x) is None
    assert key(x + 1e-7, x) is None
    assert key(np.array([np.nan, np.inf, 1.0]), np.array([np.nan, np.inf, 1.0])) is None


def test_nothing_written_and_all_zero():
    x = data()
    assert key(np.full(N, POISON_FLOAT, np.float32), x) == "unwritten"
    assert key(np.zeros(N, np.float32), x) == "all-zero"
    assert key(np.zeros(N, np.float32), np.where(x > 0, x, 0)) == "all-zero"
    assert key(np.zeros(N, np.float32), x, initial=0) == "unwritten", "a zeroed buffer that was never written"


@pytest.mark.parametrize("value", [POISON_FLOAT, 0.0])
def test_tail_of_the_last_block(value):
    x = data(1003)
    assert key(with_(x, slice(1000, None), value), x) == "only-tail"
    assert key(with_(x, slice(1000, None), value), x, blocks=1) == "only-tail"
    assert key(with_(x, slice(1000, None), value), x, tile=None) == "only-tail"


def test_tail_of_each_block():
    x = data()
    got = x.copy()
    for b in range(4):
        got[b * 250 + 192 : (b + 1) * 250] = POISON_FLOAT
    found = diagnose(got, x, blocks=4, tile=64, initial=POISON_FLOAT)
    assert (
        found.key == "only-tail"
        and found.numbers["cores"] == 4
        and found.numbers["length"] == 58
        and found.state == "unwritten"
    )
    assert found.map.wrong.shape == (4, 4) and found.map.wrong[:, :3].sum() == 0
    assert key(got, x, tile=None) == "only-tail"


def test_tail_on_big_and_small_cores():
    """11 tiles on 4 cores: 3, 3, 3, 2; the last tile is short."""
    n = 10 * 64 + 7
    x = data(n)
    assert key(with_(x, slice(640, None), POISON_FLOAT), x) == "only-tail"


def test_tail_that_is_the_last_block_alone():
    x = data(33)
    assert key(with_(x, slice(32, None), POISON_FLOAT), x, blocks=2, tile=32) == "only-tail"


def test_tail_with_right_zeros_in_it():
    """A ReLU's zeros equal those of a zeroed tail."""
    x = np.maximum(data(1000, seed=3), 0)
    assert key(with_(x, slice(960, None), 0.0), x, blocks=1, initial=None) == "only-tail"


def test_stale_tiles():
    x = data()
    got = x.copy()
    for b in range(4):
        got[b * 250 + 192 : (b + 1) * 250] = x[b * 250 + 128 : (b + 1) * 250 - 64]
    found = diagnose(got, x, blocks=4, tile=64, initial=POISON_FLOAT)
    assert found.key == "stale-tile" and found.numbers["tiles"] == 1
    assert key(with_(x, slice(960, None), x[832:872]), x, blocks=1) == "stale-tile", (
        "double buffering: two tiles earlier"
    )
    assert key(with_(x, slice(960, None), x[896:936]), x, blocks=1, tile=None) == "stale-tile"


def test_off_by_one_tile():
    x = data()
    assert key(np.concatenate([np.full(64, POISON_FLOAT, np.float32), x[:-64]]), x, blocks=1) == "off-by-one-tile"
    assert key(np.concatenate([x[64:], np.full(64, POISON_FLOAT, np.float32)]), x, blocks=1) == "off-by-one-tile"


@pytest.mark.parametrize("k", [1, 3, 8, -5])
def test_shifted(k):
    x = data()
    found = diagnose(np.roll(x, -k), x, blocks=BLOCKS, tile=TILE)
    assert found.key == "shifted" and found.numbers["shift"] == k


def test_half_range():
    x = data()
    assert key(with_(x, slice(500, None), POISON_FLOAT), x) == "half-range"
    assert key(with_(x, slice(750, None), POISON_FLOAT), x) == "half-range", "three of four blocks"
    assert key(with_(x, slice(400, None), 0.0), x) == "half-range", "not on a block's edge"
    assert key(with_(x, slice(256, None), POISON_FLOAT), x, tile=None) == "half-range"


def test_block_k():
    x = data()
    assert key(with_(x, slice(250, 500), 7.5), x) == "block-k"
    assert key(with_(x, slice(250, 500), POISON_FLOAT), x) == "block-k", "a block in the middle did nothing"
    assert key(with_(x, slice(750, None), x[750:] * 3), x) == "block-k", "the last block computed, but wrongly"
    n = 10 * 64 + 7  # uneven: 3 + 3 + 3 + 2 tiles
    y = data(n)
    assert key(with_(y, slice(192, 384), 2.0), y) == "block-k"
    assert key(with_(y, slice(10, 300), 1.0), y, split=[0, 10, 300, n], blocks=3) == "block-k"
    interleaved = np.arange(N) // TILE % BLOCKS == 2
    found = diagnose(with_(x, interleaved, 9.0), x, blocks=BLOCKS, tile=TILE, layout="interleaved")
    assert found.key == "block-k" and found.numbers["bad"] == "2"


def test_same_block():
    x = data()
    found = diagnose(np.tile(x[:250], 4), x, blocks=4, tile=64)
    assert found.key == "same-block" and found.numbers["block_length"] == 250
    assert key(with_(x, slice(500, 750), x[:250]), x) != "same-block", "one block alone"


@pytest.mark.parametrize("p, dtype", [(16, np.float16), (8, np.float32), (64, np.float32), (2, np.float32)])
def test_period(p, dtype):
    x = data(dtype=dtype)
    found = diagnose(with_(x, slice(p - 1, None, p), 99.0), x, blocks=BLOCKS, tile=TILE, initial=POISON_FLOAT)
    assert (
        found.key == "period"
        and found.numbers["period"] == p
        and found.numbers["bytes"] == p * np.dtype(dtype).itemsize
    )


def test_period_with_several_places():
    x = data(1024)
    got = with_(x.reshape(-1, 16), (slice(None), slice(8, 16)), 0.0).reshape(-1)
    assert key(got, x) == "period"


def test_row_tail():
    x = data(40 * 25).reshape(40, 25)
    found = diagnose(with_(x, (slice(None), slice(24, None)), POISON_FLOAT), x, blocks=4, initial=POISON_FLOAT)
    assert found.key == "row-tail" and found.numbers["column"] == 24
    assert key(with_(x, (slice(0, 1), slice(24, None)), POISON_FLOAT), x) != "row-tail", (
        "one row alone is not the rows' end"
    )
    assert key(with_(x, slice(38, None), POISON_FLOAT), x, blocks=1) == "only-tail"


def test_the_second_half_of_rows_is_no_tail():
    x = data(40 * 25)
    for width, first, said in ((40, 20, "row-half"), (24, 12, "row-half"), (40, 24, "row-tail"), (40, 22, "")):
        rows = x[: x.size // width * width].reshape(-1, width)
        found = key(with_(rows, (slice(None), slice(first, None)), POISON_FLOAT), rows)
        assert found == said if said else found not in ("row-tail", "row-half"), (width, first, found)


def test_sign_order_and_factors():
    a, b = data(seed=1), data(seed=2)
    assert key(b - a, a - b) == "negated"
    assert key(b / a, a / b) == "reciprocal"
    assert key(2 * a, a) == "scaled" and diagnose(0.25 * a, a).numbers["factor"] == pytest.approx(0.25)
    assert diagnose(a + np.float32(0.75), a).key == "offset"
    small = np.linspace(0.005, 0.007, N).astype(np.float32)  # the tolerance is a large part of a small result
    assert key(small * a, a, tolerance=(1e-3, 1e-3)) != "scaled"
    assert key(np.float32(0.005) * a, a, tolerance=(1e-3, 1e-3)) == "scaled"
    half = a.astype(np.float16)
    assert key((1.25 * a).astype(np.float16), half) == "scaled"
    assert (
        key(np.arange(1, N + 1), np.arange(N), initial=107) == "offset"
        or key(np.arange(1, N + 1), np.arange(N), initial=107) == "shifted"
    )


def test_factor_near_misses():
    a = data(seed=1)
    assert key(a * np.linspace(1.5, 2.5, N, dtype=np.float32), a) == "wrong-everywhere"
    assert key(with_(2 * a, slice(0, 500), a[:500]), a) == "block-k", "only some blocks are scaled"
    assert key(np.abs(a), a) == "scattered" or key(np.abs(a), a) == "wrong-everywhere", (
        "abs is not a sign error everywhere"
    )


def test_rounding():
    x = data(dtype=np.float16)
    got = np.nextafter(x, np.float16(10))
    got[::3] = x[::3]
    assert key(got, x, tolerance=(0, 0)) == "rounding"
    y = data()
    assert key(y * (1 + 3e-7), y, tolerance=(1e-8, 1e-9)) == "rounding"
    integers = np.arange(N) % 37
    assert key(with_(integers, slice(0, None, 5), integers[::5] + 1), integers, initial=107) == "rounding"


def test_rounding_near_misses():
    x = data()
    assert key(with_(x, np.random.default_rng(5).choice(N, 100, replace=False), 3.0), x) == "scattered"
    assert key(x * 1.05, x) == "scaled"


def test_nan_and_inf():
    x = data()
    found = diagnose(with_(x, slice(3, 9), np.nan), x)
    assert found.key == "nan-inf" and (found.numbers["nans"], found.numbers["at"]) == (6, 3)
    assert key(with_(x, 5, np.inf), x) == "nan-inf"
    expected = with_(x, 5, np.inf)
    assert key(with_(expected, 5, 1.0), expected) == "scattered", "a finite number where inf is right"


def test_no_pattern():
    x, noise = data(), data(seed=9)
    assert key(noise, x) == "wrong-everywhere"
    assert key(with_(x, np.random.default_rng(1).choice(N, 60, replace=False), 5.0), x) == "scattered"


def test_few_elements():
    assert key(np.array([2.0]), np.array([1.0]), blocks=8) == "wrong-everywhere"
    assert key(np.array([1.0, 5.0]), np.array([1.0, 2.0]), blocks=1) in ("scattered", "only-tail")
    assert key(np.zeros(0), np.zeros(0)) is None


def test_other_dtypes():
    x = np.arange(-100, 100, dtype=np.int8)
    assert key(with_(x, slice(180, None), 107), x, blocks=1, initial=107) == "only-tail"
    big = np.arange(2**60, 2**60 + 16)
    assert key(big + (np.arange(16) == 3), big, initial=107) is not None, "int64 is compared exactly"
    assert (
        diagnose(
            np.full(64, POISON_FLOAT, np.float32), np.ones(64, np.float32), dtype="bfloat16", initial=POISON_FLOAT
        ).key
        == "unwritten"
    )


def test_shape_and_findings():
    assert diagnose(np.zeros((2, 3)), np.zeros(6)).key == "shape"
    finding = SimpleNamespace(
        code="race-raw",
        severity="error",
        numbers={"pipe": "V"},
        block=0,
        file="exercise x",
        line=4,
        lines=lambda: ["a", "b", "c"],
    )
    warning = SimpleNamespace(
        code="bank-conflict", severity="warning", numbers={}, block=0, file="", line=0, lines=lambda: ["a", "b", "c"]
    )
    x = data()
    record = SimpleNamespace(findings=[warning, finding])
    found = diagnose(np.zeros_like(x), x, record=record)
    assert found.key == "race-raw" and found.where() == "exercise x:4" and found.lines() == ["a", "b", "c"]
    assert diagnose(x, x, record=record).key == "race-raw", "right by luck is not right"
    assert diagnose(x, x, record=SimpleNamespace(findings=[warning])) is None
    assert first_error(None) is None


def test_python_values():
    import torch

    one = torch.ones(2)
    for mine, ours in ((one.half(), one), (one, one.half()), (one.int(), one), (one, one.int())):
        assert compare_values(mine, ours).key == "dtype", "either way round"
    assert compare_values(3, 3) is None and compare_values(3.0, 3) is None and compare_values(True, 1).key == "value"
    assert compare_values(0.1 + 0.2, 0.3) is None and compare_values(0.31, 0.3).key == "value"
    assert compare_values([1, (2, "a")], [1, (2, "a")]) is None and compare_values((1, 2), [1, 3]).key == "value"
    assert compare_values({"a": 1}, {"a": 1, "b": 2}).key == "value" and compare_values(None, 3).key == "value"
    x = torch.arange(32.0)
    assert compare_values(x.clone(), x) is None and compare_values(2 * x, x).key == "scaled"
    assert compare_values(x.half(), x).key == "dtype" and compare_values(None, x).key == "value"
    assert compare_values((x, 3), (x, 3)) is None and compare_values((-x, 3), (x, 3)).key == "negated"
    assert compare_values(x.bfloat16(), x.bfloat16()) is None


@pytest.mark.parametrize(
    "got, expected",
    [
        (math.inf, math.inf),
        (math.nan, math.nan),
        ([1.0, -math.inf], [1.0, -math.inf]),
        (3, np.int64(3)),
        (0.1, np.float32(0.1)),
        (np.float32(3), 3),
        (np.bool_(True), True),
        ("a", np.str_("a")),
        ({1: 2}, {np.int64(1): 2}),
        (0.1 + 0.2 + 1j, 0.3 + 1j),
    ],
)
def test_a_right_value_of_another_kind_is_right(got, expected):
    assert compare_values(got, expected) is None


@pytest.mark.parametrize(
    "got, expected",
    [
        (5, math.inf),
        (math.inf, -math.inf),
        (math.inf, 5),
        (math.nan, 5),
        (5, math.nan),
        (10**400, 5),
        (10**400, 5.0),
        (10**5000, 5),
        ([math.nan, 1], [1, 1]),
        (np.bool_(True), 1),
        (np.float32(3.5), 3),
        (1 + 2j, 1 + 3j),
        (1j, 1.0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_wrong_value_is_told_whatever_it_is(got, expected):
    assert compare_values(got, expected).key == "value"


def test_keys_that_only_look_the_same():
    found = compare_values({1: 2}, {"1": 2})
    assert found.key == "value" and "Missing: '1'; not asked for: 1" in found.say


def test_both_parts_of_a_complex_number_count():
    import torch

    x = (data() + 1j * data(seed=1)).astype(np.complex64)
    assert diagnose(x, x) is None and diagnose(x + np.complex64(1e-7j), x) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = diagnose(x.conj(), x, initial=0)
    assert found.key == "negated" and found.numbers["inside"] == "imag", found
    assert diagnose(x * 2, x).numbers["inside"] == "real"
    assert diagnose(x.real, x).key, "a real result for a complex one"
    for dtype in (torch.complex32, torch.complex64, torch.complex128):
        ours = torch.from_numpy(x).to(dtype)
        assert compare_values(ours.clone(), ours) is None and compare_values(ours.conj().conj(), ours) is None
        assert compare_values(ours.conj(), ours).key == "negated"


def test_every_tile_reads_or_writes_the_same_place():
    x = data(4 * 256)
    first = np.arange(4 * 256) // 256 * 256 + np.arange(4 * 256) % TILE
    assert key(x[first], x) == "same-tile"
    assert key(x[np.arange(4 * 256) % TILE], x, blocks=1) == "same-tile"
    assert key(with_(x, slice(100, 110), 0), x) != "same-tile"
    last = np.full_like(x, POISON_FLOAT)
    for start in range(0, 1024, 256):
        last[start : start + TILE] = x[start + 256 - TILE : start + 256]
    assert key(last, x) == "one-place"
    assert key(with_(last, slice(0, 256), x[:256]), x) != "one-place", "one block is right"


def test_every_key_has_its_three_lines_in_both_languages():
    for name, _ in PATTERNS:
        for lang in messages.LANGUAGES:
            assert not name or len(messages.lines(f"diagnosis.{name}", lang=lang)) == 3


def test_splits_cover_everything_once():
    for n in (1, 7, 33, 1000, 4099):
        for blocks in (1, 2, 8, 40):
            for s in splits(n, blocks, 32, 4):
                assert s[0] == 0 and s[-1] == n and (np.diff(s) >= 0).all() and len(s) == blocks + 1, (n, blocks, s)


@pytest.mark.parametrize(
    "split, tile, tails",
    [
        ([0, 128, 256], 64, [(64, 128), (192, 256)]),  # whole tiles: the last one is the tail
        ([0, 64, 128], 64, [(0, 64), (64, 128)]),  # one whole tile
        ([0, 129, 256], 64, [(128, 129), (193, 256)]),  # one element over, one short
        ([0, 1, 1, 3], 64, [(0, 1), (1, 3)]),  # a block without elements has no tail
        ([0, 3], 1, [(2, 3)]),
    ],
)
def test_the_last_tile_of_each_block(split, tile, tails):
    (at,) = layouts(split[-1], len(split) - 1, tile, split, "contiguous", 4)
    assert at.tails() == tails
    block, column = owners(at)
    for b, (a, end) in enumerate(zip(split[:-1], split[1:])):
        assert (block[a:end] == b).all() and column[a:end].tolist() == [i // tile for i in range(end - a)]


def test_tail_of_whole_tiles():
    """Each block has two whole tiles; of each the second was never written."""
    x = data(512)
    got = x.copy()
    for b in range(4):
        got[b * 128 + 64 : (b + 1) * 128] = POISON_FLOAT
    found = diagnose(got, x, blocks=4, tile=64, initial=POISON_FLOAT)
    assert found.key == "only-tail" and found.numbers["cores"] == 4 and found.numbers["length"] == 64, found
    assert [line.split("|")[1] for line in found.map.text()] == [".X"] * 4


def test_shares_of_a_split():
    """(n, blocks, tile): all the ways in their order, boundaries included; 4 bytes an element, so 8 are 32 bytes."""

    def starts(*how):
        return [s.tolist() for s in splits(*how)]

    assert starts(16, 2, None, 4) == [[0, 8, 16]], "all ways agree"
    assert starts(10, 4, None, 4) == [[0, 3, 6, 9, 10], [0, 8, 10, 10, 10], [0, 2, 4, 6, 10], [0, 3, 6, 8, 10]]
    assert starts(10, 2, 4, 4) == [[0, 5, 10], [0, 8, 10]], "whole tiles: 8 as well"
    assert starts(80, 2, 16, 4) == [[0, 40, 80], [0, 48, 80]]
    assert starts(3, 2, None, 64) == [[0, 2, 3], [0, 1, 3]], "an element larger than 32 bytes"


@pytest.mark.parametrize("blocks, columns", [(31, 63), (32, 64), (33, 65)])
def test_a_map_is_cut_at_its_limit(blocks, columns):
    from labkit.exercises.layout import mismatch_map

    n = blocks * columns
    (at,) = layouts(n, blocks, 1, list(range(0, n + 1, columns)), "contiguous", 4)
    found = mismatch_map(np.arange(n) == n - 1, at)
    text, cut = found.text(), blocks > 32
    assert len(text) == min(blocks, 32) + cut and (text[-1] == "... +1") == cut
    assert len(text[0].split("|")[1]) == min(columns, 64) and text[0].endswith("| ...") == (columns > 64)
    assert (
        np.shape(found.as_json()["wrong"]) == (min(blocks, 32), min(columns, 64))
        and found.as_json()["blocks"] == blocks
    )
    assert found.wrong.sum() == 1 and found.total.sum() == n


def test_map_counts_every_element():
    at = layouts(1000, 3, 64, None, "contiguous", 4)[0]
    from labkit.exercises.layout import mismatch_map

    wrong = np.zeros(1000, bool)
    wrong[990:] = True
    found = mismatch_map(wrong, at)
    assert found.total.sum() == 1000 and found.wrong.sum() == 10 and found.text()[-1].endswith("o|")
    assert Diagnosis("scattered").lines("zh")


def test_which_of_several_results_is_wrong_is_said():
    right = (np.ones(40), np.arange(40.0))
    found = compare_values((right[0], right[1] * 1.5 + 3), right)
    assert found.lines("en")[0].startswith("result 2 of 2: ") and found.lines("zh")[0].startswith("第 2 个结果")
    assert not compare_values((right[1] * 1.5 + 3,), right[1:]).lines("en")[0].startswith("result")


def test_a_share_in_the_numbers_is_no_part_of_a_result():
    """`half-range` and `block-k` have a number `part`, the share that is right;
    it once stood in front of what they say.
    """
    assert (
        Diagnosis("half-range", {"right": 50, "n": 100, "part": 0.5}).lines("en")[0].startswith("The first 50 of 100")
    )


@pytest.mark.parametrize(
    "got, expected, shown",
    [
        (-1.480012, -1.480031, (-1.48001, -1.48003)),
        (0.33333333, 0.25, (0.3333, 0.25)),
        (3.0, 3.0000002, (3, 3.0000002)),
        (float("nan"), 1.5, ("nan", 1.5)),
    ],
)
def test_two_numbers_show_that_they_differ(got, expected, shown):
    found = _two(got, expected)
    assert [str(x) if x != x else x for x in found] == list(shown)
