// Stores to GM that add, or keep the larger or smaller value, instead of overwriting.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/registers.h"

namespace twin {

// Such a store reads what lies there, and takes all bits for its own type's: reports memory into which nobody stored,
// and a tensor of another type. stored: Dt::Count where it is not known.
void check_atomic(const Gm&, uint64_t bytes, Dt stored, Here);

// dst = dst (op) src, element by element; bytes that make no whole element stay as they are.
void atomic_store(const AtomicMode&, uint8_t* dst, const uint8_t* src, size_t bytes);

}  // namespace twin
