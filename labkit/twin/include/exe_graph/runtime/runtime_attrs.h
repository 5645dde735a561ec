// An operator's attributes, in the order in which its definition names them.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "exe_graph/runtime/tensor.h"

namespace gert {

template <typename T> class TypedContinuousVector {
public:
    size_t GetSize() const { return items_.size(); }
    const T* GetData() const { return items_.data(); }
    std::vector<T> items_;
};

class RuntimeAttrs {
public:
    template <typename T> const T* GetAttrPointer(size_t i) const { return i < values_.size() ? static_cast<const T*>(values_[i].get()) : nullptr; }
    const int64_t* GetInt(size_t i) const { return GetAttrPointer<int64_t>(i); }
    const float* GetFloat(size_t i) const { return GetAttrPointer<float>(i); }
    const bool* GetBool(size_t i) const { return GetAttrPointer<bool>(i); }
    const char* GetStr(size_t i) const { return GetAttrPointer<char>(i); }
    const TypedContinuousVector<int64_t>* GetListInt(size_t i) const { return GetAttrPointer<TypedContinuousVector<int64_t>>(i); }
    const TypedContinuousVector<float>* GetListFloat(size_t i) const { return GetAttrPointer<TypedContinuousVector<float>>(i); }
    size_t GetAttrNum() const { return values_.size(); }
    std::vector<std::shared_ptr<void>> values_;  // a string is its characters
};

}  // namespace gert
