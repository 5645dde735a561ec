// Host threads that run the cores of a launch. Each thread takes a block at a time and runs its cores as fibers. When a
// core has to wait, the thread continues with the next core, or with the next block as long as the chip has free cores.
#pragma once
#include "launch/launch.h"

namespace twin {

// Runs every core. places: how many blocks the chip holds at a time.
void run_cores(const Launch&, LaunchResult&, uint32_t places, int threads);

Numbers refused_place();  // where the last failed allocation of this thread was made

}  // namespace twin
