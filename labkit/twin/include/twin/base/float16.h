// The scalar types of 16 bits, half and bfloat16_t, and the half byte int4b_t. Their constants are compile-time
// constants, as on the device.
#pragma once
#include <type_traits>

#include "twin/base/abi.h"

namespace twin {

template <typename To, typename From> constexpr To same_bits(const From& v) { return __builtin_bit_cast(To, v); }

constexpr float float_of_half(uint16_t h) {
    uint32_t body = uint32_t(h & 0x7fff) << 13;
    if (body >= 0x7c00u << 13)
        body = (body + (224u << 23)) | (body > 0x7c00u << 13 ? 0x400000u : 0);  // inf, NaN (made quiet)
    else if (body >= 0x400u << 13) body += 112u << 23;                          // the biases differ by 127 - 15
    else body = same_bits<uint32_t>(float(h & 0x7fff) * 0x1p-24f);              // a count of the smallest step
    return same_bits<float>(body | uint32_t(h & 0x8000) << 16);
}
constexpr uint16_t half_of_float(float x) {  // to nearest even
    uint32_t u = same_bits<uint32_t>(x), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
    if (a > 0x7f800000) return uint16_t(sign | 0x7e00 | (a >> 13 & 0x3ff));
    if (a >= 0x477ff000) return uint16_t(sign | 0x7c00);  // 65520 and more rounds to inf
    if (a >= 113u << 23) return uint16_t(sign | (a + 0xfff + (a >> 13 & 1) - (112u << 23)) >> 13);
    // the sum's last place is 2^-24
    return uint16_t(sign | (same_bits<uint32_t>(same_bits<float>(a) + 0.5f) - 0x3f000000));
}
constexpr float float_of_bf16(uint16_t b) { return same_bits<float>(uint32_t(b) << 16); }
constexpr uint16_t bf16_of_float(float x) {
    uint32_t u = same_bits<uint32_t>(x);
    return uint16_t((x != x ? u | 0x400000u : u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

template <typename T> using Arithmetic = std::enable_if_t<std::is_arithmetic_v<T>, int>;

}  // namespace twin

// Arithmetic with another half or an integer gives a half; with a float or double it gives that type, as C++ does for
// its own types.
struct half {
    uint16_t bits;
    half() = default;
    template <typename T, ::twin::Arithmetic<T> = 0> constexpr half(T v) : bits(::twin::half_of_float(float(v))) {}
    constexpr operator float() const { return ::twin::float_of_half(bits); }
    constexpr half operator-() const { return half(-float(*this)); }
    constexpr half operator+() const { return *this; }
#define TWIN_HALF_ASSIGN(op)                                             \
    template <typename T> constexpr half& operator op## = (const T& v) { \
        return *this = half(float(*this) op float(v));                   \
    }
    // clang-format off
    TWIN_HALF_ASSIGN(+) TWIN_HALF_ASSIGN(-) TWIN_HALF_ASSIGN(*) TWIN_HALF_ASSIGN(/)
    // clang-format on
#undef TWIN_HALF_ASSIGN
    constexpr half& operator++() { return *this += 1; }
    constexpr half& operator--() { return *this -= 1; }
};

namespace twin {
template <typename T> using WithHalf = std::conditional_t<std::is_floating_point_v<T>, T, half>;
}
#define TWIN_HALF_OP(op)                                                                                      \
    constexpr half operator op(half a, half b) { return half(float(a) op float(b)); }                         \
    template <typename T, ::twin::Arithmetic<T> = 0> constexpr ::twin::WithHalf<T> operator op(half a, T b) { \
        if constexpr (std::is_floating_point_v<T>) return float(a) op b;                                      \
        else return a op half(b);                                                                             \
    }                                                                                                         \
    template <typename T, ::twin::Arithmetic<T> = 0> constexpr ::twin::WithHalf<T> operator op(T a, half b) { \
        if constexpr (std::is_floating_point_v<T>) return a op float(b);                                      \
        else return half(a) op b;                                                                             \
    }
// clang-format off
TWIN_HALF_OP(+) TWIN_HALF_OP(-) TWIN_HALF_OP(*) TWIN_HALF_OP(/)
// clang-format on
#undef TWIN_HALF_OP
#define TWIN_HALF_COMPARE(op)                                                                  \
    constexpr bool operator op(half a, half b) { return float(a) op float(b); }                \
    template <typename T, ::twin::Arithmetic<T> = 0> constexpr bool operator op(half a, T b) { \
        if constexpr (std::is_floating_point_v<T>) return float(a) op b;                       \
        else return a op half(b);                                                              \
    }                                                                                          \
    template <typename T, ::twin::Arithmetic<T> = 0> constexpr bool operator op(T a, half b) { \
        if constexpr (std::is_floating_point_v<T>) return a op float(b);                       \
        else return half(a) op b;                                                              \
    }
// clang-format off
TWIN_HALF_COMPARE(==) TWIN_HALF_COMPARE(!=) TWIN_HALF_COMPARE(<) TWIN_HALF_COMPARE(>) TWIN_HALF_COMPARE(<=)
TWIN_HALF_COMPARE(>=)
// clang-format on
#undef TWIN_HALF_COMPARE
using float16_t = half;

// Converts from any number and to float. On the device it has no arithmetic of its own: sums are sums of floats.
struct bfloat16_t {
    uint16_t bits;
    bfloat16_t() = default;
    template <typename T, ::twin::Arithmetic<T> = 0> constexpr bfloat16_t(T v)
        : bits(::twin::bf16_of_float(float(v))) {}
    constexpr bfloat16_t(half v) : bits(::twin::bf16_of_float(float(v))) {}
    constexpr operator float() const { return ::twin::float_of_bf16(bits); }
};

struct int4b_t {  // alone a number from -8 to 7; in tensors two share a byte, the even one low
    uint8_t storage;
    int4b_t() = default;
    constexpr int4b_t(int32_t v) : storage(uint8_t(v & 15)) {}
    constexpr int4b_t(uint32_t v) : storage(uint8_t(v & 15)) {}
    constexpr operator int8_t() const { return int8_t(storage & 8 ? storage | 0xf0 : storage); }
};

namespace AscendC {
using ::int4b_t;
inline float ToFloat(const bfloat16_t& v) { return float(v); }
inline bfloat16_t ToBfloat16(const float& v) { return bfloat16_t(v); }
}  // namespace AscendC
