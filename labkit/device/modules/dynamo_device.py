"""torch_npu.utils._dynamo_device: what Dynamo and the libraries above it ask about a device."""

from __future__ import annotations

import torch
from torch._dynamo import device_interface
from torch._dynamo.device_interface import caching_worker_current_devices, caching_worker_device_properties

from labkit.device import npu
from labkit.device.npu import current_device, device_count
from labkit.device.npu import get_device_properties as get_device_properties_npu


class NpuInterface(device_interface.DeviceInterface):
    device, Event, Stream = npu.device, npu.Event, npu.Stream

    class Worker:
        """In a process that compiles: the device that its parent has told it, without asking the driver."""

        @staticmethod
        def set_device(device: int) -> None:
            caching_worker_current_devices["npu"] = device

        @staticmethod
        def current_device() -> int:
            known = caching_worker_current_devices.get("npu")
            return current_device() if known is None else known

        @staticmethod
        def get_device_properties(device=None):
            if device is not None and not isinstance(device, int):
                device = torch.device(device)
                if device.type != "npu":
                    raise AssertionError(f"expected an npu, got {device}")
                device = device.index
            if device is None:
                device = NpuInterface.Worker.current_device()
            if "npu" not in caching_worker_device_properties:
                caching_worker_device_properties["npu"] = [get_device_properties_npu(i) for i in range(device_count())]
            return caching_worker_device_properties["npu"][device]

    current_device, device_count = staticmethod(current_device), staticmethod(device_count)
    set_device, is_available = staticmethod(npu.set_device), staticmethod(npu.is_available)
    stream, current_stream = staticmethod(npu.stream), staticmethod(npu.current_stream)
    set_stream, synchronize = staticmethod(npu.set_stream), staticmethod(npu.synchronize)
    get_device_properties = staticmethod(get_device_properties_npu)
    is_bf16_supported = staticmethod(npu.is_bf16_supported)
    memory_allocated = staticmethod(npu.memory_allocated)

    @staticmethod
    def get_raw_stream(index: int = 0) -> int:
        return npu.current_stream(index).npu_stream

    @staticmethod
    def get_compute_capability(device=None) -> str:
        return npu.get_device_name(device)

    @staticmethod
    def is_triton_capable(device=None) -> bool:
        return False


def register() -> None:
    for device in ("npu", *(f"npu:{i}" for i in range(device_count()))):
        device_interface.register_interface_for_device(device, NpuInterface)
