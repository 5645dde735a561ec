// The chip's constants as the launcher passes them: "key=value" lines, flattened from twin/chips/*.toml. No cost of
// the hardware stands in C++.
#pragma once
#include <map>
#include <string>

#include "twin/base/abi.h"

namespace twin {

// The routes between GM and a core's memories, each with its own constants: [dma.<route>] in the chip table.
enum class Route : uint8_t { ToUb, ToL1, ToL1Nz, FromUb, FromL0c, Count };

class Chip {
public:
    void set(const std::string& key, double value) { values_[key] = value; }
    void load(const char* file);  // reads all constants, then calls ready()
    void ready();                 // resolves the tables below; throws std::runtime_error naming a missing key
    double get(const char* key) const;

    double hz = 0;
    uint32_t cores = 0, cube_cores = 0;
    uint32_t size[int(Mem::Count)] = {};
    uint32_t reserved = 0;  // the last bytes of UB, which some instructions use themselves
    // A transfer: issue and latency in cycles, latency_hit where the L2 holds all of it; bytes/cycle in a burst, from
    // HBM and from the L2; cycles for each row that the L2 holds and for each that it does not; bytes in flight before
    // the pipe has to wait.
    struct Dma {
        double issue, latency, latency_hit, fast, slow, hit, row, row_missed, window;
    } dma[int(Route::Count)] = {};
    double hbm_rate = 0;  // bytes/cycle, all cores together
    struct L2 {
        double rate, write, give_back, split, split_row, same_window, same_cost, atomic;
        uint32_t sectors, piece, atomic_line;  // piece: bytes of GM that travel together
    } l2 = {};
    uint32_t queue = 32;             // capacity of a pipe's instruction queue
    bool startup_when_idle = false;  // only the first of back-to-back vector instructions pays the start-up
    // The cube's paths: max(floor, start + bytes/rate), in cycles and bytes/cycle.
    struct Path { double floor, start, rate; } to_l0a, to_l0b, to_bt, to_fb, l0c_to_l1;
    double mmad_floor = 0, mmad_start = 0, mmad_idle = 0;  // idle: added when the pipe was idle before
    double l1_shared = 1;                                  // factor for a load from L1 while MTE2 writes to L1
    // Elements along k of one fractal, one fractal a cycle.
    double cube_k_int4 = 0, cube_k_int8 = 0, cube_k_half = 0, cube_k_hf32 = 0, cube_k_float = 0;
    double vector_startup = 0, repeat_bytes = 256;
    float per_repeat[int(Op::Count)][int(Dt::Count)] = {};  // cycles a 256-byte repeat
    // cycles a repeat for each further block of a bank group; for a bank that is being written
    double conflict = 1, conflict_write = 0;
    double scalar_issue = 0, scalar_get = 0, scalar_set = 0, scalar_gm = 0, mask_set = 0;
    double scalar_start = 0, scalar_tque = 0;  // when a core starts; a call of a TQue
    struct Cube {  // of a Matmul object: cycles and bytes/cycle; scalar cycles a step along k
        double l0_start, l0a_rate, l0b_rate, scalar_norm, scalar_mdl;
    } cube = {};
    double sync_all = 0, cross_flag = 0;            // cycles
    double launch_head = 0, launch_mixed = 0;       // seconds
    double launch_second = 0, launch_per_core = 0;  // cycles until the second core starts, and each after it
    double launch_uneven = 0;                       // share by which the slowest of many cores is behind their mean
    double next_block = 0;                          // cycles between two blocks on one core
private:
    std::map<std::string, double> values_;
};

const char* name_of(Op);
const char* name_of(Pipe);
const char* name_of(Mem);
const char* name_of(Dt);
extern Chip chip;

}  // namespace twin
