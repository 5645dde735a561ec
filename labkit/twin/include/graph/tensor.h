// A tensor's shape as host code hands it to the tiling functions of the advanced API.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <vector>

#include "graph/types.h"

namespace ge {
class Shape {
public:
    Shape() = default;
    explicit Shape(const std::vector<int64_t>& dims) : dims_(dims) {}
    size_t GetDimNum() const { return dims_.size(); }
    int64_t GetDim(size_t i) const { return i < dims_.size() ? dims_[i] : 0; }
    std::vector<int64_t> GetDims() const { return dims_; }
    bool SetDim(size_t i, int64_t value) {
        if (i >= dims_.size()) return false;
        dims_[i] = value;
        return true;
    }
    int64_t GetShapeSize() const {  // 0 without dimensions
        int64_t n = dims_.empty() ? 0 : 1;
        for (int64_t d : dims_) n *= d;
        return n;
    }
private:
    std::vector<int64_t> dims_;
};
}  // namespace ge
