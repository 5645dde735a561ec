// TCubeTiling and the other tiling structs as a kernel sees them: plain data.
#pragma once
#include <stdint.h>

#include "twin/base/tiling_structs.h"

namespace AscendC::tiling {
#define TWIN_FIELD(type, name) type name = 0;
#define TWIN_STRUCT(name) \
    struct name { TWIN_FIELDS_##name(TWIN_FIELD) };
TWIN_TILINGS(TWIN_STRUCT)
#undef TWIN_STRUCT
#undef TWIN_FIELD
}  // namespace AscendC::tiling

#define TWIN_EXPORT(name) using AscendC::tiling::name;
TWIN_TILINGS(TWIN_EXPORT)
#undef TWIN_EXPORT
