// What a kernel sets once and later instructions go by.
#pragma once
#include "atomic.h"
#include "cache.h"

namespace twin {

struct Registers {
    AtomicMode atomic;
    uint64_t pad_value = ~0ull;         // SetPadValue; until then what DataCopyPad leaves beside a block is anything
    uint8_t* workspace = nullptr;       // SetSysWorkspace
    int64_t control = 1ll << 48;        // CTRL; bit 48: inf and NaN are kept
};

}  // namespace twin
