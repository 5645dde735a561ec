// The scalar unit and GM: its data cache, references and raw pointers to GM.
#include <dlfcn.h>

#include <mutex>
#include <unordered_map>

#include "launch/core_group.h"

namespace twin {

// The value of an address that no GlobalTensor names, for findings: the library and, below zero, the place in it. The
// program that shows the finding looks the line up.
static Here here_of(void* pc) {
    static std::mutex lock;
    static std::unordered_map<void*, Here> known;
    std::lock_guard<std::mutex> hold(lock);
    auto [entry, anew] = known.try_emplace(pc, Here{nullptr, 0});
    Dl_info info{};
    if (anew && dladdr(pc, &info) && info.dli_fname)
        entry->second = {info.dli_fname, -int(uint64_t(pc) - 1 - uint64_t(info.dli_fbase))};
    return entry->second;
}

uint8_t* Core::cached(uint64_t lo, uint32_t size, bool write, Here here) {
    uint8_t* gm = reinterpret_cast<uint8_t*>(lo);
    settle_exposed();
    granted = lo;
    if ((!checks && !cache.keeps) || lo / DataCache::kLine != (lo + size - 1) / DataCache::kLine) return gm;
    DataCache::Line& l = cache.fetch(lo, phase);
    uint64_t bytes = DataCache::mask(l.at, lo, lo + size);
    uint8_t* held = l.bytes + (lo - l.at);
    if (!l.copied) {
        std::memcpy(l.bytes, reinterpret_cast<const void*>(l.at), DataCache::kLine);
        l.copied = true;
        if (!write) check_dirty_elsewhere(lo, lo + size, here);
        if (cache.keeps && id.blocks * (id.mixed ? 2 : 1) > 1) give_way();  // others may load the same line
    } else if (!write && checks && !(bytes & l.dirty) && std::memcmp(held, gm, size) != 0) {
        report("gm-old", true, here, Numbers().add("bytes", size));
        if (!cache.keeps) std::memcpy(held, gm, size);
    }
    if (write) cache.wrote(lo, lo + size, phase, ordered, here);
    return cache.keeps ? held : gm;
}

// Such accesses go to GM itself: the compiler may move a load before the call that announces it. Under a schedule that
// keeps lines, what this core has stored is put there first; of a reference, the line is written back whole all the
// same.
void Core::expose(uint64_t lo, uint32_t size, Here here) {
    settle_exposed();
    uint64_t end = lo + size;
    auto each = [&](auto f) {
        for (uint64_t at = lo, to; at < end; at = to) {
            to = std::min(end, at / DataCache::kLine * DataCache::kLine + DataCache::kLine);
            f(at, uint32_t(to - at));
        }
    };
    if (cache.keeps)
        each([&](uint64_t at, uint32_t some) {
            cached(at, some, false, here);
            DataCache::Line* l = cache.held(at);
            if (!l) return;
            if (l->dirty && l->copied) DataCache::copy(reinterpret_cast<uint8_t*>(l->at), l->bytes, l->dirty);
            // the compiler announces only the first of several accesses to a place: what else it stores is in GM alone
            if (here.line < 0) l->copied = false;
        });
    each([&](uint64_t at, uint32_t some) {
        Exposed e{at, some, here, {}};
        std::memcpy(e.old, reinterpret_cast<const void*>(at), some);
        exposed_.push_back(e);
    });
}

void Core::settle_exposed() {
    if (exposed_.empty()) return;
    auto all = std::move(exposed_);
    exposed_.clear();
    for (const Exposed& e : all) {
        const uint8_t* gm = reinterpret_cast<const uint8_t*>(e.lo);
        if (std::memcmp(e.old, gm, e.size) == 0) continue;
        note_gm_write(e.lo, e.lo + e.size, e.here);
        if (!checks && !cache.keeps) continue;
        cache.wrote(e.lo, e.lo + e.size, phase, ordered, e.here);
        DataCache::Line* line = cache.keeps ? cache.held(e.lo) : nullptr;
        if (line && line->copied) std::memcpy(line->bytes + (e.lo - line->at), gm, e.size);
    }
}

void Core::clean(const uint8_t* line, bool whole) {
    settle_exposed();
    publish();
    if (whole) cache.clean_all(phase);
    else cache.clean_line(uint64_t(line), phase);
    if (group && !cache.retracted.empty()) group->retract(*this, cache.retracted);
    cache.retracted.clear();
}

void Core::publish() {
    settle_exposed();
    look_at_all_left();
    if (!group || !cache.unpublished) return;
    cache.each([&](DataCache::Line& l) {
        if (!l.dirty || l.published) return;
        group->publish(*this, l);
        l.published = true;
    });
    cache.unpublished = 0;
}

// What another core's scalar unit has stored, and this core has been told that it is there.
void Core::check_dirty_elsewhere(uint64_t lo, uint64_t hi, Here here) {
    if (!checks || !group || !group->dirty_lines) return;
    CoreGroup::DirtyLine d;
    uint64_t bytes = group->dirty_elsewhere(*this, lo, hi, d);
    if (!bytes || (phase <= d.phase && !ordered)) return;
    Numbers n;
    n.add("bytes", bytes).add("set_line", d.here.line).add("writer", d.block);
    if (d.here.line < 0) n.add("set_line_in", d.here.file);
    report("gm-dirty", true, here, n);
}

void Core::check_stack(Here here) {
    if (this != core) return;  // a vector core that gives its cube core an instruction stands on its own stack
    uint64_t used = stack_from - uint64_t(__builtin_frame_address(0));
    if (used <= kStack || stack_reported || used > 1ull << 30) return;
    stack_reported = true;
    report("stack", true, here, Numbers().add("used", used / 1024 * 1024).add("limit", kStack));
}

// Whether a fault lies where the host's stack has ended and a function's frame goes on: the bytes that the kernel wants
// of it, else 0.
uint64_t Core::past_stack(uint64_t fault, uint64_t pointer) const {
    constexpr uint64_t kPage = 4096, kHost = 1 << 20;  // of a fiber, less what stands on it before the kernel
    uint64_t end = stack_from - kHost + kPage;
    return pointer && fault < end && pointer < end + kPage && fault + kPage >= pointer ? stack_from - pointer : 0;
}

// ---------------------------------------------------------------- raw pointers
// The compiler calls these before each access through a pointer in the kernel's own code (-fsanitize=kernel-address,
// see labkit/build/compiler.py).

uint64_t device_from = 0, device_bytes = 0;
constexpr uint64_t kAround = 1 << 20;  // what misses the device's memory by less is meant for it

static void accessed(uint64_t at, uint64_t size, bool write, void* pc) {
    Core& c = *core;
    if (at == c.granted) {
        c.granted = 0;
        return;
    }
    Here here = here_of(pc);
    c.check_stack(here);
    const GmRange *home = nullptr, *near = nullptr;
    for (size_t i = 0; c.ranges && i < c.ranges->size(); i++) {
        const GmRange& r = (*c.ranges)[i];
        if (at >= r.lo && at + size <= r.hi) home = &r;
        auto apart = [&](const GmRange& t) { return at < t.lo ? t.lo - at : at < t.hi ? 0 : at - t.hi + 1; };
        if (!near || apart(r) < apart(*near)) near = &r;
    }
    if (!home && !constant_data(at, at + size)) {
        if (c.checks)
            c.report("gm-pointer", true, here,
                     Numbers()
                         .add("verb", write ? "write" : "read")
                         .add("bytes", size)
                         .add("argument", near ? near->argument : -1)
                         .add("size", near ? near->hi - near->lo : 0)
                         .add("offset", near ? int64_t(at - near->lo) : 0));
        return;
    }
    if (!c.checks && !c.cache.keeps) return;
    if (!write) c.check_dirty_elsewhere(at, at + size, here);
    if (c.cache.keeps) return c.expose(at, uint32_t(size), here);
    c.settle_exposed();
    if (!write) return;
    c.note_gm_write(at, at + size, here);
    c.cache.wrote(at, at + size, c.phase, c.ordered, here);
}

}  // namespace twin

#define TWIN_ACCESS(at, size, write)                                                                         \
    do {                                                                                                     \
        if ((at) - twin::device_from + twin::kAround < twin::device_bytes + 2 * twin::kAround && twin::core) \
            twin::accessed((at), (size), (write), __builtin_return_address(0));                              \
        else if (twin::ub_pointers && twin::core)                                                            \
            twin::ub_accessed((at), (size), (write), __builtin_return_address(0));                           \
    } while (0)
#define TWIN_SIZES(X) X(1) X(2) X(4) X(8) X(16)
#define X(n)                                                                     \
    void __asan_load##n##_noabort(uint64_t at) { TWIN_ACCESS(at, n##u, false); } \
    void __asan_store##n##_noabort(uint64_t at) { TWIN_ACCESS(at, n##u, true); }
extern "C" {
TWIN_SIZES(X)
void __asan_loadN_noabort(uint64_t at, uint64_t size) { TWIN_ACCESS(at, size, false); }
void __asan_storeN_noabort(uint64_t at, uint64_t size) { TWIN_ACCESS(at, size, true); }
void __asan_handle_no_return() {}
void __asan_before_dynamic_init(const char*) {}
void __asan_after_dynamic_init() {}
}
#undef X
