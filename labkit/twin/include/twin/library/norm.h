// Normalizations of the advanced API: rows of `width` elements in memory, of which `own` are data and the rest padding.
#pragma once
#include "kernel_tiling/kernel_tiling.h"
#include "twin/library/math.h"
#include "twin/library/reduce_pattern.h"

namespace twin {
struct Norm {
    Dt type = Dt::F32, scale = Dt::F32;  // of the data; of gamma and beta
    Loc out, mean, var, x, gx, gamma, beta, dy, res, counts, tmp;
    uint32_t rows = 0, width = 0, own = 0;
    uint32_t group = 1, groups = 1;  // GroupNorm: rows of a group, groups of a sample; BatchNorm: the batch
    uint64_t scratch = 0;            // bytes that the tiling lays out
    uint32_t piece = 0;              // rows that fit it
    float eps = 0, alpha = 0;
    bool no_beta = false, no_gamma = false;
};
void norm(Op, const Norm&, Here);
struct Welford {
    Dt type = Dt::F32;
    Loc mean, var, in_mean, in_var, x, counts, tmp;
    uint32_t length = 0, active = 0, rounds = 0, head = 0, head_count = 0, tail_count = 0;
    float rate = 0, whole = 0;  // 1/i, 1/Ab; 1/R
    bool in_place = false, reuse = false;
};
void welford(Op, const Welford&, Here);
}  // namespace twin

namespace AscendC {

struct LayerNormConfig {
    bool isNoBeta = false;
    bool isNoGamma = false;
    bool isOnlyOutput = false;
    bool isOutputRstd = true;
};
constexpr LayerNormConfig LNCFG_NORM = {false, false, false, true};
struct LayerNormPara {
    uint32_t aLength;
    uint32_t rLength;
    uint32_t rLengthWithPadding;
};
struct LayerNormGradShapeInfo { DataFormat dataFormat = DataFormat::ND; };
struct NormalizeConfig {
    ReducePattern reducePattern = ReducePattern::AR;
    int32_t aLength = -1;
    bool isNoBeta = false;
    bool isNoGamma = false;
    bool isOnlyOutput = false;
};
constexpr NormalizeConfig NLCFG_NORM = {ReducePattern::AR, -1, false, false, false};
constexpr NormalizeConfig NLCFG_NOBETA = {ReducePattern::AR, -1, true, false, false};
constexpr NormalizeConfig NLCFG_NOGAMMA = {ReducePattern::AR, -1, false, true, false};
constexpr NormalizeConfig NLCFG_NOOPT = {ReducePattern::AR, -1, true, true, false};
struct NormalizePara {
    uint32_t aLength;
    uint32_t rLength;
    uint32_t rLengthWithPadding;
};
struct WelfordUpdateConfig {
    constexpr WelfordUpdateConfig(const bool inplace) : isInplace(inplace) {}
    bool isInplace = false;
};
constexpr WelfordUpdateConfig WFUPDATE_DEFAULT_CFG = {false};
struct WelfordUpdateParam {
    uint32_t rnLength;
    uint32_t abLength;
    uint32_t abComputeLength;
    float nRec;
};
struct WelfordFinalizeConfig {
    constexpr WelfordFinalizeConfig(const bool correction) : isCorrection(correction) {}
    bool isCorrection = false;
};
constexpr WelfordFinalizeConfig WFFINALIZE_DEFAULT_CFG = {false};
struct WelfordFinalizePara {
    uint32_t rnLength;
    uint32_t abLength;
    uint32_t headCount;
    uint32_t headCountLength;
    uint32_t tailCount;
    uint32_t tailCountLength;
    float abRec;
    float rRec;
};

namespace detail {

template <typename T>
::twin::Norm norm_of(const LocalTensor<T>& out, const LocalTensor<T>& x, const ::twin::Loc& tmp, float epsilon) {
    adv_type<T, half, float>();
    ::twin::Norm n;
    n.type = n.scale = ::twin::dt<T>();
    n.out = out.loc_;
    n.x = x.loc_;
    n.tmp = tmp;
    n.eps = epsilon;
    return n;
}
template <typename Tiling> void rows_of(::twin::Norm& n, const Tiling& t) {
    n.rows = t.bLength * t.sLength;
    n.width = t.hLength;
    n.own = t.originalHLength ? t.originalHLength : t.hLength;
}
template <typename Tiling> void scratch_of(::twin::Norm& n, const Tiling& t, uint32_t rows) {
    n.scratch = 4ull * (t.firstTmpStartPos + uint64_t(t.numberOfTmpBuf) * t.oneTmpSize);
    n.piece = rows;
}

}  // namespace detail

// Each function with a temporary tensor and without: before and after are the parameters on its two sides.
#define TWIN_NORM(name, head, before, after, ...)                                          \
    template <head> void name(before, const LocalTensor<uint8_t>& tmp, after, TWIN_HERE) { \
        const ::twin::Loc scratch = tmp.loc_;                                              \
        __VA_ARGS__                                                                        \
        ::twin::norm(::twin::Op::name, n, here);                                           \
    }                                                                                      \
    template <head> void name(before, after, TWIN_HERE) {                                  \
        const ::twin::Loc scratch = ::twin::spare();                                       \
        __VA_ARGS__                                                                        \
        ::twin::norm(::twin::Op::name, n, here);                                           \
    }

// Mean and variance of [B, S, H] over H. As in CANN's implementation the padding of H counts into both sums, the
// divisor is the original H: zeros leave the mean right, and add mean^2 a padded element to the variance.
TWIN_NORM(LayerNorm, TWIN_LIST(typename T, bool isReuseSource = false),
          TWIN_LIST(const LocalTensor<T>& output, const LocalTensor<T>& outputMean,
                    const LocalTensor<T>& outputVariance, const LocalTensor<T>& inputX, const LocalTensor<T>& gamma,
                    const LocalTensor<T>& beta),
          TWIN_LIST(const T epsilon, const LayerNormTiling& tiling),
          auto n = detail::norm_of(output, inputX, scratch, float(epsilon));
          n.mean = outputMean.loc_; n.var = outputVariance.loc_; n.gamma = gamma.loc_; n.beta = beta.loc_;
          detail::rows_of(n, tiling); detail::scratch_of(n, tiling, tiling.bsCurLength);)

TWIN_NORM(DeepNorm, TWIN_LIST(typename T, bool isReuseSrc = false, bool isBasicBlock = false),
          TWIN_LIST(const LocalTensor<T>& dst, const LocalTensor<T>& mean, const LocalTensor<T>& rstd,
                    const LocalTensor<T>& src, const LocalTensor<T>& gx, const LocalTensor<T>& beta,
                    const LocalTensor<T>& gamma),
          TWIN_LIST(const T alpha, const T epsilon, const DeepNormTiling& tiling),
          auto n = detail::norm_of(dst, src, scratch, float(epsilon));
          n.mean = mean.loc_; n.var = rstd.loc_; n.gx = gx.loc_; n.gamma = gamma.loc_; n.beta = beta.loc_;
          n.alpha = float(alpha); detail::rows_of(n, tiling); detail::scratch_of(n, tiling, tiling.bsCurLength);)

TWIN_NORM(RmsNorm, TWIN_LIST(typename T, bool isBasicBlock = false),
          TWIN_LIST(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& gamma),
          TWIN_LIST(const T epsilon, const RmsNormTiling& tiling),
          auto n = detail::norm_of(dst, src, scratch, float(epsilon));
          n.gamma = gamma.loc_; detail::rows_of(n, tiling);
          n.scratch = 4ull * (tiling.mainBsLengthAlign + uint64_t(tiling.mainBshLength) * (sizeof(T) == 2 ? 2 : 1));
          n.piece = tiling.mainBsLength;)

TWIN_NORM(BatchNorm, TWIN_LIST(typename T, bool isReuseSource = false, bool isBasicBlock = false),
          TWIN_LIST(const LocalTensor<T>& output, const LocalTensor<T>& outputMean,
                    const LocalTensor<T>& outputVariance, const LocalTensor<T>& inputX, const LocalTensor<T>& gamm,
                    const LocalTensor<T>& beta),
          TWIN_LIST(const T epsilon, const BatchNormTiling& tiling),
          auto n = detail::norm_of(output, inputX, scratch, float(epsilon));
          n.mean = outputMean.loc_; n.var = outputVariance.loc_; n.gamma = gamm.loc_; n.beta = beta.loc_;
          n.rows = n.group = tiling.originalBLength; n.width = n.own = tiling.meanVarSize;
          n.scratch = 4ull * (tiling.firstTmpStartPos + 3ull * tiling.oneTmpSize); n.piece = tiling.shCurLength;)

TWIN_NORM(GroupNorm, TWIN_LIST(typename T, bool isReuseSource = false),
          TWIN_LIST(const LocalTensor<T>& output, const LocalTensor<T>& outputMean,
                    const LocalTensor<T>& outputVariance, const LocalTensor<T>& inputX, const LocalTensor<T>& gamma,
                    const LocalTensor<T>& beta),
          TWIN_LIST(const T epsilon, const GroupNormTiling& tiling),
          auto n = detail::norm_of(output, inputX, scratch, float(epsilon));
          n.mean = outputMean.loc_; n.var = outputVariance.loc_; n.gamma = gamma.loc_; n.beta = beta.loc_;
          n.rows = tiling.n * tiling.c; n.width = tiling.hwAlignSize; n.own = tiling.hw; n.group = tiling.d;
          n.groups = tiling.g; detail::scratch_of(n, tiling, tiling.bsCurLength* tiling.d);)

TWIN_NORM(LayerNormGrad, TWIN_LIST(typename T, bool isReuseSource = false),
          TWIN_LIST(const LocalTensor<T>& outputPdX, const LocalTensor<T>& resForGamma, const LocalTensor<T>& inputDy,
                    const LocalTensor<T>& inputX, const LocalTensor<T>& inputVariance, const LocalTensor<T>& inputMean,
                    const LocalTensor<T>& inputGamma),
          TWIN_LIST(T epsilon, const LayerNormGradTiling& tiling, const LayerNormGradShapeInfo& shapeInfo = {}),
          auto n = detail::norm_of(outputPdX, inputX, scratch, float(epsilon));
          n.res = resForGamma.loc_; n.dy = inputDy.loc_; n.var = inputVariance.loc_; n.mean = inputMean.loc_;
          n.gamma = inputGamma.loc_; detail::rows_of(n, tiling);
          n.scratch = 4ull * (tiling.oneCalSize + (sizeof(T) == 2 ? tiling.tmpTensor2Pos : tiling.x3TensorPos));
          n.piece = tiling.hLength ? tiling.oneCalSize / tiling.hLength : 0;)

TWIN_NORM(LayerNormGradBeta, TWIN_LIST(typename T, bool isReuseSource = false),
          TWIN_LIST(const LocalTensor<T>& outputPdGamma, const LocalTensor<T>& outputPdBeta,
                    const LocalTensor<T>& resForGamma, const LocalTensor<T>& inputDy),
          TWIN_LIST(const LayerNormGradBetaTiling& tiling),
          auto n = detail::norm_of(outputPdGamma, resForGamma, scratch, 0);
          n.beta = outputPdBeta.loc_; n.dy = inputDy.loc_; detail::rows_of(n, tiling);
          n.scratch = sizeof(T) == 4 && isReuseSource ? 0 : 4ull * (tiling.resForGammaTmpTensorPos + tiling.oneCalSize);
          n.piece = tiling.bsCurLength;)

namespace detail {
template <typename U, typename T, typename Para>
::twin::Norm rows_norm(const LocalTensor<T>& output, const LocalTensor<float>& mean, const LocalTensor<float>& var,
                       const LocalTensor<T>& x, const LocalTensor<U>& gamma, const LocalTensor<U>& beta, float epsilon,
                       const ::twin::Loc& tmp, const Para& para, bool noBeta, bool noGamma) {
    adv_type<U, half, float>();
    static_assert(sizeof(U) >= sizeof(T), "gamma and beta must be as precise as the data at least: float with float");
    auto n = norm_of(output, x, tmp, epsilon);
    n.scale = ::twin::dt<U>();
    n.mean = mean.loc_;
    n.var = var.loc_;
    n.gamma = gamma.loc_;
    n.beta = beta.loc_;
    n.rows = para.aLength;
    n.own = para.rLength;
    n.width = para.rLengthWithPadding;
    n.no_beta = noBeta;
    n.no_gamma = noGamma;
    return n;
}
}  // namespace detail

// [A, R]: mean and 1/sqrt(variance + epsilon) in float besides.
#define TWIN_LAYERNORM_ROWS(parameter, scratch_loc)                                                                 \
    template <typename U, typename T, bool isReuseSource = false, const LayerNormConfig& config = LNCFG_NORM>       \
    void LayerNorm(const LocalTensor<T>& output, const LocalTensor<float>& outputMean,                              \
                   const LocalTensor<float>& outputRstd, const LocalTensor<T>& inputX, const LocalTensor<U>& gamma, \
                   const LocalTensor<U>& beta, const float epsilon parameter, const LayerNormPara& para,            \
                   const LayerNormSeparateTiling& tiling, TWIN_HERE) {                                              \
        static_assert(!config.isOnlyOutput && config.isOutputRstd,                                                  \
                      "LayerNorm on Atlas A2 always writes the mean and 1/sqrt(variance): isOnlyOutput = false, "   \
                      "isOutputRstd = true");                                                                       \
        auto n = detail::rows_norm(output, outputMean, outputRstd, inputX, gamma, beta, epsilon, scratch_loc, para, \
                                   config.isNoBeta, config.isNoGamma);                                              \
        detail::scratch_of(n, tiling, tiling.aCurLength);                                                           \
        ::twin::norm(::twin::Op::LayerNormRstd, n, here);                                                           \
    }
TWIN_LAYERNORM_ROWS(TWIN_LIST(, const LocalTensor<uint8_t>& tmp), tmp.loc_)
TWIN_LAYERNORM_ROWS(, ::twin::spare())

#define TWIN_NORMALIZE_ROWS(parameter, scratch_loc)                                                                   \
    template <typename U, typename T, bool isReuseSource = false, const NormalizeConfig& config = NLCFG_NORM>         \
    void Normalize(const LocalTensor<T>& output, const LocalTensor<float>& outputRstd,                                \
                   const LocalTensor<float>& inputMean, const LocalTensor<float>& inputVariance,                      \
                   const LocalTensor<T>& inputX, const LocalTensor<U>& gamma, const LocalTensor<U>& beta parameter,   \
                   const float epsilon, const NormalizePara& para, TWIN_HERE) {                                       \
        static_assert(config.reducePattern == ReducePattern::AR, "Normalize works on ReducePattern::AR");             \
        auto n = detail::rows_norm(output, inputMean, inputVariance, inputX, gamma, beta, epsilon, scratch_loc, para, \
                                   config.isNoBeta, config.isNoGamma);                                                \
        n.res = outputRstd.loc_;                                                                                      \
        ::twin::norm(::twin::Op::Normalize, n, here);                                                                 \
    }
TWIN_NORMALIZE_ROWS(TWIN_LIST(, const LocalTensor<uint8_t>& tmp), tmp.loc_)
TWIN_NORMALIZE_ROWS(, ::twin::spare())

#define TWIN_WELFORD_UPDATE(parameter, scratch_loc)                                                         \
    template <typename T, typename U, bool isReuseSource = false,                                           \
              const WelfordUpdateConfig& config = WFUPDATE_DEFAULT_CFG>                                     \
    void WelfordUpdate(const LocalTensor<U>& outputMean, const LocalTensor<U>& outputVariance,              \
                       const LocalTensor<U>& inputMean, const LocalTensor<U>& inputVariance,                \
                       const LocalTensor<T>& inputX parameter, const WelfordUpdateParam& para, TWIN_HERE) { \
        detail::adv_type<T, half, float>();                                                                 \
        static_assert(IsSameType<U, float>::value, "WelfordUpdate keeps mean and variance in float");       \
        ::twin::Welford w;                                                                                  \
        w.type = ::twin::dt<T>();                                                                           \
        w.mean = outputMean.loc_;                                                                           \
        w.var = outputVariance.loc_;                                                                        \
        w.in_mean = inputMean.loc_;                                                                         \
        w.in_var = inputVariance.loc_;                                                                      \
        w.x = inputX.loc_;                                                                                  \
        w.tmp = scratch_loc;                                                                                \
        w.length = para.abLength;                                                                           \
        w.active = para.abComputeLength;                                                                    \
        w.rate = para.nRec;                                                                                 \
        w.in_place = config.isInplace;                                                                      \
        w.reuse = isReuseSource;                                                                            \
        ::twin::welford(::twin::Op::WelfordUpdate, w, here);                                                \
    }
TWIN_WELFORD_UPDATE(TWIN_LIST(, const LocalTensor<uint8_t>& tmp), tmp.loc_)
TWIN_WELFORD_UPDATE(, ::twin::spare())

#define TWIN_WELFORD_FINALIZE(parameter, counts_loc, scratch_loc)                                                  \
    template <bool isReuseSource = false, const WelfordFinalizeConfig& config = WFFINALIZE_DEFAULT_CFG>            \
    void WelfordFinalize(const LocalTensor<float>& outputMean, const LocalTensor<float>& outputVariance,           \
                         const LocalTensor<float>& inputMean, const LocalTensor<float>& inputVariance parameter,   \
                         const WelfordFinalizePara& para, TWIN_HERE) {                                             \
        static_assert(!config.isCorrection, "the corrected variance of WelfordFinalize is not there on Atlas A2"); \
        ::twin::Welford w;                                                                                         \
        w.mean = outputMean.loc_;                                                                                  \
        w.var = outputVariance.loc_;                                                                               \
        w.in_mean = inputMean.loc_;                                                                                \
        w.in_var = inputVariance.loc_;                                                                             \
        w.counts = counts_loc;                                                                                     \
        w.tmp = scratch_loc;                                                                                       \
        w.length = para.abLength;                                                                                  \
        w.rounds = para.rnLength;                                                                                  \
        w.head = para.headCountLength;                                                                             \
        w.head_count = para.headCount;                                                                             \
        w.tail_count = para.tailCountLength ? para.tailCount : 0;                                                  \
        w.rate = para.abRec;                                                                                       \
        w.whole = para.rRec;                                                                                       \
        ::twin::welford(::twin::Op::WelfordFinalize, w, here);                                                     \
    }
TWIN_WELFORD_FINALIZE(TWIN_LIST(, const LocalTensor<uint8_t>& tmp), ::twin::Loc{}, tmp.loc_)
TWIN_WELFORD_FINALIZE(, ::twin::Loc{}, ::twin::spare())
TWIN_WELFORD_FINALIZE(TWIN_LIST(, const LocalTensor<int32_t>& counts, const LocalTensor<uint8_t>& tmp), counts.loc_,
                      tmp.loc_)
TWIN_WELFORD_FINALIZE(TWIN_LIST(, const LocalTensor<int32_t>& counts), counts.loc_, ::twin::spare())

}  // namespace AscendC
