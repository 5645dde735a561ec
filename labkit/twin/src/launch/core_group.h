// The cores of one launch and how they wait for one another.
//
// A core that has to wait passes the condition to wait_until(), and its host thread runs another core in the meantime
// (scheduler.cpp). Every signal carries a stamp: the core that waited continues no earlier than the latest stamp it
// received.
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

class CoreGroup {
public:
    CoreGroup(uint32_t blocks, uint32_t aic, uint32_t aiv);  // cores of each kind a block
    const uint32_t blocks, aic, aiv;

    // Flags between cores. mode 0: all cores of one kind; 1: the AIVs of a block; 2: the AIC and the AIVs of a block.
    struct Signal {
        Stamp at;
        GmClock told;  // by cores of the receiver's block
        Here here{nullptr, 0};
        bool far = false;  // a sender may know of other blocks
    };
    struct Left {  // a flag that nobody waited for
        uint32_t block;
        bool to_cube;
        int id;
        size_t times;
        Here here;
    };
    std::vector<Left> left() const;
    void set(const Core&, int mode, int id, Signal);
    bool received(const Core&, int id);
    Signal take(const Core&, int id);

    // Barriers: one for each set of cores that synchronises.
    struct Arrival {
        int barrier;
        uint64_t turn;
    };
    Arrival arrive(const Core&, int barrier, uint32_t cores, Signal);
    bool met(const Arrival&);
    Signal met_at(const Core&, const Arrival&);

    // Flags that cores keep in GM: IBSet and IBWait, and the turn that NotifyNextBlock passes on.
    bool posted(uint64_t key);
    void post(uint64_t key, Stamp at);
    Stamp posted_at(uint64_t key);
    Stamp collect(uint64_t key);

    // Sets of stamps, each of which counts as its latest: see kMaxOf.
    std::vector<std::vector<Stamp>> maxima;

    // Incremented by everything that may let a waiting core continue. If it has not changed, the scheduler need not
    // look again.
    uint64_t epoch() const { return epoch_; }
    void bump() { epoch_++; }

private:
    static constexpr int kIds = 16;
    size_t index_of(uint32_t block, Kind kind, uint32_t sub) const {
        return block * (aic + aiv) + (kind == Kind::AIC ? aiv : sub);
    }
    std::vector<size_t> cores(Kind, uint32_t first_block, uint32_t end_block) const;
    void complete(int mode, int id, uint32_t group, const std::vector<size_t>& from, const std::vector<size_t>& to);

    std::mutex lock_;
    std::atomic<uint64_t> epoch_{0};
    std::map<std::tuple<size_t, int, int>, std::vector<Signal>> set_;  // (core, mode, id) -> signals
    std::map<std::tuple<uint32_t, int, int>, size_t> completed_;  // (group, mode, id) -> how many have come through
    std::map<std::pair<size_t, int>, std::deque<Signal>> inbox_;  // (core, id) -> signals
    struct Barrier {
        uint32_t arrived = 0;
        std::vector<Stamp> at, turns;
        std::map<std::pair<uint64_t, uint32_t>, GmClock> told;  // (turn, block): by those of its cores that have come
    };
    std::map<int, Barrier> barriers_;
    std::map<uint64_t, Stamp> posts_;
    Stamp max_of(std::vector<Stamp>);
};

// Lets the host thread run other cores until `ready` holds. If it can never hold: reports a deadlock and stops the
// block.
void wait_until(const char* call, Here, std::function<bool()> ready);

}  // namespace twin
