#include "launch/launch.h"

#include <algorithm>

namespace twin {

namespace {

class Search {
public:
    Search(const LaunchResult& result, const std::vector<GmWrite>& stores) : stores_(stores) {
        for (const GmWrite& w : stores) reach_.push_back(std::max(reach_.empty() ? 0 : reach_.back(), w.hi));
        for (const CoreResult& c : result.cores) met_ = met_ || c.phases;
    }
    // Finds another block's store to the bytes of a read. If the reader has stored to them as well, the check of stores
    // reports it.
    const GmWrite* conflict(const CoreResult& reader, const GmRead& r) const {
        return find(r.lo, r.hi, [&](const GmWrite& w) {
            if (w.block == reader.block || w.phase != r.phase || w.ordered || !r.of(w.lo, w.hi)) return false;
            if (met_ && w.cube != (reader.core == 2)) return false;  // AIVs and AICs count their barriers separately
            uint64_t lo = std::max(w.lo, r.lo), hi = std::min(w.hi, r.hi);
            return !find(lo, hi, [&](const GmWrite& own) { return own.block == reader.block && own.phase == r.phase; });
        });
    }

private:
    template <class F> const GmWrite* find(uint64_t lo, uint64_t hi, F f) const {
        auto past = std::lower_bound(stores_.begin(), stores_.end(), hi,
                                     [](const GmWrite& w, uint64_t at) { return w.lo < at; });
        for (size_t i = size_t(past - stores_.begin()); i-- > 0 && reach_[i] > lo;)
            if (stores_[i].hi > lo && f(stores_[i])) return &stores_[i];
        return nullptr;
    }
    const std::vector<GmWrite>& stores_;
    std::vector<uint64_t> reach_;  // the highest end of all stores up to each one
    bool met_ = false;             // some cores have passed a barrier
};

}  // namespace

void find_unordered_reads(LaunchResult& result, const std::vector<GmWrite>& stores) {
    Search search(result, stores);
    for (const CoreResult& c : result.cores) {
        std::vector<Finding> found;
        for (const GmRead& r : c.reads) {
            // a kernel that polls orders its reads itself
            const GmWrite* w = r.scalar && c.may_poll ? nullptr : search.conflict(c, r);
            if (!w) continue;
            Findings one;
            one.clear(c.block);
            one.add("gm-unordered", true, {r.file, r.line},
                    Numbers()
                        .add("reader", c.block)
                        .add("writer", w->block)
                        .add("bytes", r.of(w->lo, w->hi))
                        .add("other_line", w->line));
            auto known = std::find_if(found.begin(), found.end(), [&](const Finding& f) { return f.line == r.line; });
            if (known == found.end()) found.push_back(one.list().front());
            else known->count++;
        }
        for (Finding& f : found) {
            auto known = std::find_if(result.across.begin(), result.across.end(),
                                      [&](const Finding& o) { return o.line == f.line && o.code == f.code; });
            if (known == result.across.end()) result.across.push_back(f);
            else known->count += f.count;
        }
    }
}

}  // namespace twin
