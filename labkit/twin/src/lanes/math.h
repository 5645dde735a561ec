// Lane arithmetic: the vector unit's functions on contiguous arrays, independent of the machine model.
//
// Contract: pointers are 32-byte aligned in practice but need not be; d may equal a source (same start), never overlap
// one partially (so a widening cast never works in place). fp16 results are rounded to fp16 after each instruction, as
// the unit does. Results do not depend on the host's vector width, and never on contraction into fused multiply-add:
// build with -ffp-contract=off.
//
// Decisions where the public documents are silent, or where a register selects the behaviour (then the chip's default):
// - Integers wrap (CTRL[53] = 0). Casts to an integer saturate and NaN becomes 0.
// - Floats follow IEEE 754: overflow gives inf (Inf/NaN mode is the default of the A2/A3 runtime; the saturating mode
//   of CTRL[48] is not modelled), subnormals are kept, a NaN result is always the quiet NaN 0x7FC00000 / 0x7E00 /
//   0x7FC0.
// - Max, Min, Relu, ReduceMax, ReduceMin: NaN in, NaN out. Of equal operands (+0, -0) Max and Min give the second.
// - Sqrt and Div are correctly rounded; Rsqrt is 1/sqrt(x) and Reciprocal 1/x, so better than the unit's
// approximations.
//   Exp and Ln stay below 1.02 and 0.84 ulp in fp32, subnormal results included (measured over every float).
// - Multiply-adds (MulAddDst, FusedMulAdd, Axpy) round the product and the sum in fp32; fp16 then rounds once.
// - A shift by the width or more leaves 0, or the sign of a signed number shifted right.
#pragma once
#include "twin/base/abi.h"

namespace twin::math {

bool supports(Op, Dt);                      // else the calls below abort()
bool supports_compare(Cmp, Dt);             // int32 has EQ only
bool supports_cast(Dt to, Dt from, Round);  // documented pairs and modes; None: Rint
void unary(Op, Dt, void* d, const void* s, size_t n);
// MulAddDst: d += a*b; FusedMulAdd: d = d*a + b, MulAddRelu its positive part
void binary(Op, Dt, void* d, const void* a, const void* b, size_t n);
void scalar(Op, Dt, void* d, const void* s, uint64_t bits, size_t n);  // Axpy: d += value*s; shifts: value is the count
// any mode but Hybrid for any documented pair I4: a lane a byte, in both directions
void cast(Dt to, Dt from, Round, void* d, const void* s, size_t n);
void cast_scaled(void* half, const int32_t* s, float scale, size_t n);  // int32 -> half, SetDeqScale
// Computes on `from` and converts to `to`: MulAddDst, Axpy (half -> float: d += a*b, d += value*a), AddReluCast,
// SubReluCast, MulCast (rounded to `from`, then converted to nearest even), AddDeqRelu (`bits`: the scale as a float).
bool supports_mixed(Op, Dt to, Dt from);
void mixed(Op, Dt to, Dt from, void* d, const void* a, const void* b, uint64_t bits, size_t n);
void shift_right_rounded(Dt, void* d, const void* s, uint64_t bits, size_t n);  // half of the last place is added first
void compare(Cmp, Dt, uint8_t* bits, const void* a, const void* b, size_t n);   // element 0 = bit 0 of byte 0
// bits past n in the last byte are 0
void compare_scalar(Cmp, Dt, uint8_t* bits, const void* a, uint64_t value, size_t n);
void select(Dt, void* d, const uint8_t* bits, const void* a, const void* b, size_t n);  // bit 1 -> a, bit 0 -> b
void select_scalar(Dt, void* d, const uint8_t* bits, const void* a, uint64_t value, size_t n);
void fill(Dt, void* d, uint64_t bits, size_t n);
// Reductions over one run of n >= 1 lanes of F16 or F32; masked lanes are left out by the caller.
// Sum: pairwise tree in the tensor's own type, as the unit does it (adjacent pairs, level by level; an odd one passes
// on).
void reduce_sum(Dt, void* d, const void* s, size_t n);
void reduce_max(Dt, void* value, uint32_t* index, const void* s, size_t n);  // lowest index; it may be null
void reduce_min(Dt, void* value, uint32_t* index, const void* s, size_t n);
// d[g] = the reduction of run g, for `count` full runs of `group` lanes that lie one after the other: the same bits as
// the calls above one run at a time, much faster for short runs (BlockReduce*, PairReduceSum, WholeReduce* without a
// mask). op: ReduceSum, ReduceMax or ReduceMin; group: a power of two, at most 1024; d may be s.
void reduce_runs(Op, Dt, void* d, const void* s, size_t group, size_t count);

// For the .cpp files of this folder: end the process with a message because there is no such operation.
[[noreturn]] void refuse(const char* what, Dt);
void require(Op, Dt);

}  // namespace twin::math
