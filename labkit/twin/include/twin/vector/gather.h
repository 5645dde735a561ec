// Instructions that pick elements: Gather by offsets, Gatherb by blocks, GatherMask by bits; Brcb; index sequences.
#pragma once
#include "twin/vector/vector.h"

namespace twin {
void gather(Dt, Loc d, Loc s, Loc offset, uint32_t base, int64_t n, Here);
void gather(Dt, Loc d, Loc s, Loc offset, uint32_t base, const Rep&, Here);
void gather_blocks(Dt, Loc d, Loc s, Loc offset, const Rep&, Here);
// bits: the pattern's tensor, or null and `pattern` 1..7. src0_* are the source's strides, src1_rep that of the bits.
uint64_t gather_mask(Dt, Loc d, Loc s, const Loc* bits, uint8_t pattern, bool counter, uint32_t mask, const Rep&, Here);
int64_t gathered();  // number of elements that the last GatherMask kept
void broadcast_blocks(Dt, Loc d, Loc s, const Rep&, Here);
void progression(Op, Dt, Loc d, Value first, Value step, int64_t n, Here);
void progression(Dt, Loc d, Value first, const Rep&, Here);
}  // namespace twin

namespace AscendC {

struct GatherRepeatParams {
    GatherRepeatParams() {}
    GatherRepeatParams(::twin::Arg8 dstBlk, ::twin::Arg8 dstRep) : dstRepStride(dstRep), dstBlkStride(dstBlk) {}
    uint32_t blockNumber = 8;  // this and the source strides are reserved: the offsets say where the blocks are
    ::twin::Arg16 dstRepStride = 8;
    ::twin::Arg8 dstBlkStride = 1, src0BlkStride = 1, src1BlkStride = 1, src0RepStride = 8, src1RepStride = 8;
    bool repeatStrideMode = false, strideSizeMode = false;
};
struct BrcbRepeatParams {
    BrcbRepeatParams() {}
    BrcbRepeatParams(::twin::Arg16 dstBlk, ::twin::Arg16 dstRep) : dstRepStride(dstRep), dstBlkStride(dstBlk) {}
    uint32_t blockNumber = 8;
    ::twin::Arg16 dstRepStride = 8, dstBlkStride = 1;
    ::twin::Arg8 src0BlkStride = 1, src1BlkStride = 1, src0RepStride = 8, src1RepStride = 8;
    bool repeatStrideMode = false, strideSizeMode = false;
};
struct GatherMaskParams {
    GatherMaskParams() {}
    GatherMaskParams(::twin::Arg8 srcBlk, ::twin::Arg16 times, ::twin::Arg16 srcRep, ::twin::Arg8 bitsRep)
        : src0BlockStride(srcBlk), repeatTimes(times), src0RepeatStride(srcRep), src1RepeatStride(bitsRep) {}
    ::twin::Arg8 src0BlockStride = 1;
    ::twin::Arg16 repeatTimes = 0, src0RepeatStride = 8;
    ::twin::Arg8 src1RepeatStride = 8;
};
enum class GatherMaskMode : uint8_t { VERSION_V1, VERSION_V2 };
constexpr GatherMaskMode defaultGatherMaskMode = GatherMaskMode::VERSION_V2;

#define TWIN_ALLOW_16_32(name)                                                                                    \
    TWIN_ALLOW(name, "half, bfloat16_t, float, int16_t, uint16_t, int32_t and uint32_t", half, bfloat16_t, float, \
               int16_t, uint16_t, int32_t, uint32_t)

namespace detail {
template <typename M>::twin::Rep gather_rep(M mask, int32_t times, uint16_t dstRep) {
    ::twin::Rep r = masked(mask, times);
    r.dst_rep = dstRep;
    return r;
}
inline ::twin::Rep blocks_rep(int32_t times, uint16_t dstBlk, uint16_t dstRep) {
    ::twin::Rep r;
    r.times = times;
    r.dst_blk = dstBlk;
    r.dst_rep = dstRep;
    return r;
}
inline ::twin::Rep sieve(const GatherMaskParams& p) {
    ::twin::Rep r;
    r.times = p.repeatTimes;
    r.src0_blk = p.src0BlockStride;
    r.src0_rep = p.src0RepeatStride;
    r.src1_rep = p.src1RepeatStride;
    return r;
}
}  // namespace detail

// ---- by offsets, in bytes from src + srcBaseAddr
template <typename T> void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                  const LocalTensor<uint32_t>& srcOffset, const uint32_t srcBaseAddr,
                                  const uint32_t count, TWIN_HERE) {
    TWIN_ALLOW_16_32("Gather");
    ::twin::gather(::twin::dt<T>(), dst.loc_, src.loc_, srcOffset.loc_, srcBaseAddr, count, here);
}
template <typename T> void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                  const LocalTensor<uint32_t>& srcOffset, const uint32_t srcBaseAddr,
                                  const uint64_t mask, const ::twin::Arg8 repeatTime, const uint16_t dstRepStride,
                                  TWIN_HERE) {
    TWIN_ALLOW_16_32("Gather");
    ::twin::gather(::twin::dt<T>(), dst.loc_, src.loc_, srcOffset.loc_, srcBaseAddr,
                   detail::gather_rep(mask, repeatTime, dstRepStride), here);
}
template <typename T> void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                  const LocalTensor<uint32_t>& srcOffset, const uint32_t srcBaseAddr,
                                  const uint64_t mask[], const ::twin::Arg8 repeatTime, const uint16_t dstRepStride,
                                  TWIN_HERE) {
    TWIN_ALLOW_16_32("Gather");
    ::twin::gather(::twin::dt<T>(), dst.loc_, src.loc_, srcOffset.loc_, srcBaseAddr,
                   detail::gather_rep(mask, repeatTime, dstRepStride), here);
}
template <typename T> void Gatherb(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                   const LocalTensor<uint32_t>& offset, const ::twin::Arg8 repeatTime,
                                   const GatherRepeatParams& p, TWIN_HERE) {
    TWIN_ALLOW("Gatherb", "uint16_t and uint32_t (ReinterpretCast the tensor)", uint16_t, uint32_t);
    ::twin::gather_blocks(::twin::dt<T>(), dst.loc_, src.loc_, offset.loc_,
                          detail::blocks_rep(repeatTime, p.dstBlkStride, p.dstRepStride), here);
}
template <typename T, typename... Args> void Scatter(const LocalTensor<T>&, const Args&...) {
    static_assert(sizeof(T) == 0,
                  "Scatter is not there on Atlas A2: write the elements with SetValue, or turn it into a Gather with "
                  "the inverse offsets");
}

// ---- by bits. rsvdCnt returns how many were kept; the mask mode is normal afterwards.
template <typename T, typename U, GatherMaskMode mode = defaultGatherMaskMode>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<U>& src1Pattern,
                const bool reduceMode, const uint32_t mask, const GatherMaskParams& p, uint64_t& rsvdCnt, TWIN_HERE) {
    TWIN_ALLOW_16_32("GatherMask");
    static_assert(IsSameType<U, uint16_t>::value || IsSameType<U, uint32_t>::value,
                  "GatherMask takes its bits as uint16_t (16-bit elements) or uint32_t (32-bit elements)");
    static_assert(
        sizeof(U) == sizeof(T),
        "GatherMask takes its bits in words as wide as the elements: uint16_t for 16-bit, uint32_t for 32-bit types");
    rsvdCnt = ::twin::gather_mask(::twin::dt<T>(), dst.loc_, src0.loc_, &src1Pattern.loc_, 0, reduceMode, mask,
                                  detail::sieve(p), here);
}
template <typename T, GatherMaskMode mode = defaultGatherMaskMode>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const uint8_t src1Pattern, const bool reduceMode,
                const uint32_t mask, const GatherMaskParams& p, uint64_t& rsvdCnt, TWIN_HERE) {
    TWIN_ALLOW_16_32("GatherMask");
    rsvdCnt = ::twin::gather_mask(::twin::dt<T>(), dst.loc_, src0.loc_, nullptr, src1Pattern, reduceMode, mask,
                                  detail::sieve(p), here);
}
inline int64_t GetGatherMaskRemainCount() { return ::twin::gathered(); }

// ---- each of 8 elements a repeat fills one block
template <typename T> void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src, const ::twin::Arg8 repeatTime,
                                const BrcbRepeatParams& p, TWIN_HERE) {
    TWIN_ALLOW_16_32("Brcb");
    ::twin::broadcast_blocks(::twin::dt<T>(), dst.loc_, src.loc_,
                             detail::blocks_rep(repeatTime, p.dstBlkStride, p.dstRepStride), here);
}

// ---- index sequences
#define TWIN_ALLOW_INDEX(name) TWIN_ALLOW(name, "int16_t, half, int32_t and float", int16_t, half, int32_t, float)
template <typename T> void CreateVecIndex(const LocalTensor<T>& dst, const T& firstValue, uint32_t count, TWIN_HERE) {
    TWIN_ALLOW_INDEX("CreateVecIndex");
    ::twin::progression(::twin::Op::CreateVecIndex, ::twin::dt<T>(), dst.loc_, ::twin::value_of(firstValue),
                        ::twin::value_of(T(1)), count, here);
}
template <typename T> void CreateVecIndex(const LocalTensor<T>& dst, const T& firstValue, uint64_t mask,
                                          ::twin::Arg8 repeatTime, ::twin::Arg16 dstBlkStride,
                                          ::twin::Arg8 dstRepStride, TWIN_HERE) {
    TWIN_ALLOW_INDEX("CreateVecIndex");
    ::twin::progression(::twin::dt<T>(), dst.loc_, ::twin::value_of(firstValue),
                        detail::rep(mask, repeatTime, UnaryRepeatParams(dstBlkStride, 1, dstRepStride, 8)), here);
}
template <typename T> void CreateVecIndex(const LocalTensor<T>& dst, const T& firstValue, uint64_t mask[],
                                          ::twin::Arg8 repeatTime, ::twin::Arg16 dstBlkStride,
                                          ::twin::Arg8 dstRepStride, TWIN_HERE) {
    TWIN_ALLOW_INDEX("CreateVecIndex");
    ::twin::progression(
        ::twin::dt<T>(), dst.loc_, ::twin::value_of(firstValue),
        detail::rep((const uint64_t*)mask, repeatTime, UnaryRepeatParams(dstBlkStride, 1, dstRepStride, 8)), here);
}
template <typename T>
void Arange(const LocalTensor<T>& dst, const T firstValue, const T diffValue, const int32_t count, TWIN_HERE) {
    TWIN_ALLOW_INDEX("Arange");
    ::twin::progression(::twin::Op::Arange, ::twin::dt<T>(), dst.loc_, ::twin::value_of(firstValue),
                        ::twin::value_of(diffValue), count, here);
}
template <typename T> void ArithProgression(const LocalTensor<T>& dst, const T firstValue, const T diffValue,
                                            const int32_t count, TWIN_HERE) {
    Arange(dst, firstValue, diffValue, count, here);
}

template <typename T, typename... Args> void Interleave(const LocalTensor<T>&, const Args&...) {
    static_assert(sizeof(T) == 0, "Interleave is not there on Atlas A2: use Gather with offsets, or TransDataTo5HD");
}
template <typename T, typename... Args> void DeInterleave(const LocalTensor<T>&, const Args&...) {
    static_assert(sizeof(T) == 0, "DeInterleave is not there on Atlas A2: use GatherMask with the patterns 1 and 2");
}

}  // namespace AscendC
