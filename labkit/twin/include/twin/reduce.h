// Reductions: over a count of elements, over each repeat, over each 32-byte block, over pairs.
#pragma once
#include "twin/vector.h"

namespace AscendC {

template <typename T, bool isSetMask = true>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work, int32_t count, TWIN_HERE) {
    TWIN_ALLOW("ReduceSum", "half and float", half, float);
    ::twin::reduce(::twin::Op::ReduceSum, ::twin::dt<T>(), dst.loc_, src.loc_, work.loc_, count, false, here);
}
template <typename T> void ReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work, int32_t count, bool calIndex = false, TWIN_HERE) {
    TWIN_ALLOW("ReduceMax", "half and float", half, float);
    ::twin::reduce(::twin::Op::ReduceMax, ::twin::dt<T>(), dst.loc_, src.loc_, work.loc_, count, calIndex, here);
}
template <typename T> void ReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work, int32_t count, bool calIndex = false, TWIN_HERE) {
    TWIN_ALLOW("ReduceMin", "half and float", half, float);
    ::twin::reduce(::twin::Op::ReduceMin, ::twin::dt<T>(), dst.loc_, src.loc_, work.loc_, count, calIndex, here);
}

namespace detail {
inline ::twin::Rep reduce_rep(uint64_t mask, int32_t times, int32_t dstRep, int32_t srcBlk, int32_t srcRep) {
    ::twin::Rep r;
    mask_lanes(r, mask);
    r.times = times;
    r.dst_rep = uint16_t(dstRep);
    r.src0_blk = uint16_t(srcBlk);
    r.src0_rep = uint16_t(srcRep);
    return r;
}
inline ::twin::Rep reduce_rep(const uint64_t* mask, int32_t times, int32_t dstRep, int32_t srcBlk, int32_t srcRep) {
    ::twin::Rep r = reduce_rep(uint64_t(128), times, dstRep, srcBlk, srcRep);
    r.mask[0] = mask[0];
    r.mask[1] = mask[1];
    return r;
}
}  // namespace detail

// dstRepStride counts what one repeat leaves: one result for Whole* (two elements with an index), 8 for Block*, half a
// repeat for Pair*. Mind the order: WholeReduce* takes the mask first, BlockReduce* and PairReduceSum the repeats.
#define TWIN_REDUCE_REP(name, first, second, lanes)                                                                               \
    template <typename T, bool isSetMask = true>                                                                                  \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, first, second, int32_t dstRepStride, int32_t srcBlkStride, int32_t srcRepStride, TWIN_HERE) { \
        TWIN_ALLOW(#name, "half and float", half, float);                                                                         \
        ::twin::reduce_rep(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src.loc_, detail::reduce_rep(lanes, repeatTime, dstRepStride, srcBlkStride, srcRepStride), false, here); \
    }
#define TWIN_REPEATS_FIRST(name)                                              \
    TWIN_REDUCE_REP(name, int32_t repeatTime, int32_t mask, uint64_t(mask))   \
    TWIN_REDUCE_REP(name, int32_t repeatTime, const uint64_t mask[], mask)
TWIN_REDUCE_REP(WholeReduceSum, int32_t mask, int32_t repeatTime, uint64_t(mask))
TWIN_REDUCE_REP(WholeReduceSum, const uint64_t mask[], int32_t repeatTime, mask)
TWIN_REPEATS_FIRST(BlockReduceSum)
TWIN_REPEATS_FIRST(BlockReduceMax)
TWIN_REPEATS_FIRST(BlockReduceMin)
TWIN_REPEATS_FIRST(PairReduceSum)

#define TWIN_WHOLE_REDUCE_BY(name, masktype, lanes)                                                                               \
    template <typename T, bool isSetMask = true>                                                                                  \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, masktype, int32_t repeatTime, int32_t dstRepStride, int32_t srcBlkStride, int32_t srcRepStride, \
              ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, TWIN_HERE) {                                                    \
        TWIN_ALLOW(#name, "half and float", half, float);                                                                         \
        ::twin::Rep r = detail::reduce_rep(lanes, repeatTime, dstRepStride, srcBlkStride, srcRepStride);                          \
        r.dst_blk = uint16_t(order);                                                                                              \
        ::twin::reduce_rep(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src.loc_, r, order != ReduceOrder::ORDER_ONLY_VALUE, here); \
    }
#define TWIN_WHOLE_REDUCE(name)                         \
    TWIN_WHOLE_REDUCE_BY(name, int32_t mask, uint64_t(mask)) \
    TWIN_WHOLE_REDUCE_BY(name, const uint64_t mask[], mask)
TWIN_WHOLE_REDUCE(WholeReduceMax)
TWIN_WHOLE_REDUCE(WholeReduceMin)

// The names of CANN 9.1 for the same instructions; here the mask always comes first.
enum class ReduceType : uint8_t { SUM, MAX, MIN };
template <ReduceType type, typename T, typename M>
void ReduceRepeat(const LocalTensor<T>& dst, const LocalTensor<T>& src, M mask, int32_t repeatTime, int32_t dstRepStride, int32_t srcBlkStride, int32_t srcRepStride,
                  ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, TWIN_HERE) {
    if constexpr (type == ReduceType::SUM) WholeReduceSum(dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, here);
    else if constexpr (type == ReduceType::MAX) WholeReduceMax(dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, order, here);
    else WholeReduceMin(dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, order, here);
}
template <ReduceType type, typename T, typename M>
void ReduceDataBlock(const LocalTensor<T>& dst, const LocalTensor<T>& src, M mask, int32_t repeatTime, int32_t dstRepStride, int32_t srcBlkStride, int32_t srcRepStride, TWIN_HERE) {
    if constexpr (type == ReduceType::SUM) BlockReduceSum(dst, src, repeatTime, mask, dstRepStride, srcBlkStride, srcRepStride, here);
    else if constexpr (type == ReduceType::MAX) BlockReduceMax(dst, src, repeatTime, mask, dstRepStride, srcBlkStride, srcRepStride, here);
    else BlockReduceMin(dst, src, repeatTime, mask, dstRepStride, srcBlkStride, srcRepStride, here);
}
template <ReduceType type, typename T, typename M>
void ReducePairElem(const LocalTensor<T>& dst, const LocalTensor<T>& src, M mask, int32_t repeatTime, int32_t dstRepStride, int32_t srcBlkStride, int32_t srcRepStride, TWIN_HERE) {
    static_assert(type == ReduceType::SUM, "ReducePairElem adds pairs: ReduceType::SUM is all there is");
    PairReduceSum(dst, src, repeatTime, mask, dstRepStride, srcBlkStride, srcRepStride, here);
}

}  // namespace AscendC
