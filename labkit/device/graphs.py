"""torch.npu.NPUGraph: operators recorded once and issued together, so that the host spends the time of one launch.

As on the card nothing runs during a capture: results get their memory, and it holds nothing sensible before the first
replay (here 0xff in every byte: NaN). What an operator gives back is found by running it on tensors without data. A
replay reads and writes the very tensors of the capture; new inputs are copied into the old ones first.
"""

from __future__ import annotations

import ctypes
import gc
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch

from labkit import chips, messages
from labkit.device import rates
from labkit.device.library import lib
from labkit.device.streams import Stream, StreamContext, current_stream

_capturing: list["NPUGraph"] = []
_pools = 0
_step: Any = None  # kept alive: C++ calls it


class NPUGraph:
    """Recorded operators. torch.npu.graph(g) fills it; g.replay() issues them to the current stream;
    g.reset() forgets them.
    """

    def __init__(self) -> None:
        self._calls: list[tuple[Any, tuple, dict, Any]] = []  # operator, its arguments, its results
        self._mode: Any = None

    def capture_begin(self, pool=None, capture_error_mode: str = "global") -> None:
        """Every operator of this thread is recorded from now on. Raises RuntimeError inside another capture."""
        if _capturing:
            raise RuntimeError(messages.text("device.capture_twice"))
        self._calls.clear()
        _capturing.append(self)
        self._mode = _recorder(self)
        self._mode.__enter__()

    def capture_end(self) -> None:
        mode, self._mode = self._mode, None
        if mode is not None:
            _capturing.remove(self)
            mode.__exit__(None, None, None)

    def replay(self) -> None:
        """Computes everything anew, in the tensors of the capture."""
        if _capturing:
            raise RuntimeError(messages.text("device.capture_twice"))
        with torch.no_grad(), _one_launch():
            for operator, args, kwargs, results in self._calls:
                if isinstance(operator, _HostCall):
                    operator.call()
                    continue
                for new, kept in zip(_tensors(operator(*args, **kwargs)), _tensors(results)):
                    _move(new, kept)

    def reset(self) -> None:
        self._calls.clear()

    def _keep_as_it_is(self, tensor: torch.Tensor) -> None:
        """The operators recorded so far keep the tensor's shape, which is about to change: by another name for it."""
        from torch.utils._pytree import tree_map

        kept = tensor.detach()
        self._calls = [
            (operator, *(tree_map(lambda v: kept if v is tensor else v, part) for part in parts))
            for operator, *parts in self._calls
        ]

    def pool(self) -> tuple[int, int]:
        """A name for the graph's memory. There is one allocator here; it is taken where torch_npu takes it."""
        return graph_pool_handle()

    def register_generator_state(self, generator) -> None:
        """Accepted: a replay draws from every generator that the capture has named."""

    @classmethod
    def get_currently_capturing_graph(cls) -> "NPUGraph":
        """The graph that is being captured. Raises RuntimeError where none is, or torch.accelerator.Graph's."""
        if not _capturing:
            raise RuntimeError("no NPUGraph capture is under way")
        if _capturing[-1] in _served.values():
            raise RuntimeError("the capture under way is a torch.accelerator.Graph capture")
        return _capturing[-1]

    def super_kernel_optimize(self, optimize_options=None, debug_options=None) -> None:
        """On a card: makes one kernel of several that follow each other. Here the options are checked, a warning says
        that the modelled times stay, and nothing else happens."""
        _check_options("optimize_options", optimize_options)
        _check_options("debug_options", debug_options)
        warnings.warn(messages.text("device.super_kernel"))

    def debug_dump(self, debug_path: str) -> None:
        """Writes the recorded operators' names, one a line."""
        with open(debug_path, "w", encoding="utf-8") as file:
            file.writelines(f"{operator}\n" for operator, *_ in self._calls)


class _HostCall(NamedTuple):
    """What a replay calls on the host, between operators."""

    name: str
    call: Callable[[], Any]

    def __str__(self) -> str:
        return self.name


def record(name: str, call: Callable[[], Any] = lambda: None) -> None:
    """Inside a capture: each replay calls this at this place. Elsewhere nothing."""
    if _capturing:
        _capturing[-1]._calls.append((_HostCall(name, call), (), {}, None))


def super_kernel_scope_begin(scope_name: str | None = None) -> None:
    """On a card: operators from here to super_kernel_scope_end() may become one kernel. Here a line in debug_dump()."""
    if scope_name is not None and not scope_name.strip():
        raise RuntimeError("the name of a super kernel's scope is empty")
    record(f"super_kernel_scope_begin({scope_name or ''})")


def super_kernel_scope_end(scope_name: str | None = None) -> None:
    record(f"super_kernel_scope_end({scope_name or ''})")


# What super_kernel_optimize() takes: the type of each option's value (torch_npu 2.13, torch_npu/npu/graphs.py).
_SUPER_KERNEL: dict[str, dict[type, str]] = {
    "optimize_options": {
        int: "preload_code split_mode stream_fusion constant_codegen auto_op_parallel early_start",
        str: "opt_extend",
        list: """dcci_before_kernel_start dcci_after_kernel_end dcci_disable_on_kernel ubuf_lock_ignore_kernel""",
        dict: "aggressive_opt_strategies",
    },
    "debug_options": {
        int: "debug_sync_all debug_op_exec_trace debug_cross_core_sync_check debug_per_op_max_core_num",
        str: "debug_extend",
    },
}
_STRATEGIES = "event_breaker_bypass value_breaker_bypass task_breaker_bypass".split()


def _check_options(what: str, options) -> None:
    if options is None:
        return
    if not isinstance(options, dict):
        raise RuntimeError(f"{what} param must be dict or None.")
    for key, value in options.items():
        kind = next((k for k, names in _SUPER_KERNEL[what].items() if key in names.split()), None)
        if kind is None:
            raise RuntimeError(f"Invalid {what} param key: '{key}'.")
        if not isinstance(value, kind):
            raise RuntimeError(f"{what} param['{key}'] must be {kind.__name__}, got {type(value).__name__}")
        if kind is list and not all(isinstance(v, str) for v in value):
            raise RuntimeError(f"{what} param['{key}'] must be a list of str")
        if kind is dict and not all(k in _STRATEGIES and isinstance(v, int) for k, v in value.items()):
            raise RuntimeError(f"{what} param['{key}'] takes {', '.join(_STRATEGIES)}, each an int")


class graph:
    """Context manager: captures what is called inside into `npu_graph`, on `stream` (a side stream by default)."""

    default_capture_stream: Stream | None = None

    def __init__(
        self,
        npu_graph: NPUGraph,
        pool=None,
        stream: Stream | None = None,
        auto_dispatch_capture: bool = False,
        capture_error_mode: str = "global",
    ):
        if stream is None and graph.default_capture_stream is None:
            graph.default_capture_stream = Stream()
        self.npu_graph, self.pool, self.mode = npu_graph, pool, capture_error_mode
        self._stream = StreamContext(stream or graph.default_capture_stream)

    def __enter__(self) -> None:
        if _capturing:
            raise RuntimeError(messages.text("device.capture_twice"))
        torch.npu.synchronize()
        gc.collect()
        self._stream.__enter__()
        self.npu_graph.capture_begin(self.pool, self.mode)

    def __exit__(self, *error) -> None:
        self.npu_graph.capture_end()
        self._stream.__exit__(*error)


def graph_pool_handle() -> tuple[int, int]:
    """A new name for memory that graphs share."""
    global _pools
    _pools += 1
    return (0, _pools)


def capturing() -> bool:
    return bool(_capturing)


def refuse(what: str) -> None:
    """Raises RuntimeError during a capture: what waits for the device cannot be recorded."""
    if _capturing:
        raise RuntimeError(messages.text("device.capture_waits", what=what))


def make_graphed_callables(callables, sample_args, num_warmup_iters=3, allow_unused_input=False, pool=None):
    """Functions or modules whose forward and backward pass are a graph each; drop-in replacements for inputs of the
    shapes of `sample_args`. One callable with a tuple of tensors, or a tuple of callables with a tuple of as many
    tuples: else ValueError."""
    if not isinstance(callables, tuple):
        return _graphed(callables, sample_args, num_warmup_iters, allow_unused_input)
    pairs = zip(callables, sample_args, strict=True)
    return tuple(_graphed(c, a, num_warmup_iters, allow_unused_input) for c, a in pairs)


def _graphed(function, sample: tuple, warmup: int, unused: bool):
    from torch.utils._pytree import tree_flatten, tree_unflatten

    module = function if isinstance(function, torch.nn.Module) else None
    trained = tuple(p for p in module.parameters() if p.requires_grad) if module is not None else ()
    given = (*sample, *trained)
    wanted = [t for t in given if t.requires_grad]

    def run():
        flat, form = tree_flatten(function(*sample))
        return flat, form

    def ways(outputs, grads):
        roots = [o for o in outputs if o.requires_grad]
        return torch.autograd.grad(roots, wanted, grads, only_inputs=True, allow_unused=unused) if roots else ()

    for _ in range(warmup):
        outputs, _ = run()
        ways(outputs, [torch.empty_like(o) for o in outputs if o.requires_grad])
    forth, back = NPUGraph(), NPUGraph()
    with graph(forth):
        outputs, form = run()
    grads = [torch.empty_like(o) for o in outputs if o.requires_grad]
    with graph(back):
        found = ways(outputs, grads)
    by_input = iter(found)
    found = tuple(next(by_input, None) if t.requires_grad else None for t in given)
    results = tuple(o.detach() for o in outputs)

    class Graphed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            for kept, new in zip(sample, inputs):
                if kept.data_ptr() != new.data_ptr():
                    kept.data.copy_(new)
            forth.replay()
            return tuple(r.detach() for r in results)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, *after):
            coming = [g for g, o in zip(after, outputs) if o.requires_grad]
            for kept, new in zip(grads, coming):
                kept.copy_(new)
            back.replay()
            return tuple(None if g is None else g.detach() for g in found)

    def called(*inputs):
        return tree_unflatten(Graphed.apply(*inputs, *trained), form)

    if module is None:
        return called
    training, plain = module.training, module.forward
    module.forward = lambda *inputs: (called if module.training == training else plain)(*inputs)
    return module


# ---- torch.accelerator.Graph

_served: dict[int, NPUGraph] = {}
_said = b""


def serve() -> None:
    """torch.accelerator.Graph captures and replays by NPUGraph."""
    global _step
    kind = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p)

    def step(number: int, what: bytes, path: bytes) -> bytes:
        global _said
        if what == b"drop":
            _served.pop(number, None)
            return b""
        try:
            method = getattr(_served.setdefault(number, NPUGraph()), what.decode())
            method(path.decode()) if path else method()
            _said = b""
        except Exception as error:
            _said = str(error).encode()
        return _said

    _step = kind(step)
    lib().lab_serve_graphs(b"NPU", ctypes.cast(_step, ctypes.c_void_p))


# ---- capture


def _recorder(into: NPUGraph):
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_map

    def bare(value):
        """Without data: what is on the npu becomes meta."""
        if isinstance(value, torch.Tensor) and value.device.type == "npu":
            return torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device="meta")
        return torch.device("meta") if isinstance(value, torch.device) and value.type == "npu" else value

    class Recorder(TorchDispatchMode):
        def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            name = operator._schema.name
            on_device = any(t.device.type == "npu" for t in _tensors((args, kwargs)))
            device = kwargs.get("device")
            if not on_device and not (device is not None and torch.device(device).type == "npu"):
                return operator(*args, **kwargs)  # the host's own work
            if torch.Tag.inplace_view in operator.tags:  # no kernel either; what came before read the tensor as it was
                into._keep_as_it_is(args[0])
                return operator(*args, **kwargs)
            if (
                operator.is_view
                or name.startswith(("aten::empty", "aten::new_empty"))
                or name in ("aten::_unsafe_view", "aten::lift_fresh")
            ):
                return operator(*args, **kwargs)  # no kernel
            if _needs_values(operator, args, kwargs):
                refuse(name)
            if on_device and (
                device is not None
                and torch.device(device).type == "cpu"
                or name == "aten::copy_"
                and args[0].device.type == "cpu"
            ):
                refuse(f"{name} (npu -> cpu)")
            made = operator(*tree_map(bare, args), **tree_map(bare, kwargs))
            results = _results(operator._schema, made, args, kwargs)
            into._calls.append((operator, args, kwargs, results))
            return results

    return Recorder()


def _needs_values(operator, args: tuple, kwargs: dict) -> bool:
    """Whether the shape of what comes out, or a number for the host, depends on what the tensors hold."""
    if operator._schema.name in ("aten::index", "aten::_unsafe_index"):  # with a mask, not with numbers
        return any(t.dtype in (torch.bool, torch.uint8) for t in _tensors(args[1]))
    if kwargs.get("output_size") is not None:  # repeat_interleave that is told
        return False
    known = (torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output)
    return any(tag in operator.tags for tag in known) or operator._schema.name == "aten::is_nonzero"


def _results(schema, made, args: tuple, kwargs: dict):
    """Device tensors for what came out without data; the argument itself where an operator writes to one."""
    given = {a.name: (args[i] if i < len(args) else kwargs.get(a.name)) for i, a in enumerate(schema.arguments)}
    written = {
        frozenset(a.alias_info.before_set): given[a.name]
        for a in schema.arguments
        if a.alias_info is not None and a.alias_info.is_write
    }

    def one(info, value):
        if info is not None and info.is_write:
            return written[frozenset(info.before_set)]
        if isinstance(value, (list, tuple)):
            return type(value)(one(None, v) for v in value)
        return _fresh(value) if isinstance(value, torch.Tensor) and value.device.type == "meta" else value

    if not schema.returns:  # as those on lists that write to their arguments
        return None
    if len(schema.returns) == 1:
        return one(schema.returns[0].alias_info, made)
    return tuple(one(r.alias_info, value) for r, value in zip(schema.returns, made))


def _fresh(like: torch.Tensor) -> torch.Tensor:
    made = torch.empty_strided(like.size(), like.stride(), dtype=like.dtype, device="npu")
    ctypes.memset(made.data_ptr(), 0xFF, made.untyped_storage().nbytes())
    return made


# ---- replay


def _move(new: torch.Tensor, kept: torch.Tensor) -> None:
    """The captured result takes the new one's bytes: on the card the kernel would have written them there."""
    if new.data_ptr() == kept.data_ptr() or not new.numel():
        return
    if new.stride() != kept.stride():
        kept.copy_(new)
        return
    reach = sum((n - 1) * step for n, step in zip(new.size(), new.stride())) + 1
    ctypes.memmove(kept.data_ptr(), new.data_ptr(), reach * new.element_size())
    lib().lab_mark_written(kept.data_ptr())


@contextmanager
def _one_launch():
    """The host spends the time of one issue; the device does all the work, without the host's gaps."""
    rate = chips.flat(rates.chip())["host.dispatch"] * 1e9
    lib().lab_host_work(rate)
    lib().lab_set_param(b"host_dispatch", 0.0)
    try:
        yield current_stream()
    finally:
        lib().lab_set_param(b"host_dispatch", rate)


def _tensors(tree) -> list[torch.Tensor]:
    from torch.utils._pytree import tree_leaves

    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]
