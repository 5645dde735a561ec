// What the host works out once and the kernel reads.
#pragma once
#include <cstdint>

struct AddScaledTiling {
    uint32_t total;  // elements of x
    uint32_t share;  // elements of a block, a multiple of 32 bytes; the last block has what is left
    uint32_t tile;   // elements of a tile
    float alpha;
};
