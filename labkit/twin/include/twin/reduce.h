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

#define TWIN_REDUCE_REP(name)                                                                                                     \
    template <typename T, bool isSetMask = true>                                                                                  \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t mask, int32_t repeatTime, int32_t dstRepStride, int32_t srcBlkStride, int32_t srcRepStride, TWIN_HERE) { \
        TWIN_ALLOW(#name, "half and float", half, float);                                                                         \
        ::twin::reduce_rep(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src.loc_, detail::reduce_rep(uint64_t(mask), repeatTime, dstRepStride, srcBlkStride, srcRepStride), false, here); \
    }                                                                                                                             \
    template <typename T, bool isSetMask = true>                                                                                  \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[], int32_t repeatTime, int32_t dstRepStride, int32_t srcBlkStride, int32_t srcRepStride, TWIN_HERE) { \
        TWIN_ALLOW(#name, "half and float", half, float);                                                                         \
        ::twin::reduce_rep(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src.loc_, detail::reduce_rep(mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride), false, here); \
    }
// dstRepStride: results for Whole* (2 elements with an index), 32/sizeof(T)-element blocks' worth of results for Block* and Pair*.
TWIN_REDUCE_REP(WholeReduceSum)
TWIN_REDUCE_REP(BlockReduceSum)
TWIN_REDUCE_REP(BlockReduceMax)
TWIN_REDUCE_REP(BlockReduceMin)
TWIN_REDUCE_REP(PairReduceSum)

#define TWIN_WHOLE_REDUCE(name)                                                                                                   \
    template <typename T, bool isSetMask = true>                                                                                  \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t mask, int32_t repeatTime, int32_t dstRepStride, int32_t srcBlkStride, int32_t srcRepStride, \
              ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, TWIN_HERE) {                                                    \
        TWIN_ALLOW(#name, "half and float", half, float);                                                                         \
        ::twin::Rep r = detail::reduce_rep(uint64_t(mask), repeatTime, dstRepStride, srcBlkStride, srcRepStride);                 \
        r.dst_blk = uint16_t(order);                                                                                              \
        ::twin::reduce_rep(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src.loc_, r, order != ReduceOrder::ORDER_ONLY_VALUE, here); \
    }
TWIN_WHOLE_REDUCE(WholeReduceMax)
TWIN_WHOLE_REDUCE(WholeReduceMin)

}  // namespace AscendC
