// What TransData tells host and kernel alike.
#pragma once
#include "twin/base/shape.h"

namespace AscendC {
struct TransDataConfig {
    DataFormat srcFormat;
    DataFormat dstFormat;
};
}  // namespace AscendC
