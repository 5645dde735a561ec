// C = A*B (+ C), as the cube computes it: the one matrix product behind Mmad and the Matmul object.
//
// Contract: each element of C is one chain of fused multiply-adds in fp32, k ascending from 0 (or from the old C). So
// a result depends neither on the host, nor on how a kernel cuts M, N or K into pieces. half and bfloat16 products are
// exact in fp32. Integers (I8, or I8 with `nibbles`) accumulate exactly in int32 and saturate. NaN comes out as
// 0x7FC00000. (The cube's own order of summation is not published; its results agree within the usual tolerance of fp32
// sums.)
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "core/registers.h"
#include "twin/base/abi.h"

namespace twin {

// The layout of an operand. The matrix is cut into tiles; strides count elements: within a tile (row, col) and from
// tile to tile. One of row and col is 1.
struct View {
    const void* data = nullptr;
    Dt type = Dt::F16;
    bool nibbles = false;  // int4b_t: two elements a byte, the even one low
    uint32_t tile_rows = ~0u, tile_cols = ~0u;
    ptrdiff_t row = 0, col = 1, tile_row = 0, tile_col = 0;

    // [r][c], and its transpose stored as [c][r]; ld elements from line to line.
    static View rows(const void* p, Dt t, ptrdiff_t ld) { return {p, t, false, ~0u, ~0u, ld, 1, 0, 0}; }
    static View columns(const void* p, Dt t, ptrdiff_t ld) { return {p, t, false, ~0u, ~0u, 1, ld, 0, 0}; }
    // Fractals of 16 x c0 elements. Nz (L1, L0C): [cols/c0][height][c0]; Zz (L0A): [rows/16][width/c0][16][c0];
    // Zn (L0B): [rows/c0][width/16][16][c0], each fractal holding its columns one after the other.
    static View nz(const void* p, Dt t, ptrdiff_t height, uint32_t c0) {
        return {p, t, false, ~0u, c0, ptrdiff_t(c0), 1, 0, height * ptrdiff_t(c0)};
    }
    static View zz(const void* p, Dt t, ptrdiff_t width, uint32_t c0) {
        return {p, t, false, 16, c0, ptrdiff_t(c0), 1, 16 * width, 16 * ptrdiff_t(c0)};
    }
    static View zn(const void* p, Dt t, ptrdiff_t width, uint32_t c0) {
        return {p, t, false, c0, 16, 1, ptrdiff_t(c0), width * ptrdiff_t(c0), 16 * ptrdiff_t(c0)};
    }
};

// The layout of C (float or int32_t): groups of 16 columns; `block` elements from one group to the next.
struct Out {
    void* data;
    ptrdiff_t row, block;
    static Out rows(void* p, ptrdiff_t ld) { return {p, ld, 16}; }
    static Out nz(void* p, ptrdiff_t height) { return {p, 16, height * 16}; }
};

void gemm(const View& a, const View& b, const Out& c, uint32_t m, uint32_t n, uint32_t k, bool accumulate,
          Hf32 = Hf32::Off);

// d[r * ld + c] = element (r0 + r, c0 + c) of v in fp32: the packing routine of gemm, also for callers that need a
// plain matrix.
void unfold(const View& v, uint32_t r0, uint32_t rows, uint32_t c0, uint32_t cols, float* d, ptrdiff_t ld,
            Hf32 = Hf32::Off);

}  // namespace twin
