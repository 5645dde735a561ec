#include "core/gm_reads.h"

#include <algorithm>

namespace twin {

static constexpr uint64_t kBlock = 32;

uint64_t GmRead::of(uint64_t from, uint64_t to) const {
    from = std::max(from, lo);
    to = std::min(to, hi);
    if (from >= to) return 0;
    if (!exact && (to <= lo + kBlock - 1 || from >= hi - (kBlock - 1))) return 0;
    if (row == apart) return to - from;
    uint64_t first = (from - lo) / apart, begin = lo + first * apart;
    if (from < begin + row) return std::min(to, begin + row) - from;
    return to > begin + apart ? std::min(to, begin + apart + row) - (begin + apart) : 0;
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

}  // namespace twin
