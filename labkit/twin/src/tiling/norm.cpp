// Host sizes and tilings of the normalizations. The sizes are CANN's: a number of rows of floats, plus the statistics.
// A tiling contains how many rows are processed at once in the given space, and the offsets within it.
#include "twin/tiling/norm.h"

#include <cstring>

#include "tiling/sizes.h"

namespace AscendC {

using namespace sizes;

namespace {

struct Rows {  // {B, S, H in memory, H}
    uint32_t b, s, h, own;
    Rows(const TensorShape& shape, uint32_t original)
        : b(dim(shape, 0)), s(dim(shape, 1)), h(dim(shape, 2)), own(original) {}
    explicit Rows(const TensorShape& shape) : Rows(shape, dim(shape, 3)) {}
    uint32_t rows() const { return b * s; }
    uint32_t all() const { return b * s * h; }
    uint32_t stats() const { return up(rows(), kBlock / kFloat); }
};

// Rows at once, so many buffers of them, in floats; how the whole falls into them.
template <typename T> bool cut_rows(T& t, uint32_t floats, uint32_t ahead, uint32_t buffers, uint32_t width,
                                    uint32_t rows, uint32_t multiple = 1) {
    if (floats < ahead || !width || !rows) return false;
    uint32_t fit = std::min((floats - ahead) / buffers / width, rows);
    if (fit > multiple) fit = fit / multiple * multiple;
    if (!fit) return false;
    t.tmpBufSize = floats;
    t.numberOfTmpBuf = buffers;
    t.inputXSize = rows * width;
    t.meanVarSize = rows;
    t.oneTmpSize = t.inputRoundSize = fit * width;
    t.firstTmpStartPos = ahead;
    t.secondTmpStartPos = ahead + t.oneTmpSize;
    t.thirdTmpStartPos = buffers > 2 ? t.secondTmpStartPos + t.oneTmpSize : 0;
    t.loopRound = rows / fit;
    t.meanVarRoundSize = fit;
    t.meanVarTailSize = rows % fit;
    t.meanVarTailPos = rows - t.meanVarTailSize;
    t.inputTailSize = t.meanVarTailSize * width;
    t.inputTailPos = t.inputXSize - t.inputTailSize;
    return true;
}

uint32_t buffers_of(uint32_t typeSize, bool reuse) { return reuse && single(typeSize) ? 2 : 3; }
void row_sizes(const Rows& r, uint32_t buffers, uint32_t& most, uint32_t& least) {
    uint32_t stats = 2 * r.stats() * kFloat;
    most = buffers * up(r.all() * kFloat, kBlock) + stats;
    least = buffers * up(r.h * kFloat, kBlock) + stats;
}

// LayerNorm's and DeepNorm's: the statistics of half have a place of their own.
template <typename T>
bool tile_rows(T& t, const Rows& r, uint32_t bytes, uint32_t typeSize, uint32_t buffers, uint32_t multiple) {
    uint32_t stats = r.stats();
    if (!cut_rows(t, bytes / kFloat, single(typeSize) ? 0 : 2 * stats, buffers, r.h, r.rows(), multiple)) return false;
    t.bLength = r.b;
    t.sLength = r.s;
    t.hLength = r.h;
    t.originalHLength = r.own;
    t.meanTmpTensorPos = 0;
    t.meanTmpTensorSize = t.varianceTmpTensorPos = t.varianceTmpTensorSize = stats;
    t.bshCurLength = t.inputRoundSize;
    t.bsCurLength = t.meanVarRoundSize;
    t.lastDimValueBack = 1.0f / float(r.own);
    return true;
}

bool blocks_of_eight(const Rows& r) { return r.h && r.h % 64 == 0 && r.rows() % 8 == 0; }
bool same_but_h(const TensorShape& shape, const TensorShape& original) {
    return original.GetDimNum() == 3 && dim(shape, 0) == dim(original, 0) && dim(shape, 1) == dim(original, 1) &&
           dim(original, 2) && dim(original, 2) <= dim(shape, 2);
}

}  // namespace

// ---- LayerNorm
void GetLayerNormMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isReuseSource,
                               uint32_t& maxValue, uint32_t& minValue) {
    row_sizes(Rows(srcShape), buffers_of(typeSize, isReuseSource), maxValue, minValue);
}
void GetLayerNormNDTilingInfo(const TensorShape& srcShape, const uint32_t stackBufferSize, const uint32_t typeSize,
                              const bool isReuseSource, tiling::LayerNormTiling& t) {
    tile_rows(t, Rows(srcShape), stackBufferSize, typeSize, buffers_of(typeSize, isReuseSource), 1);
}

void GetNormalizeMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSizeU, const uint32_t typeSizeT,
                               const bool, const bool, const bool, uint32_t& maxValue, uint32_t& minValue) {
    if (!typeSizeT) return;
    uint32_t a = dim(srcShape, 0), r = up(dim(srcShape, 1), kBlock / typeSizeT) * kFloat;
    maxValue = 2 * r + 2 * up(a, 8) * r;
    minValue = std::max(up(a * kFloat, kBlock), (single(typeSizeU) ? 2 : 4) * r);
}
void GetLayerNormMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isReuseSource,
                               const bool isComputeRstd, const bool isOnlyOutput, uint32_t& maxValue,
                               uint32_t& minValue) {
    if (!typeSize) return;
    uint32_t a = dim(srcShape, 0), r = up(dim(srcShape, 1), kBlock / typeSize) * kFloat, stats = up(a * kFloat, kBlock);
    GetNormalizeMaxMinTmpSize(srcShape, typeSize, typeSize, isReuseSource, isComputeRstd, isOnlyOutput, maxValue,
                              minValue);
    maxValue = std::max(maxValue, 2 * up(a * r, kBlock)) + stats;
    minValue = std::max(minValue, 2 * up(r, kBlock)) + stats;
}
void GetLayerNormNDTilingInfo(const TensorShape& srcShape, const uint32_t stackBufferSize, const uint32_t typeSize,
                              const bool, const bool, tiling::LayerNormSeparateTiling& t) {
    if (!typeSize) return;
    uint32_t a = dim(srcShape, 0), r = dim(srcShape, 1), stats = up(a, kBlock / kFloat);
    if (!cut_rows(t, stackBufferSize / kFloat, stats, 2, up(r, kBlock / typeSize), a)) return;
    t.aLength = a;
    t.rLength = r;
    t.varianceTmpTensorPos = 0;
    t.varianceTmpTensorSize = stats;
    t.arCurLength = t.inputRoundSize;
    t.aCurLength = t.meanVarRoundSize;
    t.rValueBack = 1.0f / float(r);
}

// ---- DeepNorm
bool GetDeepNormMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isReuseSource,
                              const bool isBasicBlock, uint32_t& maxValue, uint32_t& minValue) {
    Rows r(srcShape, dim(srcShape, 2));
    if (isBasicBlock && !blocks_of_eight(r)) return false;
    row_sizes(r, buffers_of(typeSize, isReuseSource), maxValue, minValue);
    return true;
}
bool GetDeepNormTilingInfo(const TensorShape& srcShape, const TensorShape& originSrcShape,
                           const uint32_t stackBufferSize, const uint32_t typeSize, const bool isReuseSource,
                           const bool isBasicBlock, tiling::DeepNormTiling& t) {
    constexpr uint32_t kLongest = 255 * 8;  // a row's repeat stride has 8 bits
    Rows r(srcShape, dim(originSrcShape, 2));
    uint32_t most = 0, least = 0;
    if (!GetDeepNormMaxMinTmpSize(srcShape, typeSize, isReuseSource, isBasicBlock, most, least) ||
        stackBufferSize < least)
        return false;
    if (!same_but_h(srcShape, originSrcShape) || r.h * typeSize % kBlock || r.h > kLongest ||
        (isBasicBlock && r.own != r.h))
        return false;
    return tile_rows(t, r, stackBufferSize, typeSize, buffers_of(typeSize, isReuseSource), isBasicBlock ? 8 : 1);
}

// ---- RmsNorm
bool GetRmsNormMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, uint32_t& maxValue,
                             uint32_t& minValue, const bool isBasicBlock) {
    Rows r(srcShape, 0);
    if (!typeSize || (isBasicBlock && (!blocks_of_eight(r) || r.h >= 2048))) return false;
    uint32_t wide = single(typeSize) ? 1 : 2;
    maxValue = (r.all() * wide + up(r.rows(), kBlock / typeSize)) * kFloat;
    minValue = (r.h * wide + kBlock / kFloat) * kFloat;
    return true;
}
bool GetRmsNormTilingInfo(const TensorShape& srcShape, const TensorShape& originSrcShape,
                          const uint32_t stackBufferByteSize, const uint32_t typeSize, tiling::RmsNormTiling& t,
                          const bool isBasicBlock) {
    Rows r(srcShape, dim(originSrcShape, 2));
    uint32_t most = 0, least = 0, floats = stackBufferByteSize / kFloat, wide = single(typeSize) ? 1 : 2, rows = 1;
    if (!typeSize || !r.rows()) return false;
    if (srcShape.GetDimNum() != 3 || !same_but_h(srcShape, originSrcShape) || r.h * typeSize % kBlock) return false;
    if (!GetRmsNormMaxMinTmpSize(srcShape, typeSize, most, least, isBasicBlock) || stackBufferByteSize < least)
        return false;
    while (floats >= (rows + 1) * r.h * wide + up(rows + 1, kBlock / kFloat)) rows++;
    rows = std::min(rows, r.rows());
    rows = !isBasicBlock ? std::min(rows, 255u) : rows < 8 ? rows : rows / 8 * 8;
    t.bLength = r.b;
    t.sLength = r.s;
    t.hLength = r.h;
    t.originalHLength = r.own;
    t.reciprocalOfHLength = 1.0f / float(r.own);
    t.mainBsLength = rows;
    t.mainBshLength = rows * r.h;
    t.mainBsLengthAlign = up(rows, kBlock / kFloat);
    t.loopRound = r.rows() / rows;
    t.tailBsLength = r.rows() % rows;
    t.tailBshLength = t.tailBsLength * r.h;
    t.inputTailPos = r.all() - t.tailBshLength;
    return true;
}

// ---- BatchNorm: over B, columns of S * H at once
bool GetBatchNormMaxMinTmpSize(const TensorShape& srcShape, const TensorShape& originSrcShape, const uint32_t typeSize,
                               const bool, uint32_t& maxValue, uint32_t& minValue, const bool isBasicBlock) {
    uint32_t b = dim(originSrcShape, 0), columns = dim(srcShape, 1) * dim(srcShape, 2),
             stats = 2 * up(columns * kFloat, kBlock);
    if (isBasicBlock && (columns % 64 || b % 8)) return false;
    maxValue = 3 * up(b * columns * kFloat, kBlock) + stats;
    minValue = 3 * b * (isBasicBlock ? 256 : single(typeSize) ? 32 : 64) + stats;
    return true;
}
bool GetBatchNormNDTilingInfo(const TensorShape& srcShape, const TensorShape& originSrcShape,
                              const uint32_t stackBufferByteSize, const uint32_t typeSize, const bool isReuseSource,
                              tiling::BatchNormTiling& t, const bool isBasicBlock) {
    uint32_t b = dim(originSrcShape, 0), columns = dim(srcShape, 1) * dim(srcShape, 2), most = 0, least = 0;
    if (srcShape.GetDimNum() != 3 || originSrcShape.GetDimNum() != 3 || !b || !typeSize || columns * typeSize % kBlock)
        return false;
    if (!GetBatchNormMaxMinTmpSize(srcShape, originSrcShape, typeSize, isReuseSource, most, least, isBasicBlock) ||
        stackBufferByteSize < least)
        return false;
    uint32_t stats = up(columns, kBlock / kFloat), unit = isBasicBlock ? 64 : kBlock / typeSize;
    t.tmpBufSize = stackBufferByteSize / kFloat;
    t.firstTmpStartPos = single(typeSize) ? 0 : 2 * stats;
    t.shCurLength = std::min((t.tmpBufSize - t.firstTmpStartPos) / 3 / b / unit * unit, columns);
    if (!t.shCurLength) return false;
    t.originalBLength = b;
    t.meanVarSize = columns;
    t.meanTmpTensorPos = 0;
    t.varianceTmpTensorPos = stats;
    t.oneTmpSize = t.bshCurLength = t.shCurLength * b;
    t.secondTmpStartPos = t.firstTmpStartPos + t.oneTmpSize;
    t.thirdTmpStartPos = t.secondTmpStartPos + t.oneTmpSize;
    t.loopRound = columns / t.shCurLength;
    t.meanVarTailSize = columns % t.shCurLength;
    t.meanVarTailPos = t.inputTailPos = columns - t.meanVarTailSize;
    t.inputTailSize = t.meanVarTailSize * b;
    t.firstDimValueBack = 1.0f / float(b);
    t.castHalfRepStride = 4;
    t.shCurLengthBlockNum = t.shCurLength / 8;
    t.castHalfOutRepStride = columns / 16;
    return true;
}

// ---- GroupNorm: groups of C / groupNum channels, each a row of H * W
void GetGroupNormMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isReuseSource,
                               const uint32_t groupNum, uint32_t& maxValue, uint32_t& minValue) {
    if (!typeSize || !groupNum) return;
    uint32_t n = dim(srcShape, 0), c = dim(srcShape, 1),
             row = up(dim(srcShape, 2) * dim(srcShape, 3) * typeSize, kBlock) / typeSize * kFloat;
    uint32_t buffers = buffers_of(typeSize, isReuseSource), stats = 2 * up(n * groupNum * kFloat, kBlock);
    maxValue = buffers * n * c * row + stats;
    minValue = buffers * (c / groupNum) * row + stats;
}
void GetGroupNormNDTilingInfo(const TensorShape& srcShape, const uint32_t stackBufferSize, const uint32_t typeSize,
                              const bool isReuseSource, const uint32_t groupNum, tiling::GroupNormTiling& t) {
    if (!typeSize || !groupNum) return;
    uint32_t n = dim(srcShape, 0), c = dim(srcShape, 1), hw = dim(srcShape, 2) * dim(srcShape, 3), d = c / groupNum,
             row = up(hw, kBlock / typeSize);
    uint32_t stats = up(n * groupNum, kBlock / kFloat);
    if (!cut_rows(t, stackBufferSize / kBlock * kBlock / kFloat, single(typeSize) ? 0 : 2 * stats,
                  buffers_of(typeSize, isReuseSource), d * row, n * groupNum))
        return;
    t.n = n;
    t.c = c;
    t.hw = hw;
    t.g = groupNum;
    t.d = d;
    t.hwAlignSize = row;
    t.dhwAlignSize = d * row;
    t.meanTmpTensorPos = 0;
    t.meanTmpTensorSize = t.varianceTmpTensorPos = t.varianceTmpTensorSize = stats;
    t.bshCurLength = t.inputRoundSize;
    t.bsCurLength = t.meanVarRoundSize;
    t.factor = 1.0f / float(d * hw);
}

}  // namespace AscendC
