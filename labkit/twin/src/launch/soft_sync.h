// The workspaces of synchronisation by software: SyncAll(gm, ub), IBSet and IBWait, WaitPreBlock and NotifyNextBlock.
#pragma once
#include "core/machine.h"

namespace twin {

constexpr uint64_t kMark = 32;  // bytes that a core's mark takes, in GM and in UB

struct SoftSync {
    const char* call;
    Here here;
    // Whether both workspaces have the room that the call needs, in bytes; reports sync-space.
    bool room(const Gm&, uint64_t need_gm, const Loc&, uint64_t need_ub) const;
    // Marks have to be zero before the first meeting: reports sync-unset.
    void zeroed(const Gm&, uint64_t offset, uint64_t bytes) const;
};

}  // namespace twin
