// Reductions of one run of lanes: the pairwise tree of ReduceSum, and the extreme with its first place.
#include "math.h"
#include "math_lanes.h"

namespace twin::math {
namespace {

// ---- sum
// A tree over n lanes is a full tree over the largest power of two below n, plus a tree over the rest: level by level
// the rest shrinks on its own and joins at the last level. So runs split until a leaf fits the buffer.
constexpr size_t kLeaf = 1024;

// Sums of adjacent pairs of the lanes of lo, hi. The padding is -0: x + -0 is x for every x, so that an odd lane passes on.
template <int... i>
inline F pair_sums(F lo, F hi, std::integer_sequence<int, i...>) {
#if defined(__clang__)
    return __builtin_shufflevector(lo, hi, (2 * i)...) + __builtin_shufflevector(lo, hi, (2 * i + 1)...);
#else
    return __builtin_shuffle(lo, hi, I{(2 * i)...}) + __builtin_shuffle(lo, hi, I{(2 * i + 1)...});
#endif
}

template <class X>
inline F pairs(F lo, F hi) {
    return X::rounded(pair_sums(lo, hi, std::make_integer_sequence<int, (int)kLanes>{}));
}

template <class X>
inline F lanes_or_pad(const typename X::T* s, size_t i, size_t n) {
    if (i + kLanes <= n) return X::get(s + i);
    if (i >= n) return splat(-0.0f);
    float wide[kLanes];
    typename X::T tail[kLanes] = {};
    memcpy(tail, s + i, (n - i) * sizeof *s);
    store(wide, X::get(tail));
    for (size_t j = n - i; j < kLanes; ++j) wide[j] = -0.0f;
    return load<F>(wide);
}

// One level: n lanes in, (n+1)/2 out; d may be s.
template <class X, class From>
inline size_t level(float* d, const typename From::T* s, size_t n) {
    for (size_t i = 0; i < n; i += 2 * kLanes)
        store(d + i / 2, pairs<X>(lanes_or_pad<From>(s, i, n), lanes_or_pad<From>(s, i + kLanes, n)));
    return (n + 1) / 2;
}

template <class X>
float leaf_sum(const typename X::T* s, size_t n) {
    float sums[kLeaf / 2 + kLanes];
    for (n = level<X, X>(sums, s, n); n > kLanes;) n = level<X, Single>(sums, sums, n);
    F last = load<F>(sums);  // its lanes from n on are -0: level() has added padding to padding
    for (; n > 1; n = (n + 1) / 2) last = pairs<X>(last, splat(-0.0f));
    return last[0];
}

template <class X>
float tree_sum(const typename X::T* s, size_t n) {
    if (n <= kLeaf) return leaf_sum<X>(s, n);
    size_t full = kLeaf;
    while (full * 2 < n) full *= 2;
    return X::rounded(splat(tree_sum<X>(s, full)) + tree_sum<X>(s + full, n - full))[0];
}

template <class X>
void sum(void* d, const void* s, size_t n) {
    typename X::T out[kLanes];
    X::put(out, splat(tree_sum<X>(static_cast<const typename X::T*>(s), n)));
    memcpy(d, out, sizeof *out);
}

// ---- extremes: the value first, then its first place; both passes are plain lane work. A NaN beats every number.
struct Greater { template <class V> auto operator()(V a, V b) const { return a > b; } };
struct Less { template <class V> auto operator()(V a, V b) const { return a < b; } };

template <class X, class Beats>
void extreme(void* value, uint32_t* index, const void* src, size_t n) {
    using T = typename X::T;
    auto* s = static_cast<const T*>(src);
    T tail[kLanes];  // the last lanes, filled up with the first of them
    size_t whole = n - n % kLanes;
    for (size_t j = 0; j < kLanes; ++j) tail[j] = s[whole + j < n ? whole + j : whole < n ? whole : 0];

    F best = X::get(tail);
    I nan = best != best;
    for (size_t i = 0; i < whole; i += kLanes) {
        F x = X::get(s + i);
        best = Beats{}(x, best) ? x : best;
        nan |= x != x;
    }
    bool any_nan = mask_bits(nan) != 0;
    float top = best[0];
    for (size_t j = 1; j < kLanes; ++j) top = Beats{}(best[j], top) ? best[j] : top;

    auto found = [&](F x) { return mask_bits(any_nan ? x != x : x == top); };
    size_t at = 0;
    uint32_t hit = 0;
    for (; at < whole && !(hit = found(X::get(s + at))); at += kLanes) {}
    if (!hit) hit = found(X::get(tail));
    at += (size_t)__builtin_ctz(hit);
    T result = s[at];  // before the first store: value may be where s is
    memcpy(value, &result, sizeof result);
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
    t == Dt::F16 ? extreme<Half, Greater>(value, index, s, n) : extreme<Single, Greater>(value, index, s, n);
}

void reduce_min(Dt t, void* value, uint32_t* index, const void* s, size_t n) {
    require_run(Op::ReduceMin, t, n);
    t == Dt::F16 ? extreme<Half, Less>(value, index, s, n) : extreme<Single, Less>(value, index, s, n);
}

}  // namespace twin::math
