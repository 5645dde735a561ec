// Qualifiers, scalar types and constants of the language.
#pragma once
#include "twin/base/abi.h"
#include "twin/base/constants.h"
#include "twin/base/float16.h"
#include "twin/base/std.h"

namespace twin {

void does_not_fit(int64_t value, uint32_t bits, Here);

// A parameter that CANN declares as T. The device loses the upper bits of a value that does not fit, and says nothing:
// here it is reported, at the line that gives it.
template <typename T> struct Narrow {
    T value;
    constexpr Narrow() : value() {}
    template <typename U, std::enable_if_t<std::is_convertible<U, T>::value, int> = 0>
    constexpr Narrow(U v, Here here = Here()) : value(static_cast<T>(v)) {
        if constexpr (std::is_integral<U>::value && !std::is_same<U, T>::value)
            if (int64_t(value) != int64_t(v)) does_not_fit(int64_t(v), 8 * sizeof(T), here);
    }
    template <typename U> constexpr Narrow(Narrow<U> v, Here here = Here()) : Narrow(v.value, here) {}
    constexpr operator T() const { return value; }
    template <typename U> Narrow& operator+=(U v) { return *this = value + v; }
    template <typename U> Narrow& operator-=(U v) { return *this = value - v; }
    template <typename U> Narrow& operator*=(U v) { return *this = value * v; }
    template <typename U> Narrow& operator/=(U v) { return *this = value / v; }
    Narrow& operator++() { return *this += 1; }
    Narrow& operator--() { return *this -= 1; }
};
using Arg8 = Narrow<uint8_t>;
using Arg16 = Narrow<uint16_t>;

}  // namespace twin

#define __NPU_ARCH__ 2201
#define __CCE_AICORE__ 220
#define __LABKIT_TWIN__ 1
#ifdef TWIN_CUBE_CORE
#define __DAV_C220_CUBE__ 1
#define __DAV_CUBE__ 1
#define SPLIT_CORE_CUBE
#else
#define __DAV_C220_VEC__ 1
#define __DAV_VEC__ 1
#define SPLIT_CORE_VEC
#endif

#define __global__
#define __aicore__
#define __vector__
#define __cube__
#define __mix__(cube, vector)
#define __kfc_workspace__
#define __BLOCK_LOCAL__ \
    thread_local  // one variable for each block and library: its AIVs share it, its AIC (compiled separately) has its
                  // own
#ifndef __WORKGROUP_LOCAL__
#define __WORKGROUP_LOCAL__ __BLOCK_LOCAL__
#endif
#ifndef __host__
#define __host__
#endif
#ifndef __host_aicore__
#define __host_aicore__
#endif
#ifndef __disable_kernel_type_autoinfer__
#define __disable_kernel_type_autoinfer__
#endif
#define ASCENDC_HOST __host__
#define ASCENDC_AICORE __aicore__
#define ASCENDC_HOST_AICORE __host_aicore__
#define __schedmode__(mode)
#define __in_pipe__(pipe)
#define __out_pipe__(pipe)
#define __inout_pipe__(pipe)
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __fbuf__
#define GM_ADDR __gm__ uint8_t*

#define __bf16 bfloat16_t
#if !defined(__clang__)
#define __fp16 half  // bisheng's own word for it, in raw CCE code
#endif
using float32_t = float;
#ifndef __forceinline__
#define __forceinline__ inline __attribute__((always_inline))
#endif
#ifndef likely
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif

// A kernel with work for both kinds of cores is compiled once for each.
namespace AscendC {
constexpr int32_t MIX = 0, AIC = 1, AIV = 2;
}
#ifdef TWIN_CUBE_CORE
constexpr int32_t g_coreType = AscendC::AIC;
#else
constexpr int32_t g_coreType = AscendC::AIV;
#endif
#define ASCEND_IS_AIV constexpr(g_coreType == AscendC::AIV)
#define ASCEND_IS_AIC constexpr(g_coreType == AscendC::AIC)
#define ASCEND_IS_NOT_AIV constexpr(g_coreType != AscendC::AIV)
#define ASCEND_IS_NOT_AIC constexpr(g_coreType != AscendC::AIC)
#define ASCEND_IS_AICORE constexpr(false)  // true where one core is both, as on Ascend 310P

namespace AscendC {

enum class TPosition : uint8_t {
    GM,
    A1,
    A2,
    B1,
    B2,
    C1,
    C2,
    CO1,
    CO2,
    VECIN,
    VECOUT,
    VECCALC,
    LCM = VECCALC,
    SPM,
    SHM = SPM,
    TSCM,
    C2PIPE2GM,
    C2PIPE2LOCAL,
    MAX
};
using QuePosition = TPosition;
enum class Hardware : uint8_t { GM, UB, L1, L0A, L0B, L0C, BIAS, FIXBUF, MAX };
enum class CacheMode : uint8_t { CACHE_MODE_DISABLE, CACHE_MODE_NORMAL, CACHE_MODE_LAST, CACHE_MODE_PERSISTENT };
enum class CacheRwMode : uint8_t { READ = 1, WRITE = 2, RW = 3 };
enum class RoundMode : uint8_t {
    CAST_NONE,
    CAST_RINT,
    CAST_FLOOR,
    CAST_CEIL,
    CAST_ROUND,
    CAST_TRUNC,
    CAST_ODD,
    CAST_HYBRID
};
enum class CMPMODE : uint8_t { LT, GT, EQ, LE, GE, NE };
enum class SELMODE : uint8_t { VSEL_CMPMASK_SPR, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };
enum class ReduceOrder : uint8_t { ORDER_VALUE_INDEX, ORDER_INDEX_VALUE, ORDER_ONLY_VALUE, ORDER_ONLY_INDEX };

// Helpers that kernels reach through `using namespace AscendC`.
constexpr uint32_t DivCeil(uint32_t a, uint32_t b) { return (a + b - 1) / b; }
constexpr uint32_t AlignUp(uint32_t a, uint32_t b) { return DivCeil(a, b) * b; }
constexpr uint32_t ConstCeil(uint32_t a, uint32_t b) { return DivCeil(a, b); }
constexpr uint32_t Ceil(uint32_t a, uint32_t b) { return DivCeil(a, b); }
constexpr int32_t CeilDivision(int32_t a, int32_t b) { return b == 0 ? 0 : (a + b - 1) / b; }

template <typename T> struct SizeOfBits { static constexpr uint32_t value = sizeof(T) * 8; };
template <> struct SizeOfBits<::int4b_t> { static constexpr int value = 4; };

template <bool b> struct BoolInst {
    using Type = BoolInst;
    static constexpr bool value = b;
};
using TrueType = BoolInst<true>;
using FalseType = BoolInst<false>;
template <typename T, typename U> struct IsSameType : FalseType {};
template <typename T> struct IsSameType<T, T> : TrueType {};
template <typename T, typename U, typename... Us> constexpr bool SupportType() {
    return IsSameType<T, U>::value || (IsSameType<T, Us>::value || ...);
}
template <bool condition, class A, class B> using Conditional = std::conditional<condition, A, B>;
template <typename T> using PrimT = T;
template <typename T, typename U> U GetScalarBitcodeValue(T v) {
    static_assert(sizeof(T) == sizeof(U),
                  "GetScalarBitcodeValue reads the bits of one type as another of the same size");
    return __builtin_bit_cast(U, v);
}

}  // namespace AscendC

namespace twin {

template <typename T> struct DtOf { static constexpr bool known = false; };
#define TWIN_DT(type, tag)                   \
    template <> struct DtOf<type> {          \
        static constexpr bool known = true;  \
        static constexpr Dt value = Dt::tag; \
    }
TWIN_DT(half, F16);
TWIN_DT(bfloat16_t, BF16);
TWIN_DT(float, F32);
TWIN_DT(int8_t, I8);
TWIN_DT(uint8_t, U8);
TWIN_DT(int16_t, I16);
TWIN_DT(uint16_t, U16);
TWIN_DT(int32_t, I32);
TWIN_DT(uint32_t, U32);
TWIN_DT(int64_t, I64);
TWIN_DT(uint64_t, U64);
TWIN_DT(int4b_t, I4);
TWIN_DT(bool, U8);
#undef TWIN_DT

template <typename T> constexpr Dt dt() {
    static_assert(DtOf<T>::known,
                  "LocalTensor and GlobalTensor hold half, bfloat16_t, float or an integer type of 8 to 64 bits");
    return DtOf<T>::value;
}
// Elements to bytes; int4b_t has two a byte.
template <typename T> constexpr uint32_t bits_of() {
    return AscendC::IsSameType<T, int4b_t>::value ? 4 : sizeof(T) * 8;
}
template <typename T> constexpr uint64_t bytes_of(uint64_t n) { return n * bits_of<T>() / 8; }
// Is T one of these? The documented types of an A2 instruction are spelt out with it.
template <typename T, typename... Us> constexpr bool one_of() { return (AscendC::IsSameType<T, Us>::value || ...); }

template <typename T> Value value_of(T v) {
    Value r{0};
    __builtin_memcpy(&r.bits, &v, sizeof(T));
    return r;
}

constexpr Mem mem_of(AscendC::TPosition p) {
    using P = AscendC::TPosition;
    switch (p) {
    case P::A1:
    case P::B1:
    case P::C1:
    case P::TSCM: return Mem::L1;
    case P::A2: return Mem::L0A;
    case P::B2: return Mem::L0B;
    case P::C2: return Mem::BT;
    case P::CO1: return Mem::L0C;
    case P::C2PIPE2GM: return Mem::FB;
    default: return Mem::UB;
    }
}

}  // namespace twin
