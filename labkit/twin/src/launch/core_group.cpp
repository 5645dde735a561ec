#include "launch/core_group.h"

#include <algorithm>

namespace twin {

void Core::learn_maxima(std::vector<std::vector<Stamp>>& known) const {
    if (group) group->copy_maxima(known);
}

void note_matmuls(const Core& c) { c.group->note_matmuls(uint32_t(c.matmuls.size())); }

CoreGroup::CoreGroup(uint32_t blocks_, uint32_t aic_, uint32_t aiv_) : blocks(blocks_), aic(aic_), aiv(aiv_) {}

std::vector<size_t> CoreGroup::cores(Kind kind, uint32_t first, uint32_t end) const {
    std::vector<size_t> all;
    for (uint32_t b = first; b < end; b++)
        for (uint32_t s = 0; s < (kind == Kind::AIC ? aic : aiv); s++) all.push_back(index_of(b, kind, s));
    return all;
}

// A flag is delivered when every core in `from` has set it once more; then every core in `to` receives it.
size_t CoreGroup::complete(int mode, int id, uint32_t group, const std::vector<size_t>& from,
                           const std::vector<size_t>& to) {
    size_t& through = completed_[{group, mode, id}];
    std::vector<Stamp> all;
    Here here{nullptr, 0};
    bool far = false;
    for (size_t core : from) {
        auto& set = set_[{core, mode, id}];
        if (set.size() <= through) return 0;
        all.push_back(set[through].at);
        here = set[through].here;
        far = far || set[through].far;
    }
    Stamp last = max_of(std::move(all));
    std::map<size_t, GmClock> told;  // in each block
    for (size_t core : from) told[core / (aic + aiv)].join(set_[{core, mode, id}][through].told);
    through++;
    size_t most = 0;
    for (size_t core : to) {
        auto& box = inbox_[{core, id}];
        box.push_back({last, told[core / (aic + aiv)], here, far});
        most = std::max(most, box.size());
    }
    bump();
    return most;
}

Stamp CoreGroup::max_of(std::vector<Stamp> all) {
    if (all.size() == 1) return all[0];
    maxima.push_back(std::move(all));
    return kMaxOf | (maxima.size() - 1);
}

void CoreGroup::copy_maxima(std::vector<std::vector<Stamp>>& known) {
    std::lock_guard<std::mutex> hold(lock_);
    known.insert(known.end(), maxima.begin() + long(known.size()), maxima.end());
}

size_t CoreGroup::set(const Core& c, int mode, int id, Signal signal) {
    std::lock_guard<std::mutex> hold(lock_);
    const CoreId& s = c.id;
    bool cube = s.kind == Kind::AIC;
    set_[{index_of(s.block, s.kind, s.sub), mode, id}].push_back(signal);
    bool known = false;
    for (const Taken& t : by_hand_) known = known || (t.id == id && t.here.line == signal.here.line);
    if (!known) by_hand_.push_back({s.block, id, signal.here, false});
    auto peers = mode == 0 ? cores(s.kind, 0, blocks) : cores(s.kind, s.block, s.block + 1);
    auto others = cores(cube ? Kind::AIV : Kind::AIC, s.block, s.block + 1);
    uint32_t group = (mode == 0 ? 0 : s.block + 1) * 2 + cube;
    return complete(mode, id, group, peers, mode == 2 ? others : peers);
}

void CoreGroup::publish(const Core& c, const DataCache::Line& l) {
    std::lock_guard<std::mutex> hold(lock_);
    size_t me = index_of(c.id.block, c.id.kind, c.id.sub);
    dirty_[l.at].push_back({me, l.dirty, c.block, l.phase, l.here});
    dirty_lines++;
}

void CoreGroup::retract(const Core& c, const std::vector<uint64_t>& lines) {
    std::lock_guard<std::mutex> hold(lock_);
    size_t me = index_of(c.id.block, c.id.kind, c.id.sub);
    for (uint64_t line : lines) {
        auto& all = dirty_[line];
        size_t before = all.size();
        all.erase(std::remove_if(all.begin(), all.end(), [&](const DirtyLine& d) { return d.core == me; }), all.end());
        dirty_lines -= uint32_t(before - all.size());
        if (all.empty()) dirty_.erase(line);
    }
}

uint64_t CoreGroup::dirty_elsewhere(const Core& c, uint64_t lo, uint64_t hi, DirtyLine& found) {
    std::lock_guard<std::mutex> hold(lock_);
    size_t me = index_of(c.id.block, c.id.kind, c.id.sub);
    uint64_t bytes = 0;
    auto it = dirty_.lower_bound(lo / DataCache::kLine * DataCache::kLine);
    for (; it != dirty_.end() && it->first < hi; ++it)
        for (const DirtyLine& d : it->second) {
            if (d.core == me) continue;
            uint64_t some = d.bytes & DataCache::mask(it->first, lo, hi);
            if (some && !bytes) found = d;
            bytes += uint64_t(__builtin_popcountll(some));
        }
    return bytes;
}

void CoreGroup::note_matmuls(uint32_t objects) {
    std::lock_guard<std::mutex> hold(lock_);
    matmuls_ = std::max(matmuls_, objects);
}

std::vector<CoreGroup::Taken> CoreGroup::taken() const {
    std::vector<Taken> all;
    for (Taken t : by_hand_) {
        t.by_matmul = uint32_t(t.id) < 2 * matmuls_;
        if (t.by_matmul || (meets_ && t.id >= 11 && t.id <= 14)) all.push_back(t);
    }
    return all;
}

void CoreGroup::note_workspace(uint64_t lo, uint64_t hi) {
    std::lock_guard<std::mutex> hold(lock_);
    if (std::find(workspaces.begin(), workspaces.end(), std::pair(lo, hi)) == workspaces.end())
        workspaces.emplace_back(lo, hi);
}

bool CoreGroup::received(const Core& c, int id) {
    std::lock_guard<std::mutex> hold(lock_);
    return !inbox_[{index_of(c.id.block, c.id.kind, c.id.sub), id}].empty();
}

CoreGroup::Signal CoreGroup::take(const Core& c, int id) {
    std::lock_guard<std::mutex> hold(lock_);
    auto& box = inbox_[{index_of(c.id.block, c.id.kind, c.id.sub), id}];
    Signal signal = box.front();
    box.pop_front();
    return signal;
}

std::vector<CoreGroup::Left> CoreGroup::left() const {
    std::vector<Left> all;
    for (const auto& [to, signals] : inbox_)
        if (!signals.empty()) {
            size_t core = to.first;
            all.push_back({uint32_t(core / (aic + aiv)), core % (aic + aiv) >= aiv, to.second, signals.size(),
                           signals.front().here});
        }
    return all;
}

CoreGroup::Arrival CoreGroup::arrive(const Core& c, int barrier, uint32_t cores, Signal signal) {
    std::lock_guard<std::mutex> hold(lock_);
    Barrier& b = barriers_[barrier];
    Arrival mine{barrier, b.turns.size()};
    b.at.push_back(signal.at);
    b.told[{mine.turn, c.id.block}].join(signal.told);
    if (++b.arrived >= cores) {
        b.turns.push_back(max_of(std::move(b.at)));
        b.arrived = 0;
        b.at.clear();
        bump();
    }
    return mine;
}
bool CoreGroup::met(const Arrival& a) {
    std::lock_guard<std::mutex> hold(lock_);
    return barriers_[a.barrier].turns.size() > a.turn;
}
CoreGroup::Signal CoreGroup::met_at(const Core& c, const Arrival& a) {
    std::lock_guard<std::mutex> hold(lock_);
    Barrier& b = barriers_[a.barrier];
    return {b.turns[a.turn], b.told[{a.turn, c.id.block}]};
}

bool CoreGroup::posted(uint64_t key) {
    std::lock_guard<std::mutex> hold(lock_);
    return posts_.count(key) != 0;
}
void CoreGroup::post(uint64_t key, Stamp at) {
    std::lock_guard<std::mutex> hold(lock_);
    posts_[key] = at;
    bump();
}
Stamp CoreGroup::posted_at(uint64_t key) {
    std::lock_guard<std::mutex> hold(lock_);
    return posts_[key];
}
Stamp CoreGroup::collect(uint64_t key) {
    std::lock_guard<std::mutex> hold(lock_);
    Stamp at = posts_[key];
    posts_.erase(key);
    bump();
    return at;
}

}  // namespace twin
