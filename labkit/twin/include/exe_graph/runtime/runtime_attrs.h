// An operator's attributes, in the order in which its definition names them.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "exe_graph/runtime/tensor.h"

namespace gert {

class ContinuousVector {
public:
    size_t GetSize() const { return count_; }
    size_t GetCapacity() const { return count_; }
    const void* GetData() const { return bytes_.data(); }
    void* MutableData() { return bytes_.data(); }
    // the lab's side
    template <typename T> void add(T v) {
        const uint8_t* p = reinterpret_cast<const uint8_t*>(&v);
        bytes_.insert(bytes_.end(), p, p + sizeof v);
        count_++;
    }
private:
    size_t count_ = 0;
    std::vector<uint8_t> bytes_;
};
template <typename T> class TypedContinuousVector : public ContinuousVector {
public:
    const T* GetData() const { return static_cast<const T*>(ContinuousVector::GetData()); }
};

class RuntimeAttrs {
public:
    template <typename T> const T* GetAttrPointer(size_t i) const {
        return i < values_.size() ? static_cast<const T*>(values_[i].get()) : nullptr;
    }
    const int64_t* GetInt(size_t i) const { return GetAttrPointer<int64_t>(i); }
    const float* GetFloat(size_t i) const { return GetAttrPointer<float>(i); }
    const bool* GetBool(size_t i) const { return GetAttrPointer<bool>(i); }
    const char* GetStr(size_t i) const { return GetAttrPointer<char>(i); }
    const TypedContinuousVector<int64_t>* GetListInt(size_t i) const {
        return GetAttrPointer<TypedContinuousVector<int64_t>>(i);
    }
    const TypedContinuousVector<float>* GetListFloat(size_t i) const {
        return GetAttrPointer<TypedContinuousVector<float>>(i);
    }
    size_t GetAttrNum() const { return values_.size(); }
    std::vector<std::shared_ptr<void>> values_;  // a string is its characters
};

}  // namespace gert
