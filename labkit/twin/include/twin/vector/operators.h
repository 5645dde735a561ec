// dst = a + b and similar expressions: the instruction over as many elements as dst has. Comparisons write one bit for
// each element of a.
#pragma once
#include "twin/vector/vector.h"

namespace AscendC {
namespace detail {

enum class Infix { Add, Sub, Mul, Div, And, Or, LT, GT, EQ, LE, GE, NE };

template <typename S, Infix infix> struct Expression {
    LocalTensor<S> a, b;
    template <typename T> void assign(const LocalTensor<T>& dst, ::twin::Here here) const {
        if constexpr (infix >= Infix::LT) {
            Compare(dst, a, b, CMPMODE(int(infix) - int(Infix::LT)), a.GetSize(), here);
        } else {
            static_assert(std::is_same_v<T, S>, "dst = a + b and its like have one type throughout");
            int32_t n = int32_t(dst.GetSize());
            if constexpr (infix == Infix::Add) Add(dst, a, b, n, here);
            else if constexpr (infix == Infix::Sub) Sub(dst, a, b, n, here);
            else if constexpr (infix == Infix::Mul) Mul(dst, a, b, n, here);
            else if constexpr (infix == Infix::Div) Div(dst, a, b, n, here);
            else {  // bits: a 32-bit number is two of 16
                constexpr bool wide = std::is_same_v<S, int32_t> || std::is_same_v<S, uint32_t>;
                using W = std::conditional_t<wide, uint16_t, S>;
                auto d = dst.template ReinterpretCast<W>(), x = a.template ReinterpretCast<W>(),
                     y = b.template ReinterpretCast<W>();
                if constexpr (infix == Infix::And) And(d, x, y, wide ? 2 * n : n, here);
                else Or(d, x, y, wide ? 2 * n : n, here);
            }
        }
    }
};

// Argument of LocalTensor<T>::operator=: any expression, with the line of its source.
template <typename T> struct Assigned {
    template <typename S, Infix infix> Assigned(const Expression<S, infix>& e, TWIN_HERE)
        : expression(&e), here_(here), assign([](const void* p, const LocalTensor<T>& dst, ::twin::Here h) {
              static_cast<const Expression<S, infix>*>(p)->assign(dst, h);
          }) {}
    const void* expression;
    ::twin::Here here_;
    void (*assign)(const void*, const LocalTensor<T>&, ::twin::Here);
};

}  // namespace detail

template <typename T> void LocalTensor<T>::operator=(const detail::Assigned<T>& e) {
    e.assign(e.expression, *this, e.here_);
}

#define TWIN_INFIX(op, name)                                                                                   \
    template <typename T>                                                                                      \
    detail::Expression<T, detail::Infix::name> operator op(const LocalTensor<T>& a, const LocalTensor<T>& b) { \
        return {a, b};                                                                                         \
    }
// clang-format off
TWIN_INFIX(+, Add) TWIN_INFIX(-, Sub) TWIN_INFIX(*, Mul) TWIN_INFIX(/, Div) TWIN_INFIX(&, And) TWIN_INFIX(|, Or)
TWIN_INFIX(<, LT) TWIN_INFIX(>, GT) TWIN_INFIX(==, EQ) TWIN_INFIX(<=, LE) TWIN_INFIX(>=, GE) TWIN_INFIX(!=, NE)
// clang-format on
#undef TWIN_INFIX

}  // namespace AscendC
