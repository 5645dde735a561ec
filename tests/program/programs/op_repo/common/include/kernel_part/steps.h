// A step on a tile, chosen at compile time by a pointer to the instruction.
#pragma once
#include "kernel_operator.h"
using namespace AscendC;

template <typename T> using Scale = void (*)(const LocalTensor<T>&, const LocalTensor<T>&, const T&, const int32_t&);
template <typename T>
using Pair = void (*)(const LocalTensor<T>&, const LocalTensor<T>&, const LocalTensor<T>&, const int32_t&);
template <typename T> using Function = void (*)(const LocalTensor<T>&, const LocalTensor<T>&, uint32_t);
template <typename T> using Masked = void (*)(const LocalTensor<T>&, const LocalTensor<T>&, const LocalTensor<T>&,
                                              uint64_t, uint8_t, const BinaryRepeatParams&);

template <typename T, Scale<T> scale, Pair<T> pair, Function<T> function>
__aicore__ inline void Steps(const LocalTensor<T>& y, const LocalTensor<T>& x, T factor, int32_t n, Masked<T> last) {
    scale(y, x, factor, n);
    pair(y, y, x, n);
    function(x, y, uint32_t(n));
    last(y, x, y, uint64_t(64), uint8_t(n / 64), BinaryRepeatParams(1, 1, 1, 8, 8, 8));
}
