// One call of the advanced API: a composite of vector instructions, recorded and costed as one.
//
// All calls follow one scheme. The operands are checked and recorded as those of one instruction on pipe V; the scratch
// (the temporary tensor, or the free part of UB behind the queues) is recorded as written. The documented formula is
// evaluated in double (wide.h) and rounded to each result's type, to 16 bits from float as CANN casts. The modelled
// time is the sum of the instructions that CANN's implementation issues for it (a Recipe), once for each piece that
// fits the scratch: so a larger temporary tensor is faster here too, and one that is too small for a piece is reported.
// A result may lie exactly on a source: CANN's elementwise implementations allow it, although most documents do not,
// and kernels rely on it. Partial overlap is reported.
#pragma once
#include "lanes/wide.h"
#include "twin/library/library.h"
#include "vector/vector.h"

namespace twin {

struct Step {  // a number of equal instructions; those that cost as much as a Mul are counted together
    Op op;
    double times;
};
struct Recipe {
    Op op;
    uint8_t scratch16, scratch32;  // bytes of scratch an element of a 16-bit or 32-bit type; 0: none
    uint8_t nodes16, nodes32;      // the factors that Get<Op>TmpBufferFactorSize gives the host
    uint16_t extra;                // bytes of scratch for the whole call
    uint8_t casts;                 // conversions of a 16-bit type to and from float; 0: computed in its own type
    uint8_t torn;                  // 16-bit (1), 32-bit (2): CANN writes the result while it still needs a source
    Step steps[8];
};
const Recipe& recipe(Op);
const char* api_name(Op);

class Call {
public:
    Call(Op op, Here here) : op_(op), here_(here) {
        core->last = here;
        core->vec.full();  // leaves normal mode and a full mask
    }
    Call& in(Loc l, uint64_t bytes, const char* what = "src") { return add({l, bytes, what, true, false}); }
    Call& out(Loc l, uint64_t bytes, const char* what = "dst") { return add({l, bytes, what, false, true}); }
    Call& inout(Loc l, uint64_t bytes, const char* what = "dst") { return add({l, bytes, what, true, true}); }
    // Scratch: at least `least` bytes are needed, at most `most` are used; least 0: none.
    Call& scratch(Loc l, uint64_t least, uint64_t most);
    // Checks a length that must be a multiple of `unit`.
    Call& whole(const char* what, uint64_t value, uint64_t unit) {
        if (value % unit && !odd_.what) odd_ = {what, value, unit};
        return *this;
    }
    // Checks a length that must be at least `least`.
    Call& least(const char* what, uint64_t value, uint64_t least) {
        if (value < least && !short_.what) short_ = {what, value, least};
        return *this;
    }
    uint64_t scratch_bytes() const { return scratch_.bytes; }
    // Checks and records everything; false: an error was reported, and nothing may be executed.
    bool begin();
    void charge(Dt t, uint64_t n, Op op, double times);            // `times` instructions on n elements of t
    void charge(const Recipe&, Dt t, uint64_t n, uint64_t piece);  // a recipe on n elements, `piece` at a time
    void end(uint64_t bytes);

private:
    struct Part {
        Loc loc;
        uint64_t bytes;
        const char* what;
        bool read, write;
    };
    Call& add(const Part& p) {
        if (p.bytes) parts_[count_++] = p;
        return *this;
    }
    bool apart();
    bool scratch_ok();
    void refuse();
    Op op_;
    Here here_;
    Part parts_[12];
    int count_ = 0;
    Part scratch_{{}, 0, "tmp", false, true};
    uint64_t least_ = 0;
    struct Length {
        const char* what;
        uint64_t value, unit;  // or the least
    } odd_{}, short_{};
    Core::Ticket ticket_;
    double cycles_ = 0, issues_ = 0;
};

// Reads a source as doubles, and writes doubles to a result, from element `from` on.
inline void fetch(double* to, Dt t, Loc l, uint64_t from, size_t n) {
    wide::widen(t, to, core->at(l) + from * size_of(t), n);
}
inline void keep(Dt t, Loc l, uint64_t at, const double* from, size_t n) {
    wide::narrow(t, core->at(l) + at * size_of(t), from, n);
}

}  // namespace twin
