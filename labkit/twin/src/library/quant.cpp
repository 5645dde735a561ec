// Quantization. Intermediate roundings decide the resulting integers or narrow floats. So, unlike elsewhere in the
// advanced API, each step is rounded as CANN's implementation for Atlas A2 does: to half in AscendQuant and, for half,
// in AscendAntiQuant; to float in AscendDequant and for bfloat16.
#include "library/call.h"

namespace twin {

namespace {

using Floats = std::vector<float>;
constexpr uint32_t kFloat = 4;

Floats floats_of(Dt t, Loc l, uint64_t at, uint32_t n) {
    Floats f(n);
    const uint8_t* p = core->at(l) + at * size_of(t);
    if (t == Dt::F32) std::memcpy(f.data(), p, n * sizeof(float));
    else math::cast(Dt::F32, t, Round::None, f.data(), p, n);
    return f;
}
void to_half(Floats& f) {
    std::vector<uint16_t> h(f.size());
    math::cast(Dt::F16, Dt::F32, Round::Rint, h.data(), f.data(), f.size());
    math::cast(Dt::F32, Dt::F16, Round::None, f.data(), h.data(), f.size());
}
void put(Dt t, Loc l, uint64_t at, const Floats& f) {
    uint8_t* p = core->at(l) + at * size_of(t);
    if (t == Dt::F32) std::memcpy(p, f.data(), f.size() * sizeof(float));
    else math::cast(t, Dt::F32, Round::Rint, p, f.data(), f.size());
}
bool tensor(const Coefficient& c) { return c.given && c.tensor; }

// A coefficient in half. A float coefficient is converted to half within its own memory, as CANN leaves it.
Floats halves_of(const Quantize& q, const Coefficient& c) {
    Floats f = tensor(c) ? floats_of(q.type, c.loc, 0, q.channels) : Floats(std::max(1u, q.channels), c.value);
    to_half(f);
    if (tensor(c) && q.type == Dt::F32) put(Dt::F16, c.loc, 0, f);
    return f;
}

}  // namespace

void quantize(const Quantize& q, Here here) {
    constexpr uint32_t kLeast = 64, kPiece = 32;  // a piece is a multiple of 32 halves, and so is where a row begins
    if (!q.count) return;
    uint64_t size = size_of(q.type), channels = std::max<uint64_t>(q.channels, 1) * size;
    Call c(Op::AscendQuant, here);
    c.in(q.src, q.count * size, "srcTensor").out(q.dst, q.count, "dstTensor");
    for (const Coefficient* k : {&q.scale, &q.offset}) {
        if (!tensor(*k)) continue;
        c.least("scaleCount", q.channels, 1);
        if (q.type == Dt::F32) c.inout(k->loc, channels, k == &q.scale ? "scaleTensor" : "offsetTensor");
        else c.in(k->loc, channels, k == &q.scale ? "scaleTensor" : "offsetTensor");
    }
    if (tensor(q.offset)) c.least("offsetCount", q.offsets, q.channels);
    if (q.count > q.channels && q.channels) c.whole("scaleCount", q.channels, kPiece);
    if (q.channels) c.whole("calCount", q.count, q.channels);
    c.scratch(q.tmp, kLeast, q.room ? q.room : uint64_t(q.channels ? q.channels : q.count) * 2);
    if (!c.begin()) return;
    Floats scale = halves_of(q, q.scale), offset = halves_of(q, q.offset), x = floats_of(q.type, q.src, 0, q.count);
    to_half(x);
    uint32_t cycle = uint32_t(scale.size());
    for (uint32_t i = 0; i < q.count; i++) x[i] *= scale[i % cycle];
    to_half(x);
    for (uint32_t i = 0; i < q.count; i++) x[i] += offset[i % cycle];
    std::vector<uint16_t> h(q.count);
    math::cast(Dt::F16, Dt::F32, Round::Rint, h.data(), x.data(), q.count);
    math::cast(Dt::I8, Dt::F16, Round::None, core->at(q.dst), h.data(), q.count);
    uint64_t run = q.channels ? q.channels : q.count,
             piece = std::max<uint64_t>(kPiece, c.scratch_bytes() / 2 / kPiece * kPiece);
    for (uint64_t at = 0; at < run; at += piece) {
        uint64_t n = std::min(piece, run - at);
        double times = double(q.count / run);
        c.charge(Dt::F16, n, Op::Mul, 2 * times);
        c.charge(q.type, n, Op::Cast, (q.type == Dt::F32 ? 2 : 1) * times);
    }
    c.end(q.count * size);
}

void dequantize(const Dequant& d, Here here) {
    if (!d.count || !d.width) return;
    // of the result, from row to row
    uint32_t size = size_of(d.to), across = (d.width * size + kBlock - 1) / kBlock * kBlock / size;
    uint64_t rows = (d.count + d.width - 1) / d.width, scales = (d.active + 7) / 8 * 8;
    uint64_t written = ((rows - 1) * across + (d.count - (rows - 1) * d.width)) * size;
    Call c(Op::AscendDequant, here);
    c.in(d.src, d.count * 4ull, "srcTensor").out(d.dst, written, "dstTensor");
    if (tensor(d.scale)) c.in(d.scale.loc, uint64_t(d.active) * (d.pairs ? 8 : size_of(d.scale_type)), "deqScale");
    if (d.given) c.whole("srcTensor", d.given, d.width);
    // More than n: CANN goes on into the next row, and scales its first elements twice.
    c.least("calCount", d.active, 1).least("n", d.width, d.active);
    c.whole("n", d.width, 8)
        .scratch(d.tmp, (scales + d.width) * kFloat, (scales + uint64_t(d.rows) * d.width) * kFloat);
    if (!c.begin()) return;
    Floats scale(d.active, d.scale.value);
    if (d.pairs)
        for (uint32_t i = 0; i < d.active; i++) std::memcpy(&scale[i], core->at(d.scale.loc) + 8 * i, sizeof(float));
    else if (tensor(d.scale)) scale = floats_of(d.scale_type, d.scale.loc, 0, d.active);
    auto* from = reinterpret_cast<const int32_t*>(core->at(d.src));
    for (uint64_t r = 0; r < rows; r++) {
        Floats x(std::min<uint64_t>(d.width, d.count - r * d.width));
        for (uint32_t i = 0; i < x.size(); i++) x[i] = float(from[r * d.width + i]) * (i < d.active ? scale[i] : 1.0f);
        put(d.to, d.dst, r * across, x);
    }
    uint64_t fit = std::max<uint64_t>(1, (c.scratch_bytes() / kFloat - scales) / d.width);
    for (uint64_t r = 0; r < rows; r += fit) {
        uint64_t n = std::min(fit, rows - r);
        c.charge(Dt::F32, n * d.width, Op::Cast, 1);
        c.charge(Dt::F32, n * 64, Op::Mul, double((d.active + 63) / 64));
        c.charge(Dt::F32, d.width == across ? n * d.width : d.width, Op::Cast, d.width == across ? 1 : double(n));
    }
    c.charge(Dt::F32, d.active, Op::Adds, 1);
    c.end(d.count * 4ull);
}

void antiquantize(const Antiquant& a, Here here) {
    constexpr uint32_t kPerElement = 8, kLeast = 256;  // bytes of scratch for bfloat16
    uint64_t all = uint64_t(a.rows) * a.width, bytes = a.nibbles ? (all + 1) / 2 : all;
    if (!all) return;
    bool half = a.to == Dt::F16, vector = tensor(a.scale);
    uint64_t coefficients = a.across ? uint64_t(a.rows) * a.groups : uint64_t(a.groups) * a.width;
    Call c(Op::AscendAntiQuant, here);
    c.in(a.src, bytes, "src").out(a.dst, all * 2, "dst");
    if (vector) c.in(a.scale.loc, coefficients * 2, "scale");
    if (tensor(a.offset)) c.in(a.offset.loc, coefficients * 2, "offset");
    if (vector) {
        // Where CANN takes src row by row, each of its rows begins at a block; else only those of the result do. K of a
        // turned matrix is documented to be whole blocks.
        bool by_rows = !half || !(a.across || a.offset.given);
        uint32_t block = a.nibbles ? 2 * kBlock : kBlock;
        c.whole(a.across ? "K" : "N", a.width, by_rows ? block : a.across ? kBlock : block / 2);
        c.whole("K", a.across ? a.width : a.rows, a.groups);
    }
    uint64_t least = half ? 0 : !vector ? kLeast : uint64_t(a.across ? a.width / a.groups : a.width) * kPerElement;
    c.scratch(a.tmp, least, std::max<uint64_t>(least, all * kFloat));
    if (!c.begin()) return;
    Floats scale = vector ? floats_of(a.to, a.scale.loc, 0, uint32_t(coefficients)) : Floats(1, a.scale.value);
    Floats offset = tensor(a.offset) ? floats_of(a.to, a.offset.loc, 0, uint32_t(coefficients))
                                     : Floats(1, a.offset.value);
    std::vector<uint8_t> copy(core->at(a.src), core->at(a.src) + bytes);  // the result is wider, and may lie on it
    const uint8_t* from = copy.data();
    if (a.src.mem == a.dst.mem && a.src.addr == a.dst.addr && all > kRepeat / 2)
        core->report("adv-in-place", false, here, Numbers().add("api", api_name(Op::AscendAntiQuant)));
    for (uint32_t r = 0; r < a.rows; r++) {
        auto pick = [&](const Floats& f, uint32_t i) {
            if (f.size() == 1) return f[0];
            return a.across ? f[r * a.groups + i / (a.width / a.groups)] : f[r / (a.rows / a.groups) * a.width + i];
        };
        Floats x(a.width);
        for (uint32_t i = 0; i < a.width; i++) {
            uint64_t at = uint64_t(r) * a.width + i;
            x[i] = a.nibbles ? float(int8_t(uint8_t(from[at / 2] >> (at % 2 * 4) << 4)) >> 4) : float(int8_t(from[at]));
            if (a.offset.given) x[i] += pick(offset, i);
        }
        if (half) to_half(x);
        for (uint32_t i = 0; i < a.width; i++) x[i] *= pick(scale, i);
        put(a.to, a.dst, uint64_t(r) * a.width, x);
    }
    c.charge(half ? Dt::F16 : Dt::F32, all, Op::Cast, half ? 1 : 3);
    c.charge(half ? Dt::F16 : Dt::F32, all, Op::Mul, a.offset.given ? 2 : 1);
    if (vector) c.charge(Dt::F32, coefficients, Op::Cast, half ? 0 : 2);
    c.end(bytes);
}

}  // namespace twin
