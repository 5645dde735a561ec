// Minimum and maximum scratch of functions on whole tensors: returned to the host, and checked by the kernel.
#pragma once
#include <algorithm>
#include <cstdint>

namespace twin {

struct Room {
    uint64_t least, most;  // bytes
};

constexpr uint64_t whole_of(uint64_t n, uint64_t unit) { return (n + unit - 1) / unit * unit; }

// rows x width elements from `sources` of them; 8-bit elements go through half.
inline Room broadcast_room(uint64_t rows, uint64_t width, uint64_t sources, bool column, uint32_t size) {
    uint64_t wide = size == 1 ? 2 : size, per = 32 / wide, n = rows * width;
    uint64_t casts = size == 1 ? (whole_of(sources, 16) + whole_of(n, 16)) * 2 : 0;
    if (sources == n || sources == 1) return casts ? Room{casts + 32, casts + 32} : Room{0, 0};
    if (!column) return {casts + 32, casts + 32};
    uint64_t row = width % per ? whole_of(width, per) * wide : 0;  // a row that ends within a block is assembled here
    uint64_t most = casts + whole_of(rows, 8) * 32 + rows * row;
    return {std::min(most, casts + per * 32 + per * row), most};
}

// What the host is told, n elements of the source; `packed`: mask rows are packed, and not in place.
inline Room select_room(uint64_t n, bool packed, uint32_t mask_size) {
    auto of = [&](uint64_t piece) {
        return std::max<uint64_t>(1024, whole_of(piece, 32) * 2 + 512) + (packed ? whole_of(n * mask_size, 32) : 0);
    };
    return {of(std::min<uint64_t>(n, 4096)), of(n)};
}

inline Room top_k_room(uint64_t inner, uint64_t rows, bool own_index, bool small, bool largest) {
    uint64_t n = small ? inner * rows * (largest ? 8 : 12) + 64 : inner * 16,
             index = own_index ? 0 : 4 * inner * (small ? rows : 1);
    return {n + index, n + index};
}

inline uint64_t trans_data_room(uint64_t n, uint64_t c, uint64_t d, uint64_t plane, bool fractal, bool back) {
    uint64_t padded = whole_of(plane, 16), cs = whole_of(c, 16), ns = whole_of(n, 16), blocks = d * cs * padded * 2;
    if (!fractal) return blocks + (back ? 512 : d * padded * 2);
    if (back) return ns * blocks * (n == ns && c == cs ? 1 : 2);
    return ns * blocks + std::max(c * d * padded, d * plane * ns) * 2;
}

}  // namespace twin
