// Cutting a matrix product to the memories of an AI core, and over cores: the search behind matmul_tiling.
#pragma once
#include <cstdint>

namespace twin {

// The task: the product, and the parameters that are fixed beforehand (-1: free).
struct CutTask {
    int64_t m = 0, n = 0, k = 0;
    int a_bits = 16, b_bits = 16, c_bytes = 4, bias_bytes = 0;  // bias_bytes of an element; 0: no bias
    bool a_trans = false, b_trans = false;
    bool a_l1 = false, b_l1 = false;                    // the operand lies in L1 already
    int64_t c_room = 0;                                 // bytes that a block of C may take in UB; 0: it goes elsewhere
    int64_t l1 = 0, l0a = 0, l0b = 0, l0c = 0, bt = 0;  // bytes
    int cores = 1;
    bool split_k = false, three_buffers = false;
    int64_t fixed_single[3] = {-1, -1, -1}, fixed_base[2] = {-1, -1};
    int64_t single_max[3] = {-1, -1, -1}, single_min[3] = {-1, -1, -1}, single_align[3] = {1, 1, 1};
    int64_t base_max[3] = {-1, -1, -1}, base_min[3] = {-1, -1, -1};
};

struct Cut {
    int64_t single[3] = {}, base[3] = {};  // M, N, K
    int dims[3] = {1, 1, 1};               // cores along each
    int64_t step_m = 1, step_n = 1, step_ka = 1, step_kb = 1, depth_a = 1, depth_b = 1;
    int db_l0a = 1, db_l0b = 1, db_l0c = 1;
    double cost = 0;
    int cores() const { return dims[0] * dims[1] * dims[2]; }
};

bool cut(const CutTask&, Cut&);  // false: nothing fits
// Multiples that a base must have: of a fractal's sides, for the operand types and transposes.
void base_units(const CutTask&, int64_t unit[3]);

}  // namespace twin
