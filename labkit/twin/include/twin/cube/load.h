// The path into the cube: ND2NZ into L1, LoadData from L1 into L0A and L0B, Fill, and the registers they read.
#pragma once
#include "twin/memory/copy.h"

namespace twin {

struct Nd2Nz {  // counts and strides in elements, the destination's in 32-byte blocks but for `matrix`
    uint32_t nds, rows, cols;
    uint64_t src_matrix, src_row, dst_matrix;
    uint32_t dst_col, dst_row;
};
void copy_nd2nz(uint32_t elem, Loc d, Gm s, const Nd2Nz&, Here);

// LoadData 2D and LoadDataWithTranspose. Sources count in fractals (Transpose: in squares), gaps in fractals of 512
// bytes.
struct Fractals {
    uint16_t start = 0, times = 0, stride = 0, gap = 0, inner_gap = 0;
    bool turned = false, down = false;
};
void load_2d(uint32_t bits, Loc d, Loc s, const Fractals&, Here);
void load_2d(uint32_t bits, Loc d, Gm s, const Fractals&, Here);
void load_turned(uint32_t bits, Loc d, Loc s, const Fractals&, Here);
void load_sparse(Loc d, Loc s, Loc index, const Fractals&, Here);

struct Img2col {
    uint16_t height = 0, width = 0, channels = 0, k_extent = 0, m_extent = 0, k_start = 0, m_start = 0;
    uint16_t stride_w = 1, stride_h = 1, filter_w = 1, filter_h = 1, dilation_w = 1, dilation_h = 1;
    uint8_t pad[4] = {};  // left, right, top, bottom
    bool turned = false, right = false;
    bool set_map = true, set_pad = true;  // false: the registers' values are used, not those above
    uint64_t pad_value = 0;
};
void load_3d(uint32_t bits, Loc d, Loc s, const Img2col&, Here);

void fill_local(uint32_t elem, Loc d, uint64_t value, uint16_t times, uint16_t blocks, uint16_t gap, Here);

void set_feature_map(uint16_t height, uint16_t width, const uint8_t* pad, bool right);
void set_padding(uint64_t value);
void set_load_boundary(uint32_t bytes);
void set_load_repeat(uint16_t stride, uint8_t times, uint8_t mode);

}  // namespace twin

namespace AscendC {

constexpr int32_t PAD_SIZE = 4;

struct Nd2NzParams {
    Nd2NzParams() {}
    Nd2NzParams(::twin::Arg16 nds, ::twin::Arg16 n, ::twin::Arg16 d, ::twin::Arg16 srcMatrix, ::twin::Arg16 srcD,
                ::twin::Arg16 c0, ::twin::Arg16 nStride, ::twin::Arg16 matrix)
        : ndNum(nds),
          nValue(n),
          dValue(d),
          srcNdMatrixStride(srcMatrix),
          srcDValue(srcD),
          dstNzC0Stride(c0),
          dstNzNStride(nStride),
          dstNzMatrixStride(matrix) {}
    ::twin::Arg16 ndNum = 0, nValue = 0, dValue = 0, srcNdMatrixStride = 0, srcDValue = 0;
    ::twin::Arg16 dstNzC0Stride = 0, dstNzNStride = 0, dstNzMatrixStride = 0;
};

struct Dn2NzParams {  // parses; the copy belongs to Ascend 950
    Dn2NzParams() {}
    Dn2NzParams(uint16_t dns, uint16_t n, uint32_t d, uint64_t srcMatrix, uint64_t srcD, uint16_t c0, uint16_t nStride,
                uint32_t matrix)
        : dnNum(dns),
          nValue(n),
          dValue(d),
          srcDnMatrixStride(srcMatrix),
          srcDValue(srcD),
          dstNzC0Stride(c0),
          dstNzNStride(nStride),
          dstNzMatrixStride(matrix) {}
    uint16_t dnNum = 0, nValue = 0;
    uint32_t dValue = 0;
    uint64_t srcDnMatrixStride = 0, srcDValue = 0;
    uint16_t dstNzC0Stride = 0, dstNzNStride = 0;
    uint32_t dstNzMatrixStride = 0;
};

struct LoadData2DParams {
    LoadData2DParams() {}
    LoadData2DParams(::twin::Arg16 start, ::twin::Arg8 times, ::twin::Arg16 stride, ::twin::Arg8 sidIn,
                     ::twin::Arg16 gap, bool transpose, ::twin::Arg8 mode)
        : startIndex(start),
          dstGap(gap),
          srcStride(stride),
          ifTranspose(transpose),
          repeatTimes(times),
          sid(sidIn),
          addrMode(mode) {}
    ::twin::Arg16 startIndex = 0, dstGap = 0, srcStride = 0;
    bool ifTranspose = false;
    ::twin::Arg8 repeatTimes = 0, sid = 0, addrMode = 0;
};
using LoadData2dParams = LoadData2DParams;

struct LoadData2DParamsV2 {  // parses; the form belongs to Ascend 950
    LoadData2DParamsV2() {}
    LoadData2DParamsV2(uint32_t mStart, uint32_t kStart, uint16_t m, uint16_t k, int32_t src, uint16_t dst,
                       bool transpose, uint8_t sidIn)
        : mStartPosition(mStart),
          kStartPosition(kStart),
          mStep(m),
          kStep(k),
          srcStride(src),
          dstStride(dst),
          ifTranspose(transpose),
          sid(sidIn) {}
    uint32_t mStartPosition = 0, kStartPosition = 0;
    uint16_t mStep = 0, kStep = 0;
    int32_t srcStride = 0;
    uint16_t dstStride = 0;
    bool ifTranspose = false;
    uint8_t sid = 0;
};

struct LoadData2dTransposeParams {
    LoadData2dTransposeParams() {}
    LoadData2dTransposeParams(::twin::Arg16 start, ::twin::Arg8 times, ::twin::Arg16 stride, ::twin::Arg16 gap,
                              ::twin::Arg16 fracGap, ::twin::Arg8 mode = 0)
        : startIndex(start), repeatTimes(times), srcStride(stride), dstGap(gap), dstFracGap(fracGap), addrMode(mode) {}
    ::twin::Arg16 startIndex = 0;
    ::twin::Arg8 repeatTimes = 0;
    ::twin::Arg16 srcStride = 0, dstGap = 0, dstFracGap = 0;
    ::twin::Arg8 addrMode = 0;
};
struct LoadData2dTransposeParamsV2 {  // parses; the form belongs to Ascend 950
    LoadData2dTransposeParamsV2() {}
    uint16_t startIndex = 0;
    uint8_t repeatTimes = 0;
    uint16_t srcStride = 0, dstGap = 0, dstFracGap = 0, srcFracGap = 0;
    uint8_t addrMode = 0;
};

template <typename T> struct LoadData3DParamsV1 {  // parses; the form belongs to older chips
    LoadData3DParamsV1() {}
    uint8_t padList[PAD_SIZE] = {};
    uint8_t strideW = 0, strideH = 0, filterW = 0, filterH = 0, dilationFilterW = 0, dilationFilterH = 0;
    uint8_t jumpStride = 0, repeatMode = 0, repeatTime = 0, cSize = 0;
    T padValue = T(0);
    uint8_t fetchFilterW = 0, fetchFilterH = 0;
    uint16_t l1H = 0, l1W = 0, c1Index = 0;
    int16_t leftTopW = 0, leftTopH = 0;
};

template <typename T> struct LoadData3DParamsV2 {
    LoadData3DParamsV2() {}
    LoadData3DParamsV2(const uint8_t pad[PAD_SIZE], ::twin::Arg16 h, ::twin::Arg16 w, ::twin::Arg16 channels,
                       ::twin::Arg16 k, ::twin::Arg16 m, ::twin::Arg16 kStart, ::twin::Arg16 mStart, ::twin::Arg8 sw,
                       ::twin::Arg8 sh, ::twin::Arg8 fw, ::twin::Arg8 fh, ::twin::Arg8 dw, ::twin::Arg8 dh,
                       bool transpose, bool smallK, T value, bool sizeW = false, bool sizeH = false,
                       bool matrixCtrl = false)
        : padList{pad[0], pad[1], pad[2], pad[3]},
          l1H(h),
          l1W(w),
          channelSize(channels),
          kExtension(k),
          mExtension(m),
          kStartPt(kStart),
          mStartPt(mStart),
          strideW(sw),
          strideH(sh),
          filterW(fw),
          filterH(fh),
          dilationFilterW(dw),
          dilationFilterH(dh),
          enTranspose(transpose),
          enSmallK(smallK),
          padValue(value),
          filterSizeW(sizeW),
          filterSizeH(sizeH),
          fMatrixCtrl(matrixCtrl) {}
    uint8_t padList[PAD_SIZE] = {};
    ::twin::Arg16 l1H = 0, l1W = 0, channelSize = 0, kExtension = 0, mExtension = 0, kStartPt = 0, mStartPt = 0;
    ::twin::Arg8 strideW = 1, strideH = 1, filterW = 1, filterH = 1, dilationFilterW = 1, dilationFilterH = 1;
    bool enTranspose = false, enSmallK = false;
    T padValue = T(0);
    bool filterSizeW = false, filterSizeH = false, fMatrixCtrl = false;
};
struct LoadData3DParamsV2Pro {
    LoadData3DParamsV2Pro() {}
    LoadData3DParamsV2Pro(::twin::Arg16 channels, bool transpose, bool smallK, bool sizeW, bool sizeH, bool matrixCtrl,
                          uint64_t ext, uint64_t filter)
        : channelSize(channels),
          enTranspose(transpose),
          enSmallK(smallK),
          filterSizeW(sizeW),
          filterSizeH(sizeH),
          fMatrixCtrl(matrixCtrl),
          extConfig(ext),
          filterConfig(filter) {}
    ::twin::Arg16 channelSize = 0;
    bool enTranspose = false, enSmallK = false, filterSizeW = false, filterSizeH = false, fMatrixCtrl = false;
    uint64_t extConfig = 0;  // from the low end, 16 bits each: kExtension, mExtension, kStartPt, mStartPt
    // 8 bits each: strideW, strideH, filterW, filterH, dilationFilterW, dilationFilterH
    uint64_t filterConfig = 0x10101010101;
};
struct IsResetLoad3dConfig {
    constexpr IsResetLoad3dConfig(bool matrix = true, bool padding = true)
        : isSetFMatrix(matrix), isSetPadding(padding) {}
    bool isSetFMatrix, isSetPadding;
};
constexpr IsResetLoad3dConfig IS_RESER_LOAD3D_DEFAULT_CONFIG = {true, true};

struct LoadDataRepeatParam {
    LoadDataRepeatParam() {}
    LoadDataRepeatParam(::twin::Arg16 stride, ::twin::Arg8 time, ::twin::Arg8 mode)
        : repeatStride(stride), repeatTime(time), repeatMode(mode) {}
    ::twin::Arg16 repeatStride = 0;
    ::twin::Arg8 repeatTime = 1, repeatMode = 0;
    uint8_t reserved = 0;
};
enum class FmatrixMode : uint8_t { FMATRIX_LEFT, FMATRIX_RIGHT };

template <typename T> struct InitConstValueParams {
    InitConstValueParams() {}
    InitConstValueParams(::twin::Arg16 times, ::twin::Arg16 blocks, ::twin::Arg16 gap, T value)
        : repeatTimes(times), blockNum(blocks), dstGap(gap), initValue(value) {}
    InitConstValueParams(::twin::Arg16 times, T value) : repeatTimes(times), initValue(value) {}
    ::twin::Arg16 repeatTimes = 0, blockNum = 0, dstGap = 0;
    T initValue = T(0);
};

namespace detail {
template <typename T> constexpr bool kLoads =
    ::twin::one_of<T, int4b_t, uint8_t, int8_t, uint16_t, int16_t, half, bfloat16_t, uint32_t, int32_t, float>();
inline ::twin::Fractals fractals(const LoadData2DParams& p) {
    return {p.startIndex, p.repeatTimes, p.srcStride, p.dstGap, 0, p.ifTranspose, p.addrMode != 0};
}
}  // namespace detail

// ---- GM to L1, ND to NZ (int4b_t: counted as int8_t)
template <typename T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const Nd2NzParams& p, TWIN_HERE) {
    static_assert(
        ::twin::one_of<T, int4b_t, int8_t, uint8_t, int16_t, uint16_t, half, bfloat16_t, int32_t, uint32_t, float>(),
        "DataCopy with Nd2NzParams takes int4b_t and types of 8, 16 and 32 bits");
    ::twin::copy_nd2nz(sizeof(T), dst.loc_, src.gm_,
                       {p.ndNum, p.nValue, p.dValue, p.srcNdMatrixStride, p.srcDValue, p.dstNzMatrixStride,
                        p.dstNzC0Stride, p.dstNzNStride},
                       here);
}
template <typename T> void DataCopy(const LocalTensor<T>&, const GlobalTensor<T>&, const Dn2NzParams&) {
    static_assert(sizeof(T) == 0,
                  "DataCopy with Dn2NzParams is not on Atlas A2 (it belongs to Ascend 950): use Nd2NzParams and a "
                  "turning LoadData");
}

// ---- LoadData 2D: L1 to L0A or L0B, GM to L1, L0A or L0B
template <typename T>
void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData2DParams& p, TWIN_HERE) {
    static_assert(detail::kLoads<T>, "LoadData takes int4b_t and types of 8, 16 and 32 bits");
    ::twin::load_2d(::twin::bits_of<T>(), dst.loc_, src.loc_, detail::fractals(p), here);
}
template <typename T>
void LoadData(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const LoadData2DParams& p, TWIN_HERE) {
    static_assert(detail::kLoads<T> && ::twin::bits_of<T>() >= 8, "LoadData from GM takes types of 8, 16 and 32 bits");
    ::twin::load_2d(::twin::bits_of<T>(), dst.loc_, src.gm_, detail::fractals(p), here);
}
template <typename T> void LoadData(const LocalTensor<T>&, const LocalTensor<T>&, const LoadData2DParamsV2&) {
    static_assert(
        sizeof(T) == 0,
        "LoadData with LoadData2DParamsV2 is not on Atlas A2 (it belongs to Ascend 950): use LoadData2DParams");
}
template <typename T> void LoadData(const LocalTensor<T>&, const GlobalTensor<T>&, const LoadData2DParamsV2&) {
    static_assert(
        sizeof(T) == 0,
        "LoadData with LoadData2DParamsV2 is not on Atlas A2 (it belongs to Ascend 950): use LoadData2DParams");
}
template <typename T> void LoadDataWithTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                                 const LoadData2dTransposeParams& p, TWIN_HERE) {
    static_assert(
        ::twin::one_of<T, int4b_t, uint8_t, int8_t, half, bfloat16_t, uint32_t, int32_t, float>(),
        "LoadDataWithTranspose takes int4b_t, int8_t, uint8_t, half, bfloat16_t, int32_t, uint32_t and float");
    ::twin::load_turned(::twin::bits_of<T>(), dst.loc_, src.loc_,
                        {p.startIndex, p.repeatTimes, p.srcStride, p.dstGap, p.dstFracGap, true, p.addrMode != 0},
                        here);
}
template <typename T>
void LoadDataWithTranspose(const LocalTensor<T>&, const LocalTensor<T>&, const LoadData2dTransposeParamsV2&) {
    static_assert(sizeof(T) == 0,
                  "LoadDataWithTranspose with LoadData2dTransposeParamsV2 is not on Atlas A2 (it belongs to Ascend "
                  "950): use LoadData2dTransposeParams");
}
inline void LoadDataWithSparse(const LocalTensor<int8_t>& dst, const LocalTensor<int8_t>& src,
                               const LocalTensor<uint8_t>& idx, const LoadData2dParams& p, TWIN_HERE) {
    ::twin::load_sparse(dst.loc_, src.loc_, idx.loc_, detail::fractals(p), here);
}

// ---- LoadData 3D: image to column
namespace detail {
template <typename T>
constexpr bool kImages = ::twin::one_of<T, int4b_t, uint8_t, int8_t, half, bfloat16_t, uint32_t, int32_t, float>();
}
template <typename T, const IsResetLoad3dConfig& config = IS_RESER_LOAD3D_DEFAULT_CONFIG, typename U = T>
void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData3DParamsV2<U>& p, TWIN_HERE) {
    static_assert(detail::kImages<T> && IsSameType<T, U>::value,
                  "LoadData 3D takes int4b_t, int8_t, uint8_t, half, bfloat16_t, int32_t, uint32_t and float, and "
                  "parameters of that type");
    ::twin::Img2col i;
    i.height = p.l1H, i.width = p.l1W, i.channels = p.channelSize;
    i.k_extent = p.kExtension, i.m_extent = p.mExtension, i.k_start = p.kStartPt, i.m_start = p.mStartPt;
    i.stride_w = p.strideW, i.stride_h = p.strideH, i.dilation_w = p.dilationFilterW, i.dilation_h = p.dilationFilterH;
    i.filter_w = uint16_t(p.filterW + p.filterSizeW * 256), i.filter_h = uint16_t(p.filterH + p.filterSizeH * 256);
    for (int n = 0; n < PAD_SIZE; n++) i.pad[n] = p.padList[n];
    i.turned = p.enTranspose, i.right = p.fMatrixCtrl, i.set_map = config.isSetFMatrix, i.set_pad = config.isSetPadding;
    i.pad_value = ::twin::value_of(p.padValue).bits;
    ::twin::load_3d(::twin::bits_of<T>(), dst.loc_, src.loc_, i, here);
}
template <typename T>
void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData3DParamsV2Pro& p, TWIN_HERE) {
    static_assert(detail::kImages<T>,
                  "LoadData 3D takes int4b_t, int8_t, uint8_t, half, bfloat16_t, int32_t, uint32_t and float");
    ::twin::Img2col i;
    auto ext = [&](int n) { return uint16_t(p.extConfig >> (16 * n)); };
    auto filter = [&](int n) { return uint16_t(p.filterConfig >> (8 * n) & 255); };
    i.channels = p.channelSize;
    i.k_extent = ext(0), i.m_extent = ext(1), i.k_start = ext(2), i.m_start = ext(3);
    i.stride_w = filter(0), i.stride_h = filter(1), i.dilation_w = filter(4), i.dilation_h = filter(5);
    i.filter_w = uint16_t(filter(2) + p.filterSizeW * 256), i.filter_h = uint16_t(filter(3) + p.filterSizeH * 256);
    i.turned = p.enTranspose, i.right = p.fMatrixCtrl, i.set_map = i.set_pad = false;
    ::twin::load_3d(::twin::bits_of<T>(), dst.loc_, src.loc_, i, here);
}
template <typename T, const IsResetLoad3dConfig& config = IS_RESER_LOAD3D_DEFAULT_CONFIG, typename U = T>
void LoadData(const LocalTensor<T>&, const LocalTensor<T>&, const LoadData3DParamsV1<U>&) {
    static_assert(sizeof(T) == 0, "LoadData with LoadData3DParamsV1 is not on Atlas A2: use LoadData3DParamsV2");
}

inline void SetFmatrix(uint16_t l1H, uint16_t l1W, const uint8_t padList[4], const FmatrixMode& mode) {
    ::twin::set_feature_map(l1H, l1W, padList, mode == FmatrixMode::FMATRIX_RIGHT);
}
template <typename T> void SetLoadDataPaddingValue(const T padValue) {
    ::twin::set_padding(::twin::value_of(padValue).bits);
}
// Names that CANN's own headers have behind these, and kernels call.
inline void Load3DSetFMatrixCal(uint16_t l1H, uint16_t l1W, const uint8_t padList[4]) {
    ::twin::set_feature_map(l1H, l1W, padList, false);
}
inline void Load3DSetFMatrixBCal(uint16_t l1H, uint16_t l1W, const uint8_t padList[4]) {
    ::twin::set_feature_map(l1H, l1W, padList, true);
}
template <typename T> void Load3DSetPaddingCal(const T padValue) { SetLoadDataPaddingValue(padValue); }
inline void SetLoadDataBoundary(uint32_t boundaryValue) { ::twin::set_load_boundary(boundaryValue); }
inline void SetLoadDataRepeat(const LoadDataRepeatParam& p) {
    ::twin::set_load_repeat(p.repeatStride, p.repeatTime, p.repeatMode);
}

// ---- Fill: one value into L1 (blocks of 32 bytes), L0A or L0B (blocks of 512 bytes)
template <typename T, typename U = T>
void Fill(const LocalTensor<T>& dst, const InitConstValueParams<U>& p, TWIN_HERE) {
    static_assert(
        ::twin::one_of<T, int16_t, uint16_t, half, bfloat16_t, int32_t, uint32_t, float>() && IsSameType<T, U>::value,
        "Fill takes int16_t, uint16_t, half, bfloat16_t, int32_t, uint32_t and float, and parameters of that type");
    ::twin::fill_local(sizeof(T), dst.loc_, ::twin::value_of(p.initValue).bits, p.repeatTimes, p.blockNum, p.dstGap,
                       here);
}
template <typename T, typename U = T>
void InitConstValue(const LocalTensor<T>& dst, const InitConstValueParams<U>& p, TWIN_HERE) {
    Fill<T, U>(dst, p, here);
}

}  // namespace AscendC
