// Host sizes of Welford's running statistics, and sizes and tilings of LayerNorm's gradients.
#include <cstring>

#include "tiling/sizes.h"
#include "twin/tiling/norm.h"

namespace AscendC {

using namespace sizes;

void GetWelfordUpdateMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSizeT, const uint32_t,
                                   const bool isReuseSource, const bool, uint32_t& maxValue, uint32_t& minValue) {
    constexpr uint32_t kRepeat = 256;
    minValue = kRepeat * (!single(typeSizeT) ? 3 : isReuseSource ? 1 : 2);
    maxValue = (dim(srcShape, 0) * dim(srcShape, 1) + 63) / 64 * minValue;
}
void GetWelfordFinalizeMaxMinTmpSize(const TensorShape& srcShape, const uint32_t, const bool, uint32_t& maxValue,
                                     uint32_t& minValue) {
    constexpr uint32_t kStep = 64;
    minValue = 4 * kStep * kFloat;
    maxValue = (2 * kStep + 2 * std::max(dim(srcShape, 0), kStep)) * kFloat;
}

namespace {

// Rows at once start at whole blocks of the statistics, so one piece is at least a block of rows, or all of them.
uint32_t gradient_buffers(uint32_t typeSize, bool reuse) { return !single(typeSize) ? 9 : reuse ? 4 : 6; }
uint32_t least_rows(const TensorShape& s, uint32_t typeSize) {
    return std::min(dim(s, 0) * dim(s, 1), kBlock / typeSize);
}

}  // namespace

void GetLayerNormGradMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool isReuseSource,
                                   uint32_t& maxValue, uint32_t& minValue) {
    if (!typeSize) return;
    uint32_t row = gradient_buffers(typeSize, isReuseSource) * dim(srcShape, 2) * kFloat;
    maxValue = dim(srcShape, 0) * dim(srcShape, 1) * row;
    minValue = least_rows(srcShape, typeSize) * row;
}
void GetLayerNormGradNDTilingInfo(const TensorShape srcShape, const uint32_t stackBufferSize, const uint32_t typeSize,
                                  const bool isReuseSource, tiling::LayerNormGradTiling& t) {
    uint32_t rows = dim(srcShape, 0) * dim(srcShape, 1), h = dim(srcShape, 2), own = dim(srcShape, 3);
    if (!rows || !h || !own || !typeSize) return;
    uint32_t unit = least_rows(srcShape, typeSize),
             fit = std::min(stackBufferSize / kFloat / gradient_buffers(typeSize, isReuseSource) / h, rows);
    if (fit < rows) fit = fit / unit * unit;
    if (!fit) return;
    uint32_t one = fit * h, at = 0;
    auto place = [&](uint32_t& pos, uint32_t& size) {
        pos = at;
        size = one;
        at += one;
    };
    t.stackBufferSize = stackBufferSize;
    t.bLength = dim(srcShape, 0);
    t.sLength = dim(srcShape, 1);
    t.hLength = h;
    t.originalHLength = own;
    t.oneCalSize = one;
    t.nohCalSize = fit;
    t.loopNum = rows / fit;
    t.nohTailSize = rows % fit;
    t.tailSize = t.nohTailSize * h;
    place(t.tmpTensorBSHPos, t.tmpTensorBSHSize);
    place(t.pdVarTensorPos, t.pdVarTensorSize);
    place(t.pdMeanTensorPos, t.pdMeanTensorSize);
    if (!single(typeSize) || !isReuseSource) {
        place(t.x1TensorPos, t.x1TensorSize);
        place(t.x2TensorPos, t.x2TensorSize);
    }
    place(t.x3TensorPos, t.x3TensorSize);
    if (!single(typeSize)) {
        place(t.tmpTensorPos, t.tmpTensorSize);
        place(t.tmpTensor1Pos, t.tmpTensor1Size);
        place(t.tmpTensor2Pos, t.tmpTensor2Size);
    }
    float back = 1.0f / float(own), twice = 2.0f / float(own);  // floats in fields of integers
    std::memcpy(&t.lastDimValueBack, &back, sizeof back);
    std::memcpy(&t.lastDimValueBackMulTwo, &twice, sizeof twice);
}

void GetLayerNormGradBetaMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool,
                                       uint32_t& maxValue, uint32_t& minValue) {
    uint32_t buffers = single(typeSize) ? 2 : 4, row = dim(srcShape, 2) * kFloat;
    maxValue = buffers * dim(srcShape, 0) * dim(srcShape, 1) * row;
    minValue = buffers * row;
}
void GetLayerNormGradBetaNDTilingInfo(const TensorShape srcShape, const uint32_t stackBufferSize,
                                      const uint32_t typeSize, const bool, tiling::LayerNormGradBetaTiling& t) {
    uint32_t rows = dim(srcShape, 0) * dim(srcShape, 1), h = dim(srcShape, 2), floats = stackBufferSize / kFloat;
    if (!rows || !h || floats < 2 * h) return;
    bool half = !single(typeSize);
    uint32_t fit = std::min((half ? (floats - 2 * h) / 2 : floats) / h, rows);
    if (!fit) return;
    t.stackBufferSize = floats;
    t.bLength = dim(srcShape, 0);
    t.sLength = dim(srcShape, 1);
    t.hLength = h;
    t.originalHLength = dim(srcShape, 3);
    t.bsLength = rows;
    t.bshLength = rows * h;
    t.oneCalSize = t.bshCurLength = fit * h;
    t.bsCurLength = fit;
    t.numberOfTmpBuf = half ? 2 : 1;
    t.loopRound = rows / fit;
    t.bsTailSize = rows % fit;
    t.inputTailSize = t.bsTailSize * h;
    t.inputTailPos = t.bshLength - t.inputTailSize;
    if (half) {
        t.betaTempTensorPos = h;
        t.inputDyTmpTensorPos = 2 * h;
        t.resForGammaTmpTensorPos = 2 * h + t.oneCalSize;
    }
}

}  // namespace AscendC
