// Duplicate and the masked Copy within UB.
#pragma once
#include "twin/vector/mask.h"

namespace AscendC {

struct CopyRepeatParams {
    CopyRepeatParams() {}
    CopyRepeatParams(::twin::Arg16 dst, ::twin::Arg16 src, ::twin::Arg16 dstRep, ::twin::Arg16 srcRep)
        : dstStride(dst), srcStride(src), dstRepeatSize(dstRep), srcRepeatSize(srcRep) {}
    ::twin::Arg16 dstStride = 1, srcStride = 1, dstRepeatSize = 8, srcRepeatSize = 8;
};
namespace detail {
template <typename M>::twin::Rep rep(M mask, int32_t times, const CopyRepeatParams& p, bool own = true) {
    ::twin::Rep r = masked(mask, times, own);
    r.dst_blk = p.dstStride;
    r.src0_blk = p.srcStride;
    r.dst_rep = p.dstRepeatSize;
    r.src0_rep = p.srcRepeatSize;
    return r;
}
}  // namespace detail

template <typename T> void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, const int32_t& count, TWIN_HERE) {
    TWIN_ALLOW("Duplicate", "16- and 32-bit types", half, bfloat16_t, float, int16_t, uint16_t, int32_t, uint32_t);
    ::twin::duplicate(::twin::dt<T>(), dst.loc_, ::twin::value_of(scalarValue), count, here);
}
#define TWIN_FILL_BY(masktype)                                                                                         \
    template <typename T, bool isSetMask = true>                                                                       \
    void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, masktype, const ::twin::Arg8 repeatTime,           \
                   const ::twin::Arg16 dstBlockStride, const ::twin::Arg8 dstRepeatStride, TWIN_HERE) {                \
        TWIN_ALLOW("Duplicate", "16- and 32-bit types", half, bfloat16_t, float, int16_t, uint16_t, int32_t,           \
                   uint32_t);                                                                                          \
        ::twin::duplicate(                                                                                             \
            ::twin::dt<T>(), dst.loc_, ::twin::value_of(scalarValue),                                                  \
            detail::rep(mask, repeatTime, UnaryRepeatParams(dstBlockStride, 1, dstRepeatStride, 8), isSetMask), here); \
    }
TWIN_FILL_BY(uint64_t mask)
TWIN_FILL_BY(uint64_t mask[])
template <typename T> void Duplicate(const LocalTensor<T>&, ...) {
    static_assert(sizeof(T) == 0,
                  "Duplicate takes a value of the tensor's own type, as in Duplicate(dst, T(0), count), or a mask, "
                  "repeats and two strides in place of the count");
}

#define TWIN_COPY_BY(masktype)                                                                                      \
    template <typename T, bool isSetMask = true> void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src,    \
                                                           masktype, const ::twin::Arg8 repeatTime,                 \
                                                           const CopyRepeatParams& p, TWIN_HERE) {                  \
        TWIN_ALLOW("Copy", "16- and 32-bit types", half, bfloat16_t, float, int16_t, uint16_t, int32_t, uint32_t);  \
        ::twin::copy_local(::twin::dt<T>(), dst.loc_, src.loc_, detail::rep(mask, repeatTime, p, isSetMask), here); \
    }
TWIN_COPY_BY(const uint64_t mask)
TWIN_COPY_BY(const uint64_t mask[])

}  // namespace AscendC
