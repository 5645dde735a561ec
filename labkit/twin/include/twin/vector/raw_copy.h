// The copy instructions by their own names, on pointers: what DataCopy and DataCopyPad become on the device.
#pragma once
#include "twin/memory/copy.h"
#include "twin/vector/transpose.h"

namespace twin {
inline Loc ub_at(const void* p, Here here) {
    Loc l = pointed_at(uint64_t(p), here);
    l.pos = uint8_t(AscendC::TPosition::VECCALC);
    return l;
}
inline Gm gm_at(const void* p) { return {(uint8_t*)p, (const uint8_t*)p}; }
}  // namespace twin

// Lengths and gaps in units of 32 bytes.
inline void copy_gm_to_ubuf(__ubuf__ void* dst, const __gm__ void* src, ::twin::Arg8, ::twin::Arg16 nBurst,
                            ::twin::Arg16 lenBurst, ::twin::Arg16 srcGap, ::twin::Arg16 dstGap, TWIN_HERE) {
    ::twin::copy_in(::twin::ub_at(dst, here), ::twin::gm_at(src),
                    AscendC::detail::blocks32<uint8_t>({nBurst, lenBurst, srcGap, dstGap}), here);
}
inline void copy_ubuf_to_gm(__gm__ void* dst, const __ubuf__ void* src, ::twin::Arg8, ::twin::Arg16 nBurst,
                            ::twin::Arg16 lenBurst, ::twin::Arg16 srcGap, ::twin::Arg16 dstGap, TWIN_HERE) {
    ::twin::copy_out(::twin::gm_at(dst), ::twin::ub_at(src, here),
                     AscendC::detail::blocks32<uint8_t>({nBurst, lenBurst, srcGap, dstGap}), here);
}
inline void copy_ubuf_to_ubuf(__ubuf__ void* dst, const __ubuf__ void* src, ::twin::Arg8, ::twin::Arg16 nBurst,
                              ::twin::Arg16 lenBurst, ::twin::Arg16 srcGap, ::twin::Arg16 dstGap, TWIN_HERE) {
    ::twin::copy_blocks(::twin::ub_at(dst, here), ::twin::ub_at(src, here), nBurst, lenBurst, srcGap, dstGap, here);
}

// Lengths in bytes, any number of them; gaps in bytes at GM and in units of 32 bytes in UB; padding in elements.
#define TWIN_RAW_ALIGN(bits, type)                                                                                 \
    inline void copy_gm_to_ubuf_align_b##bits(__ubuf__ void* dst, const __gm__ void* src, ::twin::Arg8,            \
                                              ::twin::Arg16 nBurst, uint32_t lenBurst, ::twin::Arg8 left,          \
                                              ::twin::Arg8 right, uint32_t srcGap, uint32_t dstGap, TWIN_HERE) {   \
        auto d = AscendC::detail::pad_in<type>(nBurst, lenBurst, srcGap, dstGap, false, left, right, 0);           \
        d.whole = 1;                                                                                               \
        ::twin::copy_in(::twin::ub_at(dst, here), ::twin::gm_at(src), d, here);                                    \
    }                                                                                                              \
    inline void copy_ubuf_to_gm_align_b##bits(__gm__ void* dst, const __ubuf__ void* src, ::twin::Arg8,            \
                                              ::twin::Arg16 nBurst, uint32_t lenBurst, ::twin::Arg8, ::twin::Arg8, \
                                              uint32_t srcGap, uint32_t dstGap, TWIN_HERE) {                       \
        auto d = AscendC::detail::pad_out<type>(nBurst, lenBurst, srcGap, dstGap);                                 \
        d.whole = 1;                                                                                               \
        ::twin::copy_out(::twin::gm_at(dst), ::twin::ub_at(src, here), d, here);                                   \
    }
TWIN_RAW_ALIGN(8, uint8_t)
TWIN_RAW_ALIGN(16, uint16_t)
TWIN_RAW_ALIGN(32, uint32_t)
#undef TWIN_RAW_ALIGN
inline void set_mov_pad_val(uint64_t value) { ::twin::set_pad_value(value); }
// An address on the chip as a number: kernels cast it to a pointer into UB.
inline int64_t get_imm(int64_t immediate) { return int64_t(uint64_t(::twin::address({}))) + immediate; }
