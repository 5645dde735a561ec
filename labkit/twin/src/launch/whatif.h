// What a launch would take if one thing about it were different: its traces are changed and replayed.
#pragma once
#include "launch/launch.h"

namespace twin {

// Answers l.what_ifs. The result's traces must still be there.
std::vector<WhatIf> what_if(const Launch& l, const LaunchResult& r);

}  // namespace twin
