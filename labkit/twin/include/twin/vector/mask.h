// The mask/repeat form's parameters, and the mask register that the forms with isSetMask = false take their mask from.
#pragma once
#include <type_traits>

#include "twin/core/tensor.h"
#include "twin/vector/abi.h"

namespace AscendC {

// Strides in 32-byte blocks: between the blocks of a repeat (Blk) and from repeat to repeat (Rep). The other fields
// exist on the device too and have no effect on A2.
struct UnaryRepeatParams {
    UnaryRepeatParams() {}
    UnaryRepeatParams(::twin::Arg16 dstBlk, ::twin::Arg16 srcBlk, ::twin::Arg8 dstRep, ::twin::Arg8 srcRep)
        : dstBlkStride(dstBlk), srcBlkStride(srcBlk), dstRepStride(dstRep), srcRepStride(srcRep) {}
    UnaryRepeatParams(::twin::Arg16 dstBlk, ::twin::Arg16 srcBlk, ::twin::Arg8 dstRep, ::twin::Arg8 srcRep, bool half)
        : dstBlkStride(dstBlk), srcBlkStride(srcBlk), dstRepStride(dstRep), srcRepStride(srcRep), halfBlock(half) {}
    uint32_t blockNumber = 8;
    ::twin::Arg16 dstBlkStride = 1, srcBlkStride = 1;
    ::twin::Arg8 dstRepStride = 8, srcRepStride = 8;
    bool repeatStrideMode = false, strideSizeMode = false, halfBlock = false;
};
struct BinaryRepeatParams {
    BinaryRepeatParams() {}
    BinaryRepeatParams(::twin::Arg8 dstBlk, ::twin::Arg8 src0Blk, ::twin::Arg8 src1Blk, ::twin::Arg8 dstRep,
                       ::twin::Arg8 src0Rep, ::twin::Arg8 src1Rep)
        : dstBlkStride(dstBlk),
          src0BlkStride(src0Blk),
          src1BlkStride(src1Blk),
          dstRepStride(dstRep),
          src0RepStride(src0Rep),
          src1RepStride(src1Rep) {}
    uint32_t blockNumber = 8;
    ::twin::Arg8 dstBlkStride = 1, src0BlkStride = 1, src1BlkStride = 1;
    ::twin::Arg8 dstRepStride = 8, src0RepStride = 8, src1RepStride = 8;
    bool repeatStrideMode = false, strideSizeMode = false;
};

constexpr uint64_t MASK_PLACEHOLDER = 0;  // stands where a mask is not looked at
constexpr uint64_t MASK_PLACEHOLDER_LIST[2] = {0, 0};
enum class MaskMode : uint8_t { NORMAL, COUNTER };

namespace detail {

// A continuous mask counts lanes of the wider type; more lanes than a repeat has mean all of them.
inline void mask_lanes(::twin::Rep& r, uint64_t lanes) {
    r.mask[0] = lanes >= 64 ? ~0ull : (1ull << lanes) - 1;
    r.mask[1] = lanes >= 128 ? ~0ull : lanes > 64 ? (1ull << (lanes - 64)) - 1 : 0;
}
inline ::twin::Rep masked(uint64_t lanes, int32_t times, bool own = true) {
    ::twin::Rep r;
    r.times = times;
    r.own = own;
    r.asked = lanes < 65536 ? uint32_t(lanes) : 65536;
    if (own) mask_lanes(r, lanes);
    return r;
}
inline ::twin::Rep masked(const uint64_t* bits, int32_t times, bool own = true) {
    ::twin::Rep r;
    r.times = times;
    r.own = own;
    if (own) {
        r.mask[0] = bits[0];
        r.mask[1] = bits[1];
    }
    return r;
}
template <typename M>::twin::Rep rep(M mask, int32_t times, const UnaryRepeatParams& p, bool own = true) {
    ::twin::Rep r = masked(mask, times, own);
    r.dst_blk = p.dstBlkStride;
    r.src0_blk = p.srcBlkStride;
    r.dst_rep = p.dstRepStride;
    r.src0_rep = p.srcRepStride;
    return r;
}
template <typename M>::twin::Rep rep(M mask, int32_t times, const BinaryRepeatParams& p, bool own = true) {
    ::twin::Rep r = masked(mask, times, own);
    r.dst_blk = p.dstBlkStride;
    r.src0_blk = p.src0BlkStride;
    r.src1_blk = p.src1BlkStride;
    r.dst_rep = p.dstRepStride;
    r.src0_rep = p.src0RepStride;
    r.src1_rep = p.src1RepStride;
    return r;
}

}  // namespace detail

// ---- the register: bits of lanes in normal mode, a number of elements in counter mode
template <typename T, MaskMode mode = MaskMode::NORMAL>
void SetVectorMask(const uint64_t maskHigh, const uint64_t maskLow) {
    ::twin::mask_set(maskHigh, maskLow);
}
template <typename T, MaskMode mode = MaskMode::NORMAL> void SetVectorMask(int32_t len) {
    ::twin::Rep r;
    detail::mask_lanes(r, uint64_t(len < 0 ? 0 : len));
    if constexpr (mode == MaskMode::COUNTER) ::twin::mask_set(0, uint64_t(int64_t(len)));
    else ::twin::mask_set(r.mask[1], r.mask[0]);
}
inline void ResetMask() { ::twin::mask_set(~0ull, ~0ull); }
inline void SetMaskCount() { ::twin::mask_mode(true); }
inline void SetMaskNorm() { ::twin::mask_mode(false); }
inline void SetMaskNormImpl() { SetMaskNorm(); }
inline void SetMaskCountImpl() { SetMaskCount(); }

}  // namespace AscendC

// One sentence instead of a page: the types that the A2 documents list for an instruction.
#define TWIN_ALLOW(name, types, ...)                \
    static_assert(::twin::one_of<T, __VA_ARGS__>(), \
                  name " on Atlas A2 takes " types "; Cast to one of these first, or use another instruction")

// The raw spellings that some kernels use.
inline void set_vector_mask(uint64_t high, uint64_t low) { ::twin::mask_set(high, low); }
inline void set_mask_count() { ::twin::mask_mode(true); }
inline void set_mask_norm() { ::twin::mask_mode(false); }
