// Operations of the scalar unit itself: single elements, its data cache, system variables.
#include <dlfcn.h>

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
    if (!write && core->checks && core->any_filled(l, size) && core->unwritten(l.mem, l.addr, l.addr + size))
        core->report_unwritten(l.mem, l.addr, l.addr + size, here, "GetValue");
    return core->at(l);
}

void* element(const Loc& l, uint32_t offset, uint32_t size, bool write, Here here) {
    Core& c = *core;
    if (l.buf) {
        const Core::Buffer& b = c.buffers[l.buf];
        if (b.settled[write] == c.issues && b.gen == l.gen && uint64_t(offset) + size <= l.bytes &&
            uint64_t(l.addr) + offset + size <= b.addr + (write ? b.len : b.whole)) {
            c.last = here;
            c.spend_scalar(size, write, here);
            if (write) c.store_scalar(l.addr + offset, size);
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

void* element(const Gm& base, uint64_t offset, uint32_t size, bool write, Here here) {
    Gm g = base;
    g.ptr += offset;
    if (!core->gm_usable(g, size, write, here, true)) return nowhere();
    uint64_t lo = uint64_t(g.ptr);
    wait_for_gm(lo, size);
    if (!write) core->note_gm_read(lo, size, size, 1, here, true, true);
    core->note_scalar_step(lo, size, write, here);
    if (write) {
        core->note_gm_write(lo, lo + size, here);
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

void does_not_fit(int64_t value, uint32_t bits, Here here) {
    if (!core) return;  // the host's own arithmetic
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

// UB through a pointer. A kernel whose source takes pointers to UB is compiled so that each of its loads and stores
// calls one of the functions at the end of this file (launch/kernel.py). The bisheng compiler orders GetValue and
// SetValue with the pipes by itself, but no access through a pointer: here such an access is one of a pipe of its own,
// which only a flag of the scalar unit or a barrier orders.
namespace twin {

static void report_raw(const char* code, void* pc, Numbers n) {
    Dl_info info{};
    bool known = dladdr(pc, &info) && info.dli_fname;
    if (known) n.add("object", info.dli_fname).add("code", uint64_t(pc) - uint64_t(info.dli_fbase) - 1);
    core->report(code, true, core->last, n);
}

void Core::raw_access(uint64_t lo, uint64_t bytes, bool write, void* pc) {
    const VectorClock& now = known[int(Pipe::S)];
    if (delayed.on) delayed.settle(now);
    const Access* other = nullptr;
    auto open = [&](const Access& a) {
        if (a.number && int(a.pipe) != kRawPipe && now.seen[int(a.pipe)] < a.number) other = &a;
        return other != nullptr;
    };
    const char* code = "race-raw";
    ub.each(lo, lo + bytes, [&](const Hazards::Cell& c) {
        if (other) return;
        if (write)
            for (const Access& r : c.reads)
                if (!other && open(r)) code = "race-war";
        if (!other && open(c.write)) code = write ? "race-waw" : "race-raw";
    });
    if (other)
        report_raw(code, pc,
                   Numbers()
                       .add("op", write ? "store through a pointer" : "load through a pointer")
                       .add("pipe", "S")
                       .add("other", name_of(other->pipe))
                       .add("other_line", other->here.line)
                       .add("memory", "UB")
                       .add("addr", lo)
                       .add("bytes", bytes)
                       .add("event", std::string(name_of(other->pipe)) + "_S"));
    else if (!write && !ub.any_written(lo, lo + bytes) && !scalar_stores.any(lo, lo + bytes))
        report_raw("uninit-local", pc,
                   Numbers().add("what", "pointer").add("memory", "UB").add("addr", lo).add("bytes", bytes));
    if (write) store_scalar(uint32_t(lo), uint32_t(bytes));
    // kept until the next instruction of a pipe; a loop's accesses are one stretch
    for (size_t i = raw_accesses.size(); i-- > 0 && i + 4 >= raw_accesses.size();) {
        RawAccess& r = raw_accesses[i];
        if (r.write != write || lo > r.hi || lo + bytes < r.lo) continue;
        r.lo = std::min(r.lo, lo);
        r.hi = std::max(r.hi, lo + bytes);
        return;
    }
    if (raw_accesses.size() < 4096) raw_accesses.push_back({lo, lo + bytes, write, last});
}

void Core::settle_raw() {
    for (const RawAccess& r : raw_accesses) {
        Access me{++issued[kRawPipe], Pipe(kRawPipe), r.here};
        VectorClock now = known[int(Pipe::S)];
        now.seen[kRawPipe] = me.number;
        if (r.write) ub.write(r.lo, r.hi, me, now);
        else ub.read(r.lo, r.hi, me, now);
    }
    raw_accesses.clear();
}

static void accessed(uint64_t address, uint64_t bytes, bool write, void* pc) {
    Core* c = core;
    if (!c || !c->checks || c->id.kind != Kind::AIV) return;
    uint64_t at = address - uint64_t(c->at(Loc{}));
    if (at < chip.size[int(Mem::UB)]) c->raw_access(at, std::min(bytes, chip.size[int(Mem::UB)] - at), write, pc);
}

}  // namespace twin

extern "C" {
#define TWIN_ACCESS(n)                                                                  \
    __attribute__((visibility("default"))) void __asan_load##n##_noabort(uint64_t a) {  \
        twin::accessed(a, n, false, __builtin_return_address(0));                       \
    }                                                                                   \
    __attribute__((visibility("default"))) void __asan_store##n##_noabort(uint64_t a) { \
        twin::accessed(a, n, true, __builtin_return_address(0));                        \
    }
TWIN_ACCESS(1)
TWIN_ACCESS(2)
TWIN_ACCESS(4)
TWIN_ACCESS(8)
TWIN_ACCESS(16)
#undef TWIN_ACCESS
__attribute__((visibility("default"))) void __asan_loadN_noabort(uint64_t a, uint64_t n) {
    twin::accessed(a, n, false, __builtin_return_address(0));
}
__attribute__((visibility("default"))) void __asan_storeN_noabort(uint64_t a, uint64_t n) {
    twin::accessed(a, n, true, __builtin_return_address(0));
}
__attribute__((visibility("default"))) void __asan_handle_no_return() {}
}
