// Shared by the copies: limits, extents, recording of accesses.
#pragma once
#include "core/machine.h"

namespace twin {

inline bool moves(const Dma& d) { return d.blocks && d.len; }  // documented: else no operation
bool plausible(Dma&, Here);  // false: the parameters are refused; rounds the length down to 32 bytes
uint64_t extent(const Dma&, uint64_t stride, uint64_t last);
void check_stale(Gm, uint64_t bytes, Here);  // reports a scalar store to these bytes that is still in the data cache
void book_local(const Core::Ticket&, Loc, const Dma&, uint64_t stride, uint32_t piece, bool write);

}  // namespace twin
