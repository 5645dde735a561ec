// The main loop of a core's trace, and the trace rewritten as if the loop were different.
//
// A trace does not record loops. They are recovered as the stretch in which the same instructions of the same lines
// repeat. What an iteration waits for is expressed as the number of iterations back.
#pragma once
#include <vector>

#include "core/hazard.h"
#include "core/trace.h"

namespace twin {

class Loop {
public:
    Loop(const Trace&, uint32_t block, uint8_t core);
    size_t times() const { return times_; }  // 0: there is none

    // k iterations merged into one: each instruction k times as long, its start-up and the scalar unit's work paid
    // once.
    Trace merged(size_t k) const;
    // The iterations [from, to) only, with everything before and after the loop, as the trace of another block.
    Trace part(size_t from, size_t to, uint32_t block) const;
    // One more buffer in every queue: a pipe that waits for a free buffer waits for the one of an iteration earlier.
    Trace another_buffer() const;
    // PipeBarrier for all pipes replaced by events and double buffering.
    Trace events_for_barriers() const;

private:
    struct Item {  // an entry, and the waits right before it
        uint32_t first, entry;
    };
    struct Place {  // where a mark is: inside the loop or not, its window and its item
        bool inside;
        size_t window, item;
    };
    const Item& item(size_t window, size_t p) const { return items_[first_ + window * period_ + p]; }
    void find();
    void look(const std::vector<uint64_t>& kinds, size_t period, size_t& covered);
    Place place_of(Stamp) const;
    Stamp mark_at(size_t window, size_t p) const;
    bool own(const Entry&) const;

    const Trace& trace_;
    uint64_t core_index_;  // the upper half of its stamps
    std::vector<Item> items_;
    std::vector<uint32_t> mark_items_;  // item of each mark, by its number
    size_t first_ = 0, period_ = 0, times_ = 0;
};

// The position of a pipe in a core's data flow. A wait of an earlier station for a later one is a wait for a free
// buffer.
int station(uint8_t pipe);

// Which of the pipes that a core uses takes what another has produced.
class Flow {
public:
    explicit Flow(const Trace&);
    bool used[kPipes] = {};
    bool feeds(int q, int p) const;  // p is the next station behind q

private:
    int after_[kPipes];
};

}  // namespace twin
