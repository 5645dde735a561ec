// The cube's and the fixed-function pipe's work on a block: sums, bias, conversion, layout.
#include <algorithm>
#include <cstring>

#include "cube/fixpipe.h"
#include "lanes/math.h"
#include "matmul/matmul.h"
#include "memory/atomic.h"

namespace twin {

namespace {

uint32_t bits_of_view(const View& v) { return v.nibbles ? 4 : size_of(v.type) * 8; }

void widen(Dt t, const void* s, int64_t first, int64_t n, float* d) {
    const uint8_t* from = static_cast<const uint8_t*>(s) + first * size_of(t);
    if (t == Dt::F32) std::memcpy(d, from, size_t(n) * 4);
    else math::cast(Dt::F32, t, Round::None, d, from, size_t(n));
}

void put(const Drain& d, int64_t row, int64_t cols, const uint8_t* line) {
    uint32_t size = size_of(d.type);
    auto piece = [&](int64_t c, int64_t n) {
        uint8_t* to = d.at(row, c);
        if (d.atomic) atomic_store({Atomic(d.atomic), d.type}, to, line + c * size, size_t(n) * size);
        else std::memcpy(to, line + c * size, size_t(n) * size);
    };
    if (!d.fractals) return piece(0, std::max(cols, d.padded));
    for (int64_t c = 0; c < cols; c += d.c0) piece(c, d.c0);  // a fractal is always written as a whole
}

}  // namespace

View part_of(const View& v, int64_t r, int64_t c, int64_t rows, int64_t cols, std::vector<uint8_t>& spare) {
    View o = v;
    bool whole = (v.tile_rows == ~0u || r % v.tile_rows == 0) && (v.tile_cols == ~0u || c % v.tile_cols == 0);
    int64_t e = (v.tile_rows == ~0u ? r * v.row : r / v.tile_rows * v.tile_row) +
                (v.tile_cols == ~0u ? c * v.col : c / v.tile_cols * v.tile_col);
    // If a tile is unbounded along one side, the other side's offset is a plain stride.
    if (whole && e * bits_of_view(v) % 8 == 0) {
        o.data = static_cast<const uint8_t*>(v.data) + e * bits_of_view(v) / 8;
        return o;
    }
    std::vector<float> flat(size_t(rows * cols));
    unfold(v, uint32_t(r), uint32_t(rows), uint32_t(c), uint32_t(cols), flat.data(), cols);
    if (v.type == Dt::I8) {
        spare.resize(flat.size());
        for (size_t i = 0; i < flat.size(); i++) spare[i] = uint8_t(int8_t(flat[i]));
        return View::rows(spare.data(), Dt::I8, cols);
    }
    spare.resize(flat.size() * 4);
    std::memcpy(spare.data(), flat.data(), spare.size());
    return View::rows(spare.data(), Dt::F32, cols);
}

void Product::multiply(int64_t r0, int64_t rows, int64_t c0, int64_t cols, int64_t k0, int64_t depth, void* acc,
                       int64_t ld, bool on) const {
    if (!on && bias) {
        for (int64_t r = 0; r < rows; r++) {
            if (r) std::memcpy(static_cast<uint8_t*>(acc) + r * ld * 4, acc, size_t(cols) * 4);
            else if (integer) std::memcpy(acc, static_cast<const int32_t*>(bias) + c0, size_t(cols) * 4);
            else widen(bias_type, bias, c0, cols, static_cast<float*>(acc));
        }
        on = true;
    }
    std::vector<uint8_t> spare_a, spare_b;
    View left = part_of(a, r0, k0, rows, depth, spare_a), right = part_of(b, k0, c0, depth, cols, spare_b);
    gemm(left, right, Out::rows(acc, ld), uint32_t(rows), uint32_t(cols), uint32_t(depth), on, hf32);
}

void Product::drain(const void* acc, int64_t ld, int64_t rows, int64_t cols, int64_t c0, const Drain& d) const {
    int64_t width = d.fractals ? up(cols, d.c0) : std::max(cols, d.padded);
    std::vector<uint8_t> line(size_t(width) * size_of(d.type)), sums(size_t(cols) * 4);
    Dt held = integer ? Dt::I32 : Dt::F32;
    Quant mode = quantised            ? (d.type == Dt::F16 ? Quant::DeqHalf
                                         : integer         ? Quant::ReqB8
                                                           : Quant::ToB8)
                 : d.type == Dt::F16  ? Quant::ToHalf
                 : d.type == Dt::BF16 ? Quant::ToBf16
                                      : Quant::None;
    Quantities parameters{scale, scales, {}};
    for (int64_t r = 0; r < rows; r++) {
        std::memcpy(sums.data(), static_cast<const uint8_t*>(acc) + r * ld * 4, sums.size());
        convert_line(parameters, mode, false, d.type, held, line.data(), sums.data(), uint32_t(c0), uint32_t(cols));
        put(d, r, cols, line.data());
    }
}

void Product::run(const Drain& d) const {
    auto part = [&](int64_t row, int64_t col) {
        Drain p = d;
        p.to = d.at(row, col);
        p.padded = d.padded ? std::max<int64_t>(0, d.padded - col) : 0;
        return p;
    };
    if (triangle) {
        std::vector<float> acc(size_t(base_m * base_n));
        for (int64_t r = 0; r < m; r += base_m)
            for (int64_t c = 0; c < n; c += base_n) {
                if (left_out(r / base_m, c / base_n)) continue;
                int64_t rows = std::min(base_m, m - r), cols = std::min(base_n, n - c);
                multiply(r, rows, c, cols, 0, k, acc.data(), cols, false);
                drain(acc.data(), cols, rows, cols, c, part(r, c));
            }
        return;
    }
    // Panels of rows, as wide as C: B is unfolded once for each of them.
    int64_t panel = std::max<int64_t>(16, std::min(up(m, 16), (int64_t(1) << 20) / std::max<int64_t>(1, n) / 16 * 16));
    std::vector<float> acc(size_t(std::min(panel, m) * n));
    for (int64_t r = 0; r < m; r += panel) {
        int64_t rows = std::min(panel, m - r);
        multiply(r, rows, 0, n, 0, k, acc.data(), n, false);
        drain(acc.data(), n, rows, n, 0, part(r, 0));
    }
}

void Walk::at(int64_t index, int64_t& row, int64_t& col, int64_t& k) const {
    k = index % k_blocks;
    index /= k_blocks;
    int64_t fast_all = n_first ? n_blocks : m_blocks, slow_all = n_first ? m_blocks : n_blocks;
    int64_t fast_step = std::min(n_first ? step_n : step_m, fast_all),
            slow_step = std::min(n_first ? step_m : step_n, slow_all);
    // Traverses a stripe of slow_step lines, step by step along the fast axis; within a step the fast axis varies
    // first.
    int64_t stripe = index / (fast_all * slow_step), inside = index % (fast_all * slow_step);
    int64_t lines = std::min(slow_step, slow_all - stripe * slow_step);
    int64_t group = inside / (fast_step * lines), within = inside % (fast_step * lines);
    int64_t length = std::min(fast_step, fast_all - group * fast_step);
    int64_t fast = group * fast_step + within % length, slow = stripe * slow_step + within / length;
    row = n_first ? slow : fast;
    col = n_first ? fast : slow;
}

}  // namespace twin
