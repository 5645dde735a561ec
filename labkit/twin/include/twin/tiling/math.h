// Host sizes of the elementwise functions, reductions and quantization: the most and the least temporary space in
// bytes, or factor and summand to compute other sizes.
#pragma once
#include "twin/library/reduce_pattern.h"
#include "twin/tiling/sizes.h"

namespace AscendC {

#define TWIN_HOST_SIZES(name)                                                                                     \
    void Get##name##MaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isReuseSource, \
                                  uint32_t& maxValue, uint32_t& minValue);
#define TWIN_HOST_FACTORS(name) \
    void Get##name##TmpBufferFactorSize(const uint32_t typeSize, uint32_t& maxLiveNodeCount, uint32_t& extraBuf);
#define TWIN_HOST_BOTH(name) TWIN_HOST_SIZES(name) TWIN_HOST_FACTORS(name)
// clang-format off
#define TWIN_HOST_MATH(X) \
    X(Tanh) X(Sin) X(Cos) X(Tan) X(Asin) X(Acos) X(Atan) X(Sinh) X(Cosh) X(Asinh) X(Acosh) X(Atanh) X(Erf) X(Erfc) \
    X(Log) X(Log2) X(Log10) X(Lgamma) X(Digamma) X(Floor) X(Ceil) X(Trunc) X(Frac) X(Fmod) X(Sign) X(Xor) X(GeGLU)
// clang-format on
TWIN_HOST_MATH(TWIN_HOST_BOTH)
TWIN_HOST_BOTH(Axpy)
TWIN_HOST_BOTH(Clamp)
TWIN_HOST_FACTORS(Exp)
bool GetExpMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isReuseSource,
                         uint32_t& maxValue, uint32_t& minValue);
void GetRoundMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, const TensorShape& srcShape,
                           const uint32_t typeSize, const bool isReuseSource, uint32_t& maxValue, uint32_t& minValue);
void GetRoundTmpBufferFactorSize(const platform_ascendc::PlatformAscendC&, const uint32_t typeSize,
                                 uint32_t& maxLiveNodeCount, uint32_t& extraBuf);
void GetPowerMaxMinTmpSize(const TensorShape& srcShape1, const TensorShape& srcShape2, const bool typeIsInt,
                           const uint32_t typeSize, const bool isReuseSource, uint32_t& maxValue, uint32_t& minValue);
void GetPowerTmpBufferFactorSize(const bool baseIsTensor, const bool expIsTensor, const bool typeIsInt,
                                 const uint32_t typeSize, uint32_t& maxLiveNodeCount, uint32_t& extraBuffer);
void GetCumSumMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isLastAxis,
                            const bool isReuseSource, uint32_t& maxValue, uint32_t& minValue);

// ---- activation
uint32_t GetGeluMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize);
uint32_t GetGeluMaxTmpSize(const TensorShape& srcShape, const uint32_t typeSize);
void GetGeluMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, uint32_t& maxValue, uint32_t& minValue);
TWIN_HOST_SIZES(ReGlu)
TWIN_HOST_SIZES(Sigmoid)
TWIN_HOST_FACTORS(SwiGLU)
void GetSwiGLUMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, uint32_t& maxValue,
                            uint32_t& minValue, const bool isReuseSource);
void GetSiluTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isReuseSource, uint32_t& maxValue,
                    uint32_t& minValue);
void GetSwishTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isReuseSource, uint32_t& maxValue,
                     uint32_t& minValue);

// ---- reductions
#define TWIN_HOST_REDUCE(name)                                                                                       \
    void Get##name##MaxMinTmpSize(const TensorShape& srcShape, const TensorDataType dataType, ReducePattern pattern, \
                                  bool isSrcInnerPad, bool isReuseSource, uint32_t& maxValue, uint32_t& minValue);
TWIN_HOST_REDUCE(ReduceSum)
TWIN_HOST_REDUCE(ReduceMean)
TWIN_HOST_REDUCE(ReduceProd)
TWIN_HOST_REDUCE(ReduceMax)
TWIN_HOST_REDUCE(ReduceMin)
TWIN_HOST_REDUCE(ReduceAny)
TWIN_HOST_REDUCE(ReduceAll)
TWIN_HOST_SIZES(ReduceXorSum)
void GetSumMaxMinTmpSize(const uint32_t n, const uint32_t typeSize, const bool isReuseSource, uint32_t& maxSize,
                         uint32_t& minSize);
void GetMeanMaxMinTmpSize(const uint32_t n, const uint32_t srcTypeSize, const uint32_t accTypeSize,
                          const bool isReuseSource, uint32_t& maxSize, uint32_t& minSize);
TWIN_HOST_FACTORS(Mean)

// ---- quantization
void GetAscendQuantMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, uint32_t& maxValue,
                                 uint32_t& minValue);
void GetAscendQuantTmpBufferFactorSize(uint32_t& maxLiveNodeCount, uint32_t& extraBuf);
void GetAscendDequantMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, uint32_t& maxValue,
                                   uint32_t& minValue);
void GetAscendDequantTmpBufferFactorSize(const TensorShape& srcShape, uint32_t& maxLiveNodeCount, uint32_t& extraBuf);
uint32_t GetAscendAntiQuantMaxTmpSize(const TensorShape& srcShape, const TensorShape& scaleShape, bool isTranspose,
                                      TensorDataType inputDataType, TensorDataType outputDataType);
uint32_t GetAscendAntiQuantMinTmpSize(const TensorShape& srcShape, const TensorShape& scaleShape, bool isTranspose,
                                      TensorDataType inputDataType, TensorDataType outputDataType);
void GetAscendAntiQuantMaxMinTmpSize(const TensorShape& srcShape, const TensorShape& scaleShape, bool isTranspose,
                                     TensorDataType inputDataType, TensorDataType outputDataType, uint32_t& maxValue,
                                     uint32_t& minValue);
void GetAscendAntiQuantTmpBufferFactorSize(const TensorShape& srcShape, const TensorShape& scaleShape, bool isTranspose,
                                           TensorDataType inputDataType, TensorDataType outputDataType,
                                           uint32_t& maxLiveNodeCount, uint32_t& extraBuf);

}  // namespace AscendC
