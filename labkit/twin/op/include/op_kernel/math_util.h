// Rounding division inside kernels, by the names that operator repositories have for it.
#pragma once
#include "kernel_operator.h"

namespace Ops::Base {
template <typename A, typename B> __aicore__ inline A CeilDiv(A a, B b) { return b == 0 ? a : A((a + b - 1) / b); }
template <typename A, typename B> __aicore__ inline A CeilAlign(A a, B b) {
    return b == 0 ? a : A((a + b - 1) / b * b);
}
template <typename A, typename B> __aicore__ inline A FloorDiv(A a, B b) { return b == 0 ? a : A(a / b); }
template <typename A, typename B> __aicore__ inline A FloorAlign(A a, B b) { return b == 0 ? a : A(a / b * b); }
}  // namespace Ops::Base
