// The chip's constants, as the launcher hands them over: "key=value" lines flattened from twin/chips/*.toml. No number
// of the hardware stands in C++.
#pragma once
#include <string>
#include <unordered_map>

#include "twin/abi.h"

namespace twin {

class Chip {
public:
    void set(const std::string& key, double value) { values_[key] = value; }
    void ready();  // resolves the tables below; throws std::runtime_error naming a missing key
    double get(const char* key) const;

    double hz = 0;
    uint32_t cores = 0, cube_cores = 0;
    uint32_t size[int(Mem::Count)] = {};
    uint32_t reserved = 0;                                  // the last bytes of UB, which some instructions use themselves
    struct Dma { double latency, fast, slow; } in, out;     // cycles, bytes/cycle, bytes/cycle
    // Shared by all cores, bytes/cycle: alone, and while the other direction moves data; cached and past the L2.
    double read = 0, read_busy = 0, read_bypass = 0, read_bypass_busy = 0, write = 0, write_busy = 0, write_bypass_busy = 0;
    // The cube's paths: max(floor, start + bytes/rate), in cycles and bytes/cycle.
    struct Path { double floor, start, rate; } to_l1, to_l1_nz, to_l0a, to_l0b, to_bt, to_fb, l0c_to_gm, l0c_to_l1;
    double mmad_floor = 0, mmad_start = 0;                  // cycles; then one a fractal of 16 x 16 x k:
    double cube_k_int4 = 0, cube_k_int8 = 0, cube_k_half = 0, cube_k_hf32 = 0, cube_k_float = 0;
    double vector_startup = 0, repeat_bytes = 256;
    float per_repeat[int(Op::Count)][int(Dt::Count)] = {};              // cycles a 256-byte repeat
    double conflict = 1;                                    // added per repeat when both sources share a bank group
    double scalar_issue = 0, scalar_access = 0, scalar_gm = 0;
    struct Cube {  // of a Matmul object: cycles and bytes/cycle
        double load_latency, load_rate, load_shared, l0_start, l0a_rate, l0b_rate, mmad_start, store_latency, store_rate;
    } cube = {};
    double sync_all = 0, cross_flag = 0;                    // cycles
    double launch_head = 0, launch_per_core = 0;            // seconds
private:
    std::unordered_map<std::string, double> values_;
};

const char* name_of(Op);
const char* name_of(Pipe);
const char* name_of(Mem);
const char* name_of(Dt);
extern Chip chip;

}  // namespace twin
