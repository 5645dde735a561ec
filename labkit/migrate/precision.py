"""Mixed precision by its four parts: types by module, a loss scale, fp32 master weights, clipping.

    masters = Masters(model, Policy(keep=("*norm*",)))       # the model computes in fp16 now, but for its norms
    optimizer = torch.optim.AdamW(masters.parameters)        # works on fp32 copies
    scale = LossScale(device="npu")
    optimizer.zero_grad()                                    # also of weights that stay fp32: theirs would add up
    scale.of(loss).backward()
    found = scale.unscale(masters.gather())                  # on the device: 1.0 where a gradient overflowed
    torch.nn.utils.clip_grad_norm_(masters.parameters, 1.0)
    if not scale.update(found.item()):                       # the one value that the host reads
        optimizer.step()
        masters.publish()                                    # fp32 to fp16, one launch

torch.autocast keeps fp32 weights and casts them in every step; here they are cast once, after the step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch.utils._pytree import tree_map_only
from torch.utils.hooks import RemovableHandle


@dataclass(frozen=True)
class Policy:
    """half: the type of what is not kept. keep: patterns of names of modules, or of their classes, in lower case,
    which stay fp32 with all inside them: `*norm*`, `lm_head`, `model.vision_tower.*.layer.0`."""

    half: torch.dtype = torch.float16
    keep: tuple[str, ...] = ("*norm*",)

    def kept(self, model: torch.nn.Module) -> list[str]:
        """The outermost modules that stay fp32, in the model's order. Raises ValueError for a pattern without one."""
        found: list[str] = []
        used = set()
        for name, module in model.named_modules():
            words = (name.lower(), type(module).__name__.lower())
            hits = {p for p in self.keep if any(fnmatchcase(word, p.lower()) for word in words)}
            if not name:  # the model itself: whose class has such a name is not meant, and cannot be kept alone
                continue
            used |= hits
            if hits and not any(name.startswith(outer + ".") for outer in found):
                found.append(name)
        if unused := [p for p in self.keep if p not in used]:
            raise ValueError(
                f"keep={unused[0]!r} is the name or class of no module, so nothing would stay fp32 by it. Names are "
                "those of model.named_modules()."
            )
        return found


class Masters:
    """A model in half precision and its weights in fp32. parameters: those, for an optimizer; a weight that stays fp32
    in the model is its own master. pairs: (of the model, its master) of the others. policy=None leaves the whole model
    as it is: the same loop then trains in fp32.

    The model is changed in place, before an optimizer is made. Raises ValueError for a model that is not fp32, or a
    weight that a kept module shares with one that is not kept.
    """

    def __init__(self, model: torch.nn.Module, policy: Policy | None = Policy()):
        if other := [n for n, p in model.named_parameters() if p.dtype != torch.float32]:
            raise ValueError(f"{other[0]} is not float32: masters are made of fp32 weights. Use model.float() before.")
        self.model, self.policy = model, policy
        kept = policy.kept(model) if policy else [""]
        inside = {id(p) for name in kept for p in model.get_submodule(name).parameters()}
        shared = [
            name
            for name, p in model.named_parameters(remove_duplicate=False)
            if policy and id(p) in inside and not any(name.startswith(k + ".") for k in kept)
        ]
        if shared:
            raise ValueError(f"{shared[0]} also belongs to a module that stays fp32: keep both, or neither.")
        self.pairs: list[tuple[torch.nn.Parameter, torch.Tensor]] = []
        self.parameters: list[torch.Tensor] = []
        with torch.no_grad():
            for p in model.parameters():
                if id(p) in inside:
                    master = p
                else:
                    master = p.detach().clone().requires_grad_(p.requires_grad)
                    p.data = p.data.to(policy.half)
                    self.pairs.append((p, master))
                if p.requires_grad:
                    self.parameters.append(master)
        self._islands: dict[str, list[RemovableHandle]] = {}  # by name, of the outermost fp32 modules: what casts there
        for name in kept if policy else []:
            self._island(name)

    def gather(self) -> list[torch.Tensor]:
        """Moves the model's gradients to the masters, as fp32; all of the masters' gradients."""
        moved = [(p, m) for p, m in self.pairs if p.grad is not None]
        for p, m in moved:
            m.grad = torch.empty_like(m) if m.grad is None else m.grad
        if moved:
            torch._foreach_copy_([m.grad for _, m in moved], [p.grad for p, _ in moved])
        for p, _ in moved:
            p.grad = None
        return [m.grad for m in self.parameters if m.grad is not None]

    @torch.no_grad()
    def publish(self) -> None:
        """Rounds the masters into the model, after a step."""
        if self.pairs:
            torch._foreach_copy_([p for p, _ in self.pairs], [m for _, m in self.pairs])

    @torch.no_grad()
    def raise_precision(self, name: str) -> None:
        """From now on the module of this name computes in fp32. The optimizer notices nothing: masters stay."""
        module = self.model.get_submodule(name)
        masters = {id(p): m for p, m in self.pairs}
        half = [p for p in module.parameters() if p.dtype != torch.float32]
        inside = {id(p) for p in half}
        users = [n for n, p in self.model.named_parameters(remove_duplicate=False) if id(p) in inside]
        if outside := [n for n in users if name and not n.startswith(name + ".")]:
            raise ValueError(f"{name} shares {outside[0]} with another module: it cannot become fp32 alone.")
        for p in half:
            p.data = masters[id(p)].detach().clone()
        if half:
            self._island(name)

    def _island(self, name: str) -> None:
        """Casts what comes in to fp32 and what goes out to the model's type. Islands inside of it are part of it now:
        what they put out stays fp32, since fp32 weights come next."""
        for inner in [n for n in self._islands if not name or n.startswith(name + ".")]:
            for handle in self._islands.pop(inner):
                handle.remove()
        half, module = self.policy.half, self.model.get_submodule(name)
        self._islands[name] = [
            module.register_forward_pre_hook(
                lambda _, args, kwargs: (_cast(args, torch.float32), _cast(kwargs, torch.float32)), with_kwargs=True
            ),
            module.register_forward_hook(lambda _, __, out: _cast(out, half)),
        ]


class LossScale:
    """A factor on the loss that lifts small gradients over fp16's smallest number, and falls when one overflows.

    As torch.amp.GradScaler: start; times `backoff` after a step that overflowed; times `growth` after `interval` steps
    in a row that did not. least: it falls no further, where a GradScaler goes on to zero. enabled=False: always 1, and
    overflow is still looked for. unscale: (gradients, inverse, found), in place; default PyTorch's own operator.
    """

    def __init__(
        self,
        device: str | torch.device,
        start: float = 2.0**16,
        growth: float = 2.0,
        backoff: float = 0.5,
        interval: int = 2000,
        least: float = 1.0,
        enabled: bool = True,
        unscale: Callable[[list[torch.Tensor], torch.Tensor, torch.Tensor], Any] | None = None,
    ):
        if not (start >= least > 0 and growth >= 1 >= backoff > 0 and interval >= 1):
            raise ValueError("start >= least > 0, growth >= 1 >= backoff > 0 and interval >= 1 are wanted.")
        self.growth, self.backoff, self.interval, self.least, self.enabled = growth, backoff, interval, least, enabled
        self.good = 0  # steps in a row without overflow
        self._unscale = unscale or _unscale
        self._device = device
        self.set(start if enabled else 1.0)

    def set(self, value: float) -> None:
        """Another scale from the next backward pass on; the host's number and the device's are the same."""
        self.value = float(value)
        self._scale = torch.tensor(self.value, device=self._device)
        self._inverse = torch.tensor(1 / self.value, device=self._device)

    def of(self, loss: torch.Tensor) -> torch.Tensor:
        """The loss, scaled."""
        return loss * self._scale if self.enabled else loss

    def unscale(self, gradients: list[torch.Tensor]) -> torch.Tensor:
        """Divides fp32 gradients by the scale, in place; float32 (1,) on the device, 1.0 if one is inf or NaN."""
        found = torch.zeros(1, device=self._device)
        if gradients:
            self._unscale(gradients, self._inverse, found)
        return found

    def update(self, overflowed: float) -> bool:
        """The scale of the next step; whether this one has to be left out."""
        if overflowed:
            self.good = 0
            if self.enabled:
                self.set(max(self.value * self.backoff, self.least))
            return True
        self.good += 1
        if self.good >= self.interval:
            self.good = 0
            if self.enabled and self.value * self.growth < 2.0**127:
                self.set(self.value * self.growth)
        return False


def _unscale(gradients: list[torch.Tensor], inverse: torch.Tensor, found: torch.Tensor) -> None:
    torch._amp_foreach_non_finite_check_and_unscale_(gradients, found, inverse)


def _cast(values: Any, to: torch.dtype) -> Any:
    return tree_map_only(torch.Tensor, lambda t: t.to(to) if t.is_floating_point() else t, values)
