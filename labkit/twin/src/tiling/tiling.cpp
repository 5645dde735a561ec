// Tiling: the key of a launch, and the struct in GM.
#include "twin/tiling/tiling.h"

#include <atomic>
#include <cstring>

#include "core/machine.h"

namespace twin {

static std::atomic<uint64_t> g_key{0};

uint64_t tiling_key() { return g_key; }
void set_tiling_key(uint64_t key) { g_key = key; }

void read_struct(void* to, const void* from, uint32_t bytes, Here here) {
    Gm g;
    g.ptr = static_cast<uint8_t*>(const_cast<void*>(from));
    g.base = g.ptr;
    core->trace.spend(chip.scalar_gm * double((bytes + 7) / 8));
    if (core->gm_usable(g, bytes, false, here, true)) std::memcpy(to, from, bytes);
    else std::memset(to, 0, bytes);
}

}  // namespace twin
