"""Every operator that one step of a model uses on the npu: noted below autograd, where PyTorch hands it to the device.

The model runs on the simulated npu by its shapes alone (labkit.device.shapes_only), so that a large one takes no longer
than its launches. Where the model reads a value back (`.item()`, a mask as an index) nothing can go on without it: then
the step is run again, computed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only
from torch.utils.flop_counter import flop_registry

from labkit import device
from labkit.messages import text

# Reads of a value by the host: it waits for the device. Of the others a tag says that their result's shape is a value.
READS = {"aten::_local_scalar_dense", "aten::item", "aten::equal", "aten::is_nonzero"}
PHASES = ("forward", "backward", "optimizer")


@dataclass(frozen=True)
class Call:
    """One call of an operator. name: "aten::addmm", overload: "default". kernels: pieces of device work by the names
    that a trace shows, us: their modelled time together. view: nothing but another look at the same memory. waits: the
    host needs a value from the device. module: the innermost one that runs, as its
    name in the model; "" in the backward pass."""

    name: str
    overload: str
    phase: str
    module: str
    types: tuple[torch.dtype, ...]
    shapes: tuple[tuple[int, ...], ...]
    kernels: tuple[str, ...]
    us: float
    view: bool
    waits: bool
    moves: bool
    operator: Any = field(repr=False, compare=False)


@dataclass
class Recorded:
    """One step. kernels: the names of all device work, as a trace shows them. computed: values had to be computed.
    activation_bytes: what autograd keeps for the backward pass, parameters left out; flops: of
    products, forward and backward, as torch.utils.flop_counter counts them."""

    calls: list[Call]
    kernels: list[str]
    computed: bool
    activation_bytes: int
    flops: int
    host_us: float
    device_us: float


class _Noting(TorchDispatchMode):
    """Notes what reaches the npu; what the host computes on tensors of its own is left out."""

    def __init__(self, running: _Running):
        super().__init__()
        self.calls: list[Call] = []
        self.flops = 0
        self.phase, self._running = PHASES[0], running

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        before = device.clock().launches
        out = operator(*args, **kwargs)
        given = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        made = [t for t in tree_leaves(out) if isinstance(t, torch.Tensor)]
        # not FlopCounterMode: it takes operators apart (silu_backward) that the device has as one
        count = flop_registry.get(operator.overloadpacket)
        self.flops += count(*args, **kwargs, out_val=out) if count else 0
        if operator.namespace != "profiler" and any(t.device.type == "npu" for t in given + made):
            self._note(operator, given, made, device.pieces(before))
        return out

    def _note(self, operator, given, made, pieces) -> None:
        name = operator._schema.name
        moves = len({t.device.type for t in given + made}) > 1
        shown = given or made
        self.calls.append(
            Call(
                name,
                operator._overloadname,
                self.phase,
                self._running.stack[-1] if self._running.stack else "",
                tuple(t.dtype for t in shown),
                tuple(tuple(t.shape) for t in shown),
                tuple(p.name for p in pieces),
                sum(p.us for p in pieces),
                bool(operator.is_view) and not pieces,
                name in READS or torch.Tag.dynamic_output_shape in operator.tags or moves and _on_host(made),
                moves,
                operator,
            )
        )


def _on_host(made: list[torch.Tensor]) -> bool:
    return bool(made) and made[0].device.type == "cpu"


class _Running:
    """The modules that are at work, outermost first; forward only. torch.utils.module_tracker knows the backward pass
    too, but it holds gradients meanwhile, for which autograd then makes copies of its own."""

    def __init__(self, model: torch.nn.Module):
        self.names = {id(module): name for name, module in model.named_modules()}
        self.stack: list[str] = []

    @contextmanager
    def hooks(self) -> Iterator[None]:
        begin = register_module_forward_pre_hook(lambda m, _: self.stack.append(self.names.get(id(m), "")))
        end = register_module_forward_hook(lambda m, _, __: self._leave(), always_call=True)
        try:
            yield
        finally:
            begin.remove()
            end.remove()

    def _leave(self) -> None:
        self.stack.pop()


def record(
    model: torch.nn.Module, example: tuple, options: dict, loss: Callable, optimizer: Callable | None
) -> Recorded:
    """One step of `model(*example, **options)` on the npu; backward and optimizer where `optimizer` is given.

    The model itself is not touched: a copy is moved. Raises what the model raises.
    """
    device.install()
    if device.mode() == "npu":
        raise RuntimeError(text("migrate.real-npu"))
    try:
        return _step(model, example, options, loss, optimizer, device.shapes_only())
    except RuntimeError as error:
        if not _needs_values(error):
            raise
        return _step(model, example, options, loss, optimizer, nullcontext())


def _needs_values(error: BaseException) -> bool:
    """Both are raised where shapes alone do not do: a value is read, or a result's shape is one (nonzero)."""
    return "shapes_only" in str(error) or isinstance(error, NotImplementedError)


def _step(model, example, options, loss, optimizer, how) -> Recorded:
    ours = copy.deepcopy(model)
    running = _Running(ours)
    noting = _Noting(running)
    computed = isinstance(how, nullcontext)
    kept = _Kept()
    with how:
        ours = ours.npu()
        there = tree_map_only(torch.Tensor, lambda t: t.npu(), (example, options))
        steps = optimizer(ours.parameters()) if optimizer else None
        kept.known = {p.untyped_storage().data_ptr() for p in ours.parameters()}
        with device.clock_from_zero("labkit.migrate"):
            with running.hooks(), noting, kept.hooks(), torch.set_grad_enabled(steps is not None):
                out = ours(*there[0], **there[1])
                if steps is not None:
                    value = loss(out)
                    noting.phase = PHASES[1]
                    value.backward()
                    noting.phase = PHASES[2]
                    steps.step()
                    steps.zero_grad()
            clock = device.clock()
            kernels = sorted({p.name for p in device.pieces()})
    return Recorded(noting.calls, kernels, computed, kept.bytes, noting.flops, clock.host_us, clock.device_us)


class _Kept:
    """What autograd keeps: each piece of memory once, and only what is no parameter."""

    def __init__(self):
        self.known: set[int] = set()
        self.bytes = 0

    def hooks(self):
        return torch.autograd.graph.saved_tensors_hooks(self._pack, lambda t: t)

    def _pack(self, tensor: torch.Tensor) -> torch.Tensor:
        memory = tensor.untyped_storage()
        if tensor.device.type == "npu" and memory.data_ptr() not in self.known:
            self.known.add(memory.data_ptr())
            self.bytes += memory.nbytes()
        return tensor
