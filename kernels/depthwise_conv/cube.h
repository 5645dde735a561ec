// What the kernels on the cube share: sizes, and a tile of x on its way to L1.
#pragma once
#include "conv.h"

constexpr uint32_t C0 = 16, FRACTAL = 256;              // channels, elements
constexpr uint32_t SETTLED = 10;  // fractals of C: products of fewer need a barrier before the next adds to them
constexpr uint32_t L0_SLOT = 32 * 1024, L0C_SLOT = 64 * 1024;
constexpr uint32_t MOST_BLOCKS = 4095;                  // of one copy

// `positions` of x, `wide` * 16 of its channels, as they lie.
template <typename T>
__aicore__ inline void BringTile(const AscendC::LocalTensor<T>& to, const AscendC::GlobalTensor<T>& from,
                                 uint32_t positions, uint32_t wide, uint32_t channels)
{
    if (wide * C0 == channels) {
        AscendC::DataCopy(to, from, positions * channels);
        return;
    }
    for (uint32_t p = 0; p < positions; p += MOST_BLOCKS) {
        uint32_t here = LeastOf(MOST_BLOCKS, positions - p);
        AscendC::DataCopy(to[p * wide * C0], from[static_cast<uint64_t>(p) * channels],
                          AscendC::DataCopyParams(here, wide, channels / C0 - wide, 0));
    }
}
