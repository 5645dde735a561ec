// Conversions. The letters behind the types are the rounding: rn to nearest even, rna to nearest away from zero, rd
// down, ru up, rz towards zero, ro to odd.
#pragma once
#include "twin/c_api/forms.h"
#include "twin/vector/mixed.h"

#define TWIN_C_CONVERT(name, to, from, ...)                                                    \
    inline void name(to* dst, from* src, TWIN_C_UNARY_STRIDES) { TWIN_C_VECTOR(__VA_ARGS__); } \
    TWIN_C_COUNTED(, name, (to * dst, from * src), (dst, src),                                 \
                   name(dst, src, 1, 1, 1, ::twin::dense<to, from>(), ::twin::dense<from, to>(), here))
#define TWIN_C_CAST(name, to, from, mode)                                                                           \
    TWIN_C_CONVERT(name, to, from,                                                                                  \
                   AscendC::Cast<to, from, false>(TWIN_C_TENSOR(dst), TWIN_C_TENSOR(src), AscendC::RoundMode::mode, \
                                                  uint64_t(0), repeat, TWIN_C_UNARY_PARAMS, here))
#define TWIN_C_CAST_ROUNDED(name, to, from)       \
    TWIN_C_CAST(name##_rn, to, from, CAST_RINT)   \
    TWIN_C_CAST(name##_rna, to, from, CAST_ROUND) \
    TWIN_C_CAST(name##_rd, to, from, CAST_FLOOR)  \
    TWIN_C_CAST(name##_ru, to, from, CAST_CEIL)   \
    TWIN_C_CAST(name##_rz, to, from, CAST_TRUNC)
TWIN_C_CAST(asc_bfloat162float, float, bfloat16_t, CAST_NONE)
TWIN_C_CAST(asc_half2float, float, half, CAST_NONE)
TWIN_C_CAST(asc_int162float, float, int16_t, CAST_NONE)
TWIN_C_CAST(asc_int322float, float, int32_t, CAST_NONE)
TWIN_C_CAST(asc_float2half, half, float, CAST_NONE)
TWIN_C_CAST(asc_float2half_ro, half, float, CAST_ODD)
TWIN_C_CAST(asc_int42half, half, AscendC::int4b_t, CAST_NONE)
TWIN_C_CAST(asc_int82half, half, int8_t, CAST_NONE)
TWIN_C_CAST(asc_uint82half, half, uint8_t, CAST_NONE)
TWIN_C_CAST(asc_int162half, half, int16_t, CAST_NONE)
TWIN_C_CAST(asc_half2int4, AscendC::int4b_t, half, CAST_NONE)
TWIN_C_CAST(asc_half2int8, int8_t, half, CAST_NONE)
TWIN_C_CAST(asc_half2uint8, uint8_t, half, CAST_NONE)
TWIN_C_CAST(asc_int322int16, int16_t, int32_t, CAST_NONE)
TWIN_C_CAST(asc_int322int64, int64_t, int32_t, CAST_NONE)
TWIN_C_CAST(asc_int642int32, int32_t, int64_t, CAST_NONE)
TWIN_C_CAST_ROUNDED(asc_bfloat162int32, int32_t, bfloat16_t)
TWIN_C_CAST_ROUNDED(asc_float2bfloat16, bfloat16_t, float)
TWIN_C_CAST_ROUNDED(asc_float2float, float, float)
TWIN_C_CAST_ROUNDED(asc_float2half, half, float)
TWIN_C_CAST_ROUNDED(asc_float2int16, int16_t, float)
TWIN_C_CAST_ROUNDED(asc_float2int32, int32_t, float)
TWIN_C_CAST_ROUNDED(asc_float2int64, int64_t, float)
TWIN_C_CAST_ROUNDED(asc_half2int4, AscendC::int4b_t, half)
TWIN_C_CAST_ROUNDED(asc_half2int8, int8_t, half)
TWIN_C_CAST_ROUNDED(asc_half2uint8, uint8_t, half)
TWIN_C_CAST_ROUNDED(asc_half2int16, int16_t, half)
TWIN_C_CAST_ROUNDED(asc_half2int32, int32_t, half)
TWIN_C_CAST_ROUNDED(asc_int162half, half, int16_t)
TWIN_C_CAST_ROUNDED(asc_int322float, float, int32_t)
TWIN_C_CAST_ROUNDED(asc_int642float, float, int64_t)
#undef TWIN_C_CAST_ROUNDED
#undef TWIN_C_CAST

// ---- with the factors of asc_set_deq_scale
TWIN_C_CONVERT(asc_deq_int322half, half, int32_t,
               AscendC::CastDeq<half, int32_t, false, false>(TWIN_C_TENSOR(dst), TWIN_C_TENSOR(src), int32_t(0), repeat,
                                                             TWIN_C_UNARY_PARAMS, here))
#undef TWIN_C_CONVERT
// Each block of 16 numbers leaves 16 bytes in the lower (l) or upper (h) half of its block.
#define TWIN_C_DEQ(name, vector, high)                                                               \
    template <typename D> void name(D* dst, int16_t* src, TWIN_C_UNARY_STRIDES) {                    \
        TWIN_C_VECTOR(AscendC::CastDeq<D, int16_t, false, vector, high>(                             \
            TWIN_C_TENSOR(dst), TWIN_C_TENSOR(src), int32_t(0), repeat, TWIN_C_UNARY_PARAMS, here)); \
    }                                                                                                \
    TWIN_C_COUNTED(template <typename D>, name, (D * dst, int16_t* src), (dst, src),                 \
                   name(dst, src, 1, 1, 1, 8, 8, here))
TWIN_C_DEQ(asc_deq_int162b8_l, false, false)
TWIN_C_DEQ(asc_deq_int162b8_h, false, true)
TWIN_C_DEQ(asc_vdeq_int162b8_l, true, false)
TWIN_C_DEQ(asc_vdeq_int162b8_h, true, true)
#undef TWIN_C_DEQ
inline void asc_set_deq_scale(half scale) { AscendC::SetDeqScale(scale); }
inline void asc_set_deq_scale(float scale, int16_t offset, bool sign_mode) {
    AscendC::SetDeqScale(scale, offset, sign_mode);
}
constexpr uint8_t ASC_VDEQ_SIZE = 16;
inline void asc_set_deq_scale(uint64_t* tmp, float scale_arr[ASC_VDEQ_SIZE], int16_t offset_arr[ASC_VDEQ_SIZE],
                              bool sign_mode_arr[ASC_VDEQ_SIZE], TWIN_HERE) {
    TWIN_C_VECTOR(
        AscendC::SetDeqScale(TWIN_C_TENSOR(tmp), AscendC::VdeqInfo(scale_arr, offset_arr, sign_mode_arr), here));
}
