// Reductions over counts, repeats, blocks and pairs.
#include "vector.h"

namespace twin {

namespace {

float as_float(Dt t, const void* p) {
    if (t == Dt::F16) {
        uint16_t h;
        std::memcpy(&h, p, 2);
        return half_to_float(h);
    }
    float f;
    std::memcpy(&f, p, 4);
    return f;
}
void put_float(Dt t, void* p, float v) {
    uint16_t h = t == Dt::F16 ? float_to_half(v) : 0;
    std::memcpy(p, t == Dt::F16 ? (const void*)&h : &v, size_of(t));
}
void put_index(Dt t, void* p, uint32_t i) {  // an index is written as an integer in the element's own width
    uint16_t h = uint16_t(i);
    std::memcpy(p, t == Dt::F16 ? (const void*)&h : &i, size_of(t));
}

}  // namespace

void reduce(Op op, Dt t, Loc d, Loc s, Loc work, int32_t n, bool index, Here here) {
    if (!count_ok(n, here)) return;
    uint32_t size = size_of(t), lanes = kRepeat / size;
    uint64_t bytes = uint64_t(n) * size, out = index ? 2 * size : size;
    if (!core->usable(s, bytes, true, here, "src") || !core->usable(d, out, false, here, "dst", uint32_t(out)) || !core->usable(work, 32, false, here, "work")) return core->refuse(d, out);
    auto k = core->issue(Pipe::V, op, here);
    core->book(k, s, uint32_t(bytes), false);
    const uint8_t* src = core->at(s);
    alignas(8) uint8_t result[8] = {};
    uint32_t best = 0;
    if (op == Op::ReduceSum) {  // a tree within each repeat, the repeats added in order, all in the tensor's type
        constexpr size_t kRuns = 64;
        alignas(64) uint8_t parts[kRuns * 4 + 64];
        float total = 0;
        auto add = [&](size_t runs, bool first) {
            for (size_t j = 0; j < runs; j++) {
                float part = as_float(t, parts + j * size), next = first && !j ? part : total + part;
                total = t == Dt::F16 ? half_to_float(float_to_half(next)) : next;
            }
        };
        size_t whole = size_t(n) / lanes;
        for (size_t i = 0; i < whole; i += kRuns) {
            size_t runs = std::min(kRuns, whole - i);
            math::reduce_runs(op, t, parts, src + i * kRepeat, lanes, runs);
            add(runs, i == 0);
        }
        if (size_t(n) % lanes) {
            math::reduce_sum(t, parts, src + whole * kRepeat, size_t(n) % lanes);
            add(1, whole == 0);
        }
        put_float(t, result, total);
        core->accumulated = as_float(t, result);
    } else if (op == Op::ReduceMax) {
        math::reduce_max(t, result, &best, src, size_t(n));
    } else {
        math::reduce_min(t, result, &best, src, size_t(n));
    }
    core->book(k, d, uint32_t(out), true);
    std::memcpy(core->at(d), result, size);
    if (index) put_index(t, core->at(d) + size, best);
    core->retire(k, cost(op, t, bytes), bytes);
}

void reduce_rep(Op op, Dt t, Loc d, Loc s, const Rep& r, bool index, Here here) {
    Shape shape(r, size_of(t));
    if (!rep_ok(shape, here)) return;
    uint32_t size = shape.size, per_block = kBlock / size;
    bool blockwise = op == Op::BlockReduceSum || op == Op::BlockReduceMax || op == Op::BlockReduceMin, pairs = op == Op::PairReduceSum;
    bool largest = op == Op::WholeReduceMax || op == Op::BlockReduceMax, sum = op == Op::WholeReduceSum || op == Op::BlockReduceSum || pairs;
    bool only_index = index && r.dst_blk == 3;  // ReduceOrder; then it is a uint32_t for every type
    uint32_t width = blockwise ? 8 * size : pairs ? kRepeat / 2 : only_index ? 4 : index ? 2 * size : size;  // bytes a repeat leaves
    // Destination strides count what a repeat leaves, and its start is aligned to that (at most to a block).
    uint64_t step = uint64_t(r.dst_rep) * width, dn = uint64_t(r.times - 1) * step + width;
    if (!core->usable(s, shape.extent(r.src0_blk, r.src0_rep, size), true, here, "src") ||
        !core->usable(d, dn, false, here, "dst", std::min(width, kBlock))) return core->refuse(d, dn);
    auto k = core->issue(Pipe::V, op, here);
    book_rep(k, s, shape, r.src0_blk, r.src0_rep, size, false);
    for (uint32_t i = 0; i < uint32_t(step < width + kBlock ? 1 : r.times); i++) {
        Loc part = d;
        part.addr += uint32_t(i * step);
        core->book(k, part, step < width + kBlock ? uint32_t(dn) : width, true);
    }
    uint32_t group = blockwise ? per_block : pairs ? 2 : shape.lanes;
    if (shape.full && !index && shape.plain(r.src0_blk, r.src0_rep) && step == width) {  // the usual case, all repeats at once
        math::reduce_runs(sum ? Op::ReduceSum : largest ? Op::ReduceMax : Op::ReduceMin, t, core->at(d), core->at(s), group, size_t(r.times) * shape.lanes / group);
        uint64_t bytes = uint64_t(r.times) * kRepeat;
        return core->retire(k, cost(op, t, bytes), bytes);
    }
    alignas(64) uint8_t lanes[kRepeat], packed[kRepeat];
    uint32_t place[128];
    for (uint32_t i = 0; i < uint32_t(r.times); i++) {
        gather(lanes, core->at(s), i, r.src0_blk, r.src0_rep, shape, size);
        uint8_t* out = core->at(d) + i * step;
        for (uint32_t g = 0; g < shape.lanes / group; g++) {
            uint32_t n = 0;
            for (uint32_t lane = g * group; lane < (g + 1) * group; lane++) {
                if (!shape.on(lane)) continue;
                std::memcpy(packed + n * size, lanes + lane * size, size);
                place[n++] = lane;
            }
            if (!n) continue;  // fully masked: the destination keeps what it had
            if (sum && n < group) {  // the tree is that of the lanes; one that is masked adds nothing (-0)
                for (uint32_t i = 0; i < group; i++) put_float(t, packed + i * size, -0.0f);
                for (uint32_t i = 0; i < n; i++) std::memcpy(packed + (place[i] - g * group) * size, lanes + place[i] * size, size);
                n = group;
            }
            alignas(8) uint8_t value[8];
            uint32_t best = 0;
            if (sum) math::reduce_sum(t, value, packed, n);
            else if (largest) math::reduce_max(t, value, &best, packed, n);
            else math::reduce_min(t, value, &best, packed, n);
            if (!index) {
                std::memcpy(out + g * size, value, size);
                continue;
            }
            if (only_index) {
                std::memcpy(out, &place[best], 4);
                continue;
            }
            bool first = r.dst_blk == 1;  // index, value
            std::memcpy(out + (first ? size : 0), value, size);
            put_index(t, out + (first ? 0 : size), place[best]);
        }
    }
    uint64_t bytes = uint64_t(r.times) * kRepeat;
    core->retire(k, cost(op, t, bytes), bytes);
}

float accumulated(Dt) { return core->accumulated; }

}  // namespace twin
