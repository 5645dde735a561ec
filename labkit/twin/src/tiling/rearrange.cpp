// The host's sizes and tilings. What a kernel does not read of a tiling (CANN's loop counts) stays 0.
#include "twin/tiling/rearrange.h"

#include "library/rearrange_workspace.h"

namespace AscendC {

namespace {

using twin::Room;
using twin::whole_of;

constexpr uint32_t kBlock = 32, kSide = 16;

void give(Room r, uint32_t& most, uint32_t& least) {
    most = uint32_t(r.most);
    least = uint32_t(r.least);
}
uint32_t at(const TensorShape& s, size_t i) { return uint32_t(s.GetDim(i)); }

void fill(int32_t inner, int32_t outter, int32_t k, uint32_t size, bool own_index, TopKMode mode, bool largest,
          tiling::TopkTiling& t) {
    bool small = mode == TopKMode::TOPK_NSMALL;
    int32_t n = small ? inner * outter : inner, negated = small && !largest ? n : 0,
            bits = small ? int32_t(64 / size) : 0;
    t.innerDataSize = n * int32_t(8 / size);  // of the records, in elements
    t.srcIndexOffset = small ? 0 : n * int32_t(16 / size);
    t.topkNSmallSrcIndexOffset = small ? t.innerDataSize + negated + bits : 0;
    t.tmpLocalSize = (small ? t.topkNSmallSrcIndexOffset : t.srcIndexOffset) + (own_index ? 0 : n * int32_t(4 / size));
    t.allDataSize = inner * outter;
    t.sortRepeat = uint32_t(n / 32);
    t.mrgSortRepeat = small ? 0 : inner / 4;
    t.kAlignFourBytes = (k + 7) / 8 * 8;
    t.kAlignTwoBytes = (k + 15) / 16 * 16;
}

// [B, A1, A2, A3] for the scenes 1 and 2, [B, N, S, H / N] for 3 to 6, [height, width] for 7; see layout.cpp.
void fill(const TensorShape& s, uint32_t size, uint32_t scene, tiling::ConfusionTransposeTiling& t) {
    t.param0 = size ? kBlock / size : 0;
    t.param1 = at(s, 0);
    t.param2 = at(s, 1);
    t.param3 = at(s, 3);
    uint32_t rows = uint32_t(whole_of(at(s, 2), kSide));
    if (scene == 1 || scene == 2) {
        t.param3 = uint32_t(whole_of(t.param3, kSide));
        t.param4 = rows;
        t.param5 = t.param3 / kSide;
    } else if (scene == 3) {
        t.param7 = rows / kSide;
        t.param9 = rows;
    } else if (scene == 7) {
        t.param3 = t.param1 / kSide;
        t.param4 = t.param1;
        t.param5 = t.param0 ? t.param2 / t.param0 : 0;
    } else {
        t.param6 = rows / kSide;
    }
}

void fill(const TensorShape& s, const TensorShape& own, uint32_t scratch, uint32_t size, tiling::PadTiling& t) {
    t.srcHeight = at(s, 0);
    t.srcWidth = at(s, 1);
    t.srcOriWidth = at(own, 1);
    if (!size) return;
    t.widthWithoutLastBlock = t.srcWidth - kBlock / size;
    t.blocksPerRow = t.srcWidth * size / kBlock;
    t.tmpBuffer1BlockNum = scratch / (kSide * kBlock) / 2;
    t.tmpBuffer1RowNum = t.tmpBuffer1BlockNum * kSide;
    t.tmpBuffer2Offset = t.tmpBuffer1BlockNum * kSide * kBlock / size;
}

void fill(const TensorShape& s, tiling::UnPadTiling& t) {
    t.srcHeight = at(s, 0);
    t.srcWidth = at(s, 1);
}

Room select_sizes(const TensorShape& a, const TensorShape& b, const TensorShape& mask, uint32_t mask_size, bool reuse) {
    const TensorShape& tensor = a.GetDimNum() == 0 || a.GetShapeSize() == 1 ? b : a;
    if (!tensor.GetDimNum() || !mask.GetDimNum()) return {0, 0};
    int64_t row = mask.GetDim(mask.GetDimNum() - 1);
    return twin::select_room(uint64_t(tensor.GetShapeSize()),
                             row != tensor.GetDim(tensor.GetDimNum() - 1) && row > 1 && !reuse, mask_size);
}

Room drop_out_sizes(const TensorShape& s) {
    return {512, std::max<uint64_t>(512, uint64_t(std::max<int64_t>(s.GetShapeSize(), 0)) * 8)};
}

}  // namespace

uint32_t GetConcatTmpSize(const HostPlatform&, const uint32_t, const uint32_t) { return 0; }
uint32_t GetSortTmpSize(const HostPlatform&, const uint32_t elemCount, const uint32_t) { return elemCount * 8; }
// Of the radix sort, which A2 does not have.
void GetSortMaxMinTmpSize(const TensorShape&, TensorDataType, TensorDataType, bool, const SortConfig&,
                          uint32_t& maxValue, uint32_t& minValue) {
    maxValue = minValue = 0;
}
bool GetTopKMaxMinTmpSize(const HostPlatform&, const int32_t inner, const int32_t outter, const bool,
                          const bool isInitIndex, enum TopKMode mode, const bool isLargest, const uint32_t,
                          uint32_t& maxValue, uint32_t& minValue) {
    give(twin::top_k_room(uint64_t(inner), uint64_t(outter), isInitIndex, mode == TopKMode::TOPK_NSMALL, isLargest),
         maxValue, minValue);
    return true;
}
bool GetTopKMaxMinTmpSize(const int32_t, const int32_t, const int32_t, const bool, const bool, enum TopKMode,
                          const bool, TensorDataType, const TopKConfig&, uint32_t&, uint32_t&) {
    return false;
}

uint32_t GetDropOutMinTmpSize(const TensorShape& srcShape, const uint32_t, const bool) {
    return uint32_t(drop_out_sizes(srcShape).least);
}
uint32_t GetDropOutMaxTmpSize(const TensorShape& srcShape, const uint32_t, const bool) {
    return uint32_t(drop_out_sizes(srcShape).most);
}
void GetDropOutMaxMinTmpSize(const TensorShape& srcShape, const uint32_t, const bool, uint32_t& maxValue,
                             uint32_t& minValue) {
    give(drop_out_sizes(srcShape), maxValue, minValue);
}

#define TWIN_SELECT_SIZES(name)                                                                                        \
    uint32_t Get##name##MinTmpSize(const TensorShape& a, const TensorShape& b, const uint32_t,                         \
                                   const TensorShape& mask, const uint32_t size, const bool reuse) {                   \
        return uint32_t(select_sizes(a, b, mask, size, reuse).least);                                                  \
    }                                                                                                                  \
    uint32_t Get##name##MaxTmpSize(const TensorShape& a, const TensorShape& b, const uint32_t,                         \
                                   const TensorShape& mask, const uint32_t size, const bool reuse) {                   \
        return uint32_t(select_sizes(a, b, mask, size, reuse).most);                                                   \
    }                                                                                                                  \
    void Get##name##MaxMinTmpSize(const TensorShape& a, const TensorShape& b, const uint32_t, const TensorShape& mask, \
                                  const uint32_t size, const bool reuse, uint32_t& maxValue, uint32_t& minValue) {     \
        give(select_sizes(a, b, mask, size, reuse), maxValue, minValue);                                               \
    }
TWIN_SELECT_SIZES(Select)
TWIN_SELECT_SIZES(SelectWithBytesMask)

void GetTransposeMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const uint32_t scene,
                               uint32_t& maxValue, uint32_t& minValue) {
    maxValue = minValue = 0;
    if (scene < 1 || scene > 6) return;
    minValue = (scene <= 2 ? 256 : 512) * typeSize;
    maxValue = scene <= 2 ? uint32_t(whole_of(at(srcShape, 2), kSide)) * kSide * typeSize : minValue;
}
void GetConfusionTransposeMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const uint32_t scene,
                                        uint32_t& maxValue, uint32_t& minValue) {
    GetTransposeMaxMinTmpSize(srcShape, typeSize, scene, maxValue, minValue);
}
bool GetTransDataMaxMinTmpSize(const HostPlatform&, const TensorShape& srcShape, const TensorShape& dstShape,
                               const TensorDataType type, const TransDataConfig& config, uint32_t& maxValue,
                               uint32_t& minValue) {
    bool back = config.dstFormat == DataFormat::NCDHW;
    DataFormat other = back ? config.srcFormat : config.dstFormat;
    const TensorShape &five = back ? dstShape : srcShape, &blocks = back ? srcShape : dstShape;
    bool fractal = other == DataFormat::FRACTAL_Z_3D,
         b16 = type == ge::DT_FLOAT16 || type == ge::DT_BF16 || type == ge::DT_UINT16 || type == ge::DT_INT16;
    if (!b16 || (!back && config.srcFormat != DataFormat::NCDHW) || (!fractal && other != DataFormat::NDC1HWC0))
        return false;
    if (five.GetDimNum() != 5 || blocks.GetDimNum() != (fractal ? 7u : 6u)) return false;
    maxValue = minValue = uint32_t(twin::trans_data_room(at(five, 0), at(five, 1), at(five, 2),
                                                         uint64_t(at(five, 3)) * at(five, 4), fractal, back));
    return true;
}
void GetPadMaxMinTmpSize(const TensorShape& srcShape, const uint32_t, uint32_t& maxValue, uint32_t& minValue) {
    minValue = 2 * kSide * kBlock;
    maxValue = uint32_t(whole_of(uint64_t(at(srcShape, 0)) * at(srcShape, 1), kSide)) * kBlock * 2;
}
void GetUnPadMaxMinTmpSize(const HostPlatform&, const TensorShape&, const uint32_t, uint32_t& maxValue,
                           uint32_t& minValue) {
    maxValue = minValue = 0;
}
void GetBroadCastMaxMinTmpSize(const HostPlatform&, const TensorShape& srcShape, const TensorShape& dstShape,
                               uint32_t typeSize, const bool, uint32_t& maxValue, uint32_t& minValue) {
    maxValue = minValue = 0;
    if (!typeSize || !dstShape.GetDimNum()) return;
    bool two = dstShape.GetDimNum() == 2;
    give(twin::broadcast_room(two ? at(dstShape, 0) : 1, at(dstShape, two ? 1 : 0), uint64_t(srcShape.GetShapeSize()),
                              two && srcShape.GetDim(1) == 1, typeSize),
         maxValue, minValue);
}
void GetArithProgressionMaxMinTmpSize(uint32_t& maxValue, uint32_t& minValue) { maxValue = minValue = 0; }
void GetArangeMaxMinTmpSize(uint32_t& maxValue, uint32_t& minValue) { maxValue = minValue = 0; }

bool TopKTilingFunc(const HostPlatform&, const int32_t inner, const int32_t outter, const int32_t k,
                    const uint32_t size, const bool own_index, enum TopKMode mode, const bool largest,
                    tiling::TopkTiling& tiling) {
    if (!size) return false;
    tiling = {};
    fill(inner, outter, k, size, own_index, mode, largest, tiling);
    return true;
}
void GetTransposeTilingInfo(const TensorShape& shape, const uint32_t, const uint32_t size, const uint32_t scene,
                            tiling::ConfusionTransposeTiling& tiling) {
    tiling = {};
    fill(shape, size, scene, tiling);
}
void GetConfusionTransposeTilingInfo(const TensorShape& shape, const uint32_t scratch, const uint32_t size,
                                     const uint32_t scene, tiling::ConfusionTransposeTiling& tiling) {
    GetTransposeTilingInfo(shape, scratch, size, scene, tiling);
}
void GetConfusionTransposeOnlyTilingInfo(const TensorShape& shape, const uint32_t scratch, const uint32_t size,
                                         tiling::ConfusionTransposeTiling& tiling) {
    GetTransposeTilingInfo(shape, scratch, size, 7, tiling);
}
void PadTilingFunc(const TensorShape& shape, const TensorShape& own, const uint32_t scratch, const uint32_t size,
                   tiling::PadTiling& tiling) {
    tiling = {};
    fill(shape, own, scratch, size, tiling);
}
void UnPadTilingFunc(const TensorShape& shape, const uint32_t, const uint32_t, tiling::UnPadTiling& tiling) {
    tiling = {};
    fill(shape, tiling);
}

}  // namespace AscendC
