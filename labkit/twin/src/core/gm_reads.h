// GM bytes that a core read before any other core's flag had reached it: if another core stores to them, nothing orders
// the two.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "core/gm_writes.h"
#include "twin/base/abi.h"

namespace twin {

struct GmRead {
    uint64_t lo, hi;  // rows of `row` bytes, `apart` from one to the next
    uint64_t row, apart;
    uint32_t phase;
    int line;
    const char* file;
    bool exact, scalar;  // exact: not rounded up to blocks of 32 bytes
    // How many of the bytes [from, to) are read. The bytes that a copy adds by rounding at either end do not count.
    uint64_t of(uint64_t from, uint64_t to) const;
};

class SharedReads {
public:
    void clear() { entries_.clear(); }
    void note(const GmRead&);
    std::vector<GmRead> take() { return std::move(entries_); }

private:
    static constexpr size_t kMost = 1 << 15;  // bounds the memory for a core that reads at random
    std::vector<GmRead> entries_;
    std::array<uint32_t, 64> recent_{};  // indices of entries, hashed by place and line
};

}  // namespace twin
