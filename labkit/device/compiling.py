"""torch.compile on the simulated device: a backend "npu" (also npugraphs, npugraph_ex), and a clear error where
Inductor is asked for.

Inductor would write Triton kernels: triton-ascend compiles them on a node, nothing does here. The other backends
(eager, aot_eager, aot_eager_decomp_partition, export) work as on any device.
"""

from __future__ import annotations

import functools

from labkit import messages
from labkit.device.import_hook import after_import


def register() -> None:
    after_import("torch._dynamo.backends.registry", _add_backend)
    after_import("torch._inductor.compile_fx", _refuse_inductor)


def _add_backend(registry) -> None:
    for name in ("npu", "npugraphs", "npugraph_ex"):
        registry.register_backend(npu, name=name)


def npu(graph, example_inputs, **options):
    """Captured and differentiated ahead of time, then run operator by operator."""
    from torch._dynamo.backends.debugging import aot_eager

    return aot_eager(graph, example_inputs)


def _refuse_inductor(module) -> None:
    inner = module.compile_fx

    @functools.wraps(inner)
    def compile_fx(graph, example_inputs, *args, **kwargs):
        tensors = (
            [*example_inputs, *graph.parameters(), *graph.buffers()] if hasattr(graph, "parameters") else example_inputs
        )
        if any(getattr(getattr(t, "device", None), "type", "") == "npu" for t in tensors):
            raise NotImplementedError(messages.text("device.inductor"))
        return inner(graph, example_inputs, *args, **kwargs)

    module.compile_fx = compile_fx
