// The frame of a tiling in steps, as ops-math's operators derive from it.
#pragma once
#include "log/log.h"
#include "util/math_util.h"
#include "util/shape_util.h"

namespace Ops::Base {

struct AiCoreParams {
    uint64_t ubSize = 0, blockDim = 0, aicNum = 0, l1Size = 0, l0aSize = 0, l0bSize = 0, l0cSize = 0;
};

struct CompileInfoCommon {  // what a parse function leaves for the tiling function
    uint32_t aivNum = 0, aicNum = 0;
    uint64_t ubSize = 0, l1Size = 0, l0aSize = 0, l0bSize = 0, l0cSize = 0, l2CacheSize = 0;
    int64_t coreNum = 0;
    int32_t socVersion = 0;
    uint32_t rsvd = 0;
};

class TilingBaseClass {
public:
    explicit TilingBaseClass(gert::TilingContext* context) : context_(context) {}
    virtual ~TilingBaseClass() = default;
    // GRAPH_PARAM_INVALID: another class must try.
    ge::graphStatus DoTiling() {
        ge::graphStatus status = GetShapeAttrsInfo();
        if (status == ge::GRAPH_SUCCESS) status = GetPlatformInfo();
        if (status != ge::GRAPH_SUCCESS) return status;
        if (!IsCapable()) return ge::GRAPH_PARAM_INVALID;
        status = DoOpTiling();
        if (status == ge::GRAPH_SUCCESS) status = DoLibApiTiling();
        if (status == ge::GRAPH_SUCCESS) status = GetWorkspaceSize();
        if (status == ge::GRAPH_SUCCESS) status = PostTiling();
        if (status == ge::GRAPH_SUCCESS) context_->SetTilingKey(GetTilingKey());
        return status;
    }
    virtual void Reset(gert::TilingContext* context) { context_ = context; }

protected:
    virtual bool IsCapable() = 0;
    virtual ge::graphStatus GetPlatformInfo() = 0;
    virtual ge::graphStatus GetShapeAttrsInfo() = 0;
    virtual ge::graphStatus DoOpTiling() = 0;
    virtual ge::graphStatus DoLibApiTiling() = 0;
    virtual uint64_t GetTilingKey() const = 0;
    virtual ge::graphStatus GetWorkspaceSize() = 0;
    virtual ge::graphStatus PostTiling() = 0;
    virtual void DumpTilingInfo() {}

    gert::TilingContext* context_ = nullptr;
    std::unique_ptr<platform_ascendc::PlatformAscendC> ascendcPlatform_;
    uint32_t blockDim_ = 0;
    uint64_t workspaceSize_ = 0, tilingKey_ = 0;
    AiCoreParams aicoreParams_;
};

}  // namespace Ops::Base
