// The inputs and outputs of a tiling function. The content comes from the lab (twin/op/tiling_main.cpp).
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "securec.h"

#include "exe_graph/runtime/runtime_attrs.h"
#include "exe_graph/runtime/tensor.h"
#include "tiling/platform/platform_ascendc.h"

#include "graph/plain_names.h"
namespace fe {
enum class LocalMemType { L0_A = 0, L0_B = 1, L0_C = 2, L1 = 3, L2 = 4, UB = 5, HBM = 6 };
class PlatFormInfos {
public:
    void GetLocalMemSize(LocalMemType type, uint64_t& size) const {
        static constexpr platform_ascendc::CoreMemType types[] = {
            platform_ascendc::CoreMemType::L0_A, platform_ascendc::CoreMemType::L0_B,
            platform_ascendc::CoreMemType::L0_C, platform_ascendc::CoreMemType::L1,
            platform_ascendc::CoreMemType::L2,   platform_ascendc::CoreMemType::UB,
            platform_ascendc::CoreMemType::HBM};
        platform_ascendc::PlatformAscendC(static_cast<const char*>(nullptr)).GetCoreMemSize(types[int(type)], size);
    }
    uint32_t GetCoreNumByType(const std::string& type) const {
        platform_ascendc::PlatformAscendC chip(static_cast<const char*>(nullptr));
        return type == "AiCore" ? chip.GetCoreNumAic() : chip.GetCoreNumAiv();
    }
    bool GetPlatformRes(const std::string&, const std::string&, std::string& value) const {
        return value.clear(), false;
    }
    uint32_t GetCoreNum() const {
        return platform_ascendc::PlatformAscendC(static_cast<const char*>(nullptr)).GetCoreNum();
    }
};
}  // namespace fe

namespace ge {
using std::map;
using std::string;
using std::vector;
}  // namespace ge

namespace AscendC {}  // namespace AscendC

namespace gert {

class TilingData {
public:
    explicit TilingData(size_t capacity = 16384) : data_(capacity) {}
    size_t GetCapacity() const { return data_.size(); }
    size_t GetDataSize() const { return used_; }
    void SetDataSize(size_t n) { used_ = n; }
    void* GetData() { return data_.data(); }
    const void* GetData() const { return data_.data(); }
    template <typename T> ge::graphStatus Append(const T& v) {
        if (used_ + sizeof v > data_.size()) return ge::GRAPH_FAILED;
        std::memcpy(data_.data() + used_, &v, sizeof v);
        used_ += sizeof v;
        return ge::GRAPH_SUCCESS;
    }
private:
    std::vector<uint8_t> data_;
    size_t used_ = 0;
};

// Inputs as the operator's definition lists them: input `ir` is one tensor, none (optional), or several (dynamic).
class NodeContext {
public:
    const char* GetNodeName() const { return name_.c_str(); }
    const char* GetNodeType() const { return type_.c_str(); }
    const RuntimeAttrs* GetAttrs() const { return &attrs_; }
    size_t GetComputeNodeInputNum() const { return flat_.size(); }
    size_t GetComputeNodeOutputNum() const { return outputs_.size(); }
    const CompileTimeTensorDesc* GetInputDesc(size_t i) const { return i < flat_.size() ? &flat_[i]->desc_ : nullptr; }
    const CompileTimeTensorDesc* GetOptionalInputDesc(size_t ir) const { return GetDynamicInputDesc(ir, 0); }
    const CompileTimeTensorDesc* GetRequiredInputDesc(size_t ir) const { return GetDynamicInputDesc(ir, 0); }
    const CompileTimeTensorDesc* GetDynamicInputDesc(size_t ir, size_t n) const {
        const Tensor* t = at(ir, n);
        return t ? &t->desc_ : nullptr;
    }
    const NodeContext* GetComputeNodeInfo() const { return this; }
    size_t GetIrInputsNum() const { return inputs_.size(); }
    size_t GetInputsNum() const { return flat_.size(); }
    size_t GetOutputsNum() const { return outputs_.size(); }
    struct Instances {
        size_t start, count;
        size_t GetInstanceNum() const { return count; }
        size_t GetInstanceStart() const { return start; }
    };
    const Instances* GetIrInputInstanceInfo(size_t ir) const { return GetInputInstanceInfo(ir); }
    const Instances* GetInputInstanceInfo(size_t ir) const {  // how many tensors an input of the definition has
        if (ir >= inputs_.size()) return nullptr;
        instances_.resize(inputs_.size());
        size_t start = 0;
        for (size_t i = 0; i < ir; i++) start += inputs_[i].size();
        instances_[ir] = {start, inputs_[ir].size()};
        return &instances_[ir];
    }
    const CompileTimeTensorDesc* GetOutputDesc(size_t i) const {
        return i < outputs_.size() ? &outputs_[i].desc_ : nullptr;
    }
    // the lab's side
    const Tensor* at(size_t ir, size_t n) const {
        return ir < inputs_.size() && n < inputs_[ir].size() ? &inputs_[ir][n] : nullptr;
    }
    void settle() {
        flat_.clear();
        for (auto& group : inputs_)
            for (auto& t : group) flat_.push_back(&t);
    }
    std::string name_, type_;
    RuntimeAttrs attrs_;
    std::vector<std::vector<Tensor>> inputs_;
    std::vector<Tensor*> flat_;
    std::vector<Tensor> outputs_;
    mutable std::vector<Instances> instances_;
};

class TilingContext : public NodeContext {
public:
    const StorageShape* GetInputShape(size_t i) const { return i < flat_.size() ? &flat_[i]->shape_ : nullptr; }
    const StorageShape* GetOptionalInputShape(size_t ir) const { return GetDynamicInputShape(ir, 0); }
    const StorageShape* GetRequiredInputShape(size_t ir) const { return GetDynamicInputShape(ir, 0); }
    const StorageShape* GetDynamicInputShape(size_t ir, size_t n) const {
        return at(ir, n) ? &at(ir, n)->shape_ : nullptr;
    }
    const Tensor* GetInputTensor(size_t i) const { return i < flat_.size() ? flat_[i] : nullptr; }
    const Tensor* GetOptionalInputTensor(size_t ir) const { return at(ir, 0); }
    const Tensor* GetRequiredInputTensor(size_t ir) const { return at(ir, 0); }
    const Tensor* GetDynamicInputTensor(size_t ir, size_t n) const { return at(ir, n); }
    const StorageShape* GetOutputShape(size_t i) const { return i < outputs_.size() ? &outputs_[i].shape_ : nullptr; }
    ge::graphStatus SetTilingKey(uint64_t key) { return key_ = key, ge::GRAPH_SUCCESS; }
    uint64_t GetTilingKey() const { return key_; }
    ge::graphStatus SetBlockDim(uint32_t n) { return blocks_ = n, ge::GRAPH_SUCCESS; }
    uint32_t GetBlockDim() const { return blocks_; }
    ge::graphStatus SetScheduleMode(uint32_t mode) { return mode_ = mode, ge::GRAPH_SUCCESS; }
    uint32_t GetScheduleMode() const { return mode_; }
    ge::graphStatus SetTilingCond(int32_t) { return ge::GRAPH_SUCCESS; }
    ge::graphStatus SetNeedAtomic(bool atomic) { return atomic_ = atomic, ge::GRAPH_SUCCESS; }
    bool NeedAtomic() const { return atomic_; }
    ge::graphStatus SetLocalMemorySize(uint32_t) { return ge::GRAPH_SUCCESS; }
    template <typename T> T* GetTilingData() {
        if (tiling_.GetCapacity() < sizeof(T)) return nullptr;
        tiling_.SetDataSize(sizeof(T));
        return static_cast<T*>(tiling_.GetData());
    }
    TilingData* GetRawTilingData() { return &tiling_; }
    size_t* GetWorkspaceSizes(size_t count) {
        workspaces_.resize(count);
        return workspaces_.data();
    }
    size_t GetWorkspaceNum() const { return workspaces_.size(); }
    fe::PlatFormInfos* GetPlatformInfo() const { return &platform_; }
    const void* GetCompileInfo() const { return compile_info_; }
    template <typename T> const T* GetCompileInfo() const { return static_cast<const T*>(compile_info_); }
    int32_t GetDeterministic() const { return 0; }
    int32_t GetDeterministicLevel() const { return 0; }
    bool InputIsView(size_t) const { return false; }  // the lab hands over contiguous tensors
    const Stride* GetInputStride(size_t) const { return nullptr; }
    const Stride* GetDynamicInputStride(size_t, size_t) const { return nullptr; }
    ge::graphStatus SetAicpuBlockDim(uint32_t) { return ge::GRAPH_SUCCESS; }
    // the lab's side
    TilingData tiling_;
    std::vector<size_t> workspaces_;
    uint64_t key_ = 0;
    uint32_t blocks_ = 1, mode_ = 0;
    bool atomic_ = false;
    void* compile_info_ = nullptr;
    mutable fe::PlatFormInfos platform_;
};

class TilingParseContext {
public:
    const char* GetNodeType() const { return type_.c_str(); }
    const char* GetNodeName() const { return type_.c_str(); }
    const char* GetCompiledJson() const { return "{}"; }
    template <typename T> T* GetCompiledInfo() { return static_cast<T*>(compile_info_); }
    fe::PlatFormInfos* GetPlatformInfo() const { return &platform_; }
    std::string type_;
    void* compile_info_ = nullptr;
    mutable fe::PlatFormInfos platform_;
};

class InferShapeContext : public NodeContext {
public:
    const Shape* GetInputShape(size_t i) const {
        return i < flat_.size() ? &flat_[i]->shape_.GetOriginShape() : nullptr;
    }
    const Shape* GetOptionalInputShape(size_t ir) const { return GetDynamicInputShape(ir, 0); }
    const Shape* GetRequiredInputShape(size_t ir) const { return GetDynamicInputShape(ir, 0); }
    const Shape* GetDynamicInputShape(size_t ir, size_t n) const {
        return at(ir, n) ? &at(ir, n)->shape_.GetOriginShape() : nullptr;
    }
    const Tensor* GetInputTensor(size_t i) const { return i < flat_.size() ? flat_[i] : nullptr; }
    const Tensor* GetOptionalInputTensor(size_t ir) const { return at(ir, 0); }
    Shape* GetOutputShape(size_t i) { return i < outputs_.size() ? &outputs_[i].shape_.MutableOriginShape() : nullptr; }
};

class InferDataTypeContext : public NodeContext {
public:
    ge::DataType GetInputDataType(size_t i) const {
        return i < flat_.size() ? flat_[i]->GetDataType() : ge::DT_UNDEFINED;
    }
    ge::DataType GetOptionalInputDataType(size_t ir) const {
        return at(ir, 0) ? at(ir, 0)->GetDataType() : ge::DT_UNDEFINED;
    }
    ge::DataType GetRequiredInputDataType(size_t ir) const { return GetOptionalInputDataType(ir); }
    ge::DataType GetDynamicInputDataType(size_t ir, size_t n) const {
        return at(ir, n) ? at(ir, n)->GetDataType() : ge::DT_UNDEFINED;
    }
    ge::DataType GetOutputDataType(size_t i) const {
        return i < outputs_.size() ? outputs_[i].GetDataType() : ge::DT_UNDEFINED;
    }
    ge::graphStatus SetOutputDataType(size_t i, ge::DataType t) {
        if (i >= outputs_.size()) return ge::GRAPH_FAILED;
        outputs_[i].desc_.SetDataType(t);
        return ge::GRAPH_SUCCESS;
    }
};

class InferShapeRangeContext;

}  // namespace gert
#include "graph/plain_names.h"
