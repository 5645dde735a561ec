// What the adapters of operators on rows share: the checks of their arguments, and tensors as rows.
#pragma once
#include <cmath>
#include <vector>
#include <ATen/core/Tensor.h>

namespace lab_rows {

using at::Tensor;

constexpr int64_t CORES = 48;      // vector cores of the chip
constexpr double NEXT_CORE = 50;   // cycles by which each further core begins later: [launch] of labkit/twin/chips/910B1.toml
constexpr double LANES_OF_V = 64;  // float in one repeat

// On c cores the last one begins c * NEXT_CORE cycles after the first, and each works for 1/c of what one would: the sum is least
// where both are equal. cycles: what 64 elements of the kernel cost a core.
// rows: where a core's tiles are rows that lie one below the other; then so many cores that each gets as many rows, or each row as
// many cores. Rows that are dealt out one by one need no such care: the cores that begin last get the fewer ones.
inline uint32_t blocks_for(int64_t elements, double cycles, int64_t rows = 0)
{
    double best = std::min<double>(CORES, std::max(1.0, std::sqrt(elements * cycles / LANES_OF_V / NEXT_CORE)));
    if (rows == 0) return best;
    if (best > rows) return rows * std::min<int64_t>(CORES / rows, std::llround(best / rows));
    int64_t each = std::max<int64_t>(std::llround(rows / best), (rows + CORES - 1) / CORES);
    return (rows + each - 1) / each;
}

// The checks that need no device: Meta makes them too, so that a program for fake tensors fails where the real one does.
inline void check_type(const char* op, const Tensor& t, const char* name)
{
    auto type = t.scalar_type();
    TORCH_CHECK(type == at::kHalf || type == at::kBFloat16 || type == at::kFloat, op, ": ", name, " is ", type, ", the kernel takes float16, bfloat16 and float32");
}
inline void check_pair(const char* op, const Tensor& t, const char* name, const Tensor& other, const char* other_name)
{
    TORCH_CHECK(other.scalar_type() == t.scalar_type(), op, ": ", name, " is ", t.scalar_type(), " but ", other_name, " is ", other.scalar_type(), "; convert one of them");
    TORCH_CHECK(other.device() == t.device(), op, ": ", name, " is on ", t.device(), " but ", other_name, " is on ", other.device());
}
inline void check_same(const char* op, const Tensor& t, const char* name, const Tensor& other, const char* other_name)
{
    check_pair(op, t, name, other, other_name);
    TORCH_CHECK(other.sym_sizes() == t.sym_sizes(), op, ": ", name, " has the shape ", t.sym_sizes(), " but ", other_name, " has ", other.sym_sizes(),
                "; the kernel does not broadcast");
}
inline void check_column(const char* op, const Tensor& t, const char* name, const Tensor& column, const char* column_name)  // one number for each column of t
{
    check_pair(op, t, name, column, column_name);
    TORCH_CHECK(t.dim() > 0 && column.dim() == 1 && column.sym_size(0) == t.sym_size(-1), op, ": ", column_name, " has the shape ", column.sym_sizes(),
                ", it must have one number for each column of ", name, ", which has ", t.sym_sizes());
}

// A tensor as rows: the elements of a row side by side, the rows at one distance. The halves of a packed projection are such rows.
struct Rows {
    int64_t count = 1, width = 1, stride = 1;

    Rows(const char* op, const Tensor& t, const char* name)
    {
        TORCH_CHECK(t.numel() <= UINT32_MAX, op, ": the kernel counts in 32 bits, ", name, " has ", t.numel(), " elements");
        if (t.dim() > 0) width = t.size(-1);
        TORCH_CHECK(width <= 1 || t.stride(-1) == 1, op, ": the elements of a row of ", name, " lie ", t.stride(-1),
                    " apart, the kernel copies rows in one piece; call ", name, ".contiguous() first");
        stride = width;
        for (int64_t d = t.dim() - 2; d >= 0; d--) {
            if (t.size(d) == 1) continue;
            if (count == 1) stride = t.stride(d);
            TORCH_CHECK(stride >= width && t.stride(d) == count * stride, op, ": the rows of ", name, " (strides ", t.strides(),
                        ") do not lie at one distance; call ", name, ".contiguous() first");
            count *= t.size(d);
        }
        TORCH_CHECK(stride <= UINT32_MAX / 4, op, ": the rows of ", name, " lie too far apart for one copy");
    }
    bool dense() const { return count == 1 || stride == width; }
};

inline uint8_t* bytes(const Tensor& t) { return static_cast<uint8_t*>(t.data_ptr()); }

}  // namespace lab_rows
