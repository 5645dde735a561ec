// Stores to GM that add, or keep the larger or smaller value, instead of overwriting.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/registers.h"

namespace twin {

// dst = dst (op) src, element by element; bytes that make no whole element stay as they are.
void atomic_store(const AtomicMode&, uint8_t* dst, const uint8_t* src, size_t bytes);

}  // namespace twin
