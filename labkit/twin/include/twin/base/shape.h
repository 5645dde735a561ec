// ShapeInfo: the shape that a kernel may attach to a tensor, for the interfaces that use it (slices, some of the
// library).
#pragma once
#include "twin/base/types.h"

namespace twin {
// A tensor stores the number of a shape instead of its 72 bytes, because handles are copied in inner loops. Equal
// shapes have equal numbers; 0: none.
struct KeptShape { uint32_t dims = 0, original_dims = 0, format = 0, shape[8] = {}, original[8] = {}; };
uint16_t keep_shape(const KeptShape&);
const KeptShape& kept_shape(uint16_t number);
}  // namespace twin

namespace AscendC {

enum class DataFormat : uint8_t { ND, NZ, NCHW, NC1HWC0, NHWC, NCDHW, NDC1HWC0, FRACTAL_Z_3D };

struct ShapeInfo {
    ShapeInfo() = default;
    ShapeInfo(uint8_t dims, const uint32_t dim[], uint8_t originalDims, const uint32_t original[], DataFormat format)
        : shapeDim(dims), originalShapeDim(originalDims), dataFormat(format) {
        for (int i = 0; i < dims && i < K_MAX_SHAPE_DIM; i++) shape[i] = dim[i];
        for (int i = 0; i < originalDims && i < K_MAX_SHAPE_DIM; i++) originalShape[i] = original[i];
    }
    ShapeInfo(uint8_t dims, const uint32_t dim[], DataFormat format = DataFormat::ND)
        : ShapeInfo(dims, dim, dims, dim, format) {}
    uint8_t shapeDim = 0;
    uint8_t originalShapeDim = 0;
    uint32_t shape[K_MAX_SHAPE_DIM] = {};
    uint32_t originalShape[K_MAX_SHAPE_DIM] = {};
    DataFormat dataFormat = DataFormat::ND;
};

inline uint64_t GetShapeSize(const ShapeInfo& info) {
    uint64_t size = 1;
    for (int i = 0; i < info.shapeDim; i++) size *= info.shape[i];
    return size;
}

namespace detail {
inline ShapeInfo shape_of(uint16_t number) {
    if (!number) return ShapeInfo();
    const ::twin::KeptShape& k = ::twin::kept_shape(number);
    return ShapeInfo(uint8_t(k.dims), k.shape, uint8_t(k.original_dims), k.original, DataFormat(k.format));
}
inline uint16_t number_of(const ShapeInfo& info) {
    ::twin::KeptShape k;
    k.dims = info.shapeDim;
    k.original_dims = info.originalShapeDim;
    k.format = uint32_t(info.dataFormat);
    for (int i = 0; i < K_MAX_SHAPE_DIM && i < 8; i++) {
        k.shape[i] = info.shape[i];
        k.original[i] = info.originalShape[i];
    }
    return ::twin::keep_shape(k);
}
}  // namespace detail

}  // namespace AscendC
