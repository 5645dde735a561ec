"""Operators that torch_npu has beyond PyTorch's and that public model code calls: torch_npu.npu_rms_norm and others.

Each is one operator with one launch on the device's clock, as on the card; half precision is computed in fp32 and
rounded once. What each computes is what op-plugin's documents and tests say (github.com/Ascend/op-plugin, docs, test).
They exist from the first use of torch_npu.<name> on; torch.ops.npu.<name> is the same operator.
"""

from __future__ import annotations

import functools
import importlib
import math
import re
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional as F

from labkit.device.names import Format, halves, known_format

FORMAT_ND, FORMAT_NZ = Format.ND, Format.FRACTAL_NZ
# Types by their numbers: PyTorch's own below 32, those of AscendCL from 256 on (torch_npu/csrc: DataType).
_TYPES = {0: torch.uint8, 1: torch.int8, 2: torch.int16, 3: torch.int32, 4: torch.int64, 5: torch.float16,
          6: torch.float32, 7: torch.float64, 11: torch.bool, 12: torch.int8, 13: torch.uint8, 14: torch.int32,
          15: torch.bfloat16}  # fmt: skip
_OPERATORS: dict[
    str, tuple[str, Callable, bool | Callable]
] = {}  # name: schema, function on the CPU, whether it has a gradient
_keep: list[torch.library.Library] = []


def defines(schema: str, gradient: bool | Callable = False):
    """An operator. gradient: whether it has one, by PyTorch's autograd, or the way back itself: (ctx, grad) with
    ctx.dtype, the type of the first argument."""

    def add(function):
        _OPERATORS[schema.partition("(")[0]] = (schema, function, gradient)
        return function

    return add


def scalar_type(number, default=torch.int8) -> torch.dtype:
    """A type that is given by its number, or as itself."""
    if number is None or isinstance(number, torch.dtype):
        return number or default
    return _TYPES[number % 256 if number >= 256 else number]


# ---- registering


def names() -> list[str]:
    """Every operator and function that torch_npu.<name> gives."""
    _load()
    return sorted({*_FUNCTIONS, *(name.partition(".")[0] for name in _OPERATORS if not name.startswith("_npu"))})


def function(name: str) -> Any:
    """One of names()."""
    _register()
    if name in _FUNCTIONS:
        where, inner = _FUNCTIONS[name]
        return getattr(importlib.import_module(f"labkit.device.{where}"), inner)
    return getattr(torch.ops.npu, name)


_formats: dict[int, tuple[Any, int]] = {}  # by a storage's address: a weak reference to it, the format
_most = 16  # of them, from which on those of storages that are gone are left out


def npu_format_cast(tensor: torch.Tensor, acl_format, customize_dtype=None, input_dtype=None) -> torch.Tensor:
    """A copy in another format: private formats (29 is FRACTAL_NZ) change how the card stores a tensor, not its values.
    Here the format is a number that the storage keeps."""
    acl_format = get_npu_format(acl_format) if isinstance(acl_format, torch.Tensor) else known_format(acl_format)
    if acl_format == FORMAT_NZ and tensor.dim() < 2:  # it is made of the last two axes
        acl_format = FORMAT_ND
    if get_npu_format(tensor) == acl_format:
        return tensor
    cast = torch.ops.npu._npu_format_cast(tensor, acl_format)
    if acl_format == FORMAT_NZ:
        custom = None if customize_dtype is None else scalar_type(customize_dtype)
        _room_for_nz(cast, (32 if tensor.element_size() == 1 else 16) if custom is None else 32 // custom.itemsize)
    return _in_format(cast, acl_format)


def _room_for_nz(tensor: torch.Tensor, columns: int) -> None:
    """FRACTAL_NZ is made of whole pieces of 16 rows and so many columns: the storage has room for them."""
    *batch, m, n = tensor.shape
    elements = math.prod(batch) * -(-m // 16) * 16 * -(-n // columns) * columns
    if elements > get_storage_size(tensor):
        tensor.untyped_storage().resize_(elements * tensor.element_size())


def npu_format_cast_(tensor: torch.Tensor, acl_format) -> torch.Tensor:
    acl_format = get_npu_format(acl_format) if isinstance(acl_format, torch.Tensor) else known_format(acl_format)
    return _in_format(tensor, acl_format)


def _in_format(tensor: torch.Tensor, acl_format: int) -> torch.Tensor:
    global _most
    from torch.multiprocessing.reductions import StorageWeakRef

    storage = tensor.untyped_storage()
    if len(_formats) >= _most:
        for key in [key for key, (kept, _) in _formats.items() if kept.expired()]:
            del _formats[key]
        _most = max(16, 2 * len(_formats))  # a walk over all at each cast would take longer with each weight
    _formats[storage._cdata] = (StorageWeakRef(storage), acl_format)
    _copies_keep_formats()
    return tensor


@functools.cache
def _copies_keep_formats() -> None:
    """From the first format on copy.deepcopy() and torch.save() carry it: a saved tensor has a word more for it."""
    plain, get, put = torch.Tensor.__deepcopy__, torch._utils.get_tensor_metadata, torch._utils.set_tensor_metadata

    def deepcopy(self, memo):
        made = plain(self, memo)
        acl_format = get_npu_format(self) if self.device.type == "npu" and self.layout == torch.strided else FORMAT_ND
        return made if acl_format == FORMAT_ND else _in_format(made, acl_format)

    def read(tensor):
        words = get(tensor)
        acl_format = get_npu_format(tensor) if tensor.device.type == "npu" else FORMAT_ND
        return words if acl_format == FORMAT_ND else {**words, f"labkit_format_{int(acl_format)}": True}

    def write(tensor, words):
        for word in [w for w in words if w.startswith("labkit_format_")]:
            words = {k: v for k, v in words.items() if k != word}
            if tensor.device.type == "npu":
                _in_format(tensor, int(word.rpartition("_")[2]))
        put(tensor, words)

    torch.Tensor.__deepcopy__ = functools.wraps(plain)(deepcopy)
    torch._utils.get_tensor_metadata, torch._utils.set_tensor_metadata = read, write


def get_npu_format(tensor: torch.Tensor) -> int:
    kept, acl_format = (
        _formats.get(tensor.untyped_storage()._cdata, (None, FORMAT_ND)) if _formats else (None, FORMAT_ND)
    )
    return Format(FORMAT_ND if kept is None or kept.expired() else acl_format)


@defines("_npu_format_cast(Tensor self, int acl_format) -> Tensor", True)
def _format_cast(self, acl_format):
    return self.clone()


def get_storage_size(tensor: torch.Tensor) -> int:
    """Elements of the tensor's storage."""
    return tensor.untyped_storage().nbytes() // tensor.element_size()


def npu_change_data_ptr(dst: torch.Tensor, src: torch.Tensor, index: int) -> int:
    """dst's storage becomes a part of src's memory, from element `index` on."""
    from labkit.device.library import lib

    if index < 0:
        raise RuntimeError(f"Expect offset(index) equal or greater than zero, got: {index}")
    if dst.dtype != src.dtype:
        raise RuntimeError(f"Expect src and dst tensors having the same dtype, got: src {src.dtype}, dst {dst.dtype}")
    if dst.dtype not in (torch.float32, torch.float16, torch.bfloat16):
        raise RuntimeError(f"Only supports tensors with dtype float32, float16 or bfloat16, got: {dst.dtype}")
    if index + get_storage_size(dst) > get_storage_size(src):
        raise RuntimeError(f"Offsets overflow: {index} and {get_storage_size(dst)} elements of {get_storage_size(src)}")
    lib().lab_share_storage(dst.untyped_storage()._cdata, src.untyped_storage()._cdata, index * dst.element_size())
    return 0


def empty_with_format(size, dtype=None, layout=None, device=None, pin_memory=None, acl_format=FORMAT_ND, **_):
    return _in_format(torch.empty(size, dtype=dtype, device=device or "npu"), known_format(acl_format))


def empty_with_swapped_memory(size, dtype=None, device=None):
    """On a card: host memory that the device reads. Here all memory is."""
    return torch.empty(size, dtype=dtype, device=device or "npu")


def npu_prefetch(inputs, dependency, max_size, offset=0) -> None:
    """On a card: brings a tensor into L2. Nothing here."""


def npu_alloc_float_status(tensor):
    return torch.zeros(8, device=tensor.device)


def npu_get_float_status(status, mode=0):
    """No overflow: a chip of the A2 keeps infinities and NaN."""
    return status


npu_clear_float_status = npu_get_float_status

_FUNCTIONS: dict[str, tuple[str, str]] = {
    **{
        name: ("fused", name)
        for name in """Format npu_format_cast npu_format_cast_ get_npu_format get_storage_size npu_change_data_ptr
            empty_with_format empty_with_swapped_memory npu_prefetch npu_alloc_float_status npu_get_float_status
            npu_clear_float_status""".split()
    },
    "dropout_with_byte_mask": ("modules.contrib", "dropout_with_byte_mask"),
    "npu_fusion_attention": ("attention", "npu_fusion_attention"),
    "npu_fusion_attention_v3": ("attention", "npu_fusion_attention_v3"),
}


def _load() -> None:
    for room in ("attention", "routing"):  # their operators enter the table
        importlib.import_module(f"labkit.device.{room}")


def _register() -> None:
    if _keep:
        return
    _load()
    library = torch.library.Library("npu", "FRAGMENT")
    _keep.append(library)
    for name, (schema, inner, gradient) in _OPERATORS.items():
        library.define(schema)
        library.impl(name, inner, "CPU")  # on npu tensors the device's fallback runs this on the same memory
        torch.library.register_fake(f"npu::{name}", inner, lib=library)  # takes symbolic sizes, which Meta does not
        if "(a!)" in schema:  # npu_dtype_cast_ and one_ have no such other form, and are PyTorch's operators inside
            other = _OPERATORS.get(name.removesuffix("_"))
            alike = other and other[0].partition(",")[2] == schema.partition(",")[2].replace("(a!)", "")
            library.impl(name, _functional(name.removesuffix("_")) if alike else inner, "Functionalize")
        if callable(gradient):  # one that needs no tensor of the way forth
            torch.library.register_autograd(f"npu::{name}", gradient, setup_context=_first_type, lib=library)
        elif gradient:
            _add_gradient(library, name, schema, inner)


def _first_type(ctx, inputs, output) -> None:
    ctx.dtype = inputs[0].dtype


def _functional(name: str) -> Callable:
    """What an operator in place is to torch.compile: the one that makes a new tensor, and a copy."""

    def made(self, *args, **kwargs):
        return self.copy_(getattr(torch.ops.npu, name)(self, *args, **kwargs))

    return made


def _add_gradient(library, name: str, schema: str, inner) -> None:
    """The way back as one operator too: it computes forward again, with PyTorch's autograd, in fp32."""
    plain = name.replace(".", "_")
    arguments = torch._C.parse_schema(f"npu::{schema}").arguments
    inside = schema[schema.index("(") + 1 : schema.rindex(") ->")]
    listed = re.sub(r"=('[^']*'|\[[^]]*\]|[^,)]+)", "", inside.replace("*, ", ""))  # without defaults
    back = f"{plain}_gradient"
    library.define(f"{back}(Tensor?[] grads, {listed}) -> Tensor[]")
    after = {a.name for a in arguments if a.kwarg_only}
    tensors = [i for i, a in enumerate(arguments) if str(a.type) in ("Tensor", "Optional[Tensor]")]

    def gradients(grads, *given):
        wanted = [i for i in tensors if given[i] is not None and given[i].is_floating_point()]
        if any(given[i].is_meta for i in wanted):
            return [torch.empty_like(given[i]) for i in wanted]
        given = list(given)
        # Below autograd, where this runs, nothing would be recorded: as at the top, on CPU tensors, without autocast.
        keys, key = torch._C.DispatchKeySet, torch._C.DispatchKey
        with torch._C._ForceDispatchKeyGuard(
            keys(key.BackendSelect) | keys(key.ADInplaceOrView), keys(key.AutocastCPU)
        ):
            with torch.enable_grad():
                for i in wanted:
                    given[i] = given[i].detach().requires_grad_()
                positional = [v for v, a in zip(given, arguments) if a.name not in after]
                made = inner(*positional, **{a.name: v for v, a in zip(given, arguments) if a.name in after})
                made = made if isinstance(made, (tuple, list)) else (made,)
                pairs = [
                    (m, g)
                    for m, g in zip(made, grads)
                    if isinstance(m, torch.Tensor) and m.requires_grad and g is not None
                ]
                leaves = [given[i] for i in wanted]
                found = torch.autograd.grad(
                    [m for m, _ in pairs], leaves, [g.to(m.dtype) for m, g in pairs], allow_unused=True
                )
                return [torch.zeros_like(t) if g is None else g for t, g in zip(leaves, found)]

    library.impl(back, gradients, "CPU")
    library.impl(back, gradients, "Meta")

    def save(ctx, inputs, keyword_only_inputs=None, output=None):
        given = [*inputs, *(keyword_only_inputs or {}).values()]
        ctx.given = [None if isinstance(v, torch.Tensor) else v for v in given]
        ctx.places = [i for i, v in enumerate(given) if isinstance(v, torch.Tensor)]
        ctx.save_for_backward(*(given[i] for i in ctx.places))
        ctx.positional = len(inputs)

    def backward(ctx, *grads):
        given = list(ctx.given)
        for i, t in zip(ctx.places, ctx.saved_tensors):
            given[i] = t
        found = iter(getattr(torch.ops.npu, back)(list(grads), *given))
        ways = [
            next(found) if i in tensors and given[i] is not None and given[i].is_floating_point() else None
            for i in range(len(given))
        ]
        return tuple(ways[: ctx.positional])

    torch.library.register_autograd(f"npu::{name}", backward, setup_context=save, lib=library)


# ---- norms, activations


@defines("npu_rms_norm(Tensor self, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor)", gradient=True)
def _rms_norm(self, gamma, epsilon=1e-6):
    x = self.float()
    rstd = torch.rsqrt(x.square().mean(tuple(range(-gamma.dim(), 0)), keepdim=True) + epsilon)
    return (x * rstd * gamma.float()).to(self.dtype), rstd


@defines("npu_gemma_rms_norm(Tensor self, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor)")
def _gemma_rms_norm(self, gamma, epsilon=1e-6):
    return _rms_norm(self, gamma.float() + 1, epsilon)


@defines("npu_add_rms_norm(Tensor x1, Tensor x2, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor, Tensor)", True)
def _add_rms_norm(x1, x2, gamma, epsilon=1e-6):
    x = x1.float() + x2.float()
    y, rstd = _rms_norm(x, gamma, epsilon)
    return y.to(x1.dtype), rstd, x.to(x1.dtype)


@defines(
    "npu_add_rms_norm_cast(Tensor x1, Tensor x2, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor, Tensor, Tensor)"
)
def _add_rms_norm_cast(x1, x2, gamma, epsilon=1e-6):
    y, rstd, x = _add_rms_norm(x1, x2, gamma, epsilon)
    return y.float(), y, rstd, x


@defines(
    "npu_add_layer_norm(Tensor x1, Tensor x2, Tensor gamma, Tensor beta, float epsilon=1e-05, "
    "bool additional_output=False) -> (Tensor, Tensor, Tensor, Tensor)",
    True,
)
def _add_layer_norm(x1, x2, gamma, beta, epsilon=1e-5, additional_output=False):
    x = x1.float() + x2.float()
    y, mean, rstd = torch.native_layer_norm(x, gamma.shape, gamma.float(), beta.float(), epsilon)
    return y.to(x1.dtype), mean, rstd, x.to(x1.dtype)


@defines(
    "npu_deep_norm(Tensor x, Tensor gx, Tensor beta, Tensor gamma, float alpha=0.3, float epsilon=1e-06) "
    "-> (Tensor, Tensor, Tensor)",
    True,
)
def _deep_norm(x, gx, beta, gamma, alpha=0.3, epsilon=1e-6):
    y, mean, rstd = torch.native_layer_norm(
        alpha * x.float() + gx.float(), gamma.shape, gamma.float(), beta.float(), epsilon
    )
    return mean, rstd, y.to(x.dtype)


@defines(
    "npu_layer_norm_eval(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, "
    "float eps=1e-05) -> Tensor",
    True,
)
def _layer_norm_eval(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    weight, bias = (t if t is None else t.float() for t in (weight, bias))
    return F.layer_norm(input.float(), normalized_shape, weight, bias, eps).to(input.dtype)


@defines(
    "npu_group_norm_silu(Tensor input, Tensor? weight, Tensor? bias, int group, float eps=0.00001) "
    "-> (Tensor, Tensor, Tensor)",
    True,
)
def _group_norm_silu(input, weight, bias, group, eps=1e-5):
    n, c, *rest = input.shape
    weight, bias = (t if t is None else t.float() for t in (weight, bias))
    y, mean, rstd = torch.native_group_norm(
        input.float().contiguous(), weight, bias, n, c, torch.Size(rest).numel(), group, eps
    )
    return F.silu(y).to(input.dtype), mean.to(input.dtype), rstd.to(input.dtype)


@defines(
    "npu_group_norm_swish(Tensor input, int num_groups, Tensor weight, Tensor bias, float? eps=1e-5, "
    "float? swish_scale=1.0) -> (Tensor, Tensor, Tensor)",
    True,
)
def _group_norm_swish(input, num_groups, weight, bias, eps=1e-5, swish_scale=1.0):
    eps, swish_scale = 1e-5 if eps is None else eps, 1.0 if swish_scale is None else swish_scale
    n, c, *rest = input.shape
    y, mean, rstd = torch.native_group_norm(
        input.float().contiguous(), weight.float(), bias.float(), n, c, torch.Size(rest).numel(), num_groups, eps
    )
    return (y * torch.sigmoid(swish_scale * y)).to(input.dtype), mean, rstd


@defines("npu_swiglu(Tensor self, int dim=-1) -> Tensor", True)
def _swiglu(self, dim=-1):
    gate, up = halves(self.float(), dim)
    return (F.silu(gate) * up).to(self.dtype)


@defines(
    "npu_clipped_swiglu(Tensor x, *, Tensor? group_index=None, int dim=-1, float alpha=1.702, float limit=7.0, "
    "float bias=1.0, bool interleaved=True) -> Tensor"
)
def _clipped_swiglu(x, *, group_index=None, dim=-1, alpha=1.702, limit=7.0, bias=1.0, interleaved=True):
    wide = x.float().movedim(dim, -1)
    gate, up = halves(wide, interleaved=interleaved)
    gate, up = gate.clamp(max=limit), up.clamp(-limit, limit)
    return (gate * torch.sigmoid(alpha * gate) * (up + bias)).movedim(-1, dim).to(x.dtype)


@defines("npu_geglu(Tensor self, int dim=-1, int approximate=1, bool activate_left=False) -> (Tensor, Tensor)", True)
def _geglu(self, dim=-1, approximate=1, activate_left=False):
    left, right = halves(self.float(), dim)
    value, gate = (right, left) if activate_left else (left, right)
    gelu = F.gelu(gate, approximate="tanh" if approximate else "none")
    return (value * gelu).to(self.dtype), gelu.to(self.dtype)


@defines("npu_gelu(Tensor self, *, str approximate='none') -> Tensor", True)
def _gelu(self, *, approximate="none"):
    return F.gelu(self.float(), approximate=approximate).to(self.dtype)


@defines("npu_fast_gelu(Tensor self) -> Tensor", True)
def _fast_gelu(self):
    x = self.float()
    return (x * torch.sigmoid(1.702 * x)).to(self.dtype)


defines("fast_gelu(Tensor self) -> Tensor", True)(_fast_gelu)


@defines("npu_silu(Tensor self) -> Tensor", True)
def _silu(self):
    return F.silu(self.float()).to(self.dtype)


@defines("npu_silu_(Tensor(a!) self) -> Tensor(a!)")
def _silu_(self):
    return self.copy_(_silu(self))


@defines("npu_mish(Tensor self) -> Tensor", True)
def _mish(self):
    return F.mish(self.float()).to(self.dtype)


@defines("npu_scaled_masked_softmax(Tensor x, Tensor mask, Scalar scale=1, bool fixed_triu_mask=False) -> Tensor", True)
def _scaled_masked_softmax(x, mask, scale=1, fixed_triu_mask=False):
    if fixed_triu_mask:
        mask = torch.ones(x.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
    return torch.softmax((x.float() * scale).masked_fill(mask.bool(), -10000), -1).to(x.dtype)


@defines("npu_softmax_cross_entropy_with_logits(Tensor self, Tensor labels) -> Tensor", True)
def _softmax_cross_entropy_with_logits(self, labels):
    return -(labels.float() * torch.log_softmax(self.float(), -1)).sum(-1).to(self.dtype)


# ---- rotary position


def _turned(x, mode: str):
    first, second = halves(x, interleaved=mode == "interleave")
    if mode == "interleave":
        return torch.stack([-second, first], -1).flatten(-2)
    return torch.cat([-second, first], -1)


@defines(
    "npu_rotary_mul(Tensor self, Tensor r1, Tensor r2, str rotary_mode='half', Tensor? rotate=None) -> Tensor", True
)
def _rotary_mul(self, r1, r2, rotary_mode="half", rotate=None):
    if rotary_mode not in ("half", "interleave"):
        raise ValueError(f"rotary_mode is 'half' or 'interleave', not {rotary_mode!r}")
    x = self.float()
    turned = _turned(x, rotary_mode) if rotate is None else x @ rotate.float()
    return (x * r1.float() + turned * r2.float()).to(self.dtype)


@defines(
    "npu_apply_rotary_pos_emb(Tensor query, Tensor key, Tensor cos, Tensor sin, str layout='BSND', "
    "str rotary_mode='half') -> (Tensor, Tensor)"
)
def _apply_rotary_pos_emb(query, key, cos, sin, layout="BSND", rotary_mode="half"):
    return _rotary_mul(query, cos, sin, rotary_mode), _rotary_mul(key, cos, sin, rotary_mode)


@defines("npu_interleave_rope(Tensor x, Tensor cos, Tensor sin) -> Tensor")
def _interleave_rope(x, cos, sin):
    return _rotary_mul(torch.cat([x[..., ::2], x[..., 1::2]], -1), cos, sin)
