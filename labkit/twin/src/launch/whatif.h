// The time that a launch would take if one thing were different: its traces are changed and replayed.
#pragma once
#include "launch/launch.h"

namespace twin {

// Computes l.what_ifs. The traces of the result must still be there.
std::vector<WhatIf> what_if(const Launch& l, const LaunchResult& r);

}  // namespace twin
