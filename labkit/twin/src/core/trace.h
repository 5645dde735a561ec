// What a core did, in program order: the input from which the clock computes afterwards when each thing happened
// (clock/replay.h).
//
// A kernel runs without time. Each instruction appends an entry to its core's trace. A wait is an entry too: it names
// the stamp that it waits for.
#pragma once
#include <cstdint>
#include <vector>

#include "base/chip.h"
#include "twin/base/abi.h"

namespace twin {

// Identifies a point on a core's trace; its time is not known yet. 0 is the beginning of the launch. A stamp with the
// highest bit set (kMaxOf) stands for the latest of several others: CoreGroup::maxima.
using Stamp = uint64_t;
constexpr Stamp kMaxOf = 1ull << 63;
inline Stamp stamp_of(uint32_t block, uint8_t core, uint32_t index) {
    return uint64_t(block * 4 + core + 1) << 32 | index;
}
inline uint32_t core_index_of(Stamp m) { return uint32_t(m >> 32) - 1; }  // block * 4 + core

enum class EntryKind : uint8_t {
    Work,    // a pipe is busy for `cycles`
    Move,    // a pipe moves bytes between GM and the core: moves[ref]
    Scalar,  // the scalar unit itself is busy, and the timeline shows it
    Mark,    // stamp `ref`: the pipe has finished everything before this entry
    Await,   // the pipe continues no earlier than `cycles` after stamp `ref`; bytes 1: its counter takes it as busy
    Join,    // the scalar unit waits for every pipe
};

struct Entry {
    EntryKind kind;
    uint8_t pipe;
    uint16_t op;
    int32_t line;
    float before;  // cycles that the scalar unit spent since the last entry
    float cycles;
    uint32_t bytes;
    uint32_t startup = 0;  // of Work on pipe V: the start-up, in hundredths of a cycle
    uint64_t ref;          // Work: cost of UB bank conflicts in hundredths of a cycle; other kinds: see EntryKind
};
static_assert(sizeof(Entry) == 32, "millions of them are kept");

struct Move {
    uint64_t at, stride;  // address of the first row in GM; distance from row to row
    uint32_t row, rows;   // bytes, count
    Route route;
    bool out, bypass;
    bool atomic = false;  // reads, changes and writes GM
};

class Trace {
public:
    void begin(uint32_t block, uint8_t core);  // starts empty; reuses an earlier trace's memory where there is some
    void end();                                // gives its memory back, for later traces
    size_t limit = ~size_t{0};  // of entries; further ones are only counted (`lost`), and the time is extrapolated
    size_t lost = 0;
    bool full() const { return entries.size() >= limit; }
    void spend(double cycles) { before_ += float(cycles); }
    void work(Pipe p, Op op, int line, double cycles, uint64_t bytes, double startup = 0) {
        add(EntryKind::Work, p, op, line, cycles, bytes, uint64_t(banks * 100)).startup = uint32_t(startup * 100);
        banks = 0;
    }
    double banks = 0;  // UB bank conflicts: how many of the next Work entry's cycles they cost
    void move(Pipe p, Op op, int line, const Move& m) {
        add(EntryKind::Move, p, op, line, 0, uint64_t(m.row) * m.rows, moves.size());
        if (!full()) moves.push_back(m);
    }
    void scalar(int line, double cycles, uint32_t bytes) {
        if (!entries.empty() && !before_ && entries.back().kind == EntryKind::Scalar && entries.back().line == line) {
            entries.back().cycles += float(cycles);  // a loop of scalar accesses is one entry
            entries.back().bytes += bytes;
        } else if (!full() || lost_line_ != line || before_) {
            add(EntryKind::Scalar, Pipe::S, Op::Scalar, line, cycles, bytes, 0);
            lost_line_ = line;
        }
    }
    Stamp mark(Pipe p) {
        if (full()) return lost++, 0;
        Stamp m = stamp_of(block_, core_, marks_++);
        add(EntryKind::Mark, p, Op::Scalar, 0, 0, 0, m);
        return m;
    }
    void await(Pipe p, Stamp m, double after = 0, bool busy = false) {
        if (m || full())
            add(EntryKind::Await, p, Op::Scalar, 0, after, busy, m);  // of a full trace the marks are lost too
    }
    void join() { add(EntryKind::Join, Pipe::S, Op::Scalar, 0, 0, 0, 0); }
    uint32_t marks() const { return marks_; }
    double rest() const { return before_; }  // scalar cycles after the last entry

    std::vector<Entry> entries;
    std::vector<Move> moves;

private:
    Entry& add(EntryKind s, Pipe p, Op op, int line, double cycles, uint64_t bytes, uint64_t ref) {
        static thread_local Entry beyond;
        if (full()) return lost++, before_ = 0, lost_line_ = 0, beyond;
        entries.push_back({s, uint8_t(p), uint16_t(op), line, before_, float(cycles), uint32_t(bytes), 0, ref});
        before_ = 0;
        return entries.back();
    }
    uint32_t block_ = 0, marks_ = 0;
    int lost_line_ = 0;  // of the last entry that was lost, where that was a scalar access
    uint8_t core_ = 0;
    float before_ = 0;
};

}  // namespace twin
