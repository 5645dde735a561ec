// Vector instructions by their raw names, on pointers into UB (`__ubuf__ T*`, from GetPhyAddr), as some public kernels
// call them. The mask is the register's, in its mode. dBlk, sBlk, dRep, sRep are strides as in UnaryRepeatParams.
#pragma once
#include "twin/memory/copy.h"
#include "twin/vector/reduce.h"
#include "twin/vector/transpose.h"
#include "twin/vector/vector.h"

namespace twin {

void accumulate(Dt, Loc s, const Rep&, Here);  // the sum of all repeats, for GetAccVal alone

template <typename T> AscendC::LocalTensor<T> tensor_at(T* p, Here here) {
    AscendC::LocalTensor<T> t;
    t.loc_ = pointed_at(uint64_t(p), here);
    return t;
}

}  // namespace twin

#define TWIN_RAW(raw, name)                                                                                       \
    template <typename T> void raw(T* dst, T* src0, T* src1, ::twin::Arg8 repeat, ::twin::Arg8 dBlk,              \
                                   ::twin::Arg8 s0Blk, ::twin::Arg8 s1Blk, ::twin::Arg8 dRep, ::twin::Arg8 s0Rep, \
                                   ::twin::Arg8 s1Rep, TWIN_HERE) {                                               \
        AscendC::name<T, false>(::twin::tensor_at(dst, here), ::twin::tensor_at(src0, here),                      \
                                ::twin::tensor_at(src1, here), uint64_t(0), repeat,                               \
                                AscendC::BinaryRepeatParams(dBlk, s0Blk, s1Blk, dRep, s0Rep, s1Rep), here);       \
    }
TWIN_RAW(vadd, Add)
TWIN_RAW(vsub, Sub)
TWIN_RAW(vmul, Mul)
TWIN_RAW(vdiv, Div)
TWIN_RAW(vmax, Max)
TWIN_RAW(vmin, Min)
TWIN_RAW(vand, And)
TWIN_RAW(vor, Or)
#undef TWIN_RAW

#define TWIN_RAW(raw, name)                                                                                      \
    template <typename T> void raw(T* dst, T* src, ::twin::Arg8 repeat, ::twin::Arg16 dBlk, ::twin::Arg16 sBlk,  \
                                   ::twin::Arg8 dRep, ::twin::Arg8 sRep, TWIN_HERE) {                            \
        AscendC::name<T, false>(::twin::tensor_at(dst, here), ::twin::tensor_at(src, here), uint64_t(0), repeat, \
                                AscendC::UnaryRepeatParams(dBlk, sBlk, dRep, sRep), here);                       \
    }
TWIN_RAW(vabs, Abs)
TWIN_RAW(vexp, Exp)
TWIN_RAW(vln, Ln)
TWIN_RAW(vnot, Not)
TWIN_RAW(vrec, Reciprocal)
TWIN_RAW(vrelu, Relu)
TWIN_RAW(vsqrt, Sqrt)
TWIN_RAW(vrsqrt, Rsqrt)
#undef TWIN_RAW

#define TWIN_RAW(raw, name)                                                                                           \
    template <typename T, typename V> void raw(T* dst, T* src, V value, ::twin::Arg8 repeat, ::twin::Arg16 dBlk,      \
                                               ::twin::Arg16 sBlk, ::twin::Arg8 dRep, ::twin::Arg8 sRep, TWIN_HERE) { \
        AscendC::name<T, false>(::twin::tensor_at(dst, here), ::twin::tensor_at(src, here), T(value), uint64_t(0),    \
                                repeat, AscendC::UnaryRepeatParams(dBlk, sBlk, dRep, sRep), here);                    \
    }
TWIN_RAW(vadds, Adds)
TWIN_RAW(vmuls, Muls)
TWIN_RAW(vmaxs, Maxs)
TWIN_RAW(vmins, Mins)
TWIN_RAW(vlrelu, LeakyRelu)
#undef TWIN_RAW

template <typename T, typename V> void vector_dup(T* dst, V value, ::twin::Arg8 repeat, ::twin::Arg16 dBlk,
                                                  ::twin::Arg16, ::twin::Arg8 dRep, ::twin::Arg8, TWIN_HERE) {
    AscendC::Duplicate<T, false>(::twin::tensor_at(dst, here), T(value), uint64_t(0), repeat, dBlk, dRep, here);
}

// ---- reductions; with `mode` the sum goes to the register that get_acc_val reads, and nowhere else
template <typename T> void vcadd(T* dst, T* src, ::twin::Arg8 repeat, ::twin::Arg16 dRep, ::twin::Arg16 sBlk,
                                 ::twin::Arg16 sRep, bool mode = false, TWIN_HERE) {
    if (!mode)
        return AscendC::WholeReduceSum<T, false>(::twin::tensor_at(dst, here), ::twin::tensor_at(src, here), int32_t(0),
                                                 repeat, dRep, sBlk, sRep, here);
    ::twin::Rep r;
    r.times = repeat;
    r.own = false;
    r.src0_blk = sBlk;
    r.src0_rep = sRep;
    ::twin::accumulate(::twin::dt<T>(), ::twin::tensor_at(src, here).loc_, r, here);
}
template <typename T> void vcadd(std::nullptr_t, T* src, ::twin::Arg8 repeat, ::twin::Arg16 dRep, ::twin::Arg16 sBlk,
                                 ::twin::Arg16 sRep, bool, TWIN_HERE) {
    vcadd(src, src, repeat, dRep, sBlk, sRep, true, here);
}
#define TWIN_RAW(raw, name)                                                                                           \
    template <typename T> void raw(T* dst, T* src, ::twin::Arg8 repeat, ::twin::Arg16 dRep, ::twin::Arg16 sBlk,       \
                                   ::twin::Arg16 sRep, TWIN_HERE) {                                                   \
        AscendC::name<T, false>(::twin::tensor_at(dst, here), ::twin::tensor_at(src, here), repeat, int32_t(0), dRep, \
                                sBlk, sRep, here);                                                                    \
    }                                                                                                                 \
    namespace AscendC {                                                                                               \
    template <typename T> void name##IntrinsicsImpl(T* dst, T* src, ::twin::Arg8 repeat, ::twin::Arg16 dRep,          \
                                                    ::twin::Arg16 sBlk, ::twin::Arg16 sRep, TWIN_HERE) {              \
        name<T, false>(::twin::tensor_at(dst, here), ::twin::tensor_at(src, here), repeat, int32_t(0), dRep, sBlk,    \
                       sRep, here);                                                                                   \
    }                                                                                                                 \
    }
TWIN_RAW(vcgadd, BlockReduceSum)
TWIN_RAW(vcgmax, BlockReduceMax)
TWIN_RAW(vcgmin, BlockReduceMin)
TWIN_RAW(vcpadd, PairReduceSum)
#undef TWIN_RAW
enum class Order_t : uint8_t { VALUE_INDEX, INDEX_VALUE, ONLY_VALUE, ONLY_INDEX };
#define TWIN_RAW(raw, name)                                                                                           \
    template <typename T> void raw(T* dst, T* src, ::twin::Arg8 repeat, ::twin::Arg16 dRep, ::twin::Arg16 sBlk,       \
                                   ::twin::Arg16 sRep, Order_t order, TWIN_HERE) {                                    \
        AscendC::name<T, false>(::twin::tensor_at(dst, here), ::twin::tensor_at(src, here), int32_t(0), repeat, dRep, \
                                sBlk, sRep, AscendC::ReduceOrder(order), here);                                       \
    }
TWIN_RAW(vcmax, WholeReduceMax)
TWIN_RAW(vcmin, WholeReduceMin)
#undef TWIN_RAW
inline int64_t get_acc_val() { return AscendC::GetAccVal(); }

// ---- conversions: the letter behind the types is the rounding
#define TWIN_RAW(raw, to, from, mode)                                                                \
    inline void raw(to* dst, from* src, ::twin::Arg8 repeat, ::twin::Arg16 dBlk, ::twin::Arg16 sBlk, \
                    ::twin::Arg8 dRep, ::twin::Arg8 sRep, TWIN_HERE) {                               \
        AscendC::Cast<to, from, false>(::twin::tensor_at(dst, here), ::twin::tensor_at(src, here),   \
                                       AscendC::RoundMode::mode, uint64_t(0), repeat,                \
                                       AscendC::UnaryRepeatParams(dBlk, sBlk, dRep, sRep), here);    \
    }
#define TWIN_RAW_ROUNDED(raw, to, from)    \
    TWIN_RAW(raw##r, to, from, CAST_RINT)  \
    TWIN_RAW(raw##f, to, from, CAST_FLOOR) \
    TWIN_RAW(raw##c, to, from, CAST_CEIL)  \
    TWIN_RAW(raw##a, to, from, CAST_ROUND) \
    TWIN_RAW(raw##z, to, from, CAST_TRUNC)
TWIN_RAW(vconv_f162f32, float, half, CAST_NONE)
TWIN_RAW(vconv_bf162f32, float, bfloat16_t, CAST_NONE)
TWIN_RAW(vconv_s162f32, float, int16_t, CAST_NONE)
TWIN_RAW(vconv_s322f32, float, int32_t, CAST_NONE)
TWIN_RAW(vconv_s162f16, half, int16_t, CAST_NONE)
TWIN_RAW(vconv_s82f16, half, int8_t, CAST_NONE)
TWIN_RAW(vconv_u82f16, half, uint8_t, CAST_NONE)
TWIN_RAW(vconv_f322f16, half, float, CAST_NONE)
TWIN_RAW(vconv_f322f16o, half, float, CAST_ODD)
TWIN_RAW(vconv_f162s8, int8_t, half, CAST_NONE)
TWIN_RAW(vconv_f162u8, uint8_t, half, CAST_NONE)
TWIN_RAW(vconv_s322s16, int16_t, int32_t, CAST_NONE)
TWIN_RAW(vconv_s322s64, int64_t, int32_t, CAST_NONE)
TWIN_RAW(vconv_s642s32, int32_t, int64_t, CAST_NONE)
TWIN_RAW_ROUNDED(vconv_f322f16, half, float)
TWIN_RAW_ROUNDED(vconv_f322bf16, bfloat16_t, float)
TWIN_RAW_ROUNDED(vconv_f322s32, int32_t, float)
TWIN_RAW_ROUNDED(vconv_f322s16, int16_t, float)
TWIN_RAW_ROUNDED(vconv_f322f32, float, float)
TWIN_RAW_ROUNDED(vconv_f162s32, int32_t, half)
TWIN_RAW_ROUNDED(vconv_f162s16, int16_t, half)
TWIN_RAW_ROUNDED(vconv_f162s8, int8_t, half)
TWIN_RAW_ROUNDED(vconv_bf162s32, int32_t, bfloat16_t)
#undef TWIN_RAW_ROUNDED
#undef TWIN_RAW

// ---- copies: `count` bursts of so many blocks, and the gaps between them
inline void copy_ubuf_to_ubuf(void* dst, void* src, ::twin::Arg8, ::twin::Arg16 count, ::twin::Arg16 blocks,
                              ::twin::Arg16 srcGap, ::twin::Arg16 dstGap, TWIN_HERE) {
    AscendC::DataCopy(::twin::tensor_at((uint8_t*)dst, here), ::twin::tensor_at((uint8_t*)src, here),
                      AscendC::DataCopyParams(count, blocks, srcGap, dstGap), here);
}
