// How long the cube takes for one product: the pipes' bars, block by block, as the double buffers let them overlap.
#include <algorithm>

#include "matmul.h"

namespace twin {

namespace {

struct Bars {
    Core& cube;
    Here here;
    double when[kPipes] = {};
    // One bar on a pipe, not before `after`; returns its end.
    double add(Pipe p, double after, double cycles, double bytes) {
        int i = int(p);
        double start = std::max({after, when[i], cube.free_at[i], cube.ready_at[i]});
        when[i] = cube.free_at[i] = start + cycles;
        cube.busy[i] += cycles;
        cube.instructions++;
        if (cube.events.size() < cube.keep_events)
            cube.events.push_back({uint16_t(cube.block), uint8_t(i), cube.slot(), uint16_t(Op::Matmul), 0, here.line, uint32_t(std::min(bytes, 4e9)), start, when[i]});
        return when[i];
    }
};

}  // namespace

double spend(Core& cube, const CubeWork& w, double start, Here here) {
    Bars bars{cube, here, {}};
    const auto& c = chip.cube;
    int64_t m_blocks = parts(w.m, w.base_m), n_blocks = parts(w.n, w.base_n), k_blocks = parts(w.k, w.base_k), rounds = parts(k_blocks, std::max<int64_t>(1, w.step_k));
    bool whole_k = rounds <= 1;
    double a_bytes = w.a_bits / 8.0, b_bytes = w.b_bits / 8.0, c0 = w.hf32 ? 8 : 256.0 / w.a_bits;
    // Of the last two rounds through L1, and blocks through L0C: when their readers were done.
    double l1_free[2] = {start, start}, l0c_free[2] = {start, start}, end = start;
    int64_t turn = 0, block = 0, out_buffers = w.double_out || w.unit_flag ? 2 : 1;
    auto load = [&](double bytes) {
        double own = c.load_latency + bytes / c.load_rate;
        return std::max(own, bytes * std::min<double>(cube.sharing, chip.cube_cores) / c.load_shared);
    };
    for (int64_t slow = 0; slow < (w.n_first ? m_blocks : n_blocks); slow++)
        for (int64_t fast = 0; fast < (w.n_first ? n_blocks : m_blocks); fast++, block++) {
            int64_t i = w.n_first ? slow : fast, j = w.n_first ? fast : slow;
            double rows = double(up(std::min(w.base_m, w.m - i * w.base_m), 16)), cols = double(up(std::min(w.base_n, w.n - j * w.base_n), 16));
            // What stays in L1 from the block before: with all of K there, the slow axis's operand; and both where there is one block of them.
            bool keep_a = whole_k && ((w.n_first && fast > 0) || (m_blocks == 1 && block > 0)), keep_b = whole_k && ((!w.n_first && fast > 0) || (n_blocks == 1 && block > 0));
            double done = l0c_free[block % out_buffers];
            for (int64_t round = 0; round < rounds; round++, turn++) {
                int64_t first = round * w.step_k, steps = std::min(w.step_k, k_blocks - first);
                double depth = double(std::min(steps * w.base_k, w.k - first * w.base_k));
                double in = l1_free[turn % 2];
                if (w.a_gm && !keep_a) in = bars.add(Pipe::MTE2, in, load(rows * depth * a_bytes), rows * depth * a_bytes);
                if (w.b_gm && !keep_b) in = bars.add(Pipe::MTE2, in, load(cols * depth * b_bytes), cols * depth * b_bytes);
                double l0 = bars.add(Pipe::MTE1, in, double(steps) * c.l0_start + rows * depth * a_bytes / c.l0a_rate + cols * depth * b_bytes / c.l0b_rate, depth * (rows * a_bytes + cols * b_bytes));
                double fractals = rows / 16 * cols / 16 * double(parts(int64_t(depth), int64_t(c0)));
                // L0A and L0B are filled while they are drained: the product ends a step after its last operand, and no sooner.
                double busy = double(steps) * c.mmad_start + fractals;
                double m_start = std::max({in + c.l0_start, done, l0 - busy});
                done = std::max(bars.add(Pipe::M, m_start, busy, 0), l0);
                l1_free[turn % 2] = done;
            }
            double bytes = rows * cols * double(w.out_bytes);
            end = bars.add(Pipe::FIX, done, std::max(c.store_latency, bytes / c.store_rate), bytes);
            l0c_free[block % out_buffers] = end;
        }
    return end;
}

}  // namespace twin
