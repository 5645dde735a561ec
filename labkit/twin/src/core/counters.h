// What a core did, in numbers: for the tables of a profiler, and for models that know nothing but sums.
#pragma once
#include <cstdint>

#include "core/hazard.h"
#include "core/trace.h"

namespace twin {

struct Counters {
    // By the instructions.
    uint64_t vector16 = 0, vector32 = 0, vector_other = 0;    // elements of half and bfloat16, of float, of integers
    double bank_cycles = 0, vector_startup = 0;               // of V's cycles: waiting for UB's banks, and starting up
    uint64_t fractals16 = 0, fractals8 = 0, fractals32 = 0;   // of the cube: half and bfloat16, int8 and int4, float
    // By the clock.
    uint64_t instructions[kPipes] = {};
    uint64_t moves[int(Route::Count)] = {}, bytes[int(Route::Count)] = {};
    uint64_t read_hit = 0, read_miss = 0;                     // bytes read from GM that the L2 held, and that it did not
};

}  // namespace twin
