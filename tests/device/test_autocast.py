"""torch.autocast("npu"): every operator of its three lists casts as its list says, and no other is on a list."""

from __future__ import annotations

import contextlib

import pytest
from device_lab import simulated, torch
from torch.utils._python_dispatch import TorchDispatchMode

pytestmark = simulated

LOWER = """conv1d conv1d.padding conv2d conv2d.padding conv3d conv3d.padding _convolution convolution conv_tbc
conv_transpose1d
    conv_transpose2d.input conv_transpose3d.input prelu addmm addmv addr matmul einsum mm mv linear addbmm baddbmm bmm
    chain_matmul linalg_multi_dot linalg_vecdot lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell
    scaled_dot_product_attention""".split()
FLOAT = """acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow.Tensor_Scalar
pow.Tensor_Tensor pow.Scalar
    softplus layer_norm native_layer_norm group_norm frobenius_norm.dim nuclear_norm cosine_similarity poisson_nll_loss
    cosine_embedding_loss nll_loss nll_loss2d hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss mse_loss
    margin_ranking_loss multilabel_margin_loss soft_margin_loss triplet_margin_loss multi_margin_loss
    binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp softmax.int log_softmax.int cumprod cumsum prod
    prod.dim_int sum sum.dim_IntList norm.Scalar norm.ScalarOpt_dim""".split()
WIDEST = "addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add cat stack".split()
DEFAULTS = {
    "int": 0,
    "SymInt": 0,
    "float": 1.0,
    "number": 1,
    "Scalar": 1,
    "bool": False,
    "str": "i,j->ij",
    "ScalarType": None,
}


class Casts(TorchDispatchMode):
    """Notes the types that tensors are cast to, in order."""

    def __init__(self):
        super().__init__()
        self.to: list[torch.dtype] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.aten._to_copy.default:
            self.to.append(kwargs["dtype"])
        return func(*args, **(kwargs or {}))


def casts(name: str, *dtypes) -> torch.dtype | None:
    """What `name` casts its tensors to under autocast to half, before it does anything else; None: nothing. The
    tensors have these types, in turn; other arguments are whatever the schema takes: the casts come first, and whether
    the operator accepts its arguments does not matter."""
    packet, _, overload = name.partition(".")
    op = getattr(getattr(torch.ops.aten, packet), overload or "default")
    made = 0

    def tensor():
        nonlocal made
        made += 1
        return torch.ones(2, 2, dtype=dtypes[(made - 1) % len(dtypes)], device="npu")

    def value(kind: str):
        if kind.startswith("Optional["):
            kind = kind[9:-1]
            return tensor() if kind == "Tensor" else None
        if kind == "Tensor":
            return tensor()
        if kind.startswith("List["):
            inner = kind[5:-1]
            return [tensor(), tensor()] if "Tensor" in inner else [value(inner)]
        return DEFAULTS[kind]

    args = [value(str(a.type)) for a in op._schema.arguments if not a.kwarg_only]
    with torch.no_grad(), torch.autocast("npu", dtype=torch.float16), Casts() as seen, contextlib.suppress(Exception):
        op(*args)
    return seen.to[0] if seen.to else None


def registered(key: str) -> set[str]:
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return {
        n.removeprefix("aten::")
        for n in torch._C._dispatch_get_all_op_names()
        if n.startswith("aten::") and has(n, key)
    }


def test_the_lists_have_these_operators_and_no_other():
    wanted = {*LOWER, *FLOAT, *WIDEST, "binary_cross_entropy"}
    there = registered("AutocastPrivateUse1")
    assert there == wanted, f"missing: {sorted(wanted - there)}, too many: {sorted(there - wanted)}"
    cuda = registered("AutocastCUDA")  # PyTorch's own lists for a device with half precision
    ours_alone = {"cat", "stack", "conv1d.padding", "conv2d.padding", "conv3d.padding"}
    assert wanted - cuda <= ours_alone, f"not in PyTorch's lists: {sorted(wanted - cuda - ours_alone)}"


@pytest.mark.parametrize("name", LOWER)
def test_lower(name):
    assert casts(name, torch.float32) == torch.float16
    if name != "scaled_dot_product_attention":  # it computes in float inside
        assert casts(name, torch.float16) is None


@pytest.mark.parametrize("name", FLOAT)
def test_float(name):
    assert casts(name, torch.float16) == torch.float32
    assert casts(name, torch.float32) is None


@pytest.mark.parametrize("name", WIDEST)
def test_widest(name):
    assert casts(name, torch.float16, torch.float32) == torch.float32
    assert casts(name, torch.float32, torch.float16) == torch.float32
    assert casts(name, torch.bfloat16, torch.float16) == torch.float16, "without a float it is autocast's own type"
    assert casts(name, torch.float16) is casts(name, torch.float32) is None


def test_doubles_and_integers_stay():
    for name in ("mm", "exp", "cat"):
        assert casts(name, torch.float64) is casts(name, torch.int32) is None, name
