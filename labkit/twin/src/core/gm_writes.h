// What a core stored in GM: where, from which line, and enough of the values to tell whether another core stored the same.
#pragma once
#include <cstdint>

#include "twin/base/abi.h"

namespace twin {

struct GmWrite {
    static constexpr uint32_t kEdge = 64;
    uint64_t lo, hi;
    uint32_t block, phase;
    bool ordered;
    const char* file;
    int line;
    bool atomic, cube;
    bool known = false;     // the values below were at hand
    uint64_t stamp = 0;     // of samples of all stores that make up this one
    uint8_t head[kEdge] = {}, tail[kEdge] = {};  // the first and the last bytes

    void values(const uint8_t* from, uint64_t bytes);                  // of a new entry; from null: not known
    void append(uint64_t to, const uint8_t* from, uint64_t bytes);     // a store that begins where this one ends
    bool same_values(const GmWrite& other) const;                      // in the bytes that both have; false where it cannot tell
};

}  // namespace twin
