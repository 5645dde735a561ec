// The mask/repeat form: repeats of 8 blocks of 32 bytes, strides between blocks and between repeats, lanes switched
// off by a mask. In counter mode the mask is a number of elements instead, and the repeats follow from it.
#pragma once
#include <algorithm>
#include <cstring>
#include <utility>

#include "core/machine.h"

namespace twin {

constexpr uint32_t kRepeat = 256, kBlock = 32;
constexpr uint32_t kNibble = 0;  // as a width in bytes: half a byte (int4b_t)

constexpr uint64_t bytes_of(uint64_t lanes, uint32_t width) { return width ? lanes * width : (lanes + 1) / 2; }

// A Rep evaluated for operands whose widest has `size` bytes a lane. This also stores the mask into its register.
struct Shape {
    Rep r;                 // with the effective mask and repeats
    uint32_t size, lanes;  // lanes of a repeat
    uint32_t top, last;    // one past the highest active lane: of a repeat, and of the last one
    bool prefix, full;     // the active lanes are the first ones; none is switched off but behind the last
    bool beyond = false;   // the mask asks for more lanes than a repeat has

    Shape(const Rep& rep, uint32_t bytes_per_lane) : r(rep), size(bytes_per_lane), lanes(kRepeat / bytes_per_lane) {
        VectorState& v = core->vec;
        if (rep.own) {
            core->trace.spend(chip.mask_set);
            v.mask[0] = rep.mask[0];
            v.mask[1] = rep.mask[1];
        } else {
            r.mask[0] = v.mask[0];
            r.mask[1] = v.mask[1];
        }
        if (v.counter) count(v.mask[0]);
        else lanes_on();
        beyond = !v.counter && rep.own && rep.asked > lanes;
    }
    // A count form as repeats; the mask register is as the count forms leave it.
    Shape(const Rep& rep, uint32_t bytes_per_lane, uint64_t elements)
        : r(rep), size(bytes_per_lane), lanes(kRepeat / bytes_per_lane) {
        count(elements);
    }
    bool on(uint32_t lane) const { return r.mask[lane / 64] >> (lane % 64) & 1; }
    uint32_t top_of(uint32_t repeat) const { return repeat + 1 < uint32_t(r.times) ? top : last; }
    uint64_t elements() const { return uint64_t(r.times - 1) * top + last; }

    // Blocks of 32 bytes, and bytes from a repeat's start to its last active one, for operands of `width` bytes a lane.
    uint32_t blocks(uint32_t width) const { return blocks(width, top); }
    static uint32_t blocks(uint32_t width, uint32_t lanes) {
        return uint32_t((bytes_of(lanes, width) + kBlock - 1) / kBlock);
    }
    uint64_t once(uint32_t blk, uint32_t width) const { return once(blk, width, top); }
    static uint64_t once(uint32_t blk, uint32_t width, uint32_t lanes) {
        if (!lanes) return 0;
        uint32_t end = blocks(width, lanes) - 1, tail = uint32_t(bytes_of(lanes, width)) - end * kBlock;
        return blk ? uint64_t(end) * blk * kBlock + tail : end ? kBlock : tail;
    }
    uint64_t extent(uint32_t blk, uint32_t rep, uint32_t width) const {
        uint64_t step = uint64_t(rep) * kBlock, end = uint64_t(r.times - 1) * step + once(blk, width, last);
        return r.times > 1 && last < top ? std::max(end, uint64_t(r.times - 2) * step + once(blk, width)) : end;
    }
    bool plain(uint32_t blk, uint32_t rep) const { return full && blk == 1 && rep == 8; }
    // One bit for each block of a repeat: has it an active lane?
    uint32_t blocks_on(uint32_t width) const {
        uint32_t per = width ? kBlock / width : 2 * kBlock, bits = 0;
        for (uint32_t lane = 0; lane < top; lane++) bits |= uint32_t(prefix || on(lane)) << lane / per;
        return bits;
    }
private:
    void lanes_on() {
        uint64_t low = r.mask[0], high = r.mask[1];
        if (lanes <= 64) high = 0;
        if (lanes < 64) low &= (1ull << lanes) - 1;
        r.mask[0] = low;
        r.mask[1] = high;
        top = last = high ? 128 - uint32_t(__builtin_clzll(high)) : low ? 64 - uint32_t(__builtin_clzll(low)) : 0;
        prefix = high ? low == ~0ull && !(high & (high + 1)) : !(low & (low + 1));
        full = prefix && top == lanes;
    }
    static constexpr uint64_t kMostElements = 1 << 24;
    void count(uint64_t n) {
        // more than any memory holds: not a valid count
        uint64_t times = n > kMostElements ? INT32_MAX : (n + lanes - 1) / lanes;
        r.times = int32_t(times);
        last = uint32_t(n - (times ? times - 1 : 0) * lanes);
        top = r.times > 1 ? lanes : last;
        r.mask[0] = r.mask[1] = ~0ull;
        prefix = full = true;
    }
};

inline bool rep_ok(const Shape& s, Here here) {
    core->last = here;
    if (s.beyond) core->report("mask-lanes", true, here, Numbers().add("mask", s.r.asked).add("lanes", s.lanes));
    // of ReduceSum, ReduceMax and ReduceMin: the repeats of the others have eight bits
    if (s.r.times < 0) core->report("count-negative", true, here, Numbers().add("count", s.r.times));
    if (s.r.times != INT32_MAX) return s.r.times > 0 && s.top > 0;
    core->report("mask-counter", true, here, Numbers().add("count", std::to_string(core->vec.mask[0])));
    return false;
}

inline void book_pieces(const Core::Ticket& t, Loc l, const Shape& s, uint32_t blk, uint32_t rep, uint32_t width,
                        bool write) {
    uint32_t step = rep * kBlock;
    // A block that the mask switches off as a whole is neither read nor written: another pipe may use it meanwhile.
    if (uint32_t bits = blk && !s.prefix ? s.blocks_on(width) : 0; bits & (bits + 1)) {
        for (uint32_t i = 0; i < (rep ? uint32_t(s.r.times) : 1); i++)
            for (uint32_t b = 0, end; bits >> b; b = end) {
                end = b + 1;
                if (!(bits >> b & 1)) continue;
                while (blk == 1 && bits >> end & 1) end++;
                Loc part = l;
                part.addr += i * step + b * blk * kBlock;
                uint64_t to = std::min<uint64_t>(end * kBlock, s.once(1, width));
                core->book_piece(t, part, uint32_t(to - b * kBlock), write);
            }
        return;
    }
    uint64_t piece = s.once(std::min(blk, 1u), width);
    if (blk <= 1 && step < piece + kBlock)
        // gaps shorter than a block count as part of it
        return core->book_piece(t, l, uint32_t(s.extent(blk, rep, width)), write);
    for (uint32_t i = 0; i < (rep ? uint32_t(s.r.times) : 1); i++) {
        uint64_t left = s.once(std::min(blk, 1u), width, s.top_of(i));
        for (uint32_t b = 0; left; b++) {
            uint64_t some = blk > 1 ? std::min<uint64_t>(left, kBlock) : left;
            Loc part = l;
            part.addr += i * step + b * blk * kBlock;
            core->book_piece(t, part, uint32_t(some), write);
            left -= some;
        }
    }
}

inline void book_rep(const Core::Ticket& t, Loc l, const Shape& s, uint32_t blk, uint32_t rep, uint32_t width,
                     bool write) {
    uint32_t bytes = uint32_t(s.extent(blk, rep, width));
    Lanes lanes{{s.r.mask[0], s.r.mask[1]}, uint32_t(s.r.times), s.lanes, s.top, s.last};
    Operand o{l.mem, write, l.addr, bytes, bytes, 0, width, blk, rep};
    core->book_lanes(t, o, lanes, [&] { book_pieces(t, l, s, blk, rep, width, write); });
}

// Copies a repeat's active blocks to contiguous memory; and back, lane by lane according to the mask.
inline void gather(uint8_t* to, const uint8_t* from, uint32_t repeat, uint32_t blk, uint32_t rep, const Shape& s,
                   uint32_t width) {
    const uint8_t* p = from + size_t(repeat) * rep * kBlock;
    for (uint32_t b = 0, n = Shape::blocks(width, s.top_of(repeat)); b < n; b++)
        std::memcpy(to + b * kBlock, p + size_t(b) * blk * kBlock, kBlock);
}

inline void scatter(uint8_t* to, const uint8_t* from, uint32_t repeat, uint32_t blk, uint32_t rep, const Shape& s,
                    uint32_t width) {
    uint8_t* p = to + size_t(repeat) * rep * kBlock;
    uint32_t n = s.top_of(repeat), per = kBlock / width;
    if (s.prefix)
        for (uint32_t i = 0; i < n; i += per)
            std::memcpy(p + size_t(i / per) * blk * kBlock, from + i * width, std::min(per, n - i) * width);
    else
        for (uint32_t i = 0; i < n; i++)
            if (s.on(i)) std::memcpy(p + size_t(i / per) * blk * kBlock + (i % per) * width, from + i * width, width);
}

// ---- element by element over all repeats

struct Side {  // an operand: where it starts, its strides in blocks, its width in bytes
    uint8_t* base;
    uint32_t blk, rep, width;
};

class Repeats {
public:
    Repeats(const Shape& s, Side d, bool reads_dst)
        : s_(s), d_(d), reads_(reads_dst), direct_(s.prefix && straight(d)) {}
    // body(dst, source..., lanes) on whole runs of lanes where the operands allow it, else repeat by repeat on copies.
    // A repeat is read before it is written, and sees what the repeats before it wrote.
    template <typename F, typename... S> void run(F body, S... sources) const {
        if (direct_ && s_.full && joins(d_) && (joins(sources) && ...) &&
            (clear(d_.base, sources.base, sources, s_.elements()) && ...))
            return body(d_.base, static_cast<const uint8_t*>(sources.base)..., size_t(s_.elements()));
        each(body, std::index_sequence_for<S...>(), sources...);
    }
private:
    struct Source {
        const uint8_t* p;
        uint32_t width;
    };
    template <typename F, size_t... k, typename... S> void each(F body, std::index_sequence<k...>, S... sources) const {
        alignas(64) uint8_t room[1 + sizeof...(S)][kRepeat];
        for (uint32_t i = 0; i < uint32_t(s_.r.times); i++) {
            uint32_t n = s_.top_of(i);
            step(body, i, n, d_.base + size_t(i) * d_.rep * kBlock, room[0], fetch(sources, i, n, room[k + 1])...);
        }
    }
    template <typename F, typename... P>
    void step(F body, uint32_t i, uint32_t n, uint8_t* d, uint8_t* room, P... from) const {
        if (direct_ && (clear(d, from.p, from, n) && ...)) return body(d, from.p..., size_t(n));
        if (reads_) std::memmove(room, fetch(d_, i, n, room).p, bytes_of(n, d_.width));
        body(room, from.p..., size_t(n));
        put(room, i, n);
    }
    bool straight(Side o) const { return o.width && (o.blk == 1 || s_.blocks(o.width) == 1); }
    bool joins(Side o) const { return straight(o) && (s_.r.times == 1 || o.rep * kBlock == s_.lanes * o.width); }
    // The destination and a source are the same lanes, or do not overlap.
    template <typename O> bool clear(const uint8_t* d, const uint8_t* p, O o, uint64_t n) const {
        return (d == p && d_.width == o.width) || d + n * d_.width <= p || p + n * o.width <= d;
    }
    Source fetch(Side o, uint32_t i, uint32_t n, uint8_t* room) const {
        uint8_t* p = o.base + size_t(i) * o.rep * kBlock;
        if (o.width && (o.blk == 1 || Shape::blocks(o.width, n) == 1)) return {p, o.width};
        if (!o.width) {  // two lanes a byte, the first in its lower half
            for (uint32_t lane = 0; lane < n; lane++) {
                uint8_t pair = p[size_t(lane / 64) * o.blk * kBlock + lane % 64 / 2];
                room[lane] = uint8_t(int8_t(lane % 2 ? pair : pair << 4) >> 4);
            }
            return {room, 1};
        }
        for (uint32_t b = 0, blocks = Shape::blocks(o.width, n); b < blocks; b++)
            std::memcpy(room + b * kBlock, p + size_t(b) * o.blk * kBlock, kBlock);
        return {room, o.width};
    }
    void put(const uint8_t* room, uint32_t i, uint32_t n) const {
        if (d_.width) return scatter(d_.base, room, i, d_.blk, d_.rep, s_, d_.width);
        uint8_t* p = d_.base + size_t(i) * d_.rep * kBlock;
        for (uint32_t lane = 0; lane < n; lane++) {
            if (!s_.prefix && !s_.on(lane)) continue;
            uint8_t& pair = p[size_t(lane / 64) * d_.blk * kBlock + lane % 64 / 2];
            pair = lane % 2 ? uint8_t((pair & 0x0f) | room[lane] << 4) : uint8_t((pair & 0xf0) | (room[lane] & 0x0f));
        }
    }
    const Shape& s_;
    Side d_;
    bool reads_, direct_;
};

}  // namespace twin
