// What every vector instruction shares: its count, its repeats and mask, its cost.
#pragma once
#include <algorithm>
#include <cstring>

#include "machine.h"
#include "math.h"

namespace twin {

constexpr uint32_t kRepeat = 256, kBlock = 32;

inline bool count_ok(int32_t n, Here here) {
    core->last = here;
    if (n >= 0) return n > 0;  // 0 is documented as no action
    core->report("count-negative", true, here, Numbers().add("count", n));
    return false;
}

// The documented rule: within a repeat source and destination are the same bytes or apart (of operands of two widths a
// repeat is read before it is written, and kernels rely on that), and no repeat writes what a later one reads.
// n lanes of dw and sw bytes.
inline bool overlap_ok(Loc d, uint32_t dw, Loc s, uint32_t sw, uint64_t n, Here here) {
    uint64_t dn = n * dw, sn = n * sw;
    if (d.mem != s.mem || d.addr >= s.addr + sn || s.addr >= d.addr + dn || (d.addr == s.addr && dw <= sw)) return true;
    uint64_t lanes = kRepeat / std::max(dw, sw);
    bool bad = false;
    for (uint64_t i = 0; i < n && !bad; i += lanes) {
        uint64_t some = std::min(lanes, n - i), from = d.addr + i * dw, to = from + some * dw, rest = s.addr + (i + some) * sw;
        bad = from < s.addr + sn && rest < to && rest < s.addr + sn;
        if (dw == sw) bad = bad || (s.addr + i * sw < to && from < rest);
    }
    if (bad) core->report("overlap", true, here, Numbers().add("dst", d.addr).add("src", s.addr).add("bytes", dn));
    return !bad;
}

// start-up + cycles a repeat; both sources in one of the 16 bank groups cost an extra read cycle a repeat.
inline double cost(Op op, Dt t, uint64_t bytes, bool same_group = false) {
    double repeats = double((bytes + kRepeat - 1) / kRepeat);
    return chip.vector_startup + repeats * (chip.per_repeat[int(op)][int(t)] + (same_group ? chip.conflict : 0));
}
inline bool same_bank_group(Loc a, Loc b) { return ((a.addr ^ b.addr) >> 5 & 15) == 0; }

// ---- the mask/repeat form

struct Shape {  // what a Rep means for operands of a given element size
    const Rep& r;
    uint32_t size, lanes, top;  // lanes a repeat; one past the highest active lane
    bool full;
    Shape(const Rep& rep, uint32_t bytes_per_lane) : r(rep), size(bytes_per_lane), lanes(kRepeat / bytes_per_lane), top(0), full(true) {
        for (uint32_t i = 0; i < lanes; i++)
            if (on(i)) top = i + 1; else full = false;
    }
    bool on(uint32_t lane) const { return r.mask[lane / 64] >> (lane % 64) & 1; }
    uint32_t blocks(uint32_t width) const { return (top * width + kBlock - 1) / kBlock; }  // a repeat's, up to the last active lane
    uint64_t once(uint32_t blk, uint32_t width) const {  // bytes from a repeat's start to its last active byte
        uint32_t last = blocks(width) - 1, tail = top * width - last * kBlock;
        return blk ? uint64_t(last) * blk * kBlock + tail : last ? kBlock : tail;
    }
    uint64_t extent(uint32_t blk, uint32_t rep, uint32_t width) const { return uint64_t(r.times - 1) * rep * kBlock + once(blk, width); }
    bool plain(uint32_t blk, uint32_t rep) const { return full && blk == 1 && rep == 8; }
};

inline void book_rep(const Core::Ticket& t, Loc l, const Shape& s, uint32_t blk, uint32_t rep, uint32_t width, bool write) {
    uint32_t blocks = blk > 1 ? s.blocks(width) : 1, piece = uint32_t(s.once(blk > 1 ? 0 : blk, width));
    if (blocks == 1 && rep * kBlock < piece + kBlock) return core->book(t, l, uint32_t(s.extent(blk, rep, width)), write);  // no whole block between two
    for (uint32_t i = 0; i < (rep ? uint32_t(s.r.times) : 1); i++)
        for (uint32_t b = 0; b < blocks; b++) {
            Loc part = l;
            part.addr += (i * rep + b * blk) * kBlock;
            core->book(t, part, piece, write);
        }
}

inline void gather(uint8_t* to, const uint8_t* from, uint32_t repeat, uint32_t blk, uint32_t rep, const Shape& s, uint32_t width) {
    const uint8_t* p = from + size_t(repeat) * rep * kBlock;
    for (uint32_t b = 0; b < s.blocks(width); b++) std::memcpy(to + b * kBlock, p + size_t(b) * blk * kBlock, kBlock);
}

inline void scatter(uint8_t* to, const uint8_t* from, uint32_t repeat, uint32_t blk, uint32_t rep, const Shape& s, uint32_t width) {
    uint8_t* p = to + size_t(repeat) * rep * kBlock;
    uint32_t per = kBlock / width;
    if (s.full)
        for (uint32_t b = 0; b < s.blocks(width); b++) std::memcpy(p + size_t(b) * blk * kBlock, from + b * kBlock, kBlock);
    else for (uint32_t i = 0; i < s.top; i++)
        if (s.on(i)) std::memcpy(p + size_t(i / per) * blk * kBlock + (i % per) * width, from + i * width, width);
}

inline bool rep_ok(const Shape& s, Here here) {
    core->last = here;
    return s.r.times > 0 && s.top > 0;
}

}  // namespace twin
