// The operator AddScaled: what it takes, the shape that it gives, and how its work is cut.
#include "../op_kernel/add_scaled_tiling.h"
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context)
{
    const gert::Shape& shape = context->GetInputShape(0)->GetStorageShape();
    if (shape.GetShapeSize() <= 0 || shape != context->GetInputShape(1)->GetStorageShape()) {
        return ge::GRAPH_FAILED;
    }
    const uint32_t total = shape.GetShapeSize();
    const uint32_t bytes = ge::GetSizeByDataType(context->GetInputDesc(0)->GetDataType());
    const uint32_t cores = platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetCoreNumAiv();

    const uint32_t unit = 32 / bytes;  // elements of 32 bytes
    const uint32_t units = (total + unit - 1) / unit;
    const uint32_t share = (units + cores - 1) / cores * unit;
    AddScaledTiling* tiling = context->GetTilingData<AddScaledTiling>();
    tiling->total = total;
    tiling->share = share;
    tiling->tile = 16384 / bytes;  // six buffers of 16 KB
    tiling->alpha = *context->GetAttrs()->GetFloat(0);
    context->SetBlockDim((total + share - 1) / share);  // no block without work
    context->GetWorkspaceSizes(1)[0] = 0;
    return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context)
{
    *context->GetOutputShape(0) = *context->GetInputShape(0);
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context)
{
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class AddScaled : public OpDef {
public:
    explicit AddScaled(const char* name) : OpDef(name)
    {
        for (const char* input : {"x", "y"}) {
            this->Input(input)
                .ParamType(REQUIRED)
                .DataType({ge::DT_FLOAT16, ge::DT_FLOAT})
                .Format({ge::FORMAT_ND, ge::FORMAT_ND});
        }
        this->Output("z")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->Attr("alpha").AttrType(OPTIONAL).Float(1.0);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc).AddConfig("ascend910b");
    }
};
OP_ADD(AddScaled);
}  // namespace ops
