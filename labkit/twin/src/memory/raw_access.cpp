// UB through a pointer: the loads and stores of a source that takes pointers to UB, as scalar_gm.cpp hears of them. The
// bisheng compiler orders GetValue and SetValue with the pipes by itself, but no access through a pointer: here such an
// access is one of a pipe of its own, which only a flag of the scalar unit or a barrier orders.
#include <dlfcn.h>

#include <set>

#include "core/machine.h"

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
        if (disputes()) settle_disputed(at({}) + r.lo, r.hi - r.lo, r.write);
        if (r.write) ub.write(r.lo, r.hi, me, now);
        else ub.read(r.lo, r.hi, me, now);
    }
    raw_accesses.clear();
}

void ub_accessed(uint64_t address, uint64_t bytes, bool write, void* pc) {
    Core* c = core;
    if (address == c->granted) {
        c->granted = 0;
        return;
    }
    if (!c->checks || c->id.kind != Kind::AIV) return;
    uint64_t at = address - uint64_t(c->at(Loc{}));
    if (at < chip.size[int(Mem::UB)]) c->raw_access(at, std::min(bytes, chip.size[int(Mem::UB)] - at), write, pc);
}

// The libraries of sources that take pointers to UB, by where they begin; filled by their static constructors.
static std::set<const void*>& watched() {
    static std::set<const void*> all;
    return all;
}
static const void* library_of(const void* place) {
    Dl_info info{};
    return dladdr(place, &info) ? info.dli_fbase : nullptr;
}
bool watch_ub_pointers(const void* place) { return watched().insert(library_of(place)).second; }
bool watches_ub_pointers(const void* code) { return watched().count(library_of(code)) > 0; }
std::atomic<bool> ub_pointers{false};

}  // namespace twin
