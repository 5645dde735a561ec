// Host sizes and tilings of SoftMax and its variants. srcShape: all but the last dimension are rows.
#pragma once
#include "twin/tiling/sizes.h"

namespace AscendC {

uint32_t GetSoftMaxMaxTmpSize(const TensorShape& srcShape, const uint32_t dataTypeSize, const bool isReuseSource);
uint32_t GetSoftMaxMinTmpSize(const TensorShape& srcShape, const uint32_t dataTypeSize, const bool isReuseSource);
TWIN_HOST_TILING_FORMS(void, SoftMaxTilingFunc, SoftMaxTiling,
                       TWIN_HOST_LIST(const TensorShape& srcShape, const uint32_t dataTypeSize,
                                      const uint32_t localWorkSpaceSize),
                       TWIN_HOST_LIST(srcShape, dataTypeSize, localWorkSpaceSize))
bool IsBasicBlockInSoftMax(::AscendC::tiling::SoftMaxTiling& tiling, const uint32_t dataTypeSize = 2);
inline bool IsBasicBlockInSoftMax(optiling::SoftMaxTiling& host, const uint32_t dataTypeSize = 2) {
    ::AscendC::tiling::SoftMaxTiling t;
    t.srcK = host.get_srcK();
    t.tailM = host.get_tailM();
    return IsBasicBlockInSoftMax(t, dataTypeSize);
}

uint32_t GetLogSoftMaxMaxTmpSize(const TensorShape srcShape, const uint32_t dataTypeSize, const bool isReuseSource);
uint32_t GetLogSoftMaxMinTmpSize(const TensorShape srcShape, const uint32_t dataTypeSize, const bool isReuseSource);
TWIN_HOST_TILING_FORMS(void, LogSoftMaxTilingFunc, LogSoftMaxTiling,
                       TWIN_HOST_LIST(const TensorShape srcShape, const uint32_t dataTypeSize,
                                      const uint32_t localWorkSpaceSize),
                       TWIN_HOST_LIST(srcShape, dataTypeSize, localWorkSpaceSize))

uint32_t GetSoftMaxFlashMaxTmpSize(const TensorShape& srcShape, const uint32_t dataTypeSize, const bool isUpdate,
                                   const bool isReuseSource);
uint32_t GetSoftMaxFlashMinTmpSize(const TensorShape& srcShape, const uint32_t dataTypeSize, const bool isUpdate,
                                   const bool isReuseSource);
TWIN_HOST_TILING_FORMS_LAST(void, SoftMaxFlashTilingFunc, SoftMaxTiling,
                            TWIN_HOST_LIST(const TensorShape& srcShape, const uint32_t dataTypeSize,
                                           const uint32_t localWorkSpaceSize),
                            TWIN_HOST_LIST(srcShape, dataTypeSize, localWorkSpaceSize), isUpdate)

uint32_t GetSoftMaxGradMaxTmpSize(const TensorShape& srcShape, const uint32_t dataTypeSize, const bool isFront,
                                  const bool isReuseSource);
uint32_t GetSoftMaxGradMinTmpSize(const TensorShape& srcShape, const uint32_t dataTypeSize, const bool isFront,
                                  const bool isReuseSource);
TWIN_HOST_TILING_FORMS_LAST(void, SoftMaxGradTilingFunc, SoftMaxTiling,
                            TWIN_HOST_LIST(const TensorShape& srcShape, const uint32_t dataTypeSize,
                                           const uint32_t localWorkSpaceSize),
                            TWIN_HOST_LIST(srcShape, dataTypeSize, localWorkSpaceSize), isFront)

// dataTypeSize1: of the matrix; dataTypeSize2: of its statistics
uint32_t GetSoftMaxFlashV2MaxTmpSize(const TensorShape& srcShape, const uint32_t dataTypeSize1,
                                     const uint32_t dataTypeSize2, const bool isUpdate, const bool isBasicBlock = false,
                                     const bool isFlashOutputBrc = false);
uint32_t GetSoftMaxFlashV2MinTmpSize(const TensorShape& srcShape, const uint32_t dataTypeSize1,
                                     const uint32_t dataTypeSize2, const bool isUpdate, const bool isBasicBlock = false,
                                     const bool isFlashOutputBrc = false);
void SoftMaxFlashV2TilingFunc(const TensorShape& srcShape, const uint32_t dataTypeSize1, const uint32_t dataTypeSize2,
                              const uint32_t localWorkSpaceSize, ::AscendC::tiling::SoftMaxTiling& softmaxFlashTiling,
                              const bool isUpdate, const bool isBasicBlock = false,
                              const bool isFlashOutputBrc = false);
inline void SoftMaxFlashV2TilingFunc(const TensorShape& srcShape, const uint32_t dataTypeSize1,
                                     const uint32_t dataTypeSize2, const uint32_t localWorkSpaceSize,
                                     optiling::SoftMaxTiling& host, const bool isUpdate,
                                     const bool isBasicBlock = false, const bool isFlashOutputBrc = false) {
    detail::HandedOver<::AscendC::tiling::SoftMaxTiling, optiling::SoftMaxTiling> t(host);
    SoftMaxFlashV2TilingFunc(srcShape, dataTypeSize1, dataTypeSize2, localWorkSpaceSize, t.plain, isUpdate,
                             isBasicBlock, isFlashOutputBrc);
}

void GetSoftMaxFlashV3MaxMinTmpSize(const TensorShape& srcShape, const uint32_t dataTypeSize1,
                                    const uint32_t dataTypeSize2, uint32_t& maxValue, uint32_t& minValue,
                                    const bool isUpdate, const bool isBasicBlock = false);
void SoftMaxFlashV3TilingFunc(const TensorShape& srcShape, const uint32_t dataTypeSize1, const uint32_t dataTypeSize2,
                              const uint32_t localWorkSpaceSize, ::AscendC::tiling::SoftMaxTiling& softmaxFlashV3Tiling,
                              const bool isUpdate, const bool isBasicBlock = false);
inline void SoftMaxFlashV3TilingFunc(const TensorShape& srcShape, const uint32_t dataTypeSize1,
                                     const uint32_t dataTypeSize2, const uint32_t localWorkSpaceSize,
                                     optiling::SoftMaxTiling& host, const bool isUpdate,
                                     const bool isBasicBlock = false) {
    detail::HandedOver<::AscendC::tiling::SoftMaxTiling, optiling::SoftMaxTiling> t(host);
    SoftMaxFlashV3TilingFunc(srcShape, dataTypeSize1, dataTypeSize2, localWorkSpaceSize, t.plain, isUpdate,
                             isBasicBlock);
}

}  // namespace AscendC
