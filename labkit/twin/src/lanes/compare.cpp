// Compare, Select and Duplicate: lanes and mask bits. Element i is bit i%8 of byte i/8.
#include <algorithm>

#include "lanes/lanes.h"
#include "lanes/math.h"

namespace twin::math {
namespace {

struct LT {
    template <class V> I operator()(V a, V b) const { return a < b; }
};
struct GT {
    template <class V> I operator()(V a, V b) const { return a > b; }
};
struct EQ {
    template <class V> I operator()(V a, V b) const { return a == b; }
};
struct LE {
    template <class V> I operator()(V a, V b) const { return a <= b; }
};
struct GE {
    template <class V> I operator()(V a, V b) const { return a >= b; }
};
struct NE {
    template <class V> I operator()(V a, V b) const { return a != b; }
};  // true for NaN, alone among the six

constexpr size_t kGroup = 32;  // elements of one word of mask bits

// ---- where the second operand comes from
template <class X> struct Tensor {
    const typename X::T* p;
    typename X::V get(size_t i) const { return X::get(p + i); }
    Tensor padded(typename X::T* room, size_t i, size_t n) const {
        memcpy(room, p + i, (n - i) * sizeof *p);
        return {room};
    }
};
template <class X> struct Same {
    typename X::V v;
    typename X::V get(size_t) const { return v; }
    Same padded(typename X::T*, size_t, size_t) const { return *this; }
};

template <class Fn, class A, class B> uint32_t word(const A& a, const B& b, size_t i) {
    uint32_t bits = 0;
    for (size_t j = 0; j < kGroup; j += kLanes) bits |= mask_bits(Fn{}(a.get(i + j), b.get(i + j))) << j;
    return bits;
}

template <class X, class Fn, class B> void compare_lanes(uint8_t* d, Tensor<X> a, B b, size_t n) {
    size_t i = 0;
    for (; i + kGroup <= n; i += kGroup) {
        uint32_t bits = word<Fn>(a, b, i);
        memcpy(d + i / 8, &bits, sizeof bits);
    }
    if (i < n) {
        typename X::T room_a[kGroup] = {}, room_b[kGroup] = {};
        uint32_t bits = word<Fn>(a.padded(room_a, i, n), b.padded(room_b, i, n), 0) & ((1u << (n - i)) - 1);
        memcpy(d + i / 8, &bits, (n - i + 7) / 8);
    }
}

template <class X, class B> void compare_mode(Cmp mode, uint8_t* d, Tensor<X> a, B b, size_t n) {
    switch (mode) {
    case Cmp::LT: return compare_lanes<X, LT>(d, a, b, n);
    case Cmp::GT: return compare_lanes<X, GT>(d, a, b, n);
    case Cmp::EQ: return compare_lanes<X, EQ>(d, a, b, n);
    case Cmp::LE: return compare_lanes<X, LE>(d, a, b, n);
    case Cmp::GE: return compare_lanes<X, GE>(d, a, b, n);
    case Cmp::NE: return compare_lanes<X, NE>(d, a, b, n);
    }
}

template <class X> Tensor<X> tensor(const void* p) { return {static_cast<const typename X::T*>(p)}; }
template <class X> Same<X> same(uint64_t bits) { return {scalar_lanes<X>(bits)}; }

void require_compare(Cmp mode, Dt t) {
    if (!supports_compare(mode, t)) refuse("Compare in this mode", t);
}

// ---- select: T is the lanes' bits
template <class T> inline Vec<T> blend(uint32_t bits, Vec<T> a, Vec<T> b) {
#if TWIN_AVX512
    if constexpr (sizeof(T) == 2) return (Vec<T>)_mm512_mask_blend_epi16((__mmask32)bits, (__m512i)b, (__m512i)a);
    else return (Vec<T>)_mm512_mask_blend_epi32((__mmask16)bits, (__m512i)b, (__m512i)a);
#else
    Vec<T> lane;
    for (size_t i = 0; i < kBytes / sizeof(T); ++i) lane[i] = (T)(1u << i);
    return ((T)bits & lane) == lane ? a : b;
#endif
}

template <class T, class B> inline void select_group(T* d, uint32_t bits, Tensor<Whole<T>> a, const B& b, size_t i) {
    constexpr size_t step = kBytes / sizeof(T);
    for (size_t j = 0; j < kGroup; j += step) store(d + j, blend<T>(bits >> j, a.get(i + j), b.get(i + j)));
}

template <class T, class B> void select_lanes(void* dst, const uint8_t* mask, const void* src, B b, size_t n) {
    T* d = static_cast<T*>(dst);
    Tensor<Whole<T>> a = tensor<Whole<T>>(src);
    size_t i = 0;
    uint32_t bits = 0;
    for (; i + kGroup <= n; i += kGroup) {
        memcpy(&bits, mask + i / 8, sizeof bits);
        select_group(d + i, bits, a, b, i);
    }
    if (i < n) {
        T room_a[kGroup] = {}, room_b[kGroup] = {}, out[kGroup];
        memcpy(&bits, mask + i / 8, (n - i + 7) / 8);
        select_group(out, bits, a.padded(room_a, i, n), b.padded(room_b, i, n), 0);
        memcpy(d + i, out, (n - i) * sizeof(T));
    }
}

template <class T> void fill_with(void* d, uint64_t bits, size_t n) { std::fill_n(static_cast<T*>(d), n, (T)bits); }

}  // namespace

void compare(Cmp mode, Dt t, uint8_t* bits, const void* a, const void* b, size_t n) {
    require_compare(mode, t);
    if (t == Dt::I32)
        return compare_lanes<Whole<int32_t>, EQ>(bits, tensor<Whole<int32_t>>(a), tensor<Whole<int32_t>>(b), n);
    t == Dt::F16 ? compare_mode(mode, bits, tensor<Half>(a), tensor<Half>(b), n)
                 : compare_mode(mode, bits, tensor<Single>(a), tensor<Single>(b), n);
}

void compare_scalar(Cmp mode, Dt t, uint8_t* bits, const void* a, uint64_t value, size_t n) {
    require_compare(mode, t);
    if (t == Dt::I32)
        return compare_lanes<Whole<int32_t>, EQ>(bits, tensor<Whole<int32_t>>(a), same<Whole<int32_t>>(value), n);
    t == Dt::F16 ? compare_mode(mode, bits, tensor<Half>(a), same<Half>(value), n)
                 : compare_mode(mode, bits, tensor<Single>(a), same<Single>(value), n);
}

void select(Dt t, void* d, const uint8_t* bits, const void* a, const void* b, size_t n) {
    require(Op::Select, t);
    size_of(t) == 2 ? select_lanes<uint16_t>(d, bits, a, tensor<Whole<uint16_t>>(b), n)
                    : select_lanes<uint32_t>(d, bits, a, tensor<Whole<uint32_t>>(b), n);
}

void select_scalar(Dt t, void* d, const uint8_t* bits, const void* a, uint64_t value, size_t n) {
    require(Op::Select, t);
    size_of(t) == 2 ? select_lanes<uint16_t>(d, bits, a, same<Whole<uint16_t>>(value), n)
                    : select_lanes<uint32_t>(d, bits, a, same<Whole<uint32_t>>(value), n);
}

void fill(Dt t, void* d, uint64_t bits, size_t n) {
    require(Op::Duplicate, t);
    size_of(t) == 1   ? fill_with<uint8_t>(d, bits, n)
    : size_of(t) == 2 ? fill_with<uint16_t>(d, bits, n)
                      : fill_with<uint32_t>(d, bits, n);
}

}  // namespace twin::math
