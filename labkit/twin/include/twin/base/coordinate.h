// Shape, Stride and Layout: tuples that describe the arrangement of axes; Coord and Crd2Idx: the position of an
// element. Members may be tuples themselves (an axis cut into blocks), and Std::Int for a number known at compile time.
#pragma once
#include "twin/base/std.h"

namespace AscendC {

namespace Std {
template <size_t n> using Int = integral_constant<size_t, n>;
}

template <typename... T> using Shape = Std::tuple<T...>;
template <typename... T> using Stride = Std::tuple<T...>;
template <typename... T> using Coord = Std::tuple<T...>;
template <typename... T> constexpr Shape<T...> MakeShape(const T&... t) { return {t...}; }
template <typename... T> constexpr Stride<T...> MakeStride(const T&... t) { return {t...}; }
template <typename... T> constexpr Coord<T...> MakeCoord(const T&... t) { return {t...}; }

namespace detail {
template <typename T> struct Known : Std::false_type {};
template <typename T, T n> struct Known<std::integral_constant<T, n>> : Std::true_type {};
#define TWIN_KNOWN(name, op)                                                                                       \
    template <typename A, typename B> constexpr auto name(const A& a, const B& b) {                                \
        if constexpr (Known<A>::value && Known<B>::value) return Std::Int<size_t(A::value) op size_t(B::value)>(); \
        else return a op b;                                                                                        \
    }
// clang-format off
TWIN_KNOWN(known_sum, +) TWIN_KNOWN(known_product, *)
// clang-format on
#undef TWIN_KNOWN
template <typename A, typename B> constexpr auto known_quotient(const A& a, const B& b) {
    if constexpr (Known<A>::value && Known<B>::value)
        return Std::Int<B::value ? size_t(A::value) / (B::value ? size_t(B::value) : 1) : 0>();
    else return a / b;
}
template <typename A, typename B> constexpr auto known_rest(const A& a, const B& b) {
    if constexpr (Known<A>::value && Known<B>::value)
        return Std::Int<B::value ? size_t(A::value) % (B::value ? size_t(B::value) : 1) : 0>();
    else return a % b;
}

// A single number for an axis of several parts counts through the first part fastest.
template <size_t i, typename C, typename S, typename D>
constexpr auto index_in(const C& coord, const S& shape, const D& stride);
template <typename C, typename S, typename D> constexpr auto index_of(const C& coord, const S& shape, const D& stride) {
    if constexpr (Std::is_tuple_v<D>) return index_in<0>(coord, shape, stride);
    else return known_product(coord, stride);
}
template <size_t i, typename C, typename S, typename D>
constexpr auto index_in(const C& coord, const S& shape, const D& stride) {
    constexpr bool last = i + 1 == Std::tuple_size_v<D>;
    if constexpr (Std::is_tuple_v<C>) {
        auto here = index_of(Std::get<i>(coord), Std::get<i>(shape), Std::get<i>(stride));
        if constexpr (last) return here;
        else return known_sum(here, index_in<i + 1>(coord, shape, stride));
    } else if constexpr (last) {
        return index_of(coord, Std::get<i>(shape), Std::get<i>(stride));
    } else {
        auto part = Std::get<i>(shape);
        return known_sum(index_of(known_rest(coord, part), part, Std::get<i>(stride)),
                         index_in<i + 1>(known_quotient(coord, part), shape, stride));
    }
}
}  // namespace detail

template <typename C, typename S, typename D> constexpr auto Crd2Idx(const C& coord, const S& shape, const D& stride) {
    return detail::index_of(coord, shape, stride);
}

template <typename T, typename U> struct Layout {
    static_assert(Std::is_tuple_v<T> && Std::is_tuple_v<U>, "a Layout is made of what MakeShape and MakeStride return");
    constexpr Layout(const T& shape = {}, const U& stride = {}) : shape_(shape), stride_(stride) {}
    constexpr Layout& layout() { return *this; }
    constexpr const Layout& layout() const { return *this; }
    template <size_t... i> constexpr auto GetShape() const {
        if constexpr (sizeof...(i) == 0) return shape_;
        else return Std::make_tuple(Std::get<i>(shape_)...);
    }
    template <size_t... i> constexpr auto GetStride() const {
        if constexpr (sizeof...(i) == 0) return stride_;
        else return Std::make_tuple(Std::get<i>(stride_)...);
    }
    template <typename C> constexpr auto operator()(const C& coord) const { return Crd2Idx(coord, shape_, stride_); }
private:
    T shape_;
    U stride_;
};
template <typename T, typename U> constexpr auto MakeLayout(const T& shape, const U& stride) {
    return Layout<T, U>(shape, stride);
}
template <typename C, typename T, typename U> constexpr auto Crd2Idx(const C& coord, const Layout<T, U>& layout) {
    return layout(coord);
}
template <typename T> struct is_layout : Std::false_type {};
template <typename T, typename U> struct is_layout<Layout<T, U>> : Std::true_type {};
template <typename T> constexpr bool is_layout_v = is_layout<T>::value;

}  // namespace AscendC
