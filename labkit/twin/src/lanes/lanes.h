// Lanes: one portable vector of the host's own width, and the formats that an operand is loaded from and stored to.
//
// Written with the compiler's vector extension, so that + - * / < ?: mean the same IEEE operation for 4, 8 or 16 lanes
// and no result depends on the machine. Intrinsics are used only for what the extension cannot express: fp16
// conversion, square root, mask bits. Private to this folder.
//
// NaN: every NaN that a lane operation stores is the one quiet NaN 0x7FC00000 (0x7E00, 0x7FC0). x86 and Arm disagree
// about the sign and payload of a NaN result, and compilers may swap the operands of a sum.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <utility>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12 warns about its own headers
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include <immintrin.h>
#define TWIN_AVX512 1
#define TWIN_VECTOR_BYTES 64
#elif defined(__AVX2__) && defined(__F16C__)
#include <immintrin.h>
#define TWIN_AVX2 1
#define TWIN_VECTOR_BYTES 32
#elif defined(__SSE2__)
#include <emmintrin.h>
#define TWIN_SSE2 1
#define TWIN_VECTOR_BYTES 16
#else
#if defined(__aarch64__)
// It gives its own types the names that are half and bfloat16_t here, and needs the compiler's __fp16 and __bf16.
#pragma push_macro("__fp16")
#pragma push_macro("__bf16")
#undef __fp16
#undef __bf16
#define float16_t neon_float16_t
#define bfloat16_t neon_bfloat16_t
#include <arm_neon.h>
#undef float16_t
#undef bfloat16_t
#pragma pop_macro("__fp16")
#pragma pop_macro("__bf16")
#define TWIN_NEON 1
#endif
#define TWIN_VECTOR_BYTES 16
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

namespace twin::math {

constexpr size_t kBytes = TWIN_VECTOR_BYTES;
constexpr size_t kLanes = kBytes / 4;  // lanes of a float vector

template <class T, size_t Bytes> struct Packed { typedef T type __attribute__((vector_size(Bytes))); };
template <class T> using Vec = typename Packed<T, kBytes>::type;
template <class T> using Narrow = typename Packed<T, kLanes * sizeof(T)>::type;  // as many lanes as a float vector has

using F = Vec<float>;
using I = Vec<int32_t>;  // also what a comparison of two F gives: -1 or 0 in each lane
using U = Vec<uint32_t>;

template <class V, class T> inline V load(const T* p) {
    V v;
    memcpy(&v, p, sizeof v);
    return v;
}

template <class V, class T> inline void store(T* p, V v) { memcpy(p, &v, sizeof v); }

inline F splat(float x) { return x - F{}; }  // x - 0 is x for every x, -0 included
inline U splat(uint32_t x) { return x + U{}; }
inline F quiet_nan() { return (F)splat(0x7fc00000u); }
inline F settle(F x) { return x == x ? x : quiet_nan(); }
inline F magnitude(F x) { return (F)((U)x & 0x7fffffffu); }
inline U sign_bit(F x) { return (U)x & 0x80000000u; }

inline F sqrt(F x) {  // correctly rounded everywhere
#if TWIN_AVX512
    return (F)_mm512_sqrt_ps((__m512)x);
#elif TWIN_AVX2
    return (F)_mm256_sqrt_ps((__m256)x);
#elif TWIN_SSE2
    return (F)_mm_sqrt_ps((__m128)x);
#elif TWIN_NEON
    return (F)vsqrtq_f32((float32x4_t)x);
#else
    for (size_t i = 0; i < kLanes; ++i) x[i] = __builtin_sqrtf(x[i]);
    return x;
#endif
}

// One bit a lane, lane 0 lowest.
inline uint32_t mask_bits(I m) {
#if TWIN_AVX512
    return _mm512_movepi32_mask((__m512i)m);
#elif TWIN_AVX2
    return (uint32_t)_mm256_movemask_ps((__m256)m);
#elif TWIN_SSE2
    return (uint32_t)_mm_movemask_ps((__m128)m);
#elif TWIN_NEON
    return vaddvq_u32(vandq_u32((uint32x4_t)m, uint32x4_t{1, 2, 4, 8}));
#else
    uint32_t bits = 0;
    for (size_t i = 0; i < kLanes; ++i) bits |= (uint32_t)(m[i] & 1) << i;
    return bits;
#endif
}

inline F half_to_lanes(const uint16_t* p) {
#if TWIN_AVX512
    return (F)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)p));
#elif TWIN_AVX2
    return (F)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)p));
#elif TWIN_NEON
    return (F)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
#else
    // Move the 15 bits below the sign to float's place and correct the exponent's bias; subnormals are left to a
    // subtraction, which normalises them exactly.
    I h = __builtin_convertvector(load<Narrow<uint16_t>>(p), I);
    I body = (h & 0x7fff) << 13;
    I normal = body + (112 << 23);
    I small = (I)((F)(body + (113 << 23)) - (F)splat(113u << 23));
    I bits = body >= (0x7c00 << 13) ? normal + (112 << 23) : body < (0x400 << 13) ? small : normal;
    return (F)(bits | (h & 0x8000) << 16);
#endif
}

// To nearest even; x holds no NaN but the quiet one.
inline void lanes_to_half(uint16_t* p, F x) {
#if TWIN_AVX512
    _mm256_storeu_si256((__m256i*)p, _mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#elif TWIN_AVX2
    _mm_storeu_si128((__m128i*)p, _mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT));
#elif TWIN_NEON
    vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32((float32x4_t)x)));
#else
    // Normals: add half a unit less the parity, then drop 13 bits. Subnormals: adding 0.5 leaves the float's last
    // place at 2^-24, which is fp16's smallest step, so that the sum rounds as fp16 would.
    I a = (I)x & 0x7fffffff;
    I normal = (a + 0xfff + (a >> 13 & 1) - (112 << 23)) >> 13;
    I small = (I)((F)a + 0.5f) - 0x3f000000;
    I bits = a >= 0x477ff000 ? (I)splat(0x7c00u) : a < (113 << 23) ? small : normal;
    bits = a > 0x7f800000 ? (I)splat(0x7e00u) : bits;
    store(p, __builtin_convertvector(bits | ((I)x >> 16 & 0x8000), Narrow<uint16_t>));
#endif
}

// ---- formats: T in memory, V in lanes
struct Half {
    using T = uint16_t;
    using V = F;
    static V get(const T* p) { return half_to_lanes(p); }
    static void put(T* p, V v) { lanes_to_half(p, settle(v)); }
    static V rounded(V v) {
#if TWIN_AVX512
        return (F)_mm512_cvtph_ps(_mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#else
        T h[kLanes];
        put(h, v);
        return get(h);
#endif
    }
};

struct Single {
    using T = float;
    using V = F;
    static V get(const T* p) { return load<V>(p); }
    static void put(T* p, V v) { store(p, settle(v)); }
    static V rounded(V v) { return v; }
};

template <class Int> struct Whole {
    using T = Int;
    using V = Vec<Int>;
    static V get(const T* p) { return load<V>(p); }
    static void put(T* p, V v) { store(p, v); }
};

template <class X>  // lanes a step
constexpr size_t kStep = sizeof(typename X::V) / sizeof(std::declval<typename X::V>()[0]);

// A scalar operand in a format's lanes; `bits` is the value as the tensor stores it.
template <class X> inline typename X::V scalar_lanes(uint64_t bits) {
    typename X::T one, all[kBytes / sizeof one] = {};
    memcpy(&one, &bits, sizeof one);
    for (auto& x : all) x = one;
    return X::get(all);
}

// d[i] = fn(s[i]...). The last lanes go through a padded copy and the very same arithmetic. d may be one of the
// sources.
template <class X, class Fn, class... S> inline void map(Fn fn, void* dst, size_t n, const S*... src) {
    using T = typename X::T;
    constexpr size_t step = kStep<X>;
    T* d = static_cast<T*>(dst);
    size_t i = 0;
    for (; i + step <= n; i += step) X::put(d + i, fn(X::get(static_cast<const T*>(src) + i)...));
    if (i < n) {
        size_t bytes = (n - i) * sizeof(T);
        T last[step];
        auto padded = [&](const void* s) {
            T tail[step] = {};
            memcpy(tail, static_cast<const T*>(s) + i, bytes);
            return X::get(tail);
        };
        X::put(last, fn(padded(src)...));
        memcpy(d + i, last, bytes);
    }
}

}  // namespace twin::math
