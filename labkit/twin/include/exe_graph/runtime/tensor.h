// A tensor as a tiling function sees it: what is known before the launch; values only of inputs it declares to depend
// on.
#pragma once
#include <vector>

#include "exe_graph/runtime/shape.h"
#include "graph/utils/type_utils.h"

#include "graph/plain_names.h"
namespace gert {

class StorageFormat {
public:
    ge::Format GetOriginFormat() const { return origin_; }
    ge::Format GetStorageFormat() const { return storage_; }
    void SetOriginFormat(ge::Format f) { origin_ = f; }
    void SetStorageFormat(ge::Format f) { storage_ = f; }
private:
    ge::Format origin_ = ge::FORMAT_ND, storage_ = ge::FORMAT_ND;
};

class CompileTimeTensorDesc {
public:
    ge::DataType GetDataType() const { return type_; }
    const StorageFormat& GetFormat() const { return format_; }
    ge::Format GetOriginFormat() const { return format_.GetOriginFormat(); }
    ge::Format GetStorageFormat() const { return format_.GetStorageFormat(); }
    void SetDataType(ge::DataType t) { type_ = t; }
    void SetStorageFormat(ge::Format f) { format_.SetStorageFormat(f); }
    void SetOriginFormat(ge::Format f) { format_.SetOriginFormat(f); }
private:
    ge::DataType type_ = ge::DT_UNDEFINED;
    StorageFormat format_;
};

class Tensor {
public:
    template <typename T> const T* GetData() const { return static_cast<const T*>(GetAddr()); }
    template <typename T> T* GetData() { return data_.empty() ? nullptr : reinterpret_cast<T*>(data_.data()); }
    const void* GetAddr() const { return data_.empty() ? nullptr : data_.data(); }
    size_t GetSize() const { return size_t(GetShapeSize()) * size_t(ge::GetSizeByDataType(GetDataType())); }
    int64_t GetShapeSize() const { return shape_.GetStorageShape().GetShapeSize(); }
    ge::DataType GetDataType() const { return desc_.GetDataType(); }
    const Shape& GetStorageShape() const { return shape_.GetStorageShape(); }
    const Shape& GetOriginShape() const { return shape_.GetOriginShape(); }
    const StorageShape& GetShape() const { return shape_; }
    ge::Format GetStorageFormat() const { return desc_.GetStorageFormat(); }
    ge::Format GetOriginFormat() const { return desc_.GetOriginFormat(); }
    const StorageFormat& GetFormat() const { return desc_.GetFormat(); }
    // the lab's side
    StorageShape shape_;
    CompileTimeTensorDesc desc_;
    std::vector<uint8_t> data_;
    bool present_ = true;
};

}  // namespace gert
#include "graph/plain_names.h"
