// Lane arithmetic: what the vector unit computes, on contiguous arrays, with no machine around it.
//
// Contract: pointers are 32-byte aligned in practice but need not be; d may equal a source (same start), never overlap
// one partially. fp16 results are rounded to fp16 after each instruction, as the unit does. Results do not depend on
// the host's vector width, and never on contraction into fused multiply-add.
#pragma once
#include "twin/abi.h"

namespace twin::math {

bool supports(Op, Dt);                                                                   // else the calls below abort()
void unary(Op, Dt, void* d, const void* s, size_t n);
void binary(Op, Dt, void* d, const void* a, const void* b, size_t n);                    // MulAddDst: d += a*b; FusedMulAdd: d = d*a + b
void scalar(Op, Dt, void* d, const void* s, uint64_t bits, size_t n);                    // Axpy: d += value*s; shifts: value is the count
void cast(Dt to, Dt from, Round, void* d, const void* s, size_t n);
void compare(Cmp, Dt, uint8_t* bits, const void* a, const void* b, size_t n);            // 1 bit an element, element 0 = bit 0 of byte 0
void compare_scalar(Cmp, Dt, uint8_t* bits, const void* a, uint64_t value, size_t n);
void select(Dt, void* d, const uint8_t* bits, const void* a, const void* b, size_t n);   // bit 1 -> a, bit 0 -> b
void select_scalar(Dt, void* d, const uint8_t* bits, const void* a, uint64_t value, size_t n);
void fill(Dt, void* d, uint64_t bits, size_t n);
// Reductions over one run of n lanes of F16 or F32; masked lanes are left out by the caller.
// Sum: pairwise tree in the tensor's own type, as the unit does it (adjacent pairs, level by level; an odd one passes on).
void reduce_sum(Dt, void* d, const void* s, size_t n);
void reduce_max(Dt, void* value, uint32_t* index, const void* s, size_t n);              // lowest index on ties
void reduce_min(Dt, void* value, uint32_t* index, const void* s, size_t n);

}  // namespace twin::math
