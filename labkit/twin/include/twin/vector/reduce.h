// Reductions: to one result, or to one for each repeat, 32-byte block or pair.
#pragma once
#include "twin/vector/mask.h"

namespace AscendC {

// CANN declares repeats and strides as int32_t, and hands them to instructions whose fields have 8 and 16 bits: they
// are Arg8 and Arg16 here, so that a value that is cut off is found. Only the repeats of ReduceSum, ReduceMax and
// ReduceMin may be more than 255: those functions take several instructions.
namespace detail {
template <typename M>
::twin::Rep reduce_rep(M mask, int32_t times, uint16_t dstRep, uint16_t srcBlk, uint16_t srcRep, bool own = true) {
    ::twin::Rep r = masked(mask, times, own);
    r.dst_rep = dstRep;
    r.src0_blk = srcBlk;
    r.src0_rep = srcRep;
    return r;
}
constexpr uint64_t lanes(int32_t n) { return n < 0 ? 0 : uint64_t(n); }
constexpr const uint64_t* lanes(const uint64_t* bits) { return bits; }
}  // namespace detail

// ---- to one result. The count form of ReduceSum uses no work space on A2.
template <typename T, bool isSetMask = true> void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                                            const LocalTensor<T>& sharedTmpBuffer, const int32_t count,
                                                            TWIN_HERE) {
    TWIN_ALLOW("ReduceSum", "half and float", half, float);
    if constexpr (isSetMask)
        ::twin::reduce(::twin::Op::ReduceSum, ::twin::dt<T>(), dst.loc_, src.loc_, sharedTmpBuffer.loc_, count, false,
                       here);
    else
        ::twin::reduce(::twin::Op::ReduceSum, ::twin::dt<T>(), dst.loc_, src.loc_, sharedTmpBuffer.loc_,
                       detail::masked(uint64_t(0), 1, false), false, here);
}
#define TWIN_REDUCE_SUM_BY(masktype)                                                                                \
    template <typename T> void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src,                      \
                                         const LocalTensor<T>& sharedTmpBuffer, masktype, const int32_t repeatTime, \
                                         const ::twin::Arg16 srcRepStride, TWIN_HERE) {                             \
        TWIN_ALLOW("ReduceSum", "half and float", half, float);                                                     \
        ::twin::reduce(::twin::Op::ReduceSum, ::twin::dt<T>(), dst.loc_, src.loc_, sharedTmpBuffer.loc_,            \
                       detail::reduce_rep(detail::lanes(mask), repeatTime, 1, 1, srcRepStride), false, here);       \
    }
TWIN_REDUCE_SUM_BY(const int32_t mask)
TWIN_REDUCE_SUM_BY(const uint64_t mask[])

#define TWIN_REDUCE_EXTREME(name)                                                                                      \
    template <typename T> void name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                              \
                                    const LocalTensor<T>& sharedTmpBuffer, const int32_t count, bool calIndex = false, \
                                    TWIN_HERE) {                                                                       \
        TWIN_ALLOW(#name, "half and float", half, float);                                                              \
        ::twin::reduce(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src.loc_, sharedTmpBuffer.loc_, count, calIndex,   \
                       here);                                                                                          \
    }                                                                                                                  \
    TWIN_REDUCE_EXTREME_BY(name, const int32_t mask)                                                                   \
    TWIN_REDUCE_EXTREME_BY(name, const uint64_t mask[])
#define TWIN_REDUCE_EXTREME_BY(name, masktype)                                                                   \
    template <typename T> void name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                        \
                                    const LocalTensor<T>& sharedTmpBuffer, masktype, const int32_t repeatTime,   \
                                    const ::twin::Arg16 srcRepStride, bool calIndex = false, TWIN_HERE) {        \
        TWIN_ALLOW(#name, "half and float", half, float);                                                        \
        ::twin::reduce(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src.loc_, sharedTmpBuffer.loc_,              \
                       detail::reduce_rep(detail::lanes(mask), repeatTime, 1, 1, srcRepStride), calIndex, here); \
    }
TWIN_REDUCE_EXTREME(ReduceMax)
TWIN_REDUCE_EXTREME(ReduceMin)

// ---- to one for each repeat, block or pair. dstRepStride counts what one repeat leaves: one result for Whole* (two
// elements with an index), 8 for Block*, half a repeat for Pair*. Mind the order: WholeReduce* takes the mask first,
// BlockReduce* and PairReduceSum the repeats.
#define TWIN_REDUCE_REP(name, first, second)                                                                          \
    template <typename T, bool isSetMask = true>                                                                      \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, first, second, const ::twin::Arg16 dstRepStride,  \
              const ::twin::Arg16 srcBlkStride, const ::twin::Arg16 srcRepStride, TWIN_HERE) {                        \
        TWIN_ALLOW(#name, "half and float", half, float);                                                             \
        ::twin::reduce_rep(                                                                                           \
            ::twin::Op::name, ::twin::dt<T>(), dst.loc_, src.loc_,                                                    \
            detail::reduce_rep(detail::lanes(mask), repeatTime, dstRepStride, srcBlkStride, srcRepStride, isSetMask), \
            false, here);                                                                                             \
    }
TWIN_REDUCE_REP(WholeReduceSum, const int32_t mask, const ::twin::Arg8 repeatTime)
TWIN_REDUCE_REP(WholeReduceSum, const uint64_t mask[], const ::twin::Arg8 repeatTime)
#define TWIN_REPEATS_FIRST(name)                                             \
    TWIN_REDUCE_REP(name, const ::twin::Arg8 repeatTime, const int32_t mask) \
    TWIN_REDUCE_REP(name, const ::twin::Arg8 repeatTime, const uint64_t mask[])
TWIN_REPEATS_FIRST(BlockReduceSum)
TWIN_REPEATS_FIRST(BlockReduceMax)
TWIN_REPEATS_FIRST(BlockReduceMin)
TWIN_REPEATS_FIRST(PairReduceSum)

#define TWIN_WHOLE_REDUCE_BY(name, masktype)                                                                          \
    template <typename T, bool isSetMask = true>                                                                      \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, masktype, const ::twin::Arg8 repeatTime,          \
              const ::twin::Arg16 dstRepStride, const ::twin::Arg16 srcBlkStride, const ::twin::Arg16 srcRepStride,   \
              ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, TWIN_HERE) {                                        \
        TWIN_ALLOW(#name, "half and float", half, float);                                                             \
        ::twin::Rep r = detail::reduce_rep(detail::lanes(mask), repeatTime, dstRepStride, srcBlkStride, srcRepStride, \
                                           isSetMask);                                                                \
        r.dst_blk = uint16_t(order);                                                                                  \
        ::twin::reduce_rep(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src.loc_, r,                                  \
                           order != ReduceOrder::ORDER_ONLY_VALUE, here);                                             \
    }
#define TWIN_WHOLE_REDUCE(name)                    \
    TWIN_WHOLE_REDUCE_BY(name, const int32_t mask) \
    TWIN_WHOLE_REDUCE_BY(name, const uint64_t mask[])
TWIN_WHOLE_REDUCE(WholeReduceMax)
TWIN_WHOLE_REDUCE(WholeReduceMin)

// WholeReduceSum under an older name, its arguments in another order; dstBlkStride has no effect.
#define TWIN_REPEAT_REDUCE(masktype)                                                                              \
    template <typename T, bool isSetMask = true>                                                                  \
    void RepeatReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const ::twin::Arg8 repeatTime,     \
                         masktype, const ::twin::Arg16 dstBlkStride, const ::twin::Arg16 srcBlkStride,            \
                         const ::twin::Arg16 dstRepStride, const ::twin::Arg16 srcRepStride, TWIN_HERE) {         \
        WholeReduceSum<T, isSetMask>(dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, here); \
    }
TWIN_REPEAT_REDUCE(const int32_t mask)
TWIN_REPEAT_REDUCE(const uint64_t mask[])

// ---- the names of CANN 9.1 for the same instructions; here the mask always comes first
enum class ReduceType { NONE = -1, SUM, MAX, MIN };
#define TWIN_REDUCE_BY(masktype)                                                                                       \
    template <ReduceType reduceType, typename T, typename U, bool isSetMask = true> void ReduceRepeat(                 \
        const LocalTensor<T>& dst, const LocalTensor<U>& src, masktype, const ::twin::Arg8 repeatTime,                 \
        const ::twin::Arg16 dstRepStride, const ::twin::Arg16 srcBlkStride, const ::twin::Arg16 srcRepStride,          \
        ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, TWIN_HERE) {                                               \
        static_assert(std::is_same_v<T, U>, "ReduceRepeat on Atlas A2 has one type for dst and src");                  \
        if constexpr (reduceType == ReduceType::SUM)                                                                   \
            WholeReduceSum<T, isSetMask>(dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, here);  \
        else if constexpr (reduceType == ReduceType::MAX)                                                              \
            WholeReduceMax<T, isSetMask>(dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, order,  \
                                         here);                                                                        \
        else                                                                                                           \
            WholeReduceMin<T, isSetMask>(dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, order,  \
                                         here);                                                                        \
    }                                                                                                                  \
    template <ReduceType reduceType, typename T, typename U, bool isSetMask = true>                                    \
    void ReduceDataBlock(const LocalTensor<T>& dst, const LocalTensor<U>& src, masktype,                               \
                         const ::twin::Arg8 repeatTime, const ::twin::Arg16 dstRepStride,                              \
                         const ::twin::Arg16 srcBlkStride, const ::twin::Arg16 srcRepStride, TWIN_HERE) {              \
        static_assert(std::is_same_v<T, U>, "ReduceDataBlock on Atlas A2 has one type for dst and src");               \
        if constexpr (reduceType == ReduceType::SUM)                                                                   \
            BlockReduceSum<T, isSetMask>(dst, src, repeatTime, mask, dstRepStride, srcBlkStride, srcRepStride, here);  \
        else if constexpr (reduceType == ReduceType::MAX)                                                              \
            BlockReduceMax<T, isSetMask>(dst, src, repeatTime, mask, dstRepStride, srcBlkStride, srcRepStride, here);  \
        else BlockReduceMin<T, isSetMask>(dst, src, repeatTime, mask, dstRepStride, srcBlkStride, srcRepStride, here); \
    }                                                                                                                  \
    template <ReduceType reduceType, typename T, typename U, bool isSetMask = true>                                    \
    void ReducePairElem(const LocalTensor<T>& dst, const LocalTensor<U>& src, masktype, const ::twin::Arg8 repeatTime, \
                        const ::twin::Arg16 dstRepStride, const ::twin::Arg16 srcBlkStride,                            \
                        const ::twin::Arg16 srcRepStride, TWIN_HERE) {                                                 \
        static_assert(reduceType == ReduceType::SUM, "ReducePairElem adds pairs: ReduceType::SUM is all there is");    \
        static_assert(std::is_same_v<T, U>, "ReducePairElem on Atlas A2 has one type for dst and src");                \
        PairReduceSum<T, isSetMask>(dst, src, repeatTime, mask, dstRepStride, srcBlkStride, srcRepStride, here);       \
    }
TWIN_REDUCE_BY(const int32_t mask)
TWIN_REDUCE_BY(const uint64_t mask[])

// ---- what the last ReduceSum by count, and the last WholeReduceMax/Min, left in registers
template <typename T> T GetAccVal() {
    TWIN_ALLOW("GetAccVal", "half and float", half, float);
    uint64_t bits = ::twin::reduce_sum_bits();
    T v;
    __builtin_memcpy(&v, &bits, sizeof v);
    return v;
}
template <typename T> T GetReduceRepeatSumSpr() { return GetAccVal<T>(); }
inline int64_t GetAccVal() { return int64_t(::twin::reduce_sum_bits()); }  // the register's bits
inline int64_t GetReduceRepeatSumSpr() { return GetAccVal(); }
// The index is an integer in the bits of T (reinterpret it), or a uint32_t where both are asked for as such.
template <typename T> void GetReduceMaxMinCount(T& maxMinValue, T& maxMinIndex) {
    uint32_t value, index;
    ::twin::reduce_extreme(value, index);
    __builtin_memcpy(&maxMinValue, &value, sizeof maxMinValue);
    __builtin_memcpy(&maxMinIndex, &index, sizeof maxMinIndex);
}
template <typename T> void GetReduceRepeatMaxMinSpr(T& maxMinValue, T& maxMinIndex) {
    GetReduceMaxMinCount<T>(maxMinValue, maxMinIndex);
}
template <typename T> void GetReduceMaxMinCount(uint32_t& maxMinValue, uint32_t& maxMinIndex) {
    ::twin::reduce_extreme(maxMinValue, maxMinIndex);
}
template <typename T> void GetReduceRepeatMaxMinSpr(uint32_t& maxMinValue, uint32_t& maxMinIndex) {
    ::twin::reduce_extreme(maxMinValue, maxMinIndex);
}
template <typename T> void GetReduceMaxMinCount(T&) {
    static_assert(sizeof(T) == 0,
                  "GetReduceMaxMinCount on Atlas A2 gives value and index: GetReduceMaxMinCount<T>(value, index)");
}

}  // namespace AscendC
