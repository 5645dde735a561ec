// The error function, the gamma function's logarithm and its derivative, powers: double lanes, see wide_math.h.
#pragma once
#include "lanes/wide_math.h"

namespace twin::wide {

// (1 + 2x) e^(x^2) erfc(x) for x >= 0 in t = (x - 3.75)/(x + 3.75): Chebyshev fit of degree 16, relative error 2e-12
constexpr double kErfc[] = {0x1.3ccda0b5d5dc2p+0,   -0x1.1f3676840b637p-3, 0x1.d5f294d18a6cfp-9,
                            0x1.510169d771367p-4,   -0x1.bda93112d25c9p-4, 0x1.7a14183125e42p-4,
                            -0x1.e0d0ed218f66dp-5,  0x1.d0b00b25e7d69p-6,  -0x1.3f618f077695ap-7,
                            0x1.cc38d9cb1f5b7p-10,  0x1.348b617c5cd98p-12, -0x1.303b8dd7f78a2p-12,
                            0x1.a8705041606c3p-15,  0x1.77e81f305a9c3p-16, -0x1.5793e0fbaf701p-17,
                            -0x1.1603f89f4edc3p-20, 0x1.04d590ad59120p-20};
// erf(x)/x in x^2 up to x = 0.85: 2/sqrt(pi) (-1)^n / (n! (2n + 1))
constexpr double kErf[] = {0x1.20dd750429b6dp+0,  -0x1.812746b0379e7p-2,  0x1.ce2f21a042be2p-4,  -0x1.b82ce31288b51p-6,
                           0x1.565bcd0e6a53fp-8,  -0x1.c02db40040b86p-11, 0x1.f9a326f9b89b7p-14, -0x1.f4d25c3e0c2ebp-17,
                           0x1.b9e6c9dc651a3p-20, -0x1.5f742ec43e71ap-23, 0x1.fcc5720624c1cp-27, -0x1.51d7181c5d36dp-30,
                           0x1.9e6ad5e55a730p-34};

inline D erfc_positive(D a) {
    D x = a > 30.0 ? splat(30.0) : a;
    return exp(-(x * x)) * polynomial((x - 3.75) / (x + 3.75), kErfc) / (1.0 + 2.0 * x);
}
inline D erf(D x) {
    D a = magnitude(x);
    return a < 0.85 ? polynomial(x * x, kErf) * x : with_sign(1.0 - erfc_positive(a), x);
}
inline D erfc(D x) {
    D a = magnitude(x), y = erfc_positive(a);
    y = a < 0.85 ? 1.0 - polynomial(x * x, kErf) * a : y;
    return x < 0.0 ? 2.0 - y : y;
}

// Stirling's series from 8 on, and the recurrence to get there.
constexpr double kStirling[] = {1 / 12.0, -1 / 360.0, 1 / 1260.0, -1 / 1680.0, 1 / 1188.0, -691 / 360360.0, 1 / 156.0};
constexpr double kDigamma[] = {1 / 12.0, -1 / 120.0, 1 / 252.0, -1 / 240.0, 1 / 132.0, -691 / 32760.0, 1 / 12.0};

inline D lgamma_positive(D x) {
    D product = splat(1.0), y = x;
    for (int i = 0; i < 8; i++) {
        L low = y < 8.0;
        product = low ? product * y : product;
        y = low ? y + 1.0 : y;
    }
    D r = 1.0 / y;
    D s = (y - 0.5) * log(y) - y + 0.91893853320467274178 + polynomial(r * r, kStirling) * r - log(product);
    s = (x == 1.0) | (x == 2.0) ? D{} : s;
    return x < __builtin_inf() ? s : x;
}
inline D lgamma(D x) {
    D y = lgamma_positive(x > 0.0 ? x : 1.0 - x);
    D s = size_of_sin_pi(x);
    D low = s == 0.0 ? inf_lanes() : log(kPi / s) - y;
    low = x > -__builtin_inf() ? low : magnitude(x);
    return x > 0.0 ? y : x == x ? low : x;
}

inline D digamma_positive(D x) {
    D sum = D{}, y = x;
    for (int i = 0; i < 8; i++) {
        L low = y < 8.0;
        sum = low ? sum - 1.0 / y : sum;
        y = low ? y + 1.0 : y;
    }
    D r = 1.0 / y, z = r * r;
    D s = sum + log(y) - 0.5 * r - polynomial(z, kDigamma) * z;
    return x < __builtin_inf() ? s : x;
}
inline D digamma(D x) {  // at 0: minus infinity with the opposite sign of the zero; at other poles NaN
    D f = x - floor(x);
    D y = digamma_positive(x > 0.0 ? x : 1.0 - x);
    D low = f == 0.0 ? nan_lanes() : y - kPi / tan(kPi * (f > 0.5 ? f - 1.0 : f));
    low = x == 0.0 ? with_sign(inf_lanes(), -x) : low;
    low = x > -__builtin_inf() ? low : nan_lanes();
    return x > 0.0 ? y : x == x ? low : x;
}

// C's pow: an exponent of 0 and a base of 1 give 1 always; a negative base has whole powers only.
inline D pow(D x, D y) {
    D a = magnitude(x);
    D p = exp(y * log(a));
    L whole = floor(y) == y, odd = whole & (floor(y * 0.5) * 2.0 != y);
    p = (x < 0.0) & odd ? -p : (x < 0.0) & ~whole & (a < __builtin_inf()) ? nan_lanes() : p;
    p = x == 0.0 ? (y < 0.0 ? inf_lanes() : D{}) : p;
    p = (x == 0.0) & odd ? with_sign(magnitude(p), x) : p;
    p = magnitude(y) == __builtin_inf() ? (a == 1.0 ? splat(1.0) : ((a > 1.0) == (y > 0.0)) ? inf_lanes() : D{}) : p;
    p = (x == x) & (y == y) ? p : nan_lanes();
    return (y == 0.0) | (x == 1.0) ? splat(1.0) : p;
}

// fmod(x, y): the remainder of x / y with the sign of x, exact, by long division in double.
inline D fmod(D x, D y) {
    D r = magnitude(x), b = magnitude(y);
    for (L more = r >= b; any(more & (b > 0.0)); more = r >= b) {
        D q = trunc(r / b);
        D top = (D)((L)q & ~0x1fffffffLL);  // 24 bits: its product with 24 bits of b is exact
        top = top > 0.0 ? top : splat(1.0);
        D next = r - top * b;
        L back = next < 0.0;  // the quotient had been rounded up
        next = back ? next + b : next;
        r = more ? next : r;
    }
    D z = with_sign(r, x);
    z = (magnitude(x) < __builtin_inf()) & (b > 0.0) ? z : nan_lanes();
    return b == __builtin_inf() ? (magnitude(x) < b ? x : nan_lanes()) : z;
}

}  // namespace twin::wide
