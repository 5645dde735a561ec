// CANN's internal helpers that public kernels call.
#pragma once
#include "twin/launch/system.h"
#include "twin/vector/gather.h"
#include "twin/vector/mask.h"

namespace AscendC {

struct AscendCUtils {
    template <typename T, bool isSetMask = true>
    static void SetMask(const uint64_t& maskHigh, const uint64_t& maskLow) {
        if (isSetMask) SetVectorMask<T>(maskHigh, maskLow);
    }
    template <typename T, bool isSetMask = true> static void SetMask(int32_t len) {
        if (isSetMask) SetVectorMask<T>(len);
    }
    template <bool isSetMask = true> static void ResetMask() {
        if (isSetMask) AscendC::ResetMask();
    }
    template <typename T> static void SetMaskCount() { AscendC::SetMaskCount(); }
    template <typename T> static void SetMaskNorm() { AscendC::SetMaskNorm(); }
    static void SetOverflow(uint64_t value, TWIN_HERE) { ::twin::set_control(48, value == 1, here); }
    static int64_t GetRsvdCnt() { return GetGatherMaskRemainCount(); }
    static int32_t GetC0Count(const int32_t dtypeSize) { return 32 / dtypeSize; }
};

}  // namespace AscendC
