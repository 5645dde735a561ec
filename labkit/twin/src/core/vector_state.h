// Registers of the vector unit that one instruction sets and another reads.
#pragma once
#include <cstdint>

#include "twin/base/abi.h"

namespace twin {

struct VectorState {
    // The mask of the mask/repeat forms: lanes (normal mode), or in its low word a number of elements (counter mode).
    uint64_t mask[2] = {~0ull, ~0ull};
    bool counter = false;
    uint8_t compare[16] = {};  // CMPMASK: bits of Compare, or what SetCmpMask put there for Select
    uint64_t deq = 0;          // DEQSCALE; `deq_form`: which of its three layouts was set
    Loc deq_at;                // of the third
    enum class Deq : uint8_t { Unset, Half, Scalar, Tensor } deq_form = Deq::Unset;
    uint64_t sum = 0;                 // bits that GetAccVal reads
    uint32_t extreme = 0, place = 0;  // value bits and index that GetReduceMaxMinCount reads

    void note(Dt t, const void* value, uint32_t at) {
        extreme = 0;
        __builtin_memcpy(&extreme, value, size_of(t));
        place = at;
    }
    void full() {  // the state in which the count forms leave the mask
        mask[0] = mask[1] = ~0ull;
        counter = false;
    }
};

}  // namespace twin
