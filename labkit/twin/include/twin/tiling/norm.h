// Host sizes and tilings of the normalizations.
#pragma once
#include "twin/tiling/sizes.h"

namespace AscendC {

// srcShape {B, S, H in memory, H}
void GetLayerNormMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isReuseSource,
                               uint32_t& maxValue, uint32_t& minValue);
TWIN_HOST_TILING_FORMS(void, GetLayerNormNDTilingInfo, LayerNormTiling,
                       TWIN_HOST_LIST(const TensorShape& srcShape, const uint32_t stackBufferSize,
                                      const uint32_t typeSize, const bool isReuseSource),
                       TWIN_HOST_LIST(srcShape, stackBufferSize, typeSize, isReuseSource))
inline void GetLayerNormNDTillingInfo(const TensorShape& srcShape, const uint32_t stackBufferSize,
                                      const uint32_t typeSize, const bool isReuseSource,
                                      optiling::LayerNormTiling& tilling) {
    GetLayerNormNDTilingInfo(srcShape, stackBufferSize, typeSize, isReuseSource, tilling);
}

// srcShape {A, R}
void GetLayerNormMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isReuseSource,
                               const bool isComputeRstd, const bool isOnlyOutput, uint32_t& maxValue,
                               uint32_t& minValue);
TWIN_HOST_TILING_FORMS(void, GetLayerNormNDTilingInfo, LayerNormSeparateTiling,
                       TWIN_HOST_LIST(const TensorShape& srcShape, const uint32_t stackBufferSize,
                                      const uint32_t typeSize, const bool isReuseSource, const bool isComputeRstd),
                       TWIN_HOST_LIST(srcShape, stackBufferSize, typeSize, isReuseSource, isComputeRstd))
void GetNormalizeMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSizeU, const uint32_t typeSizeT,
                               const bool isReuseSource, const bool isComputeRstd, const bool isOnlyOutput,
                               uint32_t& maxValue, uint32_t& minValue);

void GetWelfordUpdateMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSizeT, const uint32_t typeSizeU,
                                   const bool isReuseSource, const bool isInplace, uint32_t& maxValue,
                                   uint32_t& minValue);
void GetWelfordFinalizeMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isReuseSource,
                                     uint32_t& maxValue, uint32_t& minValue);

bool GetDeepNormMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isReuseSource,
                              const bool isBasicBlock, uint32_t& maxValue, uint32_t& minValue);
TWIN_HOST_TILING_FORMS(bool, GetDeepNormTilingInfo, DeepNormTiling,
                       TWIN_HOST_LIST(const TensorShape& srcShape, const TensorShape& originSrcShape,
                                      const uint32_t stackBufferSize, const uint32_t typeSize, const bool isReuseSource,
                                      const bool isBasicBlock),
                       TWIN_HOST_LIST(srcShape, originSrcShape, stackBufferSize, typeSize, isReuseSource, isBasicBlock))

bool GetRmsNormMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, uint32_t& maxValue,
                             uint32_t& minValue, const bool isBasicBlock = false);
TWIN_HOST_TILING_FORMS_LAST(bool, GetRmsNormTilingInfo, RmsNormTiling,
                            TWIN_HOST_LIST(const TensorShape& srcShape, const TensorShape& originSrcShape,
                                           const uint32_t stackBufferByteSize, const uint32_t typeSize),
                            TWIN_HOST_LIST(srcShape, originSrcShape, stackBufferByteSize, typeSize), isBasicBlock)

bool GetBatchNormMaxMinTmpSize(const TensorShape& srcShape, const TensorShape& originSrcShape, const uint32_t typeSize,
                               const bool isReuseSource, uint32_t& maxValue, uint32_t& minValue,
                               const bool isBasicBlock = false);
TWIN_HOST_TILING_FORMS_LAST(bool, GetBatchNormNDTilingInfo, BatchNormTiling,
                            TWIN_HOST_LIST(const TensorShape& srcShape, const TensorShape& originSrcShape,
                                           const uint32_t stackBufferByteSize, const uint32_t typeSize,
                                           const bool isReuseSource),
                            TWIN_HOST_LIST(srcShape, originSrcShape, stackBufferByteSize, typeSize, isReuseSource),
                            isBasicBlock)

// srcShape {N, C, H, W}
void GetGroupNormMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isReuseSource,
                               const uint32_t groupNum, uint32_t& maxValue, uint32_t& minValue);
TWIN_HOST_TILING_FORMS(void, GetGroupNormNDTilingInfo, GroupNormTiling,
                       TWIN_HOST_LIST(const TensorShape& srcShape, const uint32_t stackBufferSize,
                                      const uint32_t typeSize, const bool isReuseSource, const uint32_t groupNum),
                       TWIN_HOST_LIST(srcShape, stackBufferSize, typeSize, isReuseSource, groupNum))

void GetLayerNormGradMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isReuseSource,
                                   uint32_t& maxValue, uint32_t& minValue);
TWIN_HOST_TILING_FORMS(void, GetLayerNormGradNDTilingInfo, LayerNormGradTiling,
                       TWIN_HOST_LIST(const TensorShape srcShape, const uint32_t stackBufferSize,
                                      const uint32_t typeSize, const bool isReuseSource),
                       TWIN_HOST_LIST(srcShape, stackBufferSize, typeSize, isReuseSource))
void GetLayerNormGradBetaMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isReuseSource,
                                       uint32_t& maxValue, uint32_t& minValue);
TWIN_HOST_TILING_FORMS(void, GetLayerNormGradBetaNDTilingInfo, LayerNormGradBetaTiling,
                       TWIN_HOST_LIST(const TensorShape srcShape, const uint32_t stackBufferSize,
                                      const uint32_t typeSize, const bool isReuseSource),
                       TWIN_HOST_LIST(srcShape, stackBufferSize, typeSize, isReuseSource))

}  // namespace AscendC
