// What a core read in GM while no other core's flag had reached it: a store by another core to those bytes is out of order.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "twin/base/abi.h"
#include "core/gm_writes.h"

namespace twin {

struct GmRead {
    uint64_t lo, hi;       // rows of `row` bytes, `apart` from one to the next
    uint64_t row, apart;
    uint32_t phase;
    int line;
    const char* file;
    bool exact, scalar;    // exact: not rounded up to blocks of 32 bytes
    // How many of the bytes [from, to) are read; the bytes to which a copy rounds up, at either end, do not count.
    uint64_t of(uint64_t from, uint64_t to) const;
};

class SharedReads {
public:
    void clear() { entries_.clear(); }
    void note(const GmRead&);
    std::vector<GmRead> take() { return std::move(entries_); }

private:
    static constexpr size_t kMost = 1 << 15;  // a core that reads at random is not followed for ever
    std::vector<GmRead> entries_;
    std::array<uint32_t, 64> recent_{};  // entries, found by place and line
};

}  // namespace twin
