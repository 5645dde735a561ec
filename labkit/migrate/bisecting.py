"""labkit.migrate.bisect(model, reference, example): which module is wrong, without any tool.

The reference runs on the CPU, and everything that goes into a module or comes out of one is kept. Then the model runs
on the npu. At each module's door its values are compared and replaced by the reference's: so an error does not travel
on, each module is judged by itself, and rounding does not add up over the layers. What is wrong on the way into a
module was made by the code of the module around it.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map_only, tree_unflatten

from labkit.messages import text

# Of a result's size: a handful of roundings. Whole numbers and yes or no must be equal.
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


@dataclass(frozen=True)
class Difference:
    """module: its name in the model ("" is the model itself). where: "result" of the module; "code": what the module
    computes itself, between the modules inside it; "gradient" of its input or of its weights. error: the largest
    difference, in units of what the dtype allows. dtype: of the value. before: the module at whose door it was seen."""

    module: str
    where: str
    error: float
    dtype: torch.dtype
    before: str = ""

    def __str__(self) -> str:
        name = self.module or text("migrate.the-model")
        return text(f"migrate.differs-{self.where}", module=name, times=f"{self.error:,.3g}", before=self.before)


def excess(value: torch.Tensor, wanted: torch.Tensor, tolerance: float | None = None) -> float:
    """The largest |value - wanted| over tolerance * (|wanted| + its root mean square): above 1 it is no rounding.
    inf where the shapes differ, or one has a NaN or an infinity that the other has not."""
    if value.shape != wanted.shape:
        return float("inf")
    if not wanted.numel():
        return 0.0
    value, wanted = value.detach().cpu(), wanted.detach().cpu()
    if not wanted.is_floating_point():
        return 0.0 if torch.equal(value, wanted) else float("inf")
    allowed = tolerance or TOLERANCE.get(wanted.dtype, 1e-2)
    value, wanted = value.double(), wanted.double()
    odd = ~(value.isfinite() & wanted.isfinite())
    if not torch.equal(value[odd].nan_to_num(7.0), wanted[odd].nan_to_num(7.0)):
        return float("inf")
    value, wanted = value[~odd], wanted[~odd]
    if not wanted.numel():
        return 0.0
    scale = allowed * (wanted.abs() + wanted.square().mean().sqrt())
    return float(((value - wanted).abs() / scale.clamp_min(1e-30)).max())


class _Doors:
    """Hooks on every module: `visit(key, values)` sees what passes a door and gives what goes on."""

    def __init__(self, model: nn.Module, visit: Callable[[tuple, Any], Any]):
        self.model, self.visit = model, visit
        self.stack: list[str] = []
        self._turns: Counter = Counter()

    @contextmanager
    def open(self, backward: bool):
        with ExitStack() as hooks:
            for name, module in self.model.named_modules():
                hooks.callback(module.register_forward_pre_hook(self._enter(name), with_kwargs=True).remove)
                hooks.callback(module.register_forward_hook(self._leave(name)).remove)
                if backward and not list(module.children()):
                    hooks.callback(module.register_full_backward_pre_hook(self._back(name, "above")).remove)
                    hooks.callback(module.register_full_backward_hook(self._back(name, "gradient")).remove)
            yield

    def _key(self, name: str, door: str) -> tuple:
        self._turns[name, door] += 1
        return name, door, self._turns[name, door]

    def _enter(self, name):
        def hook(module, args, kwargs):
            out = self.visit(self._key(name, "code"), (args, kwargs))
            self.stack.append(name)
            return out

        return hook

    def _leave(self, name):
        def hook(module, args, out):
            self.stack.pop()
            return self.visit(self._key(name, "result"), out)

        return hook

    def _back(self, name, door):
        return lambda module, grads, *_: self.visit(self._key(name, door), grads)


def _tensors(values: Any) -> list[torch.Tensor]:
    return [t for t in tree_leaves(values) if isinstance(t, torch.Tensor)]


def differences(
    model: nn.Module,
    reference: nn.Module,
    example: tuple = (),
    options: Mapping[str, Any] | None = None,
    *,
    loss: Callable[[Any], torch.Tensor] | None = None,
    tolerance: float | None = None,
) -> list[Difference]:
    """Every place at which the model on the npu differs from the reference on the CPU by more than rounding, in the
    order of the run; [] where there is none.

    Both take `(*example, **options)`, given on the CPU, and have the same modules and weights (ValueError otherwise).
    loss: a scalar of the output; with it the backward pass is compared, at modules without others inside. tolerance:
    instead of TOLERANCE for floating-point values. Dropout must be off: it draws other numbers on each device.
    """
    names, own = dict(reference.named_modules()), dict(model.named_modules())
    if names.keys() != own.keys():
        other = sorted(names.keys() ^ own.keys())
        raise ValueError(text("migrate.other-modules", names=", ".join(other[:3])))
    if active := [n for n, m in own.items() if isinstance(m, nn.Dropout) and m.training and m.p]:
        raise ValueError(text("migrate.dropout", name=active[0]))
    kept: dict[tuple, list[torch.Tensor]] = {}
    found: list[Difference] = []

    def keep(key, values):
        kept[key] = [t.detach().clone() for t in _tensors(values)]

    def judge(key, values):
        wanted = kept.get(key)
        given = _tensors(values)
        if wanted is None or len(wanted) != len(given):
            return None
        errors = [(excess(a, b, tolerance), b.dtype) for a, b in zip(given, wanted)]
        worst = max(errors, key=lambda e: e[0], default=(0.0, None))
        name, door, _ = key
        if worst[0] > 1 and door != "above":
            inside = doors.stack[-1] if door == "code" and doors.stack else name
            found.append(Difference(inside, door, *worst, before=name if door == "code" else ""))
        return None if door == "gradient" else _replaced(values, wanted)

    example = example if isinstance(example, tuple | list) else (example,)
    there = tree_map_only(torch.Tensor, lambda t: t.npu(), (tuple(example), dict(options or {})))
    with torch.set_grad_enabled(loss is not None):
        _run(reference, _Doors(reference, keep), tuple(example), dict(options or {}), loss)
        doors = _Doors(model, judge)
        _run(model, doors, *there, loss)
    if loss is not None:
        found += _weights(model, reference, tolerance)
    return found


def _run(model, doors, example, options, loss) -> None:
    model.zero_grad()
    with doors.open(loss is not None), warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "Full backward hook is firing"
        )  # a model's first module has no gradient to give
        out = model(*example, **options)
        if loss is not None:
            loss(out).backward()


class _Instead(torch.autograd.Function):
    """Another tensor's numbers, with the gradient of this one."""

    @staticmethod
    def forward(ctx, tensor, other):
        return other.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad, None


def _replaced(values: Any, wanted: list[torch.Tensor]) -> Any:
    """The same structure with the reference's numbers in place of the model's."""
    leaves, shape = tree_flatten(values)
    numbers = iter(wanted)

    def put(t):
        new = next(numbers).to(t.device)
        if not (t.requires_grad and torch.is_grad_enabled()) or not t.is_floating_point():
            return new
        return _Instead.apply(t, new) if t.shape == new.shape else t

    return tree_unflatten([put(t) if isinstance(t, torch.Tensor) else t for t in leaves], shape)


def _weights(model, reference, tolerance) -> list[Difference]:
    wanted = dict(reference.named_parameters())
    found = []
    for name, p in model.named_parameters():
        if p.grad is None or wanted[name].grad is None:
            continue
        error = excess(p.grad, wanted[name].grad, tolerance)
        if error > 1:
            found.append(Difference(name.rpartition(".")[0], "gradient", error, p.grad.dtype))
    return found


def bisect(model: nn.Module, reference: nn.Module, example: Any = (), options: Any = None, **more: Any) -> str | None:
    """The name of the first module that is wrong by itself, None where none is. Arguments as for differences()."""
    found = differences(model, reference, example, options, **more)
    return found[0].module if found else None
