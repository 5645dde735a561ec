// Host threads playing the cores of a launch. Each thread takes a block at a time and plays its cores as fibers; a core
// that waits for another lets the thread go on with the next one, or with the next block while the chip has cores left.
#pragma once
#include "launch/launch.h"

namespace twin {

// Plays every core; places: how many blocks the chip holds at a time.
void play(const Launch&, LaunchResult&, uint32_t places, int threads);

Numbers refused_place();  // where the allocation stood that failed last on this thread

}  // namespace twin
