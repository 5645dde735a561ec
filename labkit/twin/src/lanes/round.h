// The rounding modes of Cast, on lanes: one rule decides whether a magnitude goes up, four places use it.
#pragma once
#include "lanes/lanes.h"
#include "lanes/math.h"

namespace twin::math {

// The part of a magnitude that rounding removes, in units of the last place kept.
struct Remainder {
    I some, half, more;  // > 0, = 1/2, > 1/2
};

// Lanes whose magnitude grows by one last place; each lane -1 or 0. `odd`: the last bit kept is 1.
template <Round R> inline I grows(I negative, I odd, Remainder rest) {
    switch (R) {
    case Round::Floor: return rest.some & negative;
    case Round::Ceil: return rest.some & ~negative;
    case Round::Round: return rest.half | rest.more;
    case Round::Trunc: return I{};
    case Round::Odd: return rest.some & ~odd;
    default: return rest.more | (rest.half & odd);  // None, Rint
    }
}

constexpr float kWhole = 0x1p23f;  // floats from here on are whole numbers

// a in [0, 2^23): the nearest whole number, ties to even; and the next one towards zero.
inline F nearest_whole(F a) { return (a + kWhole) - kWhole; }
inline F whole_below(F a) {
    F t = nearest_whole(a);
    return t > a ? t - 1.0f : t;
}

inline I is_negative(F x) { return (I)x >> 31; }
inline Remainder rest_of(F fraction) { return {fraction > 0.0f, fraction == 0.5f, fraction > 0.5f}; }
inline Remainder rest_of(I low, int half) { return {low > 0, low == half, low > half}; }

// To a whole number, still a float; keeps the sign of zero, inf and NaN.
template <Round R> inline F to_whole(F x) {
    F a = magnitude(x), t;
    if (R == Round::Rint || R == Round::None) {
        t = nearest_whole(a);
    } else {
        t = whole_below(a);
        I odd = (I)(t + kWhole) << 31 >> 31;
        t = t - __builtin_convertvector(grows<R>(is_negative(x), odd, rest_of(a - t)), F);
    }
    return a < kWhole ? (F)((U)t | sign_bit(x)) : x;
}

// To the 16 bits of a half, in 32-bit lanes.
template <Round R> inline I to_half_bits(F x) {
    I a = (I)magnitude(x), negative = is_negative(x);
    // Below 2^-14 a half counts steps of 2^-24; above, it is the float's top bits with another bias.
    I small = a < (113 << 23);
    F count = small ? (F)a * 0x1p24f : F{}, t = whole_below(count);
    Remainder rest = rest_of(count - t), normal = rest_of(a & 0x1fff, 0x1000);
    rest = {small ? rest.some : normal.some, small ? rest.half : normal.half, small ? rest.more : normal.more};
    I q = small ? ((I)(t + kWhole) & 0x7fffff) : (a - (112 << 23)) >> 13;
    q -= grows<R>(negative, (q & 1) != 0, rest);
    // From 2^16 on: inf, or the largest half where the mode leads towards zero. The largest half is odd.
    I away = grows<R>(negative, I{} == 0, Remainder{I{} == 0, I{}, I{} == 0});
    q = a >= (143 << 23) ? 0x7bff - away : q;
    q = a == (255 << 23) ? (I)splat(0x7c00u) : q;
    return a > (255 << 23) ? (I)splat(0x7e00u) : q | (negative & 0x8000);
}

// To the 16 bits of a bfloat16, in 32-bit lanes.
template <Round R> inline I to_bf16_bits(F x) {
    I a = (I)magnitude(x), negative = is_negative(x);
    I q = a >> 16;
    q -= grows<R>(negative, (q & 1) != 0, rest_of(a & 0xffff, 0x8000));
    return a > (255 << 23) ? (I)splat(0x7fc0u) : q | (negative & 0x8000);
}

// A 32-bit integer to float. The host rounds to nearest; the other modes correct that by the exact remainder.
template <Round R> inline F from_int32(I x) {
    if (R == Round::Rint || R == Round::None) return __builtin_convertvector(x, F);
    I negative = x >> 31;
    U a = ((U)x ^ (U)negative) - (U)negative;
    F high = __builtin_convertvector((I)(a >> 8), F) * 256.0f, low = __builtin_convertvector((I)(a & 0xffu), F);
    F t = high + low, cut = low - (t - high);  // both exact: high is a multiple of 256 and low less
    F down = (F)((I)t + (cut < 0.0f));         // the float below, where the sum went up
    F step = (F)((I)down + 1) - down;
    cut = cut < 0.0f ? cut + step : cut;
    I up = grows<R>(negative, ((I)down & 1) != 0, rest_of(cut / step));
    F y = (F)((I)down - (up & (cut > 0.0f)));
    return (F)((U)y | ((U)negative & 0x80000000u));
}

}  // namespace twin::math
