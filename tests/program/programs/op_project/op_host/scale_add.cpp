#include "register/op_def_registry.h"
#include "scale_add_tiling.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
    ScaleAddTilingData tiling;
    uint32_t total = context->GetInputTensor(0)->GetShapeSize();
    uint32_t size = ge::GetSizeByDataType(context->GetInputDesc(0)->GetDataType());
    if (total == 0 || context->GetInputShape(1)->GetStorageShape() != context->GetInputShape(0)->GetStorageShape())
        return ge::GRAPH_FAILED;
    uint32_t per_block = 32 / size, units = (total + per_block - 1) / per_block;
    uint32_t blocks = units < platform.GetCoreNumAiv() ? units : platform.GetCoreNumAiv();
    context->SetBlockDim(blocks);
    context->SetTilingKey(context->GetOptionalInputTensor(2) ? 2 : 1);
    uint32_t marks[3] = {11, 22, uint32_t(context->GetAttrs()->GetListInt(1)->GetSize())};
    tiling.set_first(7);
    tiling.set_share((units + blocks - 1) / blocks * per_block);
    tiling.part.set_rows(3);
    tiling.part.set_marks(marks);
    tiling.set_alpha(*context->GetAttrs()->GetFloat(0));
    tiling.set_total(total);
    tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
    context->GetWorkspaceSizes(1)[0] = 1024;
    return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    *context->GetOutputShape(0) = *context->GetInputShape(0);
    return GRAPH_SUCCESS;
}
static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    return context->SetOutputDataType(0, context->GetInputDataType(0));
}
}  // namespace ge

namespace ops {
class ScaleAdd : public OpDef {
public:
    explicit ScaleAdd(const char* name) : OpDef(name) {
        this->Input("x")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->Input("y")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->Input("bias")
            .ParamType(OPTIONAL)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->Output("z")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->Attr("alpha").AttrType(OPTIONAL).Float(0.1);
        this->Attr("dims").AttrType(OPTIONAL).ListInt({1, 2});
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(ScaleAdd);
}  // namespace ops
