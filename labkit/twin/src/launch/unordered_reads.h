// Reads in GM of what another core stores, with nothing that orders the two.
#pragma once
#include <vector>

#include "launch/launch.h"

namespace twin {

// Adds to result.across what cores read of others' stores (sorted by lo) without an order between the two.
void find_unordered_reads(LaunchResult&, const std::vector<GmWrite>& stores);

}  // namespace twin
