// Reductions to one result: ReduceSum, ReduceMax, ReduceMin over a count or over repeats. WholeReduce* and its like are
// in reduce_repeat.cpp.
#include "vector/reduce.h"

namespace twin {

namespace {

// Sums of one repeat after the other, in the tensor's type.
struct Total {
    Dt t;
    float sum = 0;
    bool first = true;
    void add(const uint8_t* part) {
        float x = as_float(t, part), next = first ? x : sum + x;
        sum = t == Dt::F16 ? half_to_float(float_to_half(next)) : next;
        first = false;
    }
};

void sum_contiguous(Dt t, uint8_t* result, const uint8_t* src, size_t n) {
    constexpr size_t kRuns = 64;
    uint32_t size = size_of(t), lanes = kRepeat / size;
    alignas(64) uint8_t parts[kRuns * 4 + 64];
    Total total{t};
    size_t whole = n / lanes;
    for (size_t i = 0; i < whole; i += kRuns) {
        size_t runs = std::min(kRuns, whole - i);
        math::reduce_runs(Op::ReduceSum, t, parts, src + i * kRepeat, lanes, runs);
        for (size_t j = 0; j < runs; j++) total.add(parts + j * size);
    }
    if (n % lanes) {
        math::reduce_sum(t, parts, src + whole * kRepeat, n % lanes);
        total.add(parts);
    }
    put_float(t, result, total.sum);
}

float total_of(Dt t, const uint8_t* src, const Shape& shape) {
    alignas(64) uint8_t lanes[kRepeat];
    Run run;
    Total total{t};
    for (uint32_t i = 0; i < uint32_t(shape.r.times); i++) {
        gather(lanes, src, i, shape.r.src0_blk, shape.r.src0_rep, shape, shape.size);
        run.pack(lanes, shape, t, 0, shape.lanes, i, true);
        alignas(8) uint8_t value[8];
        math::reduce_sum(t, value, run.packed, run.n);
        total.add(value);
    }
    return total.sum;
}

// The size of what the library writes to `work` for an extreme over so many repeats: a value and an index for each;
// with the index requested also the results of reducing those.
uint64_t work_bytes(Op op, uint32_t size, uint32_t repeats, bool index, bool tail) {
    if (op == Op::ReduceSum) return uint64_t(repeats) * size;
    uint64_t pair = 2 * size, least = tail || !index ? pair : 0;
    if (repeats <= 1) return least;
    auto up = [](uint64_t n) { return (n + kBlock - 1) / kBlock * kBlock; };
    uint64_t one = repeats * pair, two = (one + kRepeat - 1) / kRepeat * pair,
             three = (two + kRepeat - 1) / kRepeat * pair;
    if (!index) return one;
    return two == pair ? up(one) + two : up(one) + up(two) + three;
}

bool work_ok(Op op, Loc work, uint64_t need, Here here) {
    if (!need) return true;
    if (need > work.bytes && core->usable(work, 0, false, here, "work")) {
        core->report("reduce-work", true, here,
                     Numbers().add("op", name_of(op)).add("need", need).add("have", work.bytes).add("addr", work.addr));
        return false;
    }
    return core->usable(work, need, false, here, "work");
}

// The scalar unit does the last step: it waits for the vector unit, and everything after it is ordered behind that.
void await_vector() {
    core->known[int(Pipe::S)].join(core->known[int(Pipe::V)]);
    core->trace.await(Pipe::S, core->trace.mark(Pipe::V));
}
void finish_scalar(bool sum) {
    await_vector();
    core->trace.spend(chip.scalar_set + (sum ? 0 : chip.scalar_get));  // a sum comes out of a register of its own
}

// One extreme and its place over the repeats of `shape`; the pair of each repeat goes to `work` as on the device.
struct Extreme {
    alignas(8) uint8_t value[8] = {};
    uint32_t place = 0;
    bool any = false;
    void join(Op op, Dt t, const uint8_t* x, uint32_t at) {
        uint32_t size = size_of(t), which = 0;
        if (any) {
            alignas(8) uint8_t two[16], best[8];
            std::memcpy(two, value, size);
            std::memcpy(two + size, x, size);
            if (op == Op::ReduceMax) math::reduce_max(t, best, &which, two, 2);
            else math::reduce_min(t, best, &which, two, 2);
            if (!which) return;
        }
        std::memcpy(value, x, size);
        place = at;
        any = true;
    }
};

void extreme_of(Op op, Dt t, uint8_t* value, uint32_t* at, const uint8_t* lanes, size_t n) {
    if (op == Op::ReduceMax) math::reduce_max(t, value, at, lanes, n);
    else math::reduce_min(t, value, at, lanes, n);
}

}  // namespace

void reduce(Op op, Dt t, Loc d, Loc s, Loc work, int32_t n, bool index, Here here) {
    if (!count_ok(n, here)) return;
    uint32_t size = size_of(t), lanes = kRepeat / size, repeats = std::max(1u, uint32_t(n) / lanes);
    bool sum = op == Op::ReduceSum, tail = uint32_t(n) > lanes && uint32_t(n) % lanes;
    uint64_t bytes = uint64_t(n) * size, out = index ? 2 * size : size,
             need = sum ? 0 : work_bytes(op, size, repeats, index, tail);
    if (!core->usable(s, bytes, true, here, "src") || !core->usable(d, out, false, here, "dst", uint32_t(out)) ||
        !work_ok(op, work, need, here))
        return core->refuse(d, out);
    core->want_filled(s, bytes, kBlock, here, "src");
    auto k = core->issue(Pipe::V, op, here);
    core->book(k, s, uint32_t(bytes), false);
    const uint8_t* src = core->at(s);
    alignas(8) uint8_t result[8] = {};
    uint32_t best = 0;
    if (sum) {
        sum_contiguous(t, result, src, size_t(n));
        core->vec.sum = 0;
        std::memcpy(&core->vec.sum, result, size);
    } else {
        extreme_of(op, t, result, &best, src, size_t(n));
        core->vec.note(t, result, ~0u);
        if (need) {
            core->book(k, work, uint32_t(need), true);
            std::memset(core->at(work), kPoison, need);
        }
    }
    core->book(k, d, uint32_t(out), true);
    std::memcpy(core->at(d), result, size);
    if (index) put_index(t, core->at(d) + size, best);
    core->retire(k, cost(op, t, bytes), bytes);
    if (sum || repeats > 1 || !index) finish_scalar(sum);
}

void reduce(Op op, Dt t, Loc d, Loc s, Loc work, const Rep& r, bool index, Here here) {
    uint32_t size = size_of(t);
    Shape shape(r, size);
    if (!rep_ok(shape, here)) return;
    // ReduceSum<T, false>: the count form with a mask from outside
    bool sum = op == Op::ReduceSum, count_form = sum && !r.own;
    uint32_t repeats = uint32_t(shape.r.times);
    uint64_t out = index ? 2 * size : size, need = count_form ? 0 : work_bytes(op, size, repeats, index, false);
    if (!core->usable(s, shape.extent(r.src0_blk, r.src0_rep, size), true, here, "src") ||
        !core->usable(d, out, false, here, "dst", uint32_t(out)) || !work_ok(op, work, need, here))
        return core->refuse(d, out);
    want_lanes(s, shape, r, here);
    auto k = core->issue(Pipe::V, op, here);
    book_rep(k, s, shape, r.src0_blk, r.src0_rep, size, false);
    if (need) core->book(k, work, uint32_t(need), true);
    alignas(64) uint8_t lanes[kRepeat];
    Run run;
    Extreme extreme;
    for (uint32_t i = 0; i < repeats && !count_form; i++) {
        gather(lanes, core->at(s), i, r.src0_blk, r.src0_rep, shape, size);
        run.pack(lanes, shape, t, 0, shape.lanes, i, sum);
        alignas(8) uint8_t value[8];
        uint32_t at = 0;
        if (sum) math::reduce_sum(t, value, run.packed, run.n);
        else extreme_of(op, t, value, &at, run.packed, run.n);
        if (sum) std::memcpy(core->at(work) + size_t(i) * size, value, size);
        else extreme.join(op, t, value, uint32_t(i * r.src0_rep * (kBlock / size) + run.place[at]));
    }
    alignas(8) uint8_t result[8];
    if (count_form) {
        put_float(t, result, total_of(t, core->at(s), shape));
        core->vec.sum = 0;
        std::memcpy(&core->vec.sum, result, size);
    } else if (sum) {  // the repeats' sums are reduced as a repeat is, until one is left
        uint8_t* parts = core->at(work);
        for (uint32_t n = repeats; n > 1; n = (n + shape.lanes - 1) / shape.lanes)
            for (uint32_t i = 0; i < n; i += shape.lanes) {
                alignas(8) uint8_t part[8];
                math::reduce_sum(t, part, parts + size_t(i) * size, std::min(shape.lanes, n - i));
                std::memcpy(parts + size_t(i / shape.lanes) * size, part, size);
            }
        std::memcpy(result, parts, size);
    } else {
        std::memcpy(result, extreme.value, size);
        core->vec.note(t, result, ~0u);
        if (need) std::memset(core->at(work), kPoison, need);
    }
    core->book(k, d, uint32_t(out), true);
    std::memcpy(core->at(d), result, size);
    if (index) put_index(t, core->at(d) + size, extreme.place);
    uint64_t bytes = uint64_t(repeats) * kRepeat;
    core->retire(k, cost(op, t, bytes), bytes);
    if (repeats > 1 || !index) finish_scalar(sum);
}

void accumulate(Dt t, Loc s, const Rep& r, Here here) {
    Shape shape(r, size_of(t));
    if (!rep_ok(shape, here)) return;
    if (!core->usable(s, shape.extent(r.src0_blk, r.src0_rep, shape.size), true, here, "src")) return;
    auto k = core->issue(Pipe::V, Op::ReduceSum, here);
    book_rep(k, s, shape, r.src0_blk, r.src0_rep, shape.size, false);
    core->vec.sum = 0;
    put_float(t, &core->vec.sum, total_of(t, core->at(s), shape));
    uint64_t bytes = uint64_t(shape.r.times) * kRepeat;
    core->retire(k, cost(Op::ReduceSum, t, bytes), bytes);
}

uint64_t reduce_sum_bits() {
    await_vector();
    return core->vec.sum;
}
void reduce_extreme(uint32_t& value, uint32_t& index) {
    await_vector();
    value = core->vec.extreme;
    index = core->vec.place;
}
float accumulated(Dt t) {
    uint64_t bits = reduce_sum_bits();
    return as_float(t, &bits);
}

}  // namespace twin
