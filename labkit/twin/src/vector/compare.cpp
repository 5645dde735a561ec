// Compare and Select: one bit for each element, in UB or in the register CMPMASK.
#include "vector/vector.h"

namespace twin {

namespace {

bool whole_repeats(const char* op, Dt t, int32_t& n, Here here) {
    uint32_t lanes = kRepeat / size_of(t);
    if (n % int32_t(lanes) == 0) return true;
    core->report("compare-tail", true, here,
                 Numbers()
                     .add("op", op)
                     .add("count", n)
                     .add("lanes", lanes)
                     .add("tail", n % int32_t(lanes))
                     .add("up", (n / int32_t(lanes) + 1) * int32_t(lanes)));
    core->unseen_writes = true;  // the bits of the tail are missing, and this says so
    n -= n % int32_t(lanes);
    return n > 0;
}

bool mode_ok(Cmp mode, Op op, Dt t, Here here) {
    if (t != Dt::I32 || mode == Cmp::EQ) return true;
    core->report("compare-int", true, here, Numbers().add("op", name_of(op)));
    return false;
}

// Whether no repeat writes what a later one reads, where an element is a bit on one of the two sides: a repeat writes
// `width` bytes, `step` from one repeat to the next, and reads `sw`.
bool bits_apart(Loc d, uint64_t step, uint64_t width, Loc s, uint64_t sw, uint64_t times, Here here) {
    uint64_t end = s.addr + times * sw;
    bool bad = false;
    for (uint64_t i = 0; i + 1 < times && !bad && d.mem == s.mem && d.addr < end; i++)
        bad = d.addr + i * step < end && s.addr + (i + 1) * sw < d.addr + i * step + width;
    if (bad)
        core->report("overlap", true, here,
                     Numbers().add("dst", d.addr).add("src", s.addr).add("bytes", (times - 1) * step + width));
    return !bad;
}

// The second operand: a tensor, or a scalar's bits.
struct Second {
    const Loc* tensor;
    uint64_t value;
    void compare(Cmp mode, Dt t, uint8_t* bits, const uint8_t* a, const uint8_t* b, size_t n) const {
        if (tensor) math::compare(mode, t, bits, a, b, n);
        else math::compare_scalar(mode, t, bits, a, value, n);
    }
};

void compare_count(Cmp mode, Op op, Dt t, Loc d, Loc a, Second b, int32_t n, Here here) {
    core->last = here;
    if (n <= 0) {
        if (n) core->report("count-negative", true, here, Numbers().add("count", n));
        return;
    }
    if (!whole_repeats(name_of(op), t, n, here)) return core->refuse(d, 32);
    if (!mode_ok(mode, op, t, here)) return core->refuse(d, uint64_t(n) / 8);
    uint64_t bytes = uint64_t(n) * size_of(t), out = uint64_t(n) / 8;
    if (!core->usable(a, bytes, true, here, "src0") ||
        (b.tensor && !core->usable(*b.tensor, bytes, true, here, "src1")) || !core->usable(d, out, false, here, "dst"))
        return core->refuse(d, out);
    uint64_t times = bytes / kRepeat, once = out / times;
    if (!bits_apart(d, once, once, a, kRepeat, times, here) ||
        (b.tensor && !bits_apart(d, once, once, *b.tensor, kRepeat, times, here)))
        return core->refuse(d, out);
    auto k = core->issue(Pipe::V, op, here);
    core->book(k, a, uint32_t(bytes), false);
    if (b.tensor) core->book(k, *b.tensor, uint32_t(bytes), false);
    core->book(k, d, uint32_t(out), true);
    b.compare(mode, t, core->at(d), core->at(a), b.tensor ? core->at(*b.tensor) : nullptr, size_t(n));
    core->retire(k, cost(op, t, bytes, b.tensor ? banks_of(d, {a, *b.tensor}, bytes) : 0), bytes);
}

// Runs body(repeat, first, second, lanes) on the repeats' lanes, gathered where they do not lie together.
template <typename F> void each_repeat(const Shape& s, Loc a, const Loc* b, const Rep& r, F body) {
    alignas(64) uint8_t ta[kRepeat], tb[kRepeat];
    for (uint32_t i = 0; i < uint32_t(s.r.times); i++) {
        gather(ta, core->at(a), i, r.src0_blk, r.src0_rep, s, s.size);
        if (b) gather(tb, core->at(*b), i, r.src1_blk, r.src1_rep, s, s.size);
        body(i, ta, tb, s.top_of(i));
    }
}

// On A2 the mask is ignored: the bits of all repeats are consecutive.
void compare_repeats(Cmp mode, Op op, Dt t, Loc d, Loc a, Second b, const Rep& r, Here here) {
    uint32_t lanes = kRepeat / size_of(t);
    Shape s(r, size_of(t), uint64_t(std::max(r.times, 0)) * lanes);
    uint64_t out = uint64_t(s.r.times) * lanes / 8;
    if (!rep_ok(s, here)) return;
    if (!mode_ok(mode, op, t, here) || !core->usable(a, s.extent(r.src0_blk, r.src0_rep, s.size), true, here, "src0") ||
        (b.tensor && !core->usable(*b.tensor, s.extent(r.src1_blk, r.src1_rep, s.size), true, here, "src1")) ||
        !core->usable(d, out, false, here, "dst"))
        return core->refuse(d, out);
    auto k = core->issue(Pipe::V, op, here);
    book_rep(k, a, s, r.src0_blk, r.src0_rep, s.size, false);
    if (b.tensor) book_rep(k, *b.tensor, s, r.src1_blk, r.src1_rep, s.size, false);
    core->check_repeats(k, {d.mem, true, d.addr, uint32_t(out), lanes / 8, lanes / 8});
    core->book(k, d, uint32_t(out), true);
    each_repeat(s, a, b.tensor, r, [&](uint32_t i, const uint8_t* ta, const uint8_t* tb, uint32_t n) {
        b.compare(mode, t, core->at(d) + i * lanes / 8, ta, tb, n);
    });
    uint64_t times = uint64_t(s.r.times), bytes = times * kRepeat;
    Strided first{a.addr, r.src0_blk, r.src0_rep};  // the bits lie side by side whatever the strides are
    double banks = b.tensor ? bank_cycles({d.addr}, {first, {b.tensor->addr, r.src1_blk, r.src1_rep}}, times) : 0;
    core->retire(k, cost(op, t, bytes, banks), bytes);
}

}  // namespace

void compare(Cmp mode, Dt t, Loc d, Loc a, Loc b, int32_t n, Here here) {
    compare_count(mode, Op::Compare, t, d, a, {&b, 0}, n, here);
}
void compare(Cmp mode, Dt t, Loc d, Loc a, Value v, int32_t n, Here here) {
    compare_count(mode, Op::CompareScalar, t, d, a, {nullptr, v.bits}, n, here);
}
void compare(Cmp mode, Dt t, Loc d, Loc a, Loc b, const Rep& r, Here here) {
    compare_repeats(mode, Op::Compare, t, d, a, {&b, 0}, r, here);
}
void compare(Cmp mode, Dt t, Loc d, Loc a, Value v, const Rep& r, Here here) {
    compare_repeats(mode, Op::CompareScalar, t, d, a, {nullptr, v.bits}, r, here);
}

// One repeat, also where counter mode holds a number of elements for more; a lane that is switched off leaves a 0.
void compare_register(Cmp mode, Dt t, Loc a, Loc b, const Rep& rep, Here here) {
    Rep r = rep;
    r.times = 1;
    Shape s(r, size_of(t));
    if (!rep_ok(s, here)) return;
    s.r.times = 1;
    s.last = s.top;
    if (!core->usable(a, s.extent(r.src0_blk, 0, s.size), true, here, "src0") ||
        !core->usable(b, s.extent(r.src1_blk, 0, s.size), true, here, "src1"))
        return;
    auto k = core->issue(Pipe::V, Op::Compare, here);
    book_rep(k, a, s, r.src0_blk, 0, s.size, false);
    book_rep(k, b, s, r.src1_blk, 0, s.size, false);
    uint64_t bits[2] = {};
    each_repeat(s, a, &b, r, [&](uint32_t, const uint8_t* ta, const uint8_t* tb, uint32_t n) {
        math::compare(mode, t, reinterpret_cast<uint8_t*>(bits), ta, tb, n);
    });
    for (int i = 0; i < 2; i++) bits[i] &= s.r.mask[i];
    std::memcpy(core->vec.compare, bits, sizeof bits);
    core->retire(k, cost(Op::Compare, t, kRepeat, banks_of(a, {a, b}, kRepeat)), kRepeat);
}

void compare_mask_get(Loc d, Here here) {
    core->last = here;
    if (!core->usable(d, 16, false, here, "dst", 16)) return core->refuse(d, 16);
    auto k = core->issue(Pipe::V, Op::CmpMask, here);
    core->book(k, d, 16, true);
    std::memcpy(core->at(d), core->vec.compare, 16);
    core->retire(k, cost(Op::CmpMask, Dt::U8, 16), 16);
}

void compare_mask_set(Loc s, Here here) {
    core->last = here;
    uint32_t bytes = std::min(16u, s.bytes);
    if (!core->usable(s, bytes, true, here, "src", 16)) return;
    auto k = core->issue(Pipe::V, Op::CmpMask, here);
    core->book(k, s, bytes, false);
    std::memcpy(core->vec.compare, core->at(s), bytes);
    core->retire(k, cost(Op::CmpMask, Dt::U8, 16), 16);
}

// ---------------------------------------------------------------- Select

namespace {

// Modes 1 and 2 store their scalar, or the address of their bits, at the beginning of the last 8 KB of UB, and load
// CMPMASK from there.
constexpr uint8_t kVecIn = 9, kVecCalc = 11;  // TPosition: those in UB
void use_reserved(Sel mode, Dt t, Loc mask, Value v, Here here) {
    if (mode == Sel::Mask) return std::memcpy(core->vec.compare, core->at(mask), std::min(16u, mask.bytes)), void();
    uint32_t at = chip.size[int(Mem::UB)] - chip.reserved, bytes = 32 * (mode == Sel::TensorScalar ? size_of(t) : 4);
    // a buffer over all of UB may leave these bytes unused
    const bool written = core->memory[int(Mem::UB)].any_written(at, at + bytes);
    bool in_use = written && core->top[int(Mem::UB)] > at;
    if (written && !in_use)  // a tensor at an address that the kernel chose
        core->report("select-reserved", false, here,
                     Numbers().add("at", at).add("bytes", bytes).add("addr", at).add("len", bytes));
    for (size_t i = core->buffers.size(); in_use && i-- > 1;) {
        const Core::Buffer& b = core->buffers[i];
        if (!b.filled || b.pos < kVecIn || b.pos > kVecCalc || b.addr >= at + bytes || at >= b.addr + b.len) continue;
        core->report("select-reserved", false, here,
                     Numbers().add("at", at).add("bytes", bytes).add("addr", b.addr).add("len", b.len));
        break;
    }
    Loc area;
    area.addr = at;
    area.pos = mask.pos;
    math::fill(mode == Sel::TensorScalar ? t : Dt::U32, core->at(area), mode == Sel::TensorScalar ? v.bits : mask.addr,
               32);
    std::memcpy(core->vec.compare, core->at(area), 16);
}

void blend(Sel mode, Dt t, uint8_t* d, const uint8_t* bits, const uint8_t* a, const uint8_t* b, uint64_t value,
           size_t n) {
    if (mode == Sel::TensorScalar) math::select_scalar(t, d, bits, a, value, n);
    else math::select(t, d, bits, a, b, n);
}

// The selection bits of repeat i are always the first ones (Mask, then `fixed` has them), or those that follow on.
// loaded: bytes of the mask tensor that went into `fixed`.
void select_repeats(Sel mode, Dt t, Loc d, Loc mask, const uint8_t* fixed, uint32_t loaded, Loc a, Loc b,
                    uint64_t value, const Rep& r, const Shape& s, Here here) {
    bool two = mode != Sel::TensorScalar;
    uint64_t dn = s.extent(r.dst_blk, r.dst_rep, s.size), per = s.lanes / 8,
             bits = per * uint64_t(s.r.times - 1) + (s.last + 7) / 8;
    if ((!fixed && !core->usable(mask, bits, true, here, "mask")) ||
        !core->usable(a, s.extent(r.src0_blk, r.src0_rep, s.size), true, here, "src0") ||
        (two && !core->usable(b, s.extent(r.src1_blk, r.src1_rep, s.size), true, here, "src1")) ||
        !core->usable(d, dn, false, here, "dst"))
        return core->refuse(d, dn);
    uint64_t step = uint64_t(r.dst_rep) * kBlock;
    if (!fixed && r.dst_blk == 1 && !bits_apart(d, step, s.once(1, s.size), mask, per, uint64_t(s.r.times), here))
        return core->refuse(d, dn);
    auto k = core->issue(Pipe::V, Op::Select, here);
    core->book(k, mask, fixed ? loaded : uint32_t(bits), false);
    book_rep(k, a, s, r.src0_blk, r.src0_rep, s.size, false);
    if (two) book_rep(k, b, s, r.src1_blk, r.src1_rep, s.size, false);
    book_rep(k, d, s, r.dst_blk, r.dst_rep, s.size, true);
    alignas(64) uint8_t td[kRepeat];
    each_repeat(s, a, two ? &b : nullptr, r, [&](uint32_t i, const uint8_t* ta, const uint8_t* tb, uint32_t n) {
        blend(mode, t, td, fixed ? fixed : core->at(mask) + i * per, ta, tb, value, n);
        scatter(core->at(d), td, i, r.dst_blk, r.dst_rep, s, s.size);
    });
    uint64_t bytes = uint64_t(s.r.times) * kRepeat;
    core->retire(k, cost(Op::Select, t, bytes, two ? banks_of(s.r, d, a, b) : 0), bytes);
}

}  // namespace

// A scalar is selected from in mode 1, a second tensor in modes 0 and 2. With another mode the device leaves the
// destination alone, or takes a tensor's address for bits.
bool select_mode_ok(Sel mode, bool scalar, Loc d, Here here) {
    if (scalar == (mode == Sel::TensorScalar)) return true;
    core->last = here;
    if (!core->usable(d, 0, false, here, "dst")) return false;
    static const char* const names[] = {"VSEL_CMPMASK_SPR", "VSEL_TENSOR_SCALAR_MODE", "VSEL_TENSOR_TENSOR_MODE"};
    core->report("select-mode", true, here,
                 Numbers().add("mode", names[std::min(int(mode), 2)]).add("src1", scalar ? "T" : "LocalTensor<T>"));
    core->refuse(d, d.bytes);
    return false;
}

void select(Sel mode, Dt t, Loc d, Loc mask, Loc a, Loc b, Value v, int32_t n, Here here) {
    if (!count_ok(n, here)) return;
    uint32_t lanes = kRepeat / size_of(t);
    uint64_t bytes = uint64_t(n) * size_of(t), bits = mode == Sel::Mask ? lanes / 8 : (uint64_t(n) + 7) / 8;
    bool two = mode != Sel::TensorScalar;
    if (!core->usable(mask, bits, true, here, "mask") || !core->usable(a, bytes, true, here, "src0") ||
        (two && !core->usable(b, bytes, true, here, "src1")) || !core->usable(d, bytes, false, here, "dst"))
        return core->refuse(d, bytes);
    uint32_t size = size_of(t);
    if (!overlap_ok(d, size, a, size, uint64_t(n), here) || (two && !overlap_ok(d, size, b, size, uint64_t(n), here)) ||
        (mode != Sel::Mask && !bits_apart(d, kRepeat, kRepeat, mask, lanes / 8, (bytes + kRepeat - 1) / kRepeat, here)))
        return core->refuse(d, bytes);
    auto k = core->issue(Pipe::V, Op::Select, here);
    core->book(k, mask, uint32_t(bits), false);
    core->book(k, a, uint32_t(bytes), false);
    if (two) core->book(k, b, uint32_t(bytes), false);
    core->book(k, d, uint32_t(bytes), true);
    use_reserved(mode, t, mask, v, here);
    const uint8_t* m = mode == Sel::Mask ? core->vec.compare : core->at(mask);
    for (uint32_t i = 0, step = mode == Sel::Mask ? lanes : uint32_t(n); i < uint32_t(n); i += step) {
        size_t at = size_t(i) * size_of(t), some = std::min<size_t>(step, size_t(n) - i);
        blend(mode, t, core->at(d) + at, m, core->at(a) + at, core->at(b) + at, v.bits, some);
    }
    core->retire(k, cost(Op::Select, t, bytes, two ? banks_of(d, {a, b}, bytes) : 0), bytes);
}

void select(Sel mode, Dt t, Loc d, Loc mask, Loc a, Loc b, Value v, const Rep& r, Here here) {
    Shape s(r, size_of(t));
    if (!rep_ok(s, here)) return;
    if (!core->usable(mask, s.lanes / 8, true, here, "mask"))
        return core->refuse(d, s.extent(r.dst_blk, r.dst_rep, s.size));
    core->catch_up(Pipe::V);
    use_reserved(mode, t, mask, v, here);
    alignas(8) uint8_t bits[16];
    std::memcpy(bits, core->vec.compare, sizeof bits);
    select_repeats(mode, t, d, mask, mode == Sel::Mask ? bits : nullptr, s.lanes / 8, a, b, v.bits, r, s, here);
}

// What Compare or SetCmpMask left in CMPMASK: the bits, the scalar, or the address of the bits.
void select_register(Sel mode, Dt t, Loc d, Loc mask, Loc a, Loc b, const Rep& r, Here here) {
    Shape s(r, size_of(t));
    if (!rep_ok(s, here)) return;
    alignas(8) uint8_t held[16];
    std::memcpy(held, core->vec.compare, sizeof held);
    uint64_t value = 0;
    std::memcpy(&value, held, size_of(t));
    if (mode == Sel::TensorTensor) {
        uint32_t at;
        std::memcpy(&at, held, sizeof at);
        mask = d;
        mask.buf = 0;
        mask.addr = at;
        mask.bytes = at < chip.size[int(Mem::UB)] ? chip.size[int(Mem::UB)] - at : 0;
    }
    select_repeats(mode, t, d, mask, mode == Sel::Mask ? held : nullptr, 0, a, b, value, r, s, here);
}

}  // namespace twin
