#include "core/gm_writes.h"

#include <algorithm>
#include <cstring>

#include "core/machine.h"

namespace twin {

static uint64_t sample(const uint8_t* from, uint64_t bytes) {
    uint64_t h = bytes * 0x9e3779b97f4a7c15ull;
    auto mix = [&](uint64_t at) {
        uint64_t word = 0;
        std::memcpy(&word, from + at, std::min<uint64_t>(8, bytes - at));
        h = (h ^ word) * 0xff51afd7ed558ccdull;
        h ^= h >> 32;
    };
    for (int i = 0; i < 8; i++) mix(bytes * uint64_t(i) / 8);
    return h;
}

void GmWrite::values(const uint8_t* from, uint64_t bytes) {
    known = from != nullptr;
    if (!known) return;
    uint64_t n = std::min<uint64_t>(kEdge, bytes);
    stamp = sample(from, bytes);
    std::memcpy(head, from, n);
    std::memcpy(tail + kEdge - n, from + bytes - n, n);
}

void GmWrite::append(uint64_t to, const uint8_t* from, uint64_t bytes) {
    uint64_t before = hi - lo;
    hi = to;
    known = known && from;
    if (!known) return;
    stamp = stamp * 31 + sample(from, bytes);
    if (before < kEdge) std::memcpy(head + before, from, std::min(kEdge - before, bytes));
    uint64_t n = std::min<uint64_t>(kEdge, bytes);
    std::memmove(tail, tail + n, kEdge - n);
    std::memcpy(tail + kEdge - n, from + bytes - n, n);
}

bool GmWrite::same_values(const GmWrite& o) const {
    if (!known || !o.known) return false;
    if (lo == o.lo && hi == o.hi) return stamp == o.stamp;
    uint64_t from = std::max(lo, o.lo), to = std::min(hi, o.hi), n = to - from;
    auto edge = [&](const GmWrite& w) -> const uint8_t* {  // the compared bytes, if the head or the tail contains them
        if (to <= w.lo + kEdge) return w.head + (from - w.lo);
        if (from + kEdge >= w.hi) return w.tail + kEdge - (w.hi - from);
        return nullptr;
    };
    const uint8_t *a = edge(*this), *b = edge(o);
    return a && b && std::memcmp(a, b, n) == 0;
}

void Core::note_gm_write(uint64_t lo, uint64_t hi, Here here, bool atomic, const uint8_t* from) {
    if (!atomic && !gm_left.empty()) gm_left.fill(lo, hi);
    GmWrite* w = gm_writes.empty() ? nullptr : &gm_writes.back();
    if (w && w->hi == lo && w->line == here.line && w->phase == phase && w->ordered == far && w->atomic == atomic)
        return w->append(hi, from, hi - lo);
    // A loop that stores to the same place repeatedly keeps one entry, so that memory stays bounded.
    uint32_t& recent = recent_writes[(lo >> 5 ^ uint64_t(here.line)) % recent_writes.size()];
    if (recent < gm_writes.size()) {
        GmWrite& r = gm_writes[recent];
        if (r.lo == lo && r.hi == hi && r.line == here.line && r.phase == phase && r.ordered == far &&
            r.atomic == atomic)
            return r.values(from, hi - lo);
    }
    recent = uint32_t(gm_writes.size());
    gm_writes.push_back({lo, hi, block, phase, far, here.file, here.line, atomic, id.kind == Kind::AIC});
    gm_writes.back().slot = slot();
    gm_writes.back().values(from, hi - lo);
}

}  // namespace twin
