#pragma once
#include <cstdint>
namespace repo {
uint32_t Share(uint64_t total, uint32_t cores);  // elements of each core
}
