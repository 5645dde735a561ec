// A launch's result as JSON, and the faults of a program's process.
#pragma once
#include <string>
#include <vector>

#include "launch/launch.h"

namespace twin {

std::string json_list(const std::vector<std::string>& items);
std::string json_number(double v);
std::string finding_json(const Finding& f);
// the inside of an object: times, counts, busy pipes, findings
std::string figures_json(const LaunchResult&, bool finished);
std::string launch_json(const Launch&, Here, double begun, const LaunchResult&);

void watch_faults();  // from now on a crash, exit() inside a kernel or SIGUSR2 (time is up) ends the program with a
                      // report
void spare_stack();   // gives this thread a separate stack for fault handling: its normal stack may be the one that
                      // overflowed

}  // namespace twin
