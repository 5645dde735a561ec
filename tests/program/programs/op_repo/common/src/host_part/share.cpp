#include "host_part/share.h"
namespace repo {
uint32_t Share(uint64_t total, uint32_t cores) { return uint32_t((total + cores - 1) / cores); }
}  // namespace repo
