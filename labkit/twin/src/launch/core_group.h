// The cores of one launch together: who waits for whom.
//
// A core that must wait names the condition, and its host thread plays another core meanwhile (players.cpp). Moments go
// with the signals: whoever waited goes on no earlier than the last one he waited for.
#pragma once
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "core/machine.h"

namespace twin {

class Team {
public:
    Team(uint32_t blocks, uint32_t aic, uint32_t aiv);  // cores of each kind a block
    const uint32_t blocks, aic, aiv;

    // Flags between cores. mode 0: all cores of one kind; 1: the AIVs of a block; 2: the AIC and the AIVs of a block.
    void set(const Core&, int mode, int id, Moment at);
    bool received(const Core&, int id);
    Moment take(const Core&, int id);

    // Barriers: one for each set of cores that meets.
    struct Arrival {
        int barrier;
        uint64_t turn;
    };
    Arrival arrive(int barrier, uint32_t cores, Moment at);
    bool met(const Arrival&);
    Moment met_at(const Arrival&);

    // Flags that cores keep in GM: IBSet and IBWait, and the turn that NotifyNextBlock passes on.
    bool posted(uint64_t key);
    void post(uint64_t key, Moment at);
    Moment posted_at(uint64_t key);
    Moment collect(uint64_t key);

    // Moments that stand for the last of several.
    std::vector<std::vector<Moment>> joints;

    // Raised by whatever may set a waiting core free; a scheduler that finds it unchanged has nothing new to look at.
    uint64_t epoch() const { return epoch_; }
    void bump() { epoch_++; }

private:
    static constexpr int kIds = 16;
    size_t seat(uint32_t block, Kind kind, uint32_t sub) const { return block * (aic + aiv) + (kind == Kind::AIC ? aiv : sub); }
    std::vector<size_t> cores(Kind, uint32_t first_block, uint32_t end_block) const;
    void complete(int mode, int id, uint32_t line, const std::vector<size_t>& from, const std::vector<size_t>& to);

    std::mutex lock_;
    std::atomic<uint64_t> epoch_{0};
    std::map<std::tuple<size_t, int, int>, std::vector<Moment>> set_;    // (core, mode, id) -> moments
    std::map<std::tuple<uint32_t, int, int>, size_t> completed_;         // (group, mode, id) -> how many have come through
    std::map<std::pair<size_t, int>, std::deque<Moment>> inbox_;         // (core, id) -> moments
    struct Barrier {
        uint32_t arrived = 0;
        std::vector<Moment> at, turns;
    };
    std::map<int, Barrier> barriers_;
    std::map<uint64_t, Moment> posts_;
    Moment joint(std::vector<Moment>);
};

// Lets the host thread play other cores until `ready` holds. Reports a deadlock, and stops the block, when it never can.
void wait_until(const char* call, Here, std::function<bool()> ready);

}  // namespace twin
