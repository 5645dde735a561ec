// A list of tensors in GM: shapes, then pointers.
#pragma once
#include "twin/core/tensor.h"

namespace AscendC {

template <class T> class TensorDesc {
public:
    void SetShapeAddr(uint64_t* shapePtr) { shape_ = shapePtr; }
    uint64_t* GetShapeAddr() { return shape_; }
    uint64_t GetDim() { return dim_; }
    uint64_t GetIndex() { return index_; }
    uint64_t GetShape(uint32_t offset) { return shape_[offset]; }
    __gm__ T* GetDataPtr() { return data_; }
    GlobalTensor<T> GetDataObj() {
        uint64_t size = sizeof(T);  // the library's own measure of the tensor
        for (uint64_t i = 0; i < dim_; i++) size *= shape_[i];
        GlobalTensor<T> r;
        r.SetGlobalBuffer(data_, size);
        return r;
    }
private:
    friend class ListTensorDesc;
    uint64_t dim_ = 0, index_ = 0;
    uint64_t* shape_ = nullptr;
    __gm__ T* data_ = nullptr;
};

// data: the distance to the pointers in bytes; for each tensor its number of dimensions (upper half of the word: how
// many follow) and its shape; the pointers. A list without shapes has one pair (0, 0xffffffff) in their place.
class ListTensorDesc {
public:
    ListTensorDesc() = default;
    ListTensorDesc(__gm__ void* data, uint32_t length = 0xffffffff, uint32_t shapeSize = 0xffffffff) {
        Init(data, length, shapeSize);
    }
    void Init(__gm__ void* data, uint32_t = 0xffffffff, uint32_t = 0xffffffff) {
        auto words = (__gm__ uint64_t*)data;
        shapes_ = words + 1;
        data_ = words + words[0] / 8;
        dim_ = uint32_t(shapes_[0]);
        words_ = dim_ ? 1 + dim_ : 2;
        uint32_t count = uint32_t(shapes_[0] >> 32);
        count_ = count ? count : uint32_t(*(data_ - words_) >> 32) + 1;
    }
    template <class T> void GetDesc(TensorDesc<T>& desc, uint32_t index) {
        desc.dim_ = dim_;
        desc.index_ = index;
        desc.data_ = GetDataPtr<T>(index);
        for (uint32_t i = 0; i < dim_; i++) desc.shape_[i] = shapes_[index * words_ + 1 + i];
    }
    template <class T> __gm__ T* GetDataPtr(uint32_t index) { return (__gm__ T*)data_[index]; }
    uint32_t GetSize() { return count_; }
private:
    __gm__ uint64_t *shapes_ = nullptr, *data_ = nullptr;
    uint32_t dim_ = 0, words_ = 0, count_ = 0;
};

}  // namespace AscendC
