#include "matmul/call.h"

#include <algorithm>

namespace twin {

std::shared_ptr<Ready> prepare(MatmulState& s, const MatmulCores& cores, const BatchStep& step, Here here) {
    auto ready = std::make_shared<Ready>();
    Ready& r = *ready;
    Product& p = r.p;
    s.given = false;
    p.m = is_format(s.kind->a, CubeFormat::VECTOR) || is_format(s.kind->a, CubeFormat::SCALAR) ? 1 : s.single_m;
    p.n = s.single_n, p.k = s.single_k;
    p.base_m = s.tiling.baseM, p.base_n = s.tiling.baseN;
    p.integer = s.kind->a.type == Dt::I8;
    p.triangle = s.kind->triangle;
    p.hf32 = !s.hf32 || s.kind->a.type != Dt::F32 ? Hf32::Off : s.hf32_zero ? Hf32::Zero : Hf32::Even;
    bool fine = place_a(s, cores, step.a, step.ld_a, r.spare_a, r.a, here);
    fine = place_b(s, cores, step.b, step.ld_b, r.spare_b, r.b, here) && fine;
    fine = place_bias(s, cores, step.bias, p, here) && fine;
    fine = place_scales(s, cores, p, here) && fine;
    p.a = r.a.view;
    p.b = r.b.view;
    return fine ? ready : nullptr;
}

// A cube core's own accesses are recorded on its pipes; accesses on behalf of an AIV are ordered by the messages
// between the two.
void book_reads(const Ready& r, const MatmulCores& cores, Here here) {
    for (const Placed* p : {&r.a, &r.b})
        if (p->in_gm)
            cores.caller->note_gm_read(uint64_t(p->gm.ptr), uint64_t(p->row), uint64_t(p->apart), uint64_t(p->rows),
                                       here, true);
    if (cores.caller != cores.cube) {
        for (const Placed* p : {&r.a, &r.b})
            if (!p->in_gm && p->bytes && p->loc.mem == Mem::UB) {
                auto t = cores.caller->issue(Pipe::MTE3, Op::Matmul, here);
                // the library waits for V before it sends the request
                cores.caller->known[int(Pipe::MTE3)].join(cores.caller->known[int(Pipe::V)]);
                cores.caller->book(t, p->loc, uint32_t(p->bytes), false);
                cores.caller->retire(t, {0, 0, uint32_t(p->bytes), 1, Route::FromUb, true, false});
            }
        return;
    }
    for (const Placed* p : {&r.a, &r.b}) {
        if (!p->bytes) continue;
        auto t = cores.cube->issue(p->in_gm ? Pipe::MTE2 : Pipe::MTE1, Op::Matmul, here);
        if (p->in_gm) {
            Core& c = *cores.cube;
            c.book_gm(t, p->gm.ptr, uint64_t(p->bytes), false, nullptr, false);
            if (c.checks && c.id.mixed)
                c.gm_steps.note(t.access, c.known[int(Pipe::MTE2)], uint64_t(p->gm.ptr), uint64_t(p->row),
                                uint64_t(p->apart), uint64_t(p->rows), false, false);
        } else cores.cube->book(t, p->loc, uint32_t(p->bytes), false);
    }
}

// Rows of C in GM, one record for each contiguous stretch.
void book_gm_rows(Core& c, const Core::Ticket* t, const Drain& d, int64_t rows, int64_t cols, Here here) {
    auto note = [&](const uint8_t* p, int64_t elements) {
        uint64_t bytes = uint64_t(elements) * size_of(d.type);
        if (t) c.book_gm(*t, p, bytes, true);
        else c.note_gm_write(uint64_t(p), uint64_t(p) + bytes, here, d.atomic);
    };
    AtomicMode before = c.registers.atomic;
    c.registers.atomic.op = Atomic(d.atomic);
    if (d.fractals)
        for (int64_t col = 0; col < cols; col += d.c0) note(d.at(0, col), rows * d.c0);
    else if (d.ld == cols) note(d.to, rows * cols);
    else
        for (int64_t row = 0; row < rows; row++) note(d.at(row, 0), std::max(cols, d.padded));
    c.registers.atomic = before;
}

// A cube core's own stores use its atomic register, which is reset by a call that stores atomically.
uint8_t atomic_of(const MatmulCores& cores, uint8_t asked) {
    if (cores.caller != cores.cube) return asked;
    uint8_t before = uint8_t(cores.cube->registers.atomic.op);
    if (asked) cores.cube->registers.atomic = {};
    return asked ? asked : before;
}

static int64_t line_of_c(const MatmulState& s) {
    int64_t n = s.kc > 0 ? s.kc : s.n;
    return is_format(s.kind->c, CubeFormat::ND_ALIGN) ? up(n, 32 / size_of(s.kind->c.type)) : n;
}

// C as a whole, or a block of it: rows x cols with its first column at col0.
Drain drain_of(const MatmulState& s, uint8_t* to, uint8_t atomic, bool packed, int64_t rows, int64_t cols,
               bool last_columns) {
    Drain d;
    d.to = to;
    d.type = s.kind->c.type;
    d.atomic = atomic;
    d.fractals = is_format(s.kind->c, CubeFormat::NZ);
    int64_t line = 32 / int64_t(size_of(d.type));
    if (d.fractals) {
        d.c0 = s.kind->channel_split ? 8 : std::max<int64_t>(16, line == 32 ? 32 : 16);
        d.ld = up(packed ? rows : s.m, 16);
        return d;
    }
    bool aligned = is_format(s.kind->c, CubeFormat::ND_ALIGN);
    d.ld = packed ? (aligned ? up(cols, line) : cols) : line_of_c(s);
    if (aligned && last_columns) d.padded = up(cols, line);
    return d;
}

CubeWork work_of(const MatmulState& s, const Ready& r) {
    const Product& p = r.p;
    CubeWork w;
    w.m = p.m, w.n = p.n, w.k = p.k;
    w.base_m = s.tiling.baseM, w.base_n = s.tiling.baseN, w.base_k = s.tiling.baseK;
    w.mdl = s.kind->mdl;
    w.step_ka = std::max(1, s.tiling.stepKa), w.step_kb = std::max(1, s.tiling.stepKb);
    w.a_buffers = s.tiling.depthA1 / std::max<int64_t>(1, w.step_ka * s.tiling.stepM),
    w.b_buffers = s.tiling.depthB1 / std::max<int64_t>(1, w.step_kb * s.tiling.stepN);
    auto lies = [](const Placed& p, uint64_t& at, int64_t& line, bool& turned, int64_t& fractals) {
        if (!p.in_gm) return;
        const View& v = p.view;
        auto bytes = [&](int64_t elements) { return elements * (v.nibbles ? 4 : int64_t(size_of(v.type)) * 8) / 8; };
        at = uint64_t(v.data);
        turned = v.row == 1 && v.col != 1;
        line = bytes(turned ? v.col : v.row);
        fractals = bytes(std::max(v.tile_row, v.tile_col));  // 0 where it lies in rows
    };
    lies(r.a, w.a_at, w.a_line, w.a_turned, w.a_fractals);
    lies(r.b, w.b_at, w.b_line, w.b_turned, w.b_fractals);
    w.a_bits = bits_of(s.kind->a), w.b_bits = bits_of(s.kind->b);
    w.a_gm = r.a.in_gm || (!r.a.in_gm && r.a.loc.mem == Mem::UB),
    w.b_gm = r.b.in_gm || (!r.b.in_gm && r.b.loc.mem == Mem::UB);
    w.n_first = walk_of(s).n_first;
    w.unit_flag = s.kind->unit_flag;
    w.double_out = s.tiling.dbL0C == 2;
    w.out_bytes = size_of(s.kind->c.type);
    w.hf32 = p.hf32 != Hf32::Off;
    return w;
}

// Spends the time on the cube core, from when it has received the request; the caller waits only where it has to.
void pass_time(MatmulState& s, const MatmulCores& cores, const CubeWork& w, Here here) {
    if (cores.twice) return;
    Core &me = *cores.caller, &cube = *cores.cube;
    if (!s.kind->client) {
        cube.trace.spend(chip.scalar_issue);
    } else {
        cube.trace.await(Pipe::S, me.trace.mark(Pipe::MTE3), chip.cross_flag);
    }
    s.ready_at = spend(cube, w, here);
}

// A synchronous call, or a wait, stalls the calling core. Its request was sent after all its stores.
void go_on(const MatmulState& s, const MatmulCores& cores) {
    Core& me = *cores.caller;
    if (!s.kind->client) return;
    me.trace.await(Pipe::S, s.ready_at, chip.cross_flag);
    for (int i = 0; i < kPipes; i++) me.known[i].hear(me.known[int(Pipe::MTE3)], Pipe(i));
    if (me.delayed.on) me.delayed.settle(me.known[int(Pipe::S)]);
}

// All of an AIV's pending stores to GM complete before its message arrives.
void send(const MatmulCores& cores) {
    Core& me = *cores.caller;
    if (!me.delayed.on || cores.caller == cores.cube) return;
    VectorClock sent = me.known[int(Pipe::MTE3)];
    sent.seen[int(Pipe::MTE3)] = me.issued[int(Pipe::MTE3)];
    me.delayed.settle(sent);
    cores.cube->join_all();  // the cube core has finished all earlier requests
}

// The library copies into UB by MTE2 and lets the vector unit wait for it.
void into_ub(const MatmulCores& cores, Loc to, int64_t bytes, bool ordered, Here here,
             std::function<void(uint8_t*)> effect) {
    Core& me = *cores.caller;
    if (!me.usable(to, uint64_t(bytes), false, here, "C")) return me.refuse(to, uint64_t(bytes));
    auto t = me.issue(Pipe::MTE2, Op::Matmul, here);
    me.book(t, to, uint32_t(bytes), true);
    me.perform(t, [effect, at = me.at(to)] { effect(at); });
    me.retire(t, {0, 0, uint32_t(bytes), 1, Route::ToUb, false, false});
    if (ordered) vector_waits(me);
}

void vector_waits(Core& me) {
    me.known[int(Pipe::V)].join(me.known[int(Pipe::MTE2)]);
    me.trace.await(Pipe::V, me.trace.mark(Pipe::MTE2));
}

void into_l1(const MatmulCores& cores, Loc to, int64_t bytes, Here here, std::function<void(uint8_t*)> effect) {
    if (cores.caller != cores.cube)
        to.buf = 0;  // the buffer number is the AIV's; the cube core knows its L1 only by address
    if (!cores.cube->usable(to, uint64_t(bytes), false, here, "C")) return cores.cube->refuse(to, uint64_t(bytes));
    auto t = out_ticket(*cores.cube, here);
    cores.cube->book(t, to, uint32_t(bytes), true);
    auto fill = [effect, at = cores.cube->at(to)] { effect(at); };
    if (cores.caller != cores.cube) fill();
    else cores.cube->perform(t, fill);
}

// Within the object each pipe waits for the one before it.
Core::Ticket out_ticket(Core& cube, Here here) {
    cube.known[int(Pipe::MTE1)].join(cube.known[int(Pipe::MTE2)]);
    cube.known[int(Pipe::M)].join(cube.known[int(Pipe::MTE1)]);
    cube.known[int(Pipe::FIX)].join(cube.known[int(Pipe::M)]);
    return cube.issue(Pipe::FIX, Op::Matmul, here);
}

// All of C to GM.
void run_to_gm(MatmulState& s, const MatmulCores& cores, const std::shared_ptr<Ready>& r, Gm to, const Drain& d,
               Here here) {
    Gm whole = to;
    whole.bytes = 0;
    const Product& p = r->p;
    if (!cores.caller->gm_usable(whole, uint64_t(d.extent(p.m, p.n)), true, here, true)) return;
    book_reads(*r, cores, here);
    if (s.kind->client) {
        if (!cores.twice) book_gm_rows(*cores.caller, nullptr, d, p.m, p.n, here);
        if (cores.cube->effects && (!cores.twice || !d.atomic)) p.run(d);
    } else {
        auto t = out_ticket(*cores.cube, here);
        book_gm_rows(*cores.cube, &t, d, p.m, p.n, here);
        cores.cube->perform(t, [r, d] { r->p.run(d); });
    }
    CubeWork w = work_of(s, *r);
    w.c_at = uint64_t(d.to);
    w.c_line = d.fractals ? 0 : d.ld * int64_t(size_of(d.type));
    pass_time(s, cores, w, here);
}

// All of C into L1 of the cube core, or through GM into the caller's UB.
void run_to_local(MatmulState& s, const MatmulCores& cores, const std::shared_ptr<Ready>& r, Loc to, Drain d,
                  Here here) {
    const Product& p = r->p;
    int64_t bytes = d.extent(p.m, p.n);
    book_reads(*r, cores, here);
    pass_time(s, cores, work_of(s, *r), here);
    auto fill = [r, d](uint8_t* at) mutable {
        d.to = at;
        r->p.run(d);
    };
    if (to.mem != Mem::UB) return into_l1(cores, to, bytes, here, fill);
    go_on(s, cores);
    into_ub(cores, to, bytes, true, here, fill);
}

}  // namespace twin
