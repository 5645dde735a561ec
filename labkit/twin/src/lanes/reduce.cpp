// Reductions of one run of lanes: the pairwise tree of ReduceSum, and the extreme with its first place.
#include "lanes/lanes.h"
#include "lanes/math.h"

namespace twin::math {
namespace {

constexpr size_t kLeaf = 1024;  // lanes reduced in one buffer

// ---- the operation on two neighbours, and the padding that leaves the other operand unchanged
struct Sum {
    static constexpr float pad = -0.0f;  // x + -0 is x for every x
    static F join(F a, F b) { return a + b; }
};
struct Greatest {
    static constexpr float pad = -__builtin_inff();
    static auto beats(F a, F b) { return a > b; }
    static F join(F a, F b) { return a == a ? (b <= a ? a : b) : a; }  // NaN wins; of equals, the first
};
struct Least {
    static constexpr float pad = __builtin_inff();
    static auto beats(F a, F b) { return a < b; }
    static F join(F a, F b) { return a == a ? (b >= a ? a : b) : a; }
};

// Joins adjacent pairs of the lanes of lo, hi.
template <class Fn, int... i> inline F neighbours(F lo, F hi, std::integer_sequence<int, i...>) {
#if defined(__clang__)
    return Fn::join(__builtin_shufflevector(lo, hi, (2 * i)...), __builtin_shufflevector(lo, hi, (2 * i + 1)...));
#else
    return Fn::join(__builtin_shuffle(lo, hi, I{(2 * i)...}), __builtin_shuffle(lo, hi, I{(2 * i + 1)...}));
#endif
}

template <class Fn> inline F neighbours(F lo, F hi) {
    return neighbours<Fn>(lo, hi, std::make_integer_sequence<int, (int)kLanes>{});
}

template <class X> inline F lanes_or_pad(float pad, const typename X::T* s, size_t i, size_t n) {
    if (i + kLanes <= n) return X::get(s + i);
    if (i >= n) return splat(pad);
    float wide[kLanes];
    typename X::T tail[kLanes] = {};
    memcpy(tail, s + i, (n - i) * sizeof *s);
    store(wide, X::get(tail));
    for (size_t j = n - i; j < kLanes; ++j) wide[j] = pad;
    return load<F>(wide);
}

// One level: n lanes in, (n+1)/2 out; d may be s.
template <class X, class Fn, class From> inline size_t level(float* d, const typename From::T* s, size_t n) {
    size_t i = 0;
    do {
        F lo = lanes_or_pad<From>(Fn::pad, s, i, n), hi = lanes_or_pad<From>(Fn::pad, s, i + kLanes, n);
        store(d + i / 2, X::rounded(neighbours<Fn>(lo, hi)));
    } while ((i += 2 * kLanes) < n);
    return (n + 1) / 2;
}

template <class X> float leaf_sum(const typename X::T* s, size_t n) {
    float sums[kLeaf / 2 + kLanes];
    for (n = level<X, Sum, X>(sums, s, n); n > kLanes;) n = level<X, Sum, Single>(sums, sums, n);
    F last = load<F>(sums);  // its lanes from n on are -0: padding was added to padding
    for (; n > 1; n = (n + 1) / 2) last = X::rounded(neighbours<Sum>(last, splat(Sum::pad)));
    return last[0];
}

// A tree over n lanes is a full tree over the largest power of two below n and a tree over the rest: level by level the
// rest shrinks on its own and joins at the last level. So a run splits until a part fits the buffer.
template <class X> float tree_sum(const typename X::T* s, size_t n) {
    if (n <= kLeaf) return leaf_sum<X>(s, n);
    size_t full = kLeaf;
    while (full * 2 < n) full *= 2;
    return X::rounded(splat(tree_sum<X>(s, full)) + tree_sum<X>(s + full, n - full))[0];
}

template <class X> void sum(void* d, const void* s, size_t n) {
    typename X::T out[kLanes];
    X::put(out, splat(tree_sum<X>(static_cast<const typename X::T*>(s), n)));
    memcpy(d, out, sizeof *out);
}

template <class X, class Fn> void runs(void* dst, const void* src, size_t group, size_t count) {
    auto* d = static_cast<typename X::T*>(dst);
    auto* s = static_cast<const typename X::T*>(src);
    for (size_t done = 0, now; done < count; done += now) {
        now = count - done < kLeaf / group ? count - done : kLeaf / group;
        float joined[kLeaf + kLanes];
        size_t n = now * group;
        n = level<X, Fn, X>(joined, s + done * group, n);
        for (size_t left = group / 2; left > 1; left /= 2) n = level<X, Fn, Single>(joined, joined, n);
        for (size_t i = 0; i < n; i += kLanes) {
            typename X::T out[kLanes];
            X::put(out, load<F>(joined + i));
            memcpy(d + done + i, out, (n - i < kLanes ? n - i : kLanes) * sizeof *out);
        }
    }
}

// ---- extremes: the value first, then its first place; both passes are plain lane work. A NaN beats every number.
template <class X, class Fn> void extreme(void* value, uint32_t* index, const void* src, size_t n) {
    using T = typename X::T;
    auto* s = static_cast<const T*>(src);
    T tail[kLanes];  // the last lanes, filled up with the first of them
    size_t whole = n - n % kLanes;
    for (size_t j = 0; j < kLanes; ++j) tail[j] = s[whole + j < n ? whole + j : whole < n ? whole : 0];

    F best = X::get(tail);
    I nan = best != best;
    for (size_t i = 0; i < whole; i += kLanes) {
        F x = X::get(s + i);
        best = Fn::beats(x, best) ? x : best;
        nan |= x != x;
    }
    bool any_nan = mask_bits(nan) != 0;
    for (size_t left = kLanes; left > 1; left /= 2) best = neighbours<Fn>(best, best);
    float top = best[0];

    auto found = [&](F x) { return mask_bits(any_nan ? x != x : x == top); };
    size_t at = 0;
    uint32_t hit = 0;
    for (; at < whole && !(hit = found(X::get(s + at))); at += kLanes) {}
    if (!hit) hit = found(X::get(tail));
    at += (size_t)__builtin_ctz(hit);
    for (auto& x : tail) x = s[at];
    X::put(tail, X::get(tail));  // a NaN becomes the quiet one
    memcpy(value, tail, sizeof *tail);
    if (index) *index = (uint32_t)at;
}

void require_run(Op op, Dt t, size_t n) {
    require(op, t);
    if (n == 0) refuse("reduction of nothing", t);
}

}  // namespace

void reduce_sum(Dt t, void* d, const void* s, size_t n) {
    require_run(Op::ReduceSum, t, n);
    t == Dt::F16 ? sum<Half>(d, s, n) : sum<Single>(d, s, n);
}

void reduce_max(Dt t, void* value, uint32_t* index, const void* s, size_t n) {
    require_run(Op::ReduceMax, t, n);
    t == Dt::F16 ? extreme<Half, Greatest>(value, index, s, n) : extreme<Single, Greatest>(value, index, s, n);
}

void reduce_min(Dt t, void* value, uint32_t* index, const void* s, size_t n) {
    require_run(Op::ReduceMin, t, n);
    t == Dt::F16 ? extreme<Half, Least>(value, index, s, n) : extreme<Single, Least>(value, index, s, n);
}

void reduce_runs(Op op, Dt t, void* d, const void* s, size_t group, size_t count) {
    require_run(op, t, group);
    if (group == 1) return void(memmove(d, s, count * size_of(t)));
    bool half = t == Dt::F16;
    switch (op) {
    case Op::ReduceSum: return half ? runs<Half, Sum>(d, s, group, count) : runs<Single, Sum>(d, s, group, count);
    case Op::ReduceMax:
        return half ? runs<Half, Greatest>(d, s, group, count) : runs<Single, Greatest>(d, s, group, count);
    case Op::ReduceMin: return half ? runs<Half, Least>(d, s, group, count) : runs<Single, Least>(d, s, group, count);
    default: refuse("such reduction", t);
    }
}

}  // namespace twin::math
