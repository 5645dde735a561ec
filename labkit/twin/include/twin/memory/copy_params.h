// Parameters of DataCopy and DataCopyPad: block counts, lengths, gaps, padding, slices.
#pragma once
#include "twin/base/types.h"

enum pad_t : uint8_t {
    PAD_NONE,
    PAD_MODE1,
    PAD_MODE2,
    PAD_MODE3,
    PAD_MODE4,
    PAD_MODE5,
    PAD_MODE6,
    PAD_MODE7,
    PAD_MODE8
};

namespace AscendC {

enum class BlockMode : uint8_t {
    BLOCK_MODE_NORMAL,
    BLOCK_MODE_MATRIX,
    BLOCK_MODE_VECTOR,
    BLOCK_MODE_SMALL_CHANNEL,
    BLOCK_MODE_DEPTHWISE
};
enum class DeqScale : uint8_t { DEQ_NONE, DEQ, VDEQ, DEQ8, VDEQ8, DEQ16, VDEQ16 };
enum class PaddingMode : uint8_t { Normal, Compact };

// blockLen and gaps in units of 32 bytes (DataCopy) or, for DataCopyPad, blockLen and the GM side in bytes.
struct DataCopyParams {
    DataCopyParams() {}
    DataCopyParams(::twin::Arg16 count, ::twin::Arg16 len, ::twin::Arg16 srcGapIn, ::twin::Arg16 dstGapIn)
        : blockCount(count), blockLen(len), srcStride(srcGapIn), dstStride(dstGapIn) {}
    ::twin::Arg16 blockCount = 1;
    ::twin::Arg16 blockLen = 0;
    union {
        ::twin::Arg16 srcStride = 0;
        ::twin::Arg16 srcGap;
    };
    union {
        ::twin::Arg16 dstStride = 0;
        ::twin::Arg16 dstGap;
    };
};
struct DataCopyEnhancedParams {  // between GM, UB and L1 a copy is the same with and without it
    DataCopyEnhancedParams() {}
    DataCopyEnhancedParams(BlockMode mode, DeqScale scale, uint64_t deq, uint8_t sidStore, bool relu, pad_t pad,
                           uint64_t value)
        : blockMode(mode),
          deqScale(scale),
          deqValue(deq),
          sidStoreMode(sidStore),
          isRelu(relu),
          padMode(pad),
          padValue(value) {}
    BlockMode blockMode = BlockMode::BLOCK_MODE_NORMAL;
    DeqScale deqScale = DeqScale::DEQ_NONE;
    uint64_t deqValue = 0;
    uint8_t sidStoreMode = 0;
    bool isRelu = false;
    pad_t padMode = PAD_NONE;
    uint64_t padValue = 0;
    uint64_t deqTensorAddr = 0;
};
struct DataCopyExtParams {
    DataCopyExtParams() {}
    DataCopyExtParams(::twin::Arg16 count, uint32_t len, uint32_t src, uint32_t dst, uint32_t rsvIn)
        : blockCount(count), blockLen(len), srcStride(src), dstStride(dst), rsv(rsvIn) {}
    ::twin::Arg16 blockCount = 1;
    uint32_t blockLen = 0, srcStride = 0, dstStride = 0, rsv = 0;
};
struct DataCopyPadParams {
    DataCopyPadParams() {}
    DataCopyPadParams(bool pad, ::twin::Arg8 left, ::twin::Arg8 right, uint64_t value)
        : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value) {}
    bool isPad = false;
    ::twin::Arg8 leftPadding = 0, rightPadding = 0;
    uint64_t paddingValue = 0;
};
template <typename T> struct DataCopyPadExtParams {
    DataCopyPadExtParams() {}
    DataCopyPadExtParams(bool pad, ::twin::Arg8 left, ::twin::Arg8 right, T value)
        : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value) {}
    bool isPad = false;
    ::twin::Arg8 leftPadding = 0, rightPadding = 0;
    T paddingValue = T();
};

// One dimension of a slice, innermost first. burstLen counts 32-byte blocks and holds for the innermost alone.
struct SliceInfo {
    SliceInfo() {}
    SliceInfo(uint32_t start, uint32_t end, uint32_t gap, uint32_t burst, uint32_t shape = 0)
        : startIndex(start), endIndex(end), stride(gap), burstLen(burst), shapeValue(shape) {}
    uint32_t startIndex = 0, endIndex = 31, stride = 0, burstLen = 32, shapeValue = 0;
};
// NZ (columns of 16 elements) in UB to rows in GM.
struct Nz2NdParamsFull {
    Nz2NdParamsFull() {}
    Nz2NdParamsFull(uint16_t nd, uint16_t n, uint16_t d, uint16_t srcMatrix, uint16_t srcN, uint16_t dstD,
                    uint16_t dstMatrix)
        : ndNum(nd),
          nValue(n),
          dValue(d),
          srcNdMatrixStride(srcMatrix),
          srcNStride(srcN),
          dstDStride(dstD),
          dstNdMatrixStride(dstMatrix) {}
    uint16_t ndNum = 1, nValue = 0, dValue = 0, srcNdMatrixStride = 1, srcNStride = 0, dstDStride = 0,
             dstNdMatrixStride = 1;
};

}  // namespace AscendC
