// The scalar unit's bit counts and conversions.
#pragma once
#include "twin/base/types.h"

namespace AscendC {

// ---- bits
template <int countValue> int64_t GetBitCount(uint64_t valueIn) {
    static_assert(countValue == 0 || countValue == 1, "GetBitCount counts the bits that are 0 or those that are 1");
    return __builtin_popcountll(countValue ? valueIn : ~valueIn);
}
inline int64_t CountLeadingZero(uint64_t valueIn) { return valueIn ? __builtin_clzll(valueIn) : 64; }
// Behind the sign bit; -1 when all bits are alike.
inline int64_t CountBitsCntSameAsSignBit(int64_t valueIn) {
    return valueIn == 0 || valueIn == -1 ? -1 : __builtin_clrsbll(valueIn);
}
// Where the first such bit stands, counted from the lowest; -1 when there is none.
template <int countValue> int64_t GetSFFValue(uint64_t valueIn) {
    static_assert(countValue == 0 || countValue == 1, "GetSFFValue looks for a bit that is 0 or one that is 1");
    uint64_t v = countValue ? valueIn : ~valueIn;
    return v ? __builtin_ctzll(v) : -1;
}
template <int countValue> int64_t ScalarGetCountOfValue(uint64_t valueIn) { return GetBitCount<countValue>(valueIn); }
inline int64_t ScalarCountLeadingZero(uint64_t valueIn) { return CountLeadingZero(valueIn); }
template <int countValue> int64_t ScalarGetSFFValue(uint64_t valueIn) { return GetSFFValue<countValue>(valueIn); }

// ---- conversions
namespace detail {

// To a whole number, saturating; NaN gives 0.
template <RoundMode mode> constexpr int32_t whole(float v) {
    if (v != v) return 0;
    if (v >= 0x1p31f) return INT32_MAX;
    if (v < -0x1p31f) return INT32_MIN;
    int64_t t = int64_t(v);
    float cut = v - float(t);  // exact, with the sign of v
    if (mode == RoundMode::CAST_FLOOR) t -= cut < 0;
    else if (mode == RoundMode::CAST_CEIL) t += cut > 0;
    else if (cut >= 0.5f) t += mode == RoundMode::CAST_ROUND || cut > 0.5f || (t & 1);
    else if (cut <= -0.5f) t -= mode == RoundMode::CAST_ROUND || cut < -0.5f || (t & 1);
    return t > INT32_MAX ? INT32_MAX : int32_t(t);
}

// Towards zero, and then to the odd neighbour where that lost something.
constexpr half odd_half(float v) {
    if (v != v || v - v != 0) return half(v);
    uint32_t u = ::twin::same_bits<uint32_t>(v), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
    half h{};
    if (a >= 0x477fe000) h.bits = uint16_t(sign | 0x7bff);  // the largest half is odd
    else if (a >= 113u << 23) h.bits = uint16_t(sign | ((a - (112u << 23)) >> 13) | ((a & 0x1fff) != 0));
    else {
        float steps = ::twin::same_bits<float>(a) * 0x1p24f;
        uint32_t n = uint32_t(steps);
        h.bits = uint16_t(sign | n | (float(n) != steps));
    }
    return h;
}

}  // namespace detail

template <typename T, typename U, RoundMode roundMode> U Cast(T valueIn) {
    constexpr bool to_half = std::is_same_v<U, half> && roundMode == RoundMode::CAST_ODD;
    constexpr bool to_whole = std::is_same_v<U, int32_t> &&
                              (roundMode == RoundMode::CAST_ROUND || roundMode == RoundMode::CAST_CEIL ||
                               roundMode == RoundMode::CAST_FLOOR || roundMode == RoundMode::CAST_RINT);
    static_assert(std::is_same_v<T, float> && (to_half || to_whole),
                  "Cast of a scalar goes from float to half with CAST_ODD, or to int32_t with CAST_ROUND, CAST_CEIL, "
                  "CAST_FLOOR or CAST_RINT");
    if constexpr (to_half) return detail::odd_half(valueIn);
    else return detail::whole<roundMode>(valueIn);
}
template <typename T, typename U, RoundMode roundMode> U ScalarCast(T valueIn) {
    return Cast<T, U, roundMode>(valueIn);
}
inline bfloat16_t Cast(const float& fVal) { return bfloat16_t(fVal); }
inline float Cast(const bfloat16_t& bVal) { return float(bVal); }

}  // namespace AscendC

// Builtins of the device compiler. A source's own function of that name takes precedence, and so does std's: the
// parameter pack at the end makes these the last choice.
namespace twin_builtin {
template <typename A, typename B, typename... None> constexpr auto min(A a, B b, None...)
    -> std::enable_if_t<!sizeof...(None), std::decay_t<decltype(b < a ? b : a)>> {
    return b < a ? b : a;
}
template <typename A, typename B, typename... None> constexpr auto max(A a, B b, None...)
    -> std::enable_if_t<!sizeof...(None), std::decay_t<decltype(a < b ? b : a)>> {
    return a < b ? b : a;
}
template <typename A> constexpr auto abs(A a) -> std::enable_if_t<std::is_arithmetic_v<A>, A> {
    return a < A(0) ? A(-a) : a;
}
inline int64_t clz(uint64_t v) { return v ? __builtin_clzll(v) : 64; }
template <typename A> auto sqrt(A a)
    -> std::enable_if_t<std::is_arithmetic_v<A>, std::conditional_t<std::is_same_v<A, float>, float, double>> {
    return __builtin_sqrt(a);
}
}  // namespace twin_builtin
using namespace twin_builtin;
