// Operators' host functions by name: what OP_ADD and IMPL_OP_OPTILING register.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "exe_graph/runtime/tiling_context.h"

namespace gert {

struct OpImpl {
    ge::graphStatus (*tiling)(TilingContext*) = nullptr;
    ge::graphStatus (*parse)(TilingParseContext*) = nullptr;
    ge::graphStatus (*infer_shape)(InferShapeContext*) = nullptr;
    ge::graphStatus (*infer_type)(InferDataTypeContext*) = nullptr;
    void* (*new_info)() = nullptr;
    std::set<int32_t> depends;  // inputs whose values the host code reads
};
inline std::map<std::string, OpImpl>& op_impls() {
    static std::map<std::string, OpImpl> all;
    return all;
}

enum class TilingPlacement { TILING_ON_HOST = 0, TILING_ON_AICPU = 1 };

class OpImplRegisterV2 {
public:
    explicit OpImplRegisterV2(const char* type) : impl_(op_impls()[type]) {}
    OpImplRegisterV2& InferShape(ge::graphStatus (*f)(InferShapeContext*)) { return impl_.infer_shape = f, *this; }
    OpImplRegisterV2& InferDataType(ge::graphStatus (*f)(InferDataTypeContext*)) { return impl_.infer_type = f, *this; }
    template <typename F> OpImplRegisterV2& InferShapeRange(F) { return *this; }
    OpImplRegisterV2& InferOutDataTypeSameWithFirstInput() { return *this; }
    OpImplRegisterV2& Tiling(ge::graphStatus (*f)(TilingContext*), size_t = 2048) { return impl_.tiling = f, *this; }
    template <typename T> OpImplRegisterV2& TilingParse(ge::graphStatus (*f)(TilingParseContext*)) {
        impl_.parse = f;
        impl_.new_info = []() -> void* { return new T(); };
        return *this;
    }
    OpImplRegisterV2& InputsDataDependency(std::initializer_list<int32_t> inputs) {
        return impl_.depends.insert(inputs), *this;
    }
    OpImplRegisterV2& TilingInputsDataDependency(std::initializer_list<int32_t> inputs) {
        return InputsDataDependency(inputs);
    }
    OpImplRegisterV2& TilingInputsDataDependency(std::initializer_list<int32_t> inputs,
                                                 std::initializer_list<TilingPlacement>) {
        return InputsDataDependency(inputs);
    }
    template <typename... A> OpImplRegisterV2& PrivateAttr(A...) { return *this; }
    template <typename F> OpImplRegisterV2& GenSimplifiedKey(F) { return *this; }
    template <typename F> OpImplRegisterV2& OpExecuteFunc(F) { return *this; }
private:
    OpImpl& impl_;
};

}  // namespace gert

#define IMPL_OP(op_type) \
    [[maybe_unused]] static ::gert::OpImplRegisterV2 twin_impl_##op_type = ::gert::OpImplRegisterV2(#op_type)
#define IMPL_OP_INFERSHAPE(op_type) \
    [[maybe_unused]] static ::gert::OpImplRegisterV2 twin_infer_##op_type = ::gert::OpImplRegisterV2(#op_type)
#define IMPL_OP_OPTILING(op_type) \
    [[maybe_unused]] static ::gert::OpImplRegisterV2 twin_tiling_##op_type = ::gert::OpImplRegisterV2(#op_type)
