// The cube's time for one product: the instructions that the object issues for it, block by block, with the buffers in
// L1, L0 and L0C that let the pipes overlap.
#include <algorithm>

#include "matmul/matmul.h"

namespace twin {

namespace {

struct Rows {  // an operand in GM
    uint64_t at;
    int64_t line, fractals;
    bool turned;
    double bytes;  // of an element
    // rows x cols from (r, c) of it, as the matrix is meant; it may lie transposed.
    Move part(int64_t r, int64_t rows, int64_t c, int64_t cols) const {
        if (turned) std::swap(r, c), std::swap(rows, cols);
        uint32_t row = uint32_t(double(cols) * bytes);
        if (!fractals) {
            uint64_t from = at + uint64_t(double(r) * double(line) + double(c) * bytes);
            return {at ? from : 0, uint64_t(line), row, uint32_t(rows), Route::ToL1Nz, false, false};
        }
        int64_t column = int64_t(double(c) * bytes) / kBlock;  // of fractals, 32 bytes wide
        return {at ? at + uint64_t(column * fractals + r * kBlock) : 0,
                uint64_t(fractals),
                uint32_t(rows * kBlock),
                uint32_t(parts(row, kBlock)),
                Route::ToL1,
                false,
                false};
    }
    static constexpr int64_t kBlock = 32;
};

}  // namespace

Stamp spend(Core& cube, const CubeWork& w, Here here) {
    Trace& trace = cube.trace;
    const auto& c = chip.cube;
    int64_t m_blocks = parts(w.m, w.base_m), n_blocks = parts(w.n, w.base_n), k_blocks = parts(w.k, w.base_k),
            step_k = std::max<int64_t>(1, std::min(w.step_ka, w.step_kb)), rounds = parts(k_blocks, step_k);
    bool whole_k = rounds <= 1;
    double a_bytes = w.a_bits / 8.0, b_bytes = w.b_bits / 8.0, c0 = w.hf32 ? 8 : 256.0 / w.a_bits;
    Rows a{w.a_at, w.a_line, w.a_fractals, w.a_turned, a_bytes}, b{w.b_at, w.b_line, w.b_fractals, w.b_turned, b_bytes};
    int64_t out_buffers = w.double_out || w.unit_flag ? 2 : 1;
    Stamp l0_free[2] = {}, l0c_free[2] = {};  // when their readers were done
    struct Side {                             // of one operand in L1
        int64_t step, buffers, turn = -1;
        Stamp free[2] = {};
        Side(int64_t s, int64_t b)
            : step(std::max<int64_t>(1, s)), buffers(std::max<int64_t>(1, std::min<int64_t>(2, b))) {}
        Stamp& now() { return free[turn % buffers]; }
    } in_a(w.step_ka, w.a_buffers), in_b(w.step_kb, w.b_buffers);
    int64_t step_turn = 0, block = 0;
    auto work = [&](Pipe p, double cycles, double bytes, double startup = 0) {
        trace.work(p, Op::Matmul, here.line, cycles, uint64_t(bytes), startup);
        cube.instructions++;
    };
    for (int64_t slow = 0; slow < (w.n_first ? m_blocks : n_blocks); slow++)
        for (int64_t fast = 0; fast < (w.n_first ? n_blocks : m_blocks); fast++, block++) {
            int64_t i = w.n_first ? slow : fast, j = w.n_first ? fast : slow;
            int64_t real_m = std::min(w.base_m, w.m - i * w.base_m), real_n = std::min(w.base_n, w.n - j * w.base_n);
            double rows = double(up(real_m, 16)), cols = double(up(real_n, 16));
            // Operands that stay in L1 from the previous block: if all of K fits, that of the slow axis; both, if there
            // is a single block of them.
            bool keep_a = whole_k && ((w.n_first && fast > 0) || (m_blocks == 1 && block > 0)),
                 keep_b = whole_k && ((!w.n_first && fast > 0) || (n_blocks == 1 && block > 0));
            Stamp& out_free = l0c_free[block % out_buffers];
            for (int64_t round = 0; round < rounds; round++) {
                int64_t first = round * step_k, steps = std::min(step_k, k_blocks - first), k0 = first * w.base_k;
                int64_t depth = std::min(steps * w.base_k, w.k - k0);
                // a chunk of its own number of base blocks along k
                auto load = [&](Side& side, bool from_gm, auto part) {
                    if (!from_gm || first % side.step) return;
                    side.turn++;
                    trace.await(Pipe::MTE2, side.now());
                    trace.move(Pipe::MTE2, Op::Matmul, here.line, part(std::min(side.step * w.base_k, w.k - k0)));
                    trace.await(Pipe::MTE1, trace.mark(Pipe::MTE2));
                };
                load(in_a, w.a_gm && !keep_a, [&](int64_t deep) { return a.part(i * w.base_m, real_m, k0, deep); });
                load(in_b, w.b_gm && !keep_b, [&](int64_t deep) { return b.part(k0, deep, j * w.base_n, real_n); });
                for (int64_t step = 0; step < steps; step++, step_turn++) {
                    double some = double(std::min(w.base_k, depth - step * w.base_k));
                    trace.spend(w.mdl ? c.scalar_mdl : c.scalar_norm);
                    trace.await(Pipe::MTE1, l0_free[step_turn % 2]);
                    work(Pipe::MTE1, c.l0_start + rows * some * a_bytes / c.l0a_rate, rows * some * a_bytes);
                    work(Pipe::MTE1, c.l0_start + cols * some * b_bytes / c.l0b_rate, cols * some * b_bytes);
                    trace.await(Pipe::M, trace.mark(Pipe::MTE1));
                    if (!step && !round) trace.await(Pipe::M, out_free);
                    double fractals = rows / 16 * cols / 16 * double(parts(int64_t(some), int64_t(c0)));
                    (w.a_bits == 16   ? cube.counters.fractals16
                     : w.a_bits == 32 ? cube.counters.fractals32
                                      : cube.counters.fractals8) += uint64_t(fractals);
                    work(Pipe::M, std::max(chip.mmad_floor, chip.mmad_start + fractals), 0);
                    l0_free[step_turn % 2] = trace.mark(Pipe::M);
                }
                Stamp read = trace.mark(Pipe::MTE1);
                if (in_a.turn >= 0) in_a.now() = read;
                if (in_b.turn >= 0) in_b.now() = read;
            }
            if (!w.out_bytes) continue;  // it stays in L0C
            // With unit flags FIXPIPE's instruction is under way, and counted, while it waits for the sums.
            trace.await(Pipe::FIX, trace.mark(Pipe::M), 0, w.unit_flag);
            uint64_t to = w.c_at ? w.c_at + uint64_t(i * w.base_m * w.c_line + j * w.base_n * w.out_bytes) : 0;
            bool lines = w.c_line > real_n * w.out_bytes;
            uint32_t row = uint32_t(real_n * w.out_bytes);
            trace.move(Pipe::FIX, Op::Matmul, here.line,
                       {to, uint64_t(w.c_line), lines ? row : row * uint32_t(real_m), lines ? uint32_t(real_m) : 1,
                        Route::FromL0c, true, false});
            out_free = trace.mark(Pipe::FIX);
        }
    return trace.mark(w.out_bytes ? Pipe::FIX : Pipe::M);
}

}  // namespace twin
