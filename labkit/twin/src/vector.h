// What every vector instruction shares: its count, its repeats and mask, its cost.
#pragma once
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

inline bool overlap_ok(Loc d, uint64_t dn, Loc s, uint64_t sn, Here here) {
    if (d.mem != s.mem || d.addr == s.addr || d.addr >= s.addr + sn || s.addr >= d.addr + dn) return true;
    core->report("overlap", true, here, Numbers().add("dst", d.addr).add("src", s.addr).add("bytes", dn));
    return false;
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
    uint64_t extent(uint32_t blk, uint32_t rep, uint32_t width) const {  // bytes from the operand's start to its last active byte
        uint32_t per = kBlock / width, last = top - 1;
        return uint64_t(r.times - 1) * rep * kBlock + uint64_t(last / per) * blk * kBlock + (last % per + 1) * width;
    }
    bool plain(uint32_t blk, uint32_t rep) const { return full && blk == 1 && rep == 8; }
};

inline void book_rep(const Core::Ticket& t, Loc l, const Shape& s, uint32_t blk, uint32_t rep, uint32_t width, bool write) {
    uint32_t times = uint32_t(s.r.times);
    if (blk > 1 || (rep == 8 && s.full) || rep == 0 || times == 1) return core->book(t, l, uint32_t(s.extent(blk, rep, width)), write);
    for (uint32_t i = 0; i < times; i++) {
        Loc part = l;
        part.addr += i * rep * kBlock;
        core->book(t, part, s.top * width, write);
    }
}

inline void gather(uint8_t* to, const uint8_t* from, uint32_t repeat, uint32_t blk, uint32_t rep, uint32_t blocks = 8) {
    const uint8_t* p = from + size_t(repeat) * rep * kBlock;
    for (uint32_t b = 0; b < blocks; b++) std::memcpy(to + b * kBlock, p + size_t(b) * blk * kBlock, kBlock);
}

inline void scatter(uint8_t* to, const uint8_t* from, uint32_t repeat, uint32_t blk, uint32_t rep, const Shape& s, uint32_t width) {
    uint8_t* p = to + size_t(repeat) * rep * kBlock;
    uint32_t per = kBlock / width;
    for (uint32_t i = 0; i < s.top; i++)
        if (s.on(i)) std::memcpy(p + size_t(i / per) * blk * kBlock + (i % per) * width, from + i * width, width);
}

inline bool rep_ok(const Shape& s, Here here) {
    core->last = here;
    return s.r.times > 0 && s.top > 0;
}

}  // namespace twin
