// GM ranges that a core stored to: the address, the line, and enough of the values to tell whether another core stored
// the same.
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
    uint8_t slot = 0;                            // of the core in its block
    bool known = false;                          // the values below are valid
    uint64_t stamp = 0;                          // hash over samples of all stores merged into this entry
    uint8_t head[kEdge] = {}, tail[kEdge] = {};  // the first and the last bytes

    void values(const uint8_t* from, uint64_t bytes);               // of a new entry; from == null: unknown
    void append(uint64_t to, const uint8_t* from, uint64_t bytes);  // a store that begins where this one ends
    bool same_values(const GmWrite& other) const;  // compares the bytes that both have; false if it cannot decide
};

}  // namespace twin
