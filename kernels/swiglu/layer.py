"""SwiGLU as modules of PyTorch: the operator of swiglu_torch.asc where it fits, PyTorch's own operators where not.

    swiglu = labkit.operator("swiglu")
    y = swiglu.SwiGLU()(gate, up)                 # silu(gate) * up
    mlp = swiglu.SwiGLUMLP(4096, 11008).npu()     # LLaMA's MLP, with the names of its parameters
    mlp.path, mlp.why_native                      # which of the two ran last, and why it was not the operator

replace.py puts them into a model, fuse.py does that in a compiled graph.
"""

from __future__ import annotations

import warnings

import torch
from torch import nn
from torch.nn import functional as F

from labkit import messages
from labkit.operators import availability

NATIVE = "native"
TYPES = (torch.float16, torch.bfloat16, torch.float32)
SOURCES = {
    "swiglu": "kernels/swiglu/swiglu_torch.asc",
    "swiglu_linear": "kernels/swiglu_linear/swiglu_linear_torch.asc",
}
LONGEST = 65535  # elements of a weight's side that swiglu_linear's copies can step
_told: set[str] = set()  # operators of which a warning has said that they could not be built


def missing(op: str) -> str:
    """ "" when torch.ops.lab.<op> has an implementation for npu, which the first call builds; else why not, in a
    line.
    """
    why = availability.missing(op, SOURCES[op])
    if why and op not in _told:
        _told.add(op)
        warnings.warn(
            messages.text(
                "operator.falls_back", name=f"lab::{op}", why=messages.text("operator.native.built", op=op, given=why)
            ),
            stacklevel=2,
        )
    return why


# A graph that is being traced takes the answer, not the building of it. As torch.compiler.assume_constant_result, which
# imports torch._dynamo: two seconds in each process, of which a program that compiles nothing has no use.
missing._dynamo_marked_constant = True


class _Chooses(nn.Module):
    """A module that computes with an operator of ours or natively, and remembers which it was."""

    def __init__(self, native: bool = False):
        super().__init__()
        self.native = native  # True: never the operator
        self.path = ""  # "lab::swiglu", "lab::swiglu_linear" or "native", after a call
        self._why = ("", "", "")

    @property
    def why_native(self) -> str | None:
        """Why the last call did not take the operator that the module is made for, as a sentence; None where it did."""
        key, op, given = self._why
        return messages.text(key, op=op, given=given) if key else None

    def _took(self, path: str, key: str = "", op: str = "", given: str = "") -> bool:
        """Notes the choice; whether it is an operator."""
        self.path, self._why = path, (key, op, given)
        return not key

    def _takes(self, op: str, tensors: list[torch.Tensor], autocast: bool = False) -> bool:
        """Whether `op` can compute with these tensors, all of them on one device. autocast: it converts them itself."""
        on = tensors[0].device.type
        types = (
            {torch.get_autocast_dtype(on)}
            if autocast and on == "npu" and torch.is_autocast_enabled(on)
            else {t.dtype for t in tensors}
        )
        said = ", ".join(sorted(str(t).removeprefix("torch.") for t in types))
        if self.native:
            return self._took(NATIVE, "operator.native.asked")
        if on != "npu":
            return self._took(NATIVE, "operator.native.device", op, on)
        if len(types) > 1:
            return self._took(NATIVE, "operator.native.mixed", op, said)
        if not types <= set(TYPES):
            return self._took(NATIVE, "operator.native.dtype", op, said)
        why = missing(op)
        return self._took(NATIVE, "operator.native.built", op, why) if why else self._took(f"lab::{op}")

    def extra_repr(self) -> str:
        return ", ".join([*(["native=True"] if self.native else []), *([f"path={self.path!r}"] if self.path else [])])


class SwiGLU(_Chooses):
    """silu(gate) * up, elementwise: forward(gate, up), or forward(packed) with the two side by side in the last
    dimension.

    Raises ValueError (shapes, devices), TypeError (integers).
    """

    def forward(self, gate: torch.Tensor, up: torch.Tensor | None = None) -> torch.Tensor:
        if up is None:
            if gate.dim() == 0 or gate.shape[-1] % 2:
                raise ValueError(messages.text("swiglu.odd", shape=tuple(gate.shape)))
            gate, up = gate.chunk(2, -1) if gate.shape[-1] else (gate, gate)
        if gate.shape != up.shape:
            raise ValueError(messages.text("swiglu.shapes", gate=tuple(gate.shape), up=tuple(up.shape)))
        if gate.device != up.device:
            raise ValueError(messages.text("swiglu.devices", gate=gate.device, up=up.device))
        if not (gate.is_floating_point() and up.is_floating_point()):
            raise TypeError(messages.text("swiglu.integers", gate=gate.dtype, up=up.dtype))
        if self._takes("swiglu", [gate, up]):
            return torch.ops.lab.swiglu(rows(gate), rows(up))
        return F.silu(gate) * up


def rows(t: torch.Tensor) -> torch.Tensor:
    """The tensor as the operators take it: rows of neighbours, one distance from row to row. Copied where it is not
    so.
    """
    return t if is_rows(t) else t.contiguous()


def is_rows(t: torch.Tensor) -> bool:
    if t.is_contiguous():
        return True
    outer = [i for i in range(t.dim() - 1) if t.size(i) != 1]
    even = all(t.stride(i) == t.stride(j) * t.size(j) for i, j in zip(outer, outer[1:]))
    return t.stride(-1) == 1 and even and (not outer or t.stride(outer[-1]) >= t.size(-1))


class SwiGLUMLP(_Chooses):
    """down_proj(silu(gate_proj(x)) * up_proj(x)): LLaMA's MLP, its parameters named as there.

    projections: whether lab::swiglu_linear may do the two products and the activation in one launch.
    """

    def __init__(
        self,
        hidden: int,
        intermediate: int,
        bias: bool = False,
        *,
        projections: bool = True,
        native: bool = False,
        device=None,
        dtype=None,
    ):
        super().__init__(native)
        made = {"bias": bias, "device": device, "dtype": dtype}
        self.gate_proj = nn.Linear(hidden, intermediate, **made)
        self.up_proj = nn.Linear(hidden, intermediate, **made)
        self.down_proj = nn.Linear(intermediate, hidden, **made)
        self.act = SwiGLU(native)
        self.projections = projections

    @classmethod
    def of(cls, mlp: nn.Module, **options) -> SwiGLUMLP:
        """One with the very projections of `mlp`: nothing is copied, an optimizer that holds the parameters goes on."""
        gate = mlp.gate_proj
        made = cls(gate.in_features, gate.out_features, device="meta", **options)
        made.gate_proj, made.up_proj, made.down_proj = gate, mlp.up_proj, mlp.down_proj
        return made.train(mlp.training)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.projections and self._fits(x):
            return self.down_proj(torch.ops.lab.swiglu_linear(x, self.gate_proj.weight, self.up_proj.weight))
        y = self.act(self.gate_proj(x), self.up_proj(x))
        self.path = self.act.path
        if not self.projections:
            self._why = self.act._why  # else it says why not the larger operator
        return self.down_proj(y)

    def _fits(self, x: torch.Tensor) -> bool:
        op, weights = "swiglu_linear", [self.gate_proj.weight, self.up_proj.weight]
        if self.gate_proj.bias is not None or self.up_proj.bias is not None:
            return self._took(NATIVE, "operator.native.bias", op)
        if max(weights[0].shape) > LONGEST or not all(w.is_contiguous() for w in weights):
            return self._took(NATIVE, "operator.native.weights", op, str(LONGEST))
        return self._takes(op, [x, *weights], autocast=True)
