// Names of Ascend C that A2/A3 do not have: each says so in one line, with what covers it.
#pragma once
#include "twin/std.h"

namespace AscendC {

#define TWIN_ABSENT(name, instead) \
    template <typename... Args> void name(Args&&...) { static_assert(Std::always_false_v<Args...>, #name " is for Ascend 950, not for A2/A3. " instead); }
TWIN_ABSENT(AtomicAdd, "Use SetAtomicAdd<T>(), DataCopy to GM and SetAtomicNone().")
TWIN_ABSENT(AtomicMax, "Use SetAtomicMax<T>(), DataCopy to GM and SetAtomicNone().")
TWIN_ABSENT(AtomicMin, "Use SetAtomicMin<T>(), DataCopy to GM and SetAtomicNone().")
TWIN_ABSENT(AtomicCas, "Order the blocks with IBSet and IBWait, or give each block a place of its own.")
TWIN_ABSENT(AtomicExch, "Order the blocks with IBSet and IBWait, or give each block a place of its own.")
TWIN_ABSENT(DataCopyL1ToUB, "The two kinds of cores share data through GM (workspace).")
TWIN_ABSENT(SetLoopModePara, "Write the outer dimensions of the copy as loops.")
TWIN_ABSENT(ResetLoopModePara, "Write the outer dimensions of the copy as loops.")
TWIN_ABSENT(NdDmaDci, "There is no NDDMA: use DataCopyPad in loops.")
TWIN_ABSENT(GetUBSizeInBytes, "UB is TOTAL_UB_SIZE bytes; on the host ask platform_ascendc for GetCoreMemSize.")
TWIN_ABSENT(GetRuntimeUBSize, "UB is TOTAL_UB_SIZE bytes; on the host ask platform_ascendc for GetCoreMemSize.")
TWIN_ABSENT(GetVecLen, "A repeat of the vector unit is ONE_REPEAT_BYTE_SIZE bytes.")
TWIN_ABSENT(GetSsbufBaseAddr, "There is no SSBuffer.")
TWIN_ABSENT(AllocMutexID, "Use SetFlag and WaitFlag.")
TWIN_ABSENT(ReleaseMutexID, "Use SetFlag and WaitFlag.")
#undef TWIN_ABSENT

template <typename T, uint8_t dim> struct MultiCopyParams {
    static_assert(Std::always_false_v<T>, "NdDmaParams (GM to UB in up to five dimensions) is for Ascend 950, not for A2/A3. Use DataCopyPad in loops over the outer dimensions.");
};
template <typename T, uint8_t dim> using NdDmaParams = MultiCopyParams<T, dim>;

}  // namespace AscendC
