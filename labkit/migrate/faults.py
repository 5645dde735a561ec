"""One operator of the simulated device made wrong, to practise finding it: labkit.migrate.faulty("aten::gelu", "tanh").

A mistake of a kernel or of an adapter, not noise: the same every time, and silent. With module= only the calls inside
that module are wrong, as with a kernel that is wrong for one shape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from labkit.messages import text


def _argument(operator: Any, args: tuple, kwargs: dict, name: str, change: Callable) -> tuple[tuple, dict]:
    """The arguments with the one of that name changed; what was left out has the schema's default."""
    for at, argument in enumerate(operator._schema.arguments):
        if argument.name == name:
            if at < len(args):
                return (*args[:at], change(args[at]), *args[at + 1 :]), kwargs
            return args, kwargs | {name: change(kwargs.get(name, argument.default_value))}
    raise KeyError(name)


def _given(operator: Any, args: tuple, kwargs: dict, name: str) -> Any:
    found: list = []
    _argument(operator, args, kwargs, name, found.append)
    return found[0]


def _first(out: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """The operator's first result changed in a copy, the others as they are; only floating-point rows are changed."""
    first = out if isinstance(out, torch.Tensor) else out[0]
    if not first.is_floating_point() or not first.dim():
        return out
    changed = change(first.clone(memory_format=torch.contiguous_format))
    return changed if first is out else type(out)((changed, *out[1:]))


def _tail(out: torch.Tensor) -> torch.Tensor:
    out[..., -max(1, out.shape[-1] // 16) :] = 0
    return out


def _row(out: torch.Tensor) -> torch.Tensor:
    flat = out.view(-1, out.shape[-1])
    flat[-1] = flat[0]
    return out


def _named(name: str, change: Callable) -> Callable:
    return lambda operator, args, kwargs: (lambda a, k: operator(*a, **k))(
        *_argument(operator, args, kwargs, name, change)
    )


def _scaled(operator: Any, args: tuple, kwargs: dict) -> Any:
    usual = args[0].shape[-1] ** -0.5
    return _named("scale", lambda scale: 2 * (scale or usual))(operator, args, kwargs)


def _no_bias(operator: Any, args: tuple, kwargs: dict) -> Any:
    name = "self" if operator._schema.name == "aten::addmm" else "bias"
    return _named(name, lambda bias: None if bias is None else torch.zeros_like(bias))(operator, args, kwargs)


# fault -> (a sentence, the argument that an operator must have, what is computed instead). "": any operator.
FAULTS: dict[str, tuple[str, str, Callable]] = {
    "eps": ("epsilon is 1e-3, whatever is asked for", "eps", _named("eps", lambda _: 1e-3)),
    "tanh": (
        "the other of gelu's two formulas",
        "approximate",
        _named("approximate", lambda given: "none" if given == "tanh" else "tanh"),
    ),
    "scale": ("attention's scale is twice what it should be", "scale", _scaled),
    "bias": ("the bias is left out", "bias", _no_bias),
    "rounding": (
        "the result has the eight bits of bfloat16",
        "",
        lambda operator, args, kwargs: _first(operator(*args, **kwargs), lambda t: t.bfloat16().to(t.dtype)),
    ),
    "tail": (
        "the last sixteenth of each row is not written and reads 0",
        "",
        lambda operator, args, kwargs: _first(operator(*args, **kwargs), _tail),
    ),
    "row": (
        "the last row holds what the first one holds",
        "",
        lambda operator, args, kwargs: _first(operator(*args, **kwargs), _row),
    ),
}


def applies(operator: Any, fault: str) -> bool:
    """Whether an operator (an OpOverload) can have that fault: it has the argument, and makes a new tensor."""
    schema = operator._schema
    if operator.is_view or schema.is_mutable or not schema.returns or str(schema.returns[0].type) != "Tensor":
        return False
    wanted = FAULTS[fault][1]
    names = {a.name for a in schema.arguments}
    return not wanted or wanted in names or fault == "bias" and schema.name == "aten::addmm"


class faulty(TorchDispatchMode):
    """`with faulty("aten::native_layer_norm", "eps"):` makes the operator wrong on the npu, and on the npu alone.

    operator: its name as a trace and assess() show it. fault: of FAULTS. module, inside: only what the module of that
    name in the model `inside` computes itself in its forward, its inner modules left out. calls: how many were made
    wrong so far.
    Raises KeyError for a fault that is not in FAULTS, or a module that is not there.
    """

    def __init__(self, operator: str, fault: str, module: str | None = None, inside: torch.nn.Module | None = None):
        super().__init__()
        if fault not in FAULTS:
            raise KeyError(text("migrate.no-fault", fault=fault, all=", ".join(FAULTS)))
        self.operator, self.fault, self.calls = operator, fault, 0
        self._place = dict(inside.named_modules())[module] if inside is not None else None
        self._open, self._hooks = int(inside is None), []

    def __enter__(self):
        if self._place is not None:
            for module, by in ((self._place, 1), *((child, -1) for child in self._place.children())):
                self._hooks += [
                    module.register_forward_pre_hook(lambda *_, by=by: self._count(by)),
                    module.register_forward_hook(lambda *_, by=by: self._count(-by), always_call=True),
                ]
        return super().__enter__()

    def __exit__(self, *error):
        for hook in self._hooks:
            hook.remove()
        return super().__exit__(*error)

    def _count(self, by: int) -> None:
        self._open += by

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        there = any(isinstance(t, torch.Tensor) and t.device.type == "npu" for t in tree_leaves((args, kwargs)))
        there &= getattr(kwargs.get("device"), "type", "npu") == "npu"  # a copy to the host is no kernel
        if self._open > 0 and there and operator._schema.name == self.operator and applies(operator, self.fault):
            self.calls += 1
            return FAULTS[self.fault][2](operator, args, kwargs)
        return operator(*args, **kwargs)
