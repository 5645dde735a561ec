// The chip's block sizes by the names that operators' host code has for them.
#pragma once
#include "log/log.h"

namespace Ops::Base {
template <typename C> uint32_t GetUbBlockSize(const C*) { return 32; }
template <typename C> uint32_t GetVRegSize(const C*) { return 256; }
template <typename C> uint32_t GetCacheLineSize(const C*) { return 512; }
template <typename C> uint32_t GetAivCoreNum(const C* context) {
    return platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetCoreNumAiv();
}
template <typename C> bool IsRegbaseSocVersion(const C*) {
    return false;
}  // a template: an operator's own function of this name wins
}  // namespace Ops::Base
