"""PyTorch's own samples of its operators (torch.testing's op_db), on the simulated device against the CPU: results, in
place, out=, gradients, devices, types and strides, for contiguous, strided and channels_last inputs.

Here a fixed drawn tenth. All of them, in a few minutes: python tests/device/test_opinfo.py [name ...]
No difference is let pass by the operator's name: where the CPU is not the measure, what is expected is said below
(THROUGH_FP32, STAYS, out=), and any other fault in the same operator fails.
"""

from __future__ import annotations

import os
import random
import sys
import types
import unittest
import warnings
from itertools import islice
from pathlib import Path

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))  # as pytest has it, for the command above
from device_lab import simulated  # noqa: E402

try:
    import expecttest  # noqa: F401
except ImportError:  # PyTorch's test library derives a class from it that is not used here
    sys.modules["expecttest"] = types.ModuleType("expecttest")
    sys.modules["expecttest"].TestCase = unittest.TestCase
hypothesis = sys.modules.get("hypothesis")
profile = hypothesis and hypothesis.settings.get_current_profile_name()
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

if hypothesis:  # PyTorch's test library put its own profile in place: 10 examples, in CI one seed for all
    hypothesis.settings.load_profile(profile)
from torch.utils._pytree import tree_leaves, tree_map  # noqa: E402

pytestmark = [simulated, pytest.mark.slow]
TYPES = (torch.float32, torch.float16)
MOST_SAMPLES = 6  # of each operator and type
# Whose values are random, or nobody's: shapes, types and strides are compared.
RANDOM = """bernoulli cauchy empty empty_like empty_permuted empty_strided exponential geometric log_normal multinomial
    new_empty new_empty_strided nn.functional.alpha_dropout nn.functional.dropout nn.functional.dropout2d
    nn.functional.dropout3d nn.functional.feature_alpha_dropout nn.functional.fractional_max_pool2d
    nn.functional.fractional_max_pool3d nn.functional.multi_head_attention_forward nn.functional.rrelu normal
    normal_in_place pca_lowrank rand_like randint randint_like randn randn_like svd_lowrank uniform
    torch.ops.aten._safe_softmax.default""".split()
# Half precision is computed in fp32 here, as on the card, and each result rounded once: what is compared is the CPU's
# fp32 operator on the same numbers, rounded. The CPU's own fp16 kernels differ: the norms return their statistics in
# fp16, the convolution sums in fp16 (3 of 648 elements are off by up to 0.13 from fp32's). A bit of the number for each
# result that stays fp32.
THROUGH_FP32 = {"native_group_norm": 0b110, "native_layer_norm": 0b110, "nn_functional_conv_transpose3d": 0}
# Arguments that PyTorch wants on the CPU whatever the device: "tensor_indices_or_sections to be on cpu".
STAYS = {"tensor_split"}


def drawn() -> list:
    return random.Random(11).sample(op_db, len(op_db) // 10)


def moved(t: torch.Tensor) -> torch.Tensor:
    """On the npu, with the same strides and offset."""
    if t.layout != torch.strided or t.is_conj() or t.is_neg():
        return t.detach().npu().requires_grad_(t.requires_grad)
    all_of_it = t.detach().as_strided((t.untyped_storage().nbytes() // t.element_size(),), (1,), 0).npu()
    return all_of_it.as_strided(t.shape, t.stride(), t.storage_offset()).requires_grad_(t.requires_grad)


def there(value, stays: bool = False):
    """A sample on the npu: its tensors, and the devices that it names."""

    def one(leaf):
        if isinstance(leaf, torch.Tensor):
            return leaf if stays and not leaf.is_floating_point() else moved(leaf)
        return "npu" if leaf == "cpu" or isinstance(leaf, torch.device) and leaf.type == "cpu" else leaf

    return tree_map(one, value)


def in_fp32(value):
    return tree_map(lambda t: t.float() if isinstance(t, torch.Tensor) and t.dtype == torch.float16 else t, value)


def tensors(value) -> list:
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def compare(what: str, got, want, exact_values: bool) -> None:
    ours, theirs = tensors(got), tensors(want)
    assert len(ours) == len(theirs), f"{what}: {len(ours)} tensors for {len(theirs)}"
    for a, b in zip(ours, theirs):
        assert (a.shape, a.dtype, a.layout) == (b.shape, b.dtype, b.layout), f"{what}: {a.shape} {a.dtype} {a.layout}"
        assert a.device.type == "npu" or b.numel() == 0 or b.device.type == "meta", f"{what}: on {a.device}"
        if a.layout == torch.strided and b.numel() > 1:
            steps = [[s for s, n in zip(t.stride(), t.shape) if n > 1] for t in (a, b)]
            assert steps[0] == steps[1], f"{what}: strides {a.stride()}, the CPU's {b.stride()}"
        if exact_values and b.device.type != "meta":
            half = b.dtype in (torch.float16, torch.bfloat16)
            torch.testing.assert_close(
                a.detach().cpu(), b.detach(), rtol=2e-2 if half else 1e-4, atol=1e-2 if half else 1e-4, equal_nan=True,
                msg=lambda text: f"{what}: {text}")  # fmt: skip


def check(op, sample, what: str, gradients: bool) -> None:
    values = op.name not in RANDOM
    given = (sample.input, sample.args, sample.kwargs)
    x, args, kwargs = there(given, op.name in STAYS)
    if "device" in kwargs:
        kwargs["device"] = "npu"
    torch.manual_seed(1)
    try:
        want = op(given[0], *given[1], **given[2])
    except Exception:  # the CPU cannot: nothing to compare
        return
    kept = THROUGH_FP32.get(op.formatted_name)
    if kept is not None and sample.input.dtype != torch.float16:
        kept = None
    if kept is not None:
        first, rest, named = in_fp32(given)
        exact = tensors(op(first, *rest, **named))
        want = [t if kept >> i & 1 else t.half() for i, t in enumerate(exact)]
    torch.manual_seed(1)
    got = op(x, *args, **kwargs)
    compare(what, got, want, values)
    if kept is not None:
        return
    if gradients:
        before, after = ([t for t in tensors(v) if t.requires_grad] for v in (want, got))
        leaves = [[t for t in tensors(v) if t.requires_grad and t.is_leaf] for v in (given, (x, args, kwargs))]
        if before and leaves[0] and all(t.is_floating_point() for t in before):
            ways = [
                torch.autograd.grad([t.sum() for t in made], to, allow_unused=True)
                for made, to in ((before, leaves[0]), (after, leaves[1]))
            ]
            compare(f"{what}, gradient", ways[1], ways[0], values)
    if op.supports_out and isinstance(got, torch.Tensor) and not gradients and got.layout == torch.strided:
        outs = [torch.empty_like(made) for made in (want, got)]
        for out, (first, rest, named) in zip(outs, (given, (x, args, kwargs))):
            torch.manual_seed(1)
            op(first, *rest, **named, out=out)
        # Strides as the CPU's; the values are the operator's own: the CPU's fft.ihfft2(x, out=) leaves other ones.
        compare(f"{what}, out=", outs[1], outs[0], False)
        compare(f"{what}, out=", outs[1].contiguous(), want.contiguous(), values)
    inplace = op.get_inplace()
    if inplace is not None and not gradients and isinstance(got, torch.Tensor) and got.dtype == x.dtype:
        if got.shape == x.shape and not sample.broadcasts_input:
            copy, same = sample.input.clone(), x.clone()
            torch.manual_seed(1)
            inplace(copy, *given[1], **given[2])
            torch.manual_seed(1)
            inplace(same, *args, **kwargs)
            compare(f"{what}, in place", same, copy, values)


def samples(op, dtype, gradients: bool):
    """(what it is, sample): as they come, strided, and channels_last where there are four axes."""
    for i, sample in enumerate(islice(op.sample_inputs("cpu", dtype, requires_grad=gradients), MOST_SAMPLES)):
        yield f"{i}", sample
        if gradients:
            continue
        if i < 2 and all(t.layout == torch.strided for t in tensors((sample.input, sample.args, sample.kwargs))):
            yield f"{i} strided", sample.noncontiguous()
        if isinstance(sample.input, torch.Tensor) and sample.input.dim() == 4 and sample.input.layout == torch.strided:
            yield (
                f"{i} channels_last",
                sample.transform(
                    lambda t: (
                        t.to(memory_format=torch.channels_last) if isinstance(t, torch.Tensor) and t.dim() == 4 else t
                    )
                ),
            )


def faults(op) -> list[str]:
    found = []
    for dtype in TYPES:
        if not op.supports_dtype(dtype, "cpu"):
            continue
        for gradients in (False, True):
            if gradients and not (op.supports_autograd and dtype == torch.float32):
                continue
            for what, sample in samples(op, dtype, gradients):
                name = f"{op.formatted_name} {str(dtype)[6:]} {what}"
                try:
                    check(op, sample, name, gradients)
                except Exception as error:
                    found.append(f"{name}: {type(error).__name__}: {str(error)[:400]}")
    return found


@pytest.mark.parametrize("op", drawn(), ids=lambda op: op.formatted_name)
def test_an_operator_is_the_cpus(op):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = faults(op)
    assert not found, "\n".join(found)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    chosen = [op for op in op_db if not sys.argv[1:] or op.formatted_name in sys.argv[1:]]
    bad = 0
    for operator in chosen:
        if sys.stderr.isatty():
            print(f"{operator.formatted_name:60}", end="\r", file=sys.stderr, flush=True)
        listed = faults(operator)
        bad += bool(listed)
        for fault in listed[:3]:
            print("FAULT  " + fault.replace("\n", " ")[:300], f"({len(listed)})", flush=True)
    print(f"{len(chosen)} operators, {bad} not as the CPU's")
    sys.exit(bad > 0)
