// Special registers that kernels read by their bare names. Objects, not macros: a kernel may have variables of that
// name.
#pragma once
#include "twin/base/abi.h"

struct TwinBlockIdx {
    operator int64_t() const { return ::twin::core_idx(); }
};
struct TwinBlockNum {
    operator int64_t() const { return ::twin::block_num(); }
};
constexpr TwinBlockIdx block_idx;  // of the block, the same for all its cores
constexpr TwinBlockNum block_num;

// The same by the device compiler's own functions.
inline int64_t get_block_idx() { return ::twin::core_idx(); }
inline int64_t get_block_num() { return ::twin::block_num(); }
inline int64_t get_subblockid() { return ::twin::sub_block_idx(); }
inline int64_t get_subblockdim() { return ::twin::sub_block_num(); }
