// The race detector: which instruction accessed which bytes, and was the access ordered? It keeps a vector clock for
// each pipe and a list of address intervals for each memory.
//
// Every pipe runs its instructions in order; between pipes only flags, queues and barriers give an order. An access is
// identified by (pipe, its number on that pipe). It happened before an instruction exactly when the instruction's
// vector clock for that pipe has reached that number. Two accesses to the same bytes, at least one of them a write,
// without that order are a race, whichever came first in this run. The cost is per instruction and per interval, never
// per byte.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "twin/base/abi.h"

namespace twin {

constexpr int kPipes = int(Pipe::Count);

struct VectorClock {  // for each pipe: how many of its instructions are known to be done
    uint32_t seen[8] = {};
    uint32_t far[8] = {};  // the same of the other two cores of a block, four pipes of each: see GmClock
    // The clock of a pipe: how many of the pipe's own instructions are over, not only begun, when its next one begins.
    // Copies of one pipe need that where they write the same bytes.
    uint32_t done = 0;
    void hear(const VectorClock& o, Pipe self) {
        join(o);
        done = std::max(done, o.seen[int(self)]);
    }
    void join(const VectorClock& o) {
        for (int i = 0; i < 8; i++) seen[i] = std::max(seen[i], o.seen[i]);
        for (int i = 0; i < 8; i++) far[i] = std::max(far[i], o.far[i]);
    }
};

struct Access {
    uint32_t number = 0;  // 0: none
    Pipe pipe = Pipe::S;
    bool atomic = false;
    Here here{nullptr, 0};
    Access() = default;
    Access(uint32_t n, Pipe p, Here h) : number(n), pipe(p), here(h) {}
};

enum class Race { None, ReadAfterWrite, WriteAfterRead, WriteAfterWrite };

struct Conflict {
    Race race = Race::None;
    Access other;
    bool gap = false;  // of a read: some bytes were never written
};

class Hazards {
public:
    void clear() { cells_.clear(); }
    // Bytes that an earlier copy of the same pipe also writes and may still be writing: filled by write().
    struct Shared {
        uint64_t lo, hi;
        Access other;
    };
    std::vector<Shared> shared;
    // Records a read or write of [lo, hi) by `me`, whose vector clock is `now`; returns the first conflict.
    Conflict read(uint64_t lo, uint64_t hi, const Access& me, const VectorClock& now, bool keep = true);
    Conflict write(uint64_t lo, uint64_t hi, const Access& me, const VectorClock& now);
    bool any_written(uint64_t lo, uint64_t hi) const;
    // the first whole piece that was never written; hi: there is none
    uint64_t unwritten(uint64_t lo, uint64_t hi, uint32_t piece) const;
    // The newest write to [lo, hi) by another pipe than S, for scalar accesses, which the compiler synchronises itself.
    template <typename F> void each(uint64_t lo, uint64_t hi, F f) const {
        for (size_t i = first(lo); i < cells_.size() && cells_[i].lo < hi; i++) f(cells_[i]);
    }
    struct Cell {
        uint64_t lo, hi;
        Access write;
        Access reads[3];  // the last by V, MTE3 and any other pipe
    };
private:
    static int reader_slot(Pipe p) { return p == Pipe::V ? 0 : p == Pipe::MTE3 ? 1 : 2; }
    static bool unordered(const Access& a, const Access& me, const VectorClock& now) {
        return a.number && a.pipe != me.pipe && now.seen[int(a.pipe)] < a.number;
    }
    size_t first(uint64_t lo) const {  // index of the first cell that ends after lo
        if (cells_.empty() || cells_.back().hi <= lo) return cells_.size();
        size_t a = 0, b = cells_.size();
        while (a < b) {
            size_t m = (a + b) / 2;
            if (cells_[m].hi <= lo) a = m + 1;
            else b = m;
        }
        return a;
    }
    static bool overtakes(const Access& a, const Access& me, const VectorClock& now) {
        return a.pipe == me.pipe && a.number > now.done && a.number < me.number && !(a.atomic && me.atomic) &&
               (me.pipe == Pipe::MTE2 || me.pipe == Pipe::MTE3);
    }
    void split(uint64_t at);
    void cover(uint64_t lo, uint64_t hi);
    std::vector<Cell> cells_;  // sorted, disjoint
};

}  // namespace twin
