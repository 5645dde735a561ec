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
    // Returns how many of these flags the receiver now has that it has not waited for: the most of all receivers.
    size_t set(const Core&, int mode, int id, Signal);
    bool received(const Core&, int id);
    Signal take(const Core&, int id);

    // Flags that the library sets as well: SyncAll has 11 to 14, each Matmul object two from 0 on.
    struct Taken {
        uint32_t block;
        int id;
        Here here;
        bool by_matmul;
    };
    void note_meeting() { meets_ = true; }
    void note_matmuls(uint32_t objects);
    std::vector<Taken> taken() const;

    // Lines of GM that lie dirty in the data cache of a core, as far as it has told before a signal.
    struct DirtyLine {
        size_t core = 0;
        uint64_t bytes = 0;  // a bit for each
        uint32_t block = 0, phase = 0;
        Here here{nullptr, 0};
    };
    std::atomic<uint32_t> dirty_lines{0};
    void publish(const Core&, const DataCache::Line&);
    void retract(const Core&, const std::vector<uint64_t>& lines);
    // How many bytes of [lo, hi) another core than this one holds; where, in the last argument.
    uint64_t dirty_elsewhere(const Core&, uint64_t lo, uint64_t hi, DirtyLine&);

    // Workspaces in GM of synchronisation by software.
    void note_workspace(uint64_t lo, uint64_t hi);
    std::vector<std::pair<uint64_t, uint64_t>> workspaces;

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
    void copy_maxima(std::vector<std::vector<Stamp>>& known);  // those behind the ones that `known` has

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
    size_t complete(int mode, int id, uint32_t group, const std::vector<size_t>& from, const std::vector<size_t>& to);

    std::map<uint64_t, std::vector<DirtyLine>> dirty_;  // by the line's address
    std::mutex lock_;
    std::atomic<uint64_t> epoch_{0};
    std::map<std::tuple<size_t, int, int>, std::vector<Signal>> set_;  // (core, mode, id) -> signals
    std::map<std::tuple<uint32_t, int, int>, size_t> completed_;  // (group, mode, id) -> how many have come through
    std::map<std::pair<size_t, int>, std::deque<Signal>> inbox_;  // (core, id) -> signals
    std::atomic<bool> meets_{false};                              // some core has called SyncAll
    uint32_t matmuls_ = 0;                                        // Matmul objects of a core of a mixed kernel
    std::vector<Taken> by_hand_;                                  // flags that the kernel sets itself, once a line
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
