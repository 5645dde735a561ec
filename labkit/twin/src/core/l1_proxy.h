// One core does something for another: an AIV's position TSCM lies in L1 of the AIC of its block, which copies for it; and
// while a Matmul object calls the kernel's own functions, its cube core plays.
#pragma once
#include <algorithm>

#include "core/machine.h"

namespace twin {

// While it lives, `c` is the core that plays.
class OnCore {
public:
    explicit OnCore(Core* c) : before_(core) { core = c; }
    ~OnCore() { core = before_; }
    OnCore(const OnCore&) = delete;
private:
    Core* before_;
};

// Whoever keeps this memory for the playing core; null: it does itself.
inline Core* keeper_of(const Loc& l) {
    constexpr uint8_t kTscm = 13;
    return l.pos == kTscm && l.mem == Mem::L1 && core->seat.kind == Kind::AIV ? core->cube : nullptr;
}

// Sends the keeper: it begins when it has heard of it, and knows the memory by its address alone.
class Errand : public OnCore {
public:
    Errand(Core* keeper, Loc& l) : OnCore((keeper->tape.await(Pipe::S, core->tape.mark(Pipe::S), chip.cross_flag), keeper)) { l.buf = 0; }
};

}  // namespace twin
