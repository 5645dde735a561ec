// Operations of the scalar unit itself: single elements, its data cache, system variables.
#include <dlfcn.h>

#include "core/machine.h"

namespace twin {

static void* nowhere() {  // memory for refused accesses
    core->skip();
    static thread_local uint64_t place;
    place = ~0ull;
    return &place;
}

static void* element_checked(Loc l, uint64_t offset, uint32_t size, bool write, Here here) {
    l.addr += uint32_t(offset);
    l.bytes = offset < l.bytes ? uint32_t(l.bytes - offset) : 0;  // an index times its size may be beyond 32 bits
    if (!core->usable(l, size, !write, here, write ? "SetValue" : "GetValue", 1)) return nowhere();
    core->check_stack(here);
    core->touch_scalar(l, size, write, here);
    if (!write && core->checks && core->any_filled(l, size) && core->unwritten(l.mem, l.addr, l.addr + size))
        core->report_unwritten(l.mem, l.addr, l.addr + size, here, "GetValue");
    core->granted = uint64_t(core->at(l));
    return core->at(l);
}

void* element(const Loc& l, uint64_t offset, uint32_t size, bool write, Here here) {
    Core& c = *core;
    if (l.buf) {
        const Core::Buffer& b = c.buffers[l.buf];
        if (b.settled[write] == c.issues && b.gen == l.gen && offset + size <= l.bytes &&
            uint64_t(l.addr) + offset + size <= b.addr + (write ? b.len : b.whole)) {
            c.last = here;
            c.spend_scalar(size, write, here);
            if (write) c.store_scalar(uint32_t(l.addr + offset), size);
            c.granted = uint64_t(c.at(l) + offset);
            return c.at(l) + offset;
        }
    }
    return element_checked(l, offset, size, write, here);
}

// The compiler orders the scalar unit's accesses to GM with the transfers of its own core.
static void wait_for_gm(uint64_t lo, uint32_t size) {
    VectorClock& s = core->known[0];
    core->gm.each(lo, lo + size, [&](const Hazards::Cell& c) {
        if (s.seen[int(c.write.pipe)] >= c.write.number) return;
        s.join(core->known[int(c.write.pipe)]);
        core->trace.await(Pipe::S, core->trace.mark(c.write.pipe));
    });
    if (core->delayed.on) core->delayed.settle(s);
    core->instructions++;
    core->trace.spend(chip.scalar_gm);
}

// value: what a store is going to write, so that two blocks that store the same are known to.
void* element(const Gm& base, uint64_t offset, uint32_t size, bool write, Here here, const void* value) {
    Gm g = base;
    g.ptr += offset;
    if (!core->gm_usable(g, size, write, here, true)) return nowhere();
    core->check_stack(here);
    uint64_t lo = uint64_t(g.ptr);
    wait_for_gm(lo, size);
    if (!write) {
        core->look_at_left(lo, lo + size);
        core->note_gm_read(lo, size, size, 1, here, true, true);
    }
    core->note_scalar_step(lo, size, write, here);
    if (write) core->note_gm_write(lo, lo + size, here, false, static_cast<const uint8_t*>(value));
    return core->cached(lo, size, write, here);
}

void* past_cache(const uint8_t* at, uint32_t size, bool write, Here here) {
    Gm g;
    g.ptr = const_cast<uint8_t*>(at);
    g.base = g.ptr;
    uint64_t lo = uint64_t(at);
    if (!core->gm_usable(g, size, write, here, true)) return nowhere();
    core->settle_exposed();
    wait_for_gm(lo, size);
    if (write) core->note_gm_write(lo, lo + size, here);
    else core->note_gm_read(lo, size, size, 1, here, true, true);
    core->granted = lo;
    return g.ptr;
}

void* place(const Loc& base, uint64_t offset, uint32_t size, Here here) {
    Loc l = base;
    l.addr += uint32_t(offset);
    l.bytes = offset < base.bytes ? uint32_t(base.bytes - offset) : 0;
    if (!core->usable(l, size, false, here, "operator()", 1)) return nowhere();
    return element_checked(base, offset, size, true, here);  // ordered like a write, which waits for more
}

void* place(const Gm& base, uint64_t offset, uint32_t size, Here here) {
    Gm g = base;
    g.ptr += offset;
    if (!core->gm_usable(g, size, true, here, true)) return nowhere();
    wait_for_gm(uint64_t(g.ptr), size);
    core->expose(uint64_t(g.ptr), size, here);
    core->granted = uint64_t(g.ptr);
    return g.ptr;
}

void does_not_fit(int64_t value, uint32_t bits, Here here) {
    if (!core || !core->checks) return;  // without a core: the host's own arithmetic
    core->last = here;
    core->report("param-wrap", true, here,
                 Numbers()
                     .add("value", (long long)value)
                     .add("bits", bits)
                     .add("most", (1u << bits) - 1)
                     .add("kept", uint32_t(value) & ((1u << bits) - 1)));
}

void clean_cache(const uint8_t* line, bool whole, Here here) {
    core->last = here;
    core->trace.spend(chip.scalar_gm);
    core->clean(line, whole);
    let_others_run();  // a core that cleans its cache may be polling for another core's write
}
void preload(const void*, int64_t, Here here) {
    core->last = here;
    core->trace.spend(chip.scalar_issue);
}

int64_t block_idx() { return core->id.kind == Kind::AIV ? core->block * core->id.subs + core->id.sub : core->block; }
int64_t core_idx() { return core->block; }
int64_t sub_block_idx() { return core->id.sub; }
int64_t sub_block_num() { return core->id.subs; }
void*& current_pipe() { return core->pipe; }
int64_t block_num() { return core->id.blocks; }

}  // namespace twin
