// AscendC::Std: the part of the standard library that kernels may use, under its own name.
#pragma once
#include <stddef.h>
#include <type_traits>

#include "twin/base/float16.h"

namespace AscendC {
namespace Std {

// ---- types
#define TWIN_STD(name) using std::name;
#define TWIN_STD_TYPE(name) \
    using std::name;        \
    using std::name##_t;
#define TWIN_STD_VALUE(name) \
    using std::name;         \
    using std::name##_v;
// clang-format off
TWIN_STD(integral_constant) TWIN_STD(bool_constant) TWIN_STD(true_type) TWIN_STD(false_type)
TWIN_STD_TYPE(enable_if) TWIN_STD_TYPE(conditional) TWIN_STD_TYPE(decay) TWIN_STD_TYPE(common_type)
TWIN_STD_TYPE(underlying_type)
TWIN_STD_TYPE(remove_const) TWIN_STD_TYPE(remove_volatile) TWIN_STD_TYPE(remove_cv) TWIN_STD_TYPE(remove_reference)
TWIN_STD_TYPE(remove_pointer) TWIN_STD_TYPE(remove_extent) TWIN_STD_TYPE(make_signed) TWIN_STD_TYPE(make_unsigned)
TWIN_STD_TYPE(add_const) TWIN_STD_TYPE(add_volatile) TWIN_STD_TYPE(add_cv) TWIN_STD_TYPE(add_pointer)
TWIN_STD_TYPE(add_lvalue_reference) TWIN_STD_TYPE(add_rvalue_reference)
TWIN_STD_VALUE(is_same) TWIN_STD_VALUE(is_convertible) TWIN_STD_VALUE(is_base_of) TWIN_STD_VALUE(is_integral)
TWIN_STD_VALUE(is_arithmetic) TWIN_STD_VALUE(is_signed) TWIN_STD_VALUE(is_unsigned)
TWIN_STD_VALUE(is_pointer) TWIN_STD_VALUE(is_reference) TWIN_STD_VALUE(is_lvalue_reference)
TWIN_STD_VALUE(is_rvalue_reference)
TWIN_STD_VALUE(is_const) TWIN_STD_VALUE(is_volatile) TWIN_STD_VALUE(is_void) TWIN_STD_VALUE(is_array)
TWIN_STD_VALUE(is_enum)
TWIN_STD_VALUE(is_class) TWIN_STD_VALUE(is_function) TWIN_STD_VALUE(is_empty) TWIN_STD_VALUE(is_constructible)
// clang-format on
#undef TWIN_STD
#undef TWIN_STD_TYPE
#undef TWIN_STD_VALUE
using std::void_t;
template <typename T> struct remove_cvref { using type = std::remove_cv_t<std::remove_reference_t<T>>; };
template <typename T> using remove_cvref_t = typename remove_cvref<T>::type;
template <typename T> struct is_floating_point
    : bool_constant<std::is_floating_point_v<T> || std::is_same_v<std::remove_cv_t<T>, half>> {};
template <typename T> constexpr bool is_floating_point_v = is_floating_point<T>::value;
template <typename T, typename... Ts> struct is_one_of : bool_constant<(std::is_same_v<T, Ts> || ...)> {};
template <typename T, typename... Ts> constexpr bool is_one_of_v = is_one_of<T, Ts...>::value;
template <typename T, T value, T... values> struct is_one_of_value : bool_constant<((value == values) || ...)> {};
template <typename T, T value, T... values>
constexpr bool is_one_of_value_v = is_one_of_value<T, value, values...>::value;
template <auto n, typename T> struct is_constant : false_type {};
template <auto n, typename T> struct is_constant<n, const T> : is_constant<n, T> {};
template <auto n, typename T> struct is_constant<n, T&> : is_constant<n, T> {};
template <auto n, typename T> struct is_constant<n, T&&> : is_constant<n, T> {};
template <auto n, typename T, T v> struct is_constant<n, std::integral_constant<T, v>> : bool_constant<v == n> {};
template <auto n, typename T> constexpr bool is_constant_v = is_constant<n, T>::value;
template <typename...> constexpr bool always_false_v = false;
template <auto...> constexpr bool always_false_value_v = false;

template <typename T> std::add_rvalue_reference_t<T> declval() noexcept;
template <typename T> constexpr T&& forward(std::remove_reference_t<T>& v) noexcept { return static_cast<T&&>(v); }
template <typename T> constexpr T&& forward(std::remove_reference_t<T>&& v) noexcept { return static_cast<T&&>(v); }
template <typename T> constexpr std::remove_reference_t<T>&& move(T&& v) noexcept {
    return static_cast<std::remove_reference_t<T>&&>(v);
}

template <typename T, T... values> struct IntegerSequence {
    static_assert(sizeof...(values) <= 64, "Std::index_sequence holds at most 64 numbers");
    using type = IntegerSequence;
    using valueType = T;
    static constexpr size_t size() { return sizeof...(values); }
};
namespace detail {
template <typename T, size_t n, T... i> struct MakeIntegers : MakeIntegers<T, n - 1, T(n - 1), i...> {};
template <typename T, T... i> struct MakeIntegers<T, 0, i...> { using type = IntegerSequence<T, i...>; };
}  // namespace detail
template <typename T, T n> using MakeIntegerSequence = typename detail::MakeIntegers<T, size_t(n)>::type;
template <size_t... i> using index_sequence = IntegerSequence<size_t, i...>;
template <size_t n> using make_index_sequence = MakeIntegerSequence<size_t, n>;
template <typename... T> using index_sequence_for = make_index_sequence<sizeof...(T)>;

// ---- values
namespace detail {
template <typename T, typename U> struct Common { using type = decltype(T() + U()); };  // what C++ makes of the two
template <typename T> struct Common<T, T> { using type = T; };
}  // namespace detail
// Which one is given where neither is smaller (nan, zeros of both signs) is as CANN writes it: the second.
template <typename T, typename U> constexpr auto min(const T& a, const U& b) {
    using C = typename detail::Common<T, U>::type;
    return C(a) < C(b) ? C(a) : C(b);
}
template <typename T, typename U> constexpr auto max(const T& a, const U& b) {
    using C = typename detail::Common<T, U>::type;
    return C(a) > C(b) ? C(a) : C(b);
}
template <typename T> constexpr T abs(T v) {
    static_assert(is_one_of_v<T, int8_t, int16_t, int32_t, int64_t, float>,
                  "Std::abs takes int8_t, int16_t, int32_t, int64_t and float");
    if constexpr (std::is_same_v<T, float>) return __builtin_fabsf(v);  // of -0 and nan, too, without their sign
    else return v < T(0) ? T(-v) : v;
}
template <typename T> T sqrt(T v) {
    static_assert(is_one_of_v<T, float, int64_t>, "Std::sqrt takes a float or an int64_t");
    if constexpr (std::is_same_v<T, float>) return __builtin_sqrtf(v);
    else return T(__builtin_sqrt(double(v)));
}
template <typename T, typename U> constexpr auto ceil_division(const T& a, const U& b) { return (a + b - 1) / b; }
template <typename T, typename U> constexpr auto divide(const T& a, const U& b) { return a / b; }
template <typename T, typename U> constexpr auto ceil_align(const T& a, const U& b) { return (a + b - 1) / b * b; }

// ---- tuples
template <typename... T> class tuple;
template <> class tuple<> {};
template <typename H, typename... R> class tuple<H, R...> {
public:
    constexpr tuple() = default;
    constexpr tuple(const H& h, const R&... r) : head(h), rest(r...) {}
    template <typename A, typename... B,
              typename = std::enable_if_t<sizeof...(B) == sizeof...(R) && std::is_constructible_v<H, A&&> &&
                                          !std::is_same_v<remove_cvref_t<A>, tuple>>>
    constexpr tuple(A&& h, B&&... r) : head(Std::forward<A>(h)), rest(Std::forward<B>(r)...) {}
    template <typename A, typename... B> constexpr tuple& operator=(const tuple<A, B...>& o) {
        head = o.head;
        rest = o.rest;
        return *this;
    }
    H head;
    tuple<R...> rest;
};
template <typename... T> struct tuple_size;
template <typename... T> struct tuple_size<tuple<T...>> : std::integral_constant<size_t, sizeof...(T)> {};
template <typename... T> struct tuple_size<const tuple<T...>> : tuple_size<tuple<T...>> {};
template <typename T> constexpr size_t tuple_size_v = tuple_size<T>::value;
template <size_t n, typename... T> struct tuple_element;
template <typename H, typename... R> struct tuple_element<0, tuple<H, R...>> { using type = H; };
template <size_t n, typename H, typename... R> struct tuple_element<n, tuple<H, R...>>
    : tuple_element<n - 1, tuple<R...>> {};
template <size_t n, typename... T> struct tuple_element<n, const tuple<T...>> {
    using type = const typename tuple_element<n, tuple<T...>>::type;
};
template <size_t n, typename T> using tuple_element_t = typename tuple_element<n, T>::type;
template <size_t n, typename H, typename... R> constexpr auto& get(tuple<H, R...>& t) noexcept {
    if constexpr (n == 0) return t.head;
    else return Std::get<n - 1>(t.rest);
}
template <size_t n, typename H, typename... R> constexpr const auto& get(const tuple<H, R...>& t) noexcept {
    if constexpr (n == 0) return t.head;
    else return Std::get<n - 1>(t.rest);
}
template <size_t n, typename H, typename... R> constexpr auto&& get(tuple<H, R...>&& t) noexcept {
    return Std::move(Std::get<n>(t));
}
template <typename... T> constexpr tuple<std::decay_t<T>...> make_tuple(T&&... v) {
    return tuple<std::decay_t<T>...>(Std::forward<T>(v)...);
}
template <typename... T> constexpr tuple<T&...> tie(T&... v) noexcept { return tuple<T&...>(v...); }
struct ignore_t {
    constexpr ignore_t() = default;
    template <typename T> constexpr const ignore_t& operator=(const T&) const noexcept { return *this; }
};
inline constexpr ignore_t ignore;
template <typename T> struct is_tuple : std::false_type {};
template <typename... T> struct is_tuple<tuple<T...>> : std::true_type {};
template <typename T> constexpr bool is_tuple_v = is_tuple<T>::value;

}  // namespace Std
}  // namespace AscendC
