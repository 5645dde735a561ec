// Guards under torch_npu's C++ names: the simulated npu has PyTorch's own, which do the same.
#pragma once
#include <c10/core/DeviceGuard.h>
#include <c10/core/StreamGuard.h>

#include <optional>

#include "torch_npu/csrc/core/npu/NPUStream.h"

namespace c10_npu {

struct NPUGuard : c10::DeviceGuard {
    explicit NPUGuard(c10::DeviceIndex index) : c10::DeviceGuard(NPUStream::device_of(index)) {}
    explicit NPUGuard(c10::Device device) : c10::DeviceGuard(device) {}
};

struct OptionalNPUGuard : c10::OptionalDeviceGuard {
    OptionalNPUGuard() = default;
    explicit OptionalNPUGuard(std::optional<c10::Device> device) : c10::OptionalDeviceGuard(device) {}
};

struct NPUStreamGuard : c10::StreamGuard {
    explicit NPUStreamGuard(c10::Stream stream) : c10::StreamGuard(stream) {}
    explicit NPUStreamGuard(NPUStream stream) : c10::StreamGuard(stream.unwrap()) {}
};

}  // namespace c10_npu
