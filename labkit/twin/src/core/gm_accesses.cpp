#include "core/gm_accesses.h"

#include <algorithm>
#include <cstring>

#include "core/machine.h"

namespace twin {

// ---------------------------------------------------------------- stores

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

// ---------------------------------------------------------------- reads

static constexpr uint64_t kBlock = 32;

uint64_t GmRead::of(uint64_t from, uint64_t to) const {
    from = std::max(from, lo);
    to = std::min(to, hi);
    if (from >= to) return 0;
    if (!exact && (to <= lo + kBlock - 1 || from >= hi - (kBlock - 1))) return 0;
    if (row == apart) return to - from;
    uint64_t first = (from - lo) / apart, last = (to - 1 - lo) / apart;  // rows
    auto piece = [&](uint64_t i) {
        uint64_t begin = std::max(lo + i * apart, from), end = std::min(lo + i * apart + row, to);
        return end > begin ? end - begin : 0;
    };
    return last == first ? piece(first) : piece(first) + (last - first - 1) * row + piece(last);
}

void SharedReads::note(const GmRead& r) {
    bool whole = r.row == r.apart;
    auto same = [&](const GmRead& o) {
        return o.line == r.line && o.phase == r.phase && o.row == o.apart && whole && o.exact == r.exact &&
               o.scalar == r.scalar;
    };
    if (!entries_.empty() && entries_.back().hi == r.lo && same(entries_.back())) {
        entries_.back().hi = r.hi;
        return;
    }
    uint32_t& recent = recent_[(r.lo >> 5 ^ uint64_t(r.line)) % recent_.size()];
    if (recent < entries_.size()) {
        const GmRead& o = entries_[recent];
        if (o.lo <= r.lo && o.hi >= r.hi && o.line == r.line && o.phase == r.phase && o.row == r.row &&
            o.apart == r.apart)
            return;
    }
    if (entries_.size() == kMost) return;
    recent = uint32_t(entries_.size());
    entries_.push_back(r);
}

GmClock gm_clock(const VectorClock& c, int self) {
    GmClock all;
    for (int p = 0; p < 4; p++) {
        all.seen[self][p] = c.seen[int(kGmPipes[p])];
        for (int k = 0; k < 2; k++) all.seen[other_core(self, k)][p] = c.far[k * 4 + p];
    }
    return all;
}

void learn(VectorClock& c, int self, const GmClock& told) {
    for (int k = 0; k < 2; k++)
        for (int p = 0; p < 4; p++) c.far[k * 4 + p] = std::max(c.far[k * 4 + p], told.seen[other_core(self, k)][p]);
}

void GmSteps::clear() {
    steps.clear();
    heard.clear();
}

void GmSteps::note(const Access& a, const VectorClock& now, uint64_t lo, uint64_t row, uint64_t apart, uint64_t rows,
                   bool write, bool atomic) {
    uint8_t pipe = 0;
    while (pipe < 4 && kGmPipes[pipe] != a.pipe) pipe++;
    if (pipe == 4 || !row || !rows || steps.size() == kMost) return;
    if (rows == 1 || apart <= row) apart = row = (rows - 1) * apart + row, rows = 1;
    uint64_t hi = lo + (rows - 1) * apart + row;
    // the next row of the same instruction
    if (!steps.empty() && steps.back().number == a.number && steps.back().pipe == pipe && rows == 1) {
        GmRead& p = steps.back().place;
        if (p.row == row && lo > p.lo && (p.row == p.apart ? p.hi - p.lo == row : lo == p.hi - row + p.apart)) {
            if (p.row == p.apart) p.apart = lo - p.lo;
            p.hi = hi;
            return;
        }
    }
    if (a.pipe == Pipe::S && !steps.empty()) {  // the next of many numbers
        GmStep& s = steps.back();
        if (s.pipe == 0 && s.place.hi == lo && s.place.row == s.place.apart && s.place.line == a.here.line &&
            s.write == write && std::equal(now.far, now.far + 8, heard[s.heard].begin())) {
            s.place.hi = hi, s.place.row = s.place.apart = hi - s.place.lo, s.number = a.number;
            return;
        }
    }
    if (heard.empty() || !std::equal(now.far, now.far + 8, heard.back().begin())) {
        heard.emplace_back();
        std::copy(now.far, now.far + 8, heard.back().begin());
    }
    uint32_t last = uint32_t(heard.size() - 1);
    uint32_t& recent = recent_[(lo >> 5 ^ uint64_t(a.here.line) ^ uint64_t(write)) % recent_.size()];
    if (recent < steps.size() && rows == 1) {
        GmStep& s = steps[recent];
        const GmRead& p = s.place;
        if (p.lo == lo && p.hi == hi && p.row == p.apart && p.line == a.here.line && s.heard == last &&
            s.pipe == pipe && s.write == write && s.atomic == atomic) {
            s.number = a.number;
            return;
        }
    }
    recent = uint32_t(steps.size());
    steps.push_back({{lo, hi, row, apart, 0, a.here.line, a.here.file, write || a.pipe == Pipe::S, false},
                     a.number,
                     last,
                     a.number,
                     pipe,
                     write,
                     atomic});
}

}  // namespace twin
