#include "../op_kernel/add_times_key.h"
#include "register/op_def_registry.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    uint32_t type = uint32_t(context->GetInputDesc(0)->GetDataType());
    uint32_t times = uint32_t(*context->GetAttrs()->GetInt(0));
    context->SetBlockDim(1);
    ASCENDC_TPL_SEL_PARAM(context, type, times, 1);
    context->GetWorkspaceSizes(1)[0] = 0;
    return ge::GRAPH_SUCCESS;
}
static ge::graphStatus InferShape(gert::InferShapeContext* context) {
    *context->GetOutputShape(0) = *context->GetInputShape(0);
    return ge::GRAPH_SUCCESS;
}
static ge::graphStatus InferDataType(gert::InferDataTypeContext* context) {
    return context->SetOutputDataType(0, context->GetInputDataType(0));
}
}  // namespace optiling

namespace ops {
class AddTimes : public OpDef {
public:
    explicit AddTimes(const char* name) : OpDef(name) {
        this->Input("x")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->Output("z")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->Attr("times").AttrType(OPTIONAL).Int(1);
        this->SetInferShape(optiling::InferShape).SetInferDataType(optiling::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(AddTimes);
}  // namespace ops
