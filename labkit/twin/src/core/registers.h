// State that a kernel sets once and later instructions use.
#pragma once
#include "core/cache.h"
#include "twin/base/abi.h"

namespace twin {

// How the cube rounds fp32 operands under HF32: they lose their lowest 12 bits. Even: to nearest, ties to even; Zero:
// towards zero.
enum class Hf32 : uint8_t { Off, Even, Zero };

enum class Atomic : uint8_t { None, Add, Max, Min };

// The atomic mode of stores by the MTE3 and FIX pipes: a register of the core, set by SetAtomicAdd and related calls.
struct AtomicMode {
    Atomic op = Atomic::None;
    Dt type = Dt::F32;
    Here here{nullptr, 0};
    explicit operator bool() const { return op != Atomic::None; }
};

struct Registers {
    AtomicMode atomic;
    uint64_t pad_value = ~0ull;    // SetPadValue; before that call, DataCopyPad's padding is undefined
    uint8_t* workspace = nullptr;  // SetSysWorkspace
    int64_t control = 1ll << 48;   // CTRL; bit 48: inf and NaN are kept
};

}  // namespace twin
