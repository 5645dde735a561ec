// A core's on-chip memory, mapped so that an address on the chip is the lower half of a real pointer.
#pragma once
#include <cstddef>
#include <cstdint>

namespace twin {

// `bytes` of memory that begin at a multiple of 4 GiB. Kernels either cast GetPhyAddr() to a pointer and read through
// it, or cut it to 32 bits and use that as the on-chip address: both work. Never unmapped: cores live as long as the
// process.
uint8_t* map_memory(size_t bytes);

}  // namespace twin
