"""lab::attention and lab::paged_attention: right for every shape, stride and mask, or refused with the reason."""

from __future__ import annotations

import os

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

from attention_cases import BF16, GOLD, HALF, paged, prompt  # noqa: E402
from device_lab import simulated  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from ops_lab import ALLOWED, close, values  # noqa: E402

import labkit  # noqa: E402

pytestmark = simulated
ATTENTION = labkit.operator("attention")


@pytest.fixture(scope="module")
def ops():
    ATTENTION.load()
    return torch.ops.lab


HEADS = st.tuples(st.integers(1, 3), st.integers(1, 4)).map(lambda n: (n[0] * n[1], n[0]))  # heads, KV heads
DIMS = st.one_of(st.sampled_from([64, 128]), st.integers(1, 8).map(lambda n: 16 * n))


@settings(max_examples=30)
@given(
    lengths=st.lists(st.one_of(st.integers(0, 40), st.integers(120, 260)), min_size=1, max_size=3),
    heads=HEADS,
    dim=DIMS,
    page=st.sampled_from([1, 7, 16, 32, 128]),
    dtype=st.sampled_from([HALF, BF16]),
    scale=st.sampled_from([None, 0.5]),
    seed=st.integers(0, 99),
)
def test_any_cache(ops, lengths, heads, dim, page, dtype, scale, seed):
    case = paged(len(lengths), *heads, dim, page, lengths, dtype, seed)
    out = ops.paged_attention(*(t.npu() for t in case), scale)
    q, k, v, *rest = case
    close(
        out, GOLD.paged_attention(*case, scale).to(dtype), 1.5, GOLD.paged_attention(q, k, v.abs(), *rest, scale) / 32
    )


@pytest.mark.parametrize("dtype", [HALF, BF16])
def test_grouped_heads_go_to_the_cube(ops, dtype):
    """Where it is the faster way: many sequences, and eight queries for each KV head."""
    made = labkit.register(ATTENTION.SOURCES["paged_attention"])
    case = paged(24, 8, 1, 64, 16, (250, 0, 33, *[90] * 21), dtype)
    out = torch.ops.lab.paged_attention(*(t.npu() for t in case))
    assert "grouped_attention[24]" in repr(made.record) and not made.record.findings
    q, k, v, *rest = case
    close(out, GOLD.paged_attention(*case).to(dtype), 1.5, GOLD.paged_attention(q, k, v.abs(), *rest))
    torch.ops.lab.paged_attention(*(t[:2].npu() if i in (0, 3, 4) else t.npu() for i, t in enumerate(case)))
    assert "paged_attention[" in repr(made.record) and "grouped" not in repr(made.record)


@settings(max_examples=30)
@given(
    sequences=st.integers(1, 2),
    heads=HEADS,
    rows=st.one_of(st.integers(1, 40), st.integers(120, 140), st.integers(190, 260)),
    keys=st.one_of(st.integers(1, 80), st.integers(120, 270), st.integers(500, 530)),  # to 256 a kernel of its own
    dim=DIMS,
    masked=st.sampled_from([None, "causal", "bool", "shared", "added"]),
    dtype=st.sampled_from([HALF, BF16]),
    turned=st.booleans(),
    seed=st.integers(0, 99),
)
def test_any_prompt(ops, sequences, heads, rows, keys, dim, masked, dtype, turned, seed):
    q, k, v, mask, causal = prompt(sequences, *heads, rows, keys, dim, masked, dtype, seed)
    on = [t.npu() for t in (q, k, v)]
    if turned:  # as a projection leaves them: heads side by side in a row
        on = [t.transpose(1, 2).contiguous().transpose(1, 2) for t in on]
    out = ops.attention(*on, None if mask is None else mask.npu(), causal)
    assert out.stride() == on[0].stride()
    close(out, GOLD.attention(q, k, v, mask, causal).to(dtype), 1.5, GOLD.terms(q, k, v, mask, causal))


@pytest.mark.parametrize(("rows", "keys", "masked"), [(197, 77, None), (99, 256, "shared"), (130, 197, "bool")])
def test_few_keys_go_to_their_own_kernel(ops, rows, keys, masked):
    """With the steps and shares that golden.py, and with it data/attention.csv, takes."""
    made = labkit.register(ATTENTION.SOURCES["attention"])
    q, k, v, mask, _ = prompt(2, 13, 13, rows, keys, 80, masked, HALF)
    on = [None if t is None else t.npu() for t in (q, k, v, mask)]
    ops.attention(*on)
    assert "short_attention[24]" in repr(made.record) and not made.record.findings
    record, _ = GOLD.launch_short(*on)
    assert made.record.timeline_total == record.timeline_total


def test_masks_of_every_shape(ops):
    q, k, v, *_ = prompt(2, 2, 1, 20, 90, 32, None, HALF)
    for shape in ((1, 1, 1, 90), (2, 1, 20, 1), (1, 2, 20, 90), (2, 2, 20, 90)):
        for mask in (values(shape, torch.float32, 1) > 0, values(shape, HALF, 2)):
            full = mask.expand(2, 2, 20, 90)
            out = ops.attention(q.npu(), k.npu(), v.npu(), mask.npu())
            close(out, GOLD.attention(q, k, v, full).half(), 1.5, GOLD.terms(q, k, v, full))
    hidden = torch.zeros(1, 1, 20, 90, dtype=torch.bool)
    assert not ops.attention(q.npu(), k.npu(), v.npu(), hidden.npu()).cpu().any()
    minus = torch.full((1, 1, 20, 90), -torch.inf, dtype=HALF)
    assert not ops.attention(q.npu(), k.npu(), v.npu(), minus.npu()).cpu().any()


def test_scores_that_no_exponential_holds(ops):
    """Without the maximum exp(score) would be infinite, also in float."""
    q, k, v, *_ = prompt(1, 2, 2, 20, 150, 64, None, HALF)
    close(
        ops.attention(30 * q.npu(), k.npu(), v.npu()),
        GOLD.attention(30 * q, k, v).half(),
        1.5,
        GOLD.terms(30 * q, k, v),
    )
    case = paged(2, 2, 2, 64, 16, (300, 20), HALF)
    out = ops.paged_attention(30 * case[0].npu(), *(t.npu() for t in case[1:]))
    close(out, GOLD.paged_attention(30 * case[0], *case[1:]).half(), 1.5, 2**-5)


def test_nothing_to_see(ops):
    q, cache = torch.ones(2, 4, 64, dtype=HALF, device="npu"), torch.ones(3, 16, 2, 64, dtype=HALF, device="npu")
    ints = {"dtype": torch.int32, "device": "npu"}
    assert not ops.paged_attention(q, cache, cache, torch.zeros(2, 0, **ints), torch.zeros(2, **ints)).cpu().any()
    assert ops.paged_attention(q[:0], cache, cache, torch.zeros(0, 1, **ints), torch.zeros(0, **ints)).shape == (
        0,
        4,
        64,
    )
    q, k = torch.ones(1, 2, 3, 64, dtype=HALF, device="npu"), torch.ones(1, 2, 0, 64, dtype=HALF, device="npu")
    assert not ops.attention(q, k, k).cpu().any() and ops.attention(q[:, :, :0], q, q).shape == (1, 2, 0, 64)


def test_lengths_change_in_place(ops):
    """Nothing of lengths and block_table is read on the host: a step is the same launch with other numbers in them."""
    case = [t.npu() for t in paged(2, 4, 2, 64, 16, (60, 60), HALF)]
    long = ops.paged_attention(*case)
    case[4].copy_(torch.tensor([60, 17], dtype=torch.int32))
    short = ops.paged_attention(*case)
    assert torch.equal(long[0].cpu(), short[0].cpu()) and not torch.equal(long[1].cpu(), short[1].cpu())


def test_registered_and_the_other_way(ops):
    q, k, v, mask, _ = prompt(1, 4, 2, 30, 40, 64, "bool", HALF)
    case = paged(2, 4, 2, 64, 16, (60, 0), HALF)
    for op, args in ((ops.attention, (q, k, v, mask)), (ops.paged_attention, case)):
        on = tuple(t.npu() for t in args)
        assert set(torch.library.opcheck(op.default, on, test_utils=ALLOWED).values()) == {"SUCCESS"}
    close(ATTENTION.paged_attention(*case), ATTENTION.paged_attention(*(t.npu() for t in case)).cpu(), 16, 0.1)
    here, there = ATTENTION.attention(q, k, v, mask), ATTENTION.attention(*(t.npu() for t in (q, k, v, mask)))
    rows = mask.any(-1)[0, 0]  # PyTorch gives nan, or something else, for a row that sees nothing
    close(here[:, :, rows], there.cpu()[:, :, rows], 8, 1.0)
    wide = [t.float().npu() if t.is_floating_point() else t.npu() for t in case]  # float32: PyTorch's operators
    # the host's sums of numbers around 1, in an order of its own
    close(ATTENTION.paged_attention(*wide), GOLD.paged_attention(*case).float(), 16, 1.0)
    assert sorted(ATTENTION.SOURCES) == ["attention", "attention_backward", "paged_attention"]


def test_refused(ops):
    q, k = torch.ones(1, 4, 3, 64, dtype=HALF, device="npu"), torch.ones(1, 2, 5, 64, dtype=HALF, device="npu")
    mask = torch.ones(1, 1, 3, 5, dtype=torch.bool, device="npu")
    for args, said in (
        ((q.float(), k, k), "q is Float, the kernel takes float16 and bfloat16"),
        ((q, k.bfloat16(), k), "q is Half but k is BFloat16"),
        ((q, k, k.cpu()), "v is on cpu"),
        ((q, k, k[:, :, :4]), "k and v alike"),
        ((q[:, :3], k, k), "3 heads of queries cannot share 2 heads of keys evenly"),
        (
            (q[..., :40].contiguous(), k[..., :40], k[..., :40]),
            "heads have 40 numbers, the kernel takes multiples of 16",
        ),
        ((q, k[..., :32], k[..., :32]), "the heads of q have 64 numbers but those of the keys 32"),
        ((q, k, k, mask[..., :4]), r"mask has the shape \[1, 1, 3, 4\]"),
        ((q, k, k, mask.float()), "mask is Float, it must be Bool"),
        ((q, k, k, mask, True), "a mask and causal=True together"),
    ):
        with pytest.raises(RuntimeError, match=said):
            ops.attention(*args)
        if "cpu" not in said:  # Meta says the same
            with pytest.raises(RuntimeError, match=said):
                ops.attention(*(t.to("meta") if isinstance(t, torch.Tensor) else t for t in args))
    with torch.no_grad():
        ops.attention(q.clone().requires_grad_(), k, k)


def test_caches_refused(ops):
    q, k, v, table, lengths = (t.npu() for t in paged(2, 4, 2, 64, 16, (60, 20), HALF))
    for args, said in (
        ((q[0], k, v, table, lengths), "one query for each sequence"),
        ((q, k, v[1:], table, lengths), r"both must be \[pages, page_size, kv_heads, head_dim\]"),
        ((q, k.transpose(1, 2).contiguous().transpose(1, 2), v, table, lengths), "the caches must be contiguous"),
        ((q, k, v, table.long(), lengths), r"block_table is Long\[2, 4\], it must be Int"),
        ((q, k, v, table[:1], lengths), "block_table is Int"),
        ((q, k, v, table, lengths.float()), "lengths is Float"),
        ((q, k, v, table, lengths.cpu()), "lengths on cpu"),
    ):
        with pytest.raises(RuntimeError, match=said):
            ops.paged_attention(*args)
    with pytest.raises(RuntimeError, match="has no backward"):
        ops.paged_attention(q.clone().requires_grad_(), k, v, table, lengths)
