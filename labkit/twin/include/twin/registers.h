// Special registers that kernels read by their bare names. Objects, not macros: a kernel may have variables of that name.
#pragma once
#include "twin/abi.h"

struct TwinBlockIdx {
    operator int64_t() const { return ::twin::core_idx(); }
};
struct TwinBlockNum {
    operator int64_t() const { return ::twin::block_num(); }
};
constexpr TwinBlockIdx block_idx;  // of the block, whatever core of it this is
constexpr TwinBlockNum block_num;
