#include "launch.h"

#include <algorithm>

#include "players.h"

namespace twin {

static std::vector<GmWrite> stores_of(const LaunchResult& result) {
    std::vector<GmWrite> all;
    for (auto& b : result.cores) all.insert(all.end(), b.writes.begin(), b.writes.end());
    std::sort(all.begin(), all.end(), [](const GmWrite& a, const GmWrite& b) { return a.lo != b.lo ? a.lo < b.lo : a.block < b.block; });
    return all;
}

// GM ranges that two blocks wrote: whoever comes last wins, and on the hardware nobody knows who that is.
static void find_overlaps(LaunchResult& result, const std::vector<GmWrite>& all) {
    const GmWrite* reach[2] = {};  // the write that extends furthest so far: of the plain ones, of the atomic ones
    for (const GmWrite& w : all) {
        const GmWrite* other = nullptr;
        for (const GmWrite* r : {reach[0], w.atomic ? nullptr : reach[1]})  // atomic writes add up; with any other they do not
            if (!other && r && w.lo < r->hi && w.block != r->block && w.phase == r->phase && !w.ordered && !r->ordered) other = r;
        if (other) {
            Findings one;
            one.clear(w.block);
            bool same = w.same_values(*other);
            one.add(same ? "gm-twice" : "gm-overlap", !same, {w.file, w.line}, Numbers().add("first", other->block).add("second", w.block).add("bytes", std::min(w.hi, other->hi) - w.lo).add("address", w.lo));
            bool known = false;
            for (auto& f : result.across)
                if (f.line == w.line && f.error == !same) {
                    f.count++;
                    known = true;
                }
            if (!known) result.across.push_back(one.list().front());
        }
        const GmWrite*& mine = reach[w.atomic];
        if (!mine || w.hi > mine->hi) mine = &w;
    }
}

// Blocks beyond the chip's cores run in further rounds: block i on core i mod cores.
static double longest_core(const Launch& l, const LaunchResult& r, uint32_t places) {
    std::vector<double> block(l.blocks, 0.0), place(std::min(l.blocks, places), 0.0);
    for (auto& c : r.cores) block[c.block] = std::max(block[c.block], c.cycles);
    for (uint32_t b = 0; b < l.blocks; b++) place[b % place.size()] += block[b];
    return *std::max_element(place.begin(), place.end());
}

LaunchResult run(const Launch& l, int threads) {
    LaunchResult result;
    uint32_t places = l.crew.aic ? chip.cube_cores : chip.cores;
    play(l, result, places, l.in_order ? 1 : threads);
    for (auto& c : result.cores) result.finished = result.finished && c.finished;
    if (l.checks && l.blocks > 1) {
        auto stores = stores_of(result);
        find_overlaps(result, stores);
        find_unordered_reads(result, stores);
    }
    uint32_t used = std::min(l.blocks, places);
    result.seconds = longest_core(l, result, places) / chip.hz + chip.launch_head + chip.launch_per_core * used;
    return result;
}

}  // namespace twin
