// Reductions of a matrix of the advanced API: over its rows (AR) or its columns (RA), one result for each of the
// others.
#pragma once
#include "twin/library/math.h"
#include "twin/library/reduce_pattern.h"

namespace twin {
struct Fold {
    Dt type = Dt::F32;
    Loc dst, src, other, tmp;
    uint32_t first = 1, last = 0, stride = 0;  // rows, elements of a row, and from row to row
    bool columns = false;                      // RA
    bool reuse = false, wide = false;          // Mean: sums in float
};
void fold(Op, const Fold&, Here);
}  // namespace twin

namespace AscendC {

struct SumParams {
    uint32_t outter = 1;
    uint32_t inner;
    uint32_t n;
};
struct MeanParams {
    uint32_t outter = 1;
    uint32_t inner;
    uint32_t n;
};

namespace detail {
template <typename T>::twin::Fold fold_of(const LocalTensor<T>& dst, const LocalTensor<T>& src, const ::twin::Loc& tmp,
                                          uint32_t first, uint32_t last, uint32_t stride) {
    ::twin::Fold f;
    f.type = ::twin::dt<T>();
    f.dst = dst.loc_;
    f.src = src.loc_;
    f.tmp = tmp;
    f.first = first;
    f.last = last;
    f.stride = stride;
    return f;
}
template <typename T, typename pattern>::twin::Fold pattern_fold(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                                                 const ::twin::Loc& tmp, const uint32_t shape[],
                                                                 bool reuse) {
    constexpr bool rows = IsSameType<pattern, Pattern::Reduce::AR>::value,
                   columns = IsSameType<pattern, Pattern::Reduce::RA>::value;
    static_assert(rows || columns,
                  "the pattern of a reduction is Pattern::Reduce::AR or RA on Atlas A2; call it once for each axis");
    constexpr uint32_t block = 32 / sizeof(T);
    auto f = fold_of(dst, src, tmp, shape[0], shape[1], (shape[1] + block - 1) / block * block);
    f.columns = columns;
    f.reuse = reuse;
    return f;
}
}  // namespace detail

#define TWIN_ADV_REDUCE(name, parameter, scratch, ...)                                                                \
    template <class T, class pattern, bool isReuseSource = false>                                                     \
    void name(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor parameter, const uint32_t srcShape[],  \
              bool srcInnerPad, TWIN_HERE) {                                                                          \
        detail::adv_type<T, __VA_ARGS__>();                                                                           \
        ::twin::fold(::twin::Op::name,                                                                                \
                     detail::pattern_fold<T, pattern>(dstTensor, srcTensor, scratch, srcShape, isReuseSource), here); \
    }
#define TWIN_ADV_REDUCES(name, ...)                                                                                    \
    TWIN_ADV_REDUCE(name, TWIN_LIST(, const LocalTensor<uint8_t>& sharedTmpBuffer), sharedTmpBuffer.loc_, __VA_ARGS__) \
    TWIN_ADV_REDUCE(name, , ::twin::spare(), __VA_ARGS__)
TWIN_ADV_REDUCES(ReduceSum, float)
TWIN_ADV_REDUCES(ReduceMean, float)
TWIN_ADV_REDUCES(ReduceProd, float)
TWIN_ADV_REDUCES(ReduceMax, half, float)
TWIN_ADV_REDUCES(ReduceMin, half, float)
TWIN_ADV_REDUCES(ReduceAny, uint8_t, float)
TWIN_ADV_REDUCES(ReduceAll, uint8_t, float)

#define TWIN_ADV_SUM(parameter, scratch)                                                                             \
    template <typename T, int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>             \
    void Sum(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor parameter, const SumParams& sumParams, \
             TWIN_HERE) {                                                                                            \
        detail::adv_type<T, half, float>();                                                                          \
        ::twin::fold(::twin::Op::Sum,                                                                                \
                     detail::fold_of(dstTensor, srcTensor, scratch, sumParams.outter, sumParams.n, sumParams.inner), \
                     here);                                                                                          \
    }
TWIN_ADV_SUM(TWIN_LIST(, const LocalTensor<uint8_t>& sharedTmpBuffer), sharedTmpBuffer.loc_)
TWIN_ADV_SUM(, ::twin::spare())

#define TWIN_ADV_MEAN(parameter, scratch)                                                                           \
    template <typename T, typename accType = T, bool isReuseSource = false, bool isBasicBlock = false,              \
              int32_t reduceDim = -1>                                                                               \
    void Mean(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor parameter,                           \
              const MeanParams& meanParams, TWIN_HERE) {                                                            \
        detail::adv_type<T, half, float>();                                                                         \
        static_assert(IsSameType<T, accType>::value || IsSameType<accType, float>::value,                           \
                      "Mean sums in the type of its data, or in float");                                            \
        auto f = detail::fold_of(dstTensor, srcTensor, scratch, meanParams.outter, meanParams.n, meanParams.inner); \
        f.wide = IsSameType<accType, float>::value;                                                                 \
        ::twin::fold(::twin::Op::Mean, f, here);                                                                    \
    }
TWIN_ADV_MEAN(TWIN_LIST(, const LocalTensor<uint8_t>& sharedTmpBuffer), sharedTmpBuffer.loc_)
TWIN_ADV_MEAN(, ::twin::spare())

#define TWIN_ADV_XOR_SUM(parameter, scratch)                                                            \
    template <typename T, bool isReuseSource = false>                                                   \
    void ReduceXorSum(const LocalTensor<T>& dstTensor, const LocalTensor<T>& src0Tensor,                \
                      const LocalTensor<T>& src1Tensor parameter, const uint32_t calCount, TWIN_HERE) { \
        detail::adv_type<T, int16_t>();                                                                 \
        auto f = detail::fold_of(dstTensor, src0Tensor, scratch, 1, calCount, calCount);                \
        f.other = src1Tensor.loc_;                                                                      \
        f.reuse = isReuseSource;                                                                        \
        ::twin::fold(::twin::Op::ReduceXorSum, f, here);                                                \
    }
TWIN_ADV_XOR_SUM(TWIN_LIST(, const LocalTensor<uint8_t>& sharedTmpBuffer), sharedTmpBuffer.loc_)
TWIN_ADV_XOR_SUM(, ::twin::spare())

}  // namespace AscendC
