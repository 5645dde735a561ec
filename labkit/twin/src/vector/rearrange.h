// Shared by the instructions that rearrange elements.
#pragma once
#include "twin/vector/gather.h"
#include "vector/vector.h"

namespace twin {

// The scalar unit reads a register that the vector unit wrote: it waits for it.
inline void await_vector() {
    core->known[int(Pipe::S)].join(core->known[int(Pipe::V)]);
    core->trace.await(Pipe::S, core->trace.mark(Pipe::V));
}

inline uint64_t end_of(Loc l) {  // end of the memory that an address behind this tensor may lie in
    return l.buf ? uint64_t(core->buffers[l.buf].addr) + core->buffers[l.buf].len : chip.size[int(l.mem)];
}

inline bool meets(Loc a, uint64_t an, Loc b, uint64_t bn) {
    return a.mem == b.mem && a.addr < b.addr + bn && b.addr < a.addr + an;
}

inline uint64_t repeats_for(uint64_t n, uint32_t lanes) { return (n + lanes - 1) / lanes; }

}  // namespace twin
