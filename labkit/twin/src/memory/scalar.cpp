// Operations of the scalar unit itself: single elements, its data cache, system variables.
#include "core/machine.h"

namespace twin {

static void* nowhere() {  // memory for refused accesses
    static thread_local uint64_t place;
    place = ~0ull;
    return &place;
}

static void* element_checked(Loc l, uint32_t offset, uint32_t size, bool write, Here here) {
    l.addr += offset;
    l.bytes = offset < l.bytes ? l.bytes - offset : 0;
    if (!core->usable(l, size, !write, here, write ? "SetValue" : "GetValue", 1)) return nowhere();
    core->touch_scalar(l, size, write, here);
    if (write && l.mem == Mem::UB && !l.buf && !core->ub.any_written(l.addr, l.addr + size)) {
        // An unmanaged tensor becomes "written" here; ordered with everything, so it can never be part of a race.
        Access me{++core->issued[0], Pipe::S, here};
        core->known[0].seen[0] = me.number;
        core->ub.write(l.addr / 32 * 32, l.addr / 32 * 32 + 32, me, core->known[0]);
    }
    return core->at(l);
}

void* element(const Loc& l, uint32_t offset, uint32_t size, bool write, Here here) {
    Core& c = *core;
    if (l.buf) {
        const Core::Buffer& b = c.buffers[l.buf];
        if (b.settled[write] == c.issues && b.gen == l.gen && uint64_t(offset) + size <= l.bytes &&
            uint64_t(l.addr) + offset + size <= b.addr + b.len) {
            c.last = here;
            c.spend_scalar(size, write, here);
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
    uint64_t lo = uint64_t(g.ptr);
    wait_for_gm(lo, size);
    if (!write) core->note_gm_read(lo, size, size, 1, here, true, true);
    if (write) {
        core->note_gm_write(lo, lo + size, here, false, static_cast<const uint8_t*>(value));
        if (core->checks) core->cache.wrote(lo, lo + size, here);
    }
    return g.ptr;
}

void* place(const Loc& base, uint64_t offset, uint32_t size, Here here) {
    Loc l = base;
    l.addr += uint32_t(offset);
    l.bytes = offset < base.bytes ? uint32_t(base.bytes - offset) : 0;
    if (!core->usable(l, size, false, here, "operator()", 1)) return nowhere();
    return element_checked(base, uint32_t(offset), size, true, here);  // ordered like a write, which waits for more
}

void* place(const Gm& base, uint64_t offset, uint32_t size, Here here) {
    Gm g = base;
    g.ptr += offset;
    if (!core->gm_usable(g, size, true, here, true)) return nowhere();
    wait_for_gm(uint64_t(g.ptr), size);
    return g.ptr;
}

void clean_cache(const uint8_t* line, bool whole, Here here) {
    core->last = here;
    core->trace.spend(chip.scalar_gm);
    if (whole) core->cache.clean_all();
    else core->cache.clean_line(uint64_t(line));
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
