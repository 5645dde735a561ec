// Element formats for conversions through float lanes: how a source is loaded, how a destination is stored.
#pragma once
#include <limits>

#include "lanes/lanes.h"
#include "lanes/math.h"
#include "lanes/round.h"

namespace twin::math {

// ---- sources: as many elements as a float vector has lanes
struct FromHalf {
    using T = uint16_t;
    static F get(const T* p) { return half_to_lanes(p); }
};
struct FromSingle {
    using T = float;
    static F get(const T* p) { return load<F>(p); }
};
struct FromBf16 {
    using T = uint16_t;
    static F get(const T* p) { return (F)(__builtin_convertvector(load<Narrow<T>>(p), U) << 16); }
};
template <class Int> struct FromInt {
    using T = Int;
    static F get(const T* p) { return __builtin_convertvector(__builtin_convertvector(load<Narrow<T>>(p), I), F); }
};

// int32 is more than float holds, so it rounds on the way in.
template <Round R> struct FromInt32 {
    using T = int32_t;
    static F get(const T* p) { return from_int32<R>(load<I>(p)); }
};

// ---- destinations, the rounding a parameter
struct ToSingle {
    using T = float;
    template <Round R> static void put(T* p, F x) { store(p, settle(x)); }
};
struct ToWholeSingle {
    using T = float;
    template <Round R> static void put(T* p, F x) { store(p, settle(to_whole<R>(x))); }
};
struct ToHalf {
    using T = uint16_t;
    template <Round R> static void put(T* p, F x) {
        if (R == Round::Rint || R == Round::None) return lanes_to_half(p, settle(x));
        store(p, __builtin_convertvector(to_half_bits<R>(x), Narrow<T>));
    }
};
struct ToBf16 {
    using T = uint16_t;
    template <Round R> static void put(T* p, F x) { store(p, __builtin_convertvector(to_bf16_bits<R>(x), Narrow<T>)); }
};
template <class Int, Int least = std::numeric_limits<Int>::min(), Int most = std::numeric_limits<Int>::max()>
struct ToInt {  // saturates; NaN gives 0
    using T = Int;
    template <Round R> static void put(T* p, F x) {
        constexpr bool wide = sizeof(T) > 2;  // T's largest number is no float: stop at the float below it
        constexpr float low = (float)least;
        constexpr float high = wide ? -low * 0x1.fffffep-1f : (float)most;
        F w = to_whole<R>(x);
        I above = w > high;
        w = w == w ? w : F{};
        w = w < low ? splat(low) : above ? splat(high) : w;
        if constexpr (sizeof(T) == 8) {
            for (size_t i = 0; i < kLanes; ++i) p[i] = above[i] ? INT64_MAX : (int64_t)w[i];
        } else {
            I whole = __builtin_convertvector(w, I);
            if (wide) whole = above ? I{} + INT32_MAX : whole;
            store(p, __builtin_convertvector(whole, Narrow<T>));
        }
    }
};

}  // namespace twin::math
