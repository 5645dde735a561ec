// Compile-time properties of a Matmul object: types of its operands, callbacks, policies, and its kind derived from
// them.
#pragma once
#include "twin/matmul/abi.h"
#include "twin/matmul/config.h"

namespace AscendC {

template <TPosition POSITION, CubeFormat FORMAT, typename TYPE, bool ISTRANS = false,
          LayoutMode LAYOUT = LayoutMode::NONE, bool IBSHARE = false, TPosition SRCPOS = TPosition::GM>
struct MatmulType {
    constexpr static TPosition pos = POSITION, srcPos = SRCPOS;
    constexpr static CubeFormat format = FORMAT;
    using T = TYPE;
    constexpr static bool isTrans = ISTRANS, ibShare = IBSHARE;
    constexpr static LayoutMode layout = LAYOUT;
};
template <TPosition POSITION, TPosition INDEX_POSITION, CubeFormat FORMAT, typename TYPE, bool ISTRANS = false,
          LayoutMode LAYOUT = LayoutMode::NONE, bool IBSHARE = false>
struct SparseMatmulType : MatmulType<POSITION, FORMAT, TYPE, ISTRANS, LAYOUT, IBSHARE> {
    constexpr static TPosition indexPosition = INDEX_POSITION;
};
template <TPosition POSITION, TPosition SCALE_POSITION, CubeFormat FORMAT, typename TYPE, bool ISTRANS = false,
          TPosition SRCPOS = TPosition::GM, CubeFormat SCALE_FORMAT = FORMAT, bool SCALE_ISTRANS = ISTRANS,
          TPosition SCALE_SRCPOS = TPosition::GM>
struct MatmulTypeWithScale : MatmulType<POSITION, FORMAT, TYPE, ISTRANS, LayoutMode::NONE, false, SRCPOS> {
    constexpr static TPosition scalePosition = SCALE_POSITION;
};

// The type in L0C for operands of a type.
template <typename T> struct GetMmDstType { using Type = float; };
template <> struct GetMmDstType<int8_t> { using Type = int32_t; };
template <> struct GetMmDstType<int4b_t> { using Type = int32_t; };

// Functions of the kernel that replace the copies of a block: L0C to GM, A and B from GM to L1.
template <void (*DataCopyOut)(const __gm__ void*, const LocalTensor<int8_t>&, const void*, const uint64_t,
                              const uint64_t) = nullptr,
          void (*CopyA1)(const LocalTensor<int8_t>&, const __gm__ void*, int, int, int, int, const uint64_t,
                         const uint64_t) = nullptr,
          void (*CopyB1)(const LocalTensor<int8_t>&, const __gm__ void*, int, int, int, int, const uint64_t,
                         const uint64_t) = nullptr>
struct MatmulCallBackFunc {
    static constexpr ::twin::MatmulCopyOut out() {
        if constexpr (DataCopyOut == nullptr) return nullptr;
        else
            return [](const void* gm, const ::twin::Loc& l, const void* p, uint64_t tiling, uint64_t data) {
                DataCopyOut(gm, LocalTensor<int8_t>(l), p, tiling, data);
            };
    }
    static constexpr ::twin::MatmulCopyIn a() {
        if constexpr (CopyA1 == nullptr) return nullptr;
        else
            return [](const ::twin::Loc& l, const void* gm, int row, int col, int h, int w, uint64_t tiling,
                      uint64_t data) { CopyA1(LocalTensor<int8_t>(l), gm, row, col, h, w, tiling, data); };
    }
    static constexpr ::twin::MatmulCopyIn b() {
        if constexpr (CopyB1 == nullptr) return nullptr;
        else
            return [](const ::twin::Loc& l, const void* gm, int row, int col, int h, int w, uint64_t tiling,
                      uint64_t data) { CopyB1(LocalTensor<int8_t>(l), gm, row, col, h, w, tiling, data); };
    }
};
struct DataCopyOutParams {
    uint8_t quantMode = 0;
    uint16_t cBurstNum = 0, burstLen = 0, srcStride = 0;
    uint32_t dstStride = 0;
    uint16_t oriNSize = 0;
    bool enUnitFlag = false;
    uint64_t quantScalar = 0;
    int curM = 0, curN = 0;
    uint64_t cbufWorkspaceAddr = 0;
};

// Rounding as the library's headers have it, for kernels that count on them.
inline uint16_t CeilDiv(uint16_t num1, uint16_t num2) {
    return num2 ? uint16_t((num1 + num2 - 1) / num2) : uint16_t(0);
}
inline uint16_t CeilAlign(uint16_t num1, uint16_t num2) { return uint16_t(CeilDiv(num1, num2) * num2); }
template <typename T> T CeilT(T num1, T num2) { return num2 ? (num1 + num2 - 1) / num2 : T(0); }
template <typename T> T CeilAlignT(T num1, T num2) { return CeilT(num1, num2) * num2; }

namespace Impl {
constexpr int32_t QUEUE_DEPTH = 1, L1_SIZE = detail::kL1, DB_ON = 2, DB_OFF = 1;
namespace Detail {
#define TWIN_POLICY(name, tri) \
    template <const auto& MM_CFG, typename...> struct name { static constexpr int8_t triangle = tri; }
TWIN_POLICY(MatmulPolicy, 0);
TWIN_POLICY(NBuffer33MatmulPolicy, 0);
TWIN_POLICY(TrianUpperMatmulPolicy, 1);
TWIN_POLICY(TrianLowerMatmulPolicy, -1);
TWIN_POLICY(MatmulWithScalePolicy, 2);
TWIN_POLICY(SplitMMatmulPolicy, 2);
TWIN_POLICY(SplitNMatmulPolicy, 2);
#undef TWIN_POLICY
}  // namespace Detail
}  // namespace Impl

constexpr const MatmulConfig& ToMatmulConfig(const MatmulConfig& c) { return c; }
constexpr const MatmulConfig& ToMatmulConfig(const MatmulApiStaticTiling& t) { return t.cfg; }

namespace detail {

template <class TYPE> constexpr ::twin::MatmulSide matmul_side() {
    using T = typename TYPE::T;
    constexpr bool nibbles = IsSameType<T, int4b_t>::value;
    ::twin::MatmulSide s;
    if constexpr (nibbles) s.type = ::twin::Dt::I8;
    else s.type = ::twin::dt<T>();
    s.nibbles = nibbles;
    s.pos = uint8_t(TYPE::pos);
    s.format = uint8_t(TYPE::format);
    s.layout = uint8_t(TYPE::layout);
    s.trans = TYPE::isTrans;
    s.share = TYPE::ibShare;
    return s;
}
template <class TYPE, typename = void> struct HasScale { static constexpr bool value = false; };
template <class TYPE> struct HasScale<TYPE, decltype(void(TYPE::scalePosition))> {
    static constexpr bool value = true;
};
template <class TYPE, typename = void> struct HasIndex { static constexpr bool value = false; };
template <class TYPE> struct HasIndex<TYPE, decltype(void(TYPE::indexPosition))> {
    static constexpr bool value = true;
};

template <class A, class B, class C, class BIAS, const auto& MM_CFG, class MM_CB, class POLICY, bool client>
constexpr ::twin::MatmulKind matmul_kind() {
    constexpr const MatmulConfig& c = ToMatmulConfig(MM_CFG);
    ::twin::MatmulKind k;
    k.a = matmul_side<A>();
    k.b = matmul_side<B>();
    k.c = matmul_side<C>();
    k.bias = matmul_side<BIAS>();
    k.client = client;
    k.mdl = c.doMultiDataLoad || c.doSpecialMDL;
    k.unit_flag = c.enUnitFlag;
    k.bias_on = c.enableSetBias;
    k.bias_batch = c.isBiasBatch;
    k.n_batch = c.isNBatch;
    k.channel_split = c.isEnableChannelSplit;
    k.partial = c.isPartialOutput;
    k.both = c.enableMixDualMaster;
    k.sparse = HasIndex<B>::value;
    k.order = c.iterateOrder == IterateOrder::UNDEF ? -1 : int8_t(c.iterateOrder);
    k.triangle = POLICY::triangle;
    k.copy_out = MM_CB::out();
    k.copy_a = MM_CB::a();
    k.copy_b = MM_CB::b();
    return k;
}

// clang-format off
#define TWIN_MERGE_FIELDS(X) \
    X(usedCoreNum) X(M) X(N) X(Ka) X(Kb) X(singleCoreM) X(singleCoreN) X(singleCoreK) X(baseM) X(baseN) X(baseK) \
    X(depthA1) X(depthB1) X(stepM) X(stepN) X(isBias) X(transLength) X(iterateOrder) X(shareMode) X(shareL1Size) \
    X(shareL0CSize) X(shareUbSize) X(stepKa) X(stepKb) X(depthAL1CacheUB) X(depthBL1CacheUB) X(dbL0A) X(dbL0B) \
    X(dbL0C) X(ALayoutInfoB) X(ALayoutInfoS) X(ALayoutInfoN) X(ALayoutInfoG) X(ALayoutInfoD) X(BLayoutInfoB) \
    X(BLayoutInfoS) X(BLayoutInfoN) X(BLayoutInfoG) X(BLayoutInfoD) X(CLayoutInfoB) X(CLayoutInfoS1) X(CLayoutInfoN) \
    X(CLayoutInfoG) X(CLayoutInfoS2) X(BatchNum)
// clang-format on
inline void merge(TCubeTiling& t, const MatmulApiStaticTiling& s) {
#define X(name) t.name = s.name != -1 ? s.name : t.name;
    TWIN_MERGE_FIELDS(X)
#undef X
}
inline void merge(TCubeTiling& t, const MatmulConfig& c) {
    if (!c.doBasicBlock && !c.doSpecialBasicBlock) return;
    t.baseM = int32_t(c.basicM);
    t.baseN = int32_t(c.basicN);
    t.baseK = int32_t(c.basicK);
}

template <typename T>::twin::MatmulOperand matmul_operand(const GlobalTensor<T>& t, bool trans = false) {
    ::twin::MatmulOperand o;
    o.in = ::twin::MatmulOperand::In::Gm;
    o.trans = trans;
    o.gm = t.gm_;
    return o;
}
template <typename T>::twin::MatmulOperand matmul_operand(const LocalTensor<T>& t, bool trans = false) {
    ::twin::MatmulOperand o;
    o.in = ::twin::MatmulOperand::In::Local;
    o.trans = trans;
    o.loc = t.loc_;
    return o;
}

}  // namespace detail

}  // namespace AscendC
