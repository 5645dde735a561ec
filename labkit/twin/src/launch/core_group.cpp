#include "launch/core_group.h"

#include <algorithm>

namespace twin {

const std::vector<std::vector<Stamp>>* Core::maxima() const { return group ? &group->maxima : nullptr; }

CoreGroup::CoreGroup(uint32_t blocks_, uint32_t aic_, uint32_t aiv_) : blocks(blocks_), aic(aic_), aiv(aiv_) {}

std::vector<size_t> CoreGroup::cores(Kind kind, uint32_t first, uint32_t end) const {
    std::vector<size_t> all;
    for (uint32_t b = first; b < end; b++)
        for (uint32_t s = 0; s < (kind == Kind::AIC ? aic : aiv); s++) all.push_back(index_of(b, kind, s));
    return all;
}

// A flag is delivered when every core in `from` has set it once more; then every core in `to` receives it.
void CoreGroup::complete(int mode, int id, uint32_t group, const std::vector<size_t>& from,
                         const std::vector<size_t>& to) {
    size_t& through = completed_[{group, mode, id}];
    std::vector<Stamp> all;
    for (size_t core : from) {
        auto& set = set_[{core, mode, id}];
        if (set.size() <= through) return;
        all.push_back(set[through]);
    }
    through++;
    Stamp last = max_of(std::move(all));
    for (size_t core : to) inbox_[{core, id}].push_back(last);
    bump();
}

Stamp CoreGroup::max_of(std::vector<Stamp> all) {
    if (all.size() == 1) return all[0];
    maxima.push_back(std::move(all));
    return kMaxOf | (maxima.size() - 1);
}

void CoreGroup::set(const Core& c, int mode, int id, Stamp at) {
    std::lock_guard<std::mutex> hold(lock_);
    const CoreId& s = c.id;
    bool cube = s.kind == Kind::AIC;
    set_[{index_of(s.block, s.kind, s.sub), mode, id}].push_back(at);
    auto peers = mode == 0 ? cores(s.kind, 0, blocks) : cores(s.kind, s.block, s.block + 1);
    auto others = cores(cube ? Kind::AIV : Kind::AIC, s.block, s.block + 1);
    uint32_t group = (mode == 0 ? 0 : s.block + 1) * 2 + cube;
    complete(mode, id, group, peers, mode == 2 ? others : peers);
}

bool CoreGroup::received(const Core& c, int id) {
    std::lock_guard<std::mutex> hold(lock_);
    return !inbox_[{index_of(c.id.block, c.id.kind, c.id.sub), id}].empty();
}

Stamp CoreGroup::take(const Core& c, int id) {
    std::lock_guard<std::mutex> hold(lock_);
    auto& box = inbox_[{index_of(c.id.block, c.id.kind, c.id.sub), id}];
    Stamp at = box.front();
    box.pop_front();
    return at;
}

CoreGroup::Arrival CoreGroup::arrive(int barrier, uint32_t cores, Stamp at) {
    std::lock_guard<std::mutex> hold(lock_);
    Barrier& b = barriers_[barrier];
    Arrival mine{barrier, b.turns.size()};
    b.at.push_back(at);
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
Stamp CoreGroup::met_at(const Arrival& a) {
    std::lock_guard<std::mutex> hold(lock_);
    return barriers_[a.barrier].turns[a.turn];
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
