// The high-level Matmul: C = A * B + bias by an object that knows its tiling.
//
// MatmulImpl computes on the cube core that calls it. Matmul is the same where ASCENDC_CUBE_ONLY is defined; otherwise
// it is called on the AIV and the AIC of its block does the work.
#pragma once
#include "twin/matmul/types.h"
#include "twin/memory/atomic.h"
#include "twin/memory/pipe.h"

namespace AscendC {

#define MATMUL_POLICY_DEFAULT_OF(DEFAULT) \
    template <const auto& = MM_CFG, typename...> class MATMUL_POLICY = AscendC::Impl::Detail::DEFAULT

namespace detail {

// The interface common to both kinds of objects.
template <bool client, class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE, const auto& MM_CFG, class MM_CB,
          class POLICY>
class MatmulObject {
public:
    using AType = A_TYPE;
    using BType = B_TYPE;
    using CType = C_TYPE;
    using BiasType = BIAS_TYPE;
    using CallBack = MM_CB;
    using SrcAT = typename A_TYPE::T;
    using SrcBT = typename B_TYPE::T;
    using DstT = typename C_TYPE::T;
    using BiasT = typename BIAS_TYPE::T;
    static constexpr bool enableMixDualMaster = ToMatmulConfig(MM_CFG).enableMixDualMaster;
    static constexpr bool enableABShare = A_TYPE::ibShare && B_TYPE::ibShare;

    static_assert(
        !detail::HasScale<A_TYPE>::value && !detail::HasScale<B_TYPE>::value,
        "MatmulTypeWithScale (products of MX types) is not on Atlas A2, it belongs to Ascend 950: use MatmulType");
    static_assert(
        POLICY::triangle != 2,
        "this MatmulPolicy (MX scales, split output) is not on Atlas A2, it belongs to Ascend 950: use MatmulPolicy");
    static_assert(A_TYPE::format == CubeFormat::ND || A_TYPE::format == CubeFormat::NZ ||
                      A_TYPE::format == CubeFormat::VECTOR || A_TYPE::format == CubeFormat::SCALAR,
                  "Matmul on Atlas A2 takes A in the formats ND, NZ, VECTOR and SCALAR");
    static_assert(B_TYPE::format == CubeFormat::ND || B_TYPE::format == CubeFormat::NZ ||
                      B_TYPE::format == CubeFormat::SCALAR,
                  "Matmul on Atlas A2 takes B in the formats ND and NZ");
    static_assert(C_TYPE::format == CubeFormat::ND || C_TYPE::format == CubeFormat::NZ ||
                      C_TYPE::format == CubeFormat::ND_ALIGN,
                  "Matmul on Atlas A2 gives C in the formats ND, NZ and ND_ALIGN");
    static_assert(::twin::one_of<SrcAT, half, bfloat16_t, float, int8_t, int4b_t>() && IsSameType<SrcAT, SrcBT>::value,
                  "Matmul on Atlas A2 multiplies half, bfloat16_t, float, int8_t or int4b_t, A and B of one type");
    static_assert(IsSameType<typename GetMmDstType<SrcAT>::Type, float>::value
                      ? ::twin::one_of<DstT, half, bfloat16_t, float, int8_t, uint8_t>()
                      : ::twin::one_of<DstT, int32_t, half, int8_t, uint8_t>(),
                  "Matmul on Atlas A2: floating operands give half, bfloat16_t, float or int8_t; int8_t and int4b_t "
                  "give int32_t, half or int8_t");

    static_assert(!detail::HasIndex<B_TYPE>::value ||
                      (IsSameType<SrcBT, int8_t>::value && B_TYPE::isTrans && B_TYPE::pos == TPosition::GM),
                  "SparseMatmulType: B is int8_t, in GM and transposed");

    MatmulObject() { s_.kind = &kKind; }

    void Init(const TCubeTiling* cubeTiling, TPipe* = nullptr, TWIN_HERE) {
        TCubeTiling t;
        if (cubeTiling) t = *cubeTiling;
        detail::merge(t, MM_CFG);
        ::twin::matmul_init(s_, &t, here);
    }
    void SetOrgShape(int orgM, int orgN, int orgK, TWIN_HERE) {
        ::twin::matmul_org(s_, orgM, orgN, orgK, orgK, 0, here);
    }
    void SetOrgShape(int orgM, int orgN, int orgKa, int orgKb, int orgKc = 0, TWIN_HERE) {
        ::twin::matmul_org(s_, orgM, orgN, orgKa, orgKb, orgKc, here);
    }
    void SetSingleShape(int singleM, int singleN, int singleK) { ::twin::matmul_single(s_, singleM, singleN, singleK); }
    void SetTail(int tailM = -1, int tailN = -1, int tailK = -1) { ::twin::matmul_single(s_, tailM, tailN, tailK); }

    void SetTensorA(const GlobalTensor<SrcAT>& gm, bool isTransposeA = false, TWIN_HERE) {
        set(s_.a, detail::matmul_operand(gm, isTransposeA), here);
    }
    void SetTensorA(const LocalTensor<SrcAT>& leftMatrix, bool isTransposeA = false, TWIN_HERE) {
        set(s_.a, detail::matmul_operand(leftMatrix, isTransposeA), here);
    }
    void SetTensorA(SrcAT aScalar, TWIN_HERE) { set(s_.a, scalar(aScalar), here); }
    void SetTensorB(const GlobalTensor<SrcBT>& gm, bool isTransposeB = false, TWIN_HERE) {
        set(s_.b, detail::matmul_operand(gm, isTransposeB), here);
    }
    void SetTensorB(const LocalTensor<SrcBT>& rightMatrix, bool isTransposeB = false, TWIN_HERE) {
        set(s_.b, detail::matmul_operand(rightMatrix, isTransposeB), here);
    }
    void SetTensorB(SrcBT bScalar, TWIN_HERE) { set(s_.b, scalar(bScalar), here); }
    void SetBias(const GlobalTensor<BiasT>& biasGlobal, TWIN_HERE) {
        ::twin::matmul_set_bias(s_, detail::matmul_operand(biasGlobal), here);
    }
    void SetBias(const LocalTensor<BiasT>& inputBias, TWIN_HERE) {
        ::twin::matmul_set_bias(s_, detail::matmul_operand(inputBias), here);
    }
    void DisableBias() { s_.has_bias = false; }
    void ClearBias() { s_.has_bias = false; }

    void SetQuantScalar(const uint64_t quantScalar) {
        s_.scale = quantScalar;
        s_.quant_scalar = true;
        s_.quant_vector = false;
    }
    void SetQuantVector(const GlobalTensor<uint64_t>& quantTensor) { quantities(detail::matmul_operand(quantTensor)); }
    void SetQuantVector(const LocalTensor<uint64_t>& quantTensor) { quantities(detail::matmul_operand(quantTensor)); }
    void SetSparseIndex(const GlobalTensor<uint8_t>& indexGlobal) { s_.sparse_index = indexGlobal.gm_; }
    template <typename T> void SetAntiQuantScalar(T, T) {
        static_assert(sizeof(T) == 0, "SetAntiQuantScalar is not on Atlas A2: cast B to half before the product");
    }
    template <typename T> void SetAntiQuantVector(const LocalTensor<T>&, const LocalTensor<T>&) {
        static_assert(sizeof(T) == 0, "SetAntiQuantVector is not on Atlas A2: cast B to half before the product");
    }

    void SetHF32(bool enableHF32 = false, int32_t transMode = 0) {
        s_.hf32 = enableHF32;
        s_.hf32_zero = transMode == 1;
    }
    void SetUserDefInfo(const uint64_t tilingPtr) { s_.user_info = tilingPtr; }
    template <class T> void SetSelfDefineData(T dataPtr) {
        static_assert(sizeof(T) <= sizeof(uint64_t),
                      "SetSelfDefineData hands over eight bytes at most: give the address of the data in GM");
        s_.self_data = 0;
        __builtin_memcpy(&s_.self_data, &dataPtr, sizeof(T));
    }
    void SetSubBlockIdx(uint8_t subBlockIdx) { sub_ = subBlockIdx; }
    uint8_t GetSubBlockIdx() { return sub_; }
    template <class T> void SetWorkspace(GlobalTensor<T>& addr) { s_.workspace = addr.gm_; }
    template <class T> void SetWorkspace(__gm__ const T* addr, int size) {
        s_.workspace.ptr = (uint8_t*)addr;
        s_.workspace.base = s_.workspace.ptr;
        s_.workspace.bytes = uint64_t(size) * sizeof(T);
    }
    void SetLocalWorkspace(const LocalTensor<uint8_t>&) {}  // Atlas A2 converts formats on the way and needs none

    template <bool sync = true> bool Iterate(bool enPartialSum = false, TWIN_HERE) {
        ::twin::MatmulCall c = call<sync>();
        c.partial_sum = enPartialSum;
        return ::twin::matmul_iterate(s_, c, here);
    }
    template <bool sync = true, typename T>
    bool Iterate(bool enPartialSum, const LocalTensor<T>& localCmatrix, TWIN_HERE) {
        ::twin::MatmulCall c = call<sync>();
        c.partial_sum = enPartialSum;
        return ::twin::matmul_iterate(s_, c, localCmatrix.loc_, here);
    }
    template <bool sync = true> void IterateAll(const GlobalTensor<DstT>& gm, TWIN_HERE) {
        ::twin::matmul_all(s_, call<sync>(), gm.gm_, here);
    }
    template <bool sync = true> void IterateAll(const GlobalTensor<DstT>& gm, uint8_t enAtomic,
                                                bool enSequentialWrite = false, bool waitIterateAll = false,
                                                bool fakeMsg = false, TWIN_HERE) {
        ::twin::MatmulCall c = in_order<sync>(enAtomic, enSequentialWrite);
        c.wait = waitIterateAll;
        c.fake = fakeMsg;
        ::twin::matmul_all(s_, c, gm.gm_, here);
    }
    template <bool sync = true> void IterateAll(const LocalTensor<DstT>& localC, uint8_t = 0, TWIN_HERE) {
        ::twin::matmul_all(s_, call<sync>(), localC.loc_, here);
    }
    template <bool sync = true> void GetTensorC(const GlobalTensor<DstT>& gm, TWIN_HERE) {
        ::twin::matmul_get(s_, call<sync>(), gm.gm_, here);
    }
    template <bool sync = true>
    void GetTensorC(const GlobalTensor<DstT>& gm, uint8_t enAtomic, bool enSequentialWrite = false, TWIN_HERE) {
        ::twin::matmul_get(s_, in_order<sync>(enAtomic, enSequentialWrite), gm.gm_, here);
    }
    template <bool sync = true, bool doPad = false>
    void GetTensorC(const LocalTensor<DstT>& co2Local, uint8_t enAtomic = 0, bool enSequentialWrite = false,
                    uint32_t = 0, uint32_t = 0, uint32_t = 0, uint32_t = 0, TWIN_HERE) {
        static_assert(!doPad, "GetTensorC with doPad is withdrawn by CANN: take CubeFormat::ND_ALIGN for C");
        ::twin::matmul_get(s_, call<sync>(enAtomic, enSequentialWrite), co2Local.loc_, here);
    }
    template <bool sync = true> void GetTensorC(const GlobalTensor<DstT>& gm, const LocalTensor<DstT>& co2Local,
                                                uint8_t enAtomic = 0, bool enSequentialWrite = false, TWIN_HERE) {
        ::twin::matmul_get(s_, in_order<sync>(enAtomic, enSequentialWrite), gm.gm_, here);
        ::twin::matmul_get(s_, call<sync>(0, true), co2Local.loc_, here);
    }
    template <bool sync = true>
    GlobalTensor<DstT> GetTensorC(uint8_t enAtomic = 0, bool enSequentialWrite = false, TWIN_HERE) {
        return tensor(::twin::matmul_get(s_, call<sync>(enAtomic, enSequentialWrite), here));
    }
    void AsyncGetTensorC(const LocalTensor<DstT>& c, TWIN_HERE) {
        ::twin::matmul_get(s_, call<false>(0, true), c.loc_, here);
    }
    void WaitGetTensorC(TWIN_HERE) { ::twin::matmul_wait(s_, true, here); }
    void WaitIterateAll(TWIN_HERE) { ::twin::matmul_wait(s_, false, here); }
    void WaitIterateBatch(TWIN_HERE) { ::twin::matmul_wait(s_, false, here); }
    template <bool isTurnOnDebug = true> MatrixOffset GetOffsetC() { return {}; }
    void End() { ::twin::matmul_end(s_); }

    static constexpr ::twin::MatmulKind kKind =
        detail::matmul_kind<A_TYPE, B_TYPE, C_TYPE, BIAS_TYPE, MM_CFG, MM_CB, POLICY, client>();
    ::twin::MatmulState s_;

protected:
    template <bool sync> static ::twin::MatmulCall call(uint8_t atomic = 0, bool sequential = false) {
        ::twin::MatmulCall c;
        c.sync = sync;
        c.atomic = atomic;
        c.sequential = sequential;
        return c;
    }
    template <bool sync> static ::twin::MatmulCall in_order(uint8_t atomic, bool sequential) {  // may store atomically
        static_cast<void>(&::twin::InOrder<0>::known);
        return call<sync>(atomic, sequential);
    }
    static GlobalTensor<DstT> tensor(const ::twin::Gm& gm) {
        GlobalTensor<DstT> t;
        t.gm_ = gm;
        return t;
    }
private:
    void set(::twin::MatmulOperand& side, const ::twin::MatmulOperand& o, ::twin::Here here) {
        ::twin::matmul_set(s_, side, o, here);
    }
    template <typename T> static ::twin::MatmulOperand scalar(T v) {
        ::twin::MatmulOperand o;
        o.in = ::twin::MatmulOperand::In::Value;
        o.value = ::twin::value_of(v);
        return o;
    }
    void quantities(const ::twin::MatmulOperand& o) {
        s_.quant = o;
        s_.quant_vector = true;
        s_.quant_scalar = false;
    }
    uint8_t sub_ = 0;
};

}  // namespace detail

// Called on a cube core, which computes itself.
template <class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE = C_TYPE, const auto& MM_CFG = CFG_NORM,
          class MM_CB = MatmulCallBackFunc<nullptr, nullptr, nullptr>, MATMUL_POLICY_DEFAULT_OF(MatmulPolicy)>
class MatmulImpl
    : public detail::MatmulObject<false, A_TYPE, B_TYPE, C_TYPE, BIAS_TYPE, MM_CFG, MM_CB, MATMUL_POLICY<MM_CFG>> {
    using Base = detail::MatmulObject<false, A_TYPE, B_TYPE, C_TYPE, BIAS_TYPE, MM_CFG, MM_CB, MATMUL_POLICY<MM_CFG>>;
public:
    using DstT = typename C_TYPE::T;
    void SetBatchNum(int32_t batchA, int32_t batchB) {
        this->s_.batch_a = batchA;
        this->s_.batch_b = batchB;
    }
    void SetNBatchOutNum(int32_t nBatchOutNum) { this->s_.batch_out = nBatchOutNum; }
    void IterateBatch(const GlobalTensor<DstT>& gm, bool enPartialSum, uint8_t enAtomic, bool enSequentialWrite,
                      const uint32_t matrixStrideA = 0, const uint32_t matrixStrideB = 0, const uint32_t = 0,
                      TWIN_HERE) {
        ::twin::matmul_batch(this->s_, batches(enPartialSum, enAtomic, enSequentialWrite, matrixStrideA, matrixStrideB),
                             gm.gm_, here);
    }
    void IterateBatch(const LocalTensor<DstT>& ubCmatrix, bool enPartialSum, uint8_t enAtomic, bool enSequentialWrite,
                      const uint32_t matrixStrideA = 0, const uint32_t matrixStrideB = 0, const uint32_t = 0,
                      TWIN_HERE) {
        ::twin::matmul_batch(this->s_, batches(enPartialSum, enAtomic, enSequentialWrite, matrixStrideA, matrixStrideB),
                             ubCmatrix.loc_, here);
    }
private:
    ::twin::MatmulCall batches(bool partial, uint8_t atomic, bool sequential, uint32_t strideA, uint32_t strideB) {
        ::twin::MatmulCall c = Base::template in_order<true>(atomic, sequential);
        c.partial_sum = partial;
        c.batch_a = uint32_t(this->s_.batch_a);
        c.batch_b = uint32_t(this->s_.batch_b);
        c.stride_a = strideA;
        c.stride_b = strideB;
        return c;
    }
};

// Called on a vector core; the AIC of its block computes.
template <class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE = C_TYPE, const auto& MM_CFG = CFG_NORM,
          class MM_CB = MatmulCallBackFunc<nullptr, nullptr, nullptr>, MATMUL_POLICY_DEFAULT_OF(MatmulPolicy)>
class MatmulClient
    : public detail::MatmulObject<true, A_TYPE, B_TYPE, C_TYPE, BIAS_TYPE, MM_CFG, MM_CB, MATMUL_POLICY<MM_CFG>> {
    using Base = detail::MatmulObject<true, A_TYPE, B_TYPE, C_TYPE, BIAS_TYPE, MM_CFG, MM_CB, MATMUL_POLICY<MM_CFG>>;
public:
    using DstT = typename C_TYPE::T;
    template <bool sync = true, bool waitIterateBatch = false>
    void IterateBatch(const GlobalTensor<DstT>& gm, uint32_t batchA, uint32_t batchB, bool enSequentialWrite,
                      const uint32_t matrixStrideA = 0, const uint32_t matrixStrideB = 0, const uint32_t = 0,
                      TWIN_HERE) {
        ::twin::MatmulCall c = batches<sync>(batchA, batchB, enSequentialWrite, matrixStrideA, matrixStrideB);
        c.wait = waitIterateBatch;
        ::twin::matmul_batch(this->s_, c, gm.gm_, here);
    }
    template <bool sync = true, bool waitIterateBatch = false>
    void IterateBatch(const GlobalTensor<DstT>& gm, uint32_t batchA, uint32_t batchB, bool enSequentialWrite,
                      const uint32_t matrixStrideA, const uint32_t matrixStrideB, const uint32_t,
                      const bool enPartialSum, const uint8_t enAtomic = 0, TWIN_HERE) {
        ::twin::MatmulCall c = batches<sync>(batchA, batchB, enSequentialWrite, matrixStrideA, matrixStrideB,
                                             enPartialSum);
        c.wait = waitIterateBatch;
        c.atomic = Base::template in_order<sync>(enAtomic, false).atomic;
        ::twin::matmul_batch(this->s_, c, gm.gm_, here);
    }
    template <bool sync = true> void IterateBatch(const LocalTensor<DstT>& ubCmatrix, uint32_t batchA, uint32_t batchB,
                                                  bool enSequentialWrite, const uint32_t matrixStrideA = 0,
                                                  const uint32_t matrixStrideB = 0, const uint32_t = 0,
                                                  const bool enPartialSum = false, const uint8_t = 0, TWIN_HERE) {
        static_assert(sync, "IterateBatch into local memory is synchronous: leave `sync` true");
        ::twin::matmul_batch(
            this->s_, batches<sync>(batchA, batchB, enSequentialWrite, matrixStrideA, matrixStrideB, enPartialSum),
            ubCmatrix.loc_, here);
    }
    template <bool sync = true, bool waitIterateBatch = false>
    void IterateNBatch(const uint32_t batchLoop, uint32_t batchA, uint32_t batchB, bool enSequentialWrite,
                       const uint32_t matrixStrideA = 0, const uint32_t matrixStrideB = 0, const uint32_t = 0,
                       const bool enPartialSum = false, const uint8_t = 0, TWIN_HERE) {
        static_assert(ToMatmulConfig(MM_CFG).isNBatch,
                      "IterateNBatch needs a configuration with isNBatch: GetNormalConfig(false, true) or "
                      "MatmulBatchParams{true, ...}");
        constexpr bool several = A_TYPE::layout > LayoutMode::NONE && B_TYPE::layout > LayoutMode::NONE &&
                                 A_TYPE::layout != LayoutMode::NORMAL && B_TYPE::layout != LayoutMode::NORMAL &&
                                 C_TYPE::layout != LayoutMode::NORMAL;
        static_assert(several,
                      "IterateNBatch takes matrices of the layouts BSNGD, SBNGD and BNGS1S2; for NORMAL call "
                      "IterateBatch once for each loop");
        ::twin::MatmulCall c = batches<sync>(batchA, batchB, enSequentialWrite, matrixStrideA, matrixStrideB,
                                             enPartialSum);
        c.loops = batchLoop;
        c.wait = waitIterateBatch;
        ::twin::matmul_n_batch(this->s_, c, here);
    }
    template <bool sync = true>
    GlobalTensor<DstT> GetBatchTensorC(uint32_t batchA, uint32_t batchB, bool enSequentialWrite = false, TWIN_HERE) {
        return Base::tensor(
            ::twin::matmul_get_batch(this->s_, batches<sync>(batchA, batchB, enSequentialWrite, 0, 0), here));
    }
    template <bool sync = true> void GetBatchTensorC(const LocalTensor<DstT>& c, uint32_t batchA, uint32_t batchB,
                                                     bool enSequentialWrite = false, TWIN_HERE) {
        ::twin::matmul_get_batch(this->s_, batches<sync>(batchA, batchB, enSequentialWrite, 0, 0), c.loc_, here);
    }
    template <bool sync = true>
    GlobalTensor<DstT> GetBatchC(uint32_t batchA, uint32_t batchB, bool enSequentialWrite = false, TWIN_HERE) {
        return GetBatchTensorC<sync>(batchA, batchB, enSequentialWrite, here);
    }
    template <bool sync = true> void GetBatchC(const LocalTensor<DstT>& c, uint32_t batchA, uint32_t batchB,
                                               bool enSequentialWrite = false, TWIN_HERE) {
        GetBatchTensorC<sync>(c, batchA, batchB, enSequentialWrite, here);
    }
private:
    template <bool sync> static ::twin::MatmulCall batches(uint32_t a, uint32_t b, bool sequential, uint32_t strideA,
                                                           uint32_t strideB, bool partial = false) {
        ::twin::MatmulCall c = Base::template call<sync>(0, sequential);
        c.partial_sum = partial;
        c.batch_a = a;
        c.batch_b = b;
        c.stride_a = strideA;
        c.stride_b = strideB;
        return c;
    }
};

// Registers objects, each followed by its tiling or by none; false: this core must leave the kernel.
namespace detail {
template <class M> void matmul_inits(TPipe*, M&) {}
template <class M, class T, class... Rest> void matmul_inits(TPipe* pipe, M& object, T tiling, Rest&&... rest) {
    object.Init(tiling, pipe);
    if constexpr (sizeof...(rest) > 0) matmul_inits(pipe, rest...);
}
template <class M, class... Rest> bool matmul_objects(TPipe* pipe, ::twin::Here here, M& object, Rest&&... rest) {
    if (!::twin::matmul_register(M::kKind, here)) return false;
    matmul_inits(pipe, object, rest...);
    return true;
}
}  // namespace detail

}  // namespace AscendC

namespace matmul = AscendC;

#define REGIST_MATMUL_OBJ(tpipe, workspace, ...)                                                            \
    do {                                                                                                    \
        if (!AscendC::detail::matmul_objects(tpipe, ::twin::Here{__FILE__, __LINE__}, __VA_ARGS__)) return; \
    } while (0)
#define REGIST_MATMUL_OBJ_STATIC REGIST_MATMUL_OBJ
#define REGIST_CUBE_OBJ REGIST_MATMUL_OBJ
