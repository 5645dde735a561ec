#include "core/delayed_transfers.h"

#include <algorithm>

namespace twin {

void DelayedTransfers::clear(bool on_) {
    on = on_;
    for (auto& pipe : waiting_) pipe.clear();
    overwritten_.clear();
}

void DelayedTransfers::push(const Access& a, const VectorClock& known, Effect effect) {
    waiting_[int(a.pipe)].push_back(Transfer{a.number, ++turn_, known, std::move(effect)});
}

void DelayedTransfers::keep(const Access& by, uint8_t* at, uint32_t bytes) {
    // Old bytes are needed only for transfers that are still queued or will be issued soon.
    constexpr size_t kMost = 4096;
    if (overwritten_.size() == kMost) overwritten_.pop_front();
    overwritten_.push_back({by, ++turn_, at, std::vector<uint8_t>(at, at + bytes)});
}

void DelayedTransfers::take_place(const Transfer& t) {
    std::vector<Overwritten*> unseen;
    for (auto it = overwritten_.rbegin(); it != overwritten_.rend(); ++it)
        if (it->turn < t.turn && it->by.number > t.known.seen[int(it->by.pipe)]) unseen.push_back(&*it);
    auto swap = [](Overwritten* o) { std::swap_ranges(o->old.begin(), o->old.end(), o->at); };
    for (Overwritten* o : unseen) swap(o);  // newest first: back to what this transfer may see
    t.effect->call();
    for (auto o = unseen.rbegin(); o != unseen.rend(); ++o) swap(*o);
}

void DelayedTransfers::settle(int pipe, uint32_t upto) {
    auto& waiting = waiting_[pipe];
    while (!waiting.empty() && waiting.front().number <= upto) {
        Transfer t = std::move(waiting.front());
        waiting.pop_front();
        settle(t.known);
        take_place(t);
    }
}

void DelayedTransfers::settle(const VectorClock& known) {
    for (int p = 0; p < kPipes; p++) settle(p, known.seen[p]);
}

// Performs every transfer that was never waited for. Stores first, so that they miss the results that they did not wait
// for.
void DelayedTransfers::flush() {
    for (Pipe p : {Pipe::MTE3, Pipe::FIX, Pipe::MTE1, Pipe::MTE2}) settle(int(p), ~0u);
}

}  // namespace twin
