// Types of TopK and Sort, shared by host and kernel.
#pragma once
#include <stdint.h>

namespace AscendC {
enum class TopKMode { TOPK_NORMAL, TOPK_NSMALL };
enum class TopKAlgo { RADIX_SELECT, MERGE_SORT };
enum class TopKOrder { UNSET, LARGEST, SMALLEST };
struct TopKConfig {
    TopKAlgo algo = TopKAlgo::MERGE_SORT;
    TopKOrder order = TopKOrder::UNSET;
    bool sorted = true;
};
struct TopKInfo {
    int32_t outter = 1;
    int32_t inner;  // n rounded up to a multiple of 32
    int32_t n;
};
enum class SortType { RADIX_SORT, MERGE_SORT };
struct SortConfig {
    SortType type = SortType::RADIX_SORT;
    bool isDescend = false, hasSrcIndex = false, hasDstIndex = false;
};
}  // namespace AscendC
