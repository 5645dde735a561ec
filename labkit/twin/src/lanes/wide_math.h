// Elementary functions of double lanes, good to about 1e-13: rounded to float they are right to the last place or the
// one beside it. Built of + - * / and square roots alone (see wide.h). Special values follow C's <math.h>.
#pragma once
#include "lanes/wide.h"

namespace twin::wide {

constexpr double kPi = 0x1.921fb54442d18p+1, kLn2 = 0x1.62e42fefa39efp-1;
// the first has 32 bits: a count times it is exact
constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;

template <size_t n> inline D polynomial(D x, const double (&c)[n]) {  // c[0] + c[1] x + ...
    D p = splat(c[n - 1]);
    for (size_t i = n - 1; i-- > 0;) p = p * x + c[i];
    return p;
}

// 1/k!, from 1/1! on: e^r = 1 + r (c0 + c1 r + ...) for |r| <= ln 2 / 2
constexpr double kExp[] = {1.0,        1 / 2.0,     1 / 6.0,      1 / 24.0,      1 / 120.0,      1 / 720.0,
                           1 / 5040.0, 1 / 40320.0, 1 / 362880.0, 1 / 3628800.0, 1 / 39916800.0, 1 / 479001600.0};

inline L exponent_bits(D k) {
    return (L)(k + 0x1.8p52) << 52;
}  // k whole: its low bits, where a double keeps its exponent

// e^x - 1, keeping the digits of a small x.
inline D expm1(D x) {
    D y = x < -40.0 ? splat(-40.0) : x > 709.0 ? splat(709.0) : x;
    D k = round_even(y * (1 / kLn2));
    D r = (y - k * kLn2High) - k * kLn2Low;
    D scale = (D)(exponent_bits(k) + ((L)splat(1.0)));
    D e = scale * (polynomial(r, kExp) * r) + (scale - 1.0);
    return x > 709.0 ? inf_lanes() : x == x ? e : x;
}
inline D exp(D x) {
    D y = x < -700.0 ? splat(-700.0) : x > 709.0 ? splat(709.0) : x;
    D k = round_even(y * (1 / kLn2));
    D r = (y - k * kLn2High) - k * kLn2Low;
    D e = (D)(exponent_bits(k) + ((L)splat(1.0))) * (polynomial(r, kExp) * r + 1.0);
    return x > 709.0 ? inf_lanes() : x < -700.0 ? D{} : x == x ? e : x;
}

constexpr double kAtanh[] = {1.0, 1 / 3.0, 1 / 5.0, 1 / 7.0, 1 / 9.0, 1 / 11.0, 1 / 13.0, 1 / 15.0, 1 / 17.0, 1 / 19.0};

// ln(1 + f) for f in [sqrt(1/2) - 1, sqrt(2) - 1]
inline D log_near_one(D f) {
    D s = f / (f + 2.0);
    return 2.0 * s * polynomial(s * s, kAtanh);
}
inline D log(D x) {
    L bits = (L)x - 0x3fe6a09e667f3bcdLL;  // sqrt(1/2)
    D k = __builtin_convertvector(bits >> 52, D);
    D m = (D)((bits & 0xfffffffffffffLL) + 0x3fe6a09e667f3bcdLL);
    D y = k * kLn2High + (k * kLn2Low + log_near_one(m - 1.0));
    y = x < __builtin_inf() ? y : x;  // inf, NaN
    y = x < 0.0 ? nan_lanes() : y;
    return x == 0.0 ? -inf_lanes() : y;
}
inline D log1p(D x) { return magnitude(x) < 0.25 ? log_near_one(x) : log(x + 1.0); }

// ---- circular functions; exact to their last place up to 2^25, beyond 2^50 without meaning (the documents say 65504)
constexpr double kSin[] = {1.0,          -1 / 6.0,        1 / 120.0,        -1 / 5040.0,
                           1 / 362880.0, -1 / 39916800.0, 1 / 6227020800.0, -1 / 1307674368000.0};
constexpr double kCos[] = {1.0,
                           -1 / 2.0,
                           1 / 24.0,
                           -1 / 720.0,
                           1 / 40320.0,
                           -1 / 3628800.0,
                           1 / 479001600.0,
                           -1 / 87178291200.0,
                           1 / 20922789888000.0};

struct Angle {
    D s, c;     // sine and cosine of what is left of the angle
    L quarter;  // how many right angles were taken off
};
inline Angle reduce(D x) {
    D q = round_even(x * (2 / kPi));
    // pi/2, 30 bits each
    D r = ((x - q * 0x1.921fb54p+0) - q * 0x1.10b46118p-30) - q * 0x1.313198ap-61 - q * 0x1.701b8398p-92;
    D z = r * r;
    return {polynomial(z, kSin) * r, polynomial(z, kCos), (L)(q + 0x1.8p52) & 3};
}
inline D sin(D x) {
    Angle a = reduce(x);
    D y = (a.quarter & 1) ? a.c : a.s;
    y = (a.quarter & 2) ? -y : y;
    return x == 0.0 ? x : y;
}
inline D cos(D x) {
    Angle a = reduce(x);
    D y = (a.quarter & 1) ? a.s : a.c;
    return ((a.quarter + 1) & 2) ? -y : y;
}
inline D tan(D x) {
    Angle a = reduce(x);
    D y = (a.quarter & 1) ? -a.c / a.s : a.s / a.c;
    return x == 0.0 ? x : y;
}
inline D size_of_sin_pi(D x) { return magnitude(sin(kPi * (x - round_even(x)))); }  // |sin(pi x)|, 0 for whole x

inline D atan(D x) {
    D a = magnitude(x);
    D t = a > 1.0 ? 1.0 / a : a;
    D u = t / (1.0 + sqrt(1.0 + t * t));  // half the angle, twice: below 0.199
    u = u / (1.0 + sqrt(1.0 + u * u));
    D z = u * u, p = splat(1 / 21.0);
    for (int k = 19; k > 0; k -= 2) p = 1.0 / k - z * p;
    D y = 4.0 * u * p;
    y = a > 1.0 ? kPi / 2 - y : y;
    return with_sign(y, x);
}
inline D asin(D x) {
    D y = atan(x / sqrt((1.0 - x) * (1.0 + x)));
    return magnitude(x) <= 1.0 ? y : nan_lanes();
}
inline D acos(D x) {  // of what the half angle's tangent is, so that an argument near 1 keeps its digits
    D y = 2.0 * atan(sqrt((1.0 - x) / (1.0 + x)));
    return magnitude(x) <= 1.0 ? y : nan_lanes();
}

// ---- hyperbolic functions
inline D sinh(D x) {
    D e = expm1(magnitude(x));
    return with_sign(e < __builtin_inf() ? 0.5 * (e + e / (e + 1.0)) : e, x);
}
inline D cosh(D x) {
    D e = exp(magnitude(x));
    return 0.5 * (e + 1.0 / e);
}
inline D tanh(D x) {
    D e = expm1(-2.0 * magnitude(x));
    return with_sign(magnitude(e / (e + 2.0)), x);
}
inline D asinh(D x) {
    D a = magnitude(x), s = a * a;
    return with_sign(a < __builtin_inf() ? log1p(a + s / (1.0 + sqrt(s + 1.0))) : a, x);
}
inline D acosh(D x) {
    D t = x - 1.0;
    return log1p(t + sqrt(t * (x + 1.0)));
}
inline D atanh(D x) {
    D a = magnitude(x);
    return with_sign(0.5 * log1p(2.0 * a / (1.0 - a)), x);
}

}  // namespace twin::wide
