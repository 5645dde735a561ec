#include "launch/launch.h"

#include <algorithm>
#include <array>
#include <map>

#include "launch/scheduler.h"
#include "launch/timeline.h"
#include "launch/whatif.h"

namespace twin {

static std::vector<GmWrite> stores_of(const LaunchResult& result) {
    std::vector<GmWrite> all;
    for (auto& b : result.cores) all.insert(all.end(), b.writes.begin(), b.writes.end());
    std::sort(all.begin(), all.end(),
              [](const GmWrite& a, const GmWrite& b) { return a.lo != b.lo ? a.lo < b.lo : a.block < b.block; });
    return all;
}

// Documented for SyncAll by software: each core zeroes all of the workspace.
static bool in_workspace(const LaunchResult& result, const GmWrite& w) {
    for (auto [lo, hi] : result.workspaces)
        if (w.lo >= lo && w.hi <= hi) return true;
    return false;
}

// GM ranges that two blocks wrote: the last write wins, and on the hardware it is undefined which one is last.
static void find_overlaps(LaunchResult& result, const std::vector<GmWrite>& all) {
    // Of the plain ones and of the atomic ones the write that extends furthest so far, between each two meetings of all
    // cores: one from behind a meeting, or that a flag orders, conflicts with none of these and must not hide them.
    std::map<uint32_t, std::array<const GmWrite*, 2>> furthest;
    for (const GmWrite& w : all) {
        if (w.ordered) continue;
        auto& reach = furthest.try_emplace(w.phase).first->second;
        const GmWrite* other = nullptr;
        // two atomic writes are no conflict; an atomic and a plain one are
        for (const GmWrite* r : {reach[0], w.atomic ? nullptr : reach[1]})
            if (!other && r && w.lo < r->hi && w.block != r->block) other = r;
        if (other) {
            Findings one;
            one.clear(w.block);
            bool same = w.same_values(*other);
            if (same && in_workspace(result, w)) continue;
            one.add(same ? "gm-twice" : "gm-overlap", !same, {w.file, w.line},
                    Numbers()
                        .add("first", other->block)
                        .add("second", w.block)
                        .add("bytes", std::min(w.hi, other->hi) - w.lo)
                        .add("address", w.lo));
            add_across(result, one.list().front());
        }
        const GmWrite*& mine = reach[w.atomic];
        if (!mine || w.hi > mine->hi) mine = &w;
    }
}

LaunchResult run(const Launch& l, int threads) {
    LaunchResult result;
    uint32_t places = l.mix.aic ? chip.cube_cores : chip.cores;
    // a race must come out the same way each time
    bool one = l.in_order || l.schedule == Schedule::Worst;
    run_cores(l, result, places, one ? 1 : threads);
    for (auto& c : result.cores) result.finished = result.finished && c.finished;
    if (l.checks && l.effects && result.cores.size() > 1) {
        auto stores = stores_of(result);
        find_shared_lines(result, stores, l.mix.aic + l.mix.aiv);
        if (l.blocks > 1) {
            find_overlaps(result, stores);
            find_unordered_reads(result, stores);
        }
    }
    if (l.checks && l.effects && l.mix.aic && l.mix.aiv) find_unordered_in_blocks(result, l.mix.aic + l.mix.aiv);
    bool found = !result.across.empty();
    for (auto& c : result.cores) found = found || !c.findings.empty();
    if (!found)  // behind another fault it is mostly a consequence
        for (const Finding& f : result.left) add_across(result, f);
    schedule_trace(l, result);
    if (!l.what_ifs.empty()) result.what_ifs = what_if(l, result);
    for (auto& c : result.cores) c.trace.end();
    return result;
}

}  // namespace twin
