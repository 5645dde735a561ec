// DataCopy and DataCopyPad between GM and on-chip memory, and within a core.
#pragma once
#include "twin/core/tensor.h"
#include "twin/memory/copy_params.h"

namespace twin {

// Between two memories of a core; what a block and a gap are depends on the pair (UB to UB: 32 bytes; to BT: 64; to FB:
// 128).
void copy_blocks(Loc d, Loc s, uint32_t count, uint32_t len, uint32_t src_gap, uint32_t dst_gap, Here);
void copy_refused(Loc d, Loc s, Here);
void copy_count(Loc d, Loc s, uint64_t bytes, uint8_t elem, Here);

// One dimension of a slice, in bytes where it counts elements.
struct Slice { uint32_t start, end, gap, burst, shape; };
void slice_in(Loc d, Gm s, const Slice* ds, const Slice* ss, uint32_t dims, uint32_t elem, Here);
void slice_out(Gm d, Loc s, const Slice* ds, const Slice* ss, uint32_t dims, uint32_t elem, Here);

void set_pad_value(uint64_t bits);
void pad_wide(uint64_t bits, Here);  // reports a padding value of 64 bits that is not 0

}  // namespace twin

namespace AscendC {
namespace detail {

template <typename T>::twin::Dma contiguous(uint32_t count) {
    ::twin::Dma d;
    uint64_t bytes = ::twin::bytes_of<T>(count);
    d.len = uint32_t(bytes < ::twin::kMostBytes ? bytes : ::twin::kMostBytes);
    d.elem = sizeof(T);
    return d;
}
template <typename T>::twin::Dma blocks32(const DataCopyParams& p) {
    ::twin::Dma d;
    d.blocks = p.blockCount;
    d.len = p.blockLen * 32u;
    d.src_stride = d.len + p.srcStride * 32u;
    d.dst_stride = d.len + p.dstStride * 32u;
    d.elem = sizeof(T);
    return d;
}
template <typename T>::twin::Dma typed(::twin::Dma d) {
    if constexpr (::twin::DtOf<T>::known) d.type = ::twin::DtOf<T>::value;
    return d;
}
constexpr uint32_t up32(uint32_t n) { return (n + 31) / 32 * 32; }
// GM strides are gaps in bytes, local ones gaps in 32-byte blocks. 64-bit types move as pairs of 32-bit ones.
template <typename T>::twin::Dma pad_in(uint32_t count, uint32_t len, uint32_t src, uint32_t dst, bool isPad,
                                        uint8_t left, uint8_t right, uint64_t value) {
    ::twin::Dma d;
    d.blocks = count;
    d.len = len;
    d.src_stride = uint64_t(len) + src;
    d.elem = sizeof(T) == 8 ? 4 : sizeof(T);
    d.whole = sizeof(T);
    d.left = uint16_t(left * (sizeof(T) / d.elem));
    d.right = uint16_t(right * (sizeof(T) / d.elem));
    d.dst_stride = up32(len + (d.left + d.right) * d.elem) + dst * 32ull;
    d.pad = true;
    d.fill = isPad;
    d.value = value;
    return d;
}
template <typename T>::twin::Dma pad_out(uint32_t count, uint32_t len, uint32_t src, uint32_t dst) {
    ::twin::Dma d;
    d.blocks = count;
    d.len = len;
    d.src_stride = up32(len) + src * 32ull;
    d.dst_stride = uint64_t(len) + dst;
    d.pad = true;
    d.elem = d.whole = sizeof(T);
    return d;
}
template <typename T, PaddingMode mode> constexpr void check_pad() {
    static_assert(mode == PaddingMode::Normal,
                  "DataCopyPad<T, PaddingMode::Compact> is for Ascend 950; on A2/A3 every block is padded to 32 bytes: "
                  "leave the mode out");
}

}  // namespace detail

// ---- between GM and a core

template <typename T> void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, uint32_t count, TWIN_HERE) {
    ::twin::copy_in(dst.loc_, src.gm_, detail::contiguous<T>(count), here);
}
template <typename T> void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count, TWIN_HERE) {
    ::twin::copy_out(dst.gm_, src.loc_, detail::typed<T>(detail::contiguous<T>(count)), here);
}
template <typename T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& p, TWIN_HERE) {
    ::twin::copy_in(dst.loc_, src.gm_, detail::blocks32<T>(p), here);
}
template <typename T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p, TWIN_HERE) {
    ::twin::copy_out(dst.gm_, src.loc_, detail::typed<T>(detail::blocks32<T>(p)), here);
}
template <typename T> void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& p,
                                    const DataCopyEnhancedParams&, TWIN_HERE) {
    DataCopy(dst, src, p, here);
}
template <typename T> void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p,
                                    const DataCopyEnhancedParams&, TWIN_HERE) {
    DataCopy(dst, src, p, here);
}

// ---- within a core

template <typename T> void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count, TWIN_HERE) {
    ::twin::copy_count(dst.loc_, src.loc_, ::twin::bytes_of<T>(count), sizeof(T), here);
}
template <typename T>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p, TWIN_HERE) {
    ::twin::copy_blocks(dst.loc_, src.loc_, p.blockCount, p.blockLen, p.srcStride, p.dstStride, here);
}
template <typename T> void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p,
                                    const DataCopyEnhancedParams&, TWIN_HERE) {
    DataCopy(dst, src, p, here);
}
// L0C to UB with a conversion, on older chips. Kernels written for several chips contain the call without executing it
// here.
template <typename T, typename U> void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src,
                                                const DataCopyParams&, const DataCopyEnhancedParams&, TWIN_HERE) {
    ::twin::copy_refused(dst.loc_, src.loc_, here);
}

// ---- slices of up to 8 dimensions

namespace detail {
inline bool slices(::twin::Slice* out, const SliceInfo* in, const ShapeInfo& known, bool own, uint32_t dims) {
    for (uint32_t i = 0; i < dims && i < 8; i++)
        out[i] = {in[i].startIndex, in[i].endIndex, in[i].stride, in[i].burstLen,
                  own || i >= uint32_t(K_MAX_SHAPE_DIM) ? in[i].shapeValue : known.shape[i]};
    return dims <= 8;
}
}  // namespace detail
template <typename T> void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const SliceInfo dstSlice[],
                                    const SliceInfo srcSlice[], uint32_t dimValue = 1, TWIN_HERE) {
    ::twin::Slice d[8], s[8];
    bool own = srcSlice[0].shapeValue != 0;
    detail::slices(s, srcSlice, src.GetShapeInfo(), own, dimValue);
    detail::slices(d, dstSlice, dst.GetShapeInfo(), own, dimValue);
    ::twin::slice_in(dst.loc_, src.gm_, d, s, dimValue, sizeof(T), here);
}
template <typename T> void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const SliceInfo dstSlice[],
                                    const SliceInfo srcSlice[], uint32_t dimValue = 1, TWIN_HERE) {
    ::twin::Slice d[8], s[8];
    bool own = srcSlice[0].shapeValue != 0;
    detail::slices(s, srcSlice, src.GetShapeInfo(), own, dimValue);
    detail::slices(d, dstSlice, dst.GetShapeInfo(), own, dimValue);
    ::twin::slice_out(dst.gm_, src.loc_, d, s, dimValue, sizeof(T), here);
}

// Each NZ matrix goes out as columns of 16 elements; the last column's rows may be shorter, and lie as far apart. A
// copy takes 4095 rows.
template <typename T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const Nz2NdParamsFull& p, TWIN_HERE) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "DataCopy with Nz2NdParamsFull moves types of 16 or 32 bits");
    constexpr uint32_t most = 4095;
    for (uint32_t m = 0; m < p.ndNum; m++)
        for (uint32_t c = 0; c < p.dValue; c += 16)
            for (uint32_t r = 0; r < p.nValue; r += most) {
                uint32_t wide = p.dValue - c < 16 ? p.dValue - c : 16, rows = p.nValue - r < most ? p.nValue - r : most;
                ::twin::copy_out(
                    dst[uint64_t(m) * p.dstNdMatrixStride + uint64_t(r) * p.dstDStride + c].gm_,
                    src[m * p.srcNdMatrixStride * 256u + c * p.srcNStride + r * 16].loc_,
                    detail::pad_out<T>(rows, wide * sizeof(T), (16 * sizeof(T) - detail::up32(wide * sizeof(T))) / 32,
                                       (p.dstDStride - wide) * sizeof(T)),
                    here);
            }
}

// ---- any number of bytes

template <typename T, PaddingMode mode = PaddingMode::Normal>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyExtParams& p,
                 const DataCopyPadExtParams<T>& pad, TWIN_HERE) {
    detail::check_pad<T, mode>();
    if constexpr (sizeof(T) == 8)
        if (pad.isPad) ::twin::pad_wide(::twin::value_of(pad.paddingValue).bits, here);
    ::twin::copy_in(dst.loc_, src.gm_,
                    detail::pad_in<T>(p.blockCount, p.blockLen, p.srcStride, p.dstStride, pad.isPad, pad.leftPadding,
                                      pad.rightPadding, ::twin::value_of(pad.paddingValue).bits),
                    here);
}
template <typename T, PaddingMode mode = PaddingMode::Normal>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& p,
                 const DataCopyPadParams& pad, TWIN_HERE) {
    detail::check_pad<T, mode>();
    if constexpr (sizeof(T) == 8)
        if (pad.isPad) ::twin::pad_wide(pad.paddingValue, here);
    ::twin::copy_in(dst.loc_, src.gm_,
                    detail::pad_in<T>(p.blockCount, p.blockLen, p.srcStride, p.dstStride, pad.isPad, pad.leftPadding,
                                      pad.rightPadding, pad.paddingValue),
                    here);
}
template <typename T, PaddingMode mode = PaddingMode::Normal>
void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyExtParams& p, TWIN_HERE) {
    detail::check_pad<T, mode>();
    ::twin::copy_out(dst.gm_, src.loc_,
                     detail::typed<T>(detail::pad_out<T>(p.blockCount, p.blockLen, p.srcStride, p.dstStride)), here);
}
template <typename T, PaddingMode mode = PaddingMode::Normal>
void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p, TWIN_HERE) {
    detail::check_pad<T, mode>();
    ::twin::copy_out(dst.gm_, src.loc_,
                     detail::typed<T>(detail::pad_out<T>(p.blockCount, p.blockLen, p.srcStride, p.dstStride)), here);
}
// What DataCopyPad with isPad = false puts to the left and right.
template <typename T, TPosition pos = TPosition::MAX> void SetPadValue(T paddingValue) {
    ::twin::set_pad_value(::twin::value_of(paddingValue).bits);
}

}  // namespace AscendC
