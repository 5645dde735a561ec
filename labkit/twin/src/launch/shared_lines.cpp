// Lines of the data cache that several cores store into: the scalar unit writes back 64 bytes at once, with its own old
// copy of the bytes that another core has stored.
#include <algorithm>

#include "launch/launch.h"

namespace twin {

void find_shared_lines(LaunchResult& result, const std::vector<GmWrite>& stores, uint32_t per_block) {
    bool any = std::any_of(result.cores.begin(), result.cores.end(),
                           [](const CoreResult& c) { return !c.lines.empty(); });
    if (!any) return;
    std::vector<uint64_t> reach;  // the highest end of all stores up to each one
    for (const GmWrite& w : stores) reach.push_back(std::max(reach.empty() ? 0 : reach.back(), w.hi));
    for (const CoreResult& c : result.cores)
        for (const DataCache::Store& s : c.lines) {
            uint64_t end = s.at + DataCache::kLine;
            auto past = std::lower_bound(stores.begin(), stores.end(), end,
                                         [](const GmWrite& w, uint64_t at) { return w.lo < at; });
            for (size_t i = size_t(past - stores.begin()); i-- > 0 && reach[i] > s.at;) {
                const GmWrite& w = stores[i];
                if (w.hi <= s.at || (w.block == c.block && (per_block == 1 || w.slot == c.core))) continue;
                if (w.ordered || s.ordered || w.phase < s.phase || w.phase > s.end) continue;
                uint64_t theirs = DataCache::mask(s.at, w.lo, w.hi);
                if (theirs & s.bytes) continue;  // the same bytes: find_overlaps
                Findings one;
                one.clear(c.block);
                Numbers n;
                n.add("first", c.block)
                    .add("second", w.block)
                    .add("bytes", __builtin_popcountll(s.bytes))
                    .add("address", s.at)
                    .add("other_line", w.line);
                if (w.line < 0) n.add("other_line_in", w.file);
                one.add("gm-line", true, s.here, n);
                add_across(result, one.list().front());
                break;
            }
        }
}

}  // namespace twin
