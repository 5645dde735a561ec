// Mmad and MmadWithSparse.
#include <cstring>

#include "core/machine.h"
#include "cube/gemm.h"
#include "twin/cube/mmad.h"

namespace twin {

namespace {

constexpr uint32_t kMost = 4095;
constexpr uint32_t kSettled = 10;  // fractals of C: so many Mmads in a row may add to without a barrier

// unitFlag 2 and 3: the cube waits, fractal by fractal, until Fixpipe has read the old results; with 3 it then sets the
// flag for Fixpipe.
void pass_unit_flag(const MmadShape& p, Loc c, uint64_t bytes) {
    CubeState& cube = core->cube_state;
    core->known[int(Pipe::M)].hear(cube.unit_cleared, Pipe::M);
    core->trace.await(Pipe::M, cube.unit_cleared_at);
    if (p.unit_flag != 3) return;
    cube.unit_flags.resize(chip.size[int(Mem::L0C)] / kFractal);
    for (uint64_t at = c.addr / kFractal; at < (c.addr + bytes + kFractal - 1) / kFractal; at++)
        cube.unit_flags[at] = true;
}

// An Mmad on few fractals reads the sums of the one right before it while that one still writes them, unless pipe M was
// waited for in between. CANN's own code rounds m and n down, this one rounds up; what the documents do not speak of,
// other products between the two, is left alone.
void check_sums(const Core::Ticket& t, const MmadShape& p, uint32_t fractals, Loc c, uint64_t bytes) {
    CubeState::Product& last = core->cube_state.product;
    CubeState::Product now{t.access.number, fractals, c.addr, c.addr + bytes, t.access.here};
    if (p.start == MmadShape::Kept && fractals < kSettled && last.number && last.fractals < kSettled &&
        last.number + 1 == now.number && core->known[int(Pipe::M)].done < last.number && last.lo < now.hi &&
        now.lo < last.hi)
        core->report("mmad-order", true, t.access.here,
                     Numbers()
                         .add("op", name_of(t.op))
                         .add("m", unsigned(p.m))
                         .add("n", unsigned(p.n))
                         .add("fractals", fractals)
                         .add("settled", kSettled)
                         .add("other_line", last.here.line));
    last = now;
}

// Initialises C: zero or the bias in every row; zero where fractals extend beyond m and n.
void start_c(const MmadShape& p, uint32_t tall, uint8_t* c, const uint8_t* bias) {
    uint32_t blocks = (p.n + 15u) / 16;
    for (uint32_t j = 0; j < blocks; j++) {
        uint32_t valid = std::min(16u, p.n - j * 16) * 4;
        for (uint32_t r = bias || valid < 64 ? 0 : p.m; r < tall; r++) {
            uint8_t* line = c + (uint64_t(j) * tall + r) * 64;
            std::memset(line, 0, 64);
            if (bias && r < p.m) std::memcpy(line, bias + j * 64, valid);
        }
    }
}

// C is built column by column of B: each column picks its own two of every four elements of A.
void multiply_sparse(const MmadShape& p, const int8_t* a, const int8_t* b, const uint8_t* index, int32_t* c,
                     uint32_t tall, bool keep) {
    uint32_t deep = (p.k + 31u) / 32, wide = (p.n + 15u) / 16;
    for (uint32_t m = 0; m < p.m; m++)
        for (uint32_t n = 0; n < p.n; n++) {
            int64_t sum = 0;
            for (uint32_t k = 0; k < p.k / 2; k++) {  // B's own rows
                uint64_t at = (uint64_t(k / 32) * wide + n / 16) * kFractal + n % 16 * 32 + k % 32;
                uint32_t pick = index[at / 4] >> (at % 4 * 2) & 3, full = k / 2 * 4 + k % 2 + pick;
                sum += int32_t(b[at]) * a[(uint64_t(m / 16) * deep + full / 32) * kFractal + m % 16 * 32 + full % 32];
            }
            int32_t& out = c[(uint64_t(n / 16) * tall + m) * 16 + n % 16];
            sum += keep ? out : 0;
            out = int32_t(std::max<int64_t>(INT32_MIN, std::min<int64_t>(INT32_MAX, sum)));
        }
}

}  // namespace

Loc results(Loc l, Here here) {
    if (l.pos < kNowhere) return l;
    if (has(core->id.kind, Mem::L0C)) core->report("l0c-default", false, here, Numbers());
    l.mem = Mem::L0C;
    l.pos = uint8_t(AscendC::TPosition::CO1);
    l.bytes = chip.size[int(Mem::L0C)];
    return l;
}

// If any fractal along k was written, all of them must be: checked for each strip of rows or columns, `apart` bytes
// from one to the next.
static void want_depth(Loc l, uint64_t bytes, uint32_t strips, uint32_t deep, uint64_t apart, uint64_t step, Here here,
                       const char* what) {
    const Hazards& h = core->memory[int(l.mem)];
    if (!core->checks || h.unwritten(l.addr, l.addr + bytes, kFractal) == l.addr + bytes) return;
    for (uint32_t i = 0; i < strips; i++) {
        uint32_t there = 0;
        uint64_t lacking = 0;
        for (uint32_t k = 0; k < deep; k++) {
            uint64_t at = l.addr + i * apart + k * step;
            if (h.any_written(at, at + kFractal)) there++;
            else if (there == k) lacking = at;  // the first
        }
        if (!there || there == deep) continue;
        return core->report("uninit-local", true, here,
                            Numbers()
                                .add("what", what)
                                .add("memory", name_of(l.mem))
                                .add("addr", lacking)
                                .add("bytes", uint64_t(deep - there) * kFractal));
    }
}

namespace {

// The loads of this operand that went beyond their tensors: were they declared for `least` bytes from the operand on?
void settle_loads(const Loc& operand, uint64_t bytes, uint64_t least) {
    auto& loads = core->cube_state.loads;
    for (size_t i = loads.size(); i-- > 0;) {
        CubeState::Load l = loads[i];
        if (l.to.mem != operand.mem || l.to.addr < operand.addr || l.to.addr >= operand.addr + bytes) continue;
        loads.erase(loads.begin() + long(i));
        if (uint64_t(l.to.addr) + l.to.bytes < operand.addr + least) core->usable(l.to, l.bytes, false, l.here, "dst");
    }
}

// What of C comes from unwritten bytes: whole rows and columns. What fractals hold beyond m, n and k has no part in it.
struct Dark {
    Shadow c;
    int origin = kNobody;

    void multiply(const MmadShape& p, uint32_t c0, uint32_t bits, uint32_t deep, uint32_t wide, uint32_t tall,
                  uint64_t c_bytes) {
        for (const Instruction::Dark& part : core->instruction.dark) {
            auto line = [&](bool down, uint32_t at) {  // a column or a row
                c.resize(c_bytes);
                origin = part.origin;
                for (uint32_t i = 0; i < (down ? p.m : p.n); i++) {
                    uint32_t r = down ? i : at, n = down ? at : i;
                    std::memset(&c[(uint64_t(n / 16) * tall + r) * 64 + n % 16 * 4], 0xff, 4);
                }
            };
            for (uint64_t k = 0; k < part.bytes.size(); k++) {
                if (!part.bytes[k]) continue;
                uint32_t fractal = uint32_t(k / kFractal), of = uint32_t(k % kFractal / 32),
                         along = uint32_t(k % 32 * 8 / bits);
                if (part.operand == 0) {
                    uint32_t m = fractal / deep * 16 + of;
                    if (m < p.m && fractal % deep * c0 + along < p.k) line(false, m);
                } else if (part.operand == 1) {
                    uint32_t n = fractal % wide * 16 + of;
                    if (n < p.n && fractal / wide * c0 + along < p.k) line(true, n);
                } else if (k / 4 < p.n) {
                    line(true, uint32_t(k / 4));
                }
            }
        }
    }
    int origin_at(Loc at, Here here) const {
        return origin != kNobody ? origin : core->origin_of(at.mem, at.addr, at.addr + c.size(), here, "dst", c.size());
    }
};

}  // namespace

// With m = 1 A is read as a plain vector. Loaded as fractals, all but its first 16 elements are what fills up a
// fractal.
static void check_row(const Loc& a, uint64_t bytes, Here here) {
    for (const Instruction::Dark& part : core->instruction.dark) {
        if (part.operand) continue;
        uint64_t unset = 0;
        for (uint64_t k = 0; k < std::min<uint64_t>(bytes, part.bytes.size()); k++) unset += part.bytes[k] != 0;
        if (unset)
            return core->report("mmad-row", true, here,
                                Numbers().add("addr", a.addr).add("bytes", bytes).add("unset", unset));
    }
}

void mmad(Dt type, bool nibbles, Loc c, Loc a, Loc b, Loc bias, const MmadShape& p, Here here) {
    const char* op = p.sparse ? "MmadWithSparse" : "Mmad";
    c = results(c, here);
    if (!placed(c, {Mem::L0C}, op, "dst", here) || !placed(a, {Mem::L0A}, op, "fm", here) ||
        !placed(b, {Mem::L0B}, op, "filter", here) ||
        (p.start == MmadShape::Bias && !placed(bias, {Mem::BT}, op, "bias", here)))
        return core->refuse(c, c.bytes);
    if (!p.m || !p.n || !p.k) return;
    uint32_t c0 = nibbles ? 64 : 32 / size_of(type), tall = (p.m + 15u) / 16 * 16, wide = (p.n + 15u) / 16;
    uint32_t deep = p.wide_k && type == Dt::F32 ? (p.k + 15u) / 16 * 2 : (p.k + c0 - 1) / c0;  // fractals along k
    uint32_t bits = nibbles ? 4 : size_of(type) * 8;
    bool row = p.m == 1 && !p.sparse;  // a single row is stored as a plain vector of k elements
    uint64_t a_bytes = row ? (uint64_t(p.k) * bits / 8 + 31) / 32 * 32 : uint64_t(tall / 16) * deep * kFractal;
    uint64_t b_bytes = uint64_t((p.k / (p.sparse ? 2 : 1) + c0 - 1) / c0) * wide * kFractal,
             c_bytes = uint64_t(tall) * wide * 64;
    if (p.m > kMost || p.n > kMost || p.k > kMost || (nibbles && p.k % 2)) {
        core->report(
            "mmad-size", true, here,
            Numbers().add("m", unsigned(p.m)).add("n", unsigned(p.n)).add("k", unsigned(p.k)).add("most", kMost));
        return core->refuse(c, c_bytes);
    }
    uint64_t a_least = uint64_t(p.m) * p.k * bits / 8, b_least = uint64_t(p.k / (p.sparse ? 2 : 1)) * p.n * bits / 8;
    settle_loads(a, a_bytes, a_least);
    settle_loads(b, b_bytes, b_least);
    a = in_l0(a, a_bytes, a_least);
    b = in_l0(b, b_bytes, b_least);
    c = in_l0(c, c_bytes, uint64_t(p.m) * p.n * 4);
    bool keeps = p.start == MmadShape::Kept, from_bias = p.start == MmadShape::Bias;
    if (!core->usable(a, a_bytes, true, here, "fm", kFractal) ||
        !core->usable(b, b_bytes, true, here, "filter", kFractal) ||
        !core->usable(c, c_bytes, keeps, here, "dst", 1024) ||
        (from_bias && !core->usable(bias, p.n * 4ull, true, here, "bias", 64)))
        return core->refuse(c, c_bytes);
    if (!row) {
        uint32_t used = (p.k / (p.sparse ? 2 : 1) + c0 - 1) / c0;
        want_depth(a, a_bytes, tall / 16, std::min(used, deep), deep * kFractal, kFractal, here, "fm");
        want_depth(b, b_bytes, wide, used, kFractal, wide * kFractal, here, "filter");
    }
    if (p.unit_flag & 2) pass_unit_flag(p, c, c_bytes);
    bool late = !p.sparse;
    auto t = core->issue(Pipe::M, p.sparse ? Op::MmadWithSparse : Op::Mmad, here, late);
    core->book(t, a, uint32_t(a_bytes), false);
    core->book(t, b, uint32_t(b_bytes), false);
    if (from_bias) core->book(t, bias, p.n * 4u, false);
    core->instruction.opaque = true;
    if (row) check_row(a, uint64_t(p.k) * bits / 8, here);
    if (core->checks) check_sums(t, p, tall / 16 * wide, c, c_bytes);
    Dark dark{keeps ? core->shadow_if_any(c.mem, c.addr, c_bytes) : Shadow()};
    if (core->instruction.partial() && !row && !p.sparse) dark.multiply(p, c0, bits, deep, wide, tall, c_bytes);
    core->book(t, c, uint32_t(c_bytes), true);  // recorded as a write; that covers the read of the old sum as well
    if (!dark.c.empty()) core->leave(c.mem, c.addr, dark.c, dark.origin_at(c, here));

    uint8_t* to = core->at(c);
    const uint8_t* from = from_bias ? core->at(bias) : nullptr;
    if (core->effects && p.sparse) {
        if (!keeps) start_c(p, tall, to, from);
        core->cube_state.sparse_index.resize(chip.size[int(Mem::L0B)] / 4);
        multiply_sparse(p, (int8_t*)core->at(a), (int8_t*)core->at(b),
                        core->cube_state.sparse_index.data() + b.addr / 4, (int32_t*)to, tall,
                        p.start != MmadShape::Zero);
    } else {
        Hf32 rounding = type == Dt::F32 ? core->cube_state.rounding() : Hf32::Off;
        View left = row ? View::rows(core->at(a), type, p.k) : View::zz(core->at(a), type, ptrdiff_t(deep) * c0, c0);
        View right = View::zn(core->at(b), type, ptrdiff_t(wide) * 16, c0);
        left.nibbles = right.nibbles = nibbles;
        core->perform(t, [=] {
            if (!keeps) start_c(p, tall, to, from);
            gemm(left, right, Out::nz(to, tall), p.m, p.n, p.k, p.start != MmadShape::Zero, rounding);
        });
    }

    double per = nibbles                 ? chip.cube_k_int4
                 : type == Dt::I8        ? chip.cube_k_int8
                 : type != Dt::F32       ? chip.cube_k_half
                 : core->cube_state.hf32 ? chip.cube_k_hf32
                                         : chip.cube_k_float;
    uint32_t k = p.sparse ? p.k / 2u : p.k;
    double fractals = double(tall / 16) * wide * double((k + uint32_t(per) - 1) / uint32_t(per));
    Counters& sums = core->counters;
    (type == Dt::F32             ? sums.fractals32
     : nibbles || type == Dt::I8 ? sums.fractals8
                                 : sums.fractals16) += uint64_t(fractals);
    core->retire(t, std::max(chip.mmad_floor, chip.mmad_start + fractals), a_bytes + b_bytes);
    if (p.unit_flag == 3) {
        core->cube_state.unit_set = core->known[int(Pipe::M)];
        core->cube_state.unit_set_at = core->trace.mark(Pipe::M);
    }
}

void set_hf32(bool on) { core->cube_state.hf32 = on; }
void set_hf32_ties(HfTies ties) { core->cube_state.hf32_to_zero = ties == HfTies::Zero; }

}  // namespace twin
