// Iterate and GetTensorC: C block by block.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "matmul/call.h"

namespace twin {

Block block_at(const MatmulState& s, int64_t index) {
    Block b;
    walk_of(s).at(index, b.row, b.col, b.k);
    const auto& t = s.tiling;
    b.r0 = b.row * t.baseM, b.c0 = b.col * t.baseN, b.k0 = s.kind->partial ? b.k * t.baseK : 0;
    b.rows = std::min<int64_t>(t.baseM, s.single_m - b.r0);
    b.cols = std::min<int64_t>(t.baseN, s.single_n - b.c0);
    b.depth = s.kind->partial ? std::min<int64_t>(t.baseK, s.single_k - b.k0) : s.single_k;
    return b;
}

void compute_block(MatmulState& s, const MatmulCores& cores, const Ready& r, const Block& b, bool onto, Here here) {
    size_t bytes = size_t(s.tiling.baseM) * size_t(s.tiling.baseN) * 4;
    if (s.scratch.bytes < bytes) {
        std::free(s.scratch.data);
        s.scratch.data = std::calloc(bytes, 1);
        s.scratch.bytes = bytes;
    }
    if (fed_by_kernel(s)) return multiply_fed(s, cores, r, b, s.scratch.data, onto, here);
    if (cores.cube->effects) r.p.multiply(b.r0, b.rows, b.c0, b.cols, b.k0, b.depth, s.scratch.data, b.cols, onto);
}

void store_block(const MatmulState& s, const MatmulCores& cores, const Ready& r, const Block& b, const MatmulCall& call,
                 Gm to, Here here) {
    bool packed = call.sequential;
    Drain d = drain_of(s, to.ptr, atomic_of(cores, call.atomic), packed, b.rows, b.cols, b.c0 + b.cols >= s.single_n);
    if (!packed) d.to = d.at(b.r0, b.c0);
    Gm place = to;
    place.ptr = d.to;
    place.bytes = 0;
    if (!cores.caller->gm_usable(place, uint64_t(d.extent(b.rows, b.cols)), true, here, true)) return;
    if (s.kind->copy_out) return store_by_kernel(s, cores, b, d, here);
    if (s.kind->client) {
        if (cores.twice && d.atomic) return;
        if (!cores.twice) book_gm_rows(*cores.caller, nullptr, d, b.rows, b.cols, here);
        if (!cores.cube->effects) return;
        return r.p.drain(s.scratch.data, b.cols, b.rows, b.cols, b.c0, d);
    }
    auto t = out_ticket(*cores.cube, here);
    book_gm_rows(*cores.cube, &t, d, b.rows, b.cols, here);
    auto sums = std::make_shared<std::vector<uint8_t>>();
    const uint8_t* from = static_cast<const uint8_t*>(s.scratch.data);
    if (cores.cube->delayed.on) {
        sums->assign(from, from + b.rows * b.cols * 4);
        from = sums->data();
    }
    Product p = r.p;
    cores.cube->perform(t, [=] { (void)sums, p.drain(from, b.cols, b.rows, b.cols, b.c0, d); });
}

namespace {

// Is there a block to fetch? Behind the last one Iterate returned false and computed nothing.
bool has_block(const MatmulState& s, const MatmulCores& cores, Here here) {
    if (s.at < walk_of(s).count()) return true;
    cores.caller->report("matmul-over", true, here, Numbers().add("blocks", (long long)walk_of(s).count()));
    return false;
}

// One block leaves L0C when its sums are done.
Stamp take_out(Core& cube, const Move& m, Here here) {
    cube.trace.await(Pipe::FIX, cube.trace.mark(Pipe::M));
    cube.trace.move(Pipe::FIX, Op::Matmul, here.line, m);
    return cube.trace.mark(Pipe::FIX);
}

CubeWork work_of_block(const MatmulState& s, const Ready& r, const Block& b) {
    CubeWork w = work_of(s, r);
    w.m = b.rows, w.n = b.cols, w.k = b.depth;
    if (w.a_at) w.a_at += uint64_t(b.r0 * r.p.a.row + b.k0 * r.p.a.col) * uint64_t(w.a_bits) / 8;
    if (w.b_at) w.b_at += uint64_t(b.k0 * r.p.b.row + b.c0 * r.p.b.col) * uint64_t(w.b_bits) / 8;
    if (s.kind->copy_a) w.a_gm = false;
    if (s.kind->copy_b) w.b_gm = false;
    return w;
}

uint64_t block_bytes(const MatmulState& s) {
    return uint64_t(s.tiling.baseM) * uint64_t(s.tiling.baseN) * size_of(s.kind->c.type);
}

// All blocks into the workspace, one behind the other.
void fill_workspace(MatmulState& s, const MatmulCores& cores, Here here) {
    if (!s.workspace.ptr) return cores.caller->report("matmul-workspace", true, here, Numbers());
    auto r = prepare(s, cores, {}, here);
    if (!r) return;
    book_reads(*r, cores, here);
    MatmulCall call;
    call.sequential = true;
    Gm at = s.workspace;
    for (int64_t i = 0, n = walk_of(s).count(); i < n; i++, at.ptr += block_bytes(s)) {
        Block b = block_at(s, i);
        if (r->p.left_out(b.row, b.col)) continue;
        compute_block(s, cores, *r, b, false, here);
        store_block(s, cores, *r, b, call, at, here);
    }
    pass_time(s, cores, work_of(s, *r), here);
    s.fetched = 0;
}

bool advance(MatmulState& s) { return ++s.at < walk_of(s).count(); }

// The cube core's timeline is shared by both AIVs. A core that is not the caller of the cube does not compute; it only
// follows the order of the blocks.
bool outsider(MatmulState& s, const MatmulCores& cores) {
    return !cores && s.ready && s.tiling.baseM > 0 && s.tiling.baseN > 0;
}

}  // namespace

bool matmul_iterate(MatmulState& s, const MatmulCall& call, Here here) {
    MatmulCores cores = cores_of(s, here);
    if (outsider(s, cores)) return advance(s);
    if (!cores || !vetted(s, cores, "Iterate", here)) return false;
    if (!advance(s)) return false;
    if (!call.sync) {
        if (s.at == 0) {
            send(cores);
            fill_workspace(s, cores, here);
        }
        s.async = true;
        return true;
    }
    s.async = false;
    send(cores);
    auto r = prepare(s, cores, {}, here);
    if (!r) return false;
    book_reads(*r, cores, here);
    Block b = block_at(s, s.at);
    compute_block(s, cores, *r, b, call.partial_sum, here);
    CubeWork w = work_of_block(s, *r, b);
    w.out_bytes = 0;  // it stays in L0C until GetTensorC
    pass_time(s, cores, w, here);
    return true;
}

bool matmul_iterate(MatmulState& s, const MatmulCall& call, Loc l0c, Here here) {
    MatmulCores cores = cores_of(s, here);
    if (outsider(s, cores)) return advance(s);
    if (!cores || !vetted(s, cores, "Iterate", here) || !advance(s)) return false;
    auto r = prepare(s, cores, {}, here);
    if (!r) return false;
    book_reads(*r, cores, here);
    Block b = block_at(s, s.at);
    Drain d;
    d.type = r->p.integer ? Dt::I32 : Dt::F32;
    d.fractals = true;
    d.ld = up(b.rows, 16);
    Core& cube = *cores.cube;
    int64_t bytes = d.extent(b.rows, b.cols);
    if (!cube.usable(l0c, uint64_t(bytes), false, here, "C", 64)) return cube.refuse(l0c, uint64_t(bytes)), true;
    cube.known[int(Pipe::MTE1)].join(cube.known[int(Pipe::MTE2)]);
    cube.known[int(Pipe::M)].join(cube.known[int(Pipe::MTE1)]);
    auto t = cube.issue(Pipe::M, Op::Matmul, here);
    cube.book(t, l0c, uint32_t(bytes), true);
    d.to = cube.at(l0c);
    if (call.partial_sum) {
        // Adds to the existing content, fractal by fractal.
        std::vector<float> sums(size_t(b.rows * b.cols));
        for (int64_t row = 0; row < b.rows; row++)
            for (int64_t c = 0; c < b.cols; c++) std::memcpy(&sums[size_t(row * b.cols + c)], d.at(row, c), 4);
        r->p.multiply(b.r0, b.rows, b.c0, b.cols, b.k0, b.depth, sums.data(), b.cols, true);
        Product plain = r->p;
        plain.quantised = false;
        plain.drain(sums.data(), b.cols, b.rows, b.cols, b.c0, d);
    } else {
        compute_block(s, cores, *r, b, false, here);
        Product plain = r->p;
        plain.quantised = false;
        plain.drain(s.scratch.data, b.cols, b.rows, b.cols, b.c0, d);
    }
    CubeWork w = work_of_block(s, *r, b);
    w.out_bytes = 0;
    pass_time(s, cores, w, here);
    return true;
}

void matmul_get(MatmulState& s, const MatmulCall& call, Gm to, Here here) {
    MatmulCores cores = cores_of(s, here);
    if (!cores || !s.kind || s.at < 0 || !s.scratch.data || !has_block(s, cores, here)) return;
    auto r = prepare(s, cores, {}, here);
    if (!r) return;
    Block b = block_at(s, s.at);
    if (r->p.left_out(b.row, b.col)) return;
    store_block(s, cores, *r, b, call, to, here);
    Drain d = drain_of(s, to.ptr, 0, call.sequential, b.rows, b.cols, true);
    s.ready_at = take_out(*cores.cube,
                          {uint64_t(call.sequential ? to.ptr : d.at(b.r0, b.c0)), uint64_t(d.ld) * size_of(d.type),
                           uint32_t(b.cols * size_of(d.type)), uint32_t(b.rows), Route::FromL0c, true, false},
                          here);
    if (call.sync) go_on(s, cores);
}

// Writes a block packed into the caller's UB (or L1 of the cube core). What does not fit the tensor is dropped, as the
// library's copy does.
void matmul_get(MatmulState& s, const MatmulCall& call, Loc to, Here here) {
    MatmulCores cores = cores_of(s, here);
    if (!cores || !s.kind || s.at < 0) return;
    if (s.async) {
        if (!s.workspace.ptr) return;
        uint64_t bytes = std::min<uint64_t>(to.bytes, block_bytes(s)) / 32 * 32;
        const uint8_t* from = s.workspace.ptr + s.fetched;
        if (s.fetched == 0) go_on(s, cores);
        s.fetched += block_bytes(s);
        return into_ub(cores, to, int64_t(bytes), call.sync, here, [=](uint8_t* at) { std::memcpy(at, from, bytes); });
    }
    if (!s.scratch.data) return;
    if (!has_block(s, cores, here)) return cores.caller->refuse(to, to.bytes);
    auto r = prepare(s, cores, {}, here);
    if (!r) return;
    Block b = block_at(s, s.at);
    Drain d = drain_of(s, nullptr, 0, true, b.rows, b.cols, true);
    int64_t bytes = d.extent(b.rows, b.cols);
    auto block = std::make_shared<std::vector<uint8_t>>(size_t(bytes));
    d.to = block->data();
    if (!r->p.left_out(b.row, b.col)) r->p.drain(s.scratch.data, b.cols, b.rows, b.cols, b.c0, d);
    s.ready_at = take_out(*cores.cube, {0, 0, uint32_t(bytes), 1, Route::FromL0c, true, false}, here);
    go_on(s, cores);
    int64_t fits = std::min<int64_t>(bytes, to.bytes / 32 * 32);
    if (to.mem == Mem::UB)
        return into_ub(cores, to, fits, true, here, [=](uint8_t* at) { std::memcpy(at, block->data(), size_t(fits)); });
    into_l1(cores, to, fits, here, [=](uint8_t* at) { std::memcpy(at, block->data(), size_t(fits)); });
}

// The next block of the workspace, for the kernel to fetch itself.
Gm matmul_get(MatmulState& s, const MatmulCall&, Here here) {
    MatmulCores cores = cores_of(s, here);
    if (!cores || !s.workspace.ptr) return {};
    if (s.fetched == 0) go_on(s, cores);
    Gm block = s.workspace;
    block.ptr += s.fetched;
    block.base = block.ptr;
    block.bytes = block_bytes(s);
    s.fetched += block_bytes(s);
    return block;
}

}  // namespace twin
