// The current device under torch_npu's C++ names.
#pragma once
#include "torch_npu/csrc/core/npu/NPUStream.h"

namespace c10_npu {

inline c10::DeviceIndex device_count() noexcept { return NPUStream::guard().deviceCount(); }
inline c10::DeviceIndex current_device() { return c10::DeviceIndex(lab_get_device()); }
inline void set_device(c10::DeviceIndex device) { NPUStream::guard().setDevice(NPUStream::device_of(device)); }
inline void device_synchronize() { npuSynchronizeDevice(); }

}  // namespace c10_npu
