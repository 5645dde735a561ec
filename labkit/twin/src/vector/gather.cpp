// Gather, Gatherb, GatherMask, Brcb.
#include "vector/rearrange.h"

#include <vector>

namespace twin {

namespace {

// Checks offsets one by one: they are data, and nothing else determines where the instruction reads.
class OffsetCheck {
public:
    OffsetCheck(Loc s, uint64_t base, uint32_t piece, uint32_t align, const char* op)
        : s_(s), base_(base), end_(end_of(s)), piece_(piece), align_(align), op_(op) {}
    void look(uint32_t offset, uint64_t at) {
        uint64_t from = s_.addr + base_ + offset;
        if ((from % align_ || from + piece_ > end_) && !bad_) {
            bad_ = true;
            offset_ = offset;
            index_ = at;
        }
        lo_ = std::min(lo_, from);
        hi_ = std::max(hi_, from + piece_);
    }
    bool ok(Here here) const {
        if (bad_)
            core->report("gather-offset", true, here,
                         Numbers()
                             .add("op", op_)
                             .add("index", (long long)index_)
                             .add("offset", offset_)
                             .add("size", (long long)(end_ - s_.addr))
                             .add("align", align_)
                             .add("piece", piece_));
        return !bad_;
    }
    // An offset that nobody wrote leads anywhere.
    static bool written(Loc offset, uint64_t bytes, Here here) {
        if (!core->checks || !core->any_filled(offset, bytes) ||
            !core->unwritten(offset.mem, offset.addr, offset.addr + bytes))
            return true;
        core->report_unwritten(offset.mem, offset.addr, offset.addr + bytes, here, "srcOffset");
        return false;
    }
    Loc span() const {  // what is read, as one stretch
        Loc l = s_;
        l.addr = uint32_t(lo_);
        l.bytes = uint32_t(hi_ - lo_);
        return l;
    }
private:
    Loc s_;
    uint64_t base_, end_, lo_ = ~0ull, hi_ = 0, index_ = 0;
    uint32_t piece_, align_, offset_ = 0;
    const char* op_;
    bool bad_ = false;
};

uint32_t offset_at(const uint8_t* offsets, uint64_t i) {
    uint32_t o;
    std::memcpy(&o, offsets + i * 4, 4);
    return o;
}

// Unwritten bytes among those that an instruction picks. Made behind the booking of the source, before that of the
// destination.
class Dark {
public:
    explicit Dark(Loc source) : lo_(source.addr) {
        if (core->instruction.partial()) {
            bytes_ = core->shadow(source.mem, source.addr, source.bytes);
            origin_ = core->instruction.dark.front().origin;
        }
        core->instruction.opaque = true;
    }
    // each(f): f(address of a piece, where it goes in the destination) for each piece
    template <typename F> void leave(Loc d, uint64_t dn, uint32_t piece, F each) const {
        if (bytes_.empty()) return;
        Shadow to(dn, 0);
        each([&](uint64_t from, uint64_t at) {
            for (uint64_t k = from - lo_; k < from - lo_ + piece && k < bytes_.size(); k++)
                if (bytes_[k] && at + k - (from - lo_) < dn) to[at + k - (from - lo_)] = 0xff;
        });
        core->leave(d.mem, d.addr, to, origin_);
    }
private:
    uint64_t lo_;
    Shadow bytes_;
    int origin_ = kNobody;
};

// Documented as not allowed. Kernels in production do it nevertheless and expect the old source.
void warn_in_place(Loc d, uint64_t dn, Loc s, uint32_t repeats, Here here) {
    if (repeats > 1 && meets(d, dn, s, s.bytes))
        core->report("overlap", false, here,
                     Numbers().add("dst", d.addr).add("src", s.addr).add("bytes", (long long)dn));
}

// The instructions on whole blocks set a full mask and ignore the kernel's.
Shape whole_blocks(const Rep& r, uint32_t size) {
    bool counter = std::exchange(core->vec.counter, false);
    Shape shape(r, size);
    core->vec.counter = counter;
    return shape;
}

template <typename T> void pick(uint8_t* to, const uint8_t* from, const uint8_t* offsets, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) std::memcpy(to + i * sizeof(T), from + offset_at(offsets, i), sizeof(T));
}

}  // namespace

void gather(Dt t, Loc d, Loc s, Loc offset, uint32_t base, int64_t n, Here here) {
    core->last = here;
    if (n <= 0) return;
    uint32_t size = size_of(t), repeats = uint32_t(repeats_for(uint64_t(n), kRepeat / size));
    uint64_t bytes = uint64_t(n) * size;
    if (!core->usable(offset, uint64_t(n) * 4, true, here, "srcOffset") || !core->usable(s, 0, false, here, "src") ||
        !core->usable(d, bytes, false, here, "dst"))
        return core->refuse(d, bytes);
    core->catch_up(Pipe::V);
    if (!OffsetCheck::written(offset, uint64_t(n) * 4, here)) return core->refuse(d, bytes);
    OffsetCheck reach(s, base, size, size, "Gather");
    for (int64_t i = 0; i < n; i++) reach.look(offset_at(core->at(offset), uint64_t(i)), uint64_t(i));
    if (!reach.ok(here) || !core->usable(reach.span(), reach.span().bytes, true, here, "src", size))
        return core->refuse(d, bytes);
    warn_in_place(d, bytes, reach.span(), repeats, here);
    auto k = core->issue(Pipe::V, Op::Gather, here);
    core->book(k, offset, uint32_t(n) * 4, false);
    core->book(k, reach.span(), reach.span().bytes, false);
    Dark dark(reach.span());
    core->book(k, d, uint32_t(bytes), true);
    dark.leave(d, bytes, size, [&](auto f) {
        for (int64_t i = 0; i < n; i++) f(s.addr + base + offset_at(core->at(offset), uint64_t(i)), uint64_t(i) * size);
    });
    std::vector<uint8_t> copy;
    const uint8_t* from = core->at(s) + base;
    uint8_t* to = core->at(d);
    bool apart = !meets(d, bytes, reach.span(), reach.span().bytes) && !meets(d, bytes, offset, uint64_t(n) * 4);
    if (!apart) {
        copy.resize(bytes);
        to = copy.data();
    }
    if (size == 2) pick<uint16_t>(to, from, core->at(offset), uint64_t(n));
    else pick<uint32_t>(to, from, core->at(offset), uint64_t(n));
    if (!apart) std::memcpy(core->at(d), copy.data(), bytes);
    core->retire(k, cost(Op::Gather, t, bytes), bytes);
}

void gather(Dt t, Loc d, Loc s, Loc offset, uint32_t base, const Rep& asked, Here here) {
    Shape shape(asked, size_of(t));
    if (!rep_ok(shape, here)) return;
    const Rep& r = shape.r;
    uint64_t offsets = (uint64_t(r.times - 1) * shape.lanes + shape.last) * 4,
             dn = shape.extent(1, r.dst_rep, shape.size);
    if (!core->usable(offset, offsets, true, here, "srcOffset") || !core->usable(s, 0, false, here, "src") ||
        !core->usable(d, dn, false, here, "dst"))
        return core->refuse(d, dn);
    core->catch_up(Pipe::V);
    if (!OffsetCheck::written(offset, offsets, here)) return core->refuse(d, dn);
    OffsetCheck reach(s, base, shape.size, shape.size, "Gather");
    for (uint32_t i = 0; i < uint32_t(r.times); i++)
        for (uint32_t lane = 0; lane < shape.top_of(i); lane++)
            if (shape.on(lane))
                reach.look(offset_at(core->at(offset), uint64_t(i) * shape.lanes + lane),
                           uint64_t(i) * shape.lanes + lane);
    if (!reach.ok(here) || !core->usable(reach.span(), reach.span().bytes, true, here, "src", shape.size))
        return core->refuse(d, dn);
    warn_in_place(d, dn, reach.span(), uint32_t(r.times), here);
    auto k = core->issue(Pipe::V, Op::Gather, here);
    core->book(k, offset, uint32_t(offsets), false);
    core->book(k, reach.span(), reach.span().bytes, false);
    Dark dark(reach.span());
    book_rep(k, d, shape, 1, r.dst_rep, shape.size, true);
    dark.leave(d, dn, shape.size, [&](auto f) {
        for (uint32_t i = 0; i < uint32_t(r.times); i++)
            for (uint32_t lane = 0; lane < shape.top_of(i); lane++)
                if (shape.on(lane))
                    f(s.addr + base + offset_at(core->at(offset), uint64_t(i) * shape.lanes + lane),
                      uint64_t(i) * r.dst_rep * kBlock + lane * shape.size);
    });
    std::vector<uint8_t> lanes(size_t(r.times) * kRepeat);
    const uint8_t* from = core->at(s) + base;
    for (uint32_t i = 0; i < uint32_t(r.times); i++)
        for (uint32_t lane = 0; lane < shape.top_of(i); lane++)
            if (shape.on(lane))
                std::memcpy(&lanes[size_t(i) * kRepeat + lane * shape.size],
                            from + offset_at(core->at(offset), uint64_t(i) * shape.lanes + lane), shape.size);
    for (uint32_t i = 0; i < uint32_t(r.times); i++)
        scatter(core->at(d), &lanes[size_t(i) * kRepeat], i, 1, r.dst_rep, shape, shape.size);
    uint64_t bytes = uint64_t(r.times) * kRepeat;
    core->retire(k, cost(Op::Gather, t, bytes), bytes);
}

void gather_blocks(Dt t, Loc d, Loc s, Loc offset, const Rep& asked, Here here) {
    core->last = here;
    Rep r = asked;
    if (r.times <= 0) return;
    if (!r.dst_blk) r.dst_blk = 1;  // documented
    Shape shape = whole_blocks(r, size_of(t));
    uint32_t blocks = uint32_t(r.times) * 8;
    uint64_t dn = shape.extent(r.dst_blk, r.dst_rep, shape.size);
    if (!core->usable(offset, blocks * 4, true, here, "offset") || !core->usable(s, 0, false, here, "src") ||
        !core->usable(d, dn, false, here, "dst"))
        return core->refuse(d, dn);
    core->catch_up(Pipe::V);
    if (!OffsetCheck::written(offset, blocks * 4, here)) return core->refuse(d, dn);
    OffsetCheck reach(s, 0, kBlock, kBlock, "Gatherb");
    for (uint32_t i = 0; i < blocks; i++) reach.look(offset_at(core->at(offset), i), i);
    if (!reach.ok(here) || !core->usable(reach.span(), reach.span().bytes, true, here, "src"))
        return core->refuse(d, dn);
    warn_in_place(d, dn, reach.span(), uint32_t(r.times), here);
    auto k = core->issue(Pipe::V, Op::Gatherb, here);
    core->book(k, offset, blocks * 4, false);
    core->book(k, reach.span(), reach.span().bytes, false);
    Dark dark(reach.span());
    book_rep(k, d, shape, r.dst_blk, r.dst_rep, shape.size, true);
    dark.leave(d, dn, kBlock, [&](auto f) {
        for (uint32_t i = 0; i < blocks; i++)
            f(s.addr + offset_at(core->at(offset), i), (uint64_t(i / 8) * r.dst_rep + i % 8 * r.dst_blk) * kBlock);
    });
    std::vector<uint8_t> lanes(size_t(r.times) * kRepeat);
    for (uint32_t i = 0; i < blocks; i++)
        std::memcpy(&lanes[i * kBlock], core->at(s) + offset_at(core->at(offset), i), kBlock);
    for (uint32_t i = 0; i < uint32_t(r.times); i++)
        scatter(core->at(d), &lanes[size_t(i) * kRepeat], i, r.dst_blk, r.dst_rep, shape, shape.size);
    core->retire(k, cost(Op::Gatherb, t, lanes.size()), lanes.size());
}

// ---------------------------------------------------------------- by bits

uint64_t gather_mask(Dt t, Loc d, Loc s, const Loc* bits, uint8_t pattern, bool counter, uint32_t mask, const Rep& r,
                     Here here) {
    static constexpr uint8_t kFixed[] = {0, 0x55, 0xaa, 0x11, 0x22, 0x44, 0x88, 0xff};
    core->last = here;
    core->vec.counter = false;  // the registers it leaves
    core->vec.mask[0] = mask;
    core->vec.mask[1] = 0;
    if (!core->usable(d, 0, false, here, "dst")) return 0;
    if (!bits && (pattern < 1 || pattern > 7)) {
        core->report("gather-pattern", true, here, Numbers().add("pattern", unsigned(pattern)));
        core->refuse(d, kBlock);
        return 0;
    }
    core->gathered = 0;
    uint32_t size = size_of(t), per = kBlock / size, lanes = kRepeat / size;
    uint64_t each = counter ? mask : lanes;  // elements a repeat
    if (r.times <= 0 || !each) return 0;
    uint64_t last = (each - 1) / per * r.src0_blk * kBlock + ((each - 1) % per + 1) * size;
    uint64_t sn = uint64_t(r.times - 1) * r.src0_rep * kBlock + last;
    uint64_t bn = bits ? uint64_t(r.times - 1) * r.src1_rep * kBlock + (each + 7) / 8 : 0;
    if (!core->usable(s, sn, true, here, "src0") || (bits && !core->usable(*bits, bn, true, here, "src1Pattern"))) {
        core->refuse(d, kBlock);
        return 0;
    }
    if (bits && core->checks && core->any_filled(*bits, bn) &&
        core->unwritten(bits->mem, bits->addr, bits->addr + bn)) {
        core->report_unwritten(bits->mem, bits->addr, bits->addr + bn, here, "src1Pattern");
        core->refuse(d, d.bytes);
        return 0;
    }
    core->catch_up(Pipe::V);
    const uint8_t* map = bits ? core->at(*bits) : nullptr;
    auto kept = [&](uint64_t i, uint64_t lane) {
        return (map ? map[i * r.src1_rep * kBlock + lane / 8] >> (lane % 8) : kFixed[pattern] >> (lane % 8)) & 1;
    };
    uint64_t n = 0;
    for (uint64_t i = 0; i < uint64_t(r.times); i++)
        for (uint64_t lane = 0; lane < each; lane++) n += kept(i, lane);
    uint64_t dn = n * size;
    if (!core->usable(d, dn, false, here, "dst")) {
        core->refuse(d, dn);
        return 0;
    }
    if (d.addr != s.addr && meets(d, dn, s, sn) && d.addr > s.addr)
        core->report("overlap", true, here,
                     Numbers().add("dst", d.addr).add("src", s.addr).add("bytes", (long long)dn));
    auto k = core->issue(Pipe::V, Op::GatherMask, here);
    core->book(k, s, uint32_t(sn), false);
    Loc whole = s;
    whole.bytes = uint32_t(sn);
    Dark dark(whole);
    if (bits) core->book(k, *bits, uint32_t(bn), false);
    core->book(k, d, uint32_t(dn), true);
    dark.leave(d, dn, size, [&](auto f) {
        uint64_t at = 0;
        for (uint64_t i = 0; i < uint64_t(r.times); i++)
            for (uint64_t lane = 0; lane < each; lane++)
                if (kept(i, lane))
                    f(s.addr + i * r.src0_rep * kBlock + lane / per * r.src0_blk * kBlock + lane % per * size, at),
                        at += size;
    });
    alignas(64) uint8_t run[kRepeat];
    uint8_t* to = core->at(d);
    for (uint64_t i = 0; i < uint64_t(r.times); i++)
        for (uint64_t from = 0; from < each; from += lanes) {  // read, then write: packing in place is documented
            uint32_t some = uint32_t(std::min<uint64_t>(lanes, each - from)), packed = 0;
            const uint8_t* row = core->at(s) + i * r.src0_rep * kBlock;
            for (uint32_t j = 0; j < some; j++) {
                uint64_t lane = from + j;
                if (!kept(i, lane)) continue;
                std::memcpy(run + packed, row + lane / per * r.src0_blk * kBlock + lane % per * size, size);
                packed += size;
            }
            std::memcpy(to, run, packed);
            to += packed;
        }
    uint64_t bytes = uint64_t(r.times) * repeats_for(each, lanes) * kRepeat;
    core->retire(k, cost(Op::GatherMask, t, bytes), bytes);
    core->gathered = n;
    await_vector();
    return n;
}

int64_t gathered() {
    await_vector();
    return int64_t(core->gathered);
}

// ---------------------------------------------------------------- one element a block

void broadcast_blocks(Dt t, Loc d, Loc s, const Rep& asked, Here here) {
    core->last = here;
    Rep r = asked;
    if (r.times <= 0) return;
    if (!r.dst_blk) r.dst_blk = 1;
    Shape shape = whole_blocks(r, size_of(t));
    uint64_t sn = uint64_t(r.times) * 8 * shape.size, dn = shape.extent(r.dst_blk, r.dst_rep, shape.size);
    if (!core->usable(s, sn, true, here, "src") || !core->usable(d, dn, false, here, "dst")) return core->refuse(d, dn);
    s.bytes = uint32_t(sn);
    warn_in_place(d, dn, s, uint32_t(r.times), here);
    auto k = core->issue(Pipe::V, Op::Brcb, here);
    core->book(k, s, uint32_t(sn), false);
    book_rep(k, d, shape, r.dst_blk, r.dst_rep, shape.size, true);
    std::vector<uint8_t> from(core->at(s), core->at(s) + sn);
    alignas(64) uint8_t lanes[kRepeat];
    for (uint32_t i = 0; i < uint32_t(r.times); i++) {
        for (uint32_t b = 0; b < 8; b++) {
            uint64_t bits = 0;
            std::memcpy(&bits, &from[(i * 8 + b) * shape.size], shape.size);
            math::fill(t, lanes + b * kBlock, bits, kBlock / shape.size);
        }
        scatter(core->at(d), lanes, i, r.dst_blk, r.dst_rep, shape, shape.size);
    }
    uint64_t bytes = uint64_t(r.times) * kRepeat;
    core->retire(k, cost(Op::Brcb, t, bytes), bytes);
}

}  // namespace twin
