// Types of TransData, shared by host and kernel.
#pragma once
#include "twin/base/shape.h"

namespace AscendC {
struct TransDataConfig {
    DataFormat srcFormat;
    DataFormat dstFormat;
};
}  // namespace AscendC
