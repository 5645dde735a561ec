// The three forms of a C interface: with repeats and strides; for `count` elements; for `count` elements, waiting for
// all pipes afterwards (_sync).
#pragma once
#include "twin/launch/sync.h"
#include "twin/vector/raw.h"
#include "twin/vector/raw_copy.h"

#define ASC_IS_AIV ASCEND_IS_AIV
#define ASC_IS_AIC ASCEND_IS_AIC

namespace twin {

// Counter mode for one instruction. The mask register keeps the number, as it does on the device: a form with repeats
// that follows sets its mask again (asc_set_vector_mask).
class CountMask {
public:
    explicit CountMask(uint32_t count) {
        mask_mode(true);
        mask_set(0, count);
    }
    ~CountMask() { mask_mode(false); }
};

// The stride from repeat to repeat, in blocks, of an operand of T where the widest operand is one of Wide: a repeat has
// as many lanes as 256 bytes have of the widest.
template <typename T, typename... Wide> constexpr uint8_t dense() {
    uint32_t widest = bits_of<T>();
    ((widest = bits_of<Wide>() > widest ? bits_of<Wide>() : widest), ...);
    return uint8_t(8 * bits_of<T>() / widest);
}

}  // namespace twin

// What follows the operands: strides between blocks and from repeat to repeat, in blocks of 32 bytes.
#define TWIN_C_BINARY_STRIDES                                                                            \
    ::twin::Arg8 repeat, ::twin::Arg8 dst_block_stride, ::twin::Arg8 src0_block_stride,                  \
        ::twin::Arg8 src1_block_stride, ::twin::Arg8 dst_repeat_stride, ::twin::Arg8 src0_repeat_stride, \
        ::twin::Arg8 src1_repeat_stride, TWIN_HERE
#define TWIN_C_BINARY_PARAMS                                                                               \
    AscendC::BinaryRepeatParams(dst_block_stride, src0_block_stride, src1_block_stride, dst_repeat_stride, \
                                src0_repeat_stride, src1_repeat_stride)
#define TWIN_C_UNARY_STRIDES                                                             \
    ::twin::Arg8 repeat, ::twin::Arg16 dst_block_stride, ::twin::Arg16 src_block_stride, \
        ::twin::Arg16 dst_repeat_stride, ::twin::Arg16 src_repeat_stride, TWIN_HERE
#define TWIN_C_UNARY_PARAMS \
    AscendC::UnaryRepeatParams(dst_block_stride, src_block_stride, dst_repeat_stride, src_repeat_stride)
#define TWIN_C_TENSOR(p) ::twin::tensor_at(p, here)
// Vector instructions are left out where the source is compiled for a cube core.
#define TWIN_C_VECTOR(...)                          \
    do {                                            \
        if constexpr (g_coreType == AscendC::AIV) { \
            __VA_ARGS__;                            \
        }                                           \
    } while (0)

// The forms for a count. template and params: those of the form with repeats, without its strides; call: that form.
#define TWIN_C_COUNTED(template_, name, params, args, call)                              \
    template_ inline void name(TWIN_C_UNPACK params, uint32_t count, TWIN_HERE) {        \
        ::twin::CountMask mask(count);                                                   \
        call;                                                                            \
    }                                                                                    \
    template_ inline void name##_sync(TWIN_C_UNPACK params, uint32_t count, TWIN_HERE) { \
        name(TWIN_C_UNPACK args, count, here);                                           \
        pipe_barrier(PIPE_ALL, here);                                                    \
    }
#define TWIN_C_UNPACK(...) __VA_ARGS__
