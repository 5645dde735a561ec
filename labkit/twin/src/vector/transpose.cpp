// Transpose and TransDataTo5HD.
#include "twin/vector/transpose.h"

#include <vector>

#include "vector/rearrange.h"

namespace twin {

namespace {

// Records 16 blocks over all repeats as few accesses: mostly they are contiguous, or advance block by block.
void book_blocks(const Core::Ticket& k, const Blocks16& b, uint32_t times, uint64_t first, bool write) {
    bool row = true;
    for (int i = 1; i < 16; i++) row = row && b.block[i].addr == b.block[0].addr + i * kBlock;
    auto stretch = [&](Loc l, uint64_t at, uint32_t bytes) {
        l.addr += uint32_t(at);
        core->book(k, l, bytes, write);
    };
    if (row) {
        if (b.step == 16) return stretch(b.block[0], first, times * 16 * kBlock);
        for (uint32_t r = 0; r < times; r++) stretch(b.block[0], first + uint64_t(r) * b.step * kBlock, 16 * kBlock);
        return;
    }
    for (const Loc& l : b.block) {
        if (b.step == 1) stretch(l, first, times * kBlock);
        else
            for (uint32_t r = 0; r < times; r++) stretch(l, first + uint64_t(r) * b.step * kBlock, kBlock);
    }
}

bool blocks_usable(const Blocks16& b, uint32_t times, uint64_t first, bool read, Here here, const char* what) {
    for (Loc l : b.block) {
        uint64_t bytes = first + uint64_t(times - 1) * b.step * kBlock + kBlock;
        if (!core->usable(l, bytes, false, here, what)) return false;
        if (!read) continue;
        l.addr += uint32_t(first);
        if (!core->usable(l, kBlock, true, here, what)) return false;
    }
    return true;
}

// Element j of source i becomes element i of row j; a row of 32-bit elements fills two blocks, one of 8-bit half a
// block.
template <typename T>
void turn(uint8_t (&to)[16][kBlock], const uint8_t (&from)[16][kBlock], bool dst_high, bool src_high) {
    constexpr uint32_t per = kBlock / sizeof(T), rows = per < 16 ? per : 16;
    for (uint32_t j = 0; j < rows; j++)
        for (uint32_t i = 0; i < 16; i++) {
            const uint8_t* p = from[i] + (j + (sizeof(T) == 1 && src_high ? 16 : 0)) * sizeof(T);
            uint32_t at = (sizeof(T) == 1 && dst_high ? 16 : 0) + i;
            std::memcpy(&to[sizeof(T) == 4 ? 2 * j + at / per : j][at % per * sizeof(T)], p, sizeof(T));
        }
}

}  // namespace

Loc pointed_at(uint64_t address, Here here) {
    Loc l;
    uint64_t size = chip.size[int(Mem::UB)];
    l.bytes = uint32_t(size);
    if (!has(core->id.kind, Mem::UB)) return l;  // reported by the caller
    uint64_t at = address - uint64_t(core->at(l));
    if (at >= size) core->report("local-pointer", true, here, Numbers().add("size", (long long)size));
    l.addr = uint32_t(std::min(at, size));
    l.bytes = uint32_t(size - l.addr);
    for (size_t i = core->buffers.size(); i-- > 1;) {  // find the buffer that the pointer was taken from
        const Core::Buffer& b = core->buffers[i];
        if (!b.len || mem_of(AscendC::TPosition(b.pos)) != Mem::UB || l.addr < b.addr || l.addr >= b.addr + b.len)
            continue;
        l.buf = uint16_t(i);
        l.gen = b.gen;
        break;
    }
    return l;
}

void trans_5hd(Dt t, const Blocks16& d, const Blocks16& s, int32_t times, Here here) {
    core->last = here;
    if (times <= 0) return;
    bool stray = false;  // pointed_at() has reported it
    for (int i = 0; i < 16; i++) stray = stray || std::max(d.block[i].addr, s.block[i].addr) >= chip.size[int(Mem::UB)];
    // Documented: a single repeat begins one step further on.
    uint32_t n = uint32_t(times);
    uint64_t first_d = n == 1 ? uint64_t(d.step) * kBlock : 0, first_s = n == 1 ? uint64_t(s.step) * kBlock : 0;
    if (stray || !blocks_usable(s, n, first_s, true, here, "srcList") ||
        !blocks_usable(d, n, first_d, false, here, "dstList")) {
        for (const Loc& l : d.block) core->refuse(l, kBlock);
        return;
    }
    auto k = core->issue(Pipe::V, Op::TransDataTo5HD, here);
    book_blocks(k, s, n, first_s, false);
    Shadow dark;
    int origin = kNobody;
    if (core->instruction.partial()) {
        dark = core->shadow(Mem::UB, 0, chip.size[int(Mem::UB)]);
        origin = core->instruction.dark.front().origin;
    }
    core->instruction.opaque = true;
    book_blocks(k, d, n, first_d, true);
    uint32_t from_byte = size_of(t) == 1 && d.high ? 16 : 0, bytes = size_of(t) == 1 ? 16 : kBlock;
    alignas(64) uint8_t in[16][kBlock], out[16][kBlock];
    auto turn_all = [&](auto at, auto put) {
        for (uint32_t r = 0; r < n; r++) {
            for (int i = 0; i < 16; i++)
                std::memcpy(in[i], at(s.block[i]) + first_s + uint64_t(r) * s.step * kBlock, kBlock);
            if (size_of(t) == 1) turn<uint8_t>(out, in, d.high, s.high);
            else if (size_of(t) == 2) turn<uint16_t>(out, in, false, false);
            else turn<uint32_t>(out, in, false, false);
            for (int i = 0; i < 16; i++)
                put(d.block[i], first_d + uint64_t(r) * d.step * kBlock + from_byte, out[i] + from_byte);
        }
    };
    turn_all([](Loc l) { return core->at(l); },
             [&](Loc l, uint64_t at, const uint8_t* from) { std::memcpy(core->at(l) + at, from, bytes); });
    if (!dark.empty())
        turn_all([&](Loc l) { return dark.data() + l.addr; },
                 [&](Loc l, uint64_t at, const uint8_t* from) {
                     core->leave(l.mem, l.addr + at, Shadow(from, from + bytes), origin);
                 });
    core->retire(k, cost(Op::TransDataTo5HD, t, uint64_t(n) * 16 * kBlock), uint64_t(n) * 16 * kBlock);
}

void transpose16(Dt t, Loc d, Loc s, Here here) {
    core->last = here;
    constexpr uint32_t bytes = 16 * kBlock;
    if (!core->usable(s, bytes, true, here, "src") || !core->usable(d, bytes, false, here, "dst"))
        return core->refuse(d, bytes);
    auto k = core->issue(Pipe::V, Op::Transpose, here);
    core->book(k, s, bytes, false);
    Shadow dark = core->instruction.partial() ? core->shadow(s.mem, s.addr, bytes) : Shadow();
    int origin = dark.empty() ? kNobody : core->instruction.dark.front().origin;
    core->instruction.opaque = true;
    core->book(k, d, bytes, true);
    alignas(64) uint8_t in[16][kBlock], out[16][kBlock];
    std::memcpy(in, core->at(s), bytes);
    turn<uint16_t>(out, in, false, false);
    std::memcpy(core->at(d), out, bytes);
    if (!dark.empty()) {
        std::memcpy(in, dark.data(), bytes);
        turn<uint16_t>(out, in, false, false);
        std::memcpy(dark.data(), out, bytes);
        core->leave(d.mem, d.addr, dark, origin);
    }
    core->retire(k, cost(Op::Transpose, t, bytes), bytes);
}

// CANN's implementation spreads every element to a block of its own, moves these one by one and transposes them. These
// steps, not the amount of data, determine the cost of the call.
void transpose_image(Dt t, Loc d, Loc s, Loc tmp, uint32_t n, uint32_t c, uint32_t hw, bool to_nhwc, Here here) {
    core->last = here;
    if (!n || !c || !hw || !core->usable(d, 0, false, here, "dst")) return;
    uint32_t size = size_of(t);
    uint64_t all = uint64_t(n) * c * hw, bytes = all * size;
    if (c > 4095 || hw > 4095 || uint64_t(hw) * size % kBlock) {
        core->report("transpose-shape", true, here,
                     Numbers().add("c", c).add("hw", hw).add("bytes", (long long)(uint64_t(hw) * size)));
        return core->refuse(d, bytes);
    }
    uint64_t scratch = uint64_t(to_nhwc ? c + 2 : 2 * c + 1) * (size == 1 ? 32 : 16) * kBlock;  // the documented size
    if (!core->usable(s, bytes, true, here, "src") || !core->usable(tmp, scratch, false, here, "sharedTmpBuffer") ||
        !core->usable(d, bytes, false, here, "dst"))
        return core->refuse(d, bytes);
    if (meets(d, bytes, s, bytes))
        core->report("overlap", true, here,
                     Numbers().add("dst", d.addr).add("src", s.addr).add("bytes", (long long)bytes));
    auto k = core->issue(Pipe::V, Op::Transpose, here);
    core->book(k, s, uint32_t(bytes), false);
    core->book(k, tmp, uint32_t(scratch), true);
    core->book(k, d, uint32_t(bytes), true);
    std::vector<uint8_t> from(core->at(s), core->at(s) + bytes);
    uint32_t rows = to_nhwc ? c : hw, columns = to_nhwc ? hw : c;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t r = 0; r < rows; r++)
            for (uint32_t q = 0; q < columns; q++)
                std::memcpy(core->at(d) + ((uint64_t(i) * columns + q) * rows + r) * size,
                            &from[((uint64_t(i) * rows + r) * columns + q) * size], size);
    double turns = 2.0 * double(all) / 16 * cost(Op::TransDataTo5HD, t, 16 * kBlock);
    core->retire(k, double(all) * (chip.vector_startup + 1) + turns, bytes);
}

void transpose_unknown(int type, Loc d, Here here) {
    if (!core->usable(d, 0, false, here, "dst")) return;
    core->report("transpose-type", true, here, Numbers().add("type", type));
    core->refuse(d, d.bytes);
}

}  // namespace twin
