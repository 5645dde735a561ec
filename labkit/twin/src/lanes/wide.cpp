#include "lanes/wide.h"

namespace twin::wide {

namespace {

template <class T> void from(double* d, const void* s, size_t n) {
    auto* p = static_cast<const T*>(s);
    for (size_t i = 0; i < n; i++) d[i] = double(p[i]);
}

template <class T> void to(void* d, const double* s, size_t n, double low, double top) {
    auto* p = static_cast<T*>(d);
    for (size_t i = 0; i < n; i++) {
        double x = __builtin_rint(s[i]);
        p[i] = x != x ? T(0) : T(x < low ? low : x > top ? top : x);
    }
}

}  // namespace

void widen(Dt t, double* d, const void* s, size_t n) {
    switch (t) {
    case Dt::F32: return from<float>(d, s, n);
    case Dt::I8: return from<int8_t>(d, s, n);
    case Dt::U8: return from<uint8_t>(d, s, n);
    case Dt::I16: return from<int16_t>(d, s, n);
    case Dt::U16: return from<uint16_t>(d, s, n);
    case Dt::I32: return from<int32_t>(d, s, n);
    case Dt::U32: return from<uint32_t>(d, s, n);
    case Dt::I64: return from<int64_t>(d, s, n);
    case Dt::U64: return from<uint64_t>(d, s, n);
    default: break;
    }
    alignas(64) float f[kTile];
    for (size_t i = 0; i < n; i += kTile) {
        size_t some = n - i < kTile ? n - i : kTile;
        math::cast(Dt::F32, t, Round::None, f, static_cast<const uint16_t*>(s) + i, some);
        from<float>(d + i, f, some);
    }
}

void narrow(Dt t, void* d, const double* s, size_t n) {
    switch (t) {
    case Dt::I8: return to<int8_t>(d, s, n, -0x1p7, 0x1p7 - 1);
    case Dt::U8: return to<uint8_t>(d, s, n, 0, 0x1p8 - 1);
    case Dt::I16: return to<int16_t>(d, s, n, -0x1p15, 0x1p15 - 1);
    case Dt::I32: return to<int32_t>(d, s, n, -0x1p31, 0x1p31 - 1);
    default: break;
    }
    alignas(64) float f[kTile];
    for (size_t i = 0; i < n; i += kTile) {
        size_t some = n - i < kTile ? n - i : kTile;
        for (size_t j = 0; j < some; j++) f[j] = s[i + j] == s[i + j] ? float(s[i + j]) : __builtin_nanf("");
        if (t == Dt::F32) memcpy(static_cast<float*>(d) + i, f, some * sizeof(float));
        else math::cast(t, Dt::F32, Round::Rint, static_cast<uint16_t*>(d) + i, f, some);
    }
}

double value_of(Dt t, uint64_t bits) {
    double d;
    widen(t, &d, &bits, 1);
    return d;
}

}  // namespace twin::wide
