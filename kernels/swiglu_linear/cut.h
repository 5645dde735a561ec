// How a product is cut into blocks: chosen on the host, read by the kernels.
#pragma once
#include <cstdint>

struct Tiling {
    uint32_t m, h, i;       // x [m, h], weights [i, h], y [m, i]
    uint32_t rows, cols;    // of a block of the result; of two blocks side by side both together
    uint32_t chunk;         // of the sum, that is multiplied at a time
    uint32_t foldA, foldB;  // chunks that one load brings
    uint32_t panel;         // blocks one below the other that are worked on together
};

// The cut of a product [m, n] with a sum over `depth`, of elements of `size` bytes; n: columns of one of `besides` that lie side
// by side. All blocks of up to 128 x 256 floats (L0C) are tried, in steps of 16, larger ones first, and the cheapest is taken:
//   cost of a core = its rounds x max(multiply, load), both in cycles for 128 bytes of each row
//     multiply: 4 (float: 8) for each 16 x 16 of the block
//     load: 1.5 for each row of either operand, about 85 bytes a cycle
// So a large product gets the largest block, which loads least for each number computed; where few rows are there (decoding),
// the columns are shared out so that the last round is full. A chunk has rows of 512 bytes, a line of the L2; where L1 has
// room, one load brings two chunks, because every row of a load costs time too.
inline void ChooseCut(uint32_t m, uint32_t n, uint32_t depth, uint32_t besides, uint32_t size, uint32_t cores, Tiling* t)
{
    auto up = [](uint32_t a, uint32_t unit) { return (a + unit - 1) / unit; };
    uint64_t least = UINT64_MAX;
    for (uint32_t rows = up(m < 128 ? m : 128, 16) * 16; rows > 0; rows -= 16) {
        for (uint32_t one = up(n < 256 / besides ? n : 256 / besides, 16) * 16; one > 0; one -= 16) {
            uint32_t cols = one * besides, multiply = rows * cols / 256 * (size == 4 ? 8 : 4), load = (rows + cols) * 3 / 2;
            uint64_t blocks = uint64_t(up(m, rows)) * up(n, one), cost = (blocks + cores - 1) / cores * (multiply > load ? multiply : load);
            if (cost < least) {
                least = cost;
                t->rows = rows;
                t->cols = cols;
            }
        }
    }
    constexpr uint32_t L1 = 512 * 1024, LINE = 512;
    t->chunk = LINE / size;
    t->foldA = depth > t->chunk && (2 * t->rows + t->cols) * LINE * 2 <= L1 ? 2 : 1;
    t->foldB = depth > t->chunk && (t->foldA * t->rows + 2 * t->cols) * LINE * 2 <= L1 ? 2 : 1;
    uint32_t down = up(m, t->rows);
    t->panel = down < 16 ? down : 16;
}
