// Arithmetic, comparison, selection and reduction.
#pragma once
#include "twin/c_api/forms.h"
#include "twin/vector/compare.h"
#include "twin/vector/fill.h"
#include "twin/vector/mixed.h"

namespace twin {
#define TWIN_C_RELU(name, op)                                                            \
    template <typename D, typename T, typename... Args> void name(const Args&... args) { \
        if constexpr (std::is_same_v<D, T>) AscendC::op<T, false>(args...);              \
        else AscendC::op##Cast<D, T, false>(args...);                                    \
    }
TWIN_C_RELU(add_relu, AddRelu)
TWIN_C_RELU(sub_relu, SubRelu)
#undef TWIN_C_RELU
}  // namespace twin

// ---- two sources
#define TWIN_C_BINARY(name, op)                                                                                        \
    template <typename T> void name(T* dst, T* src0, T* src1, TWIN_C_BINARY_STRIDES) {                                 \
        TWIN_C_VECTOR(AscendC::op<T, false>(TWIN_C_TENSOR(dst), TWIN_C_TENSOR(src0), TWIN_C_TENSOR(src1), uint64_t(0), \
                                            repeat, TWIN_C_BINARY_PARAMS, here));                                      \
    }                                                                                                                  \
    TWIN_C_COUNTED(template <typename T>, name, (T * dst, T * src0, T * src1), (dst, src0, src1),                      \
                   name(dst, src0, src1, 1, 1, 1, 1, 8, 8, 8, here))
TWIN_C_BINARY(asc_add, Add)
TWIN_C_BINARY(asc_sub, Sub)
TWIN_C_BINARY(asc_mul, Mul)
TWIN_C_BINARY(asc_div, Div)
TWIN_C_BINARY(asc_max, Max)
TWIN_C_BINARY(asc_min, Min)
TWIN_C_BINARY(asc_and, And)
TWIN_C_BINARY(asc_or, Or)
TWIN_C_BINARY(asc_mul_add, FusedMulAdd)
TWIN_C_BINARY(asc_mul_add_relu, MulAddRelu)
#undef TWIN_C_BINARY

// The destination's type may be another one.
#define TWIN_C_MIXED(name, ...)                                                                                      \
    template <typename D, typename T> void name(D* dst, T* src0, T* src1, TWIN_C_BINARY_STRIDES) {                   \
        TWIN_C_VECTOR(__VA_ARGS__(TWIN_C_TENSOR(dst), TWIN_C_TENSOR(src0), TWIN_C_TENSOR(src1), uint64_t(0), repeat, \
                                  TWIN_C_BINARY_PARAMS, here));                                                      \
    }                                                                                                                \
    TWIN_C_COUNTED(                                                                                                  \
        TWIN_C_UNPACK(template <typename D, typename T>), name, (D * dst, T * src0, T * src1), (dst, src0, src1),    \
        name(dst, src0, src1, 1, 1, 1, 1, ::twin::dense<D, T>(), ::twin::dense<T, D>(), ::twin::dense<T, D>(), here))
TWIN_C_MIXED(asc_fma, AscendC::MulAddDst<D, T, false>)  // dst += src0 * src1
TWIN_C_MIXED(asc_mul_cast_half2int8, AscendC::MulCast<D, T, false>)
TWIN_C_MIXED(asc_mul_cast_half2uint8, AscendC::MulCast<D, T, false>)
TWIN_C_MIXED(asc_add_relu, ::twin::add_relu<D, T>)
TWIN_C_MIXED(asc_sub_relu, ::twin::sub_relu<D, T>)
#undef TWIN_C_MIXED

// ---- one source
#define TWIN_C_UNARY(name, op)                                                                           \
    template <typename T> void name(T* dst, T* src, TWIN_C_UNARY_STRIDES) {                              \
        TWIN_C_VECTOR(AscendC::op<T, false>(TWIN_C_TENSOR(dst), TWIN_C_TENSOR(src), uint64_t(0), repeat, \
                                            TWIN_C_UNARY_PARAMS, here));                                 \
    }                                                                                                    \
    TWIN_C_COUNTED(template <typename T>, name, (T * dst, T * src), (dst, src), name(dst, src, 1, 1, 1, 8, 8, here))
TWIN_C_UNARY(asc_abs, Abs)
TWIN_C_UNARY(asc_exp, Exp)
TWIN_C_UNARY(asc_log, Ln)
TWIN_C_UNARY(asc_not, Not)
TWIN_C_UNARY(asc_rcp, Reciprocal)
TWIN_C_UNARY(asc_relu, Relu)
TWIN_C_UNARY(asc_rsqrt, Rsqrt)
TWIN_C_UNARY(asc_sqrt, Sqrt)
#undef TWIN_C_UNARY

// ---- one source and a scalar
#define TWIN_C_SCALAR(name, op, scalar)                                                                             \
    template <typename T, typename V> void name(T* dst, T* src, V value, TWIN_C_UNARY_STRIDES) {                    \
        TWIN_C_VECTOR(AscendC::op<T, false>(TWIN_C_TENSOR(dst), TWIN_C_TENSOR(src), T(scalar), uint64_t(0), repeat, \
                                            TWIN_C_UNARY_PARAMS, here));                                            \
    }                                                                                                               \
    TWIN_C_COUNTED(TWIN_C_UNPACK(template <typename T, typename V>), name, (T * dst, T * src, V value),             \
                   (dst, src, value), name(dst, src, value, 1, 1, 1, 8, 8, here))
TWIN_C_SCALAR(asc_add_scalar, Adds, value)
TWIN_C_SCALAR(asc_sub_scalar, Adds, -value)
TWIN_C_SCALAR(asc_mul_scalar, Muls, value)
TWIN_C_SCALAR(asc_max_scalar, Maxs, value)
TWIN_C_SCALAR(asc_min_scalar, Mins, value)
TWIN_C_SCALAR(asc_leakyrelu, LeakyRelu, value)
TWIN_C_SCALAR(asc_shiftleft, ShiftLeft, value)
TWIN_C_SCALAR(asc_shiftright, ShiftRight, value)
#undef TWIN_C_SCALAR
template <typename T, typename V> void asc_shiftright_round(T* dst, T* src, V value, TWIN_C_UNARY_STRIDES) {
    TWIN_C_VECTOR(AscendC::ShiftRight<T, false>(TWIN_C_TENSOR(dst), TWIN_C_TENSOR(src), T(value), uint64_t(0), repeat,
                                                TWIN_C_UNARY_PARAMS, true, here));
}
TWIN_C_COUNTED(TWIN_C_UNPACK(template <typename T, typename V>), asc_shiftright_round, (T * dst, T* src, V value),
               (dst, src, value), asc_shiftright_round(dst, src, value, 1, 1, 1, 8, 8, here))
// dst += src * value; dst may be of float where src is of half
template <typename D, typename T, typename V> void asc_axpy(D* dst, T* src, V value, TWIN_C_UNARY_STRIDES) {
    TWIN_C_VECTOR(AscendC::Axpy<D, T, false>(TWIN_C_TENSOR(dst), TWIN_C_TENSOR(src), T(value), uint64_t(0), repeat,
                                             TWIN_C_UNARY_PARAMS, here));
}
TWIN_C_COUNTED(TWIN_C_UNPACK(template <typename D, typename T, typename V>), asc_axpy, (D * dst, T* src, V value),
               (dst, src, value),
               asc_axpy(dst, src, value, 1, 1, 1, ::twin::dense<D, T>(), ::twin::dense<T, D>(), here))

// ---- filling and copying in UB
template <typename T, typename V> void asc_duplicate(T* dst, V src, ::twin::Arg8 repeat, ::twin::Arg16 dst_block_stride,
                                                     ::twin::Arg8 dst_repeat_stride, TWIN_HERE) {
    TWIN_C_VECTOR(AscendC::Duplicate<T, false>(TWIN_C_TENSOR(dst), T(src), uint64_t(0), repeat, dst_block_stride,
                                               dst_repeat_stride, here));
}
TWIN_C_COUNTED(TWIN_C_UNPACK(template <typename T, typename V>), asc_duplicate, (T * dst, V src), (dst, src),
               asc_duplicate(dst, src, 1, 1, 8, here))
template <typename T> void asc_copy(T* dst, T* src, TWIN_C_UNARY_STRIDES) {
    TWIN_C_VECTOR(AscendC::Copy<T, false>(
        TWIN_C_TENSOR(dst), TWIN_C_TENSOR(src), uint64_t(0), repeat,
        AscendC::CopyRepeatParams(dst_block_stride, src_block_stride, dst_repeat_stride, src_repeat_stride), here));
}
TWIN_C_COUNTED(template <typename T>, asc_copy, (T * dst, T* src), (dst, src), asc_copy(dst, src, 1, 1, 1, 8, 8, here))

// ---- comparison: into the register CMPMASK, or one bit an element into dst, whatever the mask is
#define TWIN_C_COMPARE(name, mode)                                                                                     \
    template <typename T> void name(T* src0, T* src1, TWIN_C_BINARY_STRIDES) {                                         \
        TWIN_C_VECTOR(static_cast<void>(repeat);                                                                       \
                      AscendC::Compare<T, false>(TWIN_C_TENSOR(src0), TWIN_C_TENSOR(src1), AscendC::CMPMODE::mode,     \
                                                 uint64_t(0), TWIN_C_BINARY_PARAMS, here));                            \
    }                                                                                                                  \
    template <typename T> void name(uint8_t* dst, T* src0, T* src1, TWIN_C_BINARY_STRIDES) {                           \
        TWIN_C_VECTOR(AscendC::Compare(TWIN_C_TENSOR(dst), TWIN_C_TENSOR(src0), TWIN_C_TENSOR(src1),                   \
                                       AscendC::CMPMODE::mode, uint64_t(256 / sizeof(T)), repeat,                      \
                                       TWIN_C_BINARY_PARAMS, here));                                                   \
    }                                                                                                                  \
    template <typename T> void name##_sync(T* src0, T* src1, TWIN_C_BINARY_STRIDES) {                                  \
        name(src0, src1, repeat, dst_block_stride, src0_block_stride, src1_block_stride, dst_repeat_stride,            \
             src0_repeat_stride, src1_repeat_stride, here);                                                            \
        pipe_barrier(PIPE_ALL, here);                                                                                  \
    }                                                                                                                  \
    template <typename T> void name##_sync(uint8_t* dst, T* src0, T* src1, TWIN_C_BINARY_STRIDES) {                    \
        name(dst, src0, src1, repeat, dst_block_stride, src0_block_stride, src1_block_stride, dst_repeat_stride,       \
             src0_repeat_stride, src1_repeat_stride, here);                                                            \
        pipe_barrier(PIPE_ALL, here);                                                                                  \
    }                                                                                                                  \
    template <typename T, typename V> void name##_scalar(uint8_t* dst, T* src, V value, TWIN_C_UNARY_STRIDES) {        \
        TWIN_C_VECTOR(AscendC::CompareScalar(TWIN_C_TENSOR(dst), TWIN_C_TENSOR(src), T(value), AscendC::CMPMODE::mode, \
                                             uint64_t(256 / sizeof(T)), repeat, TWIN_C_UNARY_PARAMS, here));           \
    }                                                                                                                  \
    template <typename T, typename V> void name##_scalar_sync(uint8_t* dst, T* src, V value, TWIN_C_UNARY_STRIDES) {   \
        name##_scalar(dst, src, value, repeat, dst_block_stride, src_block_stride, dst_repeat_stride,                  \
                      src_repeat_stride, here);                                                                        \
        pipe_barrier(PIPE_ALL, here);                                                                                  \
    }
TWIN_C_COMPARE(asc_eq, EQ)
TWIN_C_COMPARE(asc_ne, NE)
TWIN_C_COMPARE(asc_lt, LT)
TWIN_C_COMPARE(asc_le, LE)
TWIN_C_COMPARE(asc_gt, GT)
TWIN_C_COMPARE(asc_ge, GE)
#undef TWIN_C_COMPARE
// CMPMASK, 16 bytes
inline void asc_get_cmp_mask(void* dst, TWIN_HERE) {
    TWIN_C_VECTOR(::twin::compare_mask_get(::twin::ub_at(dst, here), here));
}
inline void asc_set_cmp_mask(void* sel_mask, TWIN_HERE) {
    TWIN_C_VECTOR(::twin::compare_mask_set(::twin::ub_at(sel_mask, here), here));
}
// A bit of CMPMASK that is 1 takes src0, one that is 0 takes src1.
template <typename T> void asc_select(T* dst, T* src0, T* src1, TWIN_C_BINARY_STRIDES) {
    TWIN_C_VECTOR(AscendC::Select<T, AscendC::SELMODE::VSEL_CMPMASK_SPR>(
        TWIN_C_TENSOR(dst), TWIN_C_TENSOR(src0), TWIN_C_TENSOR(src1), repeat, TWIN_C_BINARY_PARAMS, here));
}
TWIN_C_COUNTED(template <typename T>, asc_select, (T * dst, T* src0, T* src1), (dst, src0, src1),
               asc_select(dst, src0, src1, 1, 1, 1, 1, 8, 8, 8, here))

// ---- reductions: of each block of 32 bytes, of each pair, of each repeat
#define TWIN_C_REDUCE_STRIDES                                                             \
    ::twin::Arg8 repeat, ::twin::Arg16 dst_repeat_stride, ::twin::Arg16 src_block_stride, \
        ::twin::Arg16 src_repeat_stride, TWIN_HERE
#define TWIN_C_REDUCE(name, ...)                                                                           \
    template <typename T> void name(T* dst, T* src, TWIN_C_REDUCE_STRIDES) { TWIN_C_VECTOR(__VA_ARGS__); } \
    TWIN_C_COUNTED(template <typename T>, name, (T * dst, T * src), (dst, src), name(dst, src, 1, 1, 1, 8, here))
#define TWIN_C_REDUCE_BLOCKS(name, op)                                                                             \
    TWIN_C_REDUCE(name, AscendC::op<T, false>(TWIN_C_TENSOR(dst), TWIN_C_TENSOR(src), int32_t(repeat), int32_t(0), \
                                              dst_repeat_stride, src_block_stride, src_repeat_stride, here))
TWIN_C_REDUCE_BLOCKS(asc_datablock_reduce_sum, BlockReduceSum)
TWIN_C_REDUCE_BLOCKS(asc_datablock_reduce_max, BlockReduceMax)
TWIN_C_REDUCE_BLOCKS(asc_datablock_reduce_min, BlockReduceMin)
TWIN_C_REDUCE_BLOCKS(asc_pair_reduce_sum, PairReduceSum)
#undef TWIN_C_REDUCE_BLOCKS
TWIN_C_REDUCE(asc_repeat_reduce_sum,
              AscendC::WholeReduceSum<T, false>(TWIN_C_TENSOR(dst), TWIN_C_TENSOR(src), int32_t(0), int32_t(repeat),
                                                dst_repeat_stride, src_block_stride, src_repeat_stride, here))
#define TWIN_C_REDUCE_EXTREME(name, op, order)                                                                     \
    TWIN_C_REDUCE(name, AscendC::op<T, false>(TWIN_C_TENSOR(dst), TWIN_C_TENSOR(src), int32_t(0), int32_t(repeat), \
                                              dst_repeat_stride, src_block_stride, src_repeat_stride,              \
                                              AscendC::ReduceOrder::order, here))
TWIN_C_REDUCE_EXTREME(asc_repeat_reduce_max_value_index, WholeReduceMax, ORDER_VALUE_INDEX)
TWIN_C_REDUCE_EXTREME(asc_repeat_reduce_max_index_value, WholeReduceMax, ORDER_INDEX_VALUE)
TWIN_C_REDUCE_EXTREME(asc_repeat_reduce_max_only_value, WholeReduceMax, ORDER_ONLY_VALUE)
TWIN_C_REDUCE_EXTREME(asc_repeat_reduce_max_only_index, WholeReduceMax, ORDER_ONLY_INDEX)
TWIN_C_REDUCE_EXTREME(asc_repeat_reduce_min_value_index, WholeReduceMin, ORDER_VALUE_INDEX)
TWIN_C_REDUCE_EXTREME(asc_repeat_reduce_min_index_value, WholeReduceMin, ORDER_INDEX_VALUE)
TWIN_C_REDUCE_EXTREME(asc_repeat_reduce_min_only_value, WholeReduceMin, ORDER_ONLY_VALUE)
TWIN_C_REDUCE_EXTREME(asc_repeat_reduce_min_only_index, WholeReduceMin, ORDER_ONLY_INDEX)
#undef TWIN_C_REDUCE_EXTREME
#undef TWIN_C_REDUCE
// What the last reduction left in its register: the bits of the sum; the extreme and its index.
inline int64_t asc_get_acc_val() { return AscendC::GetAccVal(); }
template <typename T> void asc_get_reduce_max_cnt(T& val, uint32_t& index) {
    uint32_t bits;
    ::twin::reduce_extreme(bits, index);
    __builtin_memcpy(&val, &bits, sizeof val);
}
template <typename T> void asc_get_reduce_min_cnt(T& val, uint32_t& index) { asc_get_reduce_max_cnt(val, index); }

// ---- the mask of the forms with repeats
inline void asc_set_mask_count() { ::twin::mask_mode(true); }
inline void asc_set_mask_norm() { ::twin::mask_mode(false); }
inline void asc_set_vector_mask(uint64_t mask1, uint64_t mask0) { ::twin::mask_set(mask1, mask0); }
