// What a process that runs a learner's code gives up, as far as this kernel offers it without root.
#pragma once

#include <string>
#include <vector>

namespace twin {

// For the calling thread and all that it starts, for good: files are made, changed and removed below `writes` alone,
// other files keep their owner, mode and times; no network; no signal and no reach into the process that started this
// one. Returns what does not work here, a line each.
std::vector<std::string> confine(const std::vector<std::string>& writes);

}  // namespace twin
