// TopK: the k largest or smallest of each row, with their indices.
#pragma once
#include "kernel_tiling/kernel_tiling.h"
#include "twin/library/math.h"
#include "twin/library/topk_types.h"

namespace twin {
struct TopKCall {
    Loc values, index, src, src_index, finish, work;
    int32_t k, rows, inner, n, work_elements;
    bool largest, small, own_index, finishes;
};
void top_k(Dt, const TopKCall&, Here);
}  // namespace twin

namespace AscendC {

template <typename T, bool isInitIndex = false, bool isHasfinish = false, bool isReuseSrc = false,
          TopKMode topkMode = TopKMode::TOPK_NORMAL>
void TopK(const LocalTensor<T>& dstValueLocal, const LocalTensor<int32_t>& dstIndexLocal,
          const LocalTensor<T>& srcLocal, const LocalTensor<int32_t>& srcIndexLocal,
          const LocalTensor<bool>& finishLocal, const LocalTensor<uint8_t>& tmpLocal, const int32_t k,
          const TopkTiling& tilling, const TopKInfo& topKInfo, const bool isLargest = true, TWIN_HERE) {
    detail::adv_type<T, half, float>();
    constexpr bool small = topkMode == TopKMode::TOPK_NSMALL;  // it does not look at finishLocal
    ::twin::TopKCall c{dstValueLocal.loc_,
                       dstIndexLocal.loc_,
                       srcLocal.loc_,
                       srcIndexLocal.loc_,
                       finishLocal.loc_,
                       tmpLocal.loc_,
                       k,
                       topKInfo.outter,
                       topKInfo.inner,
                       topKInfo.n,
                       tilling.tmpLocalSize,
                       isLargest,
                       small,
                       isInitIndex,
                       isHasfinish && !small};
    ::twin::top_k(::twin::dt<T>(), c, here);
}
template <typename T, bool isInitIndex = false, bool isHasfinish = false, bool isReuseSrc = false,
          TopKMode topkMode = TopKMode::TOPK_NORMAL>
void TopK(const LocalTensor<T>& dstValueLocal, const LocalTensor<int32_t>& dstIndexLocal,
          const LocalTensor<T>& srcLocal, const LocalTensor<int32_t>& srcIndexLocal,
          const LocalTensor<bool>& finishLocal, const int32_t k, const TopkTiling& tilling, const TopKInfo& topKInfo,
          const bool isLargest = true, TWIN_HERE) {
    TopK<T, isInitIndex, isHasfinish, isReuseSrc, topkMode>(dstValueLocal, dstIndexLocal, srcLocal, srcIndexLocal,
                                                            finishLocal, LocalTensor<uint8_t>(::twin::spare()), k,
                                                            tilling, topKInfo, isLargest, here);
}
template <typename T, bool isInitIndex, bool isHasfinish, bool isReuseSrc, TopKMode topkMode, const TopKConfig& config,
          typename... Args>
void TopK(const LocalTensor<T>&, const Args&...) {
    static_assert(
        sizeof(T) == 0,
        "TopK with a TopKConfig is not there on Atlas A2: leave the argument out (merge sort, isLargest decides)");
}

}  // namespace AscendC
