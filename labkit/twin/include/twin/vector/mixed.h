// Vector instructions whose destination may have another type than their sources: Cast, dequantisation, and those that
// compute and convert in one go. A mask counts lanes of the wider of the two types.
#pragma once
#include "twin/vector/mask.h"

namespace AscendC {

// ---- Cast
template <typename T, typename U> void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src,
                                            const RoundMode& roundMode, const uint32_t count, TWIN_HERE) {
    ::twin::cast(::twin::dt<T>(), ::twin::dt<U>(), dst.loc_, src.loc_, ::twin::Round(roundMode), int32_t(count), here);
}
#define TWIN_CAST_BY(masktype)                                                                            \
    template <typename T, typename U, bool isSetMask = true>                                              \
    void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode, masktype, \
              const ::twin::Arg8 repeatTime, const UnaryRepeatParams& p, TWIN_HERE) {                     \
        ::twin::cast(::twin::dt<T>(), ::twin::dt<U>(), dst.loc_, src.loc_, ::twin::Round(roundMode),      \
                     detail::rep(mask, repeatTime, p, isSetMask), here);                                  \
    }
TWIN_CAST_BY(const uint64_t mask)
TWIN_CAST_BY(const uint64_t mask[])

// ---- the register DEQSCALE
constexpr uint8_t VDEQ_TENSOR_SIZE = 16;
struct VdeqInfo {
    VdeqInfo() {}
    VdeqInfo(const float scale[VDEQ_TENSOR_SIZE], const int16_t offset[VDEQ_TENSOR_SIZE],
             const bool signMode[VDEQ_TENSOR_SIZE]) {
        for (int i = 0; i < VDEQ_TENSOR_SIZE; i++) {
            vdeqScale[i] = scale[i];
            vdeqOffset[i] = offset[i];
            vdeqSignMode[i] = signMode[i];
        }
    }
    float vdeqScale[VDEQ_TENSOR_SIZE] = {};
    int16_t vdeqOffset[VDEQ_TENSOR_SIZE] = {};
    bool vdeqSignMode[VDEQ_TENSOR_SIZE] = {};
};
namespace detail {
inline uint64_t deq_config(float scale, int16_t offset, bool sign) {
    return uint64_t(sign) << 46 | uint64_t(offset & 0x1ff) << 37 | __builtin_bit_cast(uint32_t, scale);
}
}  // namespace detail
inline void SetDeqScale(half scale) { ::twin::deq_half(scale.bits); }
inline void SetDeqScale(float scale, int16_t offset, bool signMode) {
    ::twin::deq_scalar(detail::deq_config(scale, offset, signMode));
}
template <typename T> void SetDeqScale(const LocalTensor<T>& vdeq, const VdeqInfo& info, TWIN_HERE) {
    static_assert(sizeof(T) == 8, "SetDeqScale puts 16 parameters of 64 bits into a LocalTensor<uint64_t>");
    for (int i = 0; i < VDEQ_TENSOR_SIZE; i++)
        vdeq.SetValue(i, T(detail::deq_config(info.vdeqScale[i], info.vdeqOffset[i], info.vdeqSignMode[i])), here);
    ::twin::deq_tensor(vdeq.loc_);
}

// ---- int16_t -> int8_t or uint8_t: each block of 16 leaves 16 bytes in one half of its destination block, the upper
// one with halfBlock; int32_t -> half: Cast
namespace detail {
template <typename T, typename U> constexpr bool dequantises() {
    return (std::is_same_v<U, int16_t> && ::twin::one_of<T, int8_t, uint8_t>()) ||
           (std::is_same_v<U, int32_t> && std::is_same_v<T, half>);
}
}  // namespace detail
#define TWIN_CAST_DEQ(name)                                                                              \
    template <typename T, typename U, bool isVecDeq = true, bool halfBlock = true>                       \
    void name(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint32_t count, TWIN_HERE) {   \
        static_assert(detail::dequantises<T, U>(),                                                       \
                      #name " on Atlas A2 turns int16_t into int8_t or uint8_t, and int32_t into half"); \
        if constexpr (std::is_same_v<U, int32_t>) Cast(dst, src, RoundMode::CAST_RINT, count, here);     \
        else ::twin::cast_deq(dst.loc_, src.loc_, isVecDeq, halfBlock, int32_t(count), here);            \
    }                                                                                                    \
    TWIN_CAST_DEQ_BY(name, const int32_t mask, uint64_t(mask))                                           \
    TWIN_CAST_DEQ_BY(name, const uint64_t mask[], mask)
#define TWIN_CAST_DEQ_BY(name, masktype, lanes)                                                                     \
    template <typename T, typename U, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true>           \
    void name(const LocalTensor<T>& dst, const LocalTensor<U>& src, masktype, ::twin::Arg8 repeatTime,              \
              const UnaryRepeatParams& p, TWIN_HERE) {                                                              \
        static_assert(detail::dequantises<T, U>(),                                                                  \
                      #name " on Atlas A2 turns int16_t into int8_t or uint8_t, and int32_t into half");            \
        if constexpr (std::is_same_v<U, int32_t>)                                                                   \
            Cast<T, U, isSetMask>(dst, src, RoundMode::CAST_RINT, lanes, repeatTime, p, here);                      \
        else                                                                                                        \
            ::twin::cast_deq(dst.loc_, src.loc_, isVecDeq, halfBlock, detail::rep(lanes, repeatTime, p, isSetMask), \
                             here);                                                                                 \
    }
TWIN_CAST_DEQ(CastDequant)
TWIN_CAST_DEQ(CastDeq)

// ---- compute and convert
namespace detail {
template <::twin::Op op, typename T, typename U, typename R>
void mixed(const LocalTensor<T>& dst, const LocalTensor<U>& a, const LocalTensor<U>& b, ::twin::Value v, const R& r,
           ::twin::Here here) {
    ::twin::mixed(op, ::twin::dt<T>(), ::twin::dt<U>(), dst.loc_, a.loc_, b.loc_, v, r, here);
}
template <typename T, typename U, typename A, typename B> constexpr bool pair_is() {
    return std::is_same_v<T, A> && std::is_same_v<U, B>;
}
}  // namespace detail

#define TWIN_MIXED(name, allowed, types)                                                                       \
    template <typename T, typename U> void name(const LocalTensor<T>& dst, const LocalTensor<U>& src0,         \
                                                const LocalTensor<U>& src1, const uint32_t count, TWIN_HERE) { \
        static_assert(allowed, #name " on Atlas A2 goes from " types);                                         \
        detail::mixed<::twin::Op::name>(dst, src0, src1, ::twin::Value{0}, int32_t(count), here);              \
    }                                                                                                          \
    TWIN_MIXED_BY(name, uint64_t mask, allowed, types)                                                         \
    TWIN_MIXED_BY(name, uint64_t mask[], allowed, types)
#define TWIN_MIXED_BY(name, masktype, allowed, types)                                                      \
    template <typename T, typename U, bool isSetMask = true>                                               \
    void name(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, masktype, \
              const ::twin::Arg8 repeatTime, const BinaryRepeatParams& p, TWIN_HERE) {                     \
        static_assert(allowed, #name " on Atlas A2 goes from " types);                                     \
        detail::mixed<::twin::Op::name>(dst, src0, src1, ::twin::Value{0},                                 \
                                        detail::rep(mask, repeatTime, p, isSetMask), here);                \
    }
#define TWIN_RELU_CAST                                                                \
    (detail::pair_is<T, U, int8_t, half>() || detail::pair_is<T, U, half, float>() || \
     detail::pair_is<T, U, int8_t, int16_t>())
#define TWIN_MUL_CAST (detail::pair_is<T, U, int8_t, half>() || detail::pair_is<T, U, uint8_t, half>())
TWIN_MIXED(AddReluCast, TWIN_RELU_CAST, "half or int16_t to int8_t, and from float to half")
TWIN_MIXED(SubReluCast, TWIN_RELU_CAST, "half or int16_t to int8_t, and from float to half")
TWIN_MIXED(MulCast, TWIN_MUL_CAST, "half to int8_t or uint8_t")

inline void AddDeqRelu(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0, const LocalTensor<int32_t>& src1,
                       const int32_t& count, TWIN_HERE) {
    detail::mixed<::twin::Op::AddDeqRelu>(dst, src0, src1, ::twin::Value{0}, count, here);
}
template <typename T, typename U> void AddDeqRelu(const LocalTensor<T>& dst, const LocalTensor<U>& src0,
                                                  const LocalTensor<U>& src1, const int32_t& count, TWIN_HERE) {
    static_assert(detail::pair_is<T, U, half, int32_t>(), "AddDeqRelu on Atlas A2 goes from int32_t to half");
    detail::mixed<::twin::Op::AddDeqRelu>(dst, src0, src1, ::twin::Value{0}, count, here);
}
#define TWIN_ADD_DEQ_BY(masktype)                                                                                     \
    template <bool isSetMask = true>                                                                                  \
    void AddDeqRelu(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0, const LocalTensor<int32_t>& src1, \
                    masktype, const ::twin::Arg8 repeatTime, const BinaryRepeatParams& p, TWIN_HERE) {                \
        detail::mixed<::twin::Op::AddDeqRelu>(dst, src0, src1, ::twin::Value{0},                                      \
                                              detail::rep(mask, repeatTime, p, isSetMask), here);                     \
    }                                                                                                                 \
    TWIN_MIXED_BY(AddDeqRelu, masktype, (detail::pair_is<T, U, half, int32_t>()), "int32_t to half")
TWIN_ADD_DEQ_BY(uint64_t mask)
TWIN_ADD_DEQ_BY(uint64_t mask[])

// ---- dst += src0 * src1 and dst += scalar * src: in one type, or from half into float
#define TWIN_ACCUMULATES                                                             \
    (detail::pair_is<T, U, half, half>() || detail::pair_is<T, U, float, float>() || \
     detail::pair_is<T, U, float, half>())
namespace detail {
template <typename T, typename U, typename R> void mul_add(const LocalTensor<T>& dst, const LocalTensor<U>& src0,
                                                           const LocalTensor<U>& src1, const R& r, ::twin::Here here) {
    static_assert(TWIN_ACCUMULATES,
                  "MulAddDst on Atlas A2 takes half or float throughout, or half sources and a float destination");
    if constexpr (std::is_same_v<T, U>)
        ::twin::binary(::twin::Op::MulAddDst, ::twin::dt<T>(), dst.loc_, src0.loc_, src1.loc_, r, here);
    else mixed<::twin::Op::MulAddDst>(dst, src0, src1, ::twin::Value{0}, r, here);
}
template <typename T, typename U, typename R>
void axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& v, const R& r, ::twin::Here here) {
    static_assert(TWIN_ACCUMULATES,
                  "Axpy on Atlas A2 takes half or float throughout, or a half source and a float destination");
    if constexpr (std::is_same_v<T, U>)
        ::twin::scalar(::twin::Op::Axpy, ::twin::dt<T>(), dst.loc_, src.loc_, ::twin::value_of(v), r, here);
    else mixed<::twin::Op::Axpy>(dst, src, src, ::twin::value_of(v), r, here);
}
}  // namespace detail
template <typename T, typename U> void MulAddDst(const LocalTensor<T>& dst, const LocalTensor<U>& src0,
                                                 const LocalTensor<U>& src1, const int32_t& count, TWIN_HERE) {
    detail::mul_add(dst, src0, src1, count, here);
}
template <typename T, typename U>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue, const int32_t& count, TWIN_HERE) {
    detail::axpy(dst, src, scalarValue, count, here);
}
#define TWIN_ACCUMULATE_BY(dstmask, axpymask)                                                                  \
    template <typename T, typename U, bool isSetMask = true>                                                   \
    void MulAddDst(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, dstmask, \
                   const ::twin::Arg8 repeatTime, const BinaryRepeatParams& p, TWIN_HERE) {                    \
        detail::mul_add(dst, src0, src1, detail::rep(mask, repeatTime, p, isSetMask), here);                   \
    }                                                                                                          \
    template <typename T, typename U, bool isSetMask = true>                                                   \
    void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue, axpymask,            \
              const ::twin::Arg8 repeatTime, const UnaryRepeatParams& p, TWIN_HERE) {                          \
        detail::axpy(dst, src, scalarValue, detail::rep(mask, repeatTime, p, isSetMask), here);                \
    }
TWIN_ACCUMULATE_BY(uint64_t mask, uint64_t mask)
TWIN_ACCUMULATE_BY(const uint64_t mask[], uint64_t mask[])
template <typename T, typename U> void Axpy(const LocalTensor<T>&, const LocalTensor<U>&, ...) {
    static_assert(sizeof(T) == 0,
                  "Axpy takes a scalar of the source's own type, as in Axpy(dst, src, U(2), count), or a mask, repeats "
                  "and UnaryRepeatParams in place of the count");
}

}  // namespace AscendC
