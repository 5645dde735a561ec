// Compare and Select: one bit an element, element 0 in bit 0 of byte 0; in UB, or for one repeat in the register
// CMPMASK.
#pragma once
#include "twin/vector/mask.h"

namespace AscendC {

#define TWIN_COMPARABLE(name) TWIN_ALLOW(name, "half, float and (EQ only) int32_t", half, float, int32_t)

template <typename T, typename U> void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0,
                                               const LocalTensor<T>& src1, CMPMODE cmpMode, uint32_t count, TWIN_HERE) {
    TWIN_COMPARABLE("Compare");
    ::twin::compare(::twin::Cmp(cmpMode), ::twin::dt<T>(), dst.loc_, src0.loc_, src1.loc_, int32_t(count), here);
}
#define TWIN_COMPARE_BY(masktype)                                                                                     \
    template <typename T, typename U, bool isSetMask = true>                                                          \
    void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode,  \
                 masktype, ::twin::Arg8 repeatTime, const BinaryRepeatParams& p, TWIN_HERE) {                         \
        TWIN_COMPARABLE("Compare");                                                                                   \
        ::twin::compare(::twin::Cmp(cmpMode), ::twin::dt<T>(), dst.loc_, src0.loc_, src1.loc_,                        \
                        detail::rep(mask, repeatTime, p), here);                                                      \
    }                                                                                                                 \
    template <typename T, bool isSetMask = true> void Compare(const LocalTensor<T>& src0, const LocalTensor<T>& src1, \
                                                              CMPMODE cmpMode, masktype, const BinaryRepeatParams& p, \
                                                              TWIN_HERE) {                                            \
        TWIN_ALLOW("Compare into the register", "half and float", half, float);                                       \
        ::twin::compare_register(::twin::Cmp(cmpMode), ::twin::dt<T>(), src0.loc_, src1.loc_,                         \
                                 detail::rep(mask, 1, p, isSetMask), here);                                           \
    }
TWIN_COMPARE_BY(const uint64_t mask)
TWIN_COMPARE_BY(const uint64_t mask[])

template <typename T> void GetCmpMask(const LocalTensor<T>& dst, TWIN_HERE) {
    ::twin::compare_mask_get(dst.loc_, here);
}
template <typename T> void SetCmpMask(const LocalTensor<T>& src, TWIN_HERE) {
    ::twin::compare_mask_set(src.loc_, here);
}

#define TWIN_COMPARE_SCALAR(name)                                                                                     \
    template <typename T, typename U> void name(const LocalTensor<U>& dst, const LocalTensor<T>& src0,                \
                                                const T src1Scalar, CMPMODE cmpMode, uint32_t count, TWIN_HERE) {     \
        TWIN_COMPARABLE(#name);                                                                                       \
        ::twin::compare(::twin::Cmp(cmpMode), ::twin::dt<T>(), dst.loc_, src0.loc_, ::twin::value_of(src1Scalar),     \
                        int32_t(count), here);                                                                        \
    }                                                                                                                 \
    TWIN_COMPARE_SCALAR_BY(name, const uint64_t mask)                                                                 \
    TWIN_COMPARE_SCALAR_BY(name, const uint64_t mask[])                                                               \
    template <typename T, typename U> void name(const LocalTensor<U>&, const LocalTensor<T>&, ...) {                  \
        static_assert(sizeof(T) == 0, #name                                                                           \
                      " takes (dst, src, scalar, CMPMODE, count), or a mask, repeats and UnaryRepeatParams in place " \
                      "of the count; the scalar has the source's own type, as in T(1)");                              \
    }
#define TWIN_COMPARE_SCALAR_BY(name, masktype)                                                                      \
    template <typename T, typename U, bool isSetMask = true>                                                        \
    void name(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode, masktype, \
              ::twin::Arg8 repeatTime, const UnaryRepeatParams& p, TWIN_HERE) {                                     \
        TWIN_COMPARABLE(#name);                                                                                     \
        ::twin::compare(::twin::Cmp(cmpMode), ::twin::dt<T>(), dst.loc_, src0.loc_, ::twin::value_of(src1Scalar),   \
                        detail::rep(mask, repeatTime, p), here);                                                    \
    }
TWIN_COMPARE_SCALAR(CompareScalar)
TWIN_COMPARE_SCALAR(Compares)

// ---- Select: bit 1 takes src0, bit 0 takes src1
#define TWIN_SELECTABLE TWIN_ALLOW("Select", "half and float", half, float)
template <typename T, typename U> void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask,
                                              const LocalTensor<T>& src0, const LocalTensor<T>& src1, SELMODE selMode,
                                              uint32_t count, TWIN_HERE) {
    TWIN_SELECTABLE;
    if (!::twin::select_mode_ok(::twin::Sel(selMode), false, dst.loc_, here)) return;
    ::twin::select(::twin::Sel(selMode), ::twin::dt<T>(), dst.loc_, selMask.loc_, src0.loc_, src1.loc_,
                   ::twin::Value{0}, int32_t(count), here);
}
template <typename T, typename U> void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask,
                                              const LocalTensor<T>& src0, T src1, SELMODE selMode, uint32_t count,
                                              TWIN_HERE) {
    TWIN_SELECTABLE;
    if (!::twin::select_mode_ok(::twin::Sel(selMode), true, dst.loc_, here)) return;
    ::twin::select(::twin::Sel::TensorScalar, ::twin::dt<T>(), dst.loc_, selMask.loc_, src0.loc_, src0.loc_,
                   ::twin::value_of(src1), int32_t(count), here);
}
#define TWIN_SELECT_BY(masktype)                                                                                 \
    template <typename T, typename U, bool isSetMask = true>                                                     \
    void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,            \
                const LocalTensor<T>& src1, SELMODE selMode, masktype, ::twin::Arg8 repeatTime,                  \
                const BinaryRepeatParams& p, TWIN_HERE) {                                                        \
        TWIN_SELECTABLE;                                                                                         \
        if (!::twin::select_mode_ok(::twin::Sel(selMode), false, dst.loc_, here)) return;                        \
        ::twin::select(::twin::Sel(selMode), ::twin::dt<T>(), dst.loc_, selMask.loc_, src0.loc_, src1.loc_,      \
                       ::twin::Value{0}, detail::rep(mask, repeatTime, p), here);                                \
    }                                                                                                            \
    template <typename T, typename U, bool isSetMask = true>                                                     \
    void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, T src1,    \
                SELMODE selMode, masktype, ::twin::Arg8 repeatTime, const BinaryRepeatParams& p, TWIN_HERE) {    \
        TWIN_SELECTABLE;                                                                                         \
        if (!::twin::select_mode_ok(::twin::Sel(selMode), true, dst.loc_, here)) return;                         \
        ::twin::select(::twin::Sel::TensorScalar, ::twin::dt<T>(), dst.loc_, selMask.loc_, src0.loc_, src0.loc_, \
                       ::twin::value_of(src1), detail::rep(mask, repeatTime, p), here);                          \
    }
TWIN_SELECT_BY(uint64_t mask)
TWIN_SELECT_BY(uint64_t mask[])

// Without a mask argument: lanes as SetVectorMask left them; CMPMASK holds the selection bits, or where they lie, or
// (second form) the scalar.
template <typename T, SELMODE selMode> void Select(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                                                   const LocalTensor<T>& src1, ::twin::Arg8 repeatTime,
                                                   const BinaryRepeatParams& p, TWIN_HERE) {
    TWIN_SELECTABLE;
    static_assert(selMode != SELMODE::VSEL_TENSOR_SCALAR_MODE,
                  "Select without a mask argument chooses between two tensors; against a scalar it is Select(dst, "
                  "selMask, src0, repeatTime, repeatParams)");
    ::twin::select_register(::twin::Sel(selMode), ::twin::dt<T>(), dst.loc_, dst.loc_, src0.loc_, src1.loc_,
                            detail::rep(uint64_t(0), repeatTime, p, false), here);
}
template <typename T, typename U> void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask,
                                              const LocalTensor<T>& src0, ::twin::Arg8 repeatTime,
                                              const BinaryRepeatParams& p, TWIN_HERE) {
    TWIN_SELECTABLE;
    ::twin::select_register(::twin::Sel::TensorScalar, ::twin::dt<T>(), dst.loc_, selMask.loc_, src0.loc_, src0.loc_,
                            detail::rep(uint64_t(0), repeatTime, p, false), here);
}

}  // namespace AscendC
