// Element-wise vector instructions on operands of one type, each in its count form and its two mask/repeat forms.
//
// A type that A2 does not document is refused with one clear message: the learner should get it here, not on the
// device.
#pragma once
#include "twin/vector/mask.h"

namespace AscendC {

// The last form of each, without `here`, is selected by a pointer to the instruction; a call never selects it: of two
// forms that fit alike, the one without a pack is taken. That form's repeats are a uint8_t, as in CANN, so there is one
// with `here` of the very same type, and one for every other type, which reports what does not fit.
#define TWIN_PLAIN typename... N, std::enable_if_t<sizeof...(N) == 0, int> = 0
#define TWIN_UNARY(name, types, ...)                                                                   \
    template <typename T>                                                                              \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count, TWIN_HERE) { \
        TWIN_ALLOW(#name, types, __VA_ARGS__);                                                         \
        ::twin::unary(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src.loc_, count, here);             \
    }                                                                                                  \
    TWIN_UNARY_BY(name, uint64_t mask, types, __VA_ARGS__)                                             \
    TWIN_UNARY_BY(name, uint64_t mask[], types, __VA_ARGS__)                                           \
    template <typename T, TWIN_PLAIN>                                                                  \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count, N...) {      \
        name(dst, src, count, ::twin::Here());                                                         \
    }
#define TWIN_UNARY_BY(name, masktype, types, ...)                                                                \
    template <typename T, bool isSetMask = true> void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, \
                                                           masktype, const ::twin::Arg8 repeatTime,              \
                                                           const UnaryRepeatParams& p, TWIN_HERE) {              \
        TWIN_ALLOW(#name, types, __VA_ARGS__);                                                                   \
        ::twin::unary(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src.loc_,                                     \
                      detail::rep(mask, repeatTime, p, isSetMask), here);                                        \
    }

#define TWIN_BINARY(name, types, ...)                                                                                  \
    template <typename T> void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, \
                                    const int32_t& count, TWIN_HERE) {                                                 \
        TWIN_ALLOW(#name, types, __VA_ARGS__);                                                                         \
        ::twin::binary(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src0.loc_, src1.loc_, count, here);                \
    }                                                                                                                  \
    template <typename T, bool isSetMask = true, typename R>                                                           \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask,        \
              R repeatTime, const BinaryRepeatParams& p, TWIN_HERE) {                                                  \
        name<T, isSetMask>(dst, src0, src1, mask, uint8_t(::twin::Arg8(repeatTime, here)), p, here);                   \
    }                                                                                                                  \
    TWIN_BINARY_BY(name, uint64_t mask, uint8_t, types, __VA_ARGS__)                                                   \
    TWIN_BINARY_BY(name, uint64_t mask[], ::twin::Arg8, types, __VA_ARGS__)                                            \
    template <typename T, TWIN_PLAIN> void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0,                 \
                                                const LocalTensor<T>& src1, const int32_t& count, N...) {              \
        name(dst, src0, src1, count, ::twin::Here());                                                                  \
    }                                                                                                                  \
    template <typename T, bool isSetMask = true, TWIN_PLAIN>                                                           \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask,        \
              const uint8_t repeatTime, const BinaryRepeatParams& p, N...) {                                           \
        name<T, isSetMask>(dst, src0, src1, mask, repeatTime, p, ::twin::Here());                                      \
    }
#define TWIN_BINARY_BY(name, masktype, repeattype, types, ...)                                             \
    template <typename T, bool isSetMask = true>                                                           \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, masktype, \
              const repeattype repeatTime, const BinaryRepeatParams& p, TWIN_HERE) {                       \
        TWIN_ALLOW(#name, types, __VA_ARGS__);                                                             \
        ::twin::binary(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src0.loc_, src1.loc_,                  \
                       detail::rep(mask, repeatTime, p, isSetMask), here);                                 \
    }

// The scalar has the tensor's own type. The second form of each is the one that CANN gives a type of its own (U, the
// same as T); the last, which takes anything, only says so.
#define TWIN_SCALAR(name, types, ...)                                                                               \
    template <typename T, bool isSetMask = true> void name(const LocalTensor<T>& dst, const LocalTensor<T>& src,    \
                                                           const T& scalarValue, const int32_t& count, TWIN_HERE) { \
        TWIN_ALLOW(#name, types, __VA_ARGS__);                                                                      \
        if constexpr (isSetMask)                                                                                    \
            ::twin::scalar(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src.loc_, ::twin::value_of(scalarValue),    \
                           count, here);                                                                            \
        else                                                                                                        \
            ::twin::scalar(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src.loc_, ::twin::value_of(scalarValue),    \
                           detail::masked(uint64_t(0), 1, false), here);                                            \
    }                                                                                                               \
    template <typename T, typename U, bool isSetMask = true, std::enable_if_t<std::is_same_v<T, U>, bool> = true>   \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const U& scalarValue, const int32_t& count,     \
              TWIN_HERE) {                                                                                          \
        name<T, isSetMask>(dst, src, scalarValue, count, here);                                                     \
    }                                                                                                               \
    TWIN_SCALAR_BY(name, uint64_t mask, types, __VA_ARGS__)                                                         \
    TWIN_SCALAR_BY(name, uint64_t mask[], types, __VA_ARGS__)                                                       \
    template <typename T, bool isSetMask = true, TWIN_PLAIN> void name(                                             \
        const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, const int32_t& count, N...) {   \
        name<T, isSetMask>(dst, src, scalarValue, count, ::twin::Here());                                           \
    }                                                                                                               \
    template <typename T> void name(const LocalTensor<T>&, const LocalTensor<T>&, ...) {                            \
        static_assert(sizeof(T) == 0, #name                                                                         \
                      " takes a scalar of the tensor's own type, as in " #name                                      \
                      "(dst, src, T(1), count), or a mask, repeats and UnaryRepeatParams in place of the count");   \
    }
#define TWIN_SCALAR_BY(name, masktype, types, ...)                                                                \
    template <typename T, bool isSetMask = true>                                                                  \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, masktype,               \
              const ::twin::Arg8 repeatTime, const UnaryRepeatParams& p, TWIN_HERE) {                             \
        TWIN_ALLOW(#name, types, __VA_ARGS__);                                                                    \
        ::twin::scalar(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src.loc_, ::twin::value_of(scalarValue),      \
                       detail::rep(mask, repeatTime, p, isSetMask), here);                                        \
    }                                                                                                             \
    template <typename T, typename U, bool isSetMask = true, std::enable_if_t<std::is_same_v<T, U>, bool> = true> \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const U& scalarValue, masktype,               \
              const ::twin::Arg8 repeatTime, const UnaryRepeatParams& p, TWIN_HERE) {                             \
        name<T, isSetMask>(dst, src, scalarValue, mask, repeatTime, p, here);                                     \
    }

TWIN_UNARY(Abs, "half and float", half, float)
TWIN_UNARY(Exp, "half and float", half, float)
TWIN_UNARY(Ln, "half and float", half, float)
TWIN_UNARY(Sqrt, "half and float", half, float)
TWIN_UNARY(Rsqrt, "half and float", half, float)
TWIN_UNARY(Reciprocal, "half and float", half, float)
TWIN_UNARY(Relu, "half, int32_t and float", half, int32_t, float)
TWIN_UNARY(Not, "int16_t and uint16_t", int16_t, uint16_t)

TWIN_BINARY(Add, "half, int16_t, int32_t and float", half, int16_t, int32_t, float)
TWIN_BINARY(Sub, "half, int16_t, int32_t and float", half, int16_t, int32_t, float)
TWIN_BINARY(Mul, "half, int16_t, int32_t and float", half, int16_t, int32_t, float)
TWIN_BINARY(Max, "half, int16_t, int32_t and float", half, int16_t, int32_t, float)
TWIN_BINARY(Min, "half, int16_t, int32_t and float", half, int16_t, int32_t, float)
TWIN_BINARY(Div, "half and float", half, float)
// The count forms take any type but work on 16-bit lanes anyway; a warning says so.
#define TWIN_BITS(name)                                                                                                \
    template <typename T> void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, \
                                    const int32_t& count, TWIN_HERE) {                                                 \
        ::twin::binary(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src0.loc_, src1.loc_, count, here);                \
    }                                                                                                                  \
    TWIN_BINARY_BY(name, uint64_t mask, ::twin::Arg8, "int16_t and uint16_t", int16_t, uint16_t)                       \
    TWIN_BINARY_BY(name, uint64_t mask[], ::twin::Arg8, "int16_t and uint16_t", int16_t, uint16_t)
TWIN_BITS(And)
TWIN_BITS(Or)
TWIN_BINARY(AddRelu, "half, int16_t and float", half, int16_t, float)
TWIN_BINARY(SubRelu, "half, int16_t and float", half, int16_t, float)
TWIN_BINARY(FusedMulAdd, "half and float", half, float)
TWIN_BINARY(MulAddRelu, "half and float", half, float)

TWIN_SCALAR(Adds, "half, int16_t, int32_t and float", half, int16_t, int32_t, float)
TWIN_SCALAR(Muls, "half, int16_t, int32_t and float", half, int16_t, int32_t, float)
TWIN_SCALAR(Maxs, "half, int16_t, int32_t and float", half, int16_t, int32_t, float)
TWIN_SCALAR(Mins, "half, int16_t, int32_t and float", half, int16_t, int32_t, float)
TWIN_SCALAR(LeakyRelu, "half and float", half, float)
TWIN_SCALAR(ShiftLeft, "int16_t, uint16_t, int32_t and uint32_t", int16_t, uint16_t, int32_t, uint32_t)
TWIN_SCALAR(ShiftRight, "int16_t, uint16_t, int32_t and uint32_t", int16_t, uint16_t, int32_t, uint32_t)

// roundEn adds half of the last place that stays, for signed numbers; without it these are the forms above.
#define TWIN_SHIFT_ROUNDED(masktype)                                                                               \
    template <typename T, bool isSetMask = true>                                                                   \
    void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, masktype,          \
                    const ::twin::Arg8 repeatTime, const UnaryRepeatParams& p, bool roundEn, TWIN_HERE) {          \
        if (!roundEn) return ShiftRight<T, isSetMask>(dst, src, scalarValue, mask, repeatTime, p, here);           \
        TWIN_ALLOW("ShiftRight", "int16_t, uint16_t, int32_t and uint32_t", int16_t, uint16_t, int32_t, uint32_t); \
        ::twin::shift_right_rounded(::twin::dt<T>(), dst.loc_, src.loc_, ::twin::value_of(scalarValue),            \
                                    detail::rep(mask, repeatTime, p, isSetMask), here);                            \
    }                                                                                                              \
    template <typename T, typename U, bool isSetMask = true, std::enable_if_t<std::is_same_v<T, U>, bool> = true>  \
    void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src, const U& scalarValue, masktype,          \
                    const ::twin::Arg8 repeatTime, const UnaryRepeatParams& p, bool roundEn, TWIN_HERE) {          \
        ShiftRight<T, isSetMask>(dst, src, scalarValue, mask, repeatTime, p, roundEn, here);                       \
    }
TWIN_SHIFT_ROUNDED(uint64_t mask)
TWIN_SHIFT_ROUNDED(uint64_t mask[])

// The name that MulAddRelu had before.
template <typename T> void FusedMulAddRelu(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                                           const LocalTensor<T>& src1, const int32_t& count, TWIN_HERE) {
    MulAddRelu(dst, src0, src1, count, here);
}
template <typename T, bool isSetMask = true>
void FusedMulAddRelu(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask,
                     const ::twin::Arg8 repeatTime, const BinaryRepeatParams& p, TWIN_HERE) {
    MulAddRelu<T, isSetMask>(dst, src0, src1, mask, repeatTime, p, here);
}
template <typename T, bool isSetMask = true>
void FusedMulAddRelu(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask[],
                     const ::twin::Arg8 repeatTime, const BinaryRepeatParams& p, TWIN_HERE) {
    MulAddRelu<T, isSetMask>(dst, src0, src1, mask, repeatTime, p, here);
}

}  // namespace AscendC

#include "twin/vector/compare.h"
#include "twin/vector/fill.h"
#include "twin/vector/mixed.h"
