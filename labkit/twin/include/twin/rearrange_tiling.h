// The host's sizes and tilings for sorting, transposing, padding, broadcasting and filtering. Each tiling function has a
// form for the host's class (optiling) and one for the plain struct.
#pragma once
#include "adv_api/utils/types.h"
#include "kernel_tiling/kernel_tiling.h"
#include "tiling/platform/platform_ascendc.h"
#include "twin/trans_data_types.h"
#include "twin/host_tilings.h"
#include "twin/topk_types.h"

namespace AscendC {

using HostPlatform = platform_ascendc::PlatformAscendC;

// ---- sorting
uint32_t GetConcatTmpSize(const HostPlatform&, const uint32_t elemCount, const uint32_t dataTypeSize);
uint32_t GetSortTmpSize(const HostPlatform&, const uint32_t elemCount, const uint32_t dataTypeSize);
void GetSortMaxMinTmpSize(const TensorShape& srcShape, TensorDataType valueType, TensorDataType indexType, bool isReuseSource, const SortConfig& config,
                          uint32_t& maxValue, uint32_t& minValue);
bool GetTopKMaxMinTmpSize(const HostPlatform&, const int32_t inner, const int32_t outter, const bool isReuseSource, const bool isInitIndex, enum TopKMode mode,
                          const bool isLargest, const uint32_t dataTypeSize, uint32_t& maxValue, uint32_t& minValue);
bool GetTopKMaxMinTmpSize(const int32_t inner, const int32_t outter, const int32_t k, const bool isReuseSource, const bool isInitIndex, enum TopKMode mode,
                          const bool isLargest, TensorDataType dataType, const TopKConfig& config, uint32_t& maxValue, uint32_t& minValue);

// ---- filtering
uint32_t GetDropOutMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isReuseSource);
uint32_t GetDropOutMaxTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isReuseSource);
void GetDropOutMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isReuseSource, uint32_t& maxValue, uint32_t& minValue);
#define TWIN_SELECT_SIZES(name)                                                                                                   \
    uint32_t Get##name##MinTmpSize(const TensorShape& src0Shape, const TensorShape& src1Shape, const uint32_t srcTypeSize, const TensorShape& maskShape, \
                                   const uint32_t maskTypeSize, const bool isReuseMask);                                         \
    uint32_t Get##name##MaxTmpSize(const TensorShape& src0Shape, const TensorShape& src1Shape, const uint32_t srcTypeSize, const TensorShape& maskShape, \
                                   const uint32_t maskTypeSize, const bool isReuseMask);                                         \
    void Get##name##MaxMinTmpSize(const TensorShape& src0Shape, const TensorShape& src1Shape, const uint32_t srcTypeSize, const TensorShape& maskShape, \
                                  const uint32_t maskTypeSize, const bool isReuseMask, uint32_t& maxValue, uint32_t& minValue);
TWIN_SELECT_SIZES(Select)
TWIN_SELECT_SIZES(SelectWithBytesMask)
#undef TWIN_SELECT_SIZES

// ---- layouts, padding, sequences
void GetTransposeMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const uint32_t transposeTypeIn, uint32_t& maxValue, uint32_t& minValue);
void GetConfusionTransposeMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const uint32_t transposeTypeIn, uint32_t& maxValue, uint32_t& minValue);
bool GetTransDataMaxMinTmpSize(const HostPlatform&, const TensorShape& srcShape, const TensorShape& dstShape, const TensorDataType dataType, const TransDataConfig& config,
                               uint32_t& maxValue, uint32_t& minValue);
void GetPadMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, uint32_t& maxValue, uint32_t& minValue);
void GetUnPadMaxMinTmpSize(const HostPlatform&, const TensorShape& srcShape, const uint32_t typeSize, uint32_t& maxValue, uint32_t& minValue);
void GetBroadCastMaxMinTmpSize(const HostPlatform&, const TensorShape& srcShape, const TensorShape& dstShape, uint32_t typeSize, const bool isReuseSource,
                               uint32_t& maxValue, uint32_t& minValue);
void GetArithProgressionMaxMinTmpSize(uint32_t& maxValue, uint32_t& minValue);
void GetArangeMaxMinTmpSize(uint32_t& maxValue, uint32_t& minValue);

// The host's class over a plain struct's memory has the same bytes.
namespace detail {
template <typename Plain, typename Host> void give(Plain& from, Host& to) { to = Host(static_cast<void*>(&from)); }
}  // namespace detail
bool TopKTilingFunc(const HostPlatform& platform, const int32_t inner, const int32_t outter, const int32_t k, const uint32_t dataTypeSize, const bool isInitIndex, enum TopKMode mode, const bool isLargest, tiling::TopkTiling& tiling);
inline bool TopKTilingFunc(const HostPlatform& platform, const int32_t inner, const int32_t outter, const int32_t k, const uint32_t dataTypeSize, const bool isInitIndex, enum TopKMode mode, const bool isLargest, optiling::TopkTiling& tiling) {
    tiling::TopkTiling plain;
    bool done = TopKTilingFunc(platform, inner, outter, k, dataTypeSize, isInitIndex, mode, isLargest, plain);
    detail::give(plain, tiling);
    return done;
}
void GetTransposeTilingInfo(const TensorShape& srcShape, const uint32_t stackBufferSize, const uint32_t typeSize, const uint32_t transposeTypeIn, tiling::ConfusionTransposeTiling& tiling);
inline void GetTransposeTilingInfo(const TensorShape& srcShape, const uint32_t stackBufferSize, const uint32_t typeSize, const uint32_t transposeTypeIn, optiling::ConfusionTransposeTiling& tiling) {
    tiling::ConfusionTransposeTiling plain;
    GetTransposeTilingInfo(srcShape, stackBufferSize, typeSize, transposeTypeIn, plain);
    detail::give(plain, tiling);
}
void GetConfusionTransposeTilingInfo(const TensorShape& srcShape, const uint32_t stackBufferSize, const uint32_t typeSize, const uint32_t transposeTypeIn, tiling::ConfusionTransposeTiling& tiling);
inline void GetConfusionTransposeTilingInfo(const TensorShape& srcShape, const uint32_t stackBufferSize, const uint32_t typeSize, const uint32_t transposeTypeIn, optiling::ConfusionTransposeTiling& tiling) {
    tiling::ConfusionTransposeTiling plain;
    GetConfusionTransposeTilingInfo(srcShape, stackBufferSize, typeSize, transposeTypeIn, plain);
    detail::give(plain, tiling);
}
void GetConfusionTransposeOnlyTilingInfo(const TensorShape& srcShape, const uint32_t stackBufferSize, const uint32_t typeSize, tiling::ConfusionTransposeTiling& tiling);
inline void GetConfusionTransposeOnlyTilingInfo(const TensorShape& srcShape, const uint32_t stackBufferSize, const uint32_t typeSize, optiling::ConfusionTransposeTiling& tiling) {
    tiling::ConfusionTransposeTiling plain;
    GetConfusionTransposeOnlyTilingInfo(srcShape, stackBufferSize, typeSize, plain);
    detail::give(plain, tiling);
}
void PadTilingFunc(const TensorShape& srcShape, const TensorShape& oriSrcShape, const uint32_t stackBufferSize, const uint32_t typeSize, tiling::PadTiling& tiling);
inline void PadTilingFunc(const TensorShape& srcShape, const TensorShape& oriSrcShape, const uint32_t stackBufferSize, const uint32_t typeSize, optiling::PadTiling& tiling) {
    tiling::PadTiling plain;
    PadTilingFunc(srcShape, oriSrcShape, stackBufferSize, typeSize, plain);
    detail::give(plain, tiling);
}
void UnPadTilingFunc(const TensorShape& srcShape, const uint32_t stackBufferSize, const uint32_t typeSize, tiling::UnPadTiling& tiling);
inline void UnPadTilingFunc(const TensorShape& srcShape, const uint32_t stackBufferSize, const uint32_t typeSize, optiling::UnPadTiling& tiling) {
    tiling::UnPadTiling plain;
    UnPadTilingFunc(srcShape, stackBufferSize, typeSize, plain);
    detail::give(plain, tiling);
}

}  // namespace AscendC
