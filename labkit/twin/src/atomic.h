// Stores to GM that add, or keep the larger or smaller value, instead of overwriting.
#pragma once
#include <cstddef>
#include <cstdint>

#include "twin/abi.h"

namespace twin {

enum class Atomic : uint8_t { None, Add, Max, Min };

// What stores of the MTE3 and FIX pipes do: a register of the core, set by SetAtomicAdd and its kin.
struct AtomicMode {
    Atomic op = Atomic::None;
    Dt type = Dt::F32;
    Here here{nullptr, 0};
    explicit operator bool() const { return op != Atomic::None; }
};

// dst = dst (op) src, element by element; bytes that make no whole element stay as they are.
void atomic_store(const AtomicMode&, uint8_t* dst, const uint8_t* src, size_t bytes);

}  // namespace twin
