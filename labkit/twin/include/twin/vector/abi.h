// Functions of the compiled runtime that the vector headers call, besides the instructions declared in base/abi.h.
#pragma once
#include "twin/base/abi.h"

namespace twin {

// ---- the mask register and its mode
void mask_set(uint64_t high, uint64_t low);
void mask_mode(bool counter);

// ---- instructions whose destination has another type than its sources: Axpy and MulAddDst (half -> float),
// AddReluCast, SubReluCast, MulCast, AddDeqRelu. Axpy has one source and a scalar.
void mixed(Op, Dt to, Dt from, Loc d, Loc a, Loc b, Value v, int32_t n, Here);
void mixed(Op, Dt to, Dt from, Loc d, Loc a, Loc b, Value v, const Rep&, Here);
void shift_right_rounded(Dt, Loc d, Loc s, Value v, const Rep&, Here);

// ---- dequantisation: the register DEQSCALE holds a half, or a scale with an offset (as CANN packs them into 64 bits),
// or where 16 of those lie in UB
void deq_half(uint16_t bits);
void deq_scalar(uint64_t config);
void deq_tensor(Loc configs);
void cast_deq(Loc d, Loc s, bool tensor, bool upper, int32_t n, Here);  // int16_t; the half of each block to write
void cast_deq(Loc d, Loc s, bool tensor, bool upper, const Rep&, Here);

// ---- the register CMPMASK: 128 bits of a comparison, or what Select's modes 1 and 2 want there
void compare_register(Cmp, Dt, Loc a, Loc b, const Rep&, Here);
void compare_mask_get(Loc d, Here);
void compare_mask_set(Loc s, Here);
void select_register(Sel, Dt, Loc d, Loc mask, Loc a, Loc b, const Rep&, Here);  // `mask` in TensorScalar only, b else

// ---- reductions over repeats to one result, and what the last ones left in registers
void reduce(Op, Dt, Loc d, Loc s, Loc work, const Rep&, bool index, Here);
uint64_t reduce_sum_bits();
void reduce_extreme(uint32_t& value, uint32_t& index);

}  // namespace twin
