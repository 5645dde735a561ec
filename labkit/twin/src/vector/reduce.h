// Shared by the reductions: values and indices in the tensor's own type; the active lanes of a group made contiguous.
#pragma once
#include "vector/vector.h"

namespace twin {

inline float as_float(Dt t, const void* p) {
    if (t == Dt::F16) {
        uint16_t h;
        std::memcpy(&h, p, 2);
        return half_to_float(h);
    }
    float f;
    std::memcpy(&f, p, 4);
    return f;
}
inline void put_float(Dt t, void* p, float v) {
    uint16_t h = t == Dt::F16 ? float_to_half(v) : 0;
    std::memcpy(p, t == Dt::F16 ? (const void*)&h : &v, size_of(t));
}
inline void put_index(Dt t, void* p, uint32_t i) {  // an index is written as an integer in the element's own width
    uint16_t h = uint16_t(i);
    std::memcpy(p, t == Dt::F16 ? (const void*)&h : &i, size_of(t));
}

// The active lanes of `group` lanes from `from` on. For a sum the tree is that of all lanes, and a masked lane adds
// nothing (-0), so lanes keep their positions.
struct Run {
    alignas(64) uint8_t packed[kRepeat];
    uint32_t place[128], n = 0;
    void pack(const uint8_t* lanes, const Shape& s, Dt t, uint32_t from, uint32_t group, uint32_t repeat, bool sum) {
        uint32_t size = size_of(t), end = std::min(from + group, s.top_of(repeat));
        n = 0;
        if (s.prefix) {
            n = end > from ? end - from : 0;
            std::memcpy(packed, lanes + from * size, n * size);
            for (uint32_t i = 0; i < n; i++) place[i] = from + i;
        } else {
            for (uint32_t lane = from; lane < end; lane++)
                if (s.on(lane)) std::memcpy(packed + n * size, lanes + lane * size, size), place[n++] = lane;
        }
        if (!sum || !n || n == group) return;
        for (uint32_t i = 0; i < group; i++) put_float(t, packed + i * size, -0.0f);
        for (uint32_t i = 0; i < n; i++) std::memcpy(packed + (place[i] - from) * size, lanes + place[i] * size, size);
        n = group;
    }
};

// Every lane that takes part in a reduction must have been written; masked lanes need not.
inline void want_lanes(Loc s, const Shape& shape, const Rep& r, Here here) {
    constexpr uint32_t kFew = 16;
    uint32_t times = uint32_t(shape.r.times);
    if (shape.plain(r.src0_blk, r.src0_rep) && shape.last == shape.lanes)
        return core->want_filled(s, uint64_t(times) * kRepeat, kBlock, here, "src");
    if (!shape.prefix || r.src0_blk != 1 || times > kFew) return;
    for (uint32_t i = 0; i < times; i++, s.addr += r.src0_rep * kBlock)
        core->want_filled(s, shape.top_of(i) * shape.size, kBlock, here, "src");
}

}  // namespace twin
