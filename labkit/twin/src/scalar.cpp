// What the scalar unit does itself: single elements, printing, assertions, system variables.
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "machine.h"

namespace twin {

static void* nowhere() {  // what a refused access reads and writes
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
        if (b.settled[write] == c.issues && b.gen == l.gen && uint64_t(offset) + size <= l.bytes && uint64_t(l.addr) + offset + size <= b.addr + b.len) {
            c.last = here;
            c.spend_scalar(size, here);
            return c.at(l) + offset;
        }
    }
    return element_checked(l, offset, size, write, here);
}

// The compiler puts the scalar unit's reads and writes of GM in order with the transfers of its own core.
static void wait_for_gm(uint64_t lo, uint32_t size) {
    Clock& s = core->known[0];
    core->gm.each(lo, lo + size, [&](const Hazards::Cell& c) {
        if (s.seen[int(c.write.pipe)] >= c.write.number) return;
        s.join(core->known[int(c.write.pipe)]);
        core->scalar_now = std::max(core->scalar_now, core->free_at[int(c.write.pipe)]);
    });
    if (core->late.on) core->late.settle(s);
    core->instructions++;
    core->scalar_now += chip.scalar_gm;
    core->busy[0] += chip.scalar_gm;
}

void* element(const Gm& base, uint64_t offset, uint32_t size, bool write, Here here) {
    Gm g = base;
    g.ptr += offset;
    if (!core->gm_usable(g, size, write, here, true)) return nowhere();
    uint64_t lo = uint64_t(g.ptr);
    wait_for_gm(lo, size);
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
    return element_checked(base, uint32_t(offset), size, true, here);  // a write as far as order goes: it waits for more
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
    core->scalar_now += chip.scalar_gm;
    core->busy[0] += chip.scalar_gm;
    if (whole) core->cache.clean_all();
    else core->cache.clean_line(uint64_t(line));
    let_others_play();  // whoever cleans its cache may be waiting for what another core writes
}
void preload(const void*, int64_t, Here here) {
    core->last = here;
    core->scalar_now += chip.scalar_issue;
}

int64_t block_idx() { return core->seat.kind == Kind::AIV ? core->block * core->seat.subs + core->seat.sub : core->block; }
int64_t core_idx() { return core->block; }
int64_t sub_block_idx() { return core->seat.sub; }
int64_t sub_block_num() { return core->seat.subs; }
void*& current_pipe() { return core->pipe; }
int64_t block_num() { return core->seat.blocks; }
int64_t cycles() { return int64_t(core->scalar_now / chip.hz * 50e6); }  // GetSystemCycle ticks at 50 MHz on A2

static constexpr size_t kMostOutput = 64 << 10;

static void print(const std::string& text) {
    if (core->output.size() > kMostOutput) return;
    size_t from = 0;
    while (from < text.size()) {
        size_t to = text.find('\n', from);
        if (core->output.empty() || core->output.back() == '\n') core->output += "[block " + std::to_string(core->block) + "] ";
        core->output += text.substr(from, to == std::string::npos ? to : to - from + 1);
        if (to == std::string::npos) break;
        from = to + 1;
    }
    if (core->output.size() > kMostOutput) core->output += "\n... (output cut here)\n";
}

void say(const char* fmt, ...) {
    char text[1024];
    va_list args;
    va_start(args, fmt);
    std::vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    print(text);
}

static std::string element(Dt t, const uint8_t* p) {
    char text[32];
    switch (t) {
        case Dt::F16: case Dt::BF16: {
            uint16_t h;
            std::memcpy(&h, p, 2);
            uint32_t u = uint32_t(h) << 16;
            float f;
            std::memcpy(&f, &u, 4);
            std::snprintf(text, sizeof text, "%g", double(t == Dt::F16 ? half_to_float(h) : f));
            return text;
        }
        case Dt::F32: {
            float f;
            std::memcpy(&f, p, 4);
            std::snprintf(text, sizeof text, "%g", double(f));
            return text;
        }
        default: break;
    }
    uint64_t u = 0;
    std::memcpy(&u, p, size_of(t));
    bool is_signed = t == Dt::I8 || t == Dt::I16 || t == Dt::I32 || t == Dt::I64;
    int unused = 64 - int(size_of(t)) * 8;
    return is_signed ? std::to_string(int64_t(u << unused) >> unused) : std::to_string(u);
}

static void dump_bytes(Dt t, const char* where, const uint8_t* p, uint32_t desc, uint32_t n, Here here) {
    std::string text = "DumpTensor desc=" + std::to_string(desc) + " line " + std::to_string(here.line) + " " + where + " " + name_of(t) + "[" + std::to_string(n) + "]:";
    for (uint32_t i = 0; i < n; i++) text += (i % 16 ? " " : "\n  ") + element(t, p + i * size_of(t));
    print(text + "\n");
}

void dump(Dt t, Loc l, uint32_t desc, uint32_t n, Here here) {
    if (!core->usable(l, uint64_t(n) * size_of(t), true, here, "DumpTensor", 1)) return;
    core->touch_scalar(l, n * size_of(t), false, here);
    dump_bytes(t, "UB", core->at(l), desc, n, here);
}
void dump(Dt t, Gm g, uint32_t desc, uint32_t n, Here here) {
    if (!core->gm_usable(g, uint64_t(n) * size_of(t), false, here, true)) return;
    dump_bytes(t, "GM", g.ptr, desc, n, here);
}

void fail_assert(const char* expr, const char*, Here here) { core->stop("assert", here, Numbers().add("expr", expr)); }

}  // namespace twin
