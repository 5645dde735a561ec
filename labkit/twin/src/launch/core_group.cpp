#include "launch/core_group.h"

#include <algorithm>

namespace twin {

const std::vector<std::vector<Moment>>* Core::joints() const { return team ? &team->joints : nullptr; }

Team::Team(uint32_t blocks_, uint32_t aic_, uint32_t aiv_) : blocks(blocks_), aic(aic_), aiv(aiv_) {}

std::vector<size_t> Team::cores(Kind kind, uint32_t first, uint32_t end) const {
    std::vector<size_t> all;
    for (uint32_t b = first; b < end; b++)
        for (uint32_t s = 0; s < (kind == Kind::AIC ? aic : aiv); s++) all.push_back(seat(b, kind, s));
    return all;
}

// A flag goes through when everybody in `from` has set it once more; then everybody in `to` receives it.
void Team::complete(int mode, int id, uint32_t group, const std::vector<size_t>& from, const std::vector<size_t>& to) {
    size_t& through = completed_[{group, mode, id}];
    std::vector<Moment> all;
    for (size_t core : from) {
        auto& set = set_[{core, mode, id}];
        if (set.size() <= through) return;
        all.push_back(set[through]);
    }
    through++;
    Moment last = joint(std::move(all));
    for (size_t core : to) inbox_[{core, id}].push_back(last);
    bump();
}

Moment Team::joint(std::vector<Moment> all) {
    if (all.size() == 1) return all[0];
    joints.push_back(std::move(all));
    return kJoint | (joints.size() - 1);
}

void Team::set(const Core& c, int mode, int id, Moment at) {
    std::lock_guard<std::mutex> hold(lock_);
    const Seat& s = c.seat;
    bool cube = s.kind == Kind::AIC;
    set_[{seat(s.block, s.kind, s.sub), mode, id}].push_back(at);
    auto peers = mode == 0 ? cores(s.kind, 0, blocks) : cores(s.kind, s.block, s.block + 1);
    auto others = cores(cube ? Kind::AIV : Kind::AIC, s.block, s.block + 1);
    uint32_t group = (mode == 0 ? 0 : s.block + 1) * 2 + cube;
    complete(mode, id, group, peers, mode == 2 ? others : peers);
}

bool Team::received(const Core& c, int id) {
    std::lock_guard<std::mutex> hold(lock_);
    return !inbox_[{seat(c.seat.block, c.seat.kind, c.seat.sub), id}].empty();
}

Moment Team::take(const Core& c, int id) {
    std::lock_guard<std::mutex> hold(lock_);
    auto& box = inbox_[{seat(c.seat.block, c.seat.kind, c.seat.sub), id}];
    Moment at = box.front();
    box.pop_front();
    return at;
}

Team::Arrival Team::arrive(int barrier, uint32_t cores, Moment at) {
    std::lock_guard<std::mutex> hold(lock_);
    Barrier& b = barriers_[barrier];
    Arrival mine{barrier, b.turns.size()};
    b.at.push_back(at);
    if (++b.arrived >= cores) {
        b.turns.push_back(joint(std::move(b.at)));
        b.arrived = 0;
        b.at.clear();
        bump();
    }
    return mine;
}
bool Team::met(const Arrival& a) {
    std::lock_guard<std::mutex> hold(lock_);
    return barriers_[a.barrier].turns.size() > a.turn;
}
Moment Team::met_at(const Arrival& a) {
    std::lock_guard<std::mutex> hold(lock_);
    return barriers_[a.barrier].turns[a.turn];
}

bool Team::posted(uint64_t key) {
    std::lock_guard<std::mutex> hold(lock_);
    return posts_.count(key) != 0;
}
void Team::post(uint64_t key, Moment at) {
    std::lock_guard<std::mutex> hold(lock_);
    posts_[key] = at;
    bump();
}
Moment Team::posted_at(uint64_t key) {
    std::lock_guard<std::mutex> hold(lock_);
    return posts_[key];
}
Moment Team::collect(uint64_t key) {
    std::lock_guard<std::mutex> hold(lock_);
    Moment at = posts_[key];
    posts_.erase(key);
    bump();
    return at;
}

}  // namespace twin
