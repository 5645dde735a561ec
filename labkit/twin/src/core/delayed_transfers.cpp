#include "core/delayed_transfers.h"

#include <algorithm>
#include <iterator>

namespace twin {

// The first seeds are chosen so that each pair of pipes runs in both orders; what follows is drawn.
void DelayedTransfers::clear(bool on_, uint32_t seed, uint32_t core) {
    struct Choice {
        uint8_t early;
        bool compute_late, swaps;
    };
    constexpr auto bit = [](Pipe p) { return uint8_t(1 << int(p)); };
    constexpr uint8_t kIn = bit(Pipe::MTE2), kOut = bit(Pipe::MTE3) | bit(Pipe::FIX), kL0 = bit(Pipe::MTE1);
    constexpr Choice kFirst[] = {
        {0, false, false},  {kIn | kOut | kL0, true, false}, {kIn, true, true},
        {kOut, true, true}, {kIn | kL0, false, false},       {0, true, true},
        {kL0, true, false}, {kOut | kL0, false, true},
    };
    on = on_;
    swapped = false;
    random_ = (seed * 0x9e3779b97f4a7c15ull) ^ (core * 0xff51afd7ed558ccdull) ^ 0x2545f4914f6cdd1dull;
    uint64_t drawn = (seed + 1) * 0xd6e8feb86659fd93ull >> 32;
    Choice c = seed < std::size(kFirst) ? kFirst[seed]
                                        : Choice{uint8_t(drawn), (drawn >> 8) % 3 != 0, (drawn >> 10) % 3 != 0};
    each_anew_ = seed >= std::size(kFirst) && seed % 4 == 3;
    early_ = c.early;
    compute_late_ = on && c.compute_late;
    swaps_ = c.swaps;
    waits_after_signals_ = on && (seed & 2);
    for (auto& pipe : waiting_) pipe.clear();
    overwritten_.clear();
}

void DelayedTransfers::push(const Access& a, const VectorClock& known, Effect effect) {
    waiting_[int(a.pipe)].push_back(Transfer{a.number, ++turn_, known, std::move(effect)});
    if (at_once(a.pipe)) settle(int(a.pipe), a.number);
}

bool DelayedTransfers::at_once(Pipe p) {
    if (!each_anew_) return early_ >> int(p) & 1;
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return (random_ >> 33) % 3 == 0;
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

// Copies that no barrier keeps apart may overtake one another.
size_t DelayedTransfers::next(int pipe, uint32_t upto) const {
    const auto& waiting = waiting_[pipe];
    size_t last = 0;
    if (swaps_ && (Pipe(pipe) == Pipe::MTE2 || Pipe(pipe) == Pipe::MTE3))
        for (size_t i = 1; i < waiting.size() && waiting[i].number <= upto; i++)
            if (waiting[i].known.done < waiting.front().number) last = i;
    return last;
}

void DelayedTransfers::settle(int pipe, uint32_t upto) {
    auto& waiting = waiting_[pipe];
    while (!waiting.empty() && waiting.front().number <= upto) {
        size_t at = next(pipe, upto);
        Transfer t = std::move(waiting[at]);
        waiting.erase(waiting.begin() + long(at));
        for (int p = 0; p < kPipes; p++) settle(p, p == pipe ? t.known.done : t.known.seen[p]);
        bool before = std::exchange(swapped, at != 0);
        take_place(t);
        swapped = before;
    }
}

void DelayedTransfers::settle(const VectorClock& known) {
    for (int p = 0; p < kPipes; p++) settle(p, known.seen[p]);
}

// Performs every transfer that was never waited for. Stores first, so that they miss the results that they did not wait
// for.
void DelayedTransfers::flush() {
    for (Pipe p : {Pipe::MTE3, Pipe::FIX, Pipe::MTE1, Pipe::MTE2, Pipe::V, Pipe::M}) settle(int(p), ~0u);
}

}  // namespace twin
