#include "list_tiling.h"
#include "host_part/share.h"
#include "log/log.h"
namespace optiling {
struct ListCompileInfo {};
static ge::graphStatus Tile(gert::TilingContext* context) {
    ListTilingData data;
    uint32_t count = uint32_t(context->GetIrInputInstanceInfo(0)->GetInstanceNum()), sizes[8] = {};
    for (uint32_t i = 0; i < count; i++)
        sizes[i] = repo::Share(context->GetDynamicInputShape(0, i)->GetStorageShape().GetShapeSize(), 2);
    OP_CHECK_IF(count > 8, OP_LOGE_FOR_INVALID_TENSORNUM(context, "x", count), return ge::GRAPH_FAILED);
    auto moments = context->GetAttrs()->GetAttrPointer<gert::ContinuousVector>(0);
    OP_CHECK_IF(moments->GetSize() != 2 || static_cast<const int64_t*>(moments->GetData())[1] != 7,
                OP_LOGE(context, "marks"), return ge::GRAPH_PARAM_INVALID);
    data.set_count(count);
    data.set_sizes(sizes);
    data.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(data.GetDataSize());
    context->SetBlockDim(2);
    return ge::GRAPH_SUCCESS;
}
static ge::graphStatus Parse(gert::TilingParseContext*) { return ge::GRAPH_SUCCESS; }
IMPL_OP_OPTILING(ListScale).Tiling(Tile).TilingParse<ListCompileInfo>(Parse);
}  // namespace optiling
