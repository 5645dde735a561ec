// Replays one core's trace against the clock.
//
// The scalar unit issues instructions to the pipes' queues in program order. Each pipe executes its queue in order and
// waits where the trace has an Await entry. A core is replayed on its own until it accesses GM; accesses to GM are
// served in order of time over all cores (launch/timeline.cpp).
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "clock/traffic.h"
#include "core/counters.h"
#include "core/hazard.h"

namespace twin {

struct TimelineEvent;

// What the replays of one launch share: the stamps that are known, and GM.
struct World {
    Traffic traffic;
    std::vector<std::vector<double>> known;  // by block * 4 + core, then number; NaN: not yet
    const std::vector<std::vector<Stamp>>* maxima = nullptr;
    bool lenient = false;         // a stamp that will never be resolved counts as past
    double time_of(Stamp) const;  // NaN: not yet known
    void resolve(Stamp, double);
};

class Replay {
public:
    Replay(const Trace& trace, World& world, uint32_t block, uint8_t core, double begin)
        : trace_(&trace), world_(&world), block_(block), core_(core), scalar_(begin) {
        for (Unit& u : units_) u.free = u.done = begin;
    }
    bool run();           // as far as possible without GM; true: some entry was processed
    double asks() const;  // the time of its next access to GM; infinity: it has none pending
    void serve();         // serves its earliest pending access to GM
    bool done() const;
    double end() const;  // when its last pipe was done
    // The same as if the entries that a full trace lost had gone on like its second half.
    double full_end() const;
    double scalar_now() const { return scalar_ + trace_->rest(); }

    double busy[kPipes] = {};
    Counters counters;
    std::vector<TimelineEvent>* events = nullptr;
    size_t keep = 0;  // events at most

private:
    static constexpr uint32_t kRing = 64;
    struct Queued {
        uint32_t entry;
        double issued;
    };
    struct Unit {
        uint32_t head = 0, tail = 0;
        Queued ring[kRing];
        double left[kRing] = {};  // when the entries left the queue
        double ready = 0, free = 0, done = 0, busy_until = 0;
        double begun = std::numeric_limits<double>::infinity();  // its next instruction, which waits for unit flags
        bool asking = false;
        double asked = 0;
    };
    bool scalar();
    bool pipe(int p);
    // What the counter of a pipe takes as busy before its next instruction, which starts at `start`; the one before was
    // over at `last`. The timeline shows the work alone.
    double waited_for_units(Unit& u, double start, double last) {
        double waited = std::max(0.0, start - std::max(u.begun, last));
        u.begun = std::numeric_limits<double>::infinity();
        counters.unit_wait += waited;
        return waited;
    }
    void leave(Unit& u, double at) { u.left[u.head++ % kRing] = at; }
    void show(int p, const Entry&, double start, double end);

    const Trace* trace_;
    World* world_;
    uint32_t block_;
    uint8_t core_;
    size_t next_ = 0;           // index of the next entry
    bool spent_ = false;        // the next entry's `before` has been added already
    double scalar_, half_ = 0;  // now, and when it had issued half the entries
    uint32_t waiting_ = 0;      // bit mask of the pipes whose queue is not empty
    Unit units_[kPipes];
};

double local_cycles();  // of the running core, by its own trace alone: what GetSystemCycle shows

}  // namespace twin
