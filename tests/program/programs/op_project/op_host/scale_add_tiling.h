#pragma once
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(ScaleAddPart)
TILING_DATA_FIELD_DEF(uint16_t, rows);
TILING_DATA_FIELD_DEF_ARR(uint32_t, 3, marks);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(ScaleAddPartOp, ScaleAddPart)

BEGIN_TILING_DATA_DEF(ScaleAddTilingData)
TILING_DATA_FIELD_DEF(uint8_t, first);
TILING_DATA_FIELD_DEF(uint32_t, share);  // elements of a block
TILING_DATA_FIELD_DEF_STRUCT(ScaleAddPart, part);
TILING_DATA_FIELD_DEF(float, alpha);
TILING_DATA_FIELD_DEF(uint32_t, total);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(ScaleAdd, ScaleAddTilingData)
}  // namespace optiling
