#include "shared_reads.h"

#include <algorithm>

#include "launch.h"

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
    auto same = [&](const GmRead& o) { return o.line == r.line && o.phase == r.phase && o.row == o.apart && whole && o.exact == r.exact && o.scalar == r.scalar; };
    if (!entries_.empty() && entries_.back().hi == r.lo && same(entries_.back())) {
        entries_.back().hi = r.hi;
        return;
    }
    uint32_t& recent = recent_[(r.lo >> 5 ^ uint64_t(r.line)) % recent_.size()];
    if (recent < entries_.size()) {
        const GmRead& o = entries_[recent];
        if (o.lo <= r.lo && o.hi >= r.hi && o.line == r.line && o.phase == r.phase && o.row == r.row && o.apart == r.apart) return;
    }
    if (entries_.size() == kMost) return;
    recent = uint32_t(entries_.size());
    entries_.push_back(r);
}

namespace {

class Search {
public:
    Search(const LaunchResult& result, const std::vector<GmWrite>& stores) : stores_(stores) {
        for (const GmWrite& w : stores) reach_.push_back(std::max(reach_.empty() ? 0 : reach_.back(), w.hi));
        for (const CoreResult& c : result.cores) met_ = met_ || c.phases;
    }
    // A store of another block to what is read. Where the reader has stored to it as well, the stores' own check speaks.
    const GmWrite* conflict(const CoreResult& reader, const GmRead& r) const {
        return find(r.lo, r.hi, [&](const GmWrite& w) {
            if (w.block == reader.block || w.phase != r.phase || w.ordered || !r.of(w.lo, w.hi)) return false;
            if (met_ && w.cube != (reader.core == 2)) return false;  // the two kinds count their meetings each for itself
            uint64_t lo = std::max(w.lo, r.lo), hi = std::min(w.hi, r.hi);
            return !find(lo, hi, [&](const GmWrite& own) { return own.block == reader.block && own.phase == r.phase; });
        });
    }

private:
    template <class F> const GmWrite* find(uint64_t lo, uint64_t hi, F f) const {
        auto past = std::lower_bound(stores_.begin(), stores_.end(), hi, [](const GmWrite& w, uint64_t at) { return w.lo < at; });
        for (size_t i = size_t(past - stores_.begin()); i-- > 0 && reach_[i] > lo;)
            if (stores_[i].hi > lo && f(stores_[i])) return &stores_[i];
        return nullptr;
    }
    const std::vector<GmWrite>& stores_;
    std::vector<uint64_t> reach_;  // how far the stores up to each one extend
    bool met_ = false;             // some cores have
};

}  // namespace

void find_unordered_reads(LaunchResult& result, const std::vector<GmWrite>& stores) {
    Search search(result, stores);
    for (const CoreResult& c : result.cores) {
        std::vector<Finding> found;
        for (const GmRead& r : c.reads) {
            const GmWrite* w = r.scalar && c.may_poll ? nullptr : search.conflict(c, r);  // polling is an order that the kernel makes itself
            if (!w) continue;
            Findings one;
            one.clear(c.block);
            one.add("gm-unordered", true, {r.file, r.line}, Numbers().add("reader", c.block).add("writer", w->block).add("bytes", r.of(w->lo, w->hi)).add("other_line", w->line));
            auto known = std::find_if(found.begin(), found.end(), [&](const Finding& f) { return f.line == r.line; });
            if (known == found.end()) found.push_back(one.list().front());
            else known->count++;
        }
        for (Finding& f : found) {
            auto known = std::find_if(result.across.begin(), result.across.end(), [&](const Finding& o) { return o.line == f.line && o.code == f.code; });
            if (known == result.across.end()) result.across.push_back(f);
            else known->count += f.count;
        }
    }
}

}  // namespace twin
