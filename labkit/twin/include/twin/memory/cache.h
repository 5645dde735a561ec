// The data cache of the scalar unit (lines of 64 bytes), and GM past it.
#pragma once
#include "twin/core/tensor.h"

namespace twin {
// write back and invalidate: one line from that address on, or all
void clean_cache(const uint8_t* line, bool whole, Here);
void preload(const void* at, int64_t offset, Here);
void* past_cache(const uint8_t* at, uint32_t size, bool write, Here);
#ifdef TWIN_UB_POINTERS  // the source takes pointers to UB: its loads and stores there are looked at
bool watch_ub_pointers(const void* place_in_library);
static const bool g_ub_pointers = watch_ub_pointers(&g_ub_pointers);
#endif
}  // namespace twin

enum cache_line_t : uint64_t { SINGLE_CACHE_LINE, ENTIRE_DATA_CACHE };
enum dcci_dst_t : uint64_t { CACHELINE_ALL, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };

namespace AscendC {

enum class CacheLine : uint64_t { SINGLE_CACHE_LINE, ENTIRE_DATA_CACHE };
enum class DcciDst : uint64_t { CACHELINE_ALL, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };

template <typename T, CacheLine entireType, DcciDst dcciDst = DcciDst::CACHELINE_ALL>
void DataCacheCleanAndInvalid(const GlobalTensor<T>& dst, TWIN_HERE) {
    static_assert(dcciDst != DcciDst::CACHELINE_ATOMIC,
                  "DcciDst::CACHELINE_ATOMIC is for Ascend 950; use CACHELINE_OUT");
    if (dcciDst != DcciDst::CACHELINE_UB)
        ::twin::clean_cache(dst.gm_.ptr, entireType == CacheLine::ENTIRE_DATA_CACHE, here);
}
// On A2/A3 the other units always see the scalar unit's accesses to UB: there is nothing to do.
template <typename T, CacheLine entireType, DcciDst dcciDst> void DataCacheCleanAndInvalid(const LocalTensor<T>&) {
    static_assert(dcciDst != DcciDst::CACHELINE_ATOMIC,
                  "DcciDst::CACHELINE_ATOMIC is for Ascend 950; use CACHELINE_UB");
}
template <typename T> void DataCachePreload(const GlobalTensor<uint64_t>& src, T cacheOffset, TWIN_HERE) {
    static_assert(::twin::one_of<T, int16_t, int64_t>(), "DataCachePreload takes an offset of type int16_t or int64_t");
    ::twin::preload(src.gm_.ptr, cacheOffset, here);
}
inline void ICachePreLoad(int64_t) {}
inline int64_t GetICachePreloadStatus() { return 0; }  // done
#define PRELOAD(len) static_cast<void>(0)

// One value of GM, past the data cache.
template <typename T> void WriteGmByPassDCache(__gm__ T* addr, T value, TWIN_HERE) {
    __builtin_memcpy(::twin::past_cache((const uint8_t*)addr, sizeof(T), true, here), &value, sizeof(T));
    ::twin::let_others_run();
}
template <typename T> T ReadGmByPassDCache(__gm__ T* addr, TWIN_HERE) {
    ::twin::let_others_run();
    T v;
    __builtin_memcpy(&v, ::twin::past_cache((const uint8_t*)addr, sizeof(T), false, here), sizeof(T));
    return v;
}

}  // namespace AscendC

// The raw spellings.
template <typename T> void dcci(__gm__ T* at, uint64_t line, uint64_t = 0, TWIN_HERE) {
    ::twin::clean_cache((const uint8_t*)at, line == ENTIRE_DATA_CACHE, here);
}
