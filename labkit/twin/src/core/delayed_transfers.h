// Adversarial schedules. Every order that flags, queues and barriers allow is one that the hardware may take; these try
// some that differ most from the program's, chosen by a seed, so that a race shows in the numbers.
//
// Seed 0: every transfer is performed as late as the synchronisation allows: when another instruction first relies on
// it, or when the block ends; by then its source may have been overwritten. Results of the vector and the cube unit are
// delayed as well for a later transfer that has not waited for them: the bytes that they overwrote are kept, and that
// transfer reads the old bytes.
// Other seeds: some pipes are late in this way and others perform at once what they are given, before what late pipes
// still have to do (a copy that comes early); among the late ones may be the vector and the cube unit. Copies of one
// pipe without a barrier between them may change places. Scalar stores to GM stay in lines of the data cache. Under
// half of the seeds a core that signals to another lets the others run first, so that what it does next comes late to
// them.
#pragma once
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "core/hazard.h"

namespace twin {

enum class Schedule : uint8_t { Program, Worst };
inline void read_schedule(const char* text, Schedule& schedule, uint32_t& seed) {  // "program", "worst", "worst:7"
    schedule = std::strncmp(text, "worst", 5) == 0 ? Schedule::Worst : Schedule::Program;
    seed = schedule == Schedule::Worst && text[5] == ':' ? uint32_t(std::strtoul(text + 6, nullptr, 10)) : 0;
}

class DelayedTransfers {
public:
    bool on = false;
    bool swapped = false;  // the transfer that is being performed has changed places with an earlier one
    static bool delays(Pipe p) { return p == Pipe::MTE1 || p == Pipe::MTE2 || p == Pipe::MTE3 || p == Pipe::FIX; }
    bool computes_late() const { return compute_late_; }
    bool waits_after_signals() const { return waits_after_signals_; }
    bool takes(Pipe p) const { return delays(p) || (compute_late_ && (p == Pipe::V || p == Pipe::M)); }
    void clear(bool on_, uint32_t seed, uint32_t core);
    template <typename F> void push(const Access& a, const VectorClock& known, F effect) {
        push(a, known, Effect(new Held<F>(std::move(effect))));
    }
    void keep(const Access&, uint8_t* at, uint32_t bytes);  // before V or M writes here
    void settle(const VectorClock& known);                  // performs every transfer that `known` includes
    void flush();                                           // performs every remaining transfer
private:
    // What std::function would be: <functional> is a tenth of what every source that knows a core has to read.
    struct Callable {
        virtual ~Callable() = default;
        virtual void call() = 0;
    };
    template <typename F> struct Held final : Callable {
        explicit Held(F&& f) : effect(std::move(f)) {}
        void call() override { effect(); }
        F effect;
    };
    using Effect = std::unique_ptr<Callable>;
    struct Transfer {
        uint32_t number;
        uint64_t turn;  // in program order
        VectorClock known;
        Effect effect;
    };
    struct Overwritten {
        Access by;
        uint64_t turn;
        uint8_t* at;
        std::vector<uint8_t> old;
    };
    void push(const Access&, const VectorClock& known, Effect);
    void settle(int pipe, uint32_t upto);
    size_t next(int pipe, uint32_t upto) const;  // which of those that wait comes first
    bool at_once(Pipe);
    void take_place(const Transfer&);
    std::deque<Transfer> waiting_[kPipes];
    std::deque<Overwritten> overwritten_;
    uint64_t turn_ = 0, random_ = 0;
    bool compute_late_ = false, swaps_ = false, each_anew_ = false;  // each_anew: early or late is drawn each time
    bool waits_after_signals_ = false;
    uint8_t early_ = 0;  // a bit for each pipe that performs at once
};

}  // namespace twin
