// Host sizes and tilings of SoftMax and its variants: how many floats of scratch a row takes (CANN's numbers), and how
// many rows fit at once.
#include "twin/tiling/softmax.h"

#include "tiling/sizes.h"

namespace AscendC {

using namespace sizes;

namespace {

constexpr uint32_t kTile = 8, kLanes = 64;

struct Matrix {
    uint32_t m = 0, k = 0;
    explicit Matrix(const TensorShape& s) {
        if (!s.GetDimNum()) return;
        k = dim(s, s.GetDimNum() - 1);
        m = k ? uint32_t(s.GetShapeSize() / k) : 0;
    }
};
uint32_t block_of(uint32_t typeSize) { return typeSize ? kBlock / typeSize : 1; }

uint32_t plain_row(uint32_t k, uint32_t block) { return block + k + kLanes; }
uint32_t flash_row(uint32_t k, uint32_t block, bool update) { return update ? 4 * block + 2 * k : plain_row(k, block); }
uint32_t gradient_row(uint32_t k, uint32_t typeSize, bool front) {
    uint32_t block = block_of(typeSize);
    return single(typeSize) ? (front ? 1 : 2) * block + k + kLanes : 2 * block + 3 * k + kLanes;
}
uint32_t third_row(uint32_t k, uint32_t block) { return 5 * block + 2 * k + kLanes; }
uint32_t second_row(uint32_t k, uint32_t typeSize, uint32_t block, bool basic) {
    uint32_t lanes = basic && k == 1024 ? 2 * kLanes : kLanes, wide = single(typeSize) ? 0 : k;
    return (basic || single(typeSize) ? 1 : 2) * block + wide + lanes;
}

// Whole tiles of eight rows that divide the rows, and at most 255 repeats.
void whole_tiles(uint32_t& rows, uint32_t m, uint32_t k) {
    if (rows <= kTile || m % kTile || k % kLanes) return;
    rows = rows / kTile * kTile;
    while (m % rows) rows -= kTile;
    while (rows * k >= kLanes * 256) rows /= 2;
}

template <typename T> void cut(T& t, const Matrix& x, uint32_t block, uint32_t rows) {
    t.srcM = t.outMaxM = x.m;
    t.srcK = t.splitK = x.k;
    t.srcSize = x.m * x.k;
    t.outMaxK = t.reduceK = block;
    t.outMaxSize = x.m * block;
    t.splitM = t.reduceM = rows;
    t.splitSize = rows * x.k;
    t.reduceSize = rows * block;
    t.rangeM = rows ? x.m / rows : 0;
    t.tailM = rows ? x.m % rows : 0;
    t.tailSplitSize = t.tailM * x.k;
    t.tailReduceSize = t.tailM * block;
}
uint32_t rows_in(uint32_t bytes, uint32_t row, uint32_t m, uint32_t grain = kTile) {
    uint32_t rows = std::min(bytes / kFloat / row, m);
    return rows < m && rows > grain ? rows / grain * grain : rows;
}
template <typename T> void tile(T& t, const TensorShape& shape, uint32_t block, uint32_t bytes, uint32_t row) {
    Matrix x(shape);
    uint32_t rows = rows_in(bytes, row, x.m);
    whole_tiles(rows, x.m, x.k);
    cut(t, x, block, rows);
}

}  // namespace

// ---- SoftMax, LogSoftMax
uint32_t GetSoftMaxMaxTmpSize(const TensorShape& srcShape, const uint32_t dataTypeSize, const bool isReuseSource) {
    return Matrix(srcShape).m * GetSoftMaxMinTmpSize(srcShape, dataTypeSize, isReuseSource);
}
uint32_t GetSoftMaxMinTmpSize(const TensorShape& srcShape, const uint32_t dataTypeSize, const bool) {
    return plain_row(Matrix(srcShape).k, block_of(dataTypeSize)) * kFloat;
}
void SoftMaxTilingFunc(const TensorShape& srcShape, const uint32_t dataTypeSize, const uint32_t localWorkSpaceSize,
                       tiling::SoftMaxTiling& t) {
    tile(t, srcShape, block_of(dataTypeSize), localWorkSpaceSize,
         plain_row(Matrix(srcShape).k, block_of(dataTypeSize)));
}
bool IsBasicBlockInSoftMax(tiling::SoftMaxTiling& t, const uint32_t dataTypeSize) {
    return dataTypeSize && !t.tailM && t.srcK >= 256 / dataTypeSize && t.srcK < 2048 && t.srcK % kLanes == 0;
}
uint32_t GetLogSoftMaxMaxTmpSize(const TensorShape srcShape, const uint32_t dataTypeSize, const bool isReuseSource) {
    return GetSoftMaxMaxTmpSize(srcShape, dataTypeSize, isReuseSource);
}
uint32_t GetLogSoftMaxMinTmpSize(const TensorShape srcShape, const uint32_t dataTypeSize, const bool isReuseSource) {
    return GetSoftMaxMinTmpSize(srcShape, dataTypeSize, isReuseSource);
}
void LogSoftMaxTilingFunc(const TensorShape srcShape, const uint32_t dataTypeSize, const uint32_t localWorkSpaceSize,
                          tiling::LogSoftMaxTiling& t) {
    tile(t, srcShape, block_of(dataTypeSize), localWorkSpaceSize,
         plain_row(Matrix(srcShape).k, block_of(dataTypeSize)));
}

// ---- SoftmaxFlash
uint32_t GetSoftMaxFlashMaxTmpSize(const TensorShape& srcShape, const uint32_t dataTypeSize, const bool isUpdate,
                                   const bool isReuseSource) {
    return Matrix(srcShape).m * GetSoftMaxFlashMinTmpSize(srcShape, dataTypeSize, isUpdate, isReuseSource);
}
uint32_t GetSoftMaxFlashMinTmpSize(const TensorShape& srcShape, const uint32_t dataTypeSize, const bool isUpdate,
                                   const bool) {
    return flash_row(Matrix(srcShape).k, block_of(dataTypeSize), isUpdate) * kFloat;
}
void SoftMaxFlashTilingFunc(const TensorShape& srcShape, const uint32_t dataTypeSize, const uint32_t localWorkSpaceSize,
                            tiling::SoftMaxTiling& t, const bool isUpdate) {
    tile(t, srcShape, block_of(dataTypeSize), localWorkSpaceSize,
         flash_row(Matrix(srcShape).k, block_of(dataTypeSize), isUpdate));
}

// ---- SoftmaxGrad
uint32_t GetSoftMaxGradMaxTmpSize(const TensorShape& srcShape, const uint32_t dataTypeSize, const bool isFront,
                                  const bool isReuseSource) {
    return Matrix(srcShape).m * GetSoftMaxGradMinTmpSize(srcShape, dataTypeSize, isFront, isReuseSource);
}
uint32_t GetSoftMaxGradMinTmpSize(const TensorShape& srcShape, const uint32_t dataTypeSize, const bool isFront,
                                  const bool) {
    return gradient_row(Matrix(srcShape).k, dataTypeSize, isFront) * kFloat;
}
void SoftMaxGradTilingFunc(const TensorShape& srcShape, const uint32_t dataTypeSize, const uint32_t localWorkSpaceSize,
                           tiling::SoftMaxTiling& t, const bool isFront) {
    tile(t, srcShape, block_of(dataTypeSize), localWorkSpaceSize,
         gradient_row(Matrix(srcShape).k, dataTypeSize, isFront));
}

// ---- SoftmaxFlashV2
uint32_t GetSoftMaxFlashV2MaxTmpSize(const TensorShape& srcShape, const uint32_t dataTypeSize1,
                                     const uint32_t dataTypeSize2, const bool, const bool isBasicBlock, const bool) {
    Matrix x(srcShape);
    bool basic = isBasicBlock && x.k % kLanes == 0 && x.m % kTile == 0;
    while (basic && x.m * x.k >= kLanes * 256) x.m /= 2;
    return x.m * second_row(x.k, dataTypeSize1, block_of(dataTypeSize2), basic) * kFloat;
}
uint32_t GetSoftMaxFlashV2MinTmpSize(const TensorShape& srcShape, const uint32_t dataTypeSize1,
                                     const uint32_t dataTypeSize2, const bool, const bool isBasicBlock,
                                     const bool isFlashOutputBrc) {
    Matrix x(srcShape);
    bool basic = isBasicBlock && x.k % kLanes == 0;
    uint32_t rows = isFlashOutputBrc ? std::min(block_of(dataTypeSize1), x.m) : basic ? kTile : 1;
    return rows * second_row(x.k, dataTypeSize1, block_of(dataTypeSize2), basic) * kFloat;
}
void SoftMaxFlashV2TilingFunc(const TensorShape& srcShape, const uint32_t dataTypeSize1, const uint32_t dataTypeSize2,
                              const uint32_t localWorkSpaceSize, tiling::SoftMaxTiling& t, const bool,
                              const bool isBasicBlock, const bool isFlashOutputBrc) {
    Matrix x(srcShape);
    bool basic = isBasicBlock && x.k % kLanes == 0 && x.m % kTile == 0;
    uint32_t row = second_row(x.k, dataTypeSize1, block_of(dataTypeSize2), basic),
             rows = std::min(localWorkSpaceSize / kFloat / row, x.m);
    if (basic) whole_tiles(rows, x.m, x.k);
    uint32_t grain = isFlashOutputBrc && !single(dataTypeSize1) ? 2 * kTile : kTile;
    if (rows < x.m && rows > grain) rows = rows / grain * grain;
    cut(t, x, block_of(dataTypeSize2), rows);
}

// ---- SoftmaxFlashV3
void GetSoftMaxFlashV3MaxMinTmpSize(const TensorShape& srcShape, const uint32_t, const uint32_t dataTypeSize2,
                                    uint32_t& maxValue, uint32_t& minValue, const bool, const bool) {
    Matrix x(srcShape);
    minValue = third_row(x.k, block_of(dataTypeSize2)) * kFloat;
    maxValue = x.m * minValue;
}
void SoftMaxFlashV3TilingFunc(const TensorShape& srcShape, const uint32_t, const uint32_t dataTypeSize2,
                              const uint32_t localWorkSpaceSize, tiling::SoftMaxTiling& t, const bool, const bool) {
    Matrix x(srcShape);
    cut(t, x, block_of(dataTypeSize2), rows_in(localWorkSpaceSize, third_row(x.k, block_of(dataTypeSize2)), x.m));
}

}  // namespace AscendC
