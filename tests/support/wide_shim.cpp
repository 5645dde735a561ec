// Functions of double lanes by their names, for tests/twin/lanes/test_wide.py (ctypes): n a multiple of the lanes.
#include <string.h>

#include "lanes/wide_special.h"

using namespace twin;

extern "C" bool wide_call(const char* name, double* d, const double* a, const double* b, size_t n) {
#define ONE(f)                                                     \
    if (!strcmp(name, #f)) {                                       \
        wide::each(n, d, [](wide::D x) { return wide::f(x); }, a); \
        return true;                                               \
    }
#define TWO(f)                                                                      \
    if (!strcmp(name, #f)) {                                                        \
        wide::each(n, d, [](wide::D x, wide::D y) { return wide::f(x, y); }, a, b); \
        return true;                                                                \
    }
    ONE(exp)
    ONE(expm1)
    ONE(log)
    ONE(log1p)
    ONE(sin)
    ONE(cos)
    ONE(tan)
    ONE(atan)
    ONE(asin)
    ONE(acos)
    ONE(sinh)
    ONE(cosh)
    ONE(tanh)
    ONE(asinh)
    ONE(acosh)
    ONE(atanh)
    ONE(erf)
    ONE(erfc)
    ONE(lgamma)
    ONE(digamma)
    ONE(floor)
    ONE(ceil)
    ONE(trunc)
    ONE(round_even)
    ONE(sqrt)
    TWO(pow)
    TWO(fmod)
    return false;
}
