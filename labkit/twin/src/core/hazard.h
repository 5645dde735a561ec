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
        Access reads[3];  // the last by each pipe: see reader_slot
    };
private:
    // Pipes that read one memory each have a place of their own: V, MTE1 and M share one, as V reads UB, MTE1 reads L1,
    // and M reads what lies behind it.
    static int reader_slot(Pipe p) {
        return p == Pipe::V || p == Pipe::MTE1 || p == Pipe::M ? 0 : p == Pipe::MTE3 ? 1 : 2;
    }
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

// ---------------------------------------------------------------- unwritten bytes

// Bytes that nobody wrote, and where instructions carry them. An instruction that reads some is no fault yet: rounding
// up to a block, a repeat or a fractal does it, and what comes out may never be used. So the bytes it makes of them
// count as unwritten too, and remember the instruction; the finding comes when they reach GM, a number of the scalar
// unit or an address, and names that instruction.
//
// Bytes are written where an access of Hazards covers them or the scalar unit stored them, but for the `holes`. All of
// this is intervals, and costs next to nothing until something unwritten is read.

struct Origin {  // the instruction that first read unwritten bytes
    Here here{nullptr, 0};
    const char* what = nullptr;
    Mem mem = Mem::UB;
    uint64_t addr = 0, bytes = 0;
    bool rounding = false;  // no more than the ends of blocks, or rows of fractals, that are written otherwise
    bool said = false;
};

struct Hole {
    uint64_t lo, hi;
    int origin;  // index into the core's origins; kNobody: no instruction has read them
};
constexpr int kNobody = -1;

class Holes {  // sorted, disjoint
public:
    void clear() { holes_.clear(); }
    bool empty() const { return holes_.empty(); }
    bool touch(uint64_t lo, uint64_t hi) const {
        size_t i = first(lo);
        return i < holes_.size() && holes_[i].lo < hi;
    }
    void fill(uint64_t lo, uint64_t hi);
    void add(uint64_t lo, uint64_t hi, int origin);
    template <typename F> void each(uint64_t lo, uint64_t hi, F f) const {
        for (size_t i = first(lo); i < holes_.size() && holes_[i].lo < hi; i++)
            f(std::max(lo, holes_[i].lo), std::min(hi, holes_[i].hi), holes_[i].origin);
    }

private:
    size_t first(uint64_t lo) const {  // the first that ends after lo
        return size_t(
            std::upper_bound(holes_.begin(), holes_.end(), lo, [](uint64_t at, const Hole& h) { return at < h.hi; }) -
            holes_.begin());
    }
    std::vector<Hole> holes_;
};

class ScalarStores {  // one bit for each byte of UB that SetValue stored
public:
    void clear() {
        if (used_) std::fill(bits_.begin(), bits_.end(), 0);
        used_ = false;
    }
    bool used() const { return used_; }
    void set(uint64_t lo, uint64_t n, uint64_t size) {
        if (bits_.empty()) bits_.assign(size / 64 + 1, 0);
        used_ = true;
        for (uint64_t hi = lo + n; lo < hi;) {
            uint64_t some = std::min(hi - lo, 64 - lo % 64);
            bits_[lo / 64] |= (some == 64 ? ~0ull : (1ull << some) - 1) << lo % 64;
            lo += some;
        }
    }
    void unset(uint64_t lo, uint64_t hi) {
        if (used_)
            for (; lo < hi; lo++) bits_[lo / 64] &= ~(1ull << lo % 64);
    }
    bool at(uint64_t a) const { return used_ && bits_[a / 64] >> a % 64 & 1; }
    bool any(uint64_t lo, uint64_t hi) const {
        if (used_)
            for (; lo < hi; lo++)
                if (at(lo)) return true;
        return false;
    }

private:
    std::vector<uint64_t> bits_;
    bool used_ = false;
};

// Where the elements of an operand lie. Rows: `row` bytes, `apart` from start to start. Lanes (width < kRows): the
// active lanes of the mask/repeat form, strides in blocks of 32 bytes, `width` bytes a lane, 0: half a byte.
struct Operand {
    static constexpr uint32_t kRows = ~0u;
    Mem mem;
    bool write;
    uint32_t lo, bytes;  // from the first byte to the last
    uint32_t row, apart;
    uint32_t width = kRows, blk = 0, rep = 0;
    bool rows() const { return width == kRows; }
    uint32_t count() const { return apart ? (bytes - row) / apart + 1 : 1; }
};
struct Lanes {  // of the mask/repeat form
    uint64_t mask[2];
    uint32_t times = 0, lanes = 0, top = 0, last = 0;
    bool on(uint32_t lane) const { return mask[lane / 64] >> lane % 64 & 1; }
    uint32_t top_of(uint32_t repeat) const { return repeat + 1 < times ? top : last; }
    // Lies no byte that is switched off between active ones, or in a gap shorter than a block between repeats?
    bool dense(const Operand& o) const {
        auto low = [](uint64_t bits) { return !(bits & (bits + 1)); };
        bool prefix = top <= 64 ? low(mask[0]) || top == lanes : mask[0] == ~0ull && low(mask[1]);
        uint32_t row = top * o.width, step = o.rep * 32;
        return prefix && o.width && (times == 1 || step <= row || step >= row + 32);
    }
};

using Shadow = std::vector<uint8_t>;  // of a stretch of memory, 0xff for each unwritten byte

// The instruction under way.
struct Instruction {
    static constexpr size_t kMost = 64;  // operands
    std::vector<Operand> operands;
    struct Dark {  // an operand with unwritten bytes
        size_t operand;
        int origin;
        Shadow bytes;
    };
    std::vector<Dark> dark;
    Lanes lanes;
    bool opaque;   // what goes where is not known by the operands: the instruction carries it itself, or nobody does
    bool running;  // the documents allow a running sum: the second source and the destination stay in place
    bool partial() const { return !dark.empty(); }
    void begin() {
        operands.clear();
        dark.clear();
        lanes.times = 0;
        opaque = running = false;
    }
    // Of an operand's lane: its first byte.
    static uint64_t place(const Operand& o, uint32_t repeat, uint32_t lane) {
        uint32_t at = o.width ? lane * o.width : lane / 2;
        return o.lo + uint64_t(repeat) * o.rep * 32 + uint64_t(at / 32) * o.blk * 32 + at % 32;
    }
};

// Does a repeat write what a later one reads, or a part of what it reads itself?
bool repeats_overlap(const Operand& d, const Operand& s, const Lanes&);

}  // namespace twin
