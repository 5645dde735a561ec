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

// Of the stores so far, in the order of their begins, the one that extends furthest and the one of another block that
// does: if any store of another block reaches beyond a place, one of the two does.
struct Furthest {
    const GmWrite *first = nullptr, *second = nullptr;
    void add(const GmWrite& w) {
        if (!first || w.hi > first->hi) {
            if (first && first->block != w.block) second = first;
            first = &w;
        } else if (w.block != first->block && (!second || w.hi > second->hi)) {
            second = &w;
        }
    }
};

// GM ranges that two blocks wrote: the last write wins, and on the hardware it is undefined which one is last.
static void find_overlaps(LaunchResult& result, const std::vector<GmWrite>& all) {
    // Of the plain ones and of the atomic ones, between each two meetings of all cores: one from behind a meeting, or
    // that a flag orders, conflicts with none of these and must not hide them.
    std::map<uint32_t, std::array<Furthest, 2>> furthest;
    std::vector<Finding> hidden;  // with the second: for lines of which nothing is known yet
    for (const GmWrite& w : all) {
        if (w.ordered) continue;
        auto& reach = furthest.try_emplace(w.phase).first->second;
        auto meets = [&](const GmWrite* r) { return r && w.lo < r->hi && w.block != r->block; };
        auto report = [&](const GmWrite* other, bool known) {
            bool same = w.same_values(*other);
            if (same && known) return;
            Findings one;
            one.clear(w.block);
            one.add(same ? "gm-twice" : "gm-overlap", !same, {w.file, w.line},
                    Numbers()
                        .add("first", other->block)
                        .add("second", w.block)
                        .add("bytes", std::min(w.hi, other->hi) - w.lo)
                        .add("address", w.lo));
            if (known) hidden.push_back(one.list().front());
            else add_across(result, one.list().front());
        };
        // two atomic writes are no conflict; an atomic and a plain one are
        const Furthest none, &plain = reach[0], &atomic = w.atomic ? none : reach[1];
        const GmWrite* other = meets(plain.first) ? plain.first : meets(atomic.first) ? atomic.first : nullptr;
        if (other && w.same_values(*other) && in_workspace(result, w)) continue;
        if (other) report(other, false);
        for (const GmWrite* r : {plain.second, atomic.second})
            if (meets(r)) report(r, true);
        reach[w.atomic].add(w);
    }
    for (const Finding& f : hidden) {
        auto same = [&](const Finding& o) { return o.code == f.code && o.line == f.line && o.file == f.file; };
        if (std::none_of(result.across.begin(), result.across.end(), same)) add_across(result, f);
    }
}

// Copies to GM that moved nothing: a place where nothing was ever stored, not by anybody, waits for the bytes.
static void find_missing_stores(LaunchResult& result, const std::vector<GmRange>& ranges) {
    auto stored = [&](uint64_t at) {
        for (const CoreResult& c : result.cores) {
            for (const GmWrite& w : c.writes)
                if (w.lo <= at && at < w.hi) return true;
            for (const DataCache::Store& s : c.lines)
                if (s.at <= at && at - s.at < DataCache::kLine && s.bytes >> (at - s.at) & 1) return true;
        }
        return false;
    };
    for (const CoreResult& c : result.cores)
        for (const EmptyCopy& e : c.empty_stores) {
            auto here = [&](const GmRange& r) { return r.lo <= e.at && e.at < r.hi; };
            auto home = std::find_if(ranges.begin(), ranges.end(), here);
            if (home == ranges.end() || home->written || stored(e.at)) continue;
            Findings one;
            one.clear(e.block);
            one.add("copy-nothing", false, e.here, e.numbers());
            add_across(result, one.list().front());
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
    if (!found && l.checks && l.effects) find_missing_stores(result, l.ranges);
    schedule_trace(l, result);
    if (!l.what_ifs.empty()) result.what_ifs = what_if(l, result);
    for (auto& c : result.cores) c.trace.end();
    return result;
}

}  // namespace twin
