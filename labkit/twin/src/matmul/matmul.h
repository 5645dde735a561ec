// Internals of the Matmul object: one prepared product, the destination of its results, and its modelled time.
#pragma once
#include <cstdint>
#include <vector>

#include "core/machine.h"
#include "cube/gemm.h"
#include "twin/matmul/matmul.h"

namespace twin {

inline int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b * b; }
inline int64_t parts(int64_t a, int64_t b) { return b > 0 ? (a + b - 1) / b : 0; }
inline int bits_of(const MatmulSide& s) { return s.nibbles ? 4 : int(size_of(s.type)) * 8; }
inline int64_t c0_of(const MatmulSide& s) { return 256 / bits_of(s); }  // elements of 32 bytes
inline bool is_format(const MatmulSide& s, CubeFormat f) { return s.format == uint8_t(f); }
inline bool is_layout(const MatmulSide& s, LayoutMode l) { return s.layout == uint8_t(l); }

// Where a block of C goes: rows `ld` elements apart, or fractals of 16 x c0 with `ld` rows to a column of them.
struct Drain {
    uint8_t* to = nullptr;
    Dt type = Dt::F32;
    bool fractals = false;
    int64_t ld = 0, c0 = 16;
    int64_t padded = 0;  // rows only: columns up to here are filled with zero (ND_ALIGN)
    uint8_t atomic = 0;
    uint8_t* at(int64_t row, int64_t col) const {
        int64_t e = fractals ? col / c0 * ld * c0 + row * c0 + col % c0 : row * ld + col;
        return to + e * size_of(type);
    }
    int64_t extent(int64_t rows, int64_t cols) const {  // bytes from `to` on
        if (!rows || !cols) return 0;
        int64_t wide = std::max(cols, padded);
        return (fractals ? (parts(cols, c0) - 1) * ld * c0 + rows * c0 : (rows - 1) * ld + wide) *
               int64_t(size_of(type));
    }
};

// One product with all its parameters by value, so that it can be executed later.
struct Product {
    View a, b;  // [m][k], [k][n]
    int64_t m = 0, n = 0, k = 0;
    int64_t base_m = 0, base_n = 0;
    bool integer = false;  // int32 sums
    const void* bias = nullptr;
    Dt bias_type = Dt::F32;
    bool quantised = false;
    uint64_t scale = 0;
    const uint64_t* scales = nullptr;  // one a column
    Hf32 hf32 = Hf32::Off;
    int8_t triangle = 0;

    // acc[rows][ld] (float or int32) = bias + A * B for a block of C; on: onto what acc holds.
    void multiply(int64_t r0, int64_t rows, int64_t c0, int64_t cols, int64_t k0, int64_t depth, void* acc, int64_t ld,
                  bool on) const;
    // Converts a block and writes it; c0 is its first column in C.
    void drain(const void* acc, int64_t ld, int64_t rows, int64_t cols, int64_t c0, const Drain&) const;
    // The whole of C.
    void run(const Drain&) const;
    bool left_out(int64_t row_block, int64_t col_block) const {
        return triangle && (triangle > 0 ? row_block > col_block : row_block < col_block);
    }
};

// The order in which Iterate visits the blocks of C.
struct Walk {
    int64_t m_blocks = 0, n_blocks = 0, k_blocks = 1, step_m = 1, step_n = 1;
    bool n_first = false;
    int64_t count() const { return m_blocks * n_blocks * k_blocks; }
    void at(int64_t index, int64_t& row, int64_t& col, int64_t& k) const;
};
Walk walk_of(const MatmulState&);

// The cube's time for one product: entries on the trace of `cube`; returns the stamp of the last result's arrival.
struct CubeWork {
    int64_t m = 0, n = 0, k = 0, base_m = 0, base_n = 0, base_k = 0, step_ka = 1, step_kb = 1;
    int a_bits = 16, b_bits = 16;
    bool a_gm = true, b_gm = true, n_first = false, unit_flag = false, double_out = false;
    int64_t out_bytes = 4;  // of an element of C
    bool hf32 = false, mdl = false;
    int64_t a_buffers = 2, b_buffers = 2;        // chunks of step_k base blocks that L1 holds
    uint64_t a_at = 0, b_at = 0, c_at = 0;       // in GM, where known: the operands' first bytes
    int64_t a_line = 0, b_line = 0, c_line = 0;  // bytes from row to row as they lie there
    bool a_turned = false, b_turned = false;
    int64_t a_fractals = 0, b_fractals = 0;  // bytes from one column of fractals to the next; 0: it lies in rows (ND)
};
Stamp spend(Core& cube, const CubeWork&, Here);

// The matrix from (r, c) on, rows x cols; where that is not the start of a tile, unfolded into `spare`.
View part_of(const View&, int64_t r, int64_t c, int64_t rows, int64_t cols, std::vector<uint8_t>& spare);

}  // namespace twin
