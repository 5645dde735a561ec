// Instructions that compute and convert in one go: a destination of another type than the sources; dequantisation.
#include "vector/vector.h"

namespace twin {

namespace {

using Form = VectorState::Deq;

bool deq_is(Form form, const char* op, const char* call, Here here) {
    if (core->vec.deq_form == form) return true;
    core->report("deq-unset", form != Form::Half, here, Numbers().add("op", op).add("call", call));
    return form == Form::Half;  // then the scale is 1
}

struct Mixed {
    Op op;
    Dt to, from;
    uint64_t value;
    bool reads() const { return op == Op::MulAddDst || op == Op::Axpy; }
    Dt wider() const { return size_of(to) > size_of(from) ? to : from; }
    bool one() const { return op == Op::Axpy; }
    void operator()(uint8_t* d, const uint8_t* a, const uint8_t* b, size_t n) const {
        math::mixed(op, to, from, d, a, b, value, n);
    }
};

bool ready(const Mixed& m, Here here) {
    return m.op != Op::AddDeqRelu || deq_is(Form::Half, "AddDeqRelu", "SetDeqScale(half)", here);
}

Mixed made(Op op, Dt to, Dt from, Value v) {
    Mixed m{op, to, from, v.bits};
    if (op == Op::AddDeqRelu) {
        float scale = deq_scale();
        std::memcpy(&m.value, &scale, sizeof scale);
    }
    return m;
}

}  // namespace

void mixed(Op op, Dt to, Dt from, Loc d, Loc a, Loc b, Value v, int32_t n, Here here) {
    if (!count_ok(n, here)) return;
    Mixed m = made(op, to, from, v);
    uint32_t dw = size_of(to), sw = size_of(from);
    uint64_t dn = uint64_t(n) * dw, sn = uint64_t(n) * sw, bytes = std::max(dn, sn);
    if (!ready(m, here) || !core->usable(a, sn, true, here, m.one() ? "src" : "src0") ||
        (!m.one() && !core->usable(b, sn, true, here, "src1")) || !core->usable(d, dn, m.reads(), here, "dst") ||
        !overlap_ok(d, dw, a, sw, uint64_t(n), here) || !overlap_ok(d, dw, b, sw, uint64_t(n), here))
        return core->refuse(d, dn);
    auto k = core->issue(Pipe::V, op, here);
    core->book(k, a, uint32_t(sn), false);
    if (!m.one()) core->book(k, b, uint32_t(sn), false);
    if (m.reads()) core->book(k, d, uint32_t(dn), false);
    core->book(k, d, uint32_t(dn), true);
    uint32_t lanes = kRepeat / std::max(dw, sw);
    Rep r;
    r.dst_rep = uint16_t(lanes * dw / kBlock);
    r.src0_rep = r.src1_rep = uint16_t(lanes * sw / kBlock);
    Shape s(r, std::max(dw, sw), uint64_t(n));
    Repeats(s, {core->at(d), 1, r.dst_rep, dw}, m.reads())
        .run(m, Side{core->at(a), 1, r.src0_rep, sw}, Side{core->at(b), 1, r.src1_rep, sw});
    core->retire(k, cost(op, m.wider(), bytes, m.one() ? 0 : banks_of(d, {a, b}, bytes)), bytes);
}

void mixed(Op op, Dt to, Dt from, Loc d, Loc a, Loc b, Value v, const Rep& r, Here here) {
    Mixed m = made(op, to, from, v);
    uint32_t dw = size_of(to), sw = size_of(from);
    Shape s(r, std::max(dw, sw));
    if (!rep_ok(s, here)) return;
    uint64_t dn = s.extent(r.dst_blk, r.dst_rep, dw);
    if (!ready(m, here) ||
        !core->usable(a, s.extent(r.src0_blk, r.src0_rep, sw), true, here, m.one() ? "src" : "src0") ||
        (!m.one() && !core->usable(b, s.extent(r.src1_blk, r.src1_rep, sw), true, here, "src1")) ||
        !core->usable(d, dn, m.reads(), here, "dst"))
        return core->refuse(d, dn);
    auto k = core->issue(Pipe::V, op, here);
    book_rep(k, a, s, r.src0_blk, r.src0_rep, sw, false);
    if (!m.one()) book_rep(k, b, s, r.src1_blk, r.src1_rep, sw, false);
    if (m.reads()) book_rep(k, d, s, r.dst_blk, r.dst_rep, dw, false);
    book_rep(k, d, s, r.dst_blk, r.dst_rep, dw, true);
    Repeats(s, {core->at(d), r.dst_blk, r.dst_rep, dw}, m.reads())
        .run(m, Side{core->at(a), r.src0_blk, r.src0_rep, sw},
             Side{core->at(b), m.one() ? r.src0_blk : r.src1_blk, m.one() ? r.src0_rep : r.src1_rep, sw});
    uint64_t bytes = uint64_t(s.r.times) * kRepeat;
    core->retire(k, cost(op, m.wider(), bytes, m.one() ? 0 : banks_of(d, {a, b}, bytes)), bytes);
}

// ---------------------------------------------------------------- dequantisation

float deq_scale() { return core->vec.deq_form == Form::Half ? half_to_float(uint16_t(core->vec.deq)) : 1.0f; }

void deq_half(uint16_t bits) {
    core->vec.deq = bits;
    core->vec.deq_form = Form::Half;
}
void deq_scalar(uint64_t config) {
    core->vec.deq = config;
    core->vec.deq_form = Form::Scalar;
}
void deq_tensor(Loc configs) {
    core->vec.deq_at = configs;
    core->vec.deq_form = Form::Tensor;
}

namespace {

// One configuration: the scale's upper 19 bits (the unit reads no more), the offset's 9 bits, signed or not.
uint8_t dequantised(uint64_t config, int16_t x) {
    uint32_t bits = uint32_t(config) & ~0x1fffu;
    float scale;
    std::memcpy(&scale, &bits, sizeof scale);
    int offset = int(config >> 37 & 0x1ff);
    offset -= offset & 0x100 ? 0x200 : 0;
    bool sign = config >> 46 & 1;
    constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number, ties to even
    float y = std::min(std::max(float(x) * scale + float(offset), sign ? -128.0f : 0.0f), sign ? 127.0f : 255.0f);
    return y == y ? uint8_t(int(y + kMagic - kMagic)) : 0;
}

void cast_deq(Loc d, Loc s, bool tensor, bool upper, const Rep& r, const Shape& shape, Here here) {
    if (!rep_ok(shape, here)) return;
    // A block of 16 sources leaves 16 bytes in one half of its destination block.
    uint64_t dn = shape.extent(r.dst_blk, r.dst_rep, 2), sn = shape.extent(r.src0_blk, r.src0_rep, 2);
    bool set = tensor ? deq_is(Form::Tensor, "CastDequant<..., isVecDeq = true>", "SetDeqScale(tensor, VdeqInfo)", here)
                      : deq_is(Form::Scalar, "CastDequant<..., isVecDeq = false>", "SetDeqScale(float, int16_t, bool)",
                               here);
    if (!set || !core->usable(s, sn, true, here, "src") || !core->usable(d, dn, false, here, "dst") ||
        (tensor && !core->usable(core->vec.deq_at, 128, true, here, "SetDeqScale")))
        return core->refuse(d, dn);
    auto k = core->issue(Pipe::V, Op::CastDequant, here);
    book_rep(k, s, shape, r.src0_blk, r.src0_rep, 2, false);
    if (tensor) core->book(k, core->vec.deq_at, 128, false);
    // Both halves of a destination block are booked; what nobody wrote of the other half stays so.
    Shadow off;
    if (core->checks && core->unwritten(d.mem, d.addr, d.addr + dn)) {
        off = core->shadow(d.mem, d.addr, dn);
        for (uint32_t i = 0; i < uint32_t(shape.r.times); i++)
            for (uint32_t lane = 0; lane < shape.top_of(i); lane++) {
                size_t to = (size_t(i) * r.dst_rep + lane / 16 * r.dst_blk) * kBlock + lane % 16 + (upper ? 16 : 0);
                if ((shape.prefix || shape.on(lane)) && to < off.size()) off[to] = 0;
            }
    }
    book_rep(k, d, shape, r.dst_blk, r.dst_rep, 2, true);
    if (!off.empty()) core->leave(d.mem, d.addr, off, kNobody);
    uint64_t config[16];
    if (tensor) std::memcpy(config, core->at(core->vec.deq_at), sizeof config);
    else std::fill_n(config, 16, core->vec.deq);
    int16_t in[128];
    for (uint32_t i = 0; i < uint32_t(shape.r.times); i++) {
        gather(reinterpret_cast<uint8_t*>(in), core->at(s), i, r.src0_blk, r.src0_rep, shape, 2);
        uint8_t* out = core->at(d) + size_t(i) * r.dst_rep * kBlock + (upper ? 16 : 0);
        for (uint32_t lane = 0; lane < shape.top_of(i); lane++)
            if (shape.prefix || shape.on(lane))
                out[size_t(lane / 16) * r.dst_blk * kBlock + lane % 16] = dequantised(config[lane % 16], in[lane]);
    }
    uint64_t bytes = uint64_t(shape.r.times) * kRepeat;
    core->retire(k, cost(tensor ? Op::CastDequant : Op::Cast, Dt::I16, bytes), bytes);
}

}  // namespace

void cast_deq(Loc d, Loc s, bool tensor, bool upper, int32_t n, Here here) {
    if (count_ok(n, here)) cast_deq(d, s, tensor, upper, Rep{}, Shape(Rep{}, 2, uint64_t(n)), here);
}
void cast_deq(Loc d, Loc s, bool tensor, bool upper, const Rep& r, Here here) {
    cast_deq(d, s, tensor, upper, r, Shape(r, 2), here);
}

}  // namespace twin
