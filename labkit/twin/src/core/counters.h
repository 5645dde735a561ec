// A core's activity in numbers: for the profiler's tables, and for models that use nothing but totals.
#pragma once
#include <cstdint>

#include "core/hazard.h"
#include "core/trace.h"

namespace twin {

struct Counters {
    // Counted while the instructions run.
    uint64_t vector16 = 0, vector32 = 0, vector_other = 0;   // elements of half and bfloat16, of float, of integers
    double bank_cycles = 0, vector_startup = 0;              // cycles of pipe V: waiting for UB's banks; start-up
    uint64_t fractals16 = 0, fractals8 = 0, fractals32 = 0;  // of the cube: half and bfloat16, int8 and int4, float
    // Filled in by the replay.
    uint64_t instructions[kPipes] = {};
    uint64_t moves[int(Route::Count)] = {}, bytes[int(Route::Count)] = {};
    double unit_wait = 0;                  // cycles of FIXPIPE's busy time in which it waited for unit flags
    uint64_t read_hit = 0, read_miss = 0;  // bytes read from GM that the L2 held, and that it did not
};

}  // namespace twin
