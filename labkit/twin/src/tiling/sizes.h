// What the host's tiling functions of the advanced API share.
#pragma once
#include <algorithm>

#include "twin/tiling/sizes.h"

namespace AscendC::sizes {

constexpr uint32_t kBlock = 32, kFloat = 4;
inline uint32_t up(uint32_t n, uint32_t unit) { return (n + unit - 1) / unit * unit; }
inline uint32_t dim(const TensorShape& s, size_t i) { return uint32_t(s.GetDim(i)); }
inline bool single(uint32_t typeSize) { return typeSize == kFloat; }

}  // namespace AscendC::sizes
