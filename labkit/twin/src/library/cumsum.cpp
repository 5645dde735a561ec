// Running sums of a matrix, down its columns or along its rows.
#include "library/call.h"

namespace twin {

void adv_cumsum(Dt t, Loc d, Loc last, Loc a, Loc tmp, uint32_t outer, uint32_t inner, bool along_rows, bool keep_last,
                Here here) {
    uint64_t bytes = uint64_t(outer) * inner * size_of(t);
    Call c(Op::CumSum, here);
    if (!bytes) return;
    c.whole("inner", inner, kBlock / size_of(t));
    bool half = t == Dt::F16;
    // Along rows, 16 rows at a time are transposed; along columns only half needs scratch, for the sums in float.
    uint64_t sixteen = uint64_t(inner) * 16 * size_of(t) * 2 + (half ? inner * 32 : 0), groups = (outer + 15) / 16;
    uint64_t least = along_rows ? sixteen : half ? uint64_t(outer) * inner * 4 : 0;
    c.scratch(tmp, least, along_rows ? sixteen * groups : least);
    c.in(a, bytes).out(d, bytes);
    if (keep_last) c.out(last, uint64_t(inner) * size_of(t), "lastRow");
    if (!c.begin()) return;
    std::vector<double> row(inner + wide::kTile), sum(inner + wide::kTile);
    for (uint32_t i = 0; i < outer; i++) {
        fetch(row.data(), t, a, uint64_t(i) * inner, inner);
        if (along_rows)
            for (uint32_t j = 1; j < inner; j++) row[j] += row[j - 1];
        else
            for (uint32_t j = 0; j < inner; j++) row[j] = sum[j] += row[j];
        keep(t, d, uint64_t(i) * inner, row.data(), inner);
    }
    if (keep_last) keep(t, last, 0, row.data(), inner);
    if (along_rows) {
        // as many times 16 rows a round as the scratch has room for
        uint64_t some = std::max<uint64_t>(1, c.scratch_bytes() / sixteen), rounds = (groups + some - 1) / some;
        c.charge(t, (uint64_t(outer) * inner + rounds - 1) / rounds, Op::Copy, 2.0 * double(rounds));  // there and back
        c.charge(Dt::F32, outer, Op::Add, inner - 1.0);
    } else {
        c.charge(half ? Dt::F32 : t, inner, Op::Add, outer - 1.0);
    }
    if (half) c.charge(Dt::F32, uint64_t(outer) * inner, Op::Cast, 2);
    if (keep_last) c.charge(t, inner, Op::Adds, 1);
    c.end(bytes);
}

}  // namespace twin
