// One core executes instructions on behalf of another. A tensor at an AIV's position TSCM lies in the L1 of its block's
// AIC, so the AIC does the copy. And while a Matmul object calls functions of the kernel, these run on its cube core.
#pragma once
#include <algorithm>

#include "core/machine.h"

namespace twin {

// Makes `c` the current core for as long as this object exists. It works on the stack of the core before.
class OnCore {
public:
    explicit OnCore(Core* c) : before_(core), on_(c), stack_from_(c->stack_from) {
        c->stack_from = before_->stack_from;
        core = c;
    }
    ~OnCore() {
        on_->stack_from = stack_from_;
        core = before_;
    }
    OnCore(const OnCore&) = delete;
private:
    Core *before_, *on_;
    uint64_t stack_from_;
};

// The core that owns this L1 memory if it is not the current one; null: the current core's own memory.
inline Core* l1_owner_of(const Loc& l) {
    constexpr uint8_t kTscm = 13;
    return l.pos == kTscm && l.mem == Mem::L1 && core->id.kind == Kind::AIV ? core->cube : nullptr;
}

// Runs the instruction on the owner. It starts there when the signal of the current core has arrived; the owner does
// not know the AIV's buffer, so the operand is reduced to its address.
class L1Proxy : public OnCore {
public:
    L1Proxy(Core* owner, Loc& l)
        : OnCore((owner->trace.await(Pipe::S, core->trace.mark(Pipe::S), chip.cross_flag), owner)) {
        l.buf = 0;
    }
};

}  // namespace twin
