// Element-wise vector instructions, each in its count form and its two mask/repeat forms.
//
// A type that A2 does not document is refused with one sentence: the learner should meet it here, not on the device.
#pragma once
#include "twin/tensor.h"

namespace AscendC {

// Strides in 32-byte blocks: between the blocks of a repeat (Blk) and from repeat to repeat (Rep).
struct UnaryRepeatParams {
    UnaryRepeatParams() {}
    UnaryRepeatParams(uint16_t dstBlk, uint16_t srcBlk, uint8_t dstRep, uint8_t srcRep)
        : dstBlkStride(dstBlk), srcBlkStride(srcBlk), dstRepStride(dstRep), srcRepStride(srcRep) {}
    uint16_t dstBlkStride = 1, srcBlkStride = 1;
    uint8_t dstRepStride = 8, srcRepStride = 8;
};
struct BinaryRepeatParams {
    BinaryRepeatParams() {}
    BinaryRepeatParams(uint8_t dstBlk, uint8_t src0Blk, uint8_t src1Blk, uint8_t dstRep, uint8_t src0Rep, uint8_t src1Rep)
        : dstBlkStride(dstBlk), src0BlkStride(src0Blk), src1BlkStride(src1Blk), dstRepStride(dstRep), src0RepStride(src0Rep), src1RepStride(src1Rep) {}
    uint8_t dstBlkStride = 1, src0BlkStride = 1, src1BlkStride = 1;
    uint8_t dstRepStride = 8, src0RepStride = 8, src1RepStride = 8;
};
struct CopyRepeatParams {
    CopyRepeatParams() {}
    CopyRepeatParams(uint16_t dst, uint16_t src, uint16_t dstRep, uint16_t srcRep) : dstStride(dst), srcStride(src), dstRepeatSize(dstRep), srcRepeatSize(srcRep) {}
    uint16_t dstStride = 1, srcStride = 1, dstRepeatSize = 8, srcRepeatSize = 8;
};

namespace detail {

// A continuous mask counts lanes of the wider type; more lanes than a repeat has mean all of them.
inline void mask_lanes(::twin::Rep& r, uint64_t lanes) {
    r.mask[0] = lanes >= 64 ? ~0ull : (1ull << lanes) - 1;
    r.mask[1] = lanes >= 128 ? ~0ull : lanes > 64 ? (1ull << (lanes - 64)) - 1 : 0;
}
template <typename M> ::twin::Rep masked(M mask, int32_t times) {
    ::twin::Rep r;
    r.times = times;
    if constexpr (IsSameType<M, uint64_t>::value) {
        mask_lanes(r, mask);
    } else {
        r.mask[0] = mask[0];
        r.mask[1] = mask[1];
    }
    return r;
}
template <typename M> ::twin::Rep rep(M mask, int32_t times, const UnaryRepeatParams& p) {
    ::twin::Rep r = masked(mask, times);
    r.dst_blk = p.dstBlkStride;
    r.src0_blk = p.srcBlkStride;
    r.dst_rep = p.dstRepStride;
    r.src0_rep = p.srcRepStride;
    return r;
}
template <typename M> ::twin::Rep rep(M mask, int32_t times, const BinaryRepeatParams& p) {
    ::twin::Rep r = masked(mask, times);
    r.dst_blk = p.dstBlkStride;
    r.src0_blk = p.src0BlkStride;
    r.src1_blk = p.src1BlkStride;
    r.dst_rep = p.dstRepStride;
    r.src0_rep = p.src0RepStride;
    r.src1_rep = p.src1RepStride;
    return r;
}

}  // namespace detail

#define TWIN_ALLOW(name, types, ...) \
    static_assert(::twin::one_of<T, __VA_ARGS__>(), name " on Atlas A2 takes " types "; Cast to one of these first, or use another instruction")

#define TWIN_UNARY(name, types, ...)                                                                                              \
    template <typename T> void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count, TWIN_HERE) {      \
        TWIN_ALLOW(#name, types, __VA_ARGS__);                                                                                    \
        ::twin::unary(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src.loc_, count, here);                                        \
    }                                                                                                                             \
    template <typename T, bool isSetMask = true>                                                                                  \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, uint8_t repeatTime, const UnaryRepeatParams& p, TWIN_HERE) { \
        TWIN_ALLOW(#name, types, __VA_ARGS__);                                                                                    \
        ::twin::unary(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src.loc_, detail::rep(mask, repeatTime, p), here);             \
    }                                                                                                                             \
    template <typename T, bool isSetMask = true>                                                                                  \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[], uint8_t repeatTime, const UnaryRepeatParams& p, TWIN_HERE) { \
        TWIN_ALLOW(#name, types, __VA_ARGS__);                                                                                    \
        ::twin::unary(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src.loc_, detail::rep(mask, repeatTime, p), here);             \
    }

#define TWIN_BINARY(name, types, ...)                                                                                             \
    template <typename T> void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count, TWIN_HERE) { \
        TWIN_ALLOW(#name, types, __VA_ARGS__);                                                                                    \
        ::twin::binary(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src0.loc_, src1.loc_, count, here);                           \
    }                                                                                                                             \
    template <typename T, bool isSetMask = true>                                                                                  \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask, uint8_t repeatTime, const BinaryRepeatParams& p, TWIN_HERE) { \
        TWIN_ALLOW(#name, types, __VA_ARGS__);                                                                                    \
        ::twin::binary(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src0.loc_, src1.loc_, detail::rep(mask, repeatTime, p), here); \
    }                                                                                                                             \
    template <typename T, bool isSetMask = true>                                                                                  \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const uint64_t mask[], uint8_t repeatTime, const BinaryRepeatParams& p, TWIN_HERE) { \
        TWIN_ALLOW(#name, types, __VA_ARGS__);                                                                                    \
        ::twin::binary(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src0.loc_, src1.loc_, detail::rep(mask, repeatTime, p), here); \
    }

// The scalar may be given as any arithmetic type, as in `Adds(z, x, 1, n)`; it is converted to the tensor's type.
#define TWIN_SCALAR(name, types, ...)                                                                                             \
    template <typename T, typename U = T> void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const U& scalarValue, const int32_t& count, TWIN_HERE) { \
        TWIN_ALLOW(#name, types, __VA_ARGS__);                                                                                    \
        ::twin::scalar(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src.loc_, ::twin::value_of(T(scalarValue)), count, here);     \
    }                                                                                                                             \
    template <typename T, typename U = T, bool isSetMask = true>                                                                  \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const U& scalarValue, uint64_t mask, uint8_t repeatTime, const UnaryRepeatParams& p, TWIN_HERE) { \
        TWIN_ALLOW(#name, types, __VA_ARGS__);                                                                                    \
        ::twin::scalar(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src.loc_, ::twin::value_of(T(scalarValue)), detail::rep(mask, repeatTime, p), here); \
    }                                                                                                                             \
    template <typename T, typename U = T, bool isSetMask = true>                                                                  \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const U& scalarValue, const uint64_t mask[], uint8_t repeatTime, const UnaryRepeatParams& p, TWIN_HERE) { \
        TWIN_ALLOW(#name, types, __VA_ARGS__);                                                                                    \
        ::twin::scalar(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src.loc_, ::twin::value_of(T(scalarValue)), detail::rep(mask, repeatTime, p), here); \
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
TWIN_BINARY(And, "int16_t and uint16_t", int16_t, uint16_t)
TWIN_BINARY(Or, "int16_t and uint16_t", int16_t, uint16_t)
TWIN_BINARY(AddRelu, "half, int16_t and float", half, int16_t, float)
TWIN_BINARY(SubRelu, "half, int16_t and float", half, int16_t, float)
TWIN_BINARY(MulAddDst, "half and float", half, float)
TWIN_BINARY(FusedMulAdd, "half and float", half, float)

TWIN_SCALAR(Adds, "half, int16_t, int32_t and float", half, int16_t, int32_t, float)
TWIN_SCALAR(Muls, "half, int16_t, int32_t and float", half, int16_t, int32_t, float)
TWIN_SCALAR(Maxs, "half, int16_t, int32_t and float", half, int16_t, int32_t, float)
TWIN_SCALAR(Mins, "half, int16_t, int32_t and float", half, int16_t, int32_t, float)
TWIN_SCALAR(LeakyRelu, "half and float", half, float)
TWIN_SCALAR(Axpy, "half and float", half, float)
TWIN_SCALAR(ShiftLeft, "int16_t, uint16_t, int32_t and uint32_t", int16_t, uint16_t, int32_t, uint32_t)
TWIN_SCALAR(ShiftRight, "int16_t, uint16_t, int32_t and uint32_t", int16_t, uint16_t, int32_t, uint32_t)

// ---- Cast; the mask counts lanes of the wider of the two types
template <typename T, typename U> void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& mode, uint32_t count, TWIN_HERE) {
    ::twin::cast(::twin::dt<T>(), ::twin::dt<U>(), dst.loc_, src.loc_, ::twin::Round(mode), int32_t(count), here);
}
template <typename T, typename U, bool isSetMask = true>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& mode, uint64_t mask, uint8_t repeatTime, const UnaryRepeatParams& p, TWIN_HERE) {
    ::twin::cast(::twin::dt<T>(), ::twin::dt<U>(), dst.loc_, src.loc_, ::twin::Round(mode), detail::rep(mask, repeatTime, p), here);
}
template <typename T, typename U, bool isSetMask = true>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& mode, const uint64_t mask[], uint8_t repeatTime, const UnaryRepeatParams& p, TWIN_HERE) {
    ::twin::cast(::twin::dt<T>(), ::twin::dt<U>(), dst.loc_, src.loc_, ::twin::Round(mode), detail::rep(mask, repeatTime, p), here);
}

// ---- Compare and Select: one bit an element, element 0 in bit 0 of byte 0
template <typename T, typename U>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode, uint32_t count, TWIN_HERE) {
    TWIN_ALLOW("Compare", "half, float and (EQ only) int32_t", half, float, int32_t);
    ::twin::compare(::twin::Cmp(mode), ::twin::dt<T>(), dst.loc_, src0.loc_, src1.loc_, int32_t(count), here);
}
template <typename T, typename U>
void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1, CMPMODE mode, uint32_t count, TWIN_HERE) {
    TWIN_ALLOW("CompareScalar", "half, float and (EQ only) int32_t", half, float, int32_t);
    ::twin::compare(::twin::Cmp(mode), ::twin::dt<T>(), dst.loc_, src0.loc_, ::twin::value_of(src1), int32_t(count), here);
}
template <typename T, typename U>
void Compares(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1, CMPMODE mode, uint32_t count, TWIN_HERE) {
    CompareScalar(dst, src0, src1, mode, count, here);
}
template <typename T, typename U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, const LocalTensor<T>& src1, SELMODE mode, uint32_t count, TWIN_HERE) {
    TWIN_ALLOW("Select", "half and float", half, float);
    ::twin::select(::twin::Sel(mode), ::twin::dt<T>(), dst.loc_, selMask.loc_, src0.loc_, src1.loc_, ::twin::Value{0}, int32_t(count), here);
}
template <typename T, typename U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, T src1, SELMODE mode, uint32_t count, TWIN_HERE) {
    TWIN_ALLOW("Select", "half and float", half, float);
    ::twin::select(::twin::Sel(mode), ::twin::dt<T>(), dst.loc_, selMask.loc_, src0.loc_, src0.loc_, ::twin::value_of(src1), int32_t(count), here);
}

// The mask/repeat forms; M is a lane count (uint64_t) or an array of mask bits.
#define TWIN_COMPARE_REP(M)                                                                                                       \
    template <typename T, typename U, bool isSetMask = true>                                                                      \
    void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode, M mask, uint8_t repeatTime, const BinaryRepeatParams& p, TWIN_HERE) { \
        TWIN_ALLOW("Compare", "half, float and (EQ only) int32_t", half, float, int32_t);                                         \
        ::twin::compare(::twin::Cmp(mode), ::twin::dt<T>(), dst.loc_, src0.loc_, src1.loc_, detail::rep(mask, repeatTime, p), here); \
    }                                                                                                                             \
    template <typename T, typename U, bool isSetMask = true>                                                                      \
    void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1, CMPMODE mode, M mask, uint8_t repeatTime, const UnaryRepeatParams& p, TWIN_HERE) { \
        TWIN_ALLOW("CompareScalar", "half, float and (EQ only) int32_t", half, float, int32_t);                                   \
        ::twin::compare(::twin::Cmp(mode), ::twin::dt<T>(), dst.loc_, src0.loc_, ::twin::value_of(src1), detail::rep(mask, repeatTime, p), here); \
    }                                                                                                                             \
    template <typename T, typename U, bool isSetMask = true>                                                                      \
    void Compares(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1, CMPMODE mode, M mask, uint8_t repeatTime, const UnaryRepeatParams& p, TWIN_HERE) { \
        CompareScalar(dst, src0, src1, mode, mask, repeatTime, p, here);                                                          \
    }                                                                                                                             \
    template <typename T, typename U, bool isSetMask = true>                                                                      \
    void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, const LocalTensor<T>& src1, SELMODE mode, M mask, uint8_t repeatTime, const BinaryRepeatParams& p, TWIN_HERE) { \
        TWIN_ALLOW("Select", "half and float", half, float);                                                                      \
        ::twin::select(::twin::Sel(mode), ::twin::dt<T>(), dst.loc_, selMask.loc_, src0.loc_, src1.loc_, ::twin::Value{0}, detail::rep(mask, repeatTime, p), here); \
    }                                                                                                                             \
    template <typename T, typename U, bool isSetMask = true>                                                                      \
    void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, T src1, SELMODE mode, M mask, uint8_t repeatTime, const BinaryRepeatParams& p, TWIN_HERE) { \
        TWIN_ALLOW("Select", "half and float", half, float);                                                                      \
        ::twin::select(::twin::Sel(mode), ::twin::dt<T>(), dst.loc_, selMask.loc_, src0.loc_, src0.loc_, ::twin::value_of(src1), detail::rep(mask, repeatTime, p), here); \
    }
TWIN_COMPARE_REP(uint64_t)
TWIN_COMPARE_REP(const uint64_t*)

// ---- Duplicate and Copy
template <typename T> struct Same { using type = T; };
template <typename T> void Duplicate(const LocalTensor<T>& dst, const typename Same<T>::type& value, const int32_t& count, TWIN_HERE) {
    TWIN_ALLOW("Duplicate", "16- and 32-bit types", half, bfloat16_t, float, int16_t, uint16_t, int32_t, uint32_t);
    ::twin::duplicate(::twin::dt<T>(), dst.loc_, ::twin::value_of(value), count, here);
}
template <typename T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, const typename Same<T>::type& value, uint64_t mask, uint8_t repeatTime, uint16_t dstBlockStride, uint8_t dstRepeatStride, TWIN_HERE) {
    ::twin::duplicate(::twin::dt<T>(), dst.loc_, ::twin::value_of(value), detail::rep(mask, repeatTime, UnaryRepeatParams(dstBlockStride, 1, dstRepeatStride, 8)), here);
}
template <typename T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, const typename Same<T>::type& value, const uint64_t mask[], uint8_t repeatTime, uint16_t dstBlockStride, uint8_t dstRepeatStride, TWIN_HERE) {
    ::twin::duplicate(::twin::dt<T>(), dst.loc_, ::twin::value_of(value), detail::rep(mask, repeatTime, UnaryRepeatParams(dstBlockStride, 1, dstRepeatStride, 8)), here);
}
namespace detail {
template <typename M> ::twin::Rep rep(M mask, int32_t times, const CopyRepeatParams& p) {
    ::twin::Rep r = masked(mask, times);
    r.dst_blk = p.dstStride;
    r.src0_blk = p.srcStride;
    r.dst_rep = p.dstRepeatSize;
    r.src0_rep = p.srcRepeatSize;
    return r;
}
}  // namespace detail
template <typename T, bool isSetMask = true>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, uint8_t repeatTime, const CopyRepeatParams& p, TWIN_HERE) {
    ::twin::copy_local(::twin::dt<T>(), dst.loc_, src.loc_, detail::rep(mask, repeatTime, p), here);
}
template <typename T, bool isSetMask = true>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[], uint8_t repeatTime, const CopyRepeatParams& p, TWIN_HERE) {
    ::twin::copy_local(::twin::dt<T>(), dst.loc_, src.loc_, detail::rep(mask, repeatTime, p), here);
}

}  // namespace AscendC
