// Instructions whose destination has another type than their sources.
#include "lanes/formats.h"

namespace twin::math {
namespace {

// d[i] = fn(a[i], b[i]), and in accumulate() fn(a[i], b[i], d[i]); the last lanes go through padded copies.
template <class From, class To, class Fn> void join(Fn fn, void* dst, const void* first, const void* second, size_t n) {
    auto* d = static_cast<typename To::T*>(dst);
    auto* a = static_cast<const typename From::T*>(first);
    auto* b = static_cast<const typename From::T*>(second);
    size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) To::template put<Round::Rint>(d + i, fn(From::get(a + i), From::get(b + i)));
    if (i < n) {
        typename From::T x[kLanes] = {}, y[kLanes] = {};
        typename To::T out[kLanes];
        memcpy(x, a + i, (n - i) * sizeof *x);
        memcpy(y, b + i, (n - i) * sizeof *y);
        To::template put<Round::Rint>(out, fn(From::get(x), From::get(y)));
        memcpy(d + i, out, (n - i) * sizeof *out);
    }
}

template <class Fn> void accumulate(Fn fn, void* dst, const void* first, const void* second, size_t n) {
    auto* d = static_cast<float*>(dst);
    auto* a = static_cast<const uint16_t*>(first);
    auto* b = static_cast<const uint16_t*>(second);
    size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) Single::put(d + i, fn(Half::get(a + i), Half::get(b + i), Single::get(d + i)));
    if (i < n) {
        uint16_t x[kLanes] = {}, y[kLanes] = {};
        float sum[kLanes] = {};
        memcpy(x, a + i, (n - i) * sizeof *x);
        memcpy(y, b + i, (n - i) * sizeof *y);
        memcpy(sum, d + i, (n - i) * sizeof *sum);
        Single::put(sum, fn(Half::get(x), Half::get(y), Single::get(sum)));
        memcpy(d + i, sum, (n - i) * sizeof *sum);
    }
}

inline F relu(F x) { return x <= 0.0f ? F{} : x; }
struct Plus {
    F operator()(F a, F b) const { return a + b; }
};
struct Minus {
    F operator()(F a, F b) const { return a - b; }
};
struct Times {
    F operator()(F a, F b) const { return a * b; }
};

// The sum of two int16 wraps as int16 does.
inline F wrapped(F x) {
    I whole = __builtin_convertvector(x, I);
    return __builtin_convertvector(whole << 16 >> 16, F);
}

template <class Fn> void relu_cast(Dt from, void* d, const void* a, const void* b, size_t n) {
    Fn fn;
    if (from == Dt::F32) return join<FromSingle, ToHalf>([=](F x, F y) { return relu(fn(x, y)); }, d, a, b, n);
    if (from == Dt::F16)
        return join<FromHalf, ToInt<int8_t>>([=](F x, F y) { return relu(Half::rounded(fn(x, y))); }, d, a, b, n);
    join<FromInt<int16_t>, ToInt<int8_t>>([=](F x, F y) { return relu(wrapped(fn(x, y))); }, d, a, b, n);
}

// Sums of int32 wrap; then as cast_scaled().
void add_deq_relu(void* dst, const void* first, const void* second, float scale, size_t n) {
    auto* d = static_cast<uint16_t*>(dst);
    auto* a = static_cast<const uint32_t*>(first);
    auto* b = static_cast<const uint32_t*>(second);
    constexpr size_t kRun = 64;
    for (size_t i = 0; i < n; i += kRun) {
        size_t some = n - i < kRun ? n - i : kRun;
        int32_t sum[kRun];
        for (size_t j = 0; j < some; ++j) sum[j] = (int32_t)(a[i + j] + b[i + j]);
        cast_scaled(d + i, sum, scale, some);
    }
    map<Half>([](F x) { return relu(x); }, d, n, static_cast<const void*>(d));
}

}  // namespace

void mixed(Op op, Dt to, Dt from, void* d, const void* a, const void* b, uint64_t bits, size_t n) {
    if (!supports_mixed(op, to, from)) refuse("such combined conversion", from);
    switch (op) {
    case Op::MulAddDst: return accumulate([](F x, F y, F sum) { return x * y + sum; }, d, a, b, n);
    case Op::Axpy: {
        F value = scalar_lanes<Half>(bits);
        return accumulate([=](F x, F, F sum) { return value * x + sum; }, d, a, a, n);
    }
    case Op::AddReluCast: return relu_cast<Plus>(from, d, a, b, n);
    case Op::SubReluCast: return relu_cast<Minus>(from, d, a, b, n);
    case Op::MulCast: {
        auto product = [](F x, F y) { return Half::rounded(x * y); };
        return to == Dt::I8 ? join<FromHalf, ToInt<int8_t>>(product, d, a, b, n)
                            : join<FromHalf, ToInt<uint8_t>>(product, d, a, b, n);
    }
    default: {
        float scale;
        memcpy(&scale, &bits, sizeof scale);
        add_deq_relu(d, a, b, scale, n);
    }
    }
}

}  // namespace twin::math
