// Shapes as a tiling function sees them: up to 25 dimensions, the shape as written and the shape as stored.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <initializer_list>

namespace gert {

struct Shape {
    static constexpr size_t kMaxDimNum = 25;
    static constexpr int64_t kInvalidDimValue = INT64_MIN;
    Shape() = default;
    Shape(std::initializer_list<int64_t> dims) {
        for (int64_t d : dims) AppendDim(d);
    }
    bool operator==(const Shape& o) const {
        if (count_ != o.count_) return false;
        for (size_t i = 0; i < count_; i++)
            if (dims_[i] != o.dims_[i]) return false;
        return true;
    }
    bool operator!=(const Shape& o) const { return !(*this == o); }
    int64_t GetShapeSize() const {  // 1 without dimensions
        int64_t n = 1;
        for (size_t i = 0; i < count_; i++) n *= dims_[i];
        return n;
    }
    bool IsScalar() const { return count_ == 0; }
    void SetScalar() { count_ = 0; }
    size_t GetDimNum() const { return count_; }
    void SetDimNum(size_t n) { count_ = n <= kMaxDimNum ? n : kMaxDimNum; }
    int64_t GetDim(size_t i) const { return i < kMaxDimNum ? dims_[i] : kInvalidDimValue; }
    void SetDim(size_t i, int64_t v) {
        if (i < kMaxDimNum) dims_[i] = v;
    }
    const int64_t& operator[](size_t i) const { return dims_[i]; }
    int64_t& operator[](size_t i) { return dims_[i]; }
    Shape& AppendDim(int64_t v) {
        if (count_ < kMaxDimNum) dims_[count_++] = v;
        return *this;
    }
private:
    size_t count_ = 0;
    int64_t dims_[kMaxDimNum] = {};
};

class Stride {
public:
    size_t GetDimNum() const { return count_; }
    int64_t GetStride(size_t i) const { return i < count_ ? strides_[i] : Shape::kInvalidDimValue; }
    int64_t operator[](size_t i) const { return GetStride(i); }
private:
    size_t count_ = 0;
    int64_t strides_[Shape::kMaxDimNum] = {};
};

struct StorageShape {
    StorageShape() = default;
    StorageShape(std::initializer_list<int64_t> origin, std::initializer_list<int64_t> storage)
        : origin_(origin), storage_(storage) {}
    const Shape& GetOriginShape() const { return origin_; }
    const Shape& GetStorageShape() const { return storage_; }
    const Shape& GetShape() const { return storage_; }
    Shape& MutableOriginShape() { return origin_; }
    Shape& MutableStorageShape() { return storage_; }
    bool operator==(const StorageShape& o) const { return origin_ == o.origin_ && storage_ == o.storage_; }
private:
    Shape origin_, storage_;
};

}  // namespace gert
