"""torch.compile on the simulated device: a backend "npu" (also npugraphs, npugraph_ex).

The default backend, Inductor, writes Triton kernels: that is labkit/triton/inductor. The others (eager, aot_eager,
aot_eager_decomp_partition, export) work as on any device.
"""

from __future__ import annotations

from labkit.device.import_hook import after_import


def register() -> None:
    after_import("torch._dynamo.backends.registry", _add_backend)
    after_import("torch._dynamo.device_interface", _add_interface)
    after_import("torch._dynamo.trace_rules", _leave_generators)


def _add_backend(registry) -> None:
    for name in ("npu", "npugraphs", "npugraph_ex"):
        registry.register_backend(npu, name=name)


def _leave_generators(rules) -> None:
    """torch.random.fork_rng() inside a compiled function: the generators' states are set outside of any graph, as
    CUDA's are, since a state is a tensor that no graph may make."""
    rules.add("labkit.device.random")


def _add_interface(module) -> None:
    from labkit.device.modules import dynamo_device

    dynamo_device.register()


def npu(graph, example_inputs, **options):
    """Captured and differentiated ahead of time, then run operator by operator."""
    from torch._dynamo.backends.debugging import aot_eager

    return aot_eager(graph, example_inputs)


# ---- torch_npu.dynamo.torchair


class CompilerConfig:
    """torchair's settings: taken, whatever they are. There is no graph compiler here."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(self, name, CompilerConfig())
        return self.__dict__[name]


def get_npu_backend(*, compiler_config=None, custom_decompositions=None, **_):
    """A backend for torch.compile: as backend="npu"."""
    return npu
