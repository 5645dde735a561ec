// Copies between the memories of one core. Source and destination memory determine the unit of a block and the pipe.
#include <algorithm>
#include <cstring>

#include "memory/copy.h"
#include "twin/memory/copy.h"

namespace twin {

namespace {

struct LocalRoute {
    Pipe pipe;
    uint32_t unit;   // of a block's length and of the gap at the destination, in bytes
    uint32_t align;  // of the destination
};

// false: this chip has no such route.
bool route_of(Mem d, Mem s, LocalRoute& r) {
    if (s == Mem::UB && d == Mem::UB) r = {Pipe::V, 32, 32};
    else if (s == Mem::L1 && d == Mem::BT) r = {Pipe::MTE1, 64, 64};
    else if (s == Mem::L1 && d == Mem::FB) r = {Pipe::FIX, 128, 64};
    else return false;
    return true;
}

// Whether a block is written over bytes that are still to be read: of its own source's end, or of a later block.
bool reads_own(Loc dst, Loc src, const Dma& d) {
    if (dst.addr + extent(d, d.dst_stride, d.len) <= src.addr || src.addr + extent(d, d.src_stride, d.len) <= dst.addr)
        return false;
    for (uint64_t i = 0; i < d.blocks; i++) {
        uint64_t lo = dst.addr + i * d.dst_stride, from = src.addr + i * d.src_stride;
        if (lo > from && lo < from + d.len) return true;
        uint64_t next = i + 1 < d.blocks && lo + d.len > from + d.src_stride
                            ? std::min<uint64_t>((lo + d.len - 1 - src.addr) / d.src_stride, d.blocks - 1)
                            : i;  // the last block that begins before the end of what is written
        if (next > i && src.addr + next * d.src_stride + d.len > lo) return true;
    }
    return false;
}

void move(Loc dst, Loc src, Dma d, LocalRoute r, Here here) {
    if (!moves(d)) return core->note_empty(dst, d, here);
    if (!plausible(d, here)) return core->refuse(dst, d.len);
    uint64_t dn = extent(d, d.dst_stride, d.len);
    if (!core->usable(src, extent(d, d.src_stride, d.len), true, here, "src") ||
        !core->usable(dst, dn, false, here, "dst", r.align))
        return core->refuse(dst, dn);
    if (dst.mem == src.mem && reads_own(dst, src, d))
        core->report("overlap", true, here, Numbers().add("dst", dst.addr).add("src", src.addr).add("bytes", dn));
    auto t = core->issue(r.pipe, Op::Copy, here);
    book_local(t, src, d, d.src_stride, d.len, false);
    book_local(t, dst, d, d.dst_stride, d.len, true);
    auto effect = [=, to = core->at(dst), from = (const uint8_t*)core->at(src)] {
        for (uint32_t b = 0; b < d.blocks; b++) std::memmove(to + b * d.dst_stride, from + b * d.src_stride, d.len);
    };
    if (r.pipe == Pipe::V) effect();
    else core->perform(t, effect);
    uint64_t bytes = uint64_t(d.blocks) * d.len;
    const auto& path = dst.mem == Mem::BT ? chip.to_bt : chip.to_fb;
    core->retire(t,
                 r.pipe == Pipe::V
                     ? chip.vector_startup + double((bytes + 255) / 256) * chip.per_repeat[int(Op::Copy)][int(Dt::U32)]
                     : std::max(path.floor, path.start + double(bytes) / path.rate),
                 bytes);
}

bool known_route(Loc dst, Loc src, LocalRoute& r, Here here) {
    core->last = here;
    if (src.pos >= kNowhere || dst.pos >= kNowhere) {
        core->report("tensor-empty", true, here, Numbers().add("what", src.pos >= kNowhere ? "src" : "dst"));
        return false;
    }
    if (core->id.mixed && !has(core->id.kind, src.mem)) return false;  // the other kind of core does it
    if (route_of(dst.mem, src.mem, r)) return true;
    core->report("copy-route", true, here,
                 Numbers().add("api", "DataCopy").add("from", name_of(src.mem)).add("to", name_of(dst.mem)));
    core->unseen_writes = true;  // what it would have filled is not to be reported again
    return false;
}

}  // namespace

void copy_blocks(Loc dst, Loc src, uint32_t count, uint32_t len, uint32_t src_gap, uint32_t dst_gap, Here here) {
    LocalRoute r;
    if (!known_route(dst, src, r, here)) return;
    Dma d;
    d.blocks = count;
    d.len = len * r.unit;
    d.src_stride = d.len + src_gap * 32u;
    d.dst_stride = d.len + dst_gap * r.unit;
    move(dst, src, d, r, here);
}

void copy_refused(Loc dst, Loc src, Here here) {
    core->last = here;
    if (core->id.mixed && !has(core->id.kind, src.mem)) return;
    core->report("copy-route", true, here,
                 Numbers().add("api", "DataCopy").add("from", name_of(src.mem)).add("to", name_of(dst.mem)));
    core->unseen_writes = true;
}

void copy_count(Loc dst, Loc src, uint64_t bytes, uint8_t elem, Here here) {
    LocalRoute r;
    if (!known_route(dst, src, r, here)) return;
    Dma d;
    bytes = std::min(bytes, kMostBytes);
    d.elem = elem;
    d.len = uint32_t(bytes / r.unit * r.unit + (r.unit == 32 ? bytes % 32 : 0));
    if (uint32_t cut = uint32_t(bytes - d.len)) {
        core->report("copy-unit", true, here,
                     Numbers().add("to", name_of(dst.mem)).add("unit", r.unit).add("bytes", bytes).add("cut", cut));
        core->unseen_writes = true;  // what is cut off is missing, and this says so
    }
    d.src_stride = d.dst_stride = d.len;
    move(dst, src, d, r, here);
}

}  // namespace twin
