// What a kernel sets once and later instructions go by.
#pragma once
#include "core/cache.h"
#include "twin/base/abi.h"

namespace twin {

enum class Atomic : uint8_t { None, Add, Max, Min };

// What stores of the MTE3 and FIX pipes do: a register of the core, set by SetAtomicAdd and its kin.
struct AtomicMode {
    Atomic op = Atomic::None;
    Dt type = Dt::F32;
    Here here{nullptr, 0};
    explicit operator bool() const { return op != Atomic::None; }
};

struct Registers {
    AtomicMode atomic;
    uint64_t pad_value = ~0ull;         // SetPadValue; until then what DataCopyPad leaves beside a block is anything
    uint8_t* workspace = nullptr;       // SetSysWorkspace
    int64_t control = 1ll << 48;        // CTRL; bit 48: inf and NaN are kept
};

}  // namespace twin
