"""torch_npu.npu_fusion_attention on the simulated device:
against PyTorch's attention on the CPU, and in transformers.
"""

from __future__ import annotations

import os

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402
from torch.nn import functional as F  # noqa: E402

pytestmark = simulated
B, N, GROUPS, D = 2, 4, 2, 8
TURNS = {
    "BNSD": lambda t: t,
    "BSND": lambda t: t.transpose(1, 2),
    "BSH": lambda t: t.transpose(1, 2).flatten(2),
    "SBH": lambda t: t.permute(2, 0, 1, 3).flatten(2),
}


def draw(rows=5, columns=7, kv=GROUPS):
    g = torch.Generator().manual_seed(0)
    return [torch.randn(B, n, s, D, generator=g) for n, s in ((N, rows), (kv, columns), (kv, columns))]


def kept(rows, columns, mode, before=2, after=1):
    """True where a pair takes part."""
    i, j = torch.arange(rows)[:, None], torch.arange(columns)
    shift = columns - rows
    return {
        0: torch.ones(rows, columns, dtype=torch.bool),
        2: j <= i,
        3: j <= i + shift,
        4: (j <= i + shift + after) & (j >= i + shift - before),
    }[mode]


def golden(q, k, v, mask, scale):
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)


@pytest.mark.parametrize("layout", TURNS)
def test_layouts_and_gradients(layout):
    import torch_npu

    given = [t.requires_grad_() for t in draw()]
    there = [t.detach().npu().requires_grad_() for t in given]
    mask = kept(5, 7, 3)
    want = TURNS[layout](golden(*given, mask, 0.3))
    got, top, total, _, *numbers = torch_npu.npu_fusion_attention(
        *(TURNS[layout](t) for t in there), N, layout, scale=0.3, atten_mask=(~mask).npu()
    )
    torch.testing.assert_close(got.cpu(), want, rtol=1e-5, atol=1e-6)
    assert top.shape == total.shape == (B, N, 5, 8) and top.dtype == torch.float32 and numbers == [0, 0, 0]
    want.square().sum().backward()
    got.square().sum().backward()
    for a, b in zip(given, there):
        torch.testing.assert_close(b.grad.cpu(), a.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", [2, 3, 4])
@pytest.mark.parametrize("rows, columns", [(5, 7), (7, 7), (1, 7)])
def test_sparse_modes(mode, rows, columns):
    import torch_npu

    q, k, v = draw(rows, columns)
    packed = torch.ones(2048, 2048, dtype=torch.bool).triu(1)  # what the card needs with these modes
    got = torch_npu.npu_fusion_attention(
        *(t.npu() for t in (q, k, v)),
        N,
        "BNSD",
        scale=0.3,
        sparse_mode=mode,
        pre_tockens=2,
        next_tockens=1,
        atten_mask=packed.npu(),
    )[0]
    torch.testing.assert_close(got.cpu(), golden(q, k, v, kept(rows, columns, mode), 0.3), rtol=1e-5, atol=1e-6)


def test_sequences_of_any_length_and_half():
    import torch_npu

    q, k, v = (t.half() for t in draw(6, 6, N))
    lengths = [2, 6]
    parts = [t[0].transpose(0, 1).npu() for t in (q, k, v)]
    got = torch_npu.npu_fusion_attention(
        *parts, N, "TND", scale=0.3, actual_seq_qlen=lengths, actual_seq_kvlen=lengths, sparse_mode=3
    )[0]
    assert got.dtype == torch.float16
    for begin, end in ((0, 2), (2, 6)):
        want = golden(*(t[:1, :, begin:end].float() for t in (q, k, v)), kept(end - begin, end - begin, 3), 0.3)
        torch.testing.assert_close(got[begin:end].cpu().float(), want[0].transpose(0, 1), rtol=1e-3, atol=1e-3)


def test_each_packed_sequence_has_its_own_prefix():
    import torch_npu

    q, k, v = draw(6, 6, N)
    parts = [t[0].transpose(0, 1).npu() for t in (q, k, v)]
    lengths, prefix = [3, 6], [1, 3]
    got = torch_npu.npu_fusion_attention(
        *parts, N, "TND", scale=0.3, actual_seq_qlen=lengths, actual_seq_kvlen=lengths, sparse_mode=6, prefix=prefix
    )[0]
    for begin, seen in zip((0, 3), prefix):
        own = [t[:1, :, begin : begin + 3] for t in (q, k, v)]
        want = golden(*own, kept(3, 3, 3) | (torch.arange(3) < seen), 0.3)
        torch.testing.assert_close(got[begin : begin + 3].cpu(), want[0].transpose(0, 1), rtol=1e-5, atol=1e-6)


def test_a_position_shift_is_cut_to_each_sequence():
    import torch_npu

    q, k, v = draw(5, 7, N)
    shift = torch.randn(B, N, 5, 7, generator=torch.Generator().manual_seed(1))
    rows, columns = [3, 5], [4, 7]
    got = torch_npu.npu_prompt_flash_attention(
        *(t.npu() for t in (q, k, v)), num_heads=N, input_layout="BNSD", pse_shift=shift.npu(), next_tokens=9,
        actual_seq_lengths=rows, actual_seq_lengths_kv=columns,
    ).cpu()  # fmt: skip
    for b, (n, m) in enumerate(zip(rows, columns)):
        want = torch.softmax(q[b, :, :n] @ k[b, :, :m].transpose(-1, -2) + shift[b, :, :n, :m], -1) @ v[b, :, :m]
        torch.testing.assert_close(got[b, :, :n], want, rtol=1e-5, atol=1e-6)


def test_a_sequence_without_keys_gives_zeros():
    """A place of a batch that no request is in."""
    import torch_npu

    q, k, v = (t.npu() for t in draw(1, 7, N))
    got, sums = torch_npu.npu_fused_infer_attention_score(
        q, k, v, num_heads=N, input_layout="BNSD", actual_seq_lengths_kv=[0, 7], softmax_lse_flag=True
    )
    assert not got[0].any() and (sums[0] == float("-inf")).all()
    assert got[1].any() and sums[1].isfinite().all()


def test_packed_sequences_need_their_ends():
    import torch_npu

    parts = [t[0].transpose(0, 1).npu() for t in draw(6, 6, N)]
    with pytest.raises(ValueError, match="layout TND.*where each sequence ends"):
        torch_npu.npu_fusion_attention(*parts, N, "TND")
    with pytest.raises(ValueError, match="layout TND.*where each sequence ends"):
        torch_npu.npu_fused_infer_attention_score(*parts, num_heads=N, input_layout="TND", actual_seq_lengths=[2, 6])


def test_position_shift_dropout_and_rows_without_a_partner():
    import torch_npu

    q, k, v = draw(5, 7, N)
    shift = torch.randn(1, N, 5, 7, generator=torch.Generator().manual_seed(1))
    there = [t.npu() for t in (q, k, v)]
    got = torch_npu.npu_fusion_attention(*there, N, "BNSD", scale=0.3, pse=shift.npu())[0]
    want = torch.softmax((q @ k.transpose(-1, -2) + shift) * 0.3, -1) @ v
    torch.testing.assert_close(got.cpu(), want, rtol=1e-5, atol=1e-6)
    assert not torch_npu.npu_fusion_attention(*there, N, "BNSD", atten_mask=torch.ones(5, 7, dtype=torch.bool).npu())[
        0
    ].any()
    ones = [torch.zeros_like(there[0]), torch.zeros_like(there[1]), torch.ones_like(there[2])]
    thinned = torch_npu.npu_fusion_attention(*ones, N, "BNSD", keep_prob=0.5)[0]
    assert thinned.unique().numel() > 3 and 0.7 < thinned.mean().item() < 1.3


def test_nothing_is_left_where_everything_is_dropped():
    import torch_npu

    leaves = [t.half().npu().requires_grad_() for t in draw(5, 7, N)]
    dropped = F.scaled_dot_product_attention(*leaves, dropout_p=1.0)
    grads = torch.autograd.grad(dropped.sum(), leaves)
    fused = torch_npu.npu_fusion_attention(*(t.detach() for t in leaves), N, "BNSD", keep_prob=0.0)[0]
    for t in (dropped, fused, *grads):
        assert torch.equal(t.cpu(), torch.zeros(t.shape, dtype=t.dtype))


def test_what_is_refused():
    import torch_npu

    q, k, v = (t.npu() for t in draw())
    with pytest.raises(ValueError, match="one of BSH, SBH, BSND, BNSD, TND, not 'SHB'"):
        torch_npu.npu_fusion_attention(q, k, v, N, "SHB")
    for extra in ({"sparse_mode": 9}, {"sink": q}, {"padding_mask": q}):
        with pytest.raises(NotImplementedError, match="sparse_mode=0"):
            torch_npu.npu_fusion_attention(q, k, v, N, "BNSD", **extra)


# what differs from four heads of 8 numbers in half without a mask: is it one kernel on a card? (op-plugin, ours: fuses)
def _shape(n, s, d, kv=None, vn=None, type=torch.half):
    made = [torch.zeros(1, heads, s, d, dtype=type, device="npu") for heads in (n, kv or n, vn or kv or n)]
    return made


FUSED = [
    ("as it is", (4, 4, 8), {}, None, False, True),
    ("bfloat16", (4, 4, 8), {"type": torch.bfloat16}, None, False, True),
    ("float, depth a multiple of 4", (4, 4, 8), {"type": torch.float}, None, False, True),
    ("float, depth no multiple of 4", (4, 4, 6), {"type": torch.float}, None, False, False),
    ("half, depth no multiple of 4", (4, 4, 6), {}, None, False, True),
    ("double", (4, 4, 8), {"type": torch.double}, None, False, False),
    ("causal", (4, 4, 8), {}, None, True, True),
    ("bool mask", (4, 4, 8), {}, torch.bool, False, True),
    ("half mask", (4, 4, 8), {}, torch.half, False, False),
    ("float mask", (4, 4, 8), {}, torch.float, False, False),
    ("bfloat16 mask", (4, 4, 8), {"type": torch.bfloat16}, torch.bfloat16, False, False),
    ("2048 heads", (2048, 1, 8), {}, None, False, True),
    ("2049 heads", (2049, 1, 8), {}, None, False, False),
    ("depth 512", (2, 2, 512), {}, None, False, True),
    ("depth 513", (2, 2, 513), {}, None, False, False),
    ("two heads share one of keys", (4, 4, 8), {"kv": 2}, None, False, True),
    ("heads that share unevenly", (4, 4, 8), {"kv": 3}, None, False, False),
    ("fewer heads than keys have", (2, 4, 8), {"kv": 4}, None, False, False),
    ("values with other heads", (4, 4, 8), {"kv": 2, "vn": 4}, None, False, False),
]


@pytest.mark.parametrize("what, shape, more, mask, causal, fused", FUSED, ids=[row[0] for row in FUSED])
def test_which_attention_is_one_kernel(what, shape, more, mask, causal, fused):
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    q, k, v = _shape(*shape, **more)
    given = None if mask is None else torch.ones(shape[1], shape[1], device="npu").to(mask)
    with Watch():
        try:
            F.scaled_dot_product_attention(q, k, v, attn_mask=given, is_causal=causal, enable_gqa="kv" in more)
        except RuntimeError:  # the parts refuse heads that do not fit
            assert not fused, what
    one = any("fused_attention_overrideable" in name for name in seen)
    assert one == fused, f"{what}: {'one kernel' if one else 'in parts'}, of {sorted(set(seen))}"


@pytest.mark.parametrize("rows, columns", [(0, 8), (8, 0), (0, 0)])
def test_an_attention_of_nothing_takes_a_time_that_is_a_number(rows, columns):
    q, k, v = (t.half().npu() for t in draw(rows, columns, N))
    begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    begin.record()
    F.scaled_dot_product_attention(q, k, v)
    end.record()
    torch.npu.synchronize()
    assert 0 < begin.elapsed_time(end) < 1


def test_a_float_mask_needs_float_queries():
    """torch_npu's own check (op-plugin, validate_sdpa_input): PyTorch's lets half queries have a float mask."""
    q = torch.randn(1, 2, 16, 32).half().npu()
    mask = torch.zeros(16, 16).npu()
    with pytest.raises(RuntimeError, match="bool or to match query dtype, but got attn_mask.dtype: float"):
        F.scaled_dot_product_attention(q, q, q, attn_mask=mask)
    want = F.scaled_dot_product_attention(q, q, q)
    for right in (mask.half(), mask == 0):
        got = F.scaled_dot_product_attention(q, q, q, attn_mask=right)
        torch.testing.assert_close(got.cpu(), want.cpu(), rtol=1e-3, atol=1e-3)
    F.scaled_dot_product_attention(q.float(), q.float(), q.float(), attn_mask=mask)
    with torch.autocast("npu", dtype=torch.float16):
        assert F.scaled_dot_product_attention(q.float(), q.float(), q.float(), attn_mask=mask).dtype == torch.float16


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int8, torch.int32, torch.uint8, torch.bool])
def test_a_mask_hides_and_is_not_added(dtype):
    import torch_npu

    q = torch.randn(1, 2, 16, 32).half().npu()
    mask = torch.zeros(16, 16, device="npu").to(dtype)
    training = lambda: torch_npu.npu_fusion_attention(q, q, q, 2, "BNSD", atten_mask=mask)  # noqa: E731
    prompt = lambda: torch_npu.npu_prompt_flash_attention(  # noqa: E731
        q, q, q, num_heads=2, input_layout="BNSD", atten_mask=mask
    )
    scored = lambda: torch_npu.npu_fused_infer_attention_score(  # noqa: E731
        q, q, q, num_heads=2, input_layout="BNSD", atten_mask=mask
    )
    for call, types in (
        (training, (torch.uint8, torch.bool)),
        (prompt, (torch.int8, torch.uint8, torch.bool)),
        (scored, (torch.int8, torch.uint8, torch.bool)),
    ):
        if dtype in types:
            call()
        else:
            with pytest.raises(RuntimeError, match=f"atten_mask is of type .*, not {str(dtype)[6:]}"):
                call()
