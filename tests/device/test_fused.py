"""torch_npu's fused operators on the simulated device: values, gradients, one launch each."""

from __future__ import annotations

import os

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402
from same import equal  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import labkit.device as device  # noqa: E402

pytestmark = simulated


def draw(*shape, seed=0, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def rotated(x):
    a, b = x.chunk(2, -1)
    return torch.cat([-b, a], -1)


def rms(x, gamma, epsilon=1e-6):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + epsilon) * gamma


CASES = {
    "npu_swiglu": ([(3, 5, 16)], lambda x: F.silu(x[..., :8]) * x[..., 8:], lambda op, *a: op(*a)),
    "npu_rms_norm": ([(4, 16), (16,)], rms, lambda op, *a: op(*a)[0]),
    "npu_rotary_mul": (
        [(2, 3, 4, 8), (1, 3, 1, 8), (1, 3, 1, 8)],
        lambda x, c, s: x * c + rotated(x) * s,
        lambda op, *a: op(*a),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name):
    import torch_npu

    shapes, golden, call = CASES[name]
    op = getattr(torch_npu, name)
    given = [draw(*s, seed=i).requires_grad_() for i, s in enumerate(shapes)]
    there = [t.detach().npu().requires_grad_() for t in given]
    want, got = golden(*given), call(op, *there)
    torch.testing.assert_close(got.cpu(), want)
    want.square().sum().backward()
    got.square().sum().backward()
    for a, b in zip(given, there):
        torch.testing.assert_close(b.grad.cpu(), a.grad, rtol=1e-4, atol=1e-5)
    half = [t.detach().half() for t in there]
    torch.testing.assert_close(
        call(op, *half).cpu(), golden(*(t.float().cpu() for t in half)).half(), rtol=1e-3, atol=1e-6
    )


@pytest.mark.parametrize("name", CASES)
def test_one_launch(name):
    import torch_npu

    shapes, _, call = CASES[name]
    there = [draw(*s).npu() for s in shapes]
    device.reset_clock()
    call(getattr(torch_npu, name), *there)
    (span,) = device.timeline()
    assert span.name == f"npu::{name}" and span.bytes >= 4 * there[0].numel()


def test_compiled_and_checked():
    import torch_npu

    x = draw(4, 16).npu()
    compiled = torch.compile(lambda t: torch_npu.npu_swiglu(t) + 1, backend="npu")
    torch.testing.assert_close(compiled(x), torch_npu.npu_swiglu(x) + 1)
    allowed = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")
    for args in ((x,), (x.detach().clone().requires_grad_(),)):
        assert set(torch.library.opcheck(torch.ops.npu.npu_swiglu.default, args, test_utils=allowed).values()) == {
            "SUCCESS"
        }


def test_formats_are_kept_and_change_no_value():
    import torch_npu

    x = draw(16, 16).npu()
    nz = torch_npu.npu_format_cast(x, 29)
    assert equal(nz, x) and nz is not x and torch_npu.npu_format_cast(nz, 29) is nz
    assert torch_npu.get_npu_format(x) == 2 and torch_npu.get_npu_format(nz) == torch_npu.get_npu_format(nz[1:]) == 29


def test_many_formats_are_not_gone_through_at_each_cast(monkeypatch):
    import torch_npu

    from labkit.device import fused

    x, walks = draw(16, 16).npu(), []

    class Counted(dict):
        def items(self):
            walks.append(len(self))
            return super().items()

    monkeypatch.setattr(fused, "_formats", Counted())
    monkeypatch.setattr(fused, "_most", 16)
    kept = [torch_npu.npu_format_cast(x, 29) for _ in range(100)]
    assert walks == [16, 32, 64] and all(torch_npu.get_npu_format(one) == 29 for one in kept)
    del kept
    for _ in range(29):
        torch_npu.npu_format_cast(x, 29)
    assert len(fused._formats) < 9


def test_storages_share_memory():
    import torch_npu
    from torch_npu.utils import get_part_combined_tensor, is_combined_tensor_valid, npu_combine_tensors

    a, b = torch.ones(2, 2).npu(), torch.arange(3.0).npu()
    whole = npu_combine_tensors([a, b])
    assert whole.tolist() == [1, 1, 1, 1, 0, 1, 2] and a.data_ptr() == whole.data_ptr()
    assert torch_npu.get_storage_size(a) == 4 and torch_npu.get_storage_size(whole) == 7
    whole.add_(1)
    assert b.tolist() == [1, 2, 3] and is_combined_tensor_valid(whole, [a, b])
    part = get_part_combined_tensor(whole, 3, 2)
    del whole, a
    part.mul_(10)
    assert part.tolist() == [20, 10] and b.tolist() == [10, 2, 3]
    assert not is_combined_tensor_valid(torch.ones(2).npu(), [b])
    for wrong, index in ((torch.ones(9).npu(), 0), (b.double(), 0), (b, -1)):
        with pytest.raises(RuntimeError, match="Offsets overflow|same dtype|greater than zero"):
            torch_npu.npu_change_data_ptr(wrong, torch.ones(3).npu(), index)


def test_formats_have_their_room():
    import torch_npu

    for tensor, bytes_ in ((torch.ones(15, 17).half(), 2 * 16 * 32), (torch.ones(3, 15, 33).char(), 3 * 16 * 64)):
        cast = torch_npu.npu_format_cast(tensor.npu(), 29)
        assert cast.untyped_storage().nbytes() == bytes_ and torch.equal(cast.cpu(), tensor)
        assert (
            torch_npu.get_npu_format(cast) == 29 and torch_npu.get_npu_format(torch_npu.npu_format_cast(cast, 2)) == 2
        )
        assert torch_npu.get_npu_format(torch_npu.npu_format_cast_(tensor.npu(), 29)) == 29
    eight = torch_npu.npu_format_cast(torch.ones(15, 17).int().npu(), 29, customize_dtype=torch.int32)
    assert eight.untyped_storage().nbytes() == 4 * 16 * 24
    assert torch_npu.get_npu_format(torch_npu.npu_format_cast(torch.ones(12).npu(), 29)) == 2
    assert torch_npu.get_npu_format(torch_npu.empty_with_format((4, 4), dtype=torch.half, acl_format=29)) == 29
    swapped = torch_npu.empty_with_swapped_memory((2, 3), dtype=torch.half)
    assert swapped.shape == (2, 3) and swapped.dtype == torch.half and swapped.device.type == "npu"


def test_what_does_nothing_here():
    import torch_npu

    x = torch.ones(1000).npu()
    assert torch_npu.npu_prefetch(x, None, 64) is None
    status = torch_npu.npu_alloc_float_status(x)
    assert not torch_npu.npu_get_float_status(status).any() and not torch_npu.npu_clear_float_status(status).any()
    thinned = torch_npu.dropout_with_byte_mask(x, 0.25)
    assert (
        set(thinned.unique().tolist()) == {0.0, torch.tensor(1 / 0.75).item()}
        and 650 < int(thinned.count_nonzero()) < 850
    )
    assert equal(torch_npu.dropout_with_byte_mask(x, 0.25, training=False), x)


ODD = {
    "swiglu": lambda npu: npu.npu_swiglu(draw(4, 3).npu()),
    "swiglu of one": lambda npu: npu.npu_swiglu(draw(4, 1).npu()),
    "swiglu of rows": lambda npu: npu.npu_swiglu(draw(3, 4).npu(), dim=0),
    "geglu": lambda npu: npu.npu_geglu(draw(4, 3).npu()),
    "clipped": lambda npu: npu.npu_clipped_swiglu(draw(4, 3).npu(), interleaved=False),
    "clipped, interleaved": lambda npu: npu.npu_clipped_swiglu(draw(4, 3).npu()),
    "rotary": lambda npu: npu.npu_rotary_mul(*(draw(1, 1, 1, 5).npu() for _ in range(3))),
    "rotary, interleaved": lambda npu: npu.npu_rotary_mul(*(draw(1, 1, 1, 5).npu() for _ in range(3)), "interleave"),
    "interleaved rope": lambda npu: npu.npu_interleave_rope(*(draw(1, 1, 1, 5).npu() for _ in range(3))),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_number_has_no_halves(name):
    import torch_npu

    with pytest.raises(RuntimeError, match="has no two halves"):
        ODD[name](torch_npu)


def test_what_may_be_none_may_be_none():
    import torch_npu

    given = draw(2, 4, 3).npu(), 2, torch.ones(4).npu(), torch.ones(4).npu()
    want = torch_npu.npu_group_norm_swish(*given)
    for none in ({"eps": None}, {"swish_scale": None}):
        assert all(equal(a, b) for a, b in zip(torch_npu.npu_group_norm_swish(*given, **none), want))


def test_a_format_that_there_is_not():
    import torch_npu

    x = draw(5, 5).npu()
    for wrong in (
        lambda: torch_npu.npu_format_cast(x, 12345),
        lambda: torch_npu.npu_format_cast_(x, -7),
        lambda: torch_npu.empty_with_format((4, 4), acl_format=5),
    ):
        with pytest.raises(RuntimeError, match="no format has the number"):
            wrong()
    assert torch_npu.get_npu_format(x) == 2


def test_formats_go_with_copies(tmp_path):
    import copy

    import torch_npu

    nz = torch_npu.npu_format_cast(torch.rand(3, 3, device="npu"), torch_npu.Format.FRACTAL_NZ)
    torch.save({"nz": nz, "plain": nz.cpu()}, tmp_path / "saved.pt")
    for other in (copy.deepcopy(nz), torch.load(tmp_path / "saved.pt")["nz"]):
        assert torch_npu.get_npu_format(other) is torch_npu.Format.FRACTAL_NZ and other.equal(nz)
    assert torch.load(tmp_path / "saved.pt", map_location="cpu")["nz"].equal(nz.cpu())
    weak = torch_npu._C._weak_ref_tensor(nz[1:])
    assert weak.data_ptr() == nz[1:].data_ptr() and torch_npu.get_npu_format(weak) == 29


def test_a_cast_keeps_nothing_for_its_gradient():
    import torch_npu

    x = torch.ones(2, device="npu", requires_grad=True)
    y = torch_npu.npu_dtype_cast(x, torch.half)
    ones = torch.ones_like(y)
    assert torch.autograd.grad(y, x, ones)[0].grad_fn is None
    second = torch.autograd.grad(y, x, ones.requires_grad_(), create_graph=True)[0]
    assert second.dtype == torch.float32 and second.grad_fn is not None
    kept = torch.zeros(1, 2, device="npu")
    torch_npu.npu_slice(torch.ones(2, 2, device="npu"), [0, 0], [1, 2], out=kept)
    assert kept.tolist() == [[1, 1]]
