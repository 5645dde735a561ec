// The main loop that a core's tape goes through, and the tape as it would be with another loop.
//
// A tape does not know its loops: they are found again as the stretch in which the same instructions of the same lines
// return. What an iteration waits for is told by how many iterations ago it was.
#pragma once
#include <vector>

#include "core/trace.h"

namespace twin {

class Loop {
public:
    Loop(const Tape&, uint32_t block, uint8_t core);
    size_t times() const { return times_; }  // 0: there is none

    // k iterations as one: each instruction k times as long, its start-up and the scalar unit's work paid once.
    Tape merged(size_t k) const;
    // The iterations [from, to) alone, with what stands before and behind the loop, as the tape of another block.
    Tape part(size_t from, size_t to, uint32_t block) const;
    // One more buffer everywhere: a pipe that waits for a place to be free waits for the one an iteration earlier.
    Tape another_buffer() const;
    // Events and two buffers in place of barriers for all pipes.
    Tape events_for_barriers() const;

private:
    struct Item {  // a note, and the waits right before it
        uint32_t first, note;
    };
    struct Place {  // of a mark: inside the loop, window and item of it
        bool inside;
        size_t window, item;
    };
    const Item& item(size_t window, size_t p) const { return items_[first_ + window * period_ + p]; }
    void find();
    void look(const std::vector<uint64_t>& kinds, size_t period, size_t& covered);
    Place place_of(Moment) const;
    Moment mark_at(size_t window, size_t p) const;
    bool own(const Note&) const;

    const Tape& tape_;
    uint64_t seat_;  // the upper half of its moments
    std::vector<Item> items_;
    std::vector<uint32_t> mark_items_;  // by number
    size_t first_ = 0, period_ = 0, times_ = 0;
};

// Where data is on its way through a core: a wait of an earlier station for a later one is a wait for a free place.
int station(uint8_t pipe);

}  // namespace twin
