// How a tensor's axes lie in memory, as host and kernel name it.
#pragma once
#include <stdint.h>

namespace AscendC {
enum class DataFormat : uint8_t { ND = 0, NZ, NCHW, NC1HWC0, NHWC, NCDHW, NDC1HWC0, FRACTAL_Z_3D };
}
