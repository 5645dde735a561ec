// Compare and Select: one bit an element between them.
#include "vector.h"

namespace twin {

static bool whole_repeats(const char* op, Dt t, int32_t& n, Here here) {
    uint32_t lanes = kRepeat / size_of(t);
    if (n % int32_t(lanes) == 0) return true;
    core->report("compare-tail", true, here, Numbers().add("op", op).add("count", n).add("lanes", lanes).add("tail", n % int32_t(lanes)).add("up", (n / int32_t(lanes) + 1) * int32_t(lanes)));
    n -= n % int32_t(lanes);
    return n > 0;
}

static void compare_any(Cmp mode, Op op, Dt t, Loc d, Loc a, const Loc* b, Value v, int32_t n, Here here) {
    if (!count_ok(n, here)) return;
    if (!whole_repeats(name_of(op), t, n, here)) return core->refuse(d, 32);
    if (t == Dt::I32 && mode != Cmp::EQ) {
        core->report("compare-int", true, here, Numbers().add("op", name_of(op)));
        return core->refuse(d, uint64_t(n) / 8);
    }
    uint64_t bytes = uint64_t(n) * size_of(t), out = uint64_t(n) / 8;
    if (!core->usable(a, bytes, true, here, "src0") || (b && !core->usable(*b, bytes, true, here, "src1")) || !core->usable(d, out, false, here, "dst")) return core->refuse(d, out);
    auto k = core->issue(Pipe::V, op, here);
    core->book(k, a, uint32_t(bytes), false);
    if (b) core->book(k, *b, uint32_t(bytes), false);
    core->book(k, d, uint32_t(out), true);
    if (b) math::compare(mode, t, core->at(d), core->at(a), core->at(*b), size_t(n));
    else math::compare_scalar(mode, t, core->at(d), core->at(a), v.bits, size_t(n));
    core->retire(k, cost(op, t, bytes, b && same_bank_group(a, *b)), bytes);
}
void compare(Cmp mode, Dt t, Loc d, Loc a, Loc b, int32_t n, Here here) { compare_any(mode, Op::Compare, t, d, a, &b, Value{0}, n, here); }
void compare(Cmp mode, Dt t, Loc d, Loc a, Value v, int32_t n, Here here) { compare_any(mode, Op::CompareScalar, t, d, a, nullptr, v, n, here); }

void select(Sel mode, Dt t, Loc d, Loc mask, Loc a, Loc b, Value v, int32_t n, Here here) {
    if (!count_ok(n, here)) return;
    uint32_t lanes = kRepeat / size_of(t);
    uint64_t bytes = uint64_t(n) * size_of(t), bits = mode == Sel::Mask ? lanes / 8 : (uint64_t(n) + 7) / 8;
    bool two = mode != Sel::TensorScalar;
    if (!core->usable(mask, bits, true, here, "mask") || !core->usable(a, bytes, true, here, "src0") || (two && !core->usable(b, bytes, true, here, "src1")) ||
        !core->usable(d, bytes, false, here, "dst")) return core->refuse(d, bytes);
    auto k = core->issue(Pipe::V, Op::Select, here);
    core->book(k, mask, uint32_t(bits), false);
    core->book(k, a, uint32_t(bytes), false);
    if (two) core->book(k, b, uint32_t(bytes), false);
    core->book(k, d, uint32_t(bytes), true);
    const uint8_t* m = core->at(mask);
    if (mode == Sel::TensorScalar) {
        math::select_scalar(t, core->at(d), m, core->at(a), v.bits, size_t(n));
    } else if (mode == Sel::TensorTensor) {
        math::select(t, core->at(d), m, core->at(a), core->at(b), size_t(n));
    } else {  // the same bits for every repeat
        for (uint32_t i = 0; i < uint32_t(n); i += lanes) {
            size_t at = size_t(i) * size_of(t), some = std::min<size_t>(lanes, size_t(n) - i);
            math::select(t, core->at(d) + at, m, core->at(a) + at, core->at(b) + at, some);
        }
    }
    core->retire(k, cost(Op::Select, t, bytes, two && same_bank_group(a, b)), bytes);
}

// ---- the mask/repeat forms. Compare writes the bits of repeat after repeat and knows no mask on A2.

static void compare_rep(Cmp mode, Op op, Dt t, Loc d, Loc a, const Loc* b, Value v, Rep r, Here here) {
    r.mask[0] = r.mask[1] = ~0ull;
    Shape s(r, size_of(t));
    uint64_t out = uint64_t(r.times > 0 ? r.times : 0) * s.lanes / 8;
    if (!rep_ok(s, here)) return;
    if (t == Dt::I32 && mode != Cmp::EQ) {
        core->report("compare-int", true, here, Numbers().add("op", name_of(op)));
        return void(core->refuse(d, out));
    }
    if (!core->usable(a, s.extent(r.src0_blk, r.src0_rep, s.size), true, here, "src0") ||
        (b && !core->usable(*b, s.extent(r.src1_blk, r.src1_rep, s.size), true, here, "src1")) || !core->usable(d, out, false, here, "dst")) return void(core->refuse(d, out));
    auto k = core->issue(Pipe::V, op, here);
    book_rep(k, a, s, r.src0_blk, r.src0_rep, s.size, false);
    if (b) book_rep(k, *b, s, r.src1_blk, r.src1_rep, s.size, false);
    core->book(k, d, uint32_t(out), true);
    alignas(64) uint8_t ta[kRepeat], tb[kRepeat];
    for (uint32_t i = 0; i < uint32_t(r.times); i++) {
        uint8_t* bits = core->at(d) + i * s.lanes / 8;
        gather(ta, core->at(a), i, r.src0_blk, r.src0_rep, s, s.size);
        if (b) gather(tb, core->at(*b), i, r.src1_blk, r.src1_rep, s, s.size);
        if (b) math::compare(mode, t, bits, ta, tb, s.lanes);
        else math::compare_scalar(mode, t, bits, ta, v.bits, s.lanes);
    }
    uint64_t bytes = uint64_t(r.times) * kRepeat;
    core->retire(k, cost(op, t, bytes, b && same_bank_group(a, *b)), bytes);
}
void compare(Cmp mode, Dt t, Loc d, Loc a, Loc b, const Rep& r, Here here) { compare_rep(mode, Op::Compare, t, d, a, &b, Value{0}, r, here); }
void compare(Cmp mode, Dt t, Loc d, Loc a, Value v, const Rep& r, Here here) { compare_rep(mode, Op::CompareScalar, t, d, a, nullptr, v, r, here); }

// The selection bits of repeat i: always the first ones, or those that follow on.
void select(Sel mode, Dt t, Loc d, Loc mask, Loc a, Loc b, Value v, const Rep& r, Here here) {
    Shape s(r, size_of(t));
    if (!rep_ok(s, here)) return;
    bool two = mode != Sel::TensorScalar;
    uint64_t dn = s.extent(r.dst_blk, r.dst_rep, s.size), per = s.lanes / 8, bits = mode == Sel::Mask ? per : per * uint64_t(r.times);
    if (!core->usable(mask, bits, true, here, "mask") || !core->usable(a, s.extent(r.src0_blk, r.src0_rep, s.size), true, here, "src0") ||
        (two && !core->usable(b, s.extent(r.src1_blk, r.src1_rep, s.size), true, here, "src1")) || !core->usable(d, dn, false, here, "dst")) return void(core->refuse(d, dn));
    auto k = core->issue(Pipe::V, Op::Select, here);
    core->book(k, mask, uint32_t(bits), false);
    book_rep(k, a, s, r.src0_blk, r.src0_rep, s.size, false);
    if (two) book_rep(k, b, s, r.src1_blk, r.src1_rep, s.size, false);
    book_rep(k, d, s, r.dst_blk, r.dst_rep, s.size, true);
    alignas(64) uint8_t td[kRepeat], ta[kRepeat], tb[kRepeat];
    for (uint32_t i = 0; i < uint32_t(r.times); i++) {
        const uint8_t* m = core->at(mask) + (mode == Sel::Mask ? 0 : i * per);
        gather(ta, core->at(a), i, r.src0_blk, r.src0_rep, s, s.size);
        if (two) gather(tb, core->at(b), i, r.src1_blk, r.src1_rep, s, s.size);
        if (two) math::select(t, td, m, ta, tb, s.lanes);
        else math::select_scalar(t, td, m, ta, v.bits, s.lanes);
        scatter(core->at(d), td, i, r.dst_blk, r.dst_rep, s, s.size);
    }
    uint64_t bytes = uint64_t(r.times) * kRepeat;
    core->retire(k, cost(Op::Select, t, bytes, two && same_bank_group(a, b)), bytes);
}

}  // namespace twin
