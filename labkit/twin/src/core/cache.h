// The data cache between the scalar unit and GM, as far as the checks need it: which bytes have not been written back
// to GM. The values themselves are written through, because a line may be evicted at any time and stale values would
// prove nothing.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "twin/base/abi.h"

namespace twin {

class DataCache {
public:
    static constexpr uint64_t kLine = 64;
    struct Dirty {
        uint64_t lo, hi;
        Here here;
    };
    void clear() { dirty_.clear(); }
    void wrote(uint64_t lo, uint64_t hi, Here here) {
        if (!dirty_.empty() && dirty_.back().hi == lo && dirty_.back().here.line == here.line) dirty_.back().hi = hi;
        else dirty_.push_back({lo, hi, here});
    }
    void clean_all() { dirty_.clear(); }
    // A single line is cleaned from the address to the line's end, as documented.
    void clean_line(uint64_t at) {
        uint64_t lo = at, hi = at / kLine * kLine + kLine;
        std::vector<Dirty> left;
        for (const Dirty& d : dirty_) {
            if (d.lo < lo) left.push_back({d.lo, std::min(d.hi, lo), d.here});
            if (d.hi > hi) left.push_back({std::max(d.lo, hi), d.hi, d.here});
        }
        dirty_ = std::move(left);
    }
    const Dirty* holds(uint64_t lo, uint64_t hi) const {
        for (const Dirty& d : dirty_)
            if (d.lo < hi && lo < d.hi) return &d;
        return nullptr;
    }
    bool empty() const { return dirty_.empty(); }
private:
    std::vector<Dirty> dirty_;
};

}  // namespace twin
