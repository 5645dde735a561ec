// Double lanes, in which the advanced API is computed, and the conversions from and to half, bfloat16, float and
// integers.
//
// An operand is widened, the documented formula evaluated in double, and the result rounded, to 16 bits from float: so
// it is right to a unit in the last place of any type, whatever the order of operations inside. Like the float lanes
// these are the compiler's vectors with + - * / and bit moves only: every host gives the same bits.
#pragma once
#include "lanes/lanes.h"
#include "lanes/math.h"

namespace twin::wide {

using D = math::Vec<double>;
using L = math::Vec<int64_t>;  // also what a comparison of two D gives: -1 or 0 in each lane
constexpr size_t kLanes = math::kBytes / sizeof(double);
constexpr size_t kTile = 512;  // lanes that are widened at once

inline D load(const double* p) {
    D v;
    memcpy(&v, p, sizeof v);
    return v;
}
inline void store(double* p, D v) { memcpy(p, &v, sizeof v); }
inline D splat(double x) { return x - D{}; }
inline D magnitude(D x) { return (D)((L)x & INT64_MAX); }
inline D with_sign(D x, D of) { return (D)((L)x | ((L)of & INT64_MIN)); }  // x not negative
inline D nan_lanes() { return splat(__builtin_nan("")); }
inline D inf_lanes() { return splat(__builtin_inf()); }
inline bool any(L m) {
    int64_t all = 0;
    for (size_t i = 0; i < kLanes; i++) all |= m[i];
    return all;
}
inline D sqrt(D x) {
    for (size_t i = 0; i < kLanes; i++) x[i] = __builtin_sqrt(x[i]);
    return x;
}
inline D round_even(D x) {
    D a = magnitude(x);
    return a < 0x1p52 ? with_sign((a + 0x1p52) - 0x1p52, x) : x;
}
inline D floor(D x) {
    D r = round_even(x);
    return r > x ? r - 1.0 : r;
}
inline D ceil(D x) {
    D r = round_even(x);
    return with_sign(magnitude(r < x ? r + 1.0 : r), x);  // ceil(-0.5) is -0
}
inline D trunc(D x) { return with_sign(floor(magnitude(x)), x); }

// n values of a type to doubles and back. Rounding is to nearest even; integers saturate, NaN becomes 0.
void widen(Dt, double* d, const void* s, size_t n);
void narrow(Dt, void* d, const double* s, size_t n);
double value_of(Dt, uint64_t bits);  // a scalar operand

// d[i] = fn(a[i]...) over n lanes; the arrays have room for whole vectors.
template <class Fn, class... S> inline void each(size_t n, double* d, Fn fn, const S*... a) {
    for (size_t i = 0; i < n; i += kLanes) store(d + i, fn(load(a + i)...));
}

}  // namespace twin::wide
