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
    """What Dynamo and the libraries above it ask about a device."""
    from labkit.device import npu

    class Worker:
        set_device = staticmethod(npu.set_device)
        current_device = staticmethod(npu.current_device)
        get_device_properties = staticmethod(npu.get_device_properties)

    names = """current_device set_device device_count is_available stream current_stream set_stream synchronize
        get_device_properties is_bf16_supported memory_allocated""".split()
    given = {name: staticmethod(getattr(npu, name)) for name in names}
    given |= {"Worker": Worker, "device": npu.device, "Event": npu.Event, "Stream": npu.Stream,
              "get_raw_stream": staticmethod(lambda index=0: npu.current_stream(index).npu_stream),
              "get_compute_capability": staticmethod(lambda device=None: npu.get_device_name(device)),
              "is_triton_capable": staticmethod(lambda device=None: False)}  # fmt: skip
    interface = type("NpuInterface", (module.DeviceInterface,), given)
    for device in ("npu", *(f"npu:{i}" for i in range(npu.device_count()))):
        module.register_interface_for_device(device, interface)


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
