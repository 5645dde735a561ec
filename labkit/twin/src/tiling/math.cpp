// Host sizes of the elementwise functions, reductions and quantization. They equal CANN's where those suffice; where
// CANN's implementation needs more than its host function returns (ReduceXorSum), they are larger.
#include "twin/tiling/math.h"

#include "library/call.h"
#include "library/reduce.h"
#include "tiling/sizes.h"

namespace AscendC {

using namespace sizes;
using twin::Op;

namespace {

constexpr uint32_t kRepeat = 256;
uint32_t elements(const TensorShape& s) { return uint32_t(s.GetShapeSize()); }
uint32_t nodes_of(Op op, uint32_t typeSize, bool reuse) {
    if (reuse && single(typeSize) && (op == Op::Sin || op == Op::Cos)) return 2;
    uint32_t own = single(typeSize) && reuse && (op == Op::Lgamma || op == Op::Digamma) ? 1 : 0;
    const twin::Recipe& r = twin::recipe(op);
    return (single(typeSize) ? r.nodes32 : r.nodes16) - own;
}
void nodes_to_sizes(uint32_t nodes, uint32_t bytes, uint32_t& most, uint32_t& least) {
    most = nodes * std::max(bytes, kRepeat);
    least = nodes * kRepeat;
}
void elementwise(Op op, const TensorShape& s, uint32_t typeSize, bool reuse, uint32_t& most, uint32_t& least) {
    uint32_t nodes = nodes_of(op, typeSize, reuse), n = elements(s);
    nodes_to_sizes(nodes, n * typeSize, most, least);
    if (op == Op::Acosh) most = std::max(nodes * n, kRepeat) * typeSize;
    if (op == Op::Log2 && !single(typeSize)) {
        most = std::max(n * kFloat, kRepeat);
        least = kRepeat;
    }
}
uint32_t factor(Op op, uint32_t typeSize) {
    uint32_t nodes = nodes_of(op, typeSize, false);
    return op == Op::Lgamma && !single(typeSize) ? nodes / 2 : nodes;
}

}  // namespace

#define TWIN_HOST_DEFINE(name)                                                                                     \
    void Get##name##MaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isReuseSource,  \
                                  uint32_t& maxValue, uint32_t& minValue) {                                        \
        elementwise(Op::name, srcShape, typeSize, isReuseSource, maxValue, minValue);                              \
    }                                                                                                              \
    void Get##name##TmpBufferFactorSize(const uint32_t typeSize, uint32_t& maxLiveNodeCount, uint32_t& extraBuf) { \
        maxLiveNodeCount = factor(Op::name, typeSize);                                                             \
        extraBuf = 0;                                                                                              \
    }
TWIN_HOST_MATH(TWIN_HOST_DEFINE)

void GetAxpyMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool, uint32_t& maxValue,
                          uint32_t& minValue) {
    nodes_to_sizes(single(typeSize) ? 0 : 4, elements(srcShape) * typeSize, maxValue, minValue);
}
void GetAxpyTmpBufferFactorSize(const uint32_t typeSize, uint32_t& maxLiveNodeCount, uint32_t& extraBuf) {
    maxLiveNodeCount = single(typeSize) ? 1 : 4;
    extraBuf = 0;
}
void GetClampMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool, uint32_t& maxValue,
                           uint32_t& minValue) {
    minValue = single(typeSize) ? 64 : 128;
    maxValue = std::max(elements(srcShape), minValue);
}
void GetClampTmpBufferFactorSize(const uint32_t, uint32_t& maxLiveNodeCount, uint32_t& extraBuf) {
    maxLiveNodeCount = 1;
    extraBuf = 0;
}
bool GetExpMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isReuseSource,
                         uint32_t& maxValue, uint32_t& minValue) {
    nodes_to_sizes(!single(typeSize) ? 4 : isReuseSource ? 2 : 3, elements(srcShape) * kFloat, maxValue, minValue);
    return true;
}
void GetExpTmpBufferFactorSize(const uint32_t typeSize, uint32_t& maxLiveNodeCount, uint32_t& extraBuf) {
    maxLiveNodeCount = single(typeSize) ? 3 : 8;
    extraBuf = 0;
}
void GetRoundMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, const TensorShape& srcShape,
                           const uint32_t typeSize, const bool isReuseSource, uint32_t& maxValue, uint32_t& minValue) {
    elementwise(Op::Round, srcShape, typeSize, isReuseSource, maxValue, minValue);
}
void GetRoundTmpBufferFactorSize(const platform_ascendc::PlatformAscendC&, const uint32_t typeSize,
                                 uint32_t& maxLiveNodeCount, uint32_t& extraBuf) {
    maxLiveNodeCount = factor(Op::Round, typeSize);
    extraBuf = 0;
}

// A shape of one element in one dimension is a scalar.
void GetPowerMaxMinTmpSize(const TensorShape& srcShape1, const TensorShape& srcShape2, const bool typeIsInt,
                           const uint32_t typeSize, const bool, uint32_t& maxValue, uint32_t& minValue) {
    auto tensor = [](const TensorShape& s) { return s.GetDimNum() != 1 || s.GetDim(0) != 1; };
    uint32_t nodes = 0, extra = 0, bytes = elements(tensor(srcShape1) ? srcShape1 : srcShape2) * typeSize;
    GetPowerTmpBufferFactorSize(tensor(srcShape1), tensor(srcShape2), typeIsInt, typeSize, nodes, extra);
    uint32_t least = single(typeSize) ? kRepeat : kRepeat / 2;
    maxValue = nodes * std::max(bytes, least) + extra;
    minValue = nodes * least + extra;
}
void GetPowerTmpBufferFactorSize(const bool baseIsTensor, const bool expIsTensor, const bool typeIsInt,
                                 const uint32_t typeSize, uint32_t& maxLiveNodeCount, uint32_t& extraBuffer) {
    uint32_t scalar = baseIsTensor && expIsTensor ? 0 : 1;
    maxLiveNodeCount = typeIsInt ? 6 + scalar : single(typeSize) ? 4 + scalar : 14;
    extraBuffer = typeIsInt ? 0 : kRepeat;
}

// Over the last axis sixteen rows at once are transposed, there and back.
void GetCumSumMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isLastAxis, const bool,
                            uint32_t& maxValue, uint32_t& minValue) {
    uint32_t outer = dim(srcShape, 0), inner = dim(srcShape, 1);
    if (!isLastAxis) {
        maxValue = minValue = single(typeSize) ? 0 : outer * inner * kFloat;
        return;
    }
    uint32_t row = inner * typeSize * 2 + (single(typeSize) ? 0 : inner * 2);
    minValue = 16 * row;
    maxValue = up(outer, 16) * row;
}

// ---- activation
uint32_t GetGeluMinTmpSize(const TensorShape&, const uint32_t) { return 3 * kRepeat; }
uint32_t GetGeluMaxTmpSize(const TensorShape& srcShape, const uint32_t) {
    return 3 * std::max(elements(srcShape) * kFloat, kRepeat);
}
void GetGeluMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, uint32_t& maxValue,
                          uint32_t& minValue) {
    maxValue = GetGeluMaxTmpSize(srcShape, typeSize);
    minValue = GetGeluMinTmpSize(srcShape, typeSize);
}
void GetReGluMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool, uint32_t& maxValue,
                           uint32_t& minValue) {
    nodes_to_sizes(single(typeSize) ? 1 : 6, single(typeSize) ? 0 : elements(srcShape) * typeSize, maxValue, minValue);
}
void GetSigmoidMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool, uint32_t& maxValue,
                             uint32_t& minValue) {
    nodes_to_sizes(1, elements(srcShape) * typeSize, maxValue, minValue);
}
void GetSwiGLUMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, uint32_t& maxValue,
                            uint32_t& minValue, const bool isReuseSource) {
    elementwise(Op::SwiGLU, srcShape, typeSize, isReuseSource, maxValue, minValue);
}
void GetSwiGLUTmpBufferFactorSize(const uint32_t typeSize, uint32_t& maxLiveNodeCount, uint32_t& extraBuf) {
    maxLiveNodeCount = factor(Op::SwiGLU, typeSize);
    extraBuf = 0;
}
void GetSiluTmpSize(const TensorShape&, const uint32_t, const bool, uint32_t& maxValue, uint32_t& minValue) {
    maxValue = minValue = 0;
}
void GetSwishTmpSize(const TensorShape&, const uint32_t, const bool, uint32_t& maxValue, uint32_t& minValue) {
    maxValue = minValue = 0;
}

// ---- reductions
#define TWIN_HOST_DEFINE_REDUCE(name, kind)                                                                          \
    void Get##name##MaxMinTmpSize(const TensorShape& srcShape, const TensorDataType dataType, ReducePattern pattern, \
                                  bool, bool isReuseSource, uint32_t& maxValue, uint32_t& minValue) {                \
        uint32_t size = dataType == ge::DT_UINT8 ? 1 : dataType == ge::DT_FLOAT16 ? 2 : 4;                           \
        auto own = size == 1 ? twin::FoldKind::Bits : twin::FoldKind::kind;                                          \
        maxValue = minValue = twin::fold_scratch(own, size, dim(srcShape, 0), dim(srcShape, 1),                      \
                                                 pattern == ReducePattern::RA, isReuseSource);                       \
    }
TWIN_HOST_DEFINE_REDUCE(ReduceSum, Sum)
TWIN_HOST_DEFINE_REDUCE(ReduceMean, Sum)
TWIN_HOST_DEFINE_REDUCE(ReduceProd, Product)
TWIN_HOST_DEFINE_REDUCE(ReduceMax, Extreme)
TWIN_HOST_DEFINE_REDUCE(ReduceMin, Extreme)
TWIN_HOST_DEFINE_REDUCE(ReduceAny, Extreme)
TWIN_HOST_DEFINE_REDUCE(ReduceAll, Extreme)
void GetReduceXorSumMaxMinTmpSize(const TensorShape& srcShape, const uint32_t, const bool isReuseSource,
                                  uint32_t& maxValue, uint32_t& minValue) {
    maxValue = minValue = twin::xor_scratch(elements(srcShape), isReuseSource);
}
void GetSumMaxMinTmpSize(const uint32_t n, const uint32_t typeSize, const bool, uint32_t& maxSize, uint32_t& minSize) {
    if (typeSize) maxSize = minSize = twin::sum_scratch(typeSize, n);
}
void GetMeanMaxMinTmpSize(const uint32_t n, const uint32_t srcTypeSize, const uint32_t accTypeSize, const bool,
                          uint32_t& maxSize, uint32_t& minSize) {
    if (srcTypeSize) maxSize = minSize = twin::mean_scratch(srcTypeSize, n, accTypeSize == kFloat);
}
void GetMeanTmpBufferFactorSize(const uint32_t, uint32_t& maxLiveNodeCount, uint32_t& extraBuf) {
    maxLiveNodeCount = 1;
    extraBuf = 0;
}

// ---- quantization
void GetAscendQuantMaxMinTmpSize(const TensorShape& srcShape, const uint32_t, uint32_t& maxValue, uint32_t& minValue) {
    minValue = 2 * kRepeat;
    maxValue = up(std::max(elements(srcShape) * 2, minValue), kBlock);
}
void GetAscendQuantTmpBufferFactorSize(uint32_t& maxLiveNodeCount, uint32_t& extraBuf) {
    maxLiveNodeCount = 2;
    extraBuf = 0;
}
void GetAscendDequantMaxMinTmpSize(const TensorShape& srcShape, const uint32_t, uint32_t& maxValue,
                                   uint32_t& minValue) {
    bool rows = srcShape.GetDimNum() == 2;
    uint32_t outer = rows ? dim(srcShape, 0) : 1, inner = dim(srcShape, rows), scales = inner + 8;
    maxValue = (64 + outer * inner + scales) * kFloat;
    minValue = (64 + inner + scales) * kFloat;
}
void GetAscendDequantTmpBufferFactorSize(const TensorShape& srcShape, uint32_t& maxLiveNodeCount, uint32_t& extraBuf) {
    uint32_t dims = uint32_t(srcShape.GetDimNum());
    maxLiveNodeCount = dims == 2 ? 1 : dims == 1 ? 2 : 0;
    extraBuf = dims == 2 ? 72 + dim(srcShape, 1) : dims == 1 ? 72 : 0;
}

// Half takes none. bfloat16 with scales for channels is worked on in float, a column of 64 at once.
uint32_t GetAscendAntiQuantMaxTmpSize(const TensorShape& srcShape, const TensorShape& scaleShape, bool isTranspose,
                                      TensorDataType, TensorDataType outputDataType) {
    if (outputDataType == ge::DT_FLOAT16) return 0;
    uint32_t scales = elements(scaleShape);
    if (scales == 1) return std::max(elements(srcShape) * kFloat, 1024u);
    return (isTranspose ? 80 * scales : 2 * scales + 64 * dim(srcShape, 0)) * kFloat;
}
uint32_t GetAscendAntiQuantMinTmpSize(const TensorShape& srcShape, const TensorShape& scaleShape, bool isTranspose,
                                      TensorDataType inputDataType, TensorDataType outputDataType) {
    if (outputDataType != ge::DT_FLOAT16 && elements(scaleShape) == 1) return 1024;
    return GetAscendAntiQuantMaxTmpSize(srcShape, scaleShape, isTranspose, inputDataType, outputDataType);
}
void GetAscendAntiQuantMaxMinTmpSize(const TensorShape& srcShape, const TensorShape& scaleShape, bool isTranspose,
                                     TensorDataType inputDataType, TensorDataType outputDataType, uint32_t& maxValue,
                                     uint32_t& minValue) {
    maxValue = GetAscendAntiQuantMaxTmpSize(srcShape, scaleShape, isTranspose, inputDataType, outputDataType);
    minValue = GetAscendAntiQuantMinTmpSize(srcShape, scaleShape, isTranspose, inputDataType, outputDataType);
}
void GetAscendAntiQuantTmpBufferFactorSize(const TensorShape& srcShape, const TensorShape& scaleShape, bool isTranspose,
                                           TensorDataType inputDataType, TensorDataType outputDataType,
                                           uint32_t& maxLiveNodeCount, uint32_t& extraBuf) {
    bool alone = outputDataType != ge::DT_FLOAT16 && elements(scaleShape) == 1;
    maxLiveNodeCount = alone ? 1 : 0;
    extraBuf = alone ? 0
                     : GetAscendAntiQuantMaxTmpSize(srcShape, scaleShape, isTranspose, inputDataType, outputDataType);
}

}  // namespace AscendC
