// Copies between GM and UB, and how stores combine with what GM holds.
#pragma once
#include "twin/c_api/forms.h"
#include "twin/memory/atomic.h"

// ---- in units of 32 bytes; a size in bytes is one of whole blocks: of another the device drops the rest, and
// DataCopy's finding says so
#define TWIN_C_COPY(name, to, from, raw, whole)                                                                 \
    inline void name(to* dst, from* src, ::twin::Arg16 n_burst, ::twin::Arg16 len_burst, ::twin::Arg16 src_gap, \
                     ::twin::Arg16 dst_gap, TWIN_HERE) {                                                        \
        TWIN_C_VECTOR(raw(dst, src, 0, n_burst, len_burst, src_gap, dst_gap, here));                            \
    }                                                                                                           \
    inline void name(to* dst, from* src, uint32_t size, TWIN_HERE) { TWIN_C_VECTOR(whole); }                    \
    inline void name##_sync(to* dst, from* src, uint32_t size, TWIN_HERE) {                                     \
        name(dst, src, size, here);                                                                             \
        pipe_barrier(PIPE_ALL, here);                                                                           \
    }
TWIN_C_COPY(asc_copy_gm2ub, void, const void, copy_gm_to_ubuf,
            ::twin::copy_in(::twin::ub_at(dst, here), ::twin::gm_at(src), AscendC::detail::contiguous<uint8_t>(size),
                            here))
TWIN_C_COPY(asc_copy_ub2gm, void, void, copy_ubuf_to_gm,
            ::twin::copy_out(::twin::gm_at(dst), ::twin::ub_at(src, here), AscendC::detail::contiguous<uint8_t>(size),
                             here))
TWIN_C_COPY(asc_copy_ub2ub, void, void, copy_ubuf_to_ubuf,
            ::twin::copy_count(::twin::ub_at(dst, here), ::twin::ub_at(src, here), size, 1, here))
#undef TWIN_C_COPY

// ---- lengths and sizes in bytes
#define TWIN_C_COPY_ALIGN(name, from, raw)                                                                           \
    template <typename T> void name(T* dst, from* src, ::twin::Arg16 n_burst, uint32_t len_burst,                    \
                                    ::twin::Arg8 left_padding_num, ::twin::Arg8 right_padding_num, uint32_t src_gap, \
                                    uint32_t dst_gap, TWIN_HERE) {                                                   \
        if constexpr (sizeof(T) == 1) {                                                                              \
            TWIN_C_VECTOR(raw##_b8(dst, src, 0, n_burst, len_burst, left_padding_num, right_padding_num, src_gap,    \
                                   dst_gap, here));                                                                  \
        } else if constexpr (sizeof(T) == 2) {                                                                       \
            TWIN_C_VECTOR(raw##_b16(dst, src, 0, n_burst, len_burst, left_padding_num, right_padding_num, src_gap,   \
                                    dst_gap, here));                                                                 \
        } else {                                                                                                     \
            TWIN_C_VECTOR(raw##_b32(dst, src, 0, n_burst, len_burst, left_padding_num, right_padding_num, src_gap,   \
                                    dst_gap, here));                                                                 \
        }                                                                                                            \
    }                                                                                                                \
    template <typename T> void name(T* dst, from* src, uint32_t size, TWIN_HERE) {                                   \
        name(dst, src, 1, size, 0, 0, 0, 0, here);                                                                   \
    }                                                                                                                \
    template <typename T> void name##_sync(T* dst, from* src, uint32_t size, TWIN_HERE) {                            \
        name(dst, src, size, here);                                                                                  \
        pipe_barrier(PIPE_ALL, here);                                                                                \
    }
TWIN_C_COPY_ALIGN(asc_copy_gm2ub_align, const std::remove_const_t<T>, copy_gm_to_ubuf_align)
TWIN_C_COPY_ALIGN(asc_copy_ub2gm_align, T, copy_ubuf_to_gm_align)
#undef TWIN_C_COPY_ALIGN
template <typename T> void asc_set_copy_pad_val(T pad_value) {
    uint64_t bits = 0;
    __builtin_memcpy(&bits, &pad_value, sizeof pad_value);
    TWIN_C_VECTOR(set_mov_pad_val(bits));
}

// ---- atomic stores
#define TWIN_C_ATOMIC(type_name, T)                                                           \
    inline void asc_set_atomic_add_##type_name(TWIN_HERE) { AscendC::SetAtomicAdd<T>(here); } \
    inline void asc_set_atomic_max_##type_name(TWIN_HERE) { AscendC::SetAtomicMax<T>(here); } \
    inline void asc_set_atomic_min_##type_name(TWIN_HERE) { AscendC::SetAtomicMin<T>(here); }
TWIN_C_ATOMIC(float, float)
TWIN_C_ATOMIC(float16, half)
TWIN_C_ATOMIC(bfloat, bfloat16_t)
TWIN_C_ATOMIC(int, int32_t)
TWIN_C_ATOMIC(int16, int16_t)
TWIN_C_ATOMIC(int8, int8_t)
#undef TWIN_C_ATOMIC
inline void asc_set_atomic_none(TWIN_HERE) { AscendC::SetAtomicNone(here); }
