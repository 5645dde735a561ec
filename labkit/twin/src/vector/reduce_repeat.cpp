// Reductions that leave a result for each repeat, block or pair: WholeReduce*, BlockReduce*, PairReduceSum.
#include "vector/reduce.h"

namespace twin {

// What stays unwritten of the results: those of groups without an active lane.
static Shadow results_off(Loc d, uint64_t bytes, uint64_t step, const Shape& s, uint32_t group) {
    if (s.full && s.last == s.lanes) return {};
    Shadow off = core->shadow_if_any(d.mem, d.addr, bytes);
    if (off.empty()) return off;
    for (uint32_t i = 0; i < uint32_t(s.r.times); i++)
        for (uint32_t lane = 0; lane < s.top_of(i); lane++)
            if (s.on(lane)) std::memset(&off[i * step + lane / group * s.size], 0, s.size);
    return off;
}

// What BlockReduce* and PairReduceSum leave of a repeat with `top` lanes: a result for each group that has any.
static uint32_t results_of(const Shape& s, uint32_t group, uint32_t top) { return (top + group - 1) / group * s.size; }

// The end of a repeat's `width` that it leaves alone is not booked: another tensor may lie there.
static void book_results(const Core::Ticket& k, Loc d, const Shape& s, uint32_t group, uint32_t width, uint64_t step) {
    uint32_t times = uint32_t(s.r.times);
    if (results_of(s, group, s.last) >= width) return core->book_rows(k, d, width, step, times, true);
    uint32_t all = uint32_t((times - 1) * step + width);
    bool gaps = times > 1 && step != width;
    core->add_operand({d.mem, true, d.addr, all, gaps ? width : all, gaps ? uint32_t(step) : 0});
    for (uint32_t i = 0; i < times; i++, d.addr += uint32_t(step))
        core->book_piece(k, d, results_of(s, group, s.top_of(i)), true);
}

void reduce_rep(Op op, Dt t, Loc d, Loc s, const Rep& r, bool index, Here here) {
    Shape shape(r, size_of(t));
    if (!rep_ok(shape, here)) return;
    uint32_t size = shape.size, per_block = kBlock / size, times = uint32_t(shape.r.times);
    bool blockwise = op == Op::BlockReduceSum || op == Op::BlockReduceMax || op == Op::BlockReduceMin,
         pairs = op == Op::PairReduceSum;
    bool largest = op == Op::WholeReduceMax || op == Op::BlockReduceMax,
         sum = op == Op::WholeReduceSum || op == Op::BlockReduceSum || pairs;
    bool whole_extreme = op == Op::WholeReduceMax || op == Op::WholeReduceMin,
         only_index = index && r.dst_blk == 3;  // ReduceOrder; then it is a uint32_t for every type
    uint32_t width = blockwise    ? 8 * size
                     : pairs      ? kRepeat / 2
                     : only_index ? 4
                     : index      ? 2 * size
                                  : size;  // bytes a repeat leaves
    // Destination strides count the results of one repeat, and the destination is aligned to their size (at most to a
    // block).
    uint64_t step = uint64_t(r.dst_rep) * width;
    uint32_t group = blockwise ? per_block : pairs ? 2 : shape.lanes;
    auto left = [&](uint32_t top) { return group < shape.lanes ? results_of(shape, group, top) : width; };
    uint64_t dn = uint64_t(times - 1) * step + left(shape.last);
    if (times > 1) dn = std::max(dn, uint64_t(times - 2) * step + left(shape.top));
    if (!core->usable(s, shape.extent(r.src0_blk, r.src0_rep, size), true, here, "src") ||
        !core->usable(d, dn, false, here, "dst", std::min(width, kBlock)))
        return core->refuse(d, dn);
    want_lanes(s, shape, r, here);
    auto k = core->issue(Pipe::V, op, here);
    book_rep(k, s, shape, r.src0_blk, r.src0_rep, size, false);
    core->check_repeats(k, {d.mem, true, d.addr, uint32_t(dn), left(shape.top), uint32_t(step)});
    Shadow off = group < shape.lanes ? results_off(d, dn, step, shape, group) : Shadow();
    if (group < shape.lanes) book_results(k, d, shape, group, width, step);
    else core->book_rows(k, d, width, step, times, true);
    if (!off.empty()) core->leave(d.mem, d.addr, off, kNobody);
    uint64_t bytes = uint64_t(times) * kRepeat;
    if (!index && !whole_extreme && shape.plain(r.src0_blk, r.src0_rep) && step == width &&
        shape.last == shape.lanes) {  // the usual case, all repeats at once
        math::reduce_runs(sum       ? Op::ReduceSum
                          : largest ? Op::ReduceMax
                                    : Op::ReduceMin,
                          t, core->at(d), core->at(s), group, size_t(times) * shape.lanes / group);
        return core->retire(k, cost(op, t, bytes), bytes);
    }
    alignas(64) uint8_t lanes[kRepeat];
    Run run;
    alignas(8) uint8_t best_value[8];
    bool any = false;
    for (uint32_t i = 0; i < times; i++) {
        gather(lanes, core->at(s), i, r.src0_blk, r.src0_rep, shape, size);
        uint8_t* out = core->at(d) + i * step;
        for (uint32_t g = 0; g < shape.lanes / group; g++) {
            run.pack(lanes, shape, t, g * group, group, i, sum);
            if (!run.n) continue;  // fully masked: the destination is not written
            alignas(8) uint8_t value[8];
            uint32_t best = 0;
            if (sum) math::reduce_sum(t, value, run.packed, run.n);
            else if (largest) math::reduce_max(t, value, &best, run.packed, run.n);
            else math::reduce_min(t, value, &best, run.packed, run.n);
            if (whole_extreme) {  // over all repeats, for GetReduceMaxMinCount
                alignas(8) uint8_t two[16];
                uint32_t newer = 1;
                std::memcpy(two, any ? best_value : value, size);
                std::memcpy(two + size, value, size);
                if (any)
                    largest ? math::reduce_max(t, best_value, &newer, two, 2)
                            : math::reduce_min(t, best_value, &newer, two, 2);
                else std::memcpy(best_value, value, size);
                if (newer) core->vec.note(t, best_value, i * shape.lanes + run.place[best]);
                any = true;
            }
            if (!index) {
                std::memcpy(out + g * size, value, size);
                continue;
            }
            if (only_index) {
                std::memcpy(out, &run.place[best], 4);
                continue;
            }
            bool first = r.dst_blk == 1;  // index, value
            std::memcpy(out + (first ? size : 0), value, size);
            put_index(t, out + (first ? 0 : size), run.place[best]);
        }
    }
    core->retire(k, cost(op, t, bytes), bytes);
}

}  // namespace twin
