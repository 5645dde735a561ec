// SoftMax and its variants: row by row over a matrix of srcM rows of srcK elements, of which oriSrcK count.
#pragma once
#include "kernel_tiling/kernel_tiling.h"
#include "twin/library/math.h"

namespace twin {
struct Softmax {
    Dt type = Dt::F32, stat = Dt::F32;  // of the matrix; of the sums and maxima
    Loc dst, src, grad;
    Loc sum, max, exp_max, in_sum, in_max, reduce_max, mean, in_mean;
    Loc tmp;
    uint32_t rows = 0, width = 0, own_rows = 0, own_width = 0;  // srcM, srcK and the original ones
    uint32_t tiled_rows = 0, tiled_width = 0, piece = 0;        // what the tiling was made for
    bool update = false, fractal = false;                       // fractal: NZ, columns of 16 one behind the other
    bool keep_stats = true, narrow = false;                     // narrow: one value a row, not a block of them
    uint32_t loops = 1, chunks = 8;
    float alpha = 0;
};
void softmax(Op, const Softmax&, Here);
bool softmax_adjust(Dt res, Dt max, Loc r, Loc m, uint32_t from, Value to, uint32_t rows, uint32_t width, bool fractal,
                    uint32_t step, Here);
}  // namespace twin

namespace AscendC {

enum class SoftmaxMode { SOFTMAX_NORMAL = 0, SOFTMAX_OUTPUT_WITHOUT_BRC = 1 };
struct SoftmaxConfig {
    constexpr SoftmaxConfig(const bool check) : isCheckTiling(check) {}
    constexpr SoftmaxConfig(const bool check, const uint32_t m, const uint32_t k)
        : isCheckTiling(check), oriSrcM(m), oriSrcK(k) {}
    constexpr SoftmaxConfig(const bool check, const uint32_t m, const uint32_t k, const SoftmaxMode modeIn)
        : isCheckTiling(check), oriSrcM(m), oriSrcK(k), mode(modeIn) {}
    bool isCheckTiling = true;
    uint32_t oriSrcM = 0;
    uint32_t oriSrcK = 0;
    SoftmaxMode mode = SoftmaxMode::SOFTMAX_NORMAL;
};
constexpr SoftmaxConfig SOFTMAX_DEFAULT_CFG = {true, 0, 0, SoftmaxMode::SOFTMAX_NORMAL};
struct SoftMaxShapeInfo {
    uint32_t srcM{0};
    uint32_t srcK{0};
    uint32_t oriSrcM{0};
    uint32_t oriSrcK{0};
};
struct SoftMaxParams {
    uint32_t srcM{0};
    uint32_t srcK{0};
    uint32_t oriSrcM{0};
    uint32_t oriSrcK{0};
    uint32_t loopCnt{1};
    uint32_t splitMeanCnt{8};
    float alpha{0.9375};
};

namespace detail {

template <typename T, typename U, typename Tiling, typename Shape>
::twin::Softmax softmax_of(const LocalTensor<T>& dst, const LocalTensor<T>& src, const ::twin::Loc& tmp,
                           const Tiling& t, const Shape& shape, bool fractal) {
    adv_type<T, half, float>();
    ::twin::Softmax s;
    s.type = ::twin::dt<T>();
    s.stat = ::twin::dt<U>();
    s.dst = dst.loc_;
    s.src = src.loc_;
    s.tmp = tmp;
    const ShapeInfo told = src.GetShapeInfo();
    bool given = shape.srcM && shape.srcK;
    if (given || !told.shapeDim) {  // no shape given: the tiling's shape is used
        s.rows = given ? shape.srcM : t.srcM;
        s.width = given ? shape.srcK : t.srcK;
        s.own_rows = given && shape.oriSrcM ? shape.oriSrcM : s.rows;
        s.own_width = given && shape.oriSrcK ? shape.oriSrcK : s.width;
    } else {
        s.width = told.shape[told.shapeDim - 1];
        s.own_width = told.originalShapeDim ? told.originalShape[told.originalShapeDim - 1] : s.width;
        s.rows = s.own_rows = 1;
        for (int i = 0; i + 1 < told.shapeDim; i++) s.rows *= told.shape[i];
        for (int i = 0; i + 1 < told.originalShapeDim; i++) s.own_rows *= told.originalShape[i];
    }
    s.tiled_rows = t.srcM;
    s.tiled_width = t.srcK;
    s.piece = t.splitM;
    s.fractal = fractal;
    return s;
}
template <typename T, typename U> void stats(::twin::Softmax& s, const LocalTensor<U>& sum, const LocalTensor<U>& max,
                                             const LocalTensor<T>& expMax, const LocalTensor<U>& inSum,
                                             const LocalTensor<U>& inMax) {
    s.sum = sum.loc_;
    s.max = max.loc_;
    s.exp_max = expMax.loc_;
    s.in_sum = inSum.loc_;
    s.in_max = inMax.loc_;
}

}  // namespace detail

// Each function with a temporary tensor and without; M, S: the types of matrix and statistics; head: its template
// parameters.
#define TWIN_SOFTMAX(name, head, M, S, parameters, tail, ...)                                             \
    template <head>                                                                                       \
    void name(parameters, const LocalTensor<uint8_t>& tmp, const SoftMaxTiling& tiling tail, TWIN_HERE) { \
        const ::twin::Loc scratch = tmp.loc_;                                                             \
        __VA_ARGS__                                                                                       \
    }                                                                                                     \
    template <head> void name(parameters, const SoftMaxTiling& tiling tail, TWIN_HERE) {                  \
        const ::twin::Loc scratch = ::twin::spare();                                                      \
        __VA_ARGS__                                                                                       \
    }
#define TWIN_SHAPE TWIN_LIST(, const SoftMaxShapeInfo& shape = {})

#define TWIN_SOFTMAX_STATS(name, M, S)                                                                            \
    TWIN_SOFTMAX(name,                                                                                            \
                 TWIN_LIST(typename T, bool isReuseSource = false, bool isBasicBlock = false,                     \
                           bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG),       \
                 M, S,                                                                                            \
                 TWIN_LIST(const LocalTensor<M>& dst, const LocalTensor<S>& sum, const LocalTensor<S>& max,       \
                           const LocalTensor<M>& src),                                                            \
                 TWIN_SHAPE, auto s = detail::softmax_of<M, S>(dst, src, scratch, tiling, shape, isDataFormatNZ); \
                 s.sum = sum.loc_; s.max = max.loc_; ::twin::softmax(::twin::Op::name, s, here);)
TWIN_SOFTMAX_STATS(SoftMax, T, T)
TWIN_SOFTMAX_STATS(SoftMax, half, float)
TWIN_SOFTMAX_STATS(SimpleSoftMax, T, T)
TWIN_SOFTMAX_STATS(SimpleSoftMax, half, float)
TWIN_SOFTMAX(SoftMax,
             TWIN_LIST(typename T, bool isReuseSource = false, bool isBasicBlock = false,
                       const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG),
             T, T, TWIN_LIST(const LocalTensor<T>& dst, const LocalTensor<T>& src), TWIN_SHAPE,
             auto s = detail::softmax_of<T, T>(dst, src, scratch, tiling, shape, false);
             s.keep_stats = false; ::twin::softmax(::twin::Op::SoftMax, s, here);)

template <typename T, bool isReuseSource = false, bool isDataFormatNZ = false>
void LogSoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& sum, const LocalTensor<T>& max,
                const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp, const LogSoftMaxTiling& tiling,
                const SoftMaxShapeInfo& shape = {}, TWIN_HERE) {
    auto s = detail::softmax_of<T, T>(dst, src, tmp.loc_, tiling, shape, isDataFormatNZ);
    s.sum = sum.loc_;
    s.max = max.loc_;
    ::twin::softmax(::twin::Op::LogSoftMax, s, here);
}

#define TWIN_SOFTMAX_FLASH(M, S)                                                                                   \
    TWIN_SOFTMAX(SoftmaxFlash, TWIN_LIST(typename T, bool isReuseSource = false, bool isBasicBlock = false), M, S, \
                 TWIN_LIST(const LocalTensor<M>& dst, const LocalTensor<S>& sum, const LocalTensor<S>& max,        \
                           const LocalTensor<M>& src, const LocalTensor<M>& expMax, const LocalTensor<S>& inSum,   \
                           const LocalTensor<S>& inMax),                                                           \
                 TWIN_LIST(, bool isUpdate = false, const SoftMaxShapeInfo& shape = {}),                           \
                 auto s = detail::softmax_of<M, S>(dst, src, scratch, tiling, shape, false);                       \
                 detail::stats(s, sum, max, expMax, inSum, inMax); s.update = isUpdate;                            \
                 ::twin::softmax(::twin::Op::SoftmaxFlash, s, here);)
TWIN_SOFTMAX_FLASH(T, T)
TWIN_SOFTMAX_FLASH(half, float)

#define TWIN_SOFTMAX_FLASH2(M, S)                                                                                    \
    TWIN_SOFTMAX(SoftmaxFlashV2,                                                                                     \
                 TWIN_LIST(typename T, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false, \
                           bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG),          \
                 M, S,                                                                                               \
                 TWIN_LIST(const LocalTensor<M>& dst, const LocalTensor<S>& expSum, const LocalTensor<S>& max,       \
                           const LocalTensor<M>& src, const LocalTensor<M>& expMax, const LocalTensor<S>& inExpSum,  \
                           const LocalTensor<S>& inMax),                                                             \
                 TWIN_SHAPE, auto s = detail::softmax_of<M, S>(dst, src, scratch, tiling, shape, isDataFormatNZ);    \
                 detail::stats(s, expSum, max, expMax, inExpSum, inMax); s.update = isUpdate;                        \
                 s.narrow = config.mode == SoftmaxMode::SOFTMAX_OUTPUT_WITHOUT_BRC;                                  \
                 ::twin::softmax(::twin::Op::SoftmaxFlashV2, s, here);)
TWIN_SOFTMAX_FLASH2(T, T)
TWIN_SOFTMAX_FLASH2(half, float)
// With the maximum of this block alone besides.
TWIN_SOFTMAX(
    SoftmaxFlashV2,
    TWIN_LIST(typename T, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false,
              bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG),
    T, T,
    TWIN_LIST(const LocalTensor<T>& dst, const LocalTensor<T>& outReduceMax, const LocalTensor<T>& outExpSum,
              const LocalTensor<T>& outMax, const LocalTensor<T>& src, const LocalTensor<T>& outExpMax,
              const LocalTensor<T>& inExpSum, const LocalTensor<T>& inMax),
    TWIN_SHAPE,
    static_assert(config.mode == SoftmaxMode::SOFTMAX_OUTPUT_WITHOUT_BRC,
                  "SoftmaxFlashV2 with outReduceMax does nothing unless config.mode is SOFTMAX_OUTPUT_WITHOUT_BRC");
    auto s = detail::softmax_of<T, T>(dst, src, scratch, tiling, shape, false);
    detail::stats(s, outExpSum, outMax, outExpMax, inExpSum, inMax);
    if constexpr (isUpdate) s.reduce_max = outReduceMax.loc_; s.update = isUpdate; s.narrow = true;
    ::twin::softmax(::twin::Op::SoftmaxFlashV2, s, here);)

#define TWIN_FLASH3_HEAD                                                                                  \
    typename T, typename U, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false, \
                                 bool isDataFormatNZ = false, const SoftmaxConfig &config = SOFTMAX_DEFAULT_CFG
TWIN_SOFTMAX(SoftmaxFlashV3, TWIN_LIST(TWIN_FLASH3_HEAD), T, U,
             TWIN_LIST(const LocalTensor<T>& dst, const LocalTensor<U>& mean, const LocalTensor<U>& expSum,
                       const LocalTensor<U>& max, const LocalTensor<T>& src, const LocalTensor<T>& expMax,
                       const LocalTensor<U>& inMean, const LocalTensor<U>& inExpSum, const LocalTensor<U>& inMax),
             TWIN_LIST(, const SoftMaxParams& params),
             static_assert(IsSameType<T, half>::value && IsSameType<U, float>::value,
                           "SoftmaxFlashV3 takes half with statistics in float");
             auto s = detail::softmax_of<T, U>(dst, src, scratch, tiling, params, false);
             detail::stats(s, expSum, max, expMax, inExpSum, inMax); s.mean = mean.loc_; s.in_mean = inMean.loc_;
             s.update = isUpdate; s.loops = params.loopCnt; s.chunks = params.splitMeanCnt; s.alpha = params.alpha;
             ::twin::softmax(::twin::Op::SoftmaxFlashV3, s, here);)
#undef TWIN_FLASH3_HEAD

TWIN_SOFTMAX(SoftmaxGrad, TWIN_LIST(typename T, bool isReuseSource = false, bool isDataFormatNZ = false), T, T,
             TWIN_LIST(const LocalTensor<T>& dst, const LocalTensor<T>& grad, const LocalTensor<T>& src),
             TWIN_LIST(, bool isFront = false, const SoftMaxShapeInfo& shape = {}),
             auto s = detail::softmax_of<T, T>(dst, src, scratch, tiling, shape, isDataFormatNZ);
             s.grad = grad.loc_;
             ::twin::softmax(isFront ? ::twin::Op::SoftmaxGradFront : ::twin::Op::SoftmaxGrad, s, here);)
TWIN_SOFTMAX(SoftmaxGradFront, TWIN_LIST(typename T, bool isBasicBlock = false, bool isDataFormatNZ = false), T, T,
             TWIN_LIST(const LocalTensor<T>& dst, const LocalTensor<T>& grad, const LocalTensor<T>& src), TWIN_SHAPE,
             auto s = detail::softmax_of<T, T>(dst, src, scratch, tiling, shape, isDataFormatNZ);
             s.grad = grad.loc_; ::twin::softmax(::twin::Op::SoftmaxGradFront, s, here);)

// Rows whose maximum has the bits `from` become `to`; returns whether there was one.
template <typename T1, typename T2, bool isDataFormatNZ = false, uint8_t stepSizeMode = 0>
bool AdjustSoftMaxRes(const LocalTensor<T1>& softMaxRes, const LocalTensor<T2>& max, const uint32_t from, const T1 to,
                      const SoftMaxShapeInfo& shape, TWIN_HERE) {
    detail::adv_type<T1, half, float>();
    detail::adv_type<T2, half, float>();
    return ::twin::softmax_adjust(::twin::dt<T1>(), ::twin::dt<T2>(), softMaxRes.loc_, max.loc_, from,
                                  ::twin::value_of(to), shape.srcM, shape.srcK, isDataFormatNZ,
                                  stepSizeMode && !isDataFormatNZ ? 1 : 32 / sizeof(T2), here);
}

// The tiling of SoftmaxFlashV2 for a size of temporary tensor (bytes), where the kernel makes it itself.
constexpr SoftMaxTiling SoftMaxFlashV2TilingFunc(const SoftMaxShapeInfo& shape, const uint32_t dataTypeSize1,
                                                 const uint32_t dataTypeSize2, const uint32_t localWorkSpaceSize,
                                                 const bool isUpdate = false, const bool isBasicBlock = false,
                                                 const bool isDataFormatNZ = false,
                                                 const bool isFlashOutputBrc = false) {
    const uint32_t m = shape.srcM, k = shape.srcK, block = 32 / dataTypeSize2, room = localWorkSpaceSize / 4;
    const bool narrow = dataTypeSize1 == 2, basic = isBasicBlock && k % 64 == 0 && m % 8 == 0;
    uint32_t a_row = isDataFormatNZ ? 48 + k
                     : basic        ? (narrow ? block + k + 64 : block + 64)
                     : narrow       ? 2 * block + k + 64
                                    : block + 64;
    uint32_t piece = room / a_row, grain = isFlashOutputBrc && narrow ? 16 : 8;
    piece = piece < m ? piece : m;
    if (basic && piece > 8) {
        piece = piece / 8 * 8;
        while (m % piece) piece -= 8;
        while (piece * k >= 64 * 256) piece /= 2;
    }
    if (piece < m && piece > grain) piece = piece / grain * grain;
    SoftMaxTiling t;
    t.srcM = t.outMaxM = m;
    t.srcK = t.splitK = k;
    t.srcSize = m * k;
    t.outMaxK = t.reduceK = block;
    t.outMaxSize = m * block;
    t.splitM = t.reduceM = piece;
    t.splitSize = piece * k;
    t.reduceSize = piece * block;
    t.rangeM = piece ? m / piece : 0;
    t.tailM = piece ? m % piece : 0;
    t.tailSplitSize = t.tailM * k;
    t.tailReduceSize = t.tailM * block;
    return t;
}
#undef TWIN_SHAPE

}  // namespace AscendC
