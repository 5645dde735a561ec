// Instructions that pick, spread and sort elements.
#pragma once
#include "twin/c_api/forms.h"
#include "twin/vector/gather.h"
#include "twin/vector/sort.h"
#include "twin/vector/transpose.h"

// For the calls that have no form with a count: the same again, waiting for all pipes.
#define TWIN_C_SYNC(template_, name, params, args)                \
    template_ void name##_sync(TWIN_C_UNPACK params, TWIN_HERE) { \
        name(TWIN_C_UNPACK args, here);                           \
        pipe_barrier(PIPE_ALL, here);                             \
    }

// ---- by offsets, in bytes from src
template <typename T>
void asc_gather(T* dst, T* src, uint32_t* src_offset, ::twin::Arg16 dst_repeat_stride, ::twin::Arg8 repeat, TWIN_HERE) {
    ::twin::Rep r = AscendC::detail::masked(uint64_t(0), repeat, false);
    r.dst_rep = dst_repeat_stride;
    TWIN_C_VECTOR(::twin::gather(::twin::dt<T>(), TWIN_C_TENSOR(dst).loc_, TWIN_C_TENSOR(src).loc_,
                                 TWIN_C_TENSOR(src_offset).loc_, 0, r, here));
}
template <typename T> void asc_gather(T* dst, T* src, uint32_t* src_offset, uint32_t count, TWIN_HERE) {
    TWIN_C_VECTOR(AscendC::Gather(TWIN_C_TENSOR(dst), TWIN_C_TENSOR(src), TWIN_C_TENSOR(src_offset), 0, count, here));
}
TWIN_C_SYNC(template <typename T>, asc_gather, (T * dst, T* src, uint32_t* src_offset, uint32_t count),
            (dst, src, src_offset, count))
template <typename T> void asc_gather_datablock(T* dst, T* src, uint32_t* src_offset, ::twin::Arg16 dst_repeat_stride,
                                                ::twin::Arg8 dst_block_stride, ::twin::Arg8 repeat, TWIN_HERE) {
    TWIN_C_VECTOR(AscendC::Gatherb(TWIN_C_TENSOR(dst), TWIN_C_TENSOR(src), TWIN_C_TENSOR(src_offset), repeat,
                                   AscendC::GatherRepeatParams(dst_block_stride, dst_repeat_stride), here));
}
TWIN_C_SYNC(template <typename T>, asc_gather_datablock,
            (T * dst, T* src, uint32_t* src_offset, ::twin::Arg16 dst_repeat_stride, ::twin::Arg8 dst_block_stride,
             ::twin::Arg8 repeat),
            (dst, src, src_offset, dst_repeat_stride, dst_block_stride, repeat))

// ---- by bits: of src1 where pattern_mode is 0, else a fixed pattern (1 to 7)
template <typename T> void asc_reduce(T* dst, T* src0, T* src1, ::twin::Arg16 repeat, ::twin::Arg8 src0_block_stride,
                                      ::twin::Arg8 pattern_mode, ::twin::Arg16 src0_repeat_stride,
                                      ::twin::Arg8 src1_repeat_stride, TWIN_HERE) {
    static_assert(::twin::one_of<T, uint16_t, uint32_t>(), "asc_reduce takes pointers to uint16_t or uint32_t");
    AscendC::GatherMaskParams p(src0_block_stride, repeat, src0_repeat_stride, src1_repeat_stride);
    TWIN_C_VECTOR(::twin::Loc bits = pattern_mode ? ::twin::Loc{} : TWIN_C_TENSOR(src1).loc_; ::twin::gather_mask(
                      ::twin::dt<T>(), TWIN_C_TENSOR(dst).loc_, TWIN_C_TENSOR(src0).loc_,
                      pattern_mode ? nullptr : &bits, pattern_mode, false, 0, AscendC::detail::sieve(p), here));
}
template <typename T> void asc_reduce(T* dst, T* src0, T* src1, uint32_t count, TWIN_HERE) {
    static_assert(::twin::one_of<T, uint16_t, uint32_t>(), "asc_reduce takes pointers to uint16_t or uint32_t");
    TWIN_C_VECTOR(::twin::Loc bits = TWIN_C_TENSOR(src1).loc_; ::twin::gather_mask(
                      ::twin::dt<T>(), TWIN_C_TENSOR(dst).loc_, TWIN_C_TENSOR(src0).loc_, &bits, 0, true, count,
                      AscendC::detail::sieve(AscendC::GatherMaskParams(1, 1, 8, 8)), here));
}
TWIN_C_SYNC(template <typename T>, asc_reduce, (T * dst, T* src0, T* src1, uint32_t count), (dst, src0, src1, count))
inline int64_t asc_get_rsvd_count() { return ::twin::gathered(); }  // how many elements asc_reduce kept

// ---- each of 8 elements a repeat fills one block
template <typename T> void asc_brcb(T* dst, T* src, ::twin::Arg16 dst_block_stride, ::twin::Arg16 dst_repeat_stride,
                                    ::twin::Arg8 repeat, TWIN_HERE) {
    TWIN_C_VECTOR(AscendC::Brcb(TWIN_C_TENSOR(dst), TWIN_C_TENSOR(src), repeat,
                                AscendC::BrcbRepeatParams(dst_block_stride, dst_repeat_stride), here));
}
TWIN_C_SYNC(template <typename T>, asc_brcb,
            (T * dst, T* src, ::twin::Arg16 dst_block_stride, ::twin::Arg16 dst_repeat_stride, ::twin::Arg8 repeat),
            (dst, src, dst_block_stride, dst_repeat_stride, repeat))

// ---- 16 x 16 numbers of 16 bits
template <typename T> void asc_transpose(T* dst, T* src, TWIN_HERE) {
    TWIN_C_VECTOR(AscendC::Transpose(TWIN_C_TENSOR(dst), TWIN_C_TENSOR(src), here));
}
TWIN_C_SYNC(template <typename T>, asc_transpose, (T * dst, T* src), (dst, src))

// ---- sorting: 32 scores and indices a repeat; up to four sorted lists of records
template <typename T> void asc_bitsort(T* dst, T* src0, uint32_t* src1, int32_t repeat, TWIN_HERE) {
    TWIN_C_VECTOR(AscendC::Sort32(TWIN_C_TENSOR(dst), TWIN_C_TENSOR(src0), TWIN_C_TENSOR(src1), repeat, here));
}
TWIN_C_SYNC(template <typename T>, asc_bitsort, (T * dst, T* src0, uint32_t* src1, int32_t repeat),
            (dst, src0, src1, repeat))
template <typename T> void asc_mrgsort4(T* dst, T* src[4], ::twin::Arg8 repeat, ::twin::Arg16 element_length_0,
                                        ::twin::Arg16 element_length_1, ::twin::Arg16 element_length_2,
                                        ::twin::Arg16 element_length_3, bool if_exhausted_suspension,
                                        ::twin::Arg8 valid_bit, TWIN_HERE) {
    ::twin::Runs r{{},
                   {element_length_0, element_length_1, element_length_2, element_length_3},
                   valid_bit,
                   repeat,
                   if_exhausted_suspension};
    TWIN_C_VECTOR(for (int i = 0; i < 4; i++) if (valid_bit >> i & 1) r.list[i] = TWIN_C_TENSOR(src[i]).loc_;
                  ::twin::merge_sort(::twin::dt<T>(), TWIN_C_TENSOR(dst).loc_, r, here));
}
TWIN_C_SYNC(template <typename T>, asc_mrgsort4,
            (T * dst, T* src[4], ::twin::Arg8 repeat, ::twin::Arg16 element_length_0, ::twin::Arg16 element_length_1,
             ::twin::Arg16 element_length_2, ::twin::Arg16 element_length_3, bool if_exhausted_suspension,
             ::twin::Arg8 valid_bit),
            (dst, src, repeat, element_length_0, element_length_1, element_length_2, element_length_3,
             if_exhausted_suspension, valid_bit))
inline void asc_get_vms4_sr(uint16_t sorted_num[4]) {  // records taken from each list
    for (int i = 0; i < 4; i++) sorted_num[i] = ::twin::merged(i);
}
#undef TWIN_C_SYNC
