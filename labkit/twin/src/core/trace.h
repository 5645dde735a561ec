// What a core did, in the order it was told to: all that the clock needs to say, afterwards, when it happened (clock.h).
//
// A kernel runs without time. Its instructions leave notes; whoever waits for something names the moment he waits for.
#pragma once
#include <cstdint>
#include <vector>

#include "base/chip.h"
#include "twin/base/abi.h"

namespace twin {

// A point on a core's tape, by name: 0 is the beginning of the launch. Joints (Team) have the highest bit set.
using Moment = uint64_t;
constexpr Moment kJoint = 1ull << 63;
inline Moment moment_of(uint32_t block, uint8_t core, uint32_t index) { return uint64_t(block * 4 + core + 1) << 32 | index; }
inline uint32_t seat_of(Moment m) { return uint32_t(m >> 32) - 1; }  // block * 4 + core

enum class Act : uint8_t {
    Work,    // a pipe is busy for `cycles`
    Move,    // a pipe moves bytes between GM and the core: moves[ref]
    Scalar,  // the scalar unit itself is busy, and it shows
    Mark,    // moment `ref`: the pipe has done all that came before
    Await,   // the pipe goes on no earlier than `cycles` after moment `ref`
    Join,    // the scalar unit waits for every pipe
};

struct Note {
    Act step;
    uint8_t pipe;
    uint16_t op;
    int32_t line;
    float before;   // cycles that the scalar unit spent since the last note
    float cycles;
    uint32_t bytes;
    uint32_t startup = 0;  // of a vector instruction's cycles, in hundredths
    uint64_t ref;          // of work: what UB's banks cost, in hundredths of a cycle
};
static_assert(sizeof(Note) == 32, "millions of them are kept");

struct Move {
    uint64_t at, stride;  // the first row in GM, and from one to the next
    uint32_t row, rows;   // bytes, count
    Way way;
    bool out, bypass;
};

class Tape {
public:
    void begin(uint32_t block, uint8_t core);  // empty, in memory that an earlier tape may have had
    void end();                                // gives its memory back, for tapes to come
    size_t limit = ~size_t{0};  // of notes; those that come then are only counted, and the time is an extrapolation
    size_t lost = 0;
    bool full() const { return notes.size() >= limit; }
    void spend(double cycles) { before_ += float(cycles); }
    void work(Pipe p, Op op, int line, double cycles, uint64_t bytes, double startup = 0) {
        note(Act::Work, p, op, line, cycles, bytes, uint64_t(banks * 100)).startup = uint32_t(startup * 100);
        banks = 0;
    }
    double banks = 0;  // of the cycles of the work to come, what UB's banks cost
    void move(Pipe p, Op op, int line, const Move& m) {
        note(Act::Move, p, op, line, 0, uint64_t(m.row) * m.rows, moves.size());
        if (!full()) moves.push_back(m);
    }
    void scalar(int line, double cycles, uint32_t bytes) {
        if (!notes.empty() && !before_ && notes.back().step == Act::Scalar && notes.back().line == line) {
            notes.back().cycles += float(cycles);  // a loop of scalar accesses is one note
            notes.back().bytes += bytes;
        } else note(Act::Scalar, Pipe::S, Op::Scalar, line, cycles, bytes, 0);
    }
    Moment mark(Pipe p) {
        if (full()) return 0;
        Moment m = moment_of(block_, core_, marks_++);
        note(Act::Mark, p, Op::Scalar, 0, 0, 0, m);
        return m;
    }
    void await(Pipe p, Moment m, double after = 0) {
        if (m) note(Act::Await, p, Op::Scalar, 0, after, 0, m);
    }
    void join() { note(Act::Join, Pipe::S, Op::Scalar, 0, 0, 0, 0); }
    uint32_t marks() const { return marks_; }
    double rest() const { return before_; }  // scalar cycles behind the last note

    std::vector<Note> notes;
    std::vector<Move> moves;

private:
    Note& note(Act s, Pipe p, Op op, int line, double cycles, uint64_t bytes, uint64_t ref) {
        static thread_local Note beyond;
        if (full()) return lost++, beyond;
        notes.push_back({s, uint8_t(p), uint16_t(op), line, before_, float(cycles), uint32_t(bytes), 0, ref});
        before_ = 0;
        return notes.back();
    }
    uint32_t block_ = 0, marks_ = 0;
    uint8_t core_ = 0;
    float before_ = 0;
};

}  // namespace twin
