// Element-wise vector instructions on operands of one width: checks the operands, records them, computes, adds the
// cost. The arithmetic itself is in lanes/.
#include "vector/vector.h"

namespace twin {

namespace {

bool reads_dst(Op op) {
    switch (op) {
    case Op::MulAddDst:
    case Op::FusedMulAdd:
    case Op::MulAddRelu:
    case Op::Axpy: return true;
    default: return false;
    }
}

// Documented for these alone: the second source and the destination of a running sum stay where they are.
bool sums(Op op, Dt t) {
    bool one = op == Op::Add || op == Op::Sub || op == Op::Mul || op == Op::Max || op == Op::Min || op == Op::AddRelu ||
               op == Op::SubRelu;
    return one && (t == Dt::F16 || t == Dt::F32 || t == Dt::I32);
}

// The mask/repeat form; body(dst, source..., lanes).
template <typename F> void one_source(Op op, Dt t, Loc d, Loc a, const Rep& r, const Shape& s, Here here, F body) {
    if (!rep_ok(s, here)) return;
    uint64_t dn = s.extent(r.dst_blk, r.dst_rep, s.size);
    if (!core->usable(a, s.extent(r.src0_blk, r.src0_rep, s.size), true, here, "src") ||
        !core->usable(d, dn, reads_dst(op), here, "dst"))
        return core->refuse(d, dn);
    auto k = core->issue(Pipe::V, op, here, true);
    if (reads_dst(op)) book_rep(k, d, s, r.dst_blk, r.dst_rep, s.size, false);
    book_rep(k, a, s, r.src0_blk, r.src0_rep, s.size, false);
    book_rep(k, d, s, r.dst_blk, r.dst_rep, s.size, true);
    core->perform(k, [=, to = core->at(d), from = core->at(a)] {
        Repeats(s, {to, r.dst_blk, r.dst_rep, s.size}, reads_dst(op))
            .run(body, Side{from, r.src0_blk, r.src0_rep, s.size});
    });
    uint64_t bytes = uint64_t(s.r.times) * kRepeat;
    core->retire(k, cost(op, t, bytes, banks_of(s.r, d, a)), bytes);
}
template <typename F> void one_source(Op op, Dt t, Loc d, Loc a, const Rep& r, Here here, F body) {
    one_source(op, t, d, a, r, Shape(r, size_of(t)), here, body);
}

void absorb(Op op, const Core::Ticket& k) {
    if ((op == Op::And || op == Op::Or) && core->instruction.partial()) core->absorb(k, op == Op::Or ? 0xff : 0);
}

}  // namespace

void unary(Op op, Dt t, Loc d, Loc s, int32_t n, Here here) {
    if (!count_ok(n, here)) return;
    uint64_t bytes = uint64_t(n) * size_of(t);
    if (!core->usable(s, bytes, true, here, "src") || !core->usable(d, bytes, false, here, "dst") ||
        !overlap_ok(d, size_of(t), s, size_of(t), uint64_t(n), here))
        return core->refuse(d, bytes);
    auto k = core->issue(Pipe::V, op, here, true);
    core->book(k, s, uint32_t(bytes), false);
    core->book(k, d, uint32_t(bytes), true);
    core->perform(k, [=, to = core->at(d), from = core->at(s)] { math::unary(op, t, to, from, size_t(n)); });
    core->retire(k, cost(op, t, bytes, banks_of(d, {s}, bytes)), bytes);
}
void unary(Op op, Dt t, Loc d, Loc s, const Rep& r, Here here) {
    one_source(op, t, d, s, r, here, [=](uint8_t* to, const uint8_t* a, size_t n) { math::unary(op, t, to, a, n); });
}

void binary(Op op, Dt t, Loc d, Loc a, Loc b, int32_t n, Here here) {
    if (!count_ok(n, here)) return;
    if (size_of(t) != 2 && (op == Op::And || op == Op::Or)) {
        core->report("bits-lanes", false, here,
                     Numbers().add("op", name_of(op)).add("type", name_of(t)).add("count", n));
        t = Dt::I16;
    }
    uint64_t bytes = uint64_t(n) * size_of(t);
    if (!core->usable(a, bytes, true, here, "src0") || !core->usable(b, bytes, true, here, "src1") ||
        !core->usable(d, bytes, reads_dst(op), here, "dst") ||
        !overlap_ok(d, size_of(t), a, size_of(t), uint64_t(n), here) ||
        !overlap_ok(d, size_of(t), b, size_of(t), uint64_t(n), here))
        return core->refuse(d, bytes);
    auto k = core->issue(Pipe::V, op, here, true);
    core->book(k, a, uint32_t(bytes), false);
    core->book(k, b, uint32_t(bytes), false);
    if (reads_dst(op)) core->book(k, d, uint32_t(bytes), false);
    absorb(op, k);
    core->book(k, d, uint32_t(bytes), true);
    core->perform(
        k, [=, to = core->at(d), x = core->at(a), y = core->at(b)] { math::binary(op, t, to, x, y, size_t(n)); });
    core->retire(k, cost(op, t, bytes, banks_of(d, {a, b}, bytes)), bytes);
}
void binary(Op op, Dt t, Loc d, Loc a, Loc b, const Rep& r, Here here) {
    Shape s(r, size_of(t));
    if (!rep_ok(s, here)) return;
    uint64_t dn = s.extent(r.dst_blk, r.dst_rep, s.size);
    if (!core->usable(a, s.extent(r.src0_blk, r.src0_rep, s.size), true, here, "src0") ||
        !core->usable(b, s.extent(r.src1_blk, r.src1_rep, s.size), true, here, "src1") ||
        !core->usable(d, dn, reads_dst(op), here, "dst"))
        return core->refuse(d, dn);
    auto k = core->issue(Pipe::V, op, here, true);
    if (reads_dst(op)) book_rep(k, d, s, r.dst_blk, r.dst_rep, s.size, false);
    core->instruction.running = sums(op, t);
    book_rep(k, a, s, r.src0_blk, r.src0_rep, s.size, false);
    book_rep(k, b, s, r.src1_blk, r.src1_rep, s.size, false);
    absorb(op, k);
    book_rep(k, d, s, r.dst_blk, r.dst_rep, s.size, true);
    core->perform(k, [=, dst = core->at(d), left = core->at(a), right = core->at(b)] {
        Repeats(s, {dst, r.dst_blk, r.dst_rep, s.size}, reads_dst(op))
            .run([=](uint8_t* to, const uint8_t* x, const uint8_t* y, size_t n) { math::binary(op, t, to, x, y, n); },
                 Side{left, r.src0_blk, r.src0_rep, s.size}, Side{right, r.src1_blk, r.src1_rep, s.size});
    });
    uint64_t bytes = uint64_t(s.r.times) * kRepeat;
    core->retire(k, cost(op, t, bytes, banks_of(s.r, d, a, b)), bytes);
}

void scalar(Op op, Dt t, Loc d, Loc s, Value v, int32_t n, Here here) {
    if (!count_ok(n, here)) return;
    uint64_t bytes = uint64_t(n) * size_of(t);
    if (!core->usable(s, bytes, true, here, "src") || !core->usable(d, bytes, reads_dst(op), here, "dst") ||
        !overlap_ok(d, size_of(t), s, size_of(t), uint64_t(n), here))
        return core->refuse(d, bytes);
    auto k = core->issue(Pipe::V, op, here, true);
    core->book(k, s, uint32_t(bytes), false);
    if (reads_dst(op)) core->book(k, d, uint32_t(bytes), false);
    core->book(k, d, uint32_t(bytes), true);
    core->perform(k, [=, to = core->at(d), from = core->at(s)] { math::scalar(op, t, to, from, v.bits, size_t(n)); });
    core->retire(k, cost(op, t, bytes, banks_of(d, {s}, bytes)), bytes);
}
void scalar(Op op, Dt t, Loc d, Loc s, Value v, const Rep& r, Here here) {
    one_source(op, t, d, s, r, here,
               [=](uint8_t* to, const uint8_t* a, size_t n) { math::scalar(op, t, to, a, v.bits, n); });
}
void shift_right_rounded(Dt t, Loc d, Loc s, Value v, const Rep& r, Here here) {
    one_source(Op::ShiftRight, t, d, s, r, here,
               [=](uint8_t* to, const uint8_t* a, size_t n) { math::shift_right_rounded(t, to, a, v.bits, n); });
}

// ---------------------------------------------------------------- the mask register

void mask_set(uint64_t high, uint64_t low) {
    core->vec.mask[0] = low;
    core->vec.mask[1] = high;
    core->trace.spend(chip.mask_set);
}
void mask_mode(bool counter) {
    core->vec.counter = counter;
    core->trace.spend(chip.mask_set);
}

// ---------------------------------------------------------------- fill, copy

void duplicate(Dt t, Loc d, Value v, int32_t n, Here here) {
    if (!count_ok(n, here)) return;
    uint64_t bytes = uint64_t(n) * size_of(t);
    if (!core->usable(d, bytes, false, here, "dst")) return core->refuse(d, bytes);
    auto k = core->issue(Pipe::V, Op::Duplicate, here, true);
    core->book(k, d, uint32_t(bytes), true);
    core->perform(k, [=, to = core->at(d)] { math::fill(t, to, v.bits, size_t(n)); });
    core->retire(k, cost(Op::Duplicate, t, bytes), bytes);
}
void duplicate(Dt t, Loc d, Value v, const Rep& r, Here here) {
    Shape s(r, size_of(t));
    if (!rep_ok(s, here)) return;
    uint64_t dn = s.extent(r.dst_blk, r.dst_rep, s.size);
    if (!core->usable(d, dn, false, here, "dst")) return core->refuse(d, dn);
    auto k = core->issue(Pipe::V, Op::Duplicate, here, true);
    book_rep(k, d, s, r.dst_blk, r.dst_rep, s.size, true);
    core->perform(k, [=, dst = core->at(d)] {
        Repeats(s, {dst, r.dst_blk, r.dst_rep, s.size}, false).run([=](uint8_t* to, size_t n) {
            math::fill(t, to, v.bits, n);
        });
    });
    uint64_t bytes = uint64_t(s.r.times) * kRepeat;
    core->retire(k, cost(Op::Duplicate, t, bytes), bytes);
}

// In counter mode Copy differs from the others: the count is that of each repeat, and the repeats stay as given.
static void copy_counted(Dt t, Loc d, Loc s, const Rep& rep, Here here) {
    uint32_t lanes = kRepeat / size_of(t);
    Rep r = rep;
    if (rep.own) mask_set(rep.mask[1], rep.mask[0]);
    uint64_t n = core->vec.mask[0], chunks = std::min<uint64_t>((n + lanes - 1) / lanes, INT32_MAX);
    for (int32_t i = 0; i < rep.times; i++) {  // a repeat is as many runs of 8 blocks as it takes
        r.times = int32_t(chunks);
        r.dst_rep = uint16_t(8 * rep.dst_blk);
        r.src0_rep = uint16_t(8 * rep.src0_blk);
        Shape shape(r, size_of(t), n);
        Loc to = d, from = s;
        uint32_t up = uint32_t(i) * rep.dst_rep * kBlock, on = uint32_t(i) * rep.src0_rep * kBlock;
        to.addr += up;
        to.bytes = up < d.bytes ? d.bytes - up : 0;
        from.addr += on;
        from.bytes = on < s.bytes ? s.bytes - on : 0;
        one_source(Op::Copy, t, to, from, r, shape, here,
                   [=](uint8_t* x, const uint8_t* a, size_t k) { std::memmove(x, a, k * size_of(t)); });
    }
}

void copy_local(Dt t, Loc d, Loc s, const Rep& r, Here here) {
    if (core->vec.counter) return copy_counted(t, d, s, r, here);
    one_source(Op::Copy, t, d, s, r, here,
               [=](uint8_t* to, const uint8_t* a, size_t n) { std::memmove(to, a, n * size_of(t)); });
}

}  // namespace twin
