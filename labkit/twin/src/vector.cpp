// Vector instructions: check the operands, book them, compute, cost. The arithmetic itself is in math_*.cpp.
#include "vector.h"

namespace twin {

namespace {

// Runs `body(dst, src0, src1)` on 256-byte temporaries, repeat by repeat, so that a repeat sees what an earlier one wrote.
template <typename F>
void run_rep(Op op, Dt t, Loc d, Loc a, Loc b, bool two, bool read_dst, const Rep& r, Here here, F body) {
    Shape s(r, size_of(t));
    if (!rep_ok(s, here)) return;
    uint64_t dn = s.extent(r.dst_blk, r.dst_rep, s.size);
    if (!core->usable(a, s.extent(r.src0_blk, r.src0_rep, s.size), true, here, two ? "src0" : "src") ||
        (two && !core->usable(b, s.extent(r.src1_blk, r.src1_rep, s.size), true, here, "src1")) ||
        !core->usable(d, dn, read_dst, here, "dst")) return core->refuse(d, dn);
    auto k = core->issue(Pipe::V, op, here);
    book_rep(k, a, s, r.src0_blk, r.src0_rep, s.size, false);
    if (two) book_rep(k, b, s, r.src1_blk, r.src1_rep, s.size, false);
    book_rep(k, d, s, r.dst_blk, r.dst_rep, s.size, true);
    alignas(64) uint8_t td[kRepeat], ta[kRepeat], tb[kRepeat];
    for (uint32_t i = 0; i < uint32_t(r.times); i++) {
        gather(ta, core->at(a), i, r.src0_blk, r.src0_rep, s, s.size);
        if (two) gather(tb, core->at(b), i, r.src1_blk, r.src1_rep, s, s.size);
        if (read_dst) gather(td, core->at(d), i, r.dst_blk, r.dst_rep, s, s.size);
        body(td, ta, tb, s.lanes);
        scatter(core->at(d), td, i, r.dst_blk, r.dst_rep, s, s.size);
    }
    uint64_t bytes = uint64_t(r.times) * kRepeat;
    core->retire(k, cost(op, t, bytes, two && same_bank_group(a, b)), bytes);
}

bool reads_dst(Op op) { return op == Op::MulAddDst || op == Op::FusedMulAdd || op == Op::Axpy; }

}  // namespace

// ---------------------------------------------------------------- element-wise

void unary(Op op, Dt t, Loc d, Loc s, int32_t n, Here here) {
    if (!count_ok(n, here)) return;
    uint64_t bytes = uint64_t(n) * size_of(t);
    if (!core->usable(s, bytes, true, here, "src") || !core->usable(d, bytes, false, here, "dst") || !overlap_ok(d, size_of(t), s, size_of(t), uint64_t(n), here)) return core->refuse(d, bytes);
    auto k = core->issue(Pipe::V, op, here);
    core->book(k, s, uint32_t(bytes), false);
    core->book(k, d, uint32_t(bytes), true);
    math::unary(op, t, core->at(d), core->at(s), size_t(n));
    core->retire(k, cost(op, t, bytes), bytes);
}
void unary(Op op, Dt t, Loc d, Loc s, const Rep& r, Here here) {
    run_rep(op, t, d, s, s, false, false, r, here, [&](uint8_t* td, uint8_t* ta, uint8_t*, size_t n) { math::unary(op, t, td, ta, n); });
}

void binary(Op op, Dt t, Loc d, Loc a, Loc b, int32_t n, Here here) {
    if (!count_ok(n, here)) return;
    uint64_t bytes = uint64_t(n) * size_of(t);
    if (!core->usable(a, bytes, true, here, "src0") || !core->usable(b, bytes, true, here, "src1") || !core->usable(d, bytes, reads_dst(op), here, "dst") ||
        !overlap_ok(d, size_of(t), a, size_of(t), uint64_t(n), here) || !overlap_ok(d, size_of(t), b, size_of(t), uint64_t(n), here)) return core->refuse(d, bytes);
    auto k = core->issue(Pipe::V, op, here);
    core->book(k, a, uint32_t(bytes), false);
    core->book(k, b, uint32_t(bytes), false);
    core->book(k, d, uint32_t(bytes), true);
    math::binary(op, t, core->at(d), core->at(a), core->at(b), size_t(n));
    core->retire(k, cost(op, t, bytes, same_bank_group(a, b)), bytes);
}
void binary(Op op, Dt t, Loc d, Loc a, Loc b, const Rep& r, Here here) {
    run_rep(op, t, d, a, b, true, reads_dst(op), r, here, [&](uint8_t* td, uint8_t* ta, uint8_t* tb, size_t n) { math::binary(op, t, td, ta, tb, n); });
}

void scalar(Op op, Dt t, Loc d, Loc s, Value v, int32_t n, Here here) {
    if (!count_ok(n, here)) return;
    uint64_t bytes = uint64_t(n) * size_of(t);
    if (!core->usable(s, bytes, true, here, "src") || !core->usable(d, bytes, reads_dst(op), here, "dst") || !overlap_ok(d, size_of(t), s, size_of(t), uint64_t(n), here)) return core->refuse(d, bytes);
    auto k = core->issue(Pipe::V, op, here);
    core->book(k, s, uint32_t(bytes), false);
    core->book(k, d, uint32_t(bytes), true);
    math::scalar(op, t, core->at(d), core->at(s), v.bits, size_t(n));
    core->retire(k, cost(op, t, bytes), bytes);
}
void scalar(Op op, Dt t, Loc d, Loc s, Value v, const Rep& r, Here here) {
    run_rep(op, t, d, s, s, false, reads_dst(op), r, here, [&](uint8_t* td, uint8_t* ta, uint8_t*, size_t n) { math::scalar(op, t, td, ta, v.bits, n); });
}

// ---------------------------------------------------------------- cast: operands of two widths

// The documents let CAST_NONE stand for RINT; the library of CANN 8.1 and 9.1 has no instruction behind it for these
// pairs, nor for any other mode that math::supports_cast leaves out: outside a debug build the call then does nothing.
static bool none_is_rint(Dt to, Dt from) {
    switch (from) {
        case Dt::F16: return to != Dt::I16 && to != Dt::I32;
        case Dt::F32: return to == Dt::F16;
        case Dt::BF16: return to == Dt::F32;
        case Dt::I64: return to == Dt::I32;
        default: return true;
    }
}

static bool castable(Dt to, Dt from, Round mode, Here here) {
    static const char* const modes[] = {"CAST_NONE", "CAST_RINT", "CAST_FLOOR", "CAST_CEIL", "CAST_ROUND", "CAST_TRUNC", "CAST_ODD", "CAST_HYBRID"};
    if (!math::supports_cast(to, from, Round::None)) {  // true for every pair that there is
        core->report("cast-pair", true, here, Numbers().add("from", name_of(from)).add("to", name_of(to)));
        return false;
    }
    if (math::supports_cast(to, from, mode) && (mode != Round::None || none_is_rint(to, from))) return true;
    std::string has;
    for (int m = 0; m < 8; m++)
        if (math::supports_cast(to, from, Round(m)) && (m || none_is_rint(to, from))) has += (has.empty() ? "" : ", ") + std::string(modes[m]);
    core->report("cast-mode", true, here, Numbers().add("from", name_of(from)).add("to", name_of(to)).add("mode", modes[int(mode) & 7]).add("has", has));
    return false;
}

void cast(Dt to, Dt from, Loc d, Loc s, Round mode, int32_t n, Here here) {
    if (!count_ok(n, here)) return;
    if (!castable(to, from, mode, here)) return core->refuse(d, uint64_t(n) * size_of(to));
    uint64_t dn = uint64_t(n) * size_of(to), sn = uint64_t(n) * size_of(from);
    if (!core->usable(s, sn, true, here, "src") || !core->usable(d, dn, false, here, "dst") || !overlap_ok(d, size_of(to), s, size_of(from), uint64_t(n), here)) return core->refuse(d, dn);
    auto k = core->issue(Pipe::V, Op::Cast, here);
    core->book(k, s, uint32_t(sn), false);
    core->book(k, d, uint32_t(dn), true);
    if (d.addr < s.addr + sn && s.addr < d.addr + dn && dn != sn) {  // across widths in place: a repeat is read, then written
        alignas(64) uint8_t lanes[kRepeat];
        size_t step = kRepeat / std::max(size_of(to), size_of(from));
        for (size_t i = 0; i < size_t(n); i += step) {
            size_t some = std::min(step, size_t(n) - i);
            std::memcpy(lanes, core->at(s) + i * size_of(from), some * size_of(from));
            math::cast(to, from, mode, core->at(d) + i * size_of(to), lanes, some);
        }
    } else {
        math::cast(to, from, mode, core->at(d), core->at(s), size_t(n));
    }
    core->retire(k, cost(Op::Cast, size_of(to) > size_of(from) ? to : from, std::max(dn, sn)), std::max(dn, sn));
}
void cast(Dt to, Dt from, Loc d, Loc s, Round mode, const Rep& r, Here here) {
    uint32_t wide = std::max(size_of(to), size_of(from));
    Shape shape(r, wide);
    if (!rep_ok(shape, here)) return;
    uint64_t sn = shape.extent(r.src0_blk, r.src0_rep, size_of(from)), dn = shape.extent(r.dst_blk, r.dst_rep, size_of(to));
    if (!castable(to, from, mode, here) || !core->usable(s, sn, true, here, "src") || !core->usable(d, dn, false, here, "dst")) return core->refuse(d, dn);
    auto k = core->issue(Pipe::V, Op::Cast, here);
    book_rep(k, s, shape, r.src0_blk, r.src0_rep, size_of(from), false);
    book_rep(k, d, shape, r.dst_blk, r.dst_rep, size_of(to), true);
    alignas(64) uint8_t td[kRepeat], ts[kRepeat];
    for (uint32_t i = 0; i < uint32_t(r.times); i++) {
        gather(ts, core->at(s), i, r.src0_blk, r.src0_rep, shape, size_of(from));
        math::cast(to, from, mode, td, ts, shape.lanes);
        scatter(core->at(d), td, i, r.dst_blk, r.dst_rep, shape, size_of(to));
    }
    uint64_t bytes = uint64_t(r.times) * kRepeat;
    core->retire(k, cost(Op::Cast, size_of(to) > size_of(from) ? to : from, bytes), bytes);
}

// ---------------------------------------------------------------- fill, copy

void duplicate(Dt t, Loc d, Value v, int32_t n, Here here) {
    if (!count_ok(n, here)) return;
    uint64_t bytes = uint64_t(n) * size_of(t);
    if (!core->usable(d, bytes, false, here, "dst")) return core->refuse(d, bytes);
    auto k = core->issue(Pipe::V, Op::Duplicate, here);
    core->book(k, d, uint32_t(bytes), true);
    math::fill(t, core->at(d), v.bits, size_t(n));
    core->retire(k, cost(Op::Duplicate, t, bytes), bytes);
}
void duplicate(Dt t, Loc d, Value v, const Rep& r, Here here) {
    Shape s(r, size_of(t));
    if (!rep_ok(s, here)) return;
    uint64_t dn = s.extent(r.dst_blk, r.dst_rep, s.size);
    if (!core->usable(d, dn, false, here, "dst")) return core->refuse(d, dn);
    auto k = core->issue(Pipe::V, Op::Duplicate, here);
    book_rep(k, d, s, r.dst_blk, r.dst_rep, s.size, true);
    alignas(64) uint8_t td[kRepeat];
    math::fill(t, td, v.bits, s.lanes);
    for (uint32_t i = 0; i < uint32_t(r.times); i++) scatter(core->at(d), td, i, r.dst_blk, r.dst_rep, s, s.size);
    uint64_t bytes = uint64_t(r.times) * kRepeat;
    core->retire(k, cost(Op::Duplicate, t, bytes), bytes);
}
void copy_local(Dt t, Loc d, Loc s, const Rep& r, Here here) {
    run_rep(Op::Copy, t, d, s, s, false, false, r, here, [&](uint8_t* td, uint8_t* ta, uint8_t*, size_t) { std::memcpy(td, ta, kRepeat); });
}

}  // namespace twin
