// Which operation exists for which type on Atlas A2/A3, as the public API documents list it.
#include <stdio.h>
#include <stdlib.h>

#include "lanes/math.h"

namespace twin::math {
namespace {

constexpr unsigned set(Dt t) { return 1u << (unsigned)t; }
constexpr unsigned operator|(Dt a, Dt b) { return set(a) | set(b); }
constexpr unsigned operator|(unsigned s, Dt t) { return s | set(t); }

constexpr unsigned kFloats = Dt::F16 | Dt::F32;
constexpr unsigned kNumbers = kFloats | Dt::I16 | Dt::I32;
constexpr unsigned kBits16 = Dt::I16 | Dt::U16;
constexpr unsigned kShifts = kBits16 | Dt::I32 | Dt::U32;
constexpr unsigned kAny16or32 = kShifts | Dt::F16 | Dt::BF16 | Dt::F32;
constexpr unsigned kAny8to32 = kAny16or32 | Dt::I8 | Dt::U8;

constexpr unsigned types_of(Op op) {
    switch (op) {
        // clang-format off
    case Op::Add: case Op::Sub: case Op::Mul: case Op::Max: case Op::Min:
    case Op::Adds: case Op::Muls: case Op::Maxs: case Op::Mins:
        return kNumbers;
    case Op::Abs: case Op::Exp: case Op::Ln: case Op::Sqrt: case Op::Rsqrt: case Op::Reciprocal: case Op::Div:
    case Op::LeakyRelu: case Op::Axpy: case Op::MulAddDst: case Op::FusedMulAdd: case Op::MulAddRelu:
        return kFloats;
    case Op::Relu: return kFloats | Dt::I32;
    case Op::AddRelu: case Op::SubRelu: return kFloats | Dt::I16;
    case Op::Not: case Op::And: case Op::Or: return kBits16;
    case Op::ShiftLeft: case Op::ShiftRight: return kShifts;
    case Op::Compare: case Op::CompareScalar: return kFloats | Dt::I32;  // I32: EQ only, see supports_compare
    case Op::Select: case Op::Copy: return kAny16or32;  // Select moves bits: wider than A2's half, float
    case Op::Duplicate: return kAny8to32;
    case Op::ReduceSum: case Op::ReduceMax: case Op::ReduceMin:
    case Op::WholeReduceSum: case Op::WholeReduceMax: case Op::WholeReduceMin:
    case Op::BlockReduceSum: case Op::BlockReduceMax: case Op::BlockReduceMin: case Op::PairReduceSum:
        return kFloats;
    case Op::Cast:  // see casts_from
    case Op::AddReluCast: case Op::SubReluCast: case Op::MulCast: case Op::AddDeqRelu:
    case Op::CastDequant: case Op::CmpMask:  // see supports_mixed
    case Op::CopyIn: case Op::CopyOut: case Op::Scalar: case Op::Count: return 0;
        // clang-format on
    }
    return 0;
}

constexpr unsigned casts_from(Dt from) {
    switch (from) {
        // clang-format off
    case Dt::I4: case Dt::I8: case Dt::U8: return set(Dt::F16);
    case Dt::I16: return Dt::F16 | Dt::F32;
    case Dt::F16: return Dt::I4 | Dt::I8 | Dt::U8 | Dt::I16 | Dt::I32 | Dt::F32;
    case Dt::BF16: return Dt::I32 | Dt::F32;
    case Dt::I32: return Dt::I16 | Dt::F16 | Dt::F32 | Dt::I64;
    case Dt::F32: return Dt::I16 | Dt::F16 | Dt::BF16 | Dt::I32 | Dt::F32 | Dt::I64;
    case Dt::I64: return Dt::I32 | Dt::F32;
    default: return 0;
        // clang-format on
    }
}

constexpr bool is_float(Dt t) { return t <= Dt::F32; }

// A pair that loses nothing, or saturates integers, has no rounding to choose.
constexpr bool rounds(Dt to, Dt from) {
    if (!is_float(to)) return is_float(from);
    switch (from) {
        // clang-format off
    case Dt::I16: return to == Dt::F16;
    case Dt::I32: return to == Dt::F32;
    case Dt::F32: case Dt::I64: return true;
    default: return false;
        // clang-format on
    }
}

}  // namespace

bool supports(Op op, Dt t) { return op == Op::Cast ? casts_from(t) != 0 : (types_of(op) & set(t)) != 0; }

bool supports_compare(Cmp mode, Dt t) { return supports(Op::Compare, t) && (is_float(t) || mode == Cmp::EQ); }

bool supports_cast(Dt to, Dt from, Round mode) {
    if (!(casts_from(from) & set(to)) || mode == Round::Hybrid) return false;
    if (mode == Round::None) return true;
    if (from == Dt::I32 && to == Dt::F16) return true;  // takes any mode and ignores it
    if (mode == Round::Odd) return to == Dt::F16 && from == Dt::F32;
    return rounds(to, from);
}

bool supports_mixed(Op op, Dt to, Dt from) {
    switch (op) {
        // clang-format off
    case Op::MulAddDst: case Op::Axpy: return to == Dt::F32 && from == Dt::F16;
    case Op::AddReluCast: case Op::SubReluCast:
        return (to == Dt::I8 && (from == Dt::F16 || from == Dt::I16)) || (to == Dt::F16 && from == Dt::F32);
    case Op::MulCast: return from == Dt::F16 && (to == Dt::I8 || to == Dt::U8);
    case Op::AddDeqRelu: return to == Dt::F16 && from == Dt::I32;
    default: return false;
        // clang-format on
    }
}

void refuse(const char* what, Dt t) {
    static const char* names[] = {"half",     "bfloat16_t", "float",    "int8_t",  "uint8_t",  "int16_t",
                                  "uint16_t", "int32_t",    "uint32_t", "int64_t", "uint64_t", "int4b_t"};
    fprintf(stderr, "twin::math: no %s for %s on this chip; ask supports() first\n", what, names[(int)t]);
    abort();
}

void require(Op op, Dt t) {
    static const char* names[] = {
#define X(name) #name,
        TWIN_OPS(X)
#undef X
    };
    if (!supports(op, t)) refuse(names[(int)op], t);
}

}  // namespace twin::math
