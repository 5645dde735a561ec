// One core's tape played against the clock.
//
// The scalar unit hands instructions to the pipes' queues in the order of the program; each pipe does its own in order,
// and waits where the tape says so. A core runs by itself until it needs GM, for which all cores wait in order of time
// (timeline.cpp).
#pragma once
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "core/counters.h"
#include "core/hazard.h"
#include "clock/traffic.h"

namespace twin {

struct TimelineEvent;

// What the replays of one launch share: the moments that are known, and GM.
struct World {
    Traffic traffic;
    std::vector<std::vector<double>> known;          // by block * 4 + core, then number; NaN: not yet
    const std::vector<std::vector<Moment>>* joints = nullptr;
    bool lenient = false;                            // what nobody resolves any more counts as past
    double time_of(Moment) const;                    // NaN: not yet known
    void resolve(Moment, double);
};

class Replay {
public:
    Replay(const Tape& tape, World& world, uint32_t block, uint8_t core, double begin) : tape_(&tape), world_(&world), block_(block), core_(core), scalar_(begin) {
        for (Unit& u : units_) u.free = u.done = begin;
    }
    bool run();             // as far as it goes without GM; true: it got on
    double asks() const;    // when it next needs GM; infinity: it does not
    void serve();           // gives it what it asks for first
    bool done() const;
    double end() const;     // when its last pipe was done
    double scalar_now() const { return scalar_ + tape_->rest(); }

    double busy[kPipes] = {};
    Counters counters;
    std::vector<TimelineEvent>* events = nullptr;
    size_t keep = 0;        // events at most

private:
    static constexpr uint32_t kRing = 64;
    struct Entry {
        uint32_t note;
        double issued;
    };
    struct Flight {
        double end;
        uint64_t bytes;
    };
    struct Unit {
        uint32_t head = 0, tail = 0;
        Entry ring[kRing];
        double left[kRing] = {};              // when the entries left the queue
        double ready = 0, free = 0, done = 0, busy_until = 0;
        bool asking = false;
        double asked = 0;
        uint64_t in_flight = 0;
        std::deque<Flight> flights;
    };
    bool scalar();
    bool pipe(int p);
    void leave(Unit& u, double at) { u.left[u.head++ % kRing] = at; }
    void show(int p, const Note&, double start, double end);

    const Tape* tape_;
    World* world_;
    uint32_t block_;
    uint8_t core_;
    size_t next_ = 0;       // note
    bool spent_ = false;    // its `before` is counted
    double scalar_;
    uint32_t waiting_ = 0;  // pipes with something in their queue, a bit each
    Unit units_[kPipes];
};

double local_cycles();  // of the playing core, by its own tape alone: what GetSystemCycle shows

}  // namespace twin
