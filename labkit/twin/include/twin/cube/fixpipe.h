// The path out of the cube: from L0C through the fixed-function pipe to GM or L1, with quantisation, ReLU and layout
// conversion; and the copies of its parameters from L1 to the bias table and the Fixpipe buffer.
#pragma once
#include "twin/memory/copy.h"

namespace twin {

enum class Quant : uint8_t { None, ToHalf, ToBf16, DeqHalf, DeqHalfV, ToB8, ToB8V, ReqB8, ReqB8V };
struct Fix {
    uint16_t n = 0, m = 0, src_stride = 0;  // src_stride: rows of 16 elements from one column of fractals to the next
    uint32_t dst_stride = 0;                // rows: elements; NZ: blocks of 32 bytes
    uint16_t nds = 1, nd_src = 0;           // rows only: matrices; fractals of 1024 bytes between them
    uint32_t nd_dst = 0;                    // elements
    Quant quant = Quant::None;
    uint64_t scalar = 0;
    bool relu = false, rows = false, split = false;
    uint8_t unit_flag = 0;
    bool registers = false;  // DataCopy: parameters as SetFixpipe* left them
};
// quantities: the tensor of quantisation parameters in L1, or nowhere (pos = MAX)
void fixpipe(Dt to, Dt from, Gm d, Loc s, Loc quantities, const Fix&, Here);
void fixpipe(Dt to, Dt from, Loc d, Loc s, Loc quantities, const Fix&, Here);
void copy_bias_half(Loc d, Loc s, uint32_t count, uint32_t len, uint32_t src_gap, uint32_t dst_gap, Here);
void set_fix_quantities(Loc fb, bool clear_unit_flags, Here);
void set_fix_scalar(uint64_t);
void set_fix_rows(uint16_t nds, uint16_t nd_src, uint32_t nd_dst);

}  // namespace twin

enum QuantMode_t {
    NoQuant,
    F322F16,
    F322BF16,
    DEQF16,
    VDEQF16,
    QF322B8_PRE,
    VQF322B8_PRE,
    REQ8,
    VREQ8,
    // those of Ascend 950: they parse, and no instruction of Atlas A2 takes them
    VREQ4,
    REQ4,
    VDEQS16,
    DEQS16,
    VSHIFTS322S16,
    SHIFTS322S16,
    QF322FP8_PRE,
    VQF322FP8_PRE,
    QF322HIF8_PRE,
    VQF322HIF8_PRE,
    QF322HIF8_PRE_HYBRID,
    VQF322HIF8_PRE_HYBRID,
    QS322BF16_PRE,
    VQS322BF16_PRE,
    QF322F16_PRE,
    VQF322F16_PRE,
    QF322BF16_PRE,
    VQF322BF16_PRE,
    QF322F32_PRE,
    VQF322F32_PRE
};

namespace AscendC {

enum class CO2Layout : uint8_t { NZ, ROW_MAJOR, COLUMN_MAJOR };
struct FixpipeConfig {
    CO2Layout format;
    constexpr FixpipeConfig(CO2Layout f) : format(f) {}
    constexpr FixpipeConfig(CO2Layout f, bool) : format(f) {}
};
constexpr FixpipeConfig CFG_NZ = {CO2Layout::NZ};
constexpr FixpipeConfig CFG_ROW_MAJOR = {CO2Layout::ROW_MAJOR};
constexpr FixpipeConfig CFG_COLUMN_MAJOR = {CO2Layout::COLUMN_MAJOR};

struct FixpipeParamsV220 {
    FixpipeParamsV220() {}
    FixpipeParamsV220(::twin::Arg16 n, ::twin::Arg16 m, ::twin::Arg16 src, uint32_t dst, bool relu)
        : nSize(n), mSize(m), srcStride(src), dstStride(dst), reluEn(relu) {}
    FixpipeParamsV220(::twin::Arg16 n, ::twin::Arg16 m, ::twin::Arg16 src, uint32_t dst, bool relu, QuantMode_t quant,
                      int64_t scalar, ::twin::Arg16 nds, ::twin::Arg16 srcNd, ::twin::Arg16 dstNd, ::twin::Arg8 flag,
                      bool split = false)
        : nSize(n),
          mSize(m),
          srcStride(src),
          dstStride(dst),
          quantPre(quant),
          deqScalar(uint64_t(scalar)),
          ndNum(nds),
          srcNdStride(srcNd),
          dstNdStride(dstNd),
          reluEn(relu),
          unitFlag(flag),
          isChannelSplit(split) {}
    ::twin::Arg16 nSize = 0, mSize = 0, srcStride = 0;
    uint32_t dstStride = 0;
    QuantMode_t quantPre = QuantMode_t::NoQuant;
    uint64_t deqScalar = 0;
    ::twin::Arg16 ndNum = 1, srcNdStride = 0, dstNdStride = 0;
    bool reluEn = false;
    ::twin::Arg8 unitFlag = 0;
    bool isChannelSplit = false;
};
using FixpipeParamsM300 = FixpipeParamsV220;
using FixpipeParamsM310 = FixpipeParamsV220;

struct Nz2NdParams {
    Nz2NdParams() {}
    Nz2NdParams(bool enable, uint16_t nds, uint16_t srcNd, uint16_t dstNd, uint16_t n)
        : nz2ndEn(enable), ndNum(nds), srcNdStride(srcNd), dstNdStride(dstNd), originalNSize(n) {}
    bool nz2ndEn = false;
    uint16_t ndNum = 1, srcNdStride = 0, dstNdStride = 0, originalNSize = 0;
};
struct QuantParams {
    QuantParams() {}
    QuantParams(QuantMode_t quant) : quantPre(quant) {}
    QuantParams(QuantMode_t quant, uint64_t scalar) : quantPre(quant), deqScalar(scalar) {}
    QuantMode_t quantPre = QuantMode_t::NoQuant;
    uint64_t deqScalar = 0;
};
template <typename T = int32_t> struct FixpipeParams {  // the older form: bursts of fractals and the gaps between them
    FixpipeParams() : cburstNum(1), burstLen(1) {}
    FixpipeParams(uint16_t count, uint16_t len, uint16_t src, uint32_t dst)
        : cburstNum(count), burstLen(len), dstStride(dst), srcStride(src) {}
    uint16_t cburstNum = 0, burstLen = 0;
    uint32_t dstStride = 0;
    uint16_t srcStride = 0;
    QuantParams quantParams;
    bool reluEn = false;
    Nz2NdParams nz2ndParams;
    uint8_t unitFlag = 0;
};
struct Nz2DnParams {
    uint16_t dnNum = 1, srcNzMatrixStride = 0;
    uint32_t dstDnMatrixStride = 0;
    uint16_t srcNzC0Stride = 0;
};
template <CO2Layout format> struct TransformParams { using PARAMS = uint8_t; };
template <> struct TransformParams<CO2Layout::ROW_MAJOR> { using PARAMS = Nz2NdParams; };
template <> struct TransformParams<CO2Layout::COLUMN_MAJOR> { using PARAMS = Nz2DnParams; };
// parses; the form belongs to Ascend 950
template <CO2Layout format = CO2Layout::ROW_MAJOR> struct FixpipeParamsArch3510 {
    FixpipeParamsArch3510() {}
    FixpipeParamsArch3510(uint16_t n, uint16_t m, uint16_t src, uint32_t dst)
        : nSize(n), mSize(m), srcStride(src), dstStride(dst) {}
    uint16_t nSize = 0, mSize = 0, srcStride = 0;
    uint32_t dstStride = 0;
    QuantMode_t quantPre = QuantMode_t::NoQuant;
    uint64_t deqScalar = 0;
    bool reluEn = false;
    uint8_t unitFlag = 0, dualDstCtl = 0;
    bool subBlockId = false;
    typename TransformParams<format>::PARAMS params;
    bool isChannelSplit = false;
};
template <CO2Layout format = CO2Layout::ROW_MAJOR> using FixpipeParamsC310 = FixpipeParamsArch3510<format>;

struct DataCopyCO12DstParams {
    DataCopyCO12DstParams() {}
    DataCopyCO12DstParams(::twin::Arg16 n, ::twin::Arg16 m, uint32_t dst, ::twin::Arg16 src, QuantMode_t quant,
                          ::twin::Arg8 relu, bool split, bool nd)
        : nSize(n),
          mSize(m),
          dstStride(dst),
          srcStride(src),
          quantPre(quant),
          reluPre(relu),
          channelSplit(split),
          nz2ndEn(nd) {}
    ::twin::Arg8 sid = 0;
    ::twin::Arg16 nSize = 0, mSize = 0;
    uint32_t dstStride = 0;
    ::twin::Arg16 srcStride = 0;
    ::twin::Arg8 unitFlag = 0, clipReluPre = 0, eltWiseOp = 0;
    QuantMode_t quantPre = QuantMode_t::NoQuant;
    ::twin::Arg8 reluPre = 0;
    bool channelSplit = false, nz2ndEn = false;
};

namespace detail {
template <typename T, typename U>
constexpr bool kLeaves = (IsSameType<U, float>::value &&
                          ::twin::one_of<T, int8_t, uint8_t, half, bfloat16_t, float>()) ||
                         (IsSameType<U, int32_t>::value && ::twin::one_of<T, int8_t, uint8_t, half, int32_t>());
inline ::twin::Fix fix(const FixpipeParamsV220& p, CO2Layout format) {
    ::twin::Fix f;
    f.n = p.nSize, f.m = p.mSize, f.src_stride = p.srcStride, f.dst_stride = p.dstStride;
    f.nds = p.ndNum, f.nd_src = p.srcNdStride, f.nd_dst = p.dstNdStride;
    f.quant = ::twin::Quant(p.quantPre), f.scalar = p.deqScalar;
    f.relu = p.reluEn, f.rows = format == CO2Layout::ROW_MAJOR, f.split = p.isChannelSplit, f.unit_flag = p.unitFlag;
    return f;
}
inline ::twin::Fix fix(const DataCopyCO12DstParams& p) {
    ::twin::Fix f;
    f.n = p.nSize, f.m = p.mSize, f.src_stride = p.srcStride, f.dst_stride = p.dstStride;
    f.quant = ::twin::Quant(p.quantPre), f.relu = p.reluPre != 0, f.rows = p.nz2ndEn, f.split = p.channelSplit,
    f.unit_flag = p.unitFlag;
    f.registers = true;
    return f;
}
// size: of an element at the destination
template <typename U>::twin::Fix fix(const FixpipeParams<U>& p, uint32_t size, ::twin::Here here) {
    bool rows = p.nz2ndParams.nz2ndEn;
    uint16_t m = p.burstLen / 2;
    FixpipeParamsV220 q(::twin::Arg16(rows ? p.nz2ndParams.originalNSize : p.cburstNum * 16, here), m,
                        ::twin::Arg16(p.srcStride * 16 + (m + 15) / 16 * 16, here),
                        rows ? p.dstStride : p.dstStride + p.burstLen * size / 4, p.reluEn, p.quantParams.quantPre,
                        int64_t(p.quantParams.deqScalar), p.nz2ndParams.ndNum, p.nz2ndParams.srcNdStride,
                        p.nz2ndParams.dstNdStride, p.unitFlag);
    return fix(q, rows ? CO2Layout::ROW_MAJOR : CO2Layout::NZ);
}
inline ::twin::Loc nowhere() { return {0, 0, 0, 0, ::twin::Mem::L1, uint8_t(TPosition::MAX)}; }
}  // namespace detail

// Into L1 the results must become narrower: the path has no form for 32 bits.
#define TWIN_NARROWER                                                                                               \
    static_assert(sizeof(T) < 4,                                                                                    \
                  "From L0C to L1 Atlas A2 takes float into int8_t, uint8_t, half or bfloat16_t, and int32_t into " \
                  "int8_t, uint8_t or half: set quantPre, or go by GM")

// ---- L0C to GM: rows (ND, the default) or NZ; then L0C to L1, which is always NZ
#define TWIN_LEAVES                                                                                                   \
    static_assert(detail::kLeaves<T, U>,                                                                              \
                  "Fixpipe on Atlas A2: float into int8_t, uint8_t, half, bfloat16_t or float; int32_t into int8_t, " \
                  "uint8_t, half or int32_t");                                                                        \
    static_assert(config.format != CO2Layout::COLUMN_MAJOR,                                                           \
                  "CFG_COLUMN_MAJOR is not on Atlas A2 (it belongs to Ascend 950): use CFG_ROW_MAJOR or CFG_NZ")
template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParamsV220& p, TWIN_HERE) {
    TWIN_LEAVES;
    ::twin::fixpipe(::twin::dt<T>(), ::twin::dt<U>(), dst.gm_, src.loc_, detail::nowhere(),
                    detail::fix(p, config.format), here);
}
template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR, typename S = uint64_t>
void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const LocalTensor<S>& cbufWorkspace,
             const FixpipeParamsV220& p, TWIN_HERE) {
    TWIN_LEAVES;
    static_assert(IsSameType<S, uint64_t>::value,
                  "Fixpipe takes its quantisation parameters as a LocalTensor<uint64_t>");
    ::twin::fixpipe(::twin::dt<T>(), ::twin::dt<U>(), dst.gm_, src.loc_, cbufWorkspace.loc_,
                    detail::fix(p, config.format), here);
}
template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParamsV220& p, TWIN_HERE) {
    TWIN_NARROWER;
    TWIN_LEAVES;
    ::twin::fixpipe(::twin::dt<T>(), ::twin::dt<U>(), dst.loc_, src.loc_, detail::nowhere(),
                    detail::fix(p, CO2Layout::NZ), here);
}
template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR, typename S = uint64_t>
void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src, const LocalTensor<S>& cbufWorkspace,
             const FixpipeParamsV220& p, TWIN_HERE) {
    TWIN_NARROWER;
    TWIN_LEAVES;
    static_assert(IsSameType<S, uint64_t>::value,
                  "Fixpipe takes its quantisation parameters as a LocalTensor<uint64_t>");
    ::twin::fixpipe(::twin::dt<T>(), ::twin::dt<U>(), dst.loc_, src.loc_, cbufWorkspace.loc_,
                    detail::fix(p, CO2Layout::NZ), here);
}
#undef TWIN_LEAVES
#define TWIN_LEAVES                                                                                                   \
    static_assert(detail::kLeaves<T, U>,                                                                              \
                  "Fixpipe on Atlas A2: float into int8_t, uint8_t, half, bfloat16_t or float; int32_t into int8_t, " \
                  "uint8_t, half or int32_t")
template <typename T, typename U>
void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParams<U>& p, TWIN_HERE) {
    TWIN_LEAVES;
    ::twin::fixpipe(::twin::dt<T>(), ::twin::dt<U>(), dst.gm_, src.loc_, detail::nowhere(),
                    detail::fix(p, sizeof(T), here), here);
}
template <typename T, typename U, typename S> void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src,
                                                           const LocalTensor<S>& cbufWorkspace,
                                                           const FixpipeParams<U>& p, TWIN_HERE) {
    TWIN_LEAVES;
    ::twin::fixpipe(::twin::dt<T>(), ::twin::dt<U>(), dst.gm_, src.loc_, cbufWorkspace.loc_,
                    detail::fix(p, sizeof(T), here), here);
}
template <typename T, typename U>
void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParams<U>& p, TWIN_HERE) {
    TWIN_NARROWER;
    TWIN_LEAVES;
    ::twin::fixpipe(::twin::dt<T>(), ::twin::dt<U>(), dst.loc_, src.loc_, detail::nowhere(),
                    detail::fix(p, sizeof(T), here), here);
}
template <typename T, typename U, typename S> void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src,
                                                           const LocalTensor<S>& cbufWorkspace,
                                                           const FixpipeParams<U>& p, TWIN_HERE) {
    TWIN_NARROWER;
    TWIN_LEAVES;
    ::twin::fixpipe(::twin::dt<T>(), ::twin::dt<U>(), dst.loc_, src.loc_, cbufWorkspace.loc_,
                    detail::fix(p, sizeof(T), here), here);
}
#undef TWIN_LEAVES
template <typename D, typename S, CO2Layout format>
void Fixpipe(const D&, const S&, const FixpipeParamsArch3510<format>&) {
    static_assert(
        sizeof(D) == 0,
        "Fixpipe with FixpipeParamsArch3510 is not on Atlas A2 (it belongs to Ascend 950): use FixpipeParamsV220");
}

// ---- the same by DataCopy, with the parameters set beforehand
template <typename T, typename U>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyCO12DstParams& p, TWIN_HERE) {
    static_assert(detail::kLeaves<T, U>,
                  "DataCopy from L0C on Atlas A2: float into int8_t, uint8_t, half, bfloat16_t or float; int32_t into "
                  "int8_t, uint8_t, half or int32_t");
    ::twin::fixpipe(::twin::dt<T>(), ::twin::dt<U>(), dst.gm_, src.loc_, detail::nowhere(), detail::fix(p), here);
}
template <typename T, typename U>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyCO12DstParams& p, TWIN_HERE) {
    TWIN_NARROWER;
    static_assert(detail::kLeaves<T, U>,
                  "DataCopy from L0C on Atlas A2: float into int8_t, uint8_t, half or bfloat16_t; int32_t into int8_t, "
                  "uint8_t or half");
    ::twin::fixpipe(::twin::dt<T>(), ::twin::dt<U>(), dst.loc_, src.loc_, detail::nowhere(), detail::fix(p), here);
}
#undef TWIN_NARROWER
// L1 to the bias table with a conversion; blockLen in 64 bytes of halves.
template <typename T, typename U>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyParams& p, TWIN_HERE) {
    static_assert(IsSameType<T, float>::value && IsSameType<U, half>::value,
                  "DataCopy between tensors of two types: half in L1 into float in the bias table (C2) is the one "
                  "there is; use Cast on the AIV otherwise");
    ::twin::copy_bias_half(dst.loc_, src.loc_, p.blockCount, p.blockLen, p.srcStride, p.dstStride, here);
}
template <typename T>
void SetFixPipeConfig(const LocalTensor<T>&, const LocalTensor<T>& quantPre, bool isUnitFlag = false, TWIN_HERE) {
    ::twin::set_fix_quantities(quantPre.loc_, isUnitFlag, here);
}
template <typename T, bool setRelu = false>
void SetFixPipeConfig(const LocalTensor<T>& preData, bool isUnitFlag = false, TWIN_HERE) {
    static_assert(!setRelu, "SetFixPipeConfig<T, true> (a tensor of ReLU factors) is not on Atlas A2: use reluEn");
    ::twin::set_fix_quantities(preData.loc_, isUnitFlag, here);
}
inline void SetFixpipePreQuantFlag(uint64_t config) { ::twin::set_fix_scalar(config); }
inline void SetFixpipeNz2ndFlag(uint16_t ndNum, uint16_t srcNdStride, uint16_t dstNdStride) {
    ::twin::set_fix_rows(ndNum, srcNdStride, dstNdStride);
}
inline void SetNdParaImpl(uint64_t config) {  // the same in one word, as CANN's own headers pass it on
    ::twin::set_fix_rows(uint16_t(config), uint16_t(config >> 16), uint32_t(config >> 32 & 0xFFFF));
}
template <typename T> void SetFixPipeClipRelu(T) {
    static_assert(sizeof(T) == 0, "SetFixPipeClipRelu is not on Atlas A2: use reluEn, or clip on the AIV");
}
template <typename T> void SetFixPipeAddr(const LocalTensor<T>&, uint16_t) {
    static_assert(sizeof(T) == 0, "SetFixPipeAddr is not on Atlas A2: add the other tensor on the AIV");
}

}  // namespace AscendC
