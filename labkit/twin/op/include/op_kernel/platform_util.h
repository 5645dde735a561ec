// The chip's block sizes inside kernels.
#pragma once
#include "kernel_operator.h"

namespace Ops::Base {
__aicore__ constexpr uint32_t GetUbBlockSize() { return 32; }
__aicore__ constexpr uint32_t GetVRegSize() { return 256; }
}  // namespace Ops::Base
