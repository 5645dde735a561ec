// Finds reads of GM bytes that another core stores without any order between the two.
#pragma once
#include <vector>

#include "launch/launch.h"

namespace twin {

// Adds such reads to result.across. The stores are sorted by lo.
void find_unordered_reads(LaunchResult&, const std::vector<GmWrite>& stores);

}  // namespace twin
