// What the copies share: their limits, how far they reach, how they are booked.
#pragma once
#include "core/machine.h"

namespace twin {

bool plausible(Dma&, Here);  // false: nothing is to be moved, or the parameters are refused; cuts a length down to 32 bytes
uint64_t extent(const Dma&, uint64_t stride, uint64_t last);
void check_stale(Gm, uint64_t bytes, Here);  // says so when a scalar store waits in the data cache for these bytes
void book_local(const Core::Ticket&, Loc, const Dma&, uint64_t stride, uint32_t piece, bool write);

}  // namespace twin
