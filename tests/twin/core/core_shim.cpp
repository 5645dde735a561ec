// C names for tests/twin/core/test_parts.py (ctypes): parts of a core that can be judged by themselves.
#include "core/hazard.h"
#include "vector/banks.h"

using namespace twin;

namespace {
Here line(int n) { return Here{"shim", n}; }
}  // namespace

extern "C" {
// A step is 7 numbers: what (0 read, 1 a read that is not kept, 2 write), lo, hi, pipe, number, and what is known to
// be done of the pipes V and MTE3; `others`: of all other pipes. Two numbers a step come out: the kind of conflict,
// and the number of the other access.
void hazard_run(const uint32_t* steps, int n, uint32_t others, uint32_t* out) {
    Hazards h;
    for (int i = 0; i < n; i++, steps += 7) {
        VectorClock now;
        for (uint32_t& s : now.seen) s = others;
        now.seen[int(Pipe::V)] = steps[5], now.seen[int(Pipe::MTE3)] = steps[6];
        Access me{steps[4], Pipe(steps[3]), line(i)};
        uint32_t lo = steps[1], hi = steps[2];
        Conflict c = steps[0] == 2 ? h.write(lo, hi, me, now) : h.read(lo, hi, me, now, steps[0] == 0);
        out[2 * i] = uint32_t(c.race), out[2 * i + 1] = c.other.number;
    }
}
// Bytes lo to hi are written for each pair; then the first unwritten piece of [lo, hi), and whether any byte of it is
// written.
void hazard_holes(const uint32_t* pairs, int n, uint32_t lo, uint32_t hi, uint32_t piece, uint32_t* first,
                  uint32_t* any) {
    Hazards h;
    VectorClock all;
    for (int i = 0; i < n; i++) h.write(pairs[2 * i], pairs[2 * i + 1], Access{uint32_t(i + 1), Pipe::V, line(i)}, all);
    *first = uint32_t(h.unwritten(lo, hi, piece)), *any = h.any_written(lo, hi);
}
// Operands are address, blocks from block to block, blocks from repeat to repeat; the destination first.
double bank_cost(const uint32_t* o, int sources, uint32_t repeats, double conflict, double conflict_write) {
    chip.conflict = conflict, chip.conflict_write = conflict_write;
    auto at = [&](int i) { return Strided{o[3 * i], uint16_t(o[3 * i + 1]), uint16_t(o[3 * i + 2])}; };
    if (sources == 1) return bank_cycles(at(0), {at(1)}, repeats);
    if (sources == 2) return bank_cycles(at(0), {at(1), at(2)}, repeats);
    return bank_cycles(at(0), {}, repeats);
}
}
