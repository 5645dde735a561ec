// The clock: computes from the traces of a launch when everything happened.
#pragma once
#include "launch/launch.h"

namespace twin {

// Fills in the times of a launch that has run: cycles and busy times of each core, its events, and the seconds
// that the whole took. The same on every machine and with any number of host threads.
void schedule_trace(const Launch&, LaunchResult&);

}  // namespace twin
