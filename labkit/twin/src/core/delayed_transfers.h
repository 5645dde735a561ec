// The adversarial schedule: every transfer is delayed as long as the synchronisation allows, so that a race shows in
// the numbers and not only in a finding.
//
// A transfer (MTE1, MTE2, MTE3, FIX) is queued together with its pipe's vector clock at issue. It is performed when an
// instruction is issued whose vector clock includes it, at the latest when the block ends; by then its source may have
// been overwritten. Results of the vector and the cube unit are delayed as well for a later transfer that has not
// waited for them: the bytes that they overwrote are kept, and that transfer reads the old bytes.
#pragma once
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "core/hazard.h"

namespace twin {

enum class Schedule : uint8_t { Program, Worst };

class DelayedTransfers {
public:
    bool on = false;
    static bool delays(Pipe p) { return p == Pipe::MTE1 || p == Pipe::MTE2 || p == Pipe::MTE3 || p == Pipe::FIX; }
    void clear(bool on_);
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
    void take_place(const Transfer&);
    std::deque<Transfer> waiting_[kPipes];
    std::deque<Overwritten> overwritten_;
    uint64_t turn_ = 0;
};

}  // namespace twin
