// The clock: when everything happened that the tapes of a launch say was done.
#pragma once
#include "launch/launch.h"

namespace twin {

// Fills in the times of a launch that has been played: cycles and busy times of each core, its events, and the seconds
// that the whole took. The same on every machine and with any number of host threads.
void tell_time(const Launch&, LaunchResult&);

}  // namespace twin
