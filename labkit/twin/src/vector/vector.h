// Shared by all vector instructions: count, repeats and mask, cost.
#pragma once
#include "lanes/math.h"
#include "vector/banks.h"
#include "vector/repeat.h"

namespace twin {

// The count forms work in counter mode and leave normal mode and a full mask behind.
inline bool count_ok(int32_t n, Here here) {
    core->last = here;
    core->vec.full();
    if (n >= 0) return n > 0;  // documented: 0 is no operation
    core->report("count-negative", true, here, Numbers().add("count", n));
    return false;
}

// The documented rule: within a repeat source and destination are the same bytes or apart (of operands of two widths a
// repeat is read before it is written, and kernels rely on that), and no repeat writes what a later one reads.
// n lanes of dw and sw bytes.
inline bool overlap_ok(Loc d, uint32_t dw, Loc s, uint32_t sw, uint64_t n, Here here) {
    uint64_t dn = n * dw, sn = n * sw;
    if (d.mem != s.mem || d.addr >= s.addr + sn || s.addr >= d.addr + dn || (d.addr == s.addr && dw <= sw)) return true;
    uint64_t lanes = kRepeat / std::max(dw, sw);
    bool bad = false;
    for (uint64_t i = 0; i < n && !bad; i += lanes) {
        uint64_t some = std::min(lanes, n - i), from = d.addr + i * dw, to = from + some * dw,
                 rest = s.addr + (i + some) * sw;
        bad = from < s.addr + sn && rest < to && rest < s.addr + sn;
        if (dw == sw) bad = bad || (s.addr + i * sw < to && from < rest);
    }
    if (bad) core->report("overlap", true, here, Numbers().add("dst", d.addr).add("src", s.addr).add("bytes", dn));
    return !bad;
}

// Adds start-up + cycles for each repeat to the trace. An instruction that takes several cycles a repeat hides its bank
// conflicts.
inline double cost(Op op, Dt t, uint64_t bytes, double banks = 0) {
    double repeats = double((bytes + kRepeat - 1) / kRepeat), each = chip.per_repeat[int(op)][int(t)];
    double with_banks = std::max(each, (each < 1 ? each : 1) + banks);
    Counters& c = core->counters;
    (t == Dt::F16 || t == Dt::BF16 ? c.vector16 : t == Dt::F32 ? c.vector32 : c.vector_other) += bytes / size_of(t);
    c.bank_cycles += core->trace.banks = repeats * (with_banks - each);
    c.vector_startup += chip.vector_startup;
    return chip.vector_startup + repeats * with_banks;
}
// The count form: operands side by side.
inline double banks_of(Loc d, std::initializer_list<Loc> sources, uint64_t bytes) {
    uint64_t repeats = (bytes + kRepeat - 1) / kRepeat;
    if (sources.size() == 1) return bank_cycles({d.addr}, {{sources.begin()->addr}}, repeats);
    return sources.size() ? bank_cycles({d.addr}, {{sources.begin()[0].addr}, {sources.begin()[1].addr}}, repeats) : 0;
}
inline double banks_of(const Rep& r, Loc d, Loc a) {
    return bank_cycles({d.addr, r.dst_blk, r.dst_rep}, {{a.addr, r.src0_blk, r.src0_rep}}, uint64_t(r.times));
}
inline double banks_of(const Rep& r, Loc d, Loc a, Loc b) {
    return bank_cycles({d.addr, r.dst_blk, r.dst_rep},
                       {{a.addr, r.src0_blk, r.src0_rep}, {b.addr, r.src1_blk, r.src1_rep}}, uint64_t(r.times));
}
float deq_scale();  // of SetDeqScale(half)

}  // namespace twin
