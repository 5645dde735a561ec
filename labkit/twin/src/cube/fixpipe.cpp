// Fixpipe, and DataCopy out of L0C: fractals of fp32 or int32 become rows or NZ in GM, or NZ in L1.
#include <algorithm>
#include <cstring>

#include "cube/fixpipe.h"
#include "memory/atomic.h"

namespace twin {

namespace {

const char* const kModes[] = {"NoQuant",     "F322F16",      "F322BF16", "DEQF16", "VDEQF16",
                              "QF322B8_PRE", "VQF322B8_PRE", "REQ8",     "VREQ8"};

// Which quantisation modes convert from the one type to the other?
bool leads(Quant q, Dt to, Dt from) {
    bool b8 = to == Dt::I8 || to == Dt::U8;
    switch (q) {
    case Quant::None: return to == from;
    case Quant::ToHalf: return from == Dt::F32 && to == Dt::F16;
    case Quant::ToBf16: return from == Dt::F32 && to == Dt::BF16;
    case Quant::DeqHalf:
    case Quant::DeqHalfV: return from == Dt::I32 && to == Dt::F16;
    case Quant::ToB8:
    case Quant::ToB8V: return from == Dt::F32 && b8;
    case Quant::ReqB8:
    case Quant::ReqB8V: return from == Dt::I32 && b8;
    }
    return false;
}

// The destination's layout: `columns` fractals side by side, each `width` elements wide; the last may be narrower.
struct Layout {
    Fix f;
    uint32_t size = 0, width = 0, columns = 0;  // bytes of an element of the destination
    Layout() = default;
    Layout(const Fix& fix, Dt to) : f(fix), size(size_of(to)) {
        // Two int8 fractals are joined into one of 32 columns; split floats are written as fractals of 8.
        width = size == 1 ? 32 : f.split ? 8 : 16;
        columns = (f.n + width - 1) / width;
    }
    uint32_t wide(uint32_t column) const {
        return size == 1 && f.n - column * 32 < 32 ? std::min<uint32_t>(16, f.n - column * 32) : width;
    }
    uint64_t read() const {  // of L0C
        uint64_t one = (uint64_t((f.n + 15) / 16 - 1) * f.src_stride + f.m) * 64;
        return f.rows ? uint64_t(f.nds - 1) * f.nd_src * 1024 + one : one;
    }
    // Does a row, or a column of fractals, begin before the one before it ends?
    bool rows_meet() const {
        return f.rows ? f.m > 1 && f.dst_stride < f.n
                      : columns > 1 && uint64_t(f.dst_stride) * 32 < uint64_t(f.m) * wide(0) * size;
    }
    bool matrices_meet() const {  // rows of one matrix may lie between those of another
        for (uint64_t j = 1; j < f.nds; j++) {
            uint64_t down = j * f.nd_dst / f.dst_stride, right = j * f.nd_dst % f.dst_stride;
            if ((down < f.m && right < f.n) || (down + 1 < f.m && f.dst_stride - right < f.n)) return true;
        }
        return false;
    }
    uint64_t written() const {
        if (f.rows) return (uint64_t(f.nds - 1) * f.nd_dst + uint64_t(f.m - 1) * f.dst_stride + f.n) * size;
        return uint64_t(columns - 1) * f.dst_stride * 32 + uint64_t(f.m) * wide(columns - 1) * size;
    }
};

bool plausible(const Fix& f, Dt to, Dt from, bool gm, Here here) {
    Numbers n;
    n.add("n", unsigned(f.n))
        .add("m", unsigned(f.m))
        .add("src_stride", unsigned(f.src_stride))
        .add("dst_stride", f.dst_stride);
    if (int(f.quant) > int(Quant::ReqB8V) || !leads(f.quant, to, from) || (!gm && f.quant == Quant::None)) {
        bool known = int(f.quant) <= int(Quant::ReqB8V);
        core->report("fixpipe-quant", true, here,
                     n.add("mode", known ? kModes[int(f.quant)] : "of Ascend 950")
                         .add("from", name_of(from))
                         .add("to", name_of(to)));
        return false;
    }
    const char* why = nullptr;
    Layout l(f, to);
    if (f.n > 4095 || (f.rows && f.m > 8192)) why = "size";
    else if (!f.dst_stride || l.rows_meet()) why = "dstStride";
    else if (f.n > 16 && f.src_stride < f.m) why = "srcStride";
    else if (f.rows && f.nds > 1 && l.matrices_meet()) why = "dstNdStride";
    else if (!f.rows && f.n % (f.split ? 8 : 16)) why = "nSize";
    else if (f.split && (f.rows || to != Dt::F32 || !gm)) why = "channelSplit";
    if (why) core->report("fixpipe-params", true, here, n.add("why", why));
    return !why;
}

// unitFlag 2 and 3: wait, fractal by fractal, for the Mmad that produces this part of L0C.
bool take_unit_flag(const Layout& l, Loc s, Here here) {
    CubeState& cube = core->cube_state;
    cube.unit_flags.resize(chip.size[int(Mem::L0C)] / kFractal);
    bool set = true;
    for (uint32_t nd = 0; nd < (l.f.rows ? l.f.nds : 1u); nd++)
        for (uint32_t j = 0; j < (l.f.n + 15u) / 16; j++) {
            uint64_t from = s.addr + uint64_t(nd) * l.f.nd_src * 1024 + uint64_t(j) * l.f.src_stride * 64;
            for (uint64_t at = from / kFractal; at < (from + uint64_t(l.f.m) * 64 + kFractal - 1) / kFractal; at++) {
                set = set && cube.unit_flags[at];
                if (l.f.unit_flag == 3) cube.unit_flags[at] = false;
            }
        }
    if (!set) {
        core->report("unit-flag", true, here, Numbers().add("n", unsigned(l.f.n)).add("m", unsigned(l.f.m)));
        return false;
    }
    core->known[int(Pipe::FIX)].join(cube.unit_set);
    core->trace.await(Pipe::FIX, cube.unit_set_at, 0, true);  // the instruction is under way while it waits
    return true;
}

struct Plan {  // everything derived from the parameters, after all checks have passed
    Layout layout;
    Quantities quantities;
    Dt to, from;
};

// Row r of matrix nd, elements [first, first + count), converted into `line`.
void make_line(const Plan& p, const uint8_t* src, uint32_t nd, uint32_t r, uint32_t first, uint32_t count,
               uint8_t* line, uint8_t* scratch) {
    const Fix& f = p.layout.f;
    const uint8_t* base = src + uint64_t(nd) * (f.rows ? f.nd_src : 0) * 1024 + uint64_t(r) * 64;
    for (uint32_t n = first; n < first + count;) {
        uint32_t some = std::min(16 - n % 16, first + count - n);
        std::memcpy(scratch + (n - first) * 4, base + uint64_t(n / 16) * f.src_stride * 64 + n % 16 * 4, some * 4);
        n += some;
    }
    convert_line(p.quantities, f.quant, f.relu, p.to, p.from, line, scratch, first, count);
}

template <typename Store> void move_out(Plan p, const uint8_t* src, Store store) {
    const Fix& f = p.layout.f;
    std::vector<uint64_t> own;  // a copy: the unit fetches its parameters first, so results may overwrite them
    if (p.quantities.each) {
        own.assign(p.quantities.each, p.quantities.each + f.n);
        p.quantities.each = own.data();
    }
    std::vector<uint8_t> line(f.n * 4 + 64), scratch(f.n * 4 + 64);
    if (f.rows) {
        for (uint32_t nd = 0; nd < f.nds; nd++)
            for (uint32_t r = 0; r < f.m; r++) {
                make_line(p, src, nd, r, 0, f.n, line.data(), scratch.data());
                store((uint64_t(nd) * f.nd_dst + uint64_t(r) * f.dst_stride) * p.layout.size, line.data(),
                      f.n * p.layout.size);
            }
        return;
    }
    for (uint32_t j = 0; j < p.layout.columns; j++) {
        uint32_t wide = p.layout.wide(j), bytes = wide * p.layout.size;
        for (uint32_t r = 0; r < f.m; r++) {
            make_line(p, src, 0, r, j * p.layout.width, wide, line.data(), scratch.data());
            store(uint64_t(j) * f.dst_stride * 32 + uint64_t(r) * bytes, line.data(), bytes);
        }
    }
}

// The checks that both destinations share; records the reads. False: there is nothing to do.
bool prepare(Plan& p, Dt to, Dt from, Loc& s, Loc quantities, const Fix& asked, bool gm, Here here) {
    CubeState& cube = core->cube_state;
    Fix f = asked;
    if (f.registers) {
        f.nds = cube.fix_nds;
        f.nd_src = cube.fix_nd_src;
        f.nd_dst = cube.fix_nd_dst;
        f.scalar = cube.fix_scalar;
    }
    if (!f.n || !f.m || (f.rows && !f.nds)) return false;
    p.layout = Layout(f, to);
    p.to = to;
    p.from = from;
    s = results(s, here);
    if (!placed(s, {Mem::L0C}, "Fixpipe", "src", here) || !has(core->id.kind, Mem::L0C))
        return has(core->id.kind, Mem::L0C) ? false : core->usable(s, 0, false, here, "src");
    if (!plausible(f, to, from, gm, here) ||
        !core->usable(in_l0(s, p.layout.read(), uint64_t(f.m) * f.n * 4), p.layout.read(), true, here, "src", 64))
        return false;
    p.quantities.scalar = f.scalar;
    bool tensor = f.quant == Quant::DeqHalfV || f.quant == Quant::ToB8V || f.quant == Quant::ReqB8V;
    if (tensor) {
        Loc q = f.registers ? cube.fix_quantities : quantities;
        if (!placed(q, {f.registers ? Mem::FB : Mem::L1}, "Fixpipe", "quantPre", here) ||
            !core->usable(q, f.n * 8ull, true, here, "quantPre", f.registers ? 128 : 32))
            return false;
        p.quantities.each = reinterpret_cast<const uint64_t*>(core->at(q));
        p.quantities.lies = q;
    }
    return !(f.unit_flag & 2) || take_unit_flag(p.layout, s, here);
}

// Of the fractals that it reads the rows and columns beyond m and n go nowhere.
void look_at_rows(const Plan& p, Loc s, Here here) {
    const Fix& f = p.layout.f;
    core->instruction.dark.clear();
    auto look = [&](const Loc& l, uint64_t at, uint64_t bytes, const char* what) {
        if (!core->unwritten(l.mem, at, at + bytes)) return false;
        int origin = core->origin_of(l.mem, at, at + bytes, here, what, bytes);
        // rows that fill up a fractal go to GM with their neighbours: the kernel knows where its columns end
        if (!core->origins[size_t(origin)].rounding) core->report_origin(origin);
        return !core->origins[size_t(origin)].rounding;
    };
    if (p.quantities.each && look(p.quantities.lies, p.quantities.lies.addr, f.n * 8ull, "quantPre")) return;
    for (uint32_t nd = 0; nd < (f.rows ? f.nds : 1u); nd++)
        for (uint32_t j = 0; j < (f.n + 15u) / 16; j++)
            for (uint32_t r = 0; r < f.m; r++)
                if (look(s, s.addr + uint64_t(nd) * f.nd_src * 1024 + (uint64_t(j) * f.src_stride + r) * 64,
                         std::min(16u, f.n - j * 16) * 4, "src"))
                    return;
}

Core::Ticket issue(const Plan& p, Loc s, Here here) {
    const Fix& f = p.layout.f;
    auto t = core->issue(Pipe::FIX, Op::Fixpipe, here);
    for (uint32_t nd = 0; nd < (f.rows ? f.nds : 1u); nd++) {
        uint32_t columns = (f.n + 15u) / 16;
        bool dense = f.src_stride >= f.m && f.src_stride < f.m + 16;  // the gap is only the fractals' own padding
        for (uint32_t j = 0; j < (dense ? 1 : columns); j++) {
            Loc part = s;
            part.addr += uint32_t(uint64_t(nd) * f.nd_src * 1024 + uint64_t(j) * f.src_stride * 64);
            core->book(t, part, dense ? ((columns - 1) * f.src_stride + f.m) * 64 : f.m * 64, false);
        }
    }
    if (p.quantities.each) core->book(t, p.quantities.lies, f.n * 8, false);
    if (core->instruction.partial()) look_at_rows(p, s, here);
    return t;
}

void finish(const Plan& p) {
    if (p.layout.f.unit_flag != 3) return;
    core->cube_state.unit_cleared = core->known[int(Pipe::FIX)];
    core->cube_state.unit_cleared_at = core->trace.mark(Pipe::FIX);
}

}  // namespace

void fixpipe(Dt to, Dt from, Gm d, Loc s, Loc quantities, const Fix& asked, Here here) {
    core->last = here;
    Plan p;
    if (!prepare(p, to, from, s, quantities, asked, true, here)) return;
    const Layout& l = p.layout;
    const Fix& f = l.f;
    if (!core->gm_usable(d, l.written(), true, here, true)) return;
    if (core->registers.atomic) check_atomic(d, l.written(), to, here);
    auto t = issue(p, s, here);
    if (f.rows && (f.dst_stride != f.n || f.nds > 1)) {
        for (uint32_t nd = 0; nd < f.nds; nd++)
            for (uint32_t r = 0; r < f.m; r++)
                core->book_gm(t, d.ptr + (uint64_t(nd) * f.nd_dst + uint64_t(r) * f.dst_stride) * l.size, f.n * l.size,
                              true);
    } else if (f.rows) {
        core->book_gm(t, d.ptr, l.written(), true);
    } else {
        for (uint32_t j = 0; j < l.columns; j++)
            core->book_gm(t, d.ptr + uint64_t(j) * f.dst_stride * 32, uint64_t(f.m) * l.wide(j) * l.size, true);
    }
    core->perform(t, [=, src = (const uint8_t*)core->at(s), atomic = core->registers.atomic] {
        move_out(p, src, [&](uint64_t at, const uint8_t* line, size_t n) {
            if (atomic) atomic_store(atomic, d.ptr + at, line, n);
            else std::memcpy(d.ptr + at, line, n);
        });
    });
    Move m{uint64_t(d.ptr), uint64_t(f.dst_stride) * l.size, f.n * l.size, f.nds * f.m, Route::FromL0c, true,
           d.l2_bypass};
    if (!f.rows) m.stride = f.dst_stride * 32ull, m.row = f.m * l.wide(0) * l.size, m.rows = l.columns;
    core->retire(t, m);
    finish(p);
}

void fixpipe(Dt to, Dt from, Loc d, Loc s, Loc quantities, const Fix& asked, Here here) {
    Plan p;
    if (!placed(d, {Mem::L1}, "Fixpipe", "dst", here)) return;
    Fix nz = asked;
    nz.rows = false;
    if (!nz.n || !nz.m) return;
    if (!prepare(p, to, from, s, quantities, nz, false, here)) return core->refuse(d, d.bytes);
    const Layout& l = p.layout;
    if (!core->usable(d, l.written(), false, here, "dst")) return core->refuse(d, l.written());
    auto t = issue(p, s, here);
    for (uint32_t j = 0; j < l.columns; j++) {
        Loc part = d;
        part.addr += uint32_t(uint64_t(j) * l.f.dst_stride * 32);
        core->book(t, part, l.f.m * l.wide(j) * l.size, true);
    }
    core->perform(t, [=, src = (const uint8_t*)core->at(s), to_l1 = core->at(d)] {
        move_out(p, src, [&](uint64_t at, const uint8_t* line, size_t n) { std::memcpy(to_l1 + at, line, n); });
    });
    uint64_t bytes = uint64_t(l.f.m) * l.f.n * l.size;
    core->retire(t, chip.l0c_to_l1.start + double(bytes) / chip.l0c_to_l1.rate, bytes);
    finish(p);
}

void set_fix_quantities(Loc fb, bool clear_unit_flags, Here here) {
    core->last = here;
    if (clear_unit_flags) core->cube_state.unit_flags.assign(core->cube_state.unit_flags.size(), false);
    if (fb.mem == Mem::L0C) return;  // called only for the flags
    if (placed(fb, {Mem::FB}, "SetFixPipeConfig", "quantPre", here)) core->cube_state.fix_quantities = fb;
}
void set_fix_scalar(uint64_t bits) { core->cube_state.fix_scalar = bits; }
void set_fix_rows(uint16_t nds, uint16_t nd_src, uint32_t nd_dst) {
    core->cube_state.fix_nds = nds;
    core->cube_state.fix_nd_src = nd_src;
    core->cube_state.fix_nd_dst = nd_dst;
}

}  // namespace twin
