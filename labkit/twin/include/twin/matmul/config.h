// Types and constants of the high-level Matmul: formats, layouts, configurations. The names are where CANN has them,
// most of them outside any namespace. Fields that only steer the hardware's pipelines are stored and change no result.
#pragma once
#include "kernel_tiling/kernel_tiling.h"
#include "twin/core/tensor.h"

enum class CubeFormat { ND = 0, NZ, ZN, ZZ, NN, ND_ALIGN, SCALAR, VECTOR, ROW_MAJOR = ND, COLUMN_MAJOR = 8 };
enum class LayoutMode { NONE = 0, BSNGD, SBNGD, BNGS1S2, NORMAL };
enum class BatchMode { NONE = 0, BATCH_LESS_THAN_L1, BATCH_LARGE_THAN_L1, SINGLE_LARGE_THAN_L1 };
enum BatchOutMode { SINGLE_BATCH = 0, MULTI_BATCH, DYNAMIC };
enum class IterateOrder { ORDER_M = 0, ORDER_N, UNDEF };
enum class ScheduleType { INNER_PRODUCT = 0, OUTER_PRODUCT };
enum IterateMode : uint8_t {
    ITERATE_MODE_NORMAL = 1,
    ITERATE_MODE_ALL = 2,
    ITERATE_MODE_BATCH = 4,
    ITERATE_MODE_N_BATCH = 8,
    ITERATE_MODE_DEFAULT = 255
};
enum class DecompressionMode { DECOMP_NONE = 0 };
enum class MatmulConfigMode { CONFIG_NORM, CONFIG_MDL, CONFIG_SPECIALMDL, CONFIG_IBSHARE };

constexpr uint32_t SHARED_CO1_BUFFER_SIZE = 64 * 1024;

// An aggregate whose members are in CANN's order: kernels write MatmulConfig{false, true, false, 128, 128, 64}.
struct MatmulConfig {
    bool doNorm, doBasicBlock, doMultiDataLoad;
    uint32_t basicM, basicN, basicK;
    bool intrinsicsCheck, isNBatch, enVecND2NZ, doSpecialBasicBlock;
    uint32_t doMTE2Preload;
    uint32_t singleCoreM, singleCoreN, singleCoreK, stepM, stepN, baseMN, singleCoreMN;
    bool enUnitFlag = true;
    bool isPerTensor, hasAntiQuantOffset, doIBShareNorm, doSpecialMDL;
    bool enableInit = true;
    BatchMode batchMode;
    bool enableEnd = true, enableGetTensorC = true, enableSetOrgShape = true, enableSetBias = true,
         enableSetTail = true;
    bool enableQuantVector = true, enableSetDefineData = true;
    uint8_t iterateMode = IterateMode::ITERATE_MODE_DEFAULT;
    bool enableReuse = true;
    bool enableUBReuse, enableL1CacheUB;
    bool intraBlockPartSum = false;
    IterateOrder iterateOrder{IterateOrder::UNDEF};
    ScheduleType scheduleType;
    bool enableDoubleCache;
    bool isBiasBatch = true;
    bool enableStaticPadZeros = false, isPartialOutput = false, enableMixDualMaster = false, isA2B2Shared = false;
    bool isEnableChannelSplit = false, enableKdimReorderLoad = false, isCO1Shared = false;
    uint32_t sharedCO1BufferSize = SHARED_CO1_BUFFER_SIZE;
    BatchOutMode bmmOutMode = BatchOutMode::SINGLE_BATCH;
    bool enableL1BankConflictOptimise = false, enableRelu = false;
    DecompressionMode decompMode = DecompressionMode::DECOMP_NONE;
};

struct MatmulShapeParams { uint32_t singleCoreM, singleCoreN, singleCoreK, basicM, basicN, basicK; };
struct MatmulQuantParams { bool isPerTensor, hasAntiQuantOffset; };
struct MatmulBatchParams {
    bool isNBatch;
    BatchMode batchMode;
    bool isBiasBatch = true;
    BatchOutMode bmmOutMode = BatchOutMode::SINGLE_BATCH;
};
struct MatmulFuncParams {
    bool intrinsicsCheck, enVecND2NZ, enableDoubleCache, enableL1CacheUB;
    uint32_t doMTE2Preload;
    IterateOrder iterateOrder;
    ScheduleType scheduleType;
    bool enableReuse = true;
    bool enableUBReuse;
    bool isPartialOutput = false, isA2B2Shared = false, isEnableChannelSplit = false, enableKdimReorderLoad = false;
    bool enableL1BankConflictOptimise = false, enableRelu = false;
    DecompressionMode decompMode = DecompressionMode::DECOMP_NONE;
};
struct MatmulBiasParams { bool enableSetBias = true; };
struct MatrixOffset { int32_t offset, row, col, height, width; };

// ---- the templates to start from

constexpr MatmulConfig GetNormalConfig(const bool intrinsicsLimit = false, const bool batchLoop = false,
                                       const bool isVecND2NZ = false,
                                       const BatchMode bmmMode = BatchMode::BATCH_LESS_THAN_L1,
                                       const bool isMsgReuse = true,
                                       const IterateOrder iterateOrder = IterateOrder::UNDEF,
                                       const ScheduleType scheduleType = ScheduleType::INNER_PRODUCT,
                                       const bool enUnitFlag = true, const bool enableMixDualMaster = false,
                                       const BatchOutMode bmmOutMode = BatchOutMode::SINGLE_BATCH) {
    MatmulConfig c{};
    c.doNorm = true;
    c.intrinsicsCheck = intrinsicsLimit;
    c.isNBatch = batchLoop;
    c.enVecND2NZ = isVecND2NZ;
    c.batchMode = bmmMode;
    c.enableReuse = isMsgReuse;
    c.enableUBReuse = true;
    c.iterateOrder = iterateOrder;
    c.scheduleType = scheduleType;
    c.enUnitFlag = enUnitFlag;
    c.enableMixDualMaster = enableMixDualMaster;
    c.bmmOutMode = bmmOutMode;
    return c;
}
constexpr MatmulConfig GetMDLConfig(const bool intrinsicsLimit = false, const bool batchLoop = false,
                                    const uint32_t doMTE2Preload = 0, const bool isVecND2NZ = false,
                                    bool isPerTensor = false, bool hasAntiQuantOffset = false,
                                    const bool enUnitFlag = false, const bool isMsgReuse = true,
                                    const bool enableUBReuse = true, const bool enableL1CacheUB = false,
                                    const bool enableMixDualMaster = false, const bool enableKdimReorderLoad = false,
                                    const bool enableL1BankConflictOptimise = false) {
    MatmulConfig c{};
    c.doMultiDataLoad = true;
    c.intrinsicsCheck = intrinsicsLimit;
    c.isNBatch = batchLoop;
    c.doMTE2Preload = doMTE2Preload;
    c.enVecND2NZ = isVecND2NZ;
    c.isPerTensor = isPerTensor;
    c.hasAntiQuantOffset = hasAntiQuantOffset;
    c.enUnitFlag = enUnitFlag;
    c.enableReuse = isMsgReuse;
    c.enableUBReuse = enableUBReuse;
    c.enableL1CacheUB = enableL1CacheUB;
    c.enableMixDualMaster = enableMixDualMaster;
    c.enableKdimReorderLoad = enableKdimReorderLoad;
    c.enableL1BankConflictOptimise = enableL1BankConflictOptimise;
    return c;
}
constexpr MatmulConfig GetSpecialMDLConfig(const bool intrinsicsLimit = false, const bool batchLoop = false,
                                           const uint32_t doMTE2Preload = 0, const bool isVecND2NZ = false,
                                           bool isPerTensor = false, bool hasAntiQuantOffset = false) {
    MatmulConfig c = GetMDLConfig(intrinsicsLimit, batchLoop, doMTE2Preload, isVecND2NZ, isPerTensor,
                                  hasAntiQuantOffset);
    c.doMultiDataLoad = false;
    c.doSpecialMDL = true;
    return c;
}
constexpr MatmulConfig GetBasicConfig(const uint32_t basicM, const uint32_t basicN, const uint32_t basicK,
                                      const bool intrinsicsLimit = false, const bool batchLoop = false,
                                      const BatchMode bmmMode = BatchMode::BATCH_LESS_THAN_L1) {
    MatmulConfig c = GetNormalConfig(intrinsicsLimit, batchLoop, false, bmmMode);
    c.doNorm = false;
    c.doBasicBlock = true;
    c.basicM = basicM;
    c.basicN = basicN;
    c.basicK = basicK;
    c.enUnitFlag = false;
    return c;
}
constexpr MatmulConfig GetSpecialBasicConfig(const uint32_t basicM, const uint32_t basicN, const uint32_t basicK,
                                             const uint32_t singleCoreM, const uint32_t singleCoreN,
                                             const uint32_t singleCoreK, const uint32_t stepM, const uint32_t stepN,
                                             const bool intrinsicsLimit = false, const bool batchLoop = false,
                                             const BatchMode bmmMode = BatchMode::BATCH_LESS_THAN_L1) {
    MatmulConfig c = GetBasicConfig(basicM, basicN, basicK, intrinsicsLimit, batchLoop, bmmMode);
    c.doBasicBlock = false;
    c.doSpecialBasicBlock = true;
    c.singleCoreM = singleCoreM;
    c.singleCoreN = singleCoreN;
    c.singleCoreK = singleCoreK;
    c.stepM = stepM;
    c.stepN = stepN;
    c.baseMN = basicM * basicN;
    c.singleCoreMN = singleCoreM * singleCoreN;
    return c;
}
constexpr MatmulConfig GetIBShareNormConfig(const bool intrinsicsLimit = false, const bool batchLoop = false,
                                            const bool isVecND2NZ = false,
                                            const BatchMode bmmMode = BatchMode::BATCH_LESS_THAN_L1,
                                            const bool isDoubleCache = false, const bool enUnitFlag = true) {
    MatmulConfig c = GetNormalConfig(intrinsicsLimit, batchLoop, isVecND2NZ, bmmMode);
    c.doNorm = false;
    c.doIBShareNorm = true;
    c.enableDoubleCache = isDoubleCache;
    c.enUnitFlag = enUnitFlag;
    return c;
}

constexpr MatmulConfig CFG_NORM = GetNormalConfig();
constexpr MatmulConfig CFG_MDL = GetMDLConfig();
constexpr MatmulConfig MM_CFG_BB = GetBasicConfig(128, 128, 128);
constexpr MatmulConfig CFG_IBSHARE_NORM = GetIBShareNormConfig();

namespace twin {

constexpr void apply(MatmulConfig& c, const MatmulShapeParams& p) {
    c.singleCoreM = p.singleCoreM;
    c.singleCoreN = p.singleCoreN;
    c.singleCoreK = p.singleCoreK;
    c.basicM = p.basicM;
    c.basicN = p.basicN;
    c.basicK = p.basicK;
}
constexpr void apply(MatmulConfig& c, const MatmulQuantParams& p) {
    c.isPerTensor = p.isPerTensor;
    c.hasAntiQuantOffset = p.hasAntiQuantOffset;
}
constexpr void apply(MatmulConfig& c, const MatmulBatchParams& p) {
    c.isNBatch = p.isNBatch;
    c.batchMode = p.batchMode;
    c.isBiasBatch = p.isBiasBatch;
    c.bmmOutMode = p.bmmOutMode;
}
constexpr void apply(MatmulConfig& c, const MatmulFuncParams& p) {
    c.intrinsicsCheck = p.intrinsicsCheck;
    c.enVecND2NZ = p.enVecND2NZ;
    c.enableDoubleCache = p.enableDoubleCache;
    c.enableL1CacheUB = p.enableL1CacheUB;
    c.doMTE2Preload = p.doMTE2Preload;
    c.iterateOrder = p.iterateOrder;
    c.scheduleType = p.scheduleType;
    c.enableReuse = p.enableReuse;
    c.enableUBReuse = p.enableUBReuse;
    c.isPartialOutput = p.isPartialOutput;
    c.isA2B2Shared = p.isA2B2Shared;
    c.isEnableChannelSplit = p.isEnableChannelSplit;
    c.enableKdimReorderLoad = p.enableKdimReorderLoad;
    c.enableL1BankConflictOptimise = p.enableL1BankConflictOptimise;
    c.enableRelu = p.enableRelu;
    c.decompMode = p.decompMode;
}
constexpr void apply(MatmulConfig& c, const MatmulBiasParams& p) { c.enableSetBias = p.enableSetBias; }

}  // namespace twin

template <MatmulConfigMode configMode, typename... ArgTypes>
inline constexpr MatmulConfig GetMMConfig(ArgTypes&&... args) {
    MatmulConfig c = configMode == MatmulConfigMode::CONFIG_MDL          ? CFG_MDL
                     : configMode == MatmulConfigMode::CONFIG_SPECIALMDL ? GetSpecialMDLConfig()
                     : configMode == MatmulConfigMode::CONFIG_IBSHARE    ? CFG_IBSHARE_NORM
                                                                         : CFG_NORM;
    (::twin::apply(c, args), ...);
    return c;
}

// A tiling fixed at compile time; -1 stands for "as the run-time tiling says".
struct MatmulApiStaticTiling {
    int32_t usedCoreNum = -1, M = -1, N = -1, Ka = -1, Kb = -1, singleCoreM = -1, singleCoreN = -1, singleCoreK = -1;
    int32_t baseM = -1, baseN = -1, baseK = -1, depthA1 = -1, depthB1 = -1, stepM = -1, stepN = -1, isBias = -1,
            transLength = -1;
    int32_t iterateOrder = -1, shareMode = -1, shareL1Size = -1, shareL0CSize = -1, shareUbSize = -1, stepKa = -1,
            stepKb = -1;
    int32_t depthAL1CacheUB = -1, depthBL1CacheUB = -1, dbL0A = -1, dbL0B = -1, dbL0C = -1;
    int32_t ALayoutInfoB = -1, ALayoutInfoS = -1, ALayoutInfoN = -1, ALayoutInfoG = -1, ALayoutInfoD = -1;
    int32_t BLayoutInfoB = -1, BLayoutInfoS = -1, BLayoutInfoN = -1, BLayoutInfoG = -1, BLayoutInfoD = -1;
    int32_t CLayoutInfoB = -1, CLayoutInfoS1 = -1, CLayoutInfoN = -1, CLayoutInfoG = -1, CLayoutInfoS2 = -1;
    int32_t BatchNum = -1, mxTypePara = -1;
    MatmulConfig cfg = CFG_NORM;
};

namespace AscendC {

using ::BatchMode;
using ::CubeFormat;
using ::IterateOrder;
using ::LayoutMode;
using ::MatmulApiStaticTiling;
using ::MatmulConfig;
using ::ScheduleType;

// Memory sizes of A2 that constant tilings are cut to.
namespace detail {
constexpr int32_t kL1 = 524288, kL0 = 65536, kL0c = 131072;
template <typename T> constexpr int32_t bits() { return IsSameType<T, int4b_t>::value ? 4 : int32_t(sizeof(T)) * 8; }
constexpr int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }
constexpr int32_t most(int32_t a, int32_t b) { return a > b ? a : b; }
constexpr int32_t parts(int32_t a, int32_t b) { return b > 0 ? (a + b - 1) / b : 1; }
}  // namespace detail

// Cuts L1 for the shape in the configuration: both matrices double buffered, as many K steps as fit.
template <class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE>
constexpr MatmulApiStaticTiling GetMatmulApiTiling(const MatmulConfig& mmCFG, int32_t l1Size = detail::kL1) {
    using namespace detail;
    MatmulApiStaticTiling t;
    t.cfg = mmCFG;
    if (!mmCFG.basicM || !mmCFG.basicN || !mmCFG.basicK) return t;
    t.baseM = int32_t(mmCFG.basicM);
    t.baseN = int32_t(mmCFG.basicN);
    t.baseK = int32_t(mmCFG.basicK);
    t.isBias = mmCFG.enableSetBias;
    int32_t a = t.baseM * t.baseK / 8 * bits<typename A_TYPE::T>(),
            b = t.baseN * t.baseK / 8 * bits<typename B_TYPE::T>();
    t.dbL0A = a * 2 <= kL0 ? 2 : 1;
    t.dbL0B = b * 2 <= kL0 ? 2 : 1;
    if (!mmCFG.singleCoreM || !mmCFG.singleCoreN || !mmCFG.singleCoreK) return t;
    t.M = t.singleCoreM = int32_t(mmCFG.singleCoreM);
    t.N = t.singleCoreN = int32_t(mmCFG.singleCoreN);
    t.Ka = t.Kb = t.singleCoreK = int32_t(mmCFG.singleCoreK);
    t.stepM = t.stepN = 1;
    int32_t bias = t.isBias ? t.baseN * int32_t(sizeof(typename BIAS_TYPE::T)) : 0;
    t.stepKa = t.stepKb = most(1, least(parts(t.singleCoreK, t.baseK), (l1Size - bias) / (2 * (a + b))));
    int32_t db = 2 * t.stepKa * (a + b) + bias <= l1Size ? 2 : 1;
    t.depthA1 = t.depthB1 = t.stepKa * db;
    t.iterateOrder = 0;
    t.dbL0C = 1;
    t.transLength = 0;
    t.shareMode = 0;
    t.shareL1Size = t.depthA1 * a + t.depthB1 * b + bias;
    t.shareL0CSize = t.baseM * t.baseN * 4;
    t.shareUbSize = 0;
    return t;
}

}  // namespace AscendC
