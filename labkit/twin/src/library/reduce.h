// Scratch of a reduction: one formula for the host's size function and the kernel.
#pragma once
#include <algorithm>
#include <cstdint>

namespace twin {

enum class FoldKind : uint8_t { Sum, Product, Extreme, Bits };

constexpr uint32_t up_to(uint32_t n, uint32_t unit) { return (n + unit - 1) / unit * unit; }
// The largest power of two below n (or 1): the number of elements left after the rest has been added to them.
constexpr uint32_t half_way(uint32_t n) {
    uint32_t k = 1;
    while (k * 2 < n) k *= 2;
    return k;
}
constexpr uint32_t fold_scratch(FoldKind kind, uint32_t size, uint32_t first, uint32_t last, bool columns, bool reuse) {
    const uint32_t block = 32 / size, repeat = 256 / size;
    if (columns) return reuse ? 0 : half_way(first) * up_to(last * size, 32);
    switch (kind) {
    case FoldKind::Bits: return up_to(last, 32) * 2 + first * 32;
    case FoldKind::Product: return reuse ? 256 : (std::max(block, half_way(last)) + first * block) * size + 256;
    case FoldKind::Sum: return reuse || last <= repeat ? 0 : first * half_way(last) * size;
    case FoldKind::Extreme: return reuse || last <= block ? 0 : first * (last < repeat ? block : repeat) * size;
    }
    return 0;
}
// Sum and Mean: one result a repeat, joined until one is left.
constexpr uint32_t sum_scratch(uint32_t size, uint32_t n) {
    return up_to((n + 256 / size - 1) / (256 / size), 32 / size) * size;
}
constexpr uint32_t mean_scratch(uint32_t size, uint32_t n, bool wide) {
    uint32_t lanes = wide ? 64 : 256 / size, inner = up_to(n * size, 32) / size;
    return up_to((n + lanes - 1) / lanes, 32) + (wide && size == 2 ? inner * 4 : 0);
}
constexpr uint32_t xor_scratch(uint32_t n, bool reuse) { return (reuse ? 2 : 3) * std::max(up_to(n, 32) * 2, 256u); }

}  // namespace twin
