// Behind short_attention.asc: what the adapter chooses for the kernel whose keys all fit one block.
#pragma once
#include <ATen/ops/empty.h>
#include <algorithm>

namespace lab_attention {

constexpr int64_t SHORT_ROOM = 184 * 1024;  // bytes of UB
constexpr int64_t SHORT_TALL = 120;         // rows of a vector core: an instruction's repeats, its strides
constexpr int64_t BLOCK_LATER = 50;  // cycles from one block's beginning to the next one's; tuned on the twin's clock
constexpr int64_t UNIT = 60, COLUMN = 20;  // cycles for 16 rows: UNIT + COLUMN for each 16 keys

// Do `high` rows of a step fit the buffers of two vector cores?
inline bool short_fits(int64_t high, int64_t keys, int64_t masked) {
    int64_t tall = (high + 1) / 2, columns = (keys + SIDE - 1) / SIDE, line = (keys * masked + 31) / 32 * 32;
    int64_t room = (columns * (tall | 1) + BLOCK_FLOATS) * SIDE * (masked ? 16 : 12) +
                   (tall + BLOCK_FLOATS) * (line + 116) + 3072;
    return tall <= SHORT_TALL && room <= SHORT_ROOM;
}

// Rows of a step, steps that are dealt out one by one, how the blocks differ. across: all heads have one mask.
inline void short_steps(ShortAttention& a, uint32_t blocks, bool across) {
    int64_t units = (a.rows + SIDE - 1) / SIDE, parts = 1;
    auto of = [](int64_t n, int64_t parts) { return (n + parts - 1) / parts; };
    while (parts < units && !short_fits(of(units, parts) * SIDE, a.keys, a.masked)) parts++;
    a.most = of(units, parts) * SIDE;
    a.tiles = a.later = 0;
    if (a.masked && across && parts > 1) {
        for (parts = 1; parts < units && !short_fits(of(a.rows, parts), a.keys, a.masked);) parts++;
        a.most = of(a.rows, parts);
        a.tiles = of(a.rows, a.most);
        return;
    }
    int64_t later = 1024 * BLOCK_LATER / (UNIT + COLUMN * ((a.keys + SIDE - 1) / SIDE));
    int64_t all = int64_t(a.batch) * a.heads * units;
    if (later * blocks * blocks <= 1024 * all) a.later = later;
}

inline Tensor short_workspace(const Tensor& like, int64_t blocks, const ShortAttention& a)  // the slots of S and P
{
    int64_t columns = (a.keys + SIDE - 1) / SIDE;
    return at::empty({blocks * TURN * a.most * columns * SIDE / 2 * 3}, like.options().dtype(at::kFloat));
}

}  // namespace lab_attention
