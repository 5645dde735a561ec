// Two operands: Add Sub Mul Div Max Min And Or AddRelu SubRelu MulAddDst FusedMulAdd
// MulAddRelu, and a tensor with a scalar:
// Adds Muls Maxs Mins LeakyRelu Axpy ShiftLeft ShiftRight.
#include <type_traits>

#include "lanes/lanes.h"
#include "lanes/math.h"

namespace twin::math {
namespace {

// Whether a comparison may select b although a is NaN; integers have no NaN.
inline F keep_nan(F a, F chosen) { return a == a ? chosen : a; }
template <class V> inline V keep_nan(V, V chosen) { return chosen; }

struct Add {
    template <class V> V operator()(V a, V b) const { return a + b; }
};
struct Sub {
    template <class V> V operator()(V a, V b) const { return a - b; }
};
struct Mul {
    template <class V> V operator()(V a, V b) const { return a * b; }
};
struct Div {
    F operator()(F a, F b) const { return a / b; }
};
struct Max {
    template <class V> V operator()(V a, V b) const { return keep_nan(a, a > b ? a : b); }
};
struct Min {
    template <class V> V operator()(V a, V b) const { return keep_nan(a, a < b ? a : b); }
};
struct And {
    template <class V> V operator()(V a, V b) const { return a & b; }
};
struct Or {
    template <class V> V operator()(V a, V b) const { return a | b; }
};
struct MulAddDst {
    F operator()(F a, F b, F d) const { return a * b + d; }
};
struct FusedMulAdd {
    F operator()(F a, F b, F d) const { return d * a + b; }
};

inline F relu(F x) { return x <= 0.0f ? F{} : x; }
using Bits16 = Vec<uint16_t>;
inline Bits16 relu(Bits16 x) { return x & (Bits16)((Vec<int16_t>)x >= 0); }  // the sum has wrapped as unsigned
struct MulAddRelu {
    F operator()(F a, F b, F d) const { return relu(d * a + b); }
};
struct AddRelu {
    template <class V> V operator()(V a, V b) const { return relu(a + b); }
};
struct SubRelu {
    template <class V> V operator()(V a, V b) const { return relu(a - b); }
};

template <class Fn, class... S> void floats(Dt t, void* d, size_t n, const S*... s) {
    t == Dt::F16 ? map<Half>(Fn{}, d, n, s...) : map<Single>(Fn{}, d, n, s...);
}

// Sums and products are the same bits for signed and unsigned, and only unsigned may wrap in C++.
template <class Fn> void modular(Dt t, void* d, const void* a, const void* b, size_t n) {
    if (t == Dt::I16) return map<Whole<uint16_t>>(Fn{}, d, n, a, b);
    if (t == Dt::I32) return map<Whole<uint32_t>>(Fn{}, d, n, a, b);
    floats<Fn>(t, d, n, a, b);
}

template <class Fn> void ordered(Dt t, void* d, const void* a, const void* b, size_t n) {
    if (t == Dt::I16) return map<Whole<int16_t>>(Fn{}, d, n, a, b);
    if (t == Dt::I32) return map<Whole<int32_t>>(Fn{}, d, n, a, b);
    floats<Fn>(t, d, n, a, b);
}

template <class Fn> void rectified(Dt t, void* d, const void* a, const void* b, size_t n) {
    t == Dt::I16 ? map<Whole<uint16_t>>(Fn{}, d, n, a, b) : floats<Fn>(t, d, n, a, b);
}

// ---- tensor with scalar: the same functors, the second operand bound
template <class X, class Fn> void bound(Fn fn, void* d, const void* s, uint64_t bits, size_t n) {
    auto b = scalar_lanes<X>(bits);
    map<X>([=](auto a) { return fn(a, b); }, d, n, s);
}

struct LeakyRelu {
    F operator()(F x, F slope) const { return x >= 0.0f ? x : x * slope; }
};

template <class Fn> void bound_floats(Dt t, void* d, const void* s, uint64_t bits, size_t n) {
    t == Dt::F16 ? bound<Half>(Fn{}, d, s, bits, n) : bound<Single>(Fn{}, d, s, bits, n);
}

template <class Fn> void bound_modular(Dt t, void* d, const void* s, uint64_t bits, size_t n) {
    if (t == Dt::I16) return bound<Whole<uint16_t>>(Fn{}, d, s, bits, n);
    if (t == Dt::I32) return bound<Whole<uint32_t>>(Fn{}, d, s, bits, n);
    bound_floats<Fn>(t, d, s, bits, n);
}

template <class Fn> void bound_ordered(Dt t, void* d, const void* s, uint64_t bits, size_t n) {
    if (t == Dt::I16) return bound<Whole<int16_t>>(Fn{}, d, s, bits, n);
    if (t == Dt::I32) return bound<Whole<int32_t>>(Fn{}, d, s, bits, n);
    bound_floats<Fn>(t, d, s, bits, n);
}

template <class X> void axpy(void* d, const void* s, uint64_t bits, size_t n) {
    F value = scalar_lanes<X>(bits);
    map<X>([=](F x, F sum) { return value * x + sum; }, d, n, s, static_cast<const void*>(d));
}

template <class T>  // T unsigned
void shift_left(void* d, const void* s, uint64_t bits, size_t n) {
    T count = (T)bits;
    if (count >= 8 * sizeof(T)) return map<Whole<T>>([](auto x) { return x ^ x; }, d, n, s);
    map<Whole<T>>([by = (int)count](auto x) { return x << by; }, d, n, s);
}

template <class T>  // logical for unsigned T, arithmetic for signed
void shift_right(void* d, const void* s, uint64_t bits, size_t n) {
    constexpr int width = 8 * sizeof(T);
    auto count = (std::make_unsigned_t<T>)bits;
    bool all_out = count >= width;
    if (all_out && std::is_unsigned_v<T>) return map<Whole<T>>([](auto x) { return x ^ x; }, d, n, s);
    map<Whole<T>>([by = all_out ? width - 1 : (int)count](auto x) { return x >> by; }, d, n, s);
}

// Adds half a unit of the last remaining place before shifting, as roundEn asks; only signed numbers have it.
template <class T> void shift_right_up(void* d, const void* s, uint64_t bits, size_t n) {
    constexpr int width = 8 * sizeof(T);
    auto count = (std::make_unsigned_t<T>)bits;
    if (count == 0) return shift_right<T>(d, s, bits, n);
    if (count > width) return map<Whole<T>>([](auto x) { return x ^ x; }, d, n, s);
    map<Whole<T>>(
        [by = (int)count](auto x) {
            auto cut = x >> (by - 1);
            return (cut >> 1) + (cut & 1);
        },
        d, n, s);
}

}  // namespace

void shift_right_rounded(Dt t, void* d, const void* s, uint64_t bits, size_t n) {
    require(Op::ShiftRight, t);
    if (t == Dt::I16) return shift_right_up<int16_t>(d, s, bits, n);
    if (t == Dt::I32) return shift_right_up<int32_t>(d, s, bits, n);
    scalar(Op::ShiftRight, t, d, s, bits, n);
}

void binary(Op op, Dt t, void* d, const void* a, const void* b, size_t n) {
    require(op, t);
    const void* sum = d;
    switch (op) {
    case Op::Add: return modular<Add>(t, d, a, b, n);
    case Op::Sub: return modular<Sub>(t, d, a, b, n);
    case Op::Mul: return modular<Mul>(t, d, a, b, n);
    case Op::Div: return floats<Div>(t, d, n, a, b);
    case Op::Max: return ordered<Max>(t, d, a, b, n);
    case Op::Min: return ordered<Min>(t, d, a, b, n);
    case Op::And: return map<Whole<uint16_t>>(And{}, d, n, a, b);
    case Op::Or: return map<Whole<uint16_t>>(Or{}, d, n, a, b);
    case Op::AddRelu: return rectified<AddRelu>(t, d, a, b, n);
    case Op::SubRelu: return rectified<SubRelu>(t, d, a, b, n);
    case Op::MulAddDst: return floats<MulAddDst>(t, d, n, a, b, sum);
    case Op::FusedMulAdd: return floats<FusedMulAdd>(t, d, n, a, b, sum);
    case Op::MulAddRelu: return floats<MulAddRelu>(t, d, n, a, b, sum);
    default: refuse("such binary operation", t);
    }
}

void scalar(Op op, Dt t, void* d, const void* s, uint64_t bits, size_t n) {
    require(op, t);
    switch (op) {
    case Op::Adds: return bound_modular<Add>(t, d, s, bits, n);
    case Op::Muls: return bound_modular<Mul>(t, d, s, bits, n);
    case Op::Maxs: return bound_ordered<Max>(t, d, s, bits, n);
    case Op::Mins: return bound_ordered<Min>(t, d, s, bits, n);
    case Op::LeakyRelu: return bound_floats<LeakyRelu>(t, d, s, bits, n);
    case Op::Axpy: return t == Dt::F16 ? axpy<Half>(d, s, bits, n) : axpy<Single>(d, s, bits, n);
    case Op::ShiftLeft:
        return size_of(t) == 2 ? shift_left<uint16_t>(d, s, bits, n) : shift_left<uint32_t>(d, s, bits, n);
    case Op::ShiftRight:
        switch (t) {
        case Dt::I16: return shift_right<int16_t>(d, s, bits, n);
        case Dt::U16: return shift_right<uint16_t>(d, s, bits, n);
        case Dt::I32: return shift_right<int32_t>(d, s, bits, n);
        default: return shift_right<uint32_t>(d, s, bits, n);
        }
    default: refuse("such scalar operation", t);
    }
}

}  // namespace twin::math
