// The host's sizes and tilings for sorting, transposing, padding, broadcasting and filtering. Each tiling function has
// a form for the host's class (optiling) and one for the plain struct.
#pragma once
#include "twin/library/topk_types.h"
#include "twin/library/trans_data_types.h"
#include "twin/tiling/sizes.h"

namespace AscendC {

using HostPlatform = platform_ascendc::PlatformAscendC;

// ---- sorting
uint32_t GetConcatTmpSize(const HostPlatform&, const uint32_t elemCount, const uint32_t dataTypeSize);
uint32_t GetSortTmpSize(const HostPlatform&, const uint32_t elemCount, const uint32_t dataTypeSize);
void GetSortMaxMinTmpSize(const TensorShape& srcShape, TensorDataType valueType, TensorDataType indexType,
                          bool isReuseSource, const SortConfig& config, uint32_t& maxValue, uint32_t& minValue);
bool GetTopKMaxMinTmpSize(const HostPlatform&, const int32_t inner, const int32_t outter, const bool isReuseSource,
                          const bool isInitIndex, enum TopKMode mode, const bool isLargest, const uint32_t dataTypeSize,
                          uint32_t& maxValue, uint32_t& minValue);
bool GetTopKMaxMinTmpSize(const int32_t inner, const int32_t outter, const int32_t k, const bool isReuseSource,
                          const bool isInitIndex, enum TopKMode mode, const bool isLargest, TensorDataType dataType,
                          const TopKConfig& config, uint32_t& maxValue, uint32_t& minValue);

// ---- filtering
uint32_t GetDropOutMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isReuseSource);
uint32_t GetDropOutMaxTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isReuseSource);
void GetDropOutMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isReuseSource,
                             uint32_t& maxValue, uint32_t& minValue);
#define TWIN_SELECT_SIZES(name)                                                                            \
    uint32_t Get##name##MinTmpSize(const TensorShape& src0Shape, const TensorShape& src1Shape,             \
                                   const uint32_t srcTypeSize, const TensorShape& maskShape,               \
                                   const uint32_t maskTypeSize, const bool isReuseMask);                   \
    uint32_t Get##name##MaxTmpSize(const TensorShape& src0Shape, const TensorShape& src1Shape,             \
                                   const uint32_t srcTypeSize, const TensorShape& maskShape,               \
                                   const uint32_t maskTypeSize, const bool isReuseMask);                   \
    void Get##name##MaxMinTmpSize(const TensorShape& src0Shape, const TensorShape& src1Shape,              \
                                  const uint32_t srcTypeSize, const TensorShape& maskShape,                \
                                  const uint32_t maskTypeSize, const bool isReuseMask, uint32_t& maxValue, \
                                  uint32_t& minValue);
TWIN_SELECT_SIZES(Select)
TWIN_SELECT_SIZES(SelectWithBytesMask)
#undef TWIN_SELECT_SIZES

// ---- layouts, padding, sequences
void GetTransposeMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const uint32_t transposeTypeIn,
                               uint32_t& maxValue, uint32_t& minValue);
void GetConfusionTransposeMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize,
                                        const uint32_t transposeTypeIn, uint32_t& maxValue, uint32_t& minValue);
bool GetTransDataMaxMinTmpSize(const HostPlatform&, const TensorShape& srcShape, const TensorShape& dstShape,
                               const TensorDataType dataType, const TransDataConfig& config, uint32_t& maxValue,
                               uint32_t& minValue);
void GetPadMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, uint32_t& maxValue, uint32_t& minValue);
void GetUnPadMaxMinTmpSize(const HostPlatform&, const TensorShape& srcShape, const uint32_t typeSize,
                           uint32_t& maxValue, uint32_t& minValue);
void GetBroadCastMaxMinTmpSize(const HostPlatform&, const TensorShape& srcShape, const TensorShape& dstShape,
                               uint32_t typeSize, const bool isReuseSource, uint32_t& maxValue, uint32_t& minValue);
void GetArithProgressionMaxMinTmpSize(uint32_t& maxValue, uint32_t& minValue);
void GetArangeMaxMinTmpSize(uint32_t& maxValue, uint32_t& minValue);

// ---- tilings
TWIN_HOST_TILING_FORMS(bool, TopKTilingFunc, TopkTiling,
                       TWIN_HOST_LIST(const HostPlatform& platform, const int32_t inner, const int32_t outter,
                                      const int32_t k, const uint32_t dataTypeSize, const bool isInitIndex,
                                      enum TopKMode mode, const bool isLargest),
                       TWIN_HOST_LIST(platform, inner, outter, k, dataTypeSize, isInitIndex, mode, isLargest))
#define TWIN_TRANSPOSE_TILING(name)                                                                    \
    TWIN_HOST_TILING_FORMS(void, name, ConfusionTransposeTiling,                                       \
                           TWIN_HOST_LIST(const TensorShape& srcShape, const uint32_t stackBufferSize, \
                                          const uint32_t typeSize, const uint32_t transposeTypeIn),    \
                           TWIN_HOST_LIST(srcShape, stackBufferSize, typeSize, transposeTypeIn))
TWIN_TRANSPOSE_TILING(GetTransposeTilingInfo)
TWIN_TRANSPOSE_TILING(GetConfusionTransposeTilingInfo)
#undef TWIN_TRANSPOSE_TILING
TWIN_HOST_TILING_FORMS(void, GetConfusionTransposeOnlyTilingInfo, ConfusionTransposeTiling,
                       TWIN_HOST_LIST(const TensorShape& srcShape, const uint32_t stackBufferSize,
                                      const uint32_t typeSize),
                       TWIN_HOST_LIST(srcShape, stackBufferSize, typeSize))
TWIN_HOST_TILING_FORMS(void, PadTilingFunc, PadTiling,
                       TWIN_HOST_LIST(const TensorShape& srcShape, const TensorShape& oriSrcShape,
                                      const uint32_t stackBufferSize, const uint32_t typeSize),
                       TWIN_HOST_LIST(srcShape, oriSrcShape, stackBufferSize, typeSize))
TWIN_HOST_TILING_FORMS(void, UnPadTilingFunc, UnPadTiling,
                       TWIN_HOST_LIST(const TensorShape& srcShape, const uint32_t stackBufferSize,
                                      const uint32_t typeSize),
                       TWIN_HOST_LIST(srcShape, stackBufferSize, typeSize))

}  // namespace AscendC
