// CreateVecIndex and Arange: the first block by the scalar unit, all others by adding to what is there. The sums are
// made in the tensor's own type, block by block up to a repeat, then repeat by repeat: a half or float may round on the
// way.
#include "vector/rearrange.h"

namespace twin {

namespace {

float as_float(Dt t, Value v) {
    float f;
    std::memcpy(&f, &v.bits, 4);
    return t == Dt::F16 ? half_to_float(uint16_t(v.bits)) : f;
}
int64_t as_int(Dt t, Value v) { return t == Dt::I16 ? int16_t(v.bits) : int32_t(v.bits); }

Value term(Dt t, Value first, Value step, int64_t i) {
    if (t == Dt::I16 || t == Dt::I32) return Value{uint64_t(as_int(t, first) + as_int(t, step) * i)};
    float f = as_float(t, first) + as_float(t, step) * float(i);
    uint32_t bits;
    std::memcpy(&bits, &f, 4);
    return Value{t == Dt::F16 ? float_to_half(f) : bits};
}
Value times(Dt t, Value step, int64_t n) { return term(t, Value{0}, step, n); }

void scalar_block(Dt t, Loc d, Value first, Value step, uint32_t n, Here here) {
    uint32_t size = size_of(t);
    core->touch_scalar(d, n * size, true, here);
    for (uint32_t i = 1; i < n; i++) core->spend_scalar(size, true, here);
    for (uint32_t i = 0; i < n; i++) {
        Value v = term(t, first, step, i);
        std::memcpy(core->at(d) + i * size, &v.bits, size);
    }
}

}  // namespace

void progression(Op op, Dt t, Loc d, Value first, Value step, int64_t n, Here here) {
    core->last = here;
    if (n <= 0) return;
    uint32_t size = size_of(t), block = kBlock / size, repeat = kRepeat / size;
    // Arange fills its last block.
    uint64_t all = op == Op::Arange && n > block ? (uint64_t(n) + block - 1) / block * block : uint64_t(n);
    uint64_t bytes = all * size;
    uint32_t align = all <= block ? size : 32;  // up to a block the scalar unit stores it
    if (!core->usable(d, bytes, false, here, "dst", align)) return core->refuse(d, bytes);
    scalar_block(t, d, first, step, uint32_t(std::min<uint64_t>(all, block)), here);
    if (all <= block) return;
    auto k = core->issue(Pipe::V, op, here);
    core->book(k, d, uint32_t(bytes), true);
    uint8_t* x = core->at(d);
    uint64_t instructions = 0, at = block;
    for (uint64_t reach : {block, repeat})
        for (Value add = times(t, step, int64_t(reach)); at < all && (reach == repeat || at < repeat); instructions++) {
            uint64_t some = std::min<uint64_t>(reach, all - at);
            math::scalar(Op::Adds, t, x + at * size, x + (at - reach) * size, add.bits, some);
            at += some;
        }
    core->retire(k, double(instructions) * (chip.vector_startup + chip.per_repeat[int(op)][int(t)]), bytes);
}

void progression(Dt t, Loc d, Value first, const Rep& asked, Here here) {
    Shape s(asked, size_of(t));
    if (!rep_ok(s, here)) return;
    const Rep& r = s.r;
    uint64_t dn = s.extent(r.dst_blk, r.dst_rep, s.size);
    if (!core->usable(d, dn, false, here, "dst")) return core->refuse(d, dn);
    uint32_t block = kBlock / s.size;
    Shadow off;  // what is unwritten of the first block, without its active lanes
    if (core->checks && core->unwritten(d.mem, d.addr, d.addr + kBlock)) {
        off = core->shadow(d.mem, d.addr, kBlock);
        for (uint32_t i = 0; i < std::min(block, s.top); i++)
            if (s.on(i)) std::fill_n(off.begin() + i * s.size, s.size, uint8_t(0));
    }
    core->touch_scalar(d, kBlock, true, here);
    if (!off.empty()) core->leave(d.mem, d.addr, off, kNobody);
    for (uint32_t i = 1; i < std::min(block, s.top); i++) core->spend_scalar(s.size, true, here);
    auto k = core->issue(Pipe::V, Op::CreateVecIndex, here);
    book_rep(k, d, s, r.dst_blk, r.dst_rep, s.size, true);
    alignas(64) uint8_t lanes[kRepeat], next[kRepeat];
    Value one = t == Dt::F16   ? Value{0x3c00}
                : t == Dt::F32 ? Value{0x3f800000}
                               : Value{1},
          add = times(t, one, s.lanes);
    for (uint32_t i = 0; i < s.lanes; i++) {
        Value v = term(t, first, one, i);
        std::memcpy(lanes + i * s.size, &v.bits, s.size);
    }
    for (uint32_t i = 0; i < uint32_t(r.times); i++) {
        scatter(core->at(d), lanes, i, r.dst_blk, r.dst_rep, s, s.size);
        math::scalar(Op::Adds, t, next, lanes, add.bits, s.lanes);
        std::memcpy(lanes, next, kRepeat);
    }
    double instructions = s.blocks(s.size) - 1 + r.times - 1;
    core->retire(k, instructions * (chip.vector_startup + chip.per_repeat[int(Op::CreateVecIndex)][int(t)]),
                 uint64_t(r.times) * kRepeat);
}

}  // namespace twin
