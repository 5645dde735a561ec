// Cast: operands of two widths, every pair and rounding mode that A2 has.
#include "vector/vector.h"

namespace twin {

namespace {

uint32_t width_of(Dt t) { return t == Dt::I4 ? kNibble : size_of(t); }

// The documents say that CAST_NONE means RINT. For these pairs, and for any other mode that math::supports_cast
// excludes, the library of CANN 8.1 and 9.1 has no instruction: outside a debug build the call then does nothing.
bool none_is_rint(Dt to, Dt from) {
    switch (from) {
    case Dt::F16: return to != Dt::I16 && to != Dt::I32;
    case Dt::F32: return to == Dt::F16;
    case Dt::BF16: return to == Dt::F32;
    case Dt::I64: return to == Dt::I32;
    default: return true;
    }
}

bool castable(Dt to, Dt from, Round mode, Here here) {
    static const char* const modes[] = {"CAST_NONE",  "CAST_RINT",  "CAST_FLOOR", "CAST_CEIL",
                                        "CAST_ROUND", "CAST_TRUNC", "CAST_ODD",   "CAST_HYBRID"};
    auto numbers = [&] { return Numbers().add("from", name_of(from)).add("to", name_of(to)); };
    if (!math::supports_cast(to, from, Round::None)) {  // true for every pair that there is
        core->report("cast-pair", true, here, numbers());
        return false;
    }
    if (mode == Round::None && !none_is_rint(to, from)) core->report("cast-none", false, here, numbers());
    if (to == Dt::F16 && from == Dt::I32 && core->vec.deq_form != VectorState::Deq::Half)
        core->report("deq-unset", false, here, Numbers().add("op", "Cast").add("call", "SetDeqScale(half)"));
    if (math::supports_cast(to, from, mode)) return true;
    std::string has;
    for (int m = 0; m < 8; m++)
        if (math::supports_cast(to, from, Round(m)) && (m || none_is_rint(to, from)))
            has += (has.empty() ? "" : ", ") + std::string(modes[m]);
    core->report("cast-mode", true, here, numbers().add("mode", modes[int(mode) & 7]).add("has", has));
    return false;
}

void convert(Dt to, Dt from, Round mode, uint8_t* d, const uint8_t* s, size_t n) {
    if (to == Dt::F16 && from == Dt::I32) math::cast_scaled(d, reinterpret_cast<const int32_t*>(s), deq_scale(), n);
    else math::cast(to, from, mode, d, s, n);
}

Dt wider(Dt to, Dt from) { return size_of(to) > size_of(from) ? to : from; }

void run(Dt to, Dt from, Loc d, Loc s, Round mode, const Rep& r, const Shape& shape, Here here) {
    if (!rep_ok(shape, here)) return;
    uint32_t dw = width_of(to), sw = width_of(from);
    uint64_t sn = shape.extent(r.src0_blk, r.src0_rep, sw), dn = shape.extent(r.dst_blk, r.dst_rep, dw);
    if (!castable(to, from, mode, here) || !core->usable(s, sn, true, here, "src") ||
        !core->usable(d, dn, false, here, "dst"))
        return core->refuse(d, dn);
    auto k = core->issue(Pipe::V, Op::Cast, here);
    book_rep(k, s, shape, r.src0_blk, r.src0_rep, sw, false);
    book_rep(k, d, shape, r.dst_blk, r.dst_rep, dw, true);
    Repeats(shape, {core->at(d), r.dst_blk, r.dst_rep, dw}, false)
        .run([=](uint8_t* td, const uint8_t* ts, size_t n) { convert(to, from, mode, td, ts, n); },
             Side{core->at(s), r.src0_blk, r.src0_rep, sw});
    uint64_t bytes = uint64_t(shape.r.times) * kRepeat;
    core->retire(k, cost(Op::Cast, wider(to, from), bytes), bytes);
}

// The count as repeats that lie one behind the other.
Rep strides(Dt to, Dt from) {
    uint32_t lanes = kRepeat / std::max(size_of(to), size_of(from));
    Rep r;
    r.dst_rep = uint16_t(bytes_of(lanes, width_of(to)) / kBlock);
    r.src0_rep = uint16_t(bytes_of(lanes, width_of(from)) / kBlock);
    return r;
}

}  // namespace

void cast(Dt to, Dt from, Loc d, Loc s, Round mode, int32_t n, Here here) {
    if (!count_ok(n, here)) return;
    uint64_t dn = bytes_of(uint64_t(n), width_of(to)), sn = bytes_of(uint64_t(n), width_of(from));
    if (to == Dt::I4 || from == Dt::I4 ||
        (d.addr < s.addr + sn && s.addr < d.addr + dn && dn != sn && d.mem == s.mem)) {
        // Half bytes, or across widths in place: repeat by repeat.
        if (width_of(to) && width_of(from) && !overlap_ok(d, width_of(to), s, width_of(from), uint64_t(n), here))
            return core->refuse(d, dn);
        Rep r = strides(to, from);
        return run(to, from, d, s, mode, r, Shape(r, std::max(size_of(to), size_of(from)), uint64_t(n)), here);
    }
    if (!castable(to, from, mode, here) || !core->usable(s, sn, true, here, "src") ||
        !core->usable(d, dn, false, here, "dst"))
        return core->refuse(d, dn);
    if (!overlap_ok(d, size_of(to), s, size_of(from), uint64_t(n), here)) return core->refuse(d, dn);
    auto k = core->issue(Pipe::V, Op::Cast, here);
    core->book(k, s, uint32_t(sn), false);
    core->book(k, d, uint32_t(dn), true);
    convert(to, from, mode, core->at(d), core->at(s), size_t(n));
    core->retire(k, cost(Op::Cast, wider(to, from), std::max(dn, sn)), std::max(dn, sn));
}
void cast(Dt to, Dt from, Loc d, Loc s, Round mode, const Rep& r, Here here) {
    run(to, from, d, s, mode, r, Shape(r, std::max(size_of(to), size_of(from))), here);
}

}  // namespace twin
