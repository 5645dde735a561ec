// Cast: every pair that A2 documents, through float lanes wherever float holds the source exactly.
#include "lanes/formats.h"

namespace twin::math {
namespace {

// Source and destination of different widths: the last lanes go through padded copies, as in map().
template <class From, class To, Round R> void convert(void* dst, const void* src, size_t n) {
    auto* d = static_cast<typename To::T*>(dst);
    auto* s = static_cast<const typename From::T*>(src);
    size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) To::template put<R>(d + i, From::get(s + i));
    if (i < n) {
        typename From::T in[kLanes] = {};
        typename To::T out[kLanes];
        memcpy(in, s + i, (n - i) * sizeof *in);
        To::template put<R>(out, From::get(in));
        memcpy(d + i, out, (n - i) * sizeof *out);
    }
}

// 64 bits to float, one at a time: keep the top 24 bits, round by what is below.
template <Round R> float from_int64(int64_t x) {
    if (R == Round::Rint || R == Round::None) return (float)x;
    uint64_t a = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    if (a < 1u << 24) return (float)x;
    int drop = 40 - __builtin_clzll(a);
    uint64_t kept = a >> drop, cut = drop ? a << (64 - drop) : 0, half = 1ull << 63;
    bool some = cut != 0, up = false;
    switch (R) {
    case Round::Floor: up = some && x < 0; break;
    case Round::Ceil: up = some && x > 0; break;
    case Round::Round: up = cut >= half; break;
    case Round::Odd: up = some && !(kept & 1); break;
    default: break;
    }
    float y = (float)(kept + up);
    uint32_t scale = (uint32_t)(127 + drop) << 23;
    float power;
    memcpy(&power, &scale, sizeof power);
    return (x < 0 ? -y : y) * power;
}

template <class From, class To, class Fn> void each(void* d, const void* s, size_t n, Fn fn) {
    for (size_t i = 0; i < n; ++i) static_cast<To*>(d)[i] = fn(static_cast<const From*>(s)[i]);
}

template <class To, class From> To saturate(From x) {
    constexpr From low = sizeof(To) == 2 ? INT16_MIN : INT32_MIN, high = sizeof(To) == 2 ? INT16_MAX : INT32_MAX;
    return (To)(x < low ? low : x > high ? high : x);
}

constexpr int pair(Dt from, Dt to) { return (int)from * 16 + (int)to; }

// Pairs that convert exactly, or for which the rounding mode has no effect. False: not such a pair.
bool cast_plainly(Dt to, Dt from, void* d, const void* s, size_t n) {
    constexpr Round Any = Round::Rint;
    switch (pair(from, to)) {
    case pair(Dt::I8, Dt::F16): convert<FromInt<int8_t>, ToHalf, Any>(d, s, n); return true;
    case pair(Dt::U8, Dt::F16): convert<FromInt<uint8_t>, ToHalf, Any>(d, s, n); return true;
    case pair(Dt::I4, Dt::F16): convert<FromInt<int8_t>, ToHalf, Any>(d, s, n); return true;
    case pair(Dt::I16, Dt::F32): convert<FromInt<int16_t>, ToSingle, Any>(d, s, n); return true;
    case pair(Dt::F16, Dt::F32): convert<FromHalf, ToSingle, Any>(d, s, n); return true;
    case pair(Dt::BF16, Dt::F32): convert<FromBf16, ToSingle, Any>(d, s, n); return true;
    case pair(Dt::I32, Dt::F16): cast_scaled(d, static_cast<const int32_t*>(s), 1.0f, n); return true;
    case pair(Dt::I32, Dt::I16): each<int32_t, int16_t>(d, s, n, saturate<int16_t, int32_t>); return true;
    case pair(Dt::I32, Dt::I64): each<int32_t, int64_t>(d, s, n, [](int32_t x) { return (int64_t)x; }); return true;
    case pair(Dt::I64, Dt::I32): each<int64_t, int32_t>(d, s, n, saturate<int32_t, int64_t>); return true;
    default: return false;
    }
}

template <Round R> void cast_rounding(Dt to, Dt from, void* d, const void* s, size_t n) {
    switch (pair(from, to)) {
    case pair(Dt::I16, Dt::F16): return convert<FromInt<int16_t>, ToHalf, R>(d, s, n);
    case pair(Dt::F16, Dt::I8): return convert<FromHalf, ToInt<int8_t>, R>(d, s, n);
    case pair(Dt::F16, Dt::U8): return convert<FromHalf, ToInt<uint8_t>, R>(d, s, n);
    case pair(Dt::F16, Dt::I4): return convert<FromHalf, ToInt<int8_t, -8, 7>, R>(d, s, n);
    case pair(Dt::F16, Dt::I16): return convert<FromHalf, ToInt<int16_t>, R>(d, s, n);
    case pair(Dt::F16, Dt::I32): return convert<FromHalf, ToInt<int32_t>, R>(d, s, n);
    case pair(Dt::BF16, Dt::I32): return convert<FromBf16, ToInt<int32_t>, R>(d, s, n);
    case pair(Dt::F32, Dt::I16): return convert<FromSingle, ToInt<int16_t>, R>(d, s, n);
    case pair(Dt::F32, Dt::I32): return convert<FromSingle, ToInt<int32_t>, R>(d, s, n);
    case pair(Dt::F32, Dt::I64): return convert<FromSingle, ToInt<int64_t>, R>(d, s, n);
    case pair(Dt::F32, Dt::F16): return convert<FromSingle, ToHalf, R>(d, s, n);
    case pair(Dt::F32, Dt::BF16): return convert<FromSingle, ToBf16, R>(d, s, n);
    case pair(Dt::F32, Dt::F32): return convert<FromSingle, ToWholeSingle, R>(d, s, n);
    case pair(Dt::I32, Dt::F32): return convert<FromInt32<R>, ToSingle, R>(d, s, n);
    case pair(Dt::I64, Dt::F32): return each<int64_t, float>(d, s, n, from_int64<R>);
    default: refuse("such Cast", from);
    }
}

}  // namespace

void cast(Dt to, Dt from, Round mode, void* d, const void* s, size_t n) {
    if (cast_plainly(to, from, d, s, n)) return;
    switch (mode) {
    case Round::None:
    case Round::Rint: return cast_rounding<Round::Rint>(to, from, d, s, n);
    case Round::Floor: return cast_rounding<Round::Floor>(to, from, d, s, n);
    case Round::Ceil: return cast_rounding<Round::Ceil>(to, from, d, s, n);
    case Round::Round: return cast_rounding<Round::Round>(to, from, d, s, n);
    case Round::Trunc: return cast_rounding<Round::Trunc>(to, from, d, s, n);
    case Round::Odd: return cast_rounding<Round::Odd>(to, from, d, s, n);
    case Round::Hybrid: refuse("Cast with CAST_HYBRID", from);
    }
}

// src / 2^17 * scale * 2^17 (SetDeqScale): the detour keeps a large source within fp16 before the scale brings it down.
void cast_scaled(void* half, const int32_t* s, float scale, size_t n) {
    auto* d = static_cast<uint16_t*>(half);
    auto one = [=](F x) { return settle(x * 0x1p-17f * scale * 0x1p17f); };
    size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) lanes_to_half(d + i, one(__builtin_convertvector(load<I>(s + i), F)));
    if (i < n) {
        int32_t in[kLanes] = {};
        uint16_t out[kLanes];
        memcpy(in, s + i, (n - i) * sizeof *in);
        lanes_to_half(out, one(__builtin_convertvector(load<I>(in), F)));
        memcpy(d + i, out, (n - i) * sizeof *out);
    }
}

}  // namespace twin::math
