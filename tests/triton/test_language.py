"""The language beyond floats: numbers against PyTorch and Python, no finding, refusals in one line; at the end known-wrong
lowerings, each of which these comparisons must see."""

from __future__ import annotations

import functools
import re

import pytest

pytest.importorskip("triton", reason="Triton has wheels for Linux x86_64 and aarch64 only")
torch = pytest.importorskip("torch")

import triton
import triton.language as tl

import labkit.triton

labkit.triton.install()
import triton_language as kernels

from labkit.triton import helpers, kernel, lanes, memory, rearrange, reduce, words
from labkit.triton.refused import Refused

WIDTHS = {torch.int8: 8, torch.uint8: 8, torch.int16: 16, torch.int32: 32, torch.int64: 64}


def eighths(*shape, most=40):
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randint(-most, most + 1, shape, generator=generator) / 8


def right():
    record = labkit.triton.last()
    assert not record.findings, record.report()
    return record


def wrapped(n: int, dtype) -> int:
    n %= 2 ** WIDTHS[dtype]
    return n if dtype == torch.uint8 or n < 2 ** (WIDTHS[dtype] - 1) else n - 2 ** WIDTHS[dtype]


def whole_by_python(a: int, b: int, dtype) -> list[int]:
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    made = [a + b, a * b, quotient, a - quotient * b, (a & b) | (a ^ 5), a ^ b, a << 2, a >> 1]
    return [wrapped(n, dtype) for n in [*made, a if a < b else b - 1, max(a, b), int(a * 0.5), a * 3]]


@pytest.mark.parametrize("dtype", WIDTHS)
def test_integers_of_every_width_wrap_and_divide_as_in_c(dtype):
    least, most = (0, 255) if dtype == torch.uint8 else (-(2 ** (WIDTHS[dtype] - 1)), 2 ** (WIDTHS[dtype] - 1) - 1)
    generator = torch.Generator().manual_seed(5)
    small = 2**20 if WIDTHS[dtype] > 16 else most // 2
    x = torch.randint(max(least, -small), small, (60,), generator=generator, dtype=dtype)
    y = torch.randint(1, min(most, 100), (60,), generator=generator, dtype=dtype)
    x[:6] = torch.tensor([least, most, 0, 1, most - 1, 7], dtype=dtype)
    if dtype != torch.uint8:
        y[6:20] = -y[6:20]
    out = torch.zeros(12, 60, dtype=dtype).npu()
    kernels.whole[(1,)](x.npu(), y.npu(), out, 60, BLOCK=64)
    want = [whole_by_python(a, b, dtype) for a, b in zip(x.tolist(), y.tolist())]
    got = out.cpu().t().tolist()
    if WIDTHS[dtype] > 16:  # by way of float: not exact at the ends
        got, want = ([row[:10] + row[11:] for row in rows] for rows in (got, want))
    if WIDTHS[dtype] == 64:
        got, want = ([row[:10] for row in rows] for rows in (got, want))
    assert got == want
    right()


def philox(seed: int, offset: int) -> int:
    """The first of four numbers; J. Salmon and others, Parallel Random Numbers: As Easy as 1, 2, 3."""
    c, k, m = [offset, 0, 0, 0], [seed % 2**32, seed >> 32], 2**32
    for _ in range(10):
        high, low = 0xCD9E8D57 * c[2], 0xD2511F53 * c[0]
        c = [high // m ^ c[1] ^ k[0], high % m, low // m ^ c[3] ^ k[1], low % m]
        k = [(k[0] + 0x9E3779B9) % m, (k[1] + 0xBB67AE85) % m]
    return c[0]


def test_chance_is_philox():
    out, n = torch.zeros(6 * 32, dtype=torch.int32).npu(), 32
    made = kernels.chance[(2,)](out, 77, BLOCK=n)
    got = out.cpu()
    numbers = [philox(77, i) for i in range(64)]
    assert [int(g) % 2**32 for g in got[:64]] == numbers
    a, b = ([(i * k + s) % 2**32 for i in range(64)] for k, s in ((0x1234567, 0), (-0x765432, 77)))
    assert [int(g) % 2**32 for g in got[64:128]] == [x * y >> 32 for x, y in zip(a, b)]
    signed = [x - 2**32 if x >= 2**31 else x for x in numbers]
    want = torch.tensor([(-x - 1 if x < 0 else x) * 4.6566127342e-10 for x in signed])
    assert (got[128:].view(torch.float32) - want).abs().max() < 1e-7
    assert "UpperProduct(" in made.asm["asc"].decode(), "on the vector unit"
    right()


@pytest.mark.parametrize("axis", [0, 1])
def test_the_place_of_the_largest_and_of_the_smallest(axis):
    x = eighths(8, 32, most=9)  # many are equal: the first counts
    most, least = torch.zeros(32, dtype=torch.int32).npu(), torch.zeros(32).npu()
    kernels.best[(1,)](x.npu(), most, least, HIGH=8, WIDE=32, AXIS=axis)
    n = x.shape[1 - axis]
    first = (x == x.amax(axis, keepdim=True)).float().argmax(axis)
    low = (x == x.amin(axis, keepdim=True)).float().argmax(axis)
    assert torch.equal(most.cpu()[:n], first.int()) and torch.equal(least.cpu()[:n], x.amin(axis) + low)
    right()


def test_scans_and_reductions_by_a_function_of_ones_own():
    x = eighths(8, 16, most=12)
    sums, products, states = (torch.zeros(8, 16).npu() for _ in range(3))
    both = torch.zeros(8).npu()
    kernels.scans[(1,)](x.npu(), sums, products, states, both, HIGH=8, WIDE=16)
    assert torch.equal(sums.cpu(), x.cumsum(1) + x.flip(0).cumsum(0).flip(0))
    assert torch.allclose(products.cpu(), x.cumprod(0), rtol=1e-5)
    state, want = torch.zeros(8), []
    for i in range(16):
        state = x[:, i] if i == 0 else state * 0.5 + x[:, i]
        want.append(state + 0.5 ** (i + 1))
    assert torch.allclose(states.cpu(), torch.stack(want, 1), atol=1e-6)
    assert torch.allclose(both.cpu(), x.sum(1) + x.prod(1), rtol=1e-5)
    right()


ALONG = {
    "sum": lambda x, axis: x.sum(axis),
    "min": lambda x, axis: x.amin(axis),
    "max": lambda x, axis: x.amax(axis),
    "any": lambda x, axis: (x > 0).any(axis),
    "all": lambda x, axis: (x > 0).all(axis),
}


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.int64])
@pytest.mark.parametrize("way", ALONG)
@pytest.mark.parametrize("shape", [(1, 32), (32, 1), (1, 1), (4, 32)])
def test_an_axis_of_length_one_is_only_dropped(shape, way, dtype):
    generator = torch.Generator().manual_seed(3)
    x = torch.randint(-3, 4, shape, generator=generator).to(dtype)
    for axis in (0, 1):
        out = torch.full((shape[1 - axis],), 77, dtype=dtype).npu()
        kernels.of_one[(1,)](x.npu(), out, *shape, AXIS=axis, WAY=way)
        assert torch.equal(out.cpu(), ALONG[way](x, axis).to(dtype))
        right()


@triton.jit
def of_numbers(x, y, out):
    a, b = tl.load(x), tl.load(y)
    tl.store(out, tl.maximum(a, b))
    tl.store(out + 1, tl.minimum(a, b))
    tl.store(out + 2, tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out + 3, tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out + 4, tl.abs(a))


@pytest.mark.parametrize("a, b", [("nan", 1.5), (1.5, "nan"), ("nan", "nan"), (-0.0, 1.0), ("-inf", 2.0), (3.0, 2.0)])
def test_single_numbers_know_nan_and_the_sign_of_zero(a, b):
    a, b = torch.tensor([float(a)]), torch.tensor([float(b)])
    out = torch.zeros(5).npu()
    of_numbers[(1,)](a.npu(), b.npu(), out)
    want = torch.cat((torch.fmax(a, b), torch.fmin(a, b), torch.maximum(a, b), torch.minimum(a, b), a.abs()))
    torch.testing.assert_close(out.cpu(), want, rtol=0, atol=0, equal_nan=True)
    assert not out.cpu()[4].signbit() or a.isnan()
    right()


FOLDED = {
    "larger_or_nan": lambda a, b: a if a > b or a != a else b,
    "smaller_or_nan": lambda a, b: a if a < b or a != a else b,
    "turned": lambda a, b: b if a > b or a != a else a,
    "not_less": lambda a, b: a if a >= b or a != a else b,
    "compared_backwards": lambda a, b: a if b > a or a != a else b,
    "nan_of_the_other": lambda a, b: a if a > b or b != b else b,
    "equal_to_itself": lambda a, b: a if a > b or a == a else b,
    "the_last_twice": lambda a, b: b + b,
    "the_first": lambda a, b: a,
}


@pytest.mark.parametrize("of", FOLDED)
def test_a_function_is_taken_for_what_it_does(of):
    x = torch.tensor([3.0, 1, 2, 5, 4, 7, 6, 8] + [2.0] * 8)
    for x in (x, torch.cat((x[:3], torch.tensor([float("nan")]), x[4:]))):
        out = torch.zeros(1).npu()
        made = kernels.by_a_function[(1,)](x.npu(), out, N=16, WAY=of)
        want = functools.reduce(FOLDED[of], x.tolist())
        assert torch.equal(out.cpu(), torch.tensor([want])) or (want != want and out.isnan().item())
        right()
    by_the_unit = re.search(r"Reduce(Max|Min|Sum)\(", made.asm["asc"].decode().split("__global__")[1])
    assert bool(by_the_unit) == (of in ("larger_or_nan", "smaller_or_nan")), "what is not known goes lane by lane"


def test_a_scan_down_the_rows_takes_both_rows():
    x = eighths(4, 16)
    out = torch.zeros(4, 16).npu()
    kernels.the_last_down[(1,)](x.npu(), out, HIGH=4, WIDE=16)
    assert torch.equal(out.cpu(), torch.cat((x[:1], 2 * x[1:])))
    right()


def test_the_wide_copy_of_short_numbers_is_given_back():
    x = eighths(4, 512).to(torch.int16)
    most, least = (torch.zeros(4, dtype=torch.int16).npu() for _ in range(2))
    made = kernels.both_ends[(1,)](x.npu(), most, least, HIGH=4, WIDE=512)
    assert torch.equal(most.cpu(), x.amax(1)) and torch.equal(least.cpu(), x.amin(1))
    right()
    text = made.asm["asc"].decode().split("__global__")[1]
    assert re.findall(r"InitBuffer\(ub\w*, (\d+)\)", text).count("8192") == 2, (
        "the second one works where the first did"
    )


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16])
def test_a_sum_of_short_numbers_wraps(dtype):
    x = torch.full((4, 64), torch.iinfo(dtype).max // 3, dtype=dtype)
    rows, first = torch.zeros(4, dtype=torch.int32).npu(), torch.zeros(1, dtype=torch.int32).npu()
    kernels.short_sums[(1,)](x.npu(), rows, first, HIGH=4, WIDE=64)
    want = x.sum(1).to(dtype).int()
    assert torch.equal(rows.cpu(), want) and torch.equal(first.cpu(), want[:1])
    right()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_elements_in_another_order(dtype):
    n = 32
    x = eighths(n, most=100).to(dtype)
    out = torch.zeros(11, n, dtype=dtype).npu()
    kernels.orders[(1,)](x.npu(), out, N=n)
    got = out.cpu().reshape(-1)
    assert torch.equal(got[:n], x.sort()[0]) and torch.equal(got[n : n + 4], x.topk(4)[0])
    assert torch.equal(got[2 * n : 3 * n], x.flip(0))
    assert torch.equal(got[3 * n : 5 * n], torch.stack((x, -x), 1).reshape(-1))
    assert torch.equal(got[5 * n : 6 * n], x[(torch.arange(n) * 7 + 3) % n])
    assert torch.equal(got[6 * n : 6 * n + n // 2], x[::2] - x[1::2])
    assert torch.equal(got[7 * n : 7 * n + 16], torch.bincount(x.abs().int(), minlength=16)[:16].to(dtype))
    assert torch.equal(got[8 * n : 10 * n], torch.cat((x, x * 2)))
    assert torch.equal(got[10 * n :], x.reshape(2, 4, n // 8).permute(2, 0, 1).reshape(-1))
    right()


def test_slices_and_a_sort_down_the_columns():
    x = eighths(8, 16)
    y = torch.zeros_like(x).npu()
    kernels.sorts_down[(1,)](x.npu(), y, HIGH=8, WIDE=16)
    want = x.sort(0, descending=True)[0]
    element, part = want[1, 2].clone(), want[2:6, 4:12] * 100
    want[:4, 8:16] = part
    assert torch.equal(y.cpu(), want + element)
    right()


def test_atomics_that_a_store_does_are_on_all_cores():
    n, block = 150, 32
    x = eighths(n)
    index = torch.randint(0, 5, (n,), generator=torch.Generator().manual_seed(2), dtype=torch.int32)
    out, counts = torch.zeros(2 * block).npu(), torch.zeros(block + 2, dtype=torch.int32).npu()
    made = kernels.adds[(5,)](x.npu(), index.npu(), out, counts, n, BLOCK=block)
    padded = torch.nn.functional.pad(x, (0, 10)).reshape(5, block)
    whole = padded.int()
    assert torch.equal(out.cpu()[:block], padded.sum(0))
    assert torch.equal(out.cpu()[block:], torch.zeros(block).index_add(0, index, x))
    assert torch.equal(counts.cpu()[:block], whole.amax(0).clamp(min=0))
    assert counts.cpu()[block:].tolist() == [5, int(whole.min())]
    assert right().blocks == 5 and "SetAtomicAdd<float>();" in made.asm["asc"].decode()


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_atomics_that_give_the_old_value_run_on_one_core(dtype):
    n = 20
    first = torch.arange(n, dtype=dtype) * 5
    x, old = torch.nn.functional.pad(first, (0, 12)).npu(), torch.zeros(5 * n + 1, dtype=dtype).npu()
    kernels.exchanges[(1,)](x, old, n, BLOCK=32)  # compare and exchange has no mask: x has room for all lanes
    a = first ^ 12
    b = a & 9
    c = b | 64
    at = torch.arange(n, dtype=dtype)
    d = torch.where(c == 64, at, c)
    want = torch.cat((first, a, b, c, d, (d + at)[:1]))
    assert torch.equal(old.cpu(), want) and int(x.cpu()[0]) == 7
    assert right().blocks == 1


def test_a_lock_between_programs():
    rows, width, group = 11, 37, 3
    x = eighths(rows, width)
    sums, lock, seen = (
        torch.full((group, width), 99.0).npu(),
        *(torch.zeros(group, dtype=torch.int32).npu() for _ in "ab"),
    )
    made = kernels.locked[(rows,)](x.npu(), sums, lock, seen, width, GROUP=group, BLOCK=64)
    assert torch.equal(sums.cpu(), torch.stack([x[i::group].sum(0) for i in range(group)]))
    assert lock.cpu().tolist() == [0] * group and seen.cpu().tolist() == [1] * group
    assert right().blocks == 1 and "so all programs run on one core" in made.asm["asc"].decode()


def test_masks_that_were_computed_and_a_while_loop():
    n = 27
    x, flags = eighths(n), torch.arange(n) % 3 != 0
    y, steps = torch.zeros(n).npu(), torch.zeros(1, dtype=torch.int32).npu()
    kernels.masks_that_are_computed[(1,)](x.npu(), flags.npu(), y, steps, n, BLOCK=32)
    assert torch.equal(y.cpu(), torch.where(flags, torch.where(x > 1, x, -x), 0.0))
    assert int(steps.cpu()) == 111  # Collatz's number of 27
    right()


def test_the_library_of_this_chip():
    n = 64
    x, y = eighths(n, most=7), eighths(n + 1, most=20)[:n]
    out = torch.zeros(5, n).npu()
    kernels.library[(1,)](x.npu(), y.npu(), out, N=n)
    want = torch.stack(
        (
            torch.atan2(x, y) + torch.log1p(x.abs()) + torch.expm1(y * 0.1),
            x.round() + y.trunc() + torch.copysign(x, y),
            torch.acos(x * 0.1) + (x.abs() + 1) ** y + torch.hypot(x, y),
            torch.erfinv(x * 0.125) + torch.special.i0(y),
            (x / y).isnan().float() + y.signbit() * 2.0,
        )
    )
    assert ((out.cpu() - want).abs() / want.abs().clamp(min=1)).max() < 2e-5
    right()


def test_a_print_from_the_device(capfd):
    x = eighths(16)
    kernels.prints[(1,)](x.npu(), N=16)
    labkit.triton.last()
    torch.npu.synchronize()
    assert f"the sum: {float(x.sum()):f}" in capfd.readouterr().out


def test_what_stays_out_is_one_line():
    with pytest.raises(Refused, match="triton_language.py:.*tl.ptr_to_int is not there") as error:
        kernels.asks_for_an_address[(1,)](eighths(8).npu(), torch.zeros(1, dtype=torch.int64).npu())
    assert "\n" not in str(error.value)


# ---- known-wrong lowerings


RIGHT = {  # what runs a kernel and compares
    "whole": lambda: test_integers_of_every_width_wrap_and_divide_as_in_c(torch.int8),
    "unsigned": lambda: test_integers_of_every_width_wrap_and_divide_as_in_c(torch.uint8),
    "chance": test_chance_is_philox,
    "best": lambda: test_the_place_of_the_largest_and_of_the_smallest(1),
    "scans": test_scans_and_reductions_by_a_function_of_ones_own,
    "orders": lambda: test_elements_in_another_order(torch.float32),
    "adds": test_atomics_that_a_store_does_are_on_all_cores,
    "exchanges": lambda: test_atomics_that_give_the_old_value_run_on_one_core(torch.int32),
}


def text(m, name: str, old: str, new: str) -> None:
    assert old in helpers.OWN[name]
    m.setitem(helpers.OWN, name, helpers.OWN[name].replace(old, new))


def applied(pick):
    return lambda k, block, left, right, own=reduce.applied: pick(own, k, block, left, right)


def test_numbers_of_8_and_16_bits_wrap():
    import numpy as np

    out = torch.zeros(32, dtype=torch.int64, device="npu")
    kernels.narrow[(1,)](out, 100, 100)
    right()
    at = np.arange(8)
    with np.errstate(over="ignore"):
        rows = at.astype(np.int8) * np.int8(40), (at.astype(np.int16) * np.int16(20000)) >> 1
        wanted = [*map(int, np.concatenate([r.astype(int) for r in (*rows, (at.astype(np.uint8) - np.uint8(1)) >> 1)]))]
    assert out.tolist() == [*wanted, -56, 0, 100, -56, 8, 84, 0, 0]


def test_the_corners_of_libdevice():
    inf, nan = float("inf"), float("nan")
    pairs = [(inf, inf), (-inf, inf), (inf, -inf), (-inf, -inf), (0.0, -0.0), (-0.0, -0.0), (-0.0, 0.0), (0.0, 0.0)]
    pairs += [(inf, nan), (nan, 1.0), (1e37, 2.0), (1e38, -3.0), (3e38, 0.0), (-0.5, -inf), (3.0, -4.0), (nan, -0.0)]
    x, y = (torch.tensor([p[i] for p in pairs]) for i in (0, 1))
    out = torch.zeros(48, device="npu")
    kernels.corners[(1,)](x.npu(), y.npu(), out)
    for got, wanted in zip(out.cpu().chunk(3), (torch.log1p(x), torch.hypot(x, y), torch.atan2(x, y))):
        torch.testing.assert_close(got, wanted, equal_nan=True)


def test_gamma_has_no_value_at_whole_numbers_below_zero():
    import math

    inf, nan = float("inf"), float("nan")
    x = [0.5, 1.0, 5.0, 0.0, -0.0, -0.5, -1.5, -2.5, -1.0, -2.0, -7.0, inf, -inf, nan, 33.0, 1e-3]
    out = torch.zeros(16, device="npu")
    kernels.gammas[(1,)](torch.tensor(x, device="npu"), out)
    wanted = [math.gamma(v) if math.isfinite(v) and (v > 0 or v % 1) else nan for v in x[:3] + [1.0, 1.0] + x[5:]]
    wanted[3:5], wanted[11] = [inf, -inf], inf
    torch.testing.assert_close(out.cpu(), torch.tensor(wanted), equal_nan=True, rtol=2e-4, atol=0)


def test_a_message_of_any_characters_stays_as_it_is():
    from labkit.triton.scalars import literal

    said = "bad\u00a0value \u2028 100%"
    assert re.sub(rb"\\(\d{3})", lambda m: bytes([int(m[1], 8)]), literal(said).encode()).decode() == said + "%"


def test_a_link_to_nowhere_among_the_sources(tmp_path):
    from labkit.triton import driver

    (tmp_path / "a.py").write_text("")
    was = driver.stamp([tmp_path])
    (tmp_path / ".#a.py").symlink_to("user@host.123:456")
    assert driver.stamp([tmp_path]) == was


MUTANTS = {
    "a quotient rounds down": ("whole", lambda m: text(m, "Quotient", "return a / b;", "return a / b - (a % b != 0 && (a < 0) != (b < 0));")),
    "what is cut off saturates": ("whole", lambda m: m.setattr(words, "wrapped", lambda k, of, elem: copied(k, of))),
    "bytes without a sign have one": ("unsigned", lambda m: m.setitem(lanes.UNSIGNED, "i8", "int8_t")),
    "an upper product forgets the carry": (
        "chance", lambda m: text(m, "UpperProduct", "    Add(n(z), n(z), n(x), count);\n", ""),
    ),
    "the last of equal ones counts": (
        "best", lambda m: m.setattr(reduce, "applied", applied(lambda own, k, b, x, y: own(k, b, [y[0], x[1]], [x[0], y[1]]))),
    ),
    "a scan forgets what went before": (
        "scans", lambda m: m.setattr(reduce, "applied", applied(lambda own, k, b, x, y: own(k, b, y, y))),
    ),
    "down the rows each adds itself": ("scans", lambda m: m.setitem(reduce.DOWN, "arith.mulf", "Add")),
    "a sort merges the wrong way": ("orders", lambda m: text(m, "SortLanes", "!Below(other, one)", "Below(other, one)")),
    "dimensions turn the other way": (
        "orders", lambda m: m.setattr(rearrange, "order", lambda op, own=rearrange.order: own(op)[::-1]),
    ),
    "an atomic addition is a store": ("adds", lambda m: m.setitem(kernel.RULES, "tt.atomic_rmw", memory.store)),
    "the old value is the new one": ("exchanges", lambda m: m.setitem(memory.FORMULAS, "xor", "{v}")),
}  # fmt: skip


def copied(k, of):
    from labkit.triton.tiles import move

    made = k.buffer(of.elem, of.stored, "copied")
    move(k, made, of)
    return made


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """What is compiled here is compiled anew, and stays here."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    kept = [f for f in vars(kernels).values() if hasattr(f, "device_caches")]
    for f in kept:
        f.device_caches.clear()
    yield
    for f in kept:
        f.device_caches.clear()


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_wrong_lowering_shows(mutant, own_cache, monkeypatch, capsys):
    name, change = MUTANTS[mutant]
    change(monkeypatch)
    try:
        RIGHT[name]()
    except AssertionError:
        return
    except Exception as problem:  # the twin stopped it, or the compiler
        assert type(problem).__module__.startswith("labkit"), problem
        return
    pytest.fail("nobody saw it")
