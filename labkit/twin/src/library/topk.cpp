// TopK: each row sorted as a whole, its first k records kept.
#include "twin/library/topk.h"

#include <vector>

#include "library/call.h"
#include "vector/records.h"

namespace twin {

namespace {

// As the unit multiplies by -1: the sign changes, and a NaN becomes the quiet NaN.
uint32_t negated(Dt t, uint32_t bits) {
    uint32_t out = 0;
    math::scalar(Op::Muls, t, &out, &bits, t == Dt::F16 ? 0xbc00 : 0xbf800000, 1);
    return out;
}

// A normal TopK sorts row by row, a small one all rows at once.
void charge(Call& call, Dt t, const TopKCall& c) {
    uint64_t inner = uint64_t(c.inner), all = inner * c.rows, records = c.small ? all : inner;
    double rows = c.small ? 1 : c.rows;
    if (!c.own_index) call.charge(Dt::I32, inner, Op::Adds, 7 + double(inner / 64));
    if (!c.largest) call.charge(t, records, Op::Muls, 2 * rows);
    call.charge(Dt::I64, records, Op::Sort32, rows);
    if (c.small) call.charge(Dt::I64, records, Op::GatherMask, 2);
    else call.charge(Dt::I64, uint64_t(c.k), Op::GatherMask, 2 * rows);
    for (uint32_t runs = c.small ? 1 : uint32_t(c.inner) / kRun; runs > 1; runs = (runs + 3) / 4) {
        call.charge(Dt::I64, inner, Op::MrgSort, rows);
        call.charge(Dt::I64, inner, Op::Copy, rows);
    }
}

bool plausible(const TopKCall& c, Here here) {
    core->last = here;
    if (!core->usable(c.values, 0, false, here, "dstValueLocal")) return false;
    int32_t most = c.small ? 32 : 4096;
    if (c.inner > 0 && c.inner % 32 == 0 && c.inner <= most && c.n >= 1 && c.n <= c.inner && c.k >= 1 && c.k <= c.n &&
        c.rows >= 1)
        return true;
    core->report("topk-shape", true, here,
                 Numbers().add("k", c.k).add("n", c.n).add("inner", c.inner).add("outter", c.rows).add("most", most));
    core->refuse(c.values, c.values.bytes);
    core->refuse(c.index, c.index.bytes);
    return false;
}

}  // namespace

void top_k(Dt t, const TopKCall& c, Here here) {
    if (!plausible(c, here)) return;
    uint32_t size = size_of(t), pad = kBlock / size, k = uint32_t(c.k), inner = uint32_t(c.inner),
             rows = uint32_t(c.rows);
    uint32_t value_row = c.small ? k : (k + pad - 1) / pad * pad,
             index_row = c.small ? k : (k + 7) / 8 * 8;  // elements
    uint64_t sn = uint64_t(rows) * inner * size, vn = (uint64_t(rows - 1) * value_row + k) * size,
             in = (uint64_t(rows - 1) * index_row + k) * 4;
    Call call(Op::TopK, here);
    call.in(c.src, sn, "srcLocal").out(c.values, vn, "dstValueLocal").out(c.index, in, "dstIndexLocal");
    if (c.own_index) call.in(c.src_index, (c.small ? uint64_t(rows) * inner : inner) * 4, "srcIndexLocal");
    if (c.finishes) call.in(c.finish, rows, "finishLocal");
    uint64_t work = uint64_t(std::max(c.work_elements, 0)) * size;
    call.scratch(c.work, work, work);
    if (c.finishes && c.finish.pos < kNowhere) core->touch_scalar(c.finish, rows, false, here);
    if (!call.begin()) return;
    std::vector<Record> row(inner);
    std::vector<uint8_t> src(core->at(c.src), core->at(c.src) + sn);
    for (uint32_t i = 0; i < rows; i++) {
        for (uint32_t j = 0; j < inner; j++) {
            const uint8_t* own = c.own_index ? core->at(c.src_index) + ((c.small ? i * inner : 0) + j) * 4
                                             : reinterpret_cast<const uint8_t*>(&j);
            row[j] = record_of(t, &src[(i * inner + j) * size], own);
            if (c.largest) continue;
            row[j].bits = negated(t, row[j].bits);
            row[j].score = score_of(t, row[j].bits);
        }
        std::stable_sort(row.begin(), row.end(), before);
        bool finished = c.finishes && core->at(c.finish)[i];
        for (uint32_t j = 0; j < k; j++) {
            uint32_t bits = c.largest ? row[j].bits : negated(t, row[j].bits),
                     index = finished ? uint32_t(c.n) : row[j].index;
            std::memcpy(core->at(c.values) + (i * value_row + j) * size, &bits, size);
            std::memcpy(core->at(c.index) + (i * index_row + j) * 4, &index, 4);
        }
    }
    charge(call, t, c);
    call.end(sn);
}

}  // namespace twin
