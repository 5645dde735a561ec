// Transpose of 16 x 16 and of NCHW, TransDataTo5HD. The conversions that take a tiling are in twin/library/layout.h.
#pragma once
#include "twin/vector/vector.h"

namespace twin {
struct Blocks16 {  // what TransDataTo5HD works on: 16 blocks of 32 bytes, and how far each moves on a repeat
    Loc block[16];
    uint32_t step = 0;  // blocks
    bool high = false;  // of 8-bit elements: the upper half of each block
};
void trans_5hd(Dt, const Blocks16& d, const Blocks16& s, int32_t times, Here);
Loc pointed_at(uint64_t address, Here);  // what GetPhyAddr returned, as an operand
void transpose16(Dt, Loc d, Loc s, Here);
void transpose_image(Dt, Loc d, Loc s, Loc tmp, uint32_t n, uint32_t c, uint32_t hw, bool to_nhwc, Here);
void transpose_unknown(int type, Loc d, Here);
}  // namespace twin

namespace AscendC {

constexpr int32_t NCHW_CONV_ADDR_LIST_SIZE = 16;

enum class TransposeType : uint8_t {
    TRANSPOSE_TYPE_NONE,
    TRANSPOSE_NZ2ND_0213,
    TRANSPOSE_NZ2NZ_0213,
    TRANSPOSE_NZ2NZ_012_WITH_N,
    TRANSPOSE_NZ2ND_012_WITH_N,
    TRANSPOSE_NZ2ND_012_WITHOUT_N,
    TRANSPOSE_NZ2NZ_012_WITHOUT_N,
    TRANSPOSE_ND2ND_ONLY,
    TRANSPOSE_ND_UB_GM,
    TRANSPOSE_GRAD_ND_UB_GM,
    TRANSPOSE_ND2ND_B16,
    TRANSPOSE_NCHW2NHWC,
    TRANSPOSE_NHWC2NCHW,
    TRANSPOSE_ND2ND_021,
    TRANSPOSE_ND2ND_102,
    TRANSPOSE_ND2ND_210,
    TRANSPOSE_ND2NZ_WITH_INTLV
};
struct TransDataTo5HDParams {
    constexpr TransDataTo5HDParams() {}
    constexpr TransDataTo5HDParams(bool dstHigh, bool srcHigh, ::twin::Arg8 times, ::twin::Arg16 dstRep,
                                   ::twin::Arg16 srcRep)
        : dstHighHalf(dstHigh), srcHighHalf(srcHigh), repeatTimes(times), dstRepStride(dstRep), srcRepStride(srcRep) {}
    bool dstHighHalf = false, srcHighHalf = false;
    ::twin::Arg8 repeatTimes = 1;
    ::twin::Arg16 dstRepStride = 0, srcRepStride = 0;
};
struct TransposeParamsExt {
    TransposeParamsExt() {}
    TransposeParamsExt(::twin::Arg16 n, ::twin::Arg16 c, ::twin::Arg16 h, ::twin::Arg16 w, TransposeType type)
        : nSize(n), cSize(c), hSize(h), wSize(w), transposeType(type) {}
    ::twin::Arg16 nSize = 0, cSize = 0, hSize = 0, wSize = 0;
    TransposeType transposeType = TransposeType::TRANSPOSE_ND2ND_B16;
};

namespace detail {
inline void trans_5hd(::twin::Dt t, ::twin::Blocks16& d, ::twin::Blocks16& s, const TransDataTo5HDParams& p,
                      ::twin::Here here) {
    d.step = p.dstRepStride;
    d.high = p.dstHighHalf;
    s.step = p.srcRepStride;
    s.high = p.srcHighHalf;
    ::twin::trans_5hd(t, d, s, p.repeatTimes, here);
}
}  // namespace detail

#define TWIN_ALLOW_5HD                                                                                            \
    TWIN_ALLOW("TransDataTo5HD", "int8_t, uint8_t, int16_t, uint16_t, half, int32_t, uint32_t and float", int8_t, \
               uint8_t, int16_t, uint16_t, half, int32_t, uint32_t, float)
template <typename T> void TransDataTo5HD(const LocalTensor<T> (&dstList)[NCHW_CONV_ADDR_LIST_SIZE],
                                          const LocalTensor<T> (&srcList)[NCHW_CONV_ADDR_LIST_SIZE],
                                          const TransDataTo5HDParams& p, TWIN_HERE) {
    TWIN_ALLOW_5HD;
    ::twin::Blocks16 d, s;
    for (int i = 0; i < 16; i++) {
        d.block[i] = dstList[i].loc_;
        s.block[i] = srcList[i].loc_;
    }
    detail::trans_5hd(::twin::dt<T>(), d, s, p, here);
}
template <typename T> void TransDataTo5HD(uint64_t dstList[NCHW_CONV_ADDR_LIST_SIZE],
                                          uint64_t srcList[NCHW_CONV_ADDR_LIST_SIZE], const TransDataTo5HDParams& p,
                                          TWIN_HERE) {
    TWIN_ALLOW_5HD;
    ::twin::Blocks16 d, s;
    for (int i = 0; i < 16; i++) {
        d.block[i] = ::twin::pointed_at(dstList[i], here);
        s.block[i] = ::twin::pointed_at(srcList[i], here);
    }
    detail::trans_5hd(::twin::dt<T>(), d, s, p, here);
}
template <typename T> void TransDataTo5HD(const LocalTensor<uint64_t>& dst, const LocalTensor<uint64_t>& src,
                                          const TransDataTo5HDParams& p, TWIN_HERE) {
    uint64_t to[16], from[16];
    for (int i = 0; i < 16; i++) {
        to[i] = dst.GetValue(i, here);
        from[i] = src.GetValue(i, here);
    }
    TransDataTo5HD<T>(to, from, p, here);
}

template <typename T> void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src, TWIN_HERE) {
    TWIN_ALLOW("Transpose of 16 x 16", "half, int16_t and uint16_t", half, int16_t, uint16_t, bfloat16_t);
    ::twin::transpose16(::twin::dt<T>(), dst.loc_, src.loc_, here);
}
template <typename T> void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                     const LocalTensor<uint8_t>& sharedTmpBuffer, const TransposeParamsExt& p,
                                     TWIN_HERE) {
    constexpr ::twin::Dt t = ::twin::dt<T>();
    if (p.transposeType == TransposeType::TRANSPOSE_ND2ND_B16 && sizeof(T) == 2)
        ::twin::transpose16(t, dst.loc_, src.loc_, here);
    else if (p.transposeType == TransposeType::TRANSPOSE_NCHW2NHWC ||
             p.transposeType == TransposeType::TRANSPOSE_NHWC2NCHW)
        ::twin::transpose_image(t, dst.loc_, src.loc_, sharedTmpBuffer.loc_, p.nSize, p.cSize,
                                uint32_t(p.hSize) * p.wSize, p.transposeType == TransposeType::TRANSPOSE_NCHW2NHWC,
                                here);
    else if (p.transposeType != TransposeType::TRANSPOSE_TYPE_NONE)
        ::twin::transpose_unknown(int(p.transposeType), dst.loc_, here);
}

}  // namespace AscendC
