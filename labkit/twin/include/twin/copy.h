// DataCopy and DataCopyPad between GM and UB, and within UB.
#pragma once
#include "twin/tensor.h"

namespace AscendC {

// blockLen and gaps in units of 32 bytes (DataCopy) or, for DataCopyPad, blockLen and the GM side in bytes.
struct DataCopyParams {
    DataCopyParams() {}
    DataCopyParams(uint16_t count, uint16_t len, uint16_t srcGapIn, uint16_t dstGapIn)
        : blockCount(count), blockLen(len), srcStride(srcGapIn), dstStride(dstGapIn) {}
    uint16_t blockCount = 1;
    uint16_t blockLen = 0;
    union {
        uint16_t srcStride = 0;
        uint16_t srcGap;
    };
    union {
        uint16_t dstStride = 0;
        uint16_t dstGap;
    };
};
struct DataCopyExtParams {
    DataCopyExtParams() {}
    DataCopyExtParams(uint16_t count, uint32_t len, uint32_t src, uint32_t dst, uint32_t rsvIn)
        : blockCount(count), blockLen(len), srcStride(src), dstStride(dst), rsv(rsvIn) {}
    uint16_t blockCount = 1;
    uint32_t blockLen = 0, srcStride = 0, dstStride = 0, rsv = 0;
};
struct DataCopyPadParams {
    DataCopyPadParams() {}
    DataCopyPadParams(bool pad, uint8_t left, uint8_t right, uint64_t value) : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value) {}
    bool isPad = false;
    uint8_t leftPadding = 0, rightPadding = 0;
    uint64_t paddingValue = 0;
};
template <typename T> struct DataCopyPadExtParams {
    DataCopyPadExtParams() {}
    DataCopyPadExtParams(bool pad, uint8_t left, uint8_t right, T value) : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value) {}
    bool isPad = false;
    uint8_t leftPadding = 0, rightPadding = 0;
    T paddingValue = T(0);
};

namespace detail {

template <typename T> ::twin::Dma contiguous(uint32_t count) {
    ::twin::Dma d;
    d.len = uint32_t(::twin::bytes_of<T>(count));
    d.elem = sizeof(T);
    return d;
}
template <typename T> ::twin::Dma blocks32(const DataCopyParams& p) {
    ::twin::Dma d;
    d.blocks = p.blockCount;
    d.len = p.blockLen * 32u;
    d.src_stride = d.len + p.srcStride * 32u;
    d.dst_stride = d.len + p.dstStride * 32u;
    d.elem = sizeof(T);
    return d;
}
constexpr uint32_t up32(uint32_t n) { return (n + 31) / 32 * 32; }
// GM strides are gaps in bytes, local ones gaps in 32-byte blocks.
template <typename T> ::twin::Dma pad_in(uint32_t count, uint32_t len, uint32_t src, uint32_t dst, bool isPad, uint8_t left, uint8_t right, uint64_t value) {
    ::twin::Dma d;
    d.blocks = count;
    d.len = len;
    d.src_stride = uint64_t(len) + src;
    d.dst_stride = up32(len + (left + right) * sizeof(T)) + dst * 32ull;
    d.pad = true;
    d.fill = isPad;
    d.left = left;
    d.right = right;
    d.elem = sizeof(T);
    d.value = value;
    return d;
}
template <typename T> ::twin::Dma pad_out(uint32_t count, uint32_t len, uint32_t src, uint32_t dst) {
    ::twin::Dma d;
    d.blocks = count;
    d.len = len;
    d.src_stride = up32(len) + src * 32ull;
    d.dst_stride = uint64_t(len) + dst;
    d.pad = true;
    d.elem = sizeof(T);
    return d;
}

}  // namespace detail

template <typename T> void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, uint32_t count, TWIN_HERE) {
    ::twin::copy_in(dst.loc_, src.gm_, detail::contiguous<T>(count), here);
}
template <typename T> void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count, TWIN_HERE) {
    ::twin::copy_out(dst.gm_, src.loc_, detail::contiguous<T>(count), here);
}
template <typename T> void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count, TWIN_HERE) {
    ::twin::copy_local(dst.loc_, src.loc_, detail::contiguous<T>(count), here);
}
template <typename T> void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& p, TWIN_HERE) {
    ::twin::copy_in(dst.loc_, src.gm_, detail::blocks32<T>(p), here);
}
template <typename T> void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p, TWIN_HERE) {
    ::twin::copy_out(dst.gm_, src.loc_, detail::blocks32<T>(p), here);
}
template <typename T> void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p, TWIN_HERE) {
    ::twin::copy_local(dst.loc_, src.loc_, detail::blocks32<T>(p), here);
}
template <typename T>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyExtParams& p, const DataCopyPadExtParams<T>& pad, TWIN_HERE) {
    ::twin::copy_in(dst.loc_, src.gm_, detail::pad_in<T>(p.blockCount, p.blockLen, p.srcStride, p.dstStride, pad.isPad, pad.leftPadding, pad.rightPadding,
                                                         ::twin::value_of(pad.paddingValue).bits), here);
}
template <typename T>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& p, const DataCopyPadParams& pad, TWIN_HERE) {
    ::twin::copy_in(dst.loc_, src.gm_, detail::pad_in<T>(p.blockCount, p.blockLen, p.srcStride, p.dstStride, pad.isPad, pad.leftPadding, pad.rightPadding, pad.paddingValue), here);
}
template <typename T> void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyExtParams& p, TWIN_HERE) {
    ::twin::copy_out(dst.gm_, src.loc_, detail::pad_out<T>(p.blockCount, p.blockLen, p.srcStride, p.dstStride), here);
}
template <typename T> void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p, TWIN_HERE) {
    ::twin::copy_out(dst.gm_, src.loc_, detail::pad_out<T>(p.blockCount, p.blockLen, p.srcStride, p.dstStride), here);
}

}  // namespace AscendC
