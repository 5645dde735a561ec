// exp and ln of float lanes, without libm: only IEEE + - * / and bit moves, so every machine gives the same bits.
#pragma once
#include "lanes/lanes.h"

namespace twin::math {

// ln 2 in two parts; the first has 9 significant bits, so that a whole number below 2^15 times it is exact.
constexpr float kLn2Hi = 0.693359375f, kLn2Lo = -2.12194440e-4f;

// e^x = 2^k e^r with r = x - k ln 2, |r| <= ln(2)/2, and e^r = 1 + r + r^2 p(r); p is a minimax polynomial (Remez;
// error 3e-9).
inline F exp(F x) {
    constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: adding it leaves the nearest whole number in the low bits
    x = x > 89.0f ? splat(89.0f) : x;      // beyond it inf, and below it 0, come from the scaling alone
    x = x < -105.0f ? splat(-105.0f) : x;
    F t = x * 1.44269504f + kMagic;
    I k = (I)t - (I)splat(kMagic);
    F kf = t - kMagic;
    F r = (x - kf * kLn2Hi) - kf * kLn2Lo;
    F p = splat(0x1.6db4e8p-10f);
    p = p * r + 0x1.123bdep-7f;
    p = p * r + 0x1.55545ep-5f;
    p = p * r + 0x1.55548ep-3f;
    p = p * r + 0.5f;
    F y = p * (r * r) + r + 1.0f;
    // Two steps: 2^k itself may be no float, and the second product rounds a subnormal result once.
    I half = k >> 1;
    return y * (F)((half + 127) << 23) * (F)((k - half + 127) << 23);
}

// x = 2^k m with m in [sqrt(1/2), sqrt(2)); ln m = 2 atanh(s) with s = f/(2+f), f = m-1, which is f - s (f - R) up to
// the series R of s^2. Written so that the leading term f keeps all its bits.
inline F ln(F x) {
    I tiny = x < 0x1p-126f;
    F scaled = tiny ? x * 0x1p23f : x;
    U bits = (U)scaled - 0x3f3504f3u;  // sqrt(1/2)
    I k = ((I)bits >> 23) - (tiny & 23);
    F f = (F)((bits & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
    F s = f / (f + 2.0f);
    F z = s * s;
    F p = splat(0x1.e2fdd2p-3f);
    p = p * z + 0x1.2438a8p-2f;
    p = p * z + 0x1.999a7cp-2f;
    p = p * z + 0x1.555554p-1f;
    F half_square = f * f * 0.5f;
    F kf = __builtin_convertvector(k, F);
    F small = s * (half_square + p * z) + kf * kLn2Lo;
    F y = kf * kLn2Hi - ((half_square - small) - f);
    y = x < __builtin_inff() ? y : x;  // inf, NaN
    y = x < 0.0f ? quiet_nan() : y;
    return x == 0.0f ? splat(-__builtin_inff()) : y;
}

}  // namespace twin::math
