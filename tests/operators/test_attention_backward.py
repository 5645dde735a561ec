"""lab::attention's backward through autograd, and in the place of the device's own attention: right for every shape,
stride and mask against autograd in double, or refused with the reason; what it costs there.

The rule of the drawn cases: 1 or 2 sequences, 1 to 4 heads of which some share a KV head, 1 to 140 queries, 1 to 270
keys (few, or near a block's end), heads of 16 to 128 numbers, no mask or causal or bool or added, both types, a given
scale or none, q, k and v contiguous or as a projection leaves them. 200 in all, LABKIT_DRAWN=all; the first 24 else."""

from __future__ import annotations

import os

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

from attention_cases import BF16, GOLD, HALF, backward_of, prompt  # noqa: E402
from device_lab import simulated  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from ops_lab import ALLOWED, close, values  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import labkit  # noqa: E402

pytestmark = simulated
ATTENTION = labkit.operator("attention")
EXAMPLES = 200 if os.environ.get("LABKIT_DRAWN", "") == "all" else 24


@pytest.fixture(scope="module")
def op():
    ATTENTION.load("attention")
    return torch.ops.lab.attention


@pytest.fixture
def installed(op):
    ATTENTION.install()
    yield
    ATTENTION.uninstall()


def leaves(*tensors, turned=False):
    """On the device, as a projection leaves them (heads side by side in a row) or contiguous."""
    on = [t.npu() for t in tensors]
    if turned:
        on = [t.transpose(1, 2).contiguous().transpose(1, 2) for t in on]
    return [t.requires_grad_() for t in on]


def checked(on, wanted, sizes):
    for leaf, want, size in zip(on, wanted, sizes):
        close(leaf.grad, want, 3, size)  # the forward's own result goes into D: it may be off by its last place


@settings(max_examples=EXAMPLES)
@given(
    sequences=st.integers(1, 2),
    heads=st.sampled_from([(1, 1), (2, 2), (2, 1), (4, 2), (3, 3)]),
    rows=st.one_of(st.integers(1, 40), st.integers(120, 140)),
    keys=st.one_of(st.integers(1, 80), st.integers(120, 135), st.integers(250, 270)),
    dim=st.one_of(st.sampled_from([64, 80, 128]), st.integers(1, 8).map(lambda n: 16 * n)),
    masked=st.sampled_from([None, "causal", "bool", "added"]),
    dtype=st.sampled_from([HALF, BF16]),
    scale=st.sampled_from([None, 0.25]),
    turned=st.booleans(),
    seed=st.integers(0, 99),
)
def test_any_gradient(op, sequences, heads, rows, keys, dim, masked, dtype, scale, turned, seed):
    q, k, v, mask, causal = prompt(sequences, *heads, rows, keys, dim, masked, dtype, seed)
    (grad, *_), wanted, sizes = backward_of(q, k, v, mask, causal, dtype, scale)
    on = leaves(q, k, v, turned=turned)
    op(*on, None if mask is None else mask.npu(), causal, scale).backward(grad.npu())
    checked(on, wanted, sizes)


def test_masks_of_every_shape(op):
    q, k, v, *_ = prompt(2, 2, 1, 20, 90, 32, None, HALF)
    for shape in ((1, 1, 1, 90), (2, 1, 20, 1), (1, 2, 20, 90)):
        for mask in (values(shape, torch.float32, 1) > 0, values(shape, HALF, 2)):
            (grad, *_), wanted, sizes = backward_of(q, k, v, mask.expand(2, 2, 20, 90), False, HALF)
            on = leaves(q, k, v)
            op(*on, mask.npu()).backward(grad.npu())
            checked(on, wanted, sizes)


def test_the_same_bits_each_time(op):
    q, k, v, *_ = prompt(2, 4, 2, 300, 300, 80, None, HALF)
    found = []
    for _ in range(2):
        on = leaves(q, k, v)
        op(*on, None, True).backward(values(q.shape, HALF, 5).npu())
        found.append([leaf.grad.cpu() for leaf in on])
    assert all(torch.equal(a, b) for a, b in zip(*found))


def test_registered_and_refused(op):
    q, k, v, mask, _ = prompt(1, 4, 2, 30, 40, 64, "bool", HALF)
    on = leaves(q, k, v)
    assert set(torch.library.opcheck(op.default, (*on, mask.npu()), test_utils=ALLOWED).values()) == {"SUCCESS"}
    (grad, out, sums), wanted, sizes = backward_of(q, k, v, mask, False, HALF)
    args = tuple(t.npu() for t in (grad, q, k, v, out, sums, mask))
    backward = torch.ops.lab.attention_backward
    assert set(torch.library.opcheck(backward.default, args, test_utils=ALLOWED).values()) == {"SUCCESS"}
    for got, want, size in zip(backward(*args), wanted, sizes):
        close(got, want, 1.5, size)
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(op(*on).sum(), on, create_graph=True)
    with pytest.raises(RuntimeError, match="mask has no gradient"):
        op(*on, values((1, 1, 30, 40), HALF, 1).npu().requires_grad_())
    with pytest.raises(RuntimeError, match="lse is"):
        backward(*args[:5], args[5][:, :1], None)
    with pytest.raises(RuntimeError, match="lse is Float .* on cpu"):
        backward(*args[:5], args[5].cpu(), None)
    with pytest.raises(RuntimeError, match="grad has the shape"):
        backward(args[0][:, :1], *args[1:])


def test_nothing_to_see(op):
    q, k = torch.ones(1, 2, 3, 64, dtype=HALF), torch.ones(1, 2, 0, 64, dtype=HALF)
    on = leaves(q, k, k)
    op(*on).sum().backward()
    assert not on[0].grad.cpu().any() and on[1].grad.shape == k.shape
    on = leaves(q, q, q)
    op(*on, torch.zeros(1, 1, 3, 3, dtype=torch.bool).npu()).sum().backward()
    assert not any(leaf.grad.cpu().any() for leaf in on)


# ---- in the place of the device's own


def ways(heads, dim):
    """Name: (q, k, v, mask) -> result, by each way there is to the installed operator."""
    import torch_npu

    def packed(q, k, v, mask):
        flat = [t.transpose(1, 2).flatten(2) for t in (q, k, v)]
        out = torch_npu.npu_fusion_attention(*flat, heads, "BSH", atten_mask=~mask, scale=dim**-0.5)[0]
        return out.unflatten(2, (heads, dim)).transpose(1, 2)

    def apart(q, k, v, mask):
        return torch_npu.npu_fusion_attention(q, k, v, heads, "BNSD", atten_mask=~mask, scale=dim**-0.5)[0]

    return {"sdpa": lambda q, k, v, mask: F.scaled_dot_product_attention(q, k, v, mask), "BNSD": apart, "BSH": packed}


@pytest.mark.parametrize("way", ["sdpa", "BNSD", "BSH"])
def test_in_the_place_of_the_devices_own(installed, way):
    q, k, v, mask, _ = prompt(2, 4, 4, 99, 77, 80, "bool", HALF)
    mask[..., 0] = True
    (grad, *_), wanted, sizes = backward_of(q, k, v, mask, False, HALF)
    on = leaves(q, k, v)
    before = labkit.device.clock().launches
    out = ways(4, 80)[way](*on, mask.npu())
    close(out, GOLD.attention(q, k, v, mask).half(), 1.5, GOLD.terms(q, k, v, mask))
    out.backward(grad.npu())
    checked(on, wanted, sizes)
    new = [name for name in launched(before) if name.startswith(("attention", "short_attention"))]
    assert [name.partition("<")[0].partition("[")[0] for name in new] == KERNELS


KERNELS = ["short_attention", "attention_grad_queries", "attention_grad_keys"]


def launched(since: int) -> list[str]:
    return [entry.name for entry in labkit.device.timeline_since(since)]


def test_what_does_not_fit_goes_the_old_way(installed):
    q, k, v, *_ = prompt(1, 2, 2, 20, 30, 24, None, HALF)  # 24 is no multiple of 16
    before = labkit.device.clock().launches
    close(F.scaled_dot_product_attention(q.npu(), k.npu(), v.npu()), GOLD.attention(q, k, v).half(), 4, 1.0)
    wide = [t.float().npu() for t in prompt(1, 2, 2, 20, 30, 64, None, HALF)[:3]]
    F.scaled_dot_product_attention(*wide, dropout_p=0.5)
    assert not [name for name in launched(before) if name.startswith(("attention", "short_attention"))]
    ATTENTION.uninstall()
    fits = [t.npu() for t in prompt(1, 2, 2, 20, 30, 64, None, HALF)[:3]]
    F.scaled_dot_product_attention(*fits)
    assert not [name for name in launched(before) if name.startswith(("attention", "short_attention"))]
