// DataCopy and DataCopyPad between GM and a core's memories.
#include "memory/copy.h"
#include "core/l1_proxy.h"
#include "memory/atomic.h"

#include <cstring>
#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace twin {

namespace {

// The results will not be read soon: written with streaming stores, they save the read of the cache line that a normal
// store causes.
void write_through(uint8_t* to, const uint8_t* from, size_t n) {
#if defined(__AVX__)
    constexpr size_t kLine = 64, kWorth = 2048;
    if (n >= kWorth) {
        size_t head = -uintptr_t(to) % kLine;
        std::memcpy(to, from, head);
        size_t i = head;
        for (; i + kLine <= n; i += kLine)
            for (size_t j = 0; j < kLine; j += 32)
                _mm256_stream_si256((__m256i*)(to + i + j), _mm256_loadu_si256((const __m256i*)(from + i + j)));
        std::memcpy(to + i, from + i, n - i);
        return;
    }
#endif
    std::memcpy(to, from, n);
}

// The bytes that DataCopyPad writes to UB: left padding, the block, right padding, and the remainder up to 32 bytes.
// The remainder is filled with the block's first element if no padding was asked for, else with the padding value.
void pad_block(uint8_t* dst, const uint8_t* src, const Dma& d, uint32_t piece, uint64_t beside) {
    uint8_t* p = dst;
    auto put = [&](const void* v, uint32_t n) {
        for (uint32_t i = 0; i < n; i++, p += d.elem) std::memcpy(p, v, d.elem);
    };
    put(&beside, d.left);
    std::memcpy(p, src, d.len);
    p += d.len;
    put(&beside, d.right);
    uint32_t left = uint32_t(dst + piece - p);
    put(!d.left && !d.right ? (const void*)src : &beside, left / d.elem);
    std::memset(p, 0xff, size_t(dst + piece - p));
}

}  // namespace

// Between GM and a core DataCopy knows UB and L1, DataCopyPad UB alone; CANN's own functions do nothing for another
// memory. Silent where the other kind of core has it: usable() speaks of that.
bool gm_route(Mem local, bool in, const Dma& d, Here here) {
    if (local == Mem::UB || (local == Mem::L1 && !d.pad) || !has(core->id.kind, local)) return true;
    const char *there = name_of(local), *api = d.pad ? "DataCopyPad" : "DataCopy";
    core->report("copy-route", true, here,
                 Numbers().add("api", api).add("from", in ? "GM" : there).add("to", in ? there : "GM"));
    return false;
}

// Between GM and UB whole elements move, unless DataCopyPad counts bytes; L1 takes any address.
static void want_whole_elements(Gm g, Mem local, const Dma& d, Here here) {
    if (d.pad || local != Mem::UB || uint64_t(g.ptr) % d.elem == 0) return;
    core->report("gm-align", true, here, Numbers().add("off", uint64_t(g.ptr) % d.elem).add("elem", unsigned(d.elem)));
}

bool plausible(Dma& d, Here here) {
    if (d.blocks > 4095 || (d.pad && d.len > 2097151) || (d.pad && (d.left * d.elem > 32u || d.right * d.elem > 32u))) {
        core->report("copy-params", true, here,
                     Numbers()
                         .add("blocks", d.blocks)
                         .add("len", d.len)
                         .add("left", unsigned(d.left))
                         .add("right", unsigned(d.right))
                         .add("elem", unsigned(d.elem)));
        return false;
    }
    if (d.pad && d.len % d.whole)
        core->report("pad-length", true, here,
                     Numbers()
                         .add("len", d.len)
                         .add("elem", unsigned(d.whole))
                         .add("over", d.len % d.whole)
                         .add("down", d.len / d.whole * d.whole));
    if (!d.pad && d.len % 32) {
        uint32_t cut = d.len % 32;
        core->report("copy-truncated", true, here,
                     Numbers()
                         .add("bytes", d.len)
                         .add("cut", cut)
                         .add("kept", d.len - cut)
                         .add("lost", cut / d.elem)
                         .add("count", d.len / d.elem));
        core->unseen_writes = true;  // what is cut off is missing, and this says so
        d.len -= cut;
        d.src_stride = d.dst_stride = d.len;
    }
    return d.len > 0;
}

uint64_t extent(const Dma& d, uint64_t stride, uint64_t last) { return (d.blocks - 1) * stride + last; }

void book_local(const Core::Ticket& t, Loc l, const Dma& d, uint64_t stride, uint32_t piece, bool write) {
    core->book_rows(t, l, piece, stride, d.blocks, write);
}

// Streaming stores stay in the host's write buffers; the results may be read next by another thread.
void settle_writes() {
#if defined(__AVX__)
    _mm_sfence();
#endif
}

void set_pad_value(uint64_t bits) {
    core->trace.spend(chip.scalar_issue);
    core->registers.pad_value = bits;
}

void pad_wide(uint64_t bits, Here here) {
    if (!bits) return;
    core->last = here;
    core->report("pad-wide", true, here, Numbers().add("value", (long long)bits));
}

// The scalar unit's stores stay in its data cache until they are cleaned out; a transfer reads GM.
void check_stale(Gm g, uint64_t bytes, Here here) {
    uint64_t lo = uint64_t(g.ptr), stale = 0;
    Here set{nullptr, 0};
    core->cache.each_dirty(lo, lo + bytes, [&](const DataCache::Line& l, uint64_t mask) {
        stale += uint64_t(__builtin_popcountll(mask));
        if (!set.file) set = l.here;
    });
    if (!stale) return;
    Numbers n;
    n.add("set_line", set.line).add("bytes", stale);
    if (set.line < 0) n.add("set_line_in", set.file);
    core->report("gm-stale", true, here, n);
}

void copy_in(Loc dst, Gm src, const Dma& asked, Here here) {
    if (Core* owner = l1_owner_of(dst)) {
        L1Proxy proxy(owner, dst);
        return copy_in(dst, src, asked, here);
    }
    Dma d = asked;
    core->last = here;
    if (!moves(d)) return core->note_empty(dst, d, here);
    if ((dst.pos < kNowhere && !gm_route(dst.mem, true, d, here)) || !plausible(d, here))
        return core->refuse(dst, dst.bytes);
    uint32_t piece = d.pad ? (d.len + (d.left + d.right) * d.elem + 31) / 32 * 32 : d.len;
    if (!core->usable(dst, extent(d, d.dst_stride, piece), false, here, "dst") ||
        !core->gm_usable(src, extent(d, d.src_stride, d.len), false, here, d.pad))
        return core->refuse(dst, extent(d, d.dst_stride, piece));
    want_whole_elements(src, dst.mem, d, here);
    core->settle_exposed();
    if (!core->cache.empty()) check_stale(src, extent(d, d.src_stride, d.len), here);
    auto t = core->issue(Pipe::MTE2, Op::CopyIn, here);
    if (d.src_stride == d.len) core->book_gm(t, src.ptr, uint64_t(d.blocks) * d.len, false);
    else
        for (uint32_t b = 0; b < d.blocks; b++) core->book_gm(t, src.ptr + b * d.src_stride, d.len, false);
    core->note_gm_read(uint64_t(src.ptr), d.len, d.src_stride, d.blocks, here, d.pad);
    book_local(t, dst, d, d.dst_stride, piece, true);
    if (d.fill) core->registers.pad_value = d.value;  // the padding value goes through the same register
    core->perform(t, [=, to = core->at(dst), beside = core->registers.pad_value] {
        for (uint32_t b = 0; b < d.blocks; b++) {
            if (d.pad) pad_block(to + b * d.dst_stride, src.ptr + b * d.src_stride, d, piece, beside);
            else std::memcpy(to + b * d.dst_stride, src.ptr + b * d.src_stride, d.len);
        }
    });
    uint64_t bytes = uint64_t(d.blocks) * d.len;
    core->retire(t, {uint64_t(src.ptr), d.src_stride, d.src_stride == d.len ? uint32_t(bytes) : d.len,
                     d.src_stride == d.len ? 1 : d.blocks, dst.mem == Mem::L1 ? Route::ToL1 : Route::ToUb, false,
                     src.l2_bypass});
}

void copy_out(Gm dst, Loc src, const Dma& asked, Here here) {
    Dma d = asked;
    core->last = here;
    if (!moves(d)) return core->note_empty(dst, src, d, here);
    if ((src.pos < kNowhere && !gm_route(src.mem, false, d, here)) || !plausible(d, here) ||
        !core->usable(src, extent(d, d.src_stride, d.len), true, here, "src") ||
        !core->gm_usable(dst, extent(d, d.dst_stride, d.len), true, here, d.pad))
        return core->skip();
    want_whole_elements(dst, src.mem, d, here);
    AtomicMode atomic = core->registers.atomic;
    if (atomic) check_atomic(dst, extent(d, d.dst_stride, d.len), d.type, here);
    auto t = core->issue(Pipe::MTE3, Op::CopyOut, here);
    book_local(t, src, d, d.src_stride, d.len, false);
    const uint8_t* from = core->at(src);
    if (d.dst_stride == d.len && (d.src_stride == d.len || d.blocks == 1))
        core->book_gm(t, dst.ptr, uint64_t(d.blocks) * d.len, true, from);
    else
        for (uint32_t b = 0; b < d.blocks; b++)
            core->book_gm(t, dst.ptr + b * d.dst_stride, d.len, true, from + b * d.src_stride);
    if (core->instruction.partial()) core->note_stored(d.pad, dst.ptr, d.dst_stride);
    core->perform(t, [=] {
        for (uint32_t b = 0; b < d.blocks; b++) {
            uint8_t* to = dst.ptr + b * d.dst_stride;
            if (atomic) atomic_store(atomic, to, from + b * d.src_stride, d.len);
            else write_through(to, from + b * d.src_stride, d.len);
        }
    });
    uint64_t bytes = uint64_t(d.blocks) * d.len;
    core->retire(t, {uint64_t(dst.ptr), d.dst_stride, d.dst_stride == d.len ? uint32_t(bytes) : d.len,
                     d.dst_stride == d.len ? 1 : d.blocks, Route::FromUb, true, dst.l2_bypass});
}

}  // namespace twin
