// optiling::TCubeTiling and the other tiling structs as host classes; the fields are those of kernel_tiling.h.
#pragma once
#include "register/tilingdata_base.h"
#include "twin/base/tiling_structs.h"

namespace optiling {
#define TWIN_HOST_TILING(name)  \
    BEGIN_TILING_DATA_DEF(name) \
    TWIN_FIELDS_##name(TILING_DATA_FIELD_DEF) END_TILING_DATA_DEF
TWIN_TILINGS(TWIN_HOST_TILING)
#undef TWIN_HOST_TILING
}  // namespace optiling
