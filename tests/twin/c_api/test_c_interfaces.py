"""The C interfaces (asc_simd.h) against PyTorch, by count and by repeats, and what the checks say of their misuse."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import labkit

SOURCE = Path(__file__).parent / "c_interfaces.asc"
MOST = 1024
LEFT = 7  # what the destination holds before

FLOATS = [  # by number: of x, y, the destination as it was, the scalar
    ("add", lambda x, y, z, v: x + y),
    ("sub", lambda x, y, z, v: x - y),
    ("mul", lambda x, y, z, v: x * y),
    ("div", lambda x, y, z, v: x / y),
    ("max", lambda x, y, z, v: torch.maximum(x, y)),
    ("min", lambda x, y, z, v: torch.minimum(x, y)),
    ("mul_add", lambda x, y, z, v: x * z + y),
    ("mul_add_relu", lambda x, y, z, v: torch.relu(x * z + y)),
    ("fma", lambda x, y, z, v: z + x * y),
    ("add_relu", lambda x, y, z, v: torch.relu(x + y)),
    ("sub_relu", lambda x, y, z, v: torch.relu(x - y)),
    ("abs", lambda x, y, z, v: x.abs()),
    ("relu", lambda x, y, z, v: torch.relu(x)),
    ("sqrt", lambda x, y, z, v: x.sqrt()),
    ("exp", lambda x, y, z, v: x.exp()),
    ("log", lambda x, y, z, v: x.log()),
    ("rcp", lambda x, y, z, v: 1 / x),
    ("rsqrt", lambda x, y, z, v: x.rsqrt()),
    ("add_scalar", lambda x, y, z, v: x + v),
    ("sub_scalar", lambda x, y, z, v: x - v),
    ("mul_scalar", lambda x, y, z, v: x * v),
    ("max_scalar", lambda x, y, z, v: x.clamp(min=v)),
    ("min_scalar", lambda x, y, z, v: x.clamp(max=v)),
    ("leakyrelu", lambda x, y, z, v: torch.where(x > 0, x, x * v)),
    ("axpy", lambda x, y, z, v: z + x * v),
]
POSITIVE = {"sqrt", "log", "rsqrt"}
LOOSE = {"rcp": 4e-3, "rsqrt": 4e-3}  # the hardware's own are estimates


def run(kernel, *given, blocks=1):
    """Launches on copies in the device's memory; the tensors then hold what is there. Returns the record."""
    there = [a.npu() if isinstance(a, torch.Tensor) else a for a in given]
    record = kernel[blocks](*there)
    for a, b in zip(given, there):
        if isinstance(a, torch.Tensor):
            a.copy_(b.cpu())
    return record


def numbers(dtype, *, positive=False, seed=0):
    x = torch.randn(MOST, generator=torch.Generator().manual_seed(seed))
    x = torch.where(x.abs() < 0.1, torch.ones_like(x), x)
    return (x.abs() if positive else x).to(dtype)


@pytest.mark.parametrize("dtype, entry", [(torch.float32, "of_float"), (torch.float16, "of_half")])
@pytest.mark.parametrize("form, n", [(0, 200), (0, 1024), (1, 512)])
def test_arithmetic(dtype, entry, form, n):
    kernel = labkit.kernel(SOURCE, entry=entry)
    for op, (name, golden) in enumerate(FLOATS):
        x, y = numbers(dtype, positive=name in POSITIVE), numbers(dtype, seed=1)
        z = torch.full((MOST,), LEFT, dtype=dtype)
        want = golden(x.double(), y.double(), z.double(), 0.5).to(dtype)
        want[n:] = LEFT
        record = run(kernel, x, y, z, 0.5, op, n, form)
        assert not record.findings, (name, record.findings)
        near = LOOSE.get(name, 2e-3 if dtype == torch.float16 else 1e-5)
        torch.testing.assert_close(z, want, rtol=near, atol=near, msg=lambda m, name=name: f"asc_{name}: {m}")


@pytest.mark.parametrize("dtype, entry", [(torch.float32, "of_float"), (torch.float16, "of_half")])
@pytest.mark.parametrize("form", [0, 1])
def test_reductions_filling_and_selection(dtype, entry, form):
    kernel, n = labkit.kernel(SOURCE, entry=entry), 512
    block, repeat = 32 // dtype.itemsize, 256 // dtype.itemsize
    x, y = numbers(dtype), numbers(dtype, seed=1)
    wide = x[:n].double()
    for op, want in {
        25: wide.view(-1, block).sum(1),
        26: wide.view(-1, block).amax(1),
        27: wide.view(-1, block).amin(1),
        28: wide.view(-1, repeat).sum(1),
        29: wide.view(-1, repeat).amax(1),
        30: wide.view(-1, repeat).amin(1),
        31: wide.view(-1, 2).sum(1),
        32: torch.full((n,), 0.5),
        33: torch.maximum(x, y)[:n],
    }.items():
        z = torch.full((MOST,), LEFT, dtype=dtype)
        record = run(kernel, x, y, z, 0.5, op, n, form)
        assert not record.findings, (op, record.findings)
        near = 2e-2 if dtype == torch.float16 else 1e-5
        got = z[: len(want)].double()
        torch.testing.assert_close(got, want.double(), rtol=near, atol=near, msg=lambda m, op=op: f"{op}: {m}")
        assert (z[len(want) :] == LEFT).all(), op


@pytest.mark.parametrize("form, n", [(0, 200), (1, 512)])
def test_integers(form, n):
    x = torch.arange(-512, 512, dtype=torch.int16)
    y = torch.arange(1024, dtype=torch.int16).flip(0)
    kernel = labkit.kernel(SOURCE, entry="of_int")
    for op, want in enumerate([x & y, x | y, ~x, x << 3, x >> 3, (x + 4) >> 3, x]):
        z = torch.full((MOST,), LEFT, dtype=torch.int16)
        record = run(kernel, x, y, z, 3, op, n, form)
        assert not record.findings, (op, record.findings)
        assert torch.equal(z[:n], want[:n]) and (z[n:] == LEFT).all(), op
    z = torch.full((MOST,), LEFT, dtype=torch.int16)
    assert not run(kernel, x, y, z, 0, 7, n, form).findings
    assert torch.equal(z[:256].view(16, 16), x[:256].view(16, 16).t()) and (z[256:] == LEFT).all()


def whole(how):
    return lambda x, y, z: how(x).to(torch.int32)


def half_towards(up):
    def to(x, y, z):
        near = x.to(torch.float16)
        off = near.float() < x if up else near.float() > x
        there = torch.full_like(near, torch.inf if up else -torch.inf)
        return torch.where(off, torch.nextafter(near, there), near)

    return to


CONVERSIONS = {
    "half_to_float": (
        torch.float16,
        torch.float32,
        [lambda x, y, z: x.float(), lambda x, y, z: z + x.float() * y.float()],
    ),
    "float_to_half": (
        torch.float32,
        torch.float16,
        [
            lambda x, y, z: x.half(),
            lambda x, y, z: torch.where(x > 0, half_towards(False)(x, y, z), half_towards(True)(x, y, z)),
            half_towards(False),
            half_towards(True),
            lambda x, y, z: torch.relu(x + y).half(),
        ],
    ),
    "float_to_int": (
        torch.float32,
        torch.int32,
        [
            whole(torch.round),
            whole(torch.trunc),
            whole(torch.floor),
            whole(torch.ceil),
            whole(lambda x: x.sign() * (x.abs() + 0.5).floor()),
        ],
    ),
    "int_to_float": (torch.int32, torch.float32, [lambda x, y, z: x.float()]),
    "half_to_byte": (torch.float16, torch.int8, [lambda x, y, z: x.round().clamp(-128, 127).to(torch.int8)]),
    "int_to_long": (torch.int32, torch.int64, [lambda x, y, z: x.long()]),
    "float_to_bfloat": (torch.float32, torch.bfloat16, [lambda x, y, z: x.bfloat16()]),
}


@pytest.mark.parametrize("entry", CONVERSIONS)
@pytest.mark.parametrize("form, n", [(0, 200), (1, 512)])
def test_conversions(entry, form, n):
    source, target, goldens = CONVERSIONS[entry]
    kernel = labkit.kernel(SOURCE, entry=entry)
    x = (torch.randn(MOST, generator=torch.Generator().manual_seed(2)) * 40).to(source)
    if source.is_floating_point:
        x[:8] = torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0, 3]).to(source)
    y = x.flip(0)
    for op, golden in enumerate(goldens):
        z = torch.full((MOST,), LEFT, dtype=target)
        want = golden(x, y, z.clone())
        record = run(kernel, x, y, z, op, n, form)
        assert not record.findings, (op, record.findings)
        assert torch.equal(z[:n], want[:n]) and (z[n:] == LEFT).all(), (entry, op)


def test_comparisons_give_one_bit_an_element():
    kernel = labkit.kernel(SOURCE, entry="compares")
    x = torch.randint(0, 3, (MOST,), generator=torch.Generator().manual_seed(3)).float()
    y = torch.randint(0, 3, (MOST,), generator=torch.Generator().manual_seed(4)).float()
    for op, want in enumerate([x == y, x != y, x < y, x <= y, x > y, x >= y, x >= 1.0]):
        z = torch.zeros(MOST, dtype=torch.uint8)
        assert not run(kernel, x, y, z, 1.0, op).findings
        bits = z[: MOST // 8, None] >> torch.arange(8) & 1
        assert torch.equal(bits.flatten().bool(), want), op


def test_picks():
    kernel = labkit.kernel(SOURCE, entry="picks")
    x = torch.arange(MOST).to(torch.uint32)
    order = torch.randperm(MOST, generator=torch.Generator().manual_seed(5))
    offsets = (order * 4).to(torch.uint32)

    def picked(op, y, n):
        z = torch.full((MOST,), LEFT, dtype=torch.uint32)
        record = run(kernel, x, y, z, op, n)
        assert not record.findings, record.findings
        return z.to(torch.int64)

    assert torch.equal(picked(0, offsets, 200)[:200], order[:200])
    assert torch.equal(picked(1, offsets, 512)[:512], order[:512])
    assert torch.equal(picked(2, offsets, 64)[:512], torch.arange(64).repeat_interleave(8))
    bits = torch.tensor([0x0000FFFF] * MOST, dtype=torch.int64).to(torch.uint32)
    kept = picked(3, bits, 128)
    assert (
        kept[-1] == 64 and torch.equal(kept[:16], torch.arange(16)) and torch.equal(kept[16:32], torch.arange(32, 48))
    )
    even = picked(4, bits, 512)
    assert even[-1] == 256 and torch.equal(even[:256], torch.arange(0, 512, 2))


def test_sorted_and_merged():
    x = torch.randn(64, generator=torch.Generator().manual_seed(6))
    out = torch.zeros(128)
    assert not run(
        labkit.kernel(SOURCE, entry="sorts"), x, torch.arange(64, dtype=torch.int32).to(torch.uint32), out
    ).findings
    values, index = x.sort(descending=True)
    assert torch.equal(out[::2], values) and torch.equal(out[1::2].view(torch.int32).long(), index)


def test_where_extremes_stand():
    x, pairs, last = torch.randn(64, generator=torch.Generator().manual_seed(8)), torch.zeros(64), torch.zeros(8)
    assert not run(labkit.kernel(SOURCE, entry="extremes"), x, pairs, last).findings
    most, least = int(x.argmax()), int(x.argmin())
    rows, places = pairs.view(8, 8), pairs.view(torch.int32).view(8, 8)
    assert (rows[0, 0], places[0, 1], places[1, 0], rows[1, 1], places[2, 0]) == (x[most], most, most, x[most], most)
    assert (rows[3, 0], places[3, 1], places[4, 0], rows[4, 1], places[5, 0]) == (
        x[least],
        least,
        least,
        x[least],
        least,
    )
    assert (last[0], last[1]) == (x[most], most)


def test_blocks_by_offsets():
    x, order = torch.arange(64), torch.tensor([3, 1, 7, 0, 0, 5, 2, 6])
    z = torch.zeros(64, dtype=torch.uint32)
    kernel = labkit.kernel(SOURCE, entry="blocks")
    assert not run(kernel, x.to(torch.uint32), (order * 32).to(torch.uint32), z).findings
    assert torch.equal(z.long().view(8, 8), x.view(8, 8)[order])


def test_halves_of_blocks():
    x, z = torch.arange(-64, 64, dtype=torch.int16), torch.zeros(256, dtype=torch.int8)
    assert not run(labkit.kernel(SOURCE, entry="halves"), x, z).findings
    want = (x.double() * 0.5 + 1).round().to(torch.int8)  # the offset before the rounding, as CastDequant has it
    assert torch.equal(z.view(8, 2, 16), want.view(8, 1, 16).expand(8, 2, 16))


def test_scalar_unit_and_atomic_stores():
    out, total = torch.zeros(4 * 8, dtype=torch.int64), torch.zeros(8)
    assert not run(labkit.kernel(SOURCE, entry="scalars"), out, total, blocks=4).findings
    assert out.view(4, 8).tolist() == [[4, 63, 3, 3, 38, -2, 4, 62]] * 4
    assert total.tolist() == [4, 4, 4, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("dtype, name", [(torch.float32, "float"), (torch.float16, "half"), (torch.int8, "byte")])
def test_copies_with_gaps_and_padding(dtype, name):
    block = 32 // dtype.itemsize
    x = torch.arange(20).to(dtype)
    rows, firsts = torch.zeros(4 * block, dtype=dtype), torch.zeros(20, dtype=dtype)
    assert not run(labkit.kernel(SOURCE, entry=f"padded_{name}"), x, rows, firsts).findings
    want = torch.full((4, block), 7, dtype=dtype)
    want[:, 2:5] = x.view(4, 5)[:, :3]
    assert torch.equal(rows.view(4, block), want)
    spread = torch.zeros(4, 5, dtype=dtype)
    spread[:, :3] = want[:, :3]
    assert torch.equal(firsts.view(4, 5), spread)


HEAD = '#include "c_api/asc_simd.h"\n'
ADD = (
    HEAD
    + """
__global__ __vector__ void k(__gm__ float* x, __gm__ float* z) {
    asc_init();
    __ubuf__ float a[256], b[256];
    asc_copy_gm2ub(a, x, sizeof(a));
    asc_sync_notify(PIPE_MTE2, PIPE_V, EVENT_ID0);
    asc_sync_wait(PIPE_MTE2, PIPE_V, EVENT_ID0);
    asc_add(b, a, a, 256);
    asc_sync_notify(PIPE_V, PIPE_MTE3, EVENT_ID0);
    asc_sync_wait(PIPE_V, PIPE_MTE3, EVENT_ID0);
    asc_copy_ub2gm(z, b, sizeof(b));
}
"""
)


def launch(text):
    x, z = torch.arange(256.0), torch.zeros(256)
    return run(labkit.kernel(text=text, entry="k"), x, z), z


def named(text, *, line_of=None):
    """The findings' names, and whether one is on the line of that text."""
    record, _ = launch(text)
    lines = [i + 1 for i, line in enumerate(text.splitlines()) if line_of and line_of in line]
    assert not line_of or any(f.line in lines for f in record.findings), record.findings
    return {f.code for f in record.findings}


def test_arrays_in_ub_and_flags():
    record, z = launch(ADD)
    assert not record.findings and torch.equal(z, 2 * torch.arange(256.0))


@pytest.mark.parametrize("pipes", ["PIPE_MTE2, PIPE_V", "PIPE_V, PIPE_MTE3"])
def test_a_missing_pair_of_flags_is_found(pipes):
    text = "\n".join(line for line in ADD.split("\n") if pipes not in line)
    assert named(text) == {"race-raw"}, named(text)


def test_past_the_end_of_an_array():
    assert "local-bounds" in named(ADD.replace("asc_add(b, a, a, 256)", "asc_add(b, a, a, 320)"), line_of="asc_add")


def test_bytes_that_are_no_whole_blocks():
    assert "copy-truncated" in named(ADD.replace("asc_copy_gm2ub(a, x, sizeof(a))", "asc_copy_gm2ub(a, x, 1000)"))


def test_more_arrays_than_ub():
    text = ADD.replace("float a[256], b[256];", "float a[256], b[256], c[48 * 1024];")
    with pytest.raises(labkit.LaunchError, match="ub-budget"):
        launch(text)


def test_an_array_on_the_stack_is_no_array_in_ub():
    text = ADD.replace("__ubuf__ float a[256], b[256];", "__ubuf__ float b[256]; float a[256];")
    assert "local-pointer" in named(text)


def test_an_array_keeps_its_place_from_call_to_call():
    text = (
        HEAD
        + """
__aicore__ inline void twice(__gm__ float* x, int i) {
    __ubuf__ float kept[8];
    if (i == 0) asc_duplicate_sync(kept, 5.0f, 8);
    else asc_copy_ub2gm_align_sync(x, kept, 32);
}
__global__ __vector__ void k(__gm__ float* x, __gm__ float* z) {
    asc_init();
    for (int i = 0; i < 2; i++) twice(z, i);
}
"""
    )
    record, z = launch(text)
    assert not record.findings and z[:9].tolist() == [5.0] * 8 + [0]


def test_the_mask_after_a_form_with_a_count_is_that_count():
    text = ADD.replace("    asc_add(b, a, a, 256);", "    asc_add(b, a, a, 256);\n    asc_sync();\n    SECOND")
    again = "asc_add(b, b, a, 4, 1, 1, 1, 8, 8, 8);"
    x = torch.arange(256.0)
    record, z = launch(text.replace("SECOND", "asc_set_vector_mask(-1, -1); " + again))
    assert not record.findings and torch.equal(z, 3 * x)
    record, z = launch(text.replace("SECOND", again))  # in normal mode the number 256 is one lane, the ninth
    assert not record.findings and torch.equal(z, x * torch.where(torch.arange(256) % 64 == 8, 3, 2))
