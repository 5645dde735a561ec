// Sort32, MrgSort, Sort, Extract.
#include "twin/vector/sort.h"

#include <algorithm>
#include <vector>

#include "vector/records.h"

namespace twin {

namespace {

constexpr uint16_t kLongestRun = 4095;  // records: the field has 12 bits

bool repeats_ok(Op op, int32_t times, Loc d, Here here) {
    core->last = here;
    if (!core->usable(d, 0, false, here, "dst")) return false;
    if (times >= 0 && times <= 255) return times > 0;
    core->report("sort-repeats", true, here,
                 Numbers().add("op", name_of(op)).add("times", times).add("elements", times * 32));
    core->refuse(d, d.bytes);
    return false;
}

std::vector<Record> records(Dt t, Loc scores, Loc index, uint32_t n) {
    std::vector<Record> r(n);
    for (uint32_t i = 0; i < n; i++) r[i] = record_of(t, core->at(scores) + i * size_of(t), core->at(index) + i * 4);
    return r;
}

double merge_cost(Dt t, uint64_t records) { return cost(Op::MrgSort, t, records * kRecord); }

// Sort32 alone, or with the merges of a full sort behind it.
void sort_any(Op op, Dt t, Loc d, Loc scores, Loc index, const Loc* work, int32_t times, Here here) {
    if (!repeats_ok(op, times, d, here)) return;
    uint32_t n = uint32_t(times) * kRun;
    uint64_t sn = uint64_t(n) * size_of(t), dn = uint64_t(n) * kRecord;
    if (!core->usable(scores, sn, true, here, "src0") || !core->usable(index, n * 4, true, here, "src1") ||
        (work && !core->usable(*work, dn, false, here, "tmp")) || !core->usable(d, dn, false, here, "dst"))
        return core->refuse(d, dn);
    auto k = core->issue(Pipe::V, op, here);
    core->book(k, scores, uint32_t(sn), false);
    core->book(k, index, n * 4, false);
    if (work) core->book(k, *work, uint32_t(dn), true);
    core->book(k, d, uint32_t(dn), true);
    std::vector<Record> r = records(t, scores, index, n);
    uint32_t run = work ? n : kRun;
    for (uint32_t i = 0; i < n; i += run) std::stable_sort(r.begin() + i, r.begin() + i + run, before);
    for (uint32_t i = 0; i < n; i++) put_record(core->at(d) + i * kRecord, r[i]);
    double cycles = cost(Op::Sort32, t, dn);
    if (work) {  // four runs to one until one is left; after each round the result goes back to the work tensor
        std::memcpy(core->at(*work), core->at(d), dn);
        cycles += cost(Op::Copy, Dt::U32, dn);
        for (uint32_t runs = uint32_t(times); runs > 1; runs = (runs + 3) / 4)
            cycles += merge_cost(t, n) + cost(Op::Copy, Dt::U32, dn);
    }
    core->retire(k, cycles, dn);
}

}  // namespace

void sort32(Dt t, Loc d, Loc scores, Loc index, int32_t times, Here here) {
    sort_any(Op::Sort32, t, d, scores, index, nullptr, times, here);
}
void full_sort(Dt t, Loc d, Loc scores, Loc index, Loc work, int32_t times, Here here) {
    sort_any(Op::Sort, t, d, scores, index, &work, times, here);
}

void merge_sort(Dt t, Loc d, const Runs& asked, Here here) {
    core->last = here;
    Runs r = asked;
    std::memset(core->merged, 0, sizeof core->merged);
    uint64_t all = 0;
    for (int i = 0; i < 4; i++) {
        if (!(r.valid >> i & 1)) r.length[i] = 0;
        all += r.length[i];
    }
    if (!r.times || !all) return;
    const uint16_t longest = *std::max_element(r.length, r.length + 4);
    if (longest > kLongestRun || (r.valid != 3 && r.valid != 7 && r.valid != 15)) {
        core->report("sort-runs", true, here,
                     Numbers().add("longest", longest).add("most", kLongestRun).add("valid", r.valid));
        return core->refuse(d, d.bytes);
    }
    // Documented: more than one repeat takes four runs of one length that lie one behind the other, and runs them out.
    bool repeats = r.valid == 15 && !r.stop;
    for (int i = 1; i < 4; i++)
        repeats = repeats && r.length[i] == r.length[0] &&
                  r.list[i].addr == r.list[0].addr + uint32_t(i) * r.length[0] * kRecord;
    if (!repeats) r.times = 1;
    uint64_t dn = all * kRecord * r.times;
    static const char* const names[] = {"src1", "src2", "src3", "src4"};
    bool overlap = false;
    for (int i = 0; i < 4; i++) {
        uint64_t sn = (uint64_t(r.times - 1) * all + r.length[i]) * kRecord;
        if (!r.length[i]) continue;
        if (!core->usable(r.list[i], sn, true, here, names[i], kRecord)) return core->refuse(d, dn);
        overlap = overlap || meets(d, dn, r.list[i], sn);
    }
    if (overlap)
        core->report("overlap", true, here,
                     Numbers().add("dst", d.addr).add("src", r.list[0].addr).add("bytes", (long long)dn));
    core->catch_up(Pipe::V);  // how much is written depends on the records: they are read before it is issued
    std::vector<uint8_t> out;
    out.reserve(dn);
    for (uint32_t rep = 0; rep < r.times; rep++) {
        uint32_t at[4] = {};
        for (bool open = true; open;) {
            int best = -1;
            Record top{};
            for (int i = 0; i < 4; i++) {
                if (!(r.valid >> i & 1)) continue;
                if (at[i] == r.length[i]) {
                    open = open && !r.stop;
                    continue;
                }
                Record next = record_at(t, core->at(r.list[i]) + (uint64_t(rep) * all + at[i]) * kRecord);
                if (best < 0 || before(next, top)) {
                    best = i;
                    top = next;
                }
            }
            open = open && best >= 0;
            if (!open) break;
            at[best]++;
            out.resize(out.size() + kRecord);
            put_record(out.data() + out.size() - kRecord, top);
        }
        for (int i = 0; i < 4; i++) core->merged[i] = uint16_t(at[i]);
    }
    if (!core->usable(d, out.size(), false, here, "dst")) return core->refuse(d, dn);
    auto k = core->issue(Pipe::V, Op::MrgSort, here);
    for (int i = 0; i < 4; i++)
        if (r.length[i])
            core->book(k, r.list[i], uint32_t((uint64_t(r.times - 1) * all + r.length[i]) * kRecord), false);
    core->book(k, d, uint32_t(out.size()), true);
    std::memcpy(core->at(d), out.data(), out.size());
    core->retire(k, merge_cost(t, out.size() / kRecord), out.size());
}

uint16_t merged(int list) {
    await_vector();
    return core->merged[list];
}

// Two GatherMasks: the scores, then the indices.
void extract(Dt t, Loc values, Loc index, Loc sorted, int32_t times, Here here) {
    if (!repeats_ok(Op::Extract, times, values, here)) return;
    uint32_t n = uint32_t(times) * kRun;
    uint64_t sn = uint64_t(n) * kRecord, vn = uint64_t(n) * size_of(t);
    if (!core->usable(sorted, sn, true, here, "sorted") || !core->usable(values, vn, false, here, "dstValue") ||
        !core->usable(index, n * 4, false, here, "dstIndex")) {
        core->refuse(values, vn);
        return core->refuse(index, n * 4);
    }
    auto k = core->issue(Pipe::V, Op::Extract, here);
    core->book(k, sorted, uint32_t(sn), false);
    core->book(k, values, uint32_t(vn), true);
    core->book(k, index, n * 4, true);
    std::vector<uint8_t> from(core->at(sorted), core->at(sorted) + sn);
    for (uint32_t i = 0; i < n; i++) {
        std::memcpy(core->at(values) + i * size_of(t), &from[i * kRecord], size_of(t));
        std::memcpy(core->at(index) + i * 4, &from[i * kRecord + 4], 4);
    }
    core->retire(k, cost(Op::GatherMask, t, sn) + cost(Op::GatherMask, Dt::U32, sn), 2 * sn);
}

void does_nothing(const char* call, Here here) {
    core->last = here;
    core->report("call-absent", true, here, Numbers().add("call", call));
}

}  // namespace twin
