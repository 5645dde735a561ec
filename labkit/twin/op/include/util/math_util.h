// Rounding division, as operators' host code uses it.
#pragma once
#include <cstdint>
#include <limits>

namespace Ops::Base {
template <typename T> T CeilDiv(T a, T b) { return b == 0 ? a : T((a + b - 1) / b); }
template <typename T> T CeilAlign(T a, T b) { return b == 0 ? a : T((a + b - 1) / b * b); }
template <typename T> T FloorDiv(T a, T b) { return b == 0 ? a : T(a / b); }
template <typename T> T FloorAlign(T a, T b) { return b == 0 ? a : T(a / b * b); }
template <typename A, typename B> auto CeilDiv(A a, B b) { return b == 0 ? a : (a + b - 1) / b; }
template <typename A, typename B> auto CeilAlign(A a, B b) { return b == 0 ? a : (a + b - 1) / b * b; }
template <typename A, typename B> auto FloorDiv(A a, B b) { return b == 0 ? a : a / b; }
template <typename A, typename B> auto FloorAlign(A a, B b) { return b == 0 ? a : a / b * b; }
inline bool IsFloatEqual(float a, float b) { return (a > b ? a - b : b - a) <= std::numeric_limits<float>::epsilon(); }
}  // namespace Ops::Base
