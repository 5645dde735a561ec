// What a core does to GM that another core's order has to be known for: the ranges that it stored to, with the line and
// enough of the values to tell whether another core stored the same; and the bytes that it read before any other core's
// flag had reached it, so that nothing orders the two if another core stores to them.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/hazard.h"
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

// What the cores of one block (0 and 1 the AIVs, 2 the AIC) know of each other's instructions that reach GM.
constexpr Pipe kGmPipes[] = {Pipe::S, Pipe::MTE2, Pipe::MTE3, Pipe::FIX};
constexpr int kBlockCores = 3;

struct GmClock {
    uint32_t seen[kBlockCores][4] = {};
    void join(const GmClock& o) {
        for (int c = 0; c < kBlockCores; c++)
            for (int p = 0; p < 4; p++) seen[c][p] = std::max(seen[c][p], o.seen[c][p]);
    }
};

// The first and the second of the other two cores.
constexpr int other_core(int self, int which) { return which < self ? which : which + 1; }
GmClock gm_clock(const VectorClock&, int self);
void learn(VectorClock&, int self, const GmClock&);

// The accesses to GM of one core of a mixed block, each with what the core had heard from the others by then. An access
// that is made again while nothing new was heard is one entry, with the number of the last: who is ordered against the
// last is ordered against all.
struct GmStep {
    GmRead place;
    uint32_t number, heard;  // on its pipe; index into GmSteps::heard
    uint32_t first;          // the number of the first that this entry stands for
    uint8_t pipe;            // of kGmPipes
    bool write, atomic;
};

class GmSteps {
public:
    std::vector<GmStep> steps;
    std::vector<std::array<uint32_t, 8>> heard;
    void clear();
    void note(const Access&, const VectorClock& now, uint64_t lo, uint64_t row, uint64_t apart, uint64_t rows,
              bool write, bool atomic);

private:
    static constexpr size_t kMost = 1 << 15;  // later ones are not compared
    std::array<uint32_t, 64> recent_{};
};

}  // namespace twin
