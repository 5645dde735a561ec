// What is left of GM's bandwidth for one core while all of them move data.
#include "machine.h"

namespace twin {

double from_gm(uint64_t bytes, bool bypass, double start) {
    bool both = std::max(core->free_at[int(Pipe::MTE3)], core->free_at[int(Pipe::FIX)]) > start;
    double all = bypass ? (both ? chip.read_bypass_busy : chip.read_bypass) : both ? chip.read_busy : chip.read;
    return double(bytes) * core->sharing / all;
}

double to_gm(uint64_t bytes, bool bypass, double start) {
    bool both = core->free_at[int(Pipe::MTE2)] > start;
    double all = both ? (bypass ? chip.write_bypass_busy : chip.write_busy) : chip.write;
    return double(bytes) * core->sharing / all;
}

}  // namespace twin
