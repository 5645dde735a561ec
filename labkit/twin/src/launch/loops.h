// The main loop that a core's trace goes through, and the trace as it would be with another loop.
//
// A trace does not know its loops: they are found again as the stretch in which the same instructions of the same lines
// return. What an iteration waits for is told by how many iterations ago it was.
#pragma once
#include <vector>

#include "core/trace.h"

namespace twin {

class Loop {
public:
    Loop(const Trace&, uint32_t block, uint8_t core);
    size_t times() const { return times_; }  // 0: there is none

    // k iterations as one: each instruction k times as long, its start-up and the scalar unit's work paid once.
    Trace merged(size_t k) const;
    // The iterations [from, to) alone, with what stands before and behind the loop, as the trace of another block.
    Trace part(size_t from, size_t to, uint32_t block) const;
    // One more buffer everywhere: a pipe that waits for a place to be free waits for the one an iteration earlier.
    Trace another_buffer() const;
    // Events and two buffers in place of barriers for all pipes.
    Trace events_for_barriers() const;

private:
    struct Item {  // an entry, and the waits right before it
        uint32_t first, entry;
    };
    struct Place {  // of a mark: inside the loop, window and item of it
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
    std::vector<uint32_t> mark_items_;  // by number
    size_t first_ = 0, period_ = 0, times_ = 0;
};

// Where data is on its way through a core: a wait of an earlier station for a later one is a wait for a free place.
int station(uint8_t pipe);

}  // namespace twin
