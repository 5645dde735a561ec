// OP_ADD(Operator): an operator's definition becomes known.
#pragma once
#include "register/op_def.h"
#include "register/op_impl_registry.h"
#include "register/tilingdata_base.h"

namespace ops {
inline std::vector<OpDef>& op_defs() {
    static std::vector<OpDef> all;
    return all;
}
inline int add_op(OpDef op) {
    gert::OpImpl& impl = gert::op_impls()[op.type_];
    if (op.aicore_.tiling_) impl.tiling = op.aicore_.tiling_;
    if (op.infer_shape_) impl.infer_shape = op.infer_shape_;
    if (op.infer_type_) impl.infer_type = op.infer_type_;
    op_defs().push_back(std::move(op));
    return 0;
}
}  // namespace ops

#define OP_ADD(opType, ...) [[maybe_unused]] static int twin_op_##opType = ::ops::add_op(opType(#opType))
