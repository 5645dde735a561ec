// Select by bytes and DropOut: the mask is packed to the source's rows, converted to the form that the arithmetic
// needs, and applied.
#include "twin/library/filter.h"

#include <vector>

#include "library/call.h"
#include "library/rearrange_workspace.h"

namespace twin {

namespace {

// Packs rows of `keep` bytes, `step` apart, without gaps. Data moves to lower addresses only, so it may be done in
// place: a row of the mask is as long as one of the source, or longer (begin() has seen to it).
void pack(uint8_t* to, const uint8_t* from, uint64_t rows, uint64_t keep, uint64_t step) {
    for (uint64_t i = 0; i < rows; i++) std::memmove(to + i * keep, from + i * step, keep);
}

void hold(Dt t, uint64_t bits) { math::fill(t, core->vec.compare, bits, 16 / size_of(t)); }  // the scalar, in CMPMASK

}  // namespace

void select_bytes(Dt t, uint32_t mask_size, Loc d, Loc s, Value v, Loc mask, Loc tmp, const MaskRows& m,
                  bool tensor_where_set, bool reuse_mask, Here here) {
    uint64_t n = uint64_t(m.rows) * m.src, bytes = n * size_of(t), used = n * mask_size,
             step = uint64_t(m.mask) * mask_size;
    core->last = here;
    if (!n) return;
    bool packs = m.mask != m.src;
    if (packs) used = (m.rows - 1) * step + uint64_t(m.src) * mask_size;
    Room room = select_room(n, packs && !reuse_mask, mask_size);
    Call call(Op::SelectBytes, here);
    // The host is told 1,024 bytes or more; the function itself (asc-devkit, selectwithbytesmask_impl.h) keeps 256 and
    // cuts what is left into pieces of 32 elements, so that it works from one piece on.
    uint64_t apart = room.most - select_room(n, false, mask_size).most;
    call.in(s, bytes).out(d, bytes).scratch(tmp, std::min(room.least, apart + 256 + 64), room.most);
    if (packs && reuse_mask) call.inout(mask, used, "mask");
    else call.in(mask, used, "mask");
    if (packs) call.whole("bytes of a mask row", step, kBlock).least("maskLastAxis", m.mask, m.src);
    if (!call.begin()) return;
    std::vector<uint8_t> own;
    uint8_t* bytes_of_mask = core->at(mask);
    if (packs) {
        if (!reuse_mask) own.resize(n * mask_size);
        pack(reuse_mask ? bytes_of_mask : own.data(), bytes_of_mask, m.rows, uint64_t(m.src) * mask_size, step);
        if (!reuse_mask) bytes_of_mask = own.data();
    }
    std::vector<uint8_t> bits((n + 7) / 8);
    for (uint64_t i = 0; i < n; i++) {  // 4-byte masks are compared as floats: the sign alone is still 0
        uint32_t x = 0;
        std::memcpy(&x, bytes_of_mask + i * mask_size, mask_size);
        if (mask_size == 4) x &= 0x7fffffff;
        if ((x != 0) == tensor_where_set) bits[i / 8] |= uint8_t(1 << (i % 8));
    }
    math::select_scalar(t, core->at(d), bits.data(), core->at(s), v.bits, n);
    hold(t, v.bits);
    core->vec.full();
    uint64_t piece = std::min<uint64_t>(n, (call.scratch_bytes() - apart - 256) / 64 * 32);
    if (packs) call.charge(Dt::U16, n * mask_size / 2, Op::GatherMask, 1);
    double pieces = double((n + piece - 1) / piece);
    call.charge(Dt::F16, piece, Op::Cast, pieces);
    call.charge(Dt::F16, piece, Op::CompareScalar, pieces);
    call.charge(t, piece, Op::Select, pieces);
    call.end(bytes);
}

void drop_out(Dt t, Loc d, Loc s, Loc mask, Loc tmp, float keep, const MaskRows& m, uint32_t mode, bool own_register,
              Here here) {
    core->last = here;
    uint64_t n = uint64_t(m.rows) * m.src, bytes = n * size_of(t);
    if (!n) return;
    if (!mode) mode = m.src < m.mask ? 1 : m.src == m.mask ? 2 : m.src == m.mask * 8 ? 3 : 4;
    bool by_bit = mode >= 3, packs = mode == 1 || mode == 4;
    uint64_t row = by_bit ? m.src / 8 : m.src, used = packs    ? (m.rows - 1) * uint64_t(m.mask) + row / 2 * 2
                                                      : by_bit ? (n + 7) / 8
                                                               : n;
    uint64_t least = by_bit ? (own_register ? kRepeat : 0) : t == Dt::F16 ? 64 : 192;
    Call call(Op::DropOut, here);
    call.in(s, bytes).out(d, bytes).scratch(tmp, least, by_bit ? least : n * (t == Dt::F16 ? 2 : 6));
    if (packs)
        call.inout(mask, used, "maskLocal")
            .whole("bytes of a mask row", m.mask, kBlock)
            .least("maskLastAxis", m.mask, row)
            .whole(by_bit ? "elements of a row" : "bytes of the mask that count in a row", m.src, by_bit ? 16 : 2);
    else call.in(mask, used, "maskLocal");
    if (!call.begin()) return;
    uint8_t* from = core->at(mask);
    if (packs) {
        pack(from, from, m.rows, row, m.mask);
        call.charge(Dt::U16, m.rows * row / 2, Op::GatherMask, 1);
    }
    float each = 1 / keep;
    uint64_t factor = 0;
    std::memcpy(&factor, &each, 4);
    if (t == Dt::F16) factor = float_to_half(each);
    if (by_bit) {
        if (own_register) hold(t, 0);
        uint64_t other = 0;
        std::memcpy(&other, core->vec.compare, size_of(t));
        math::select_scalar(t, core->at(d), from, core->at(s), other, n);
        if (own_register) call.charge(Dt::I16, 1, Op::Muls, 1);
        call.charge(t, n, Op::Select, 1);
        call.charge(t, n, Op::Muls, 1);
    } else {
        std::vector<uint8_t> weight(bytes);
        std::vector<uint16_t> half(t == Dt::F16 ? 0 : n);
        math::cast(Dt::F16, Dt::U8, Round::None, t == Dt::F16 ? weight.data() : reinterpret_cast<uint8_t*>(half.data()),
                   from, n);
        if (t != Dt::F16) math::cast(t, Dt::F16, Round::None, weight.data(), half.data(), n);
        math::binary(Op::Mul, t, core->at(d), weight.data(), core->at(s), n);
        uint64_t piece = std::max<uint64_t>(32, call.scratch_bytes() / (t == Dt::F16 ? 2 : 6) / 32 * 32);
        double pieces = double((n + piece - 1) / piece);
        call.charge(t, std::min(n, piece), Op::Cast, pieces * (t == Dt::F16 ? 1 : 2));
        call.charge(t, std::min(n, piece), Op::Mul, pieces);
        call.charge(t, std::min(n, piece), Op::Muls, pieces);
    }
    math::scalar(Op::Muls, t, core->at(d), core->at(d), factor, n);
    core->vec.full();
    call.end(bytes);
}

void drop_out_init(Loc tmp, Here here) {
    core->last = here;
    Call call(Op::DropOut, here);
    call.scratch(tmp, kRepeat, kRepeat);
    if (!call.begin()) return;
    hold(Dt::F32, 0);
    core->vec.full();
    call.charge(Dt::I16, kRepeat / 2, Op::Muls, 1);
    call.end(kRepeat);
}

}  // namespace twin
