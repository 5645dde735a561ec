// Internal functions of CANN's library that public kernels call by name, on pointers from GetPhyAddr.
#pragma once
#include "twin/cube/mmad.h"
#include "twin/vector/raw_copy.h"

namespace AscendC {

namespace detail {
template <typename T> LocalTensor<T> ub_tensor(__ubuf__ T* p, ::twin::Here here) {
    return LocalTensor<T>(::twin::ub_at(p, here));
}
template <typename T> GlobalTensor<T> gm_tensor(__gm__ T* p) {
    GlobalTensor<T> r;
    r.SetGlobalBuffer(p);
    return r;
}
}  // namespace detail

template <typename T> void DataCopyGM2UBImpl(__ubuf__ T* dst, __gm__ T* src, const DataCopyParams& p, TWIN_HERE) {
    DataCopy(detail::ub_tensor(dst, here), detail::gm_tensor(src), p, here);
}
template <typename T> void DataCopyUB2GMImpl(__gm__ T* dst, __ubuf__ T* src, const DataCopyParams& p, TWIN_HERE) {
    DataCopy(detail::gm_tensor(dst), detail::ub_tensor(src, here), p, here);
}
template <typename T> void DataCopyUB2UBImpl(__ubuf__ T* dst, __ubuf__ T* src, const DataCopyParams& p, TWIN_HERE) {
    DataCopy(detail::ub_tensor(dst, here), detail::ub_tensor(src, here), p, here);
}
template <typename T> void DataCopyPadGm2UBImpl(__ubuf__ T* dst, __gm__ T* src, const DataCopyParams& p,
                                                const DataCopyPadParams& pad, TWIN_HERE) {
    DataCopyPad(detail::ub_tensor(dst, here), detail::gm_tensor(src), p, pad, here);
}
template <typename T> void DataCopyPadGm2UBImpl(__ubuf__ T* dst, __gm__ T* src, const DataCopyExtParams& p,
                                                const DataCopyPadExtParams<T>& pad, TWIN_HERE) {
    DataCopyPad(detail::ub_tensor(dst, here), detail::gm_tensor(src), p, pad, here);
}
template <typename T> void DataCopyPadUB2GMImpl(__gm__ T* dst, __ubuf__ T* src, const DataCopyParams& p, TWIN_HERE) {
    DataCopyPad(detail::gm_tensor(dst), detail::ub_tensor(src, here), p, here);
}
template <typename T> void DataCopyPadUB2GMImpl(__gm__ T* dst, __ubuf__ T* src, const DataCopyExtParams& p, TWIN_HERE) {
    DataCopyPad(detail::gm_tensor(dst), detail::ub_tensor(src, here), p, here);
}

template <typename T> void TransDataTo5HDImpl(__ubuf__ T* dstList[NCHW_CONV_ADDR_LIST_SIZE],
                                              __ubuf__ T* srcList[NCHW_CONV_ADDR_LIST_SIZE],
                                              const TransDataTo5HDParams& p, TWIN_HERE) {
    uint64_t to[NCHW_CONV_ADDR_LIST_SIZE], from[NCHW_CONV_ADDR_LIST_SIZE];
    for (int32_t i = 0; i < NCHW_CONV_ADDR_LIST_SIZE; i++) {
        to[i] = uint64_t(dstList[i]);
        from[i] = uint64_t(srcList[i]);
    }
    TransDataTo5HD<T>(to, from, p, here);
}

}  // namespace AscendC
