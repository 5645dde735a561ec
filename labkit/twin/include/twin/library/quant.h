// Quantization of the advanced API: to int8_t, and from int32_t, int8_t and int4b_t.
#pragma once
#include "twin/library/math.h"

namespace twin {
// A factor or summand: a tensor of so many channels, or one number.
struct Coefficient {
    Loc loc;
    float value = 0;
    bool given = true, tensor = false;
};
struct Quantize {
    Dt type = Dt::F32;
    Loc dst, src, tmp;
    Coefficient scale, offset;
    uint32_t count = 0, channels = 0;
    uint32_t offsets = 0;  // of a tensor
    uint32_t room = 0;     // bytes of scratch that the configuration says are there; 0: all of them
};
void quantize(const Quantize&, Here);
struct Dequant {
    Dt to = Dt::F32, scale_type = Dt::F32;
    Loc dst, src, tmp;
    Coefficient scale;
    uint32_t rows = 1, width = 0, active = 0;  // `active` elements of a row are scaled
    uint32_t count = 0;                        // elements in all
    uint32_t given = 0;                        // elements of src, where `rows` is how often it holds `width`
    bool pairs = false;                        // each scale is the low half of 64 bits
};
void dequantize(const Dequant&, Here);
struct Antiquant {
    Dt to = Dt::F16;
    Loc dst, src, tmp;
    Coefficient scale, offset;
    uint32_t rows = 1, width = 0;
    uint32_t groups = 1;  // of rows, or of each row if `across`
    bool nibbles = false, across = false;
};
void antiquantize(const Antiquant&, Here);
}  // namespace twin

namespace AscendC {

struct AscendQuantConfig {
    constexpr AscendQuantConfig(const uint32_t calc, const uint32_t offset, const uint32_t scale, const uint32_t work)
        : calcCount(calc), offsetCount(offset), scaleCount(scale), workLocalSize(work) {}
    uint32_t calcCount = 0;
    uint32_t offsetCount = 0;
    uint32_t scaleCount = 0;
    uint32_t workLocalSize = 0;
};
constexpr AscendQuantConfig ASCEND_QUANT_DEFAULT_CFG = {0, 0, 0, 0};
enum class AscendQuantPolicy : int32_t {
    PER_TENSOR,
    PER_CHANNEL,
    PER_TOKEN,
    PER_GROUP,
    PER_CHANNEL_PER_GROUP,
    PER_TOKEN_PER_GROUP
};
struct AscendQuantParam {
    uint32_t m;
    uint32_t n;
    uint32_t calCount;
    uint32_t groupSize = 0;
};
enum class DeQuantMode { DEQUANT_WITH_SINGLE_ROW, DEQUANT_WITH_MULTI_ROW };
struct DequantParams {
    uint32_t m;
    uint32_t n;
    uint32_t calCount;
};
struct AscendDeQuantConfig {
    bool hasOffset;
    int32_t kDim = 1;
};
enum class AscendDeQuantPolicy : int32_t { PER_TOKEN, PER_GROUP, PER_CHANNEL_PER_GROUP, PER_TOKEN_PER_GROUP };
struct AscendDeQuantParam {
    uint32_t m;
    uint32_t n;
    uint32_t calCount;
    uint32_t groupSize = 0;
};
struct AntiQuantShapeInfo {
    uint32_t offsetHeight{0};
    uint32_t offsetWidth{0};
    uint32_t scaleHeight{0};
    uint32_t scaleWidth{0};
};

namespace detail {
template <typename T>::twin::Coefficient channels(const LocalTensor<T>& t) {
    ::twin::Coefficient c;
    c.loc = t.loc_;
    c.tensor = true;
    return c;
}
template <typename T>::twin::Coefficient one_number(const T& v) {
    ::twin::Coefficient c;
    c.value = float(v);
    return c;
}
template <typename T, const AscendQuantConfig& config>
::twin::Quantize quant_of(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src, const ::twin::Loc& tmp,
                          const ::twin::Coefficient& scale, const ::twin::Coefficient& offset, uint32_t channels,
                          uint32_t offsets, uint32_t count) {
    adv_type<T, half, float>();
    ::twin::Quantize q;
    q.type = ::twin::dt<T>();
    q.dst = dst.loc_;
    q.src = src.loc_;
    q.tmp = tmp;
    q.scale = scale;
    q.offset = offset;
    bool fixed = channels ? config.scaleCount && config.calcCount : config.workLocalSize && config.calcCount;
    q.channels = fixed && channels ? config.scaleCount : channels;
    q.offsets = fixed && channels ? config.offsetCount : offsets;
    q.count = fixed ? config.calcCount : count;
    q.room = fixed ? config.workLocalSize : 0;
    return q;
}
}  // namespace detail

// dst = src * scale + offset, in half. With and without a temporary tensor; of all elements, or of calCount.
#define TWIN_QUANT(parameter, scratch, coefficients, scale, offset, counts, few_channels, all_channels)               \
    template <typename T, bool isReuseSource = false, const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>     \
    void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor parameter,                 \
                     coefficients counts, TWIN_HERE) {                                                                \
        ::twin::quantize(                                                                                             \
            detail::quant_of<T, config>(dstTensor, srcTensor, scratch, scale, offset, few_channels, calCount), here); \
    }                                                                                                                 \
    template <typename T, bool isReuseSource = false, const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>     \
    void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor parameter, coefficients,   \
                     TWIN_HERE) {                                                                                     \
        ::twin::quantize(detail::quant_of<T, config>(dstTensor, srcTensor, scratch, scale, offset, all_channels,      \
                                                     srcTensor.GetSize()),                                            \
                         here);                                                                                       \
    }
#define TWIN_QUANTS(parameter, scratch)                                                                     \
    TWIN_QUANT(TWIN_LIST(parameter), scratch, TWIN_LIST(const float scale, const float offset),             \
               detail::one_number(scale), detail::one_number(offset), TWIN_LIST(, const uint32_t calCount), \
               TWIN_LIST(0, 0), TWIN_LIST(0, 0))                                                            \
    TWIN_QUANT(TWIN_LIST(parameter), scratch, TWIN_LIST(const LocalTensor<T>& scaleTensor, const T offset), \
               detail::channels(scaleTensor), detail::one_number(offset),                                   \
               TWIN_LIST(, const uint32_t scaleCount, const uint32_t calCount), TWIN_LIST(scaleCount, 0),   \
               TWIN_LIST(scaleTensor.GetSize(), 0))                                                         \
    TWIN_QUANT(TWIN_LIST(parameter), scratch,                                                               \
               TWIN_LIST(const LocalTensor<T>& scaleTensor, const LocalTensor<T>& offsetTensor),            \
               detail::channels(scaleTensor), detail::channels(offsetTensor),                               \
               TWIN_LIST(, const uint32_t scaleCount, const uint32_t offsetCount, const uint32_t calCount), \
               TWIN_LIST(scaleCount, offsetCount), TWIN_LIST(scaleTensor.GetSize(), offsetTensor.GetSize()))
TWIN_QUANTS(TWIN_LIST(, const LocalTensor<uint8_t>& sharedTmpBuffer), sharedTmpBuffer.loc_)
TWIN_QUANTS(, ::twin::spare())

namespace detail {
template <typename dstT, typename scaleT, bool tensor, DeQuantMode mode>
::twin::Dequant dequant_of(const LocalTensor<dstT>& dst, const LocalTensor<int32_t>& src,
                           const ::twin::Coefficient& scale, const ::twin::Loc& tmp, const DequantParams& p,
                           uint32_t count, uint32_t given = 0) {
    constexpr bool wide = ::twin::one_of<dstT, float, bfloat16_t>() && ::twin::one_of<scaleT, float, bfloat16_t>();
    constexpr bool pairs = tensor && IsSameType<dstT, half>::value && IsSameType<scaleT, uint64_t>::value;
    static_assert(wide || pairs,
                  "AscendDequant gives half from a tensor of uint64_t scales, float and bfloat16_t from scales of "
                  "float or bfloat16_t");
    constexpr uint32_t block = 32 / sizeof(dstT);
    ::twin::Dequant d;
    d.to = ::twin::dt<dstT>();
    if constexpr (!pairs) d.scale_type = ::twin::dt<scaleT>();
    d.pairs = pairs;
    d.dst = dst.loc_;
    d.src = src.loc_;
    d.tmp = tmp;
    d.scale = scale;
    d.rows = p.m;
    d.width = p.n;
    d.active = p.calCount;
    d.count = count;
    d.given = given;
    if (mode == DeQuantMode::DEQUANT_WITH_SINGLE_ROW && p.m == 1 && p.calCount && p.calCount % block == 0 &&
        p.n % p.calCount == 0) {
        d.rows = p.n / p.calCount;
        d.width = p.calCount;
    }
    return d;
}
// More than 32 bits count is more than any memory holds.
constexpr uint32_t all_of(const DequantParams& p) {
    uint64_t all = uint64_t(p.m) * p.n;
    return all >> 32 ? ~0u : uint32_t(all);
}
template <typename scaleT>
DequantParams rows_of_scales(const LocalTensor<int32_t>& src, const LocalTensor<scaleT>& scale) {
    uint32_t n = scale.GetSize() ? scale.GetSize() : 1;  // a tensor without memory is found when it is read
    return {src.GetSize() / n, n, n};
}
}  // namespace detail

// dst = src * deqScale, in float.
#define TWIN_DEQUANTS(parameter, scratch)                                                                              \
    template <typename dstT, typename scaleT, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>                 \
    void AscendDequant(const LocalTensor<dstT>& dstTensor, const LocalTensor<int32_t>& srcTensor,                      \
                       const LocalTensor<scaleT>& deqScale parameter, DequantParams params, TWIN_HERE) {               \
        ::twin::dequantize(                                                                                            \
            detail::dequant_of<dstT, scaleT, true, mode>(dstTensor, srcTensor, detail::channels(deqScale), scratch,    \
                                                         params, detail::all_of(params)),                              \
            here);                                                                                                     \
    }                                                                                                                  \
    template <typename dstT, typename scaleT, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>                 \
    void AscendDequant(const LocalTensor<dstT>& dstTensor, const LocalTensor<int32_t>& srcTensor,                      \
                       const LocalTensor<scaleT>& deqScale parameter, const uint32_t calCount, TWIN_HERE) {            \
        ::twin::dequantize(detail::dequant_of<dstT, scaleT, true, mode>(                                               \
                               dstTensor, srcTensor, detail::channels(deqScale), scratch,                              \
                               detail::rows_of_scales(srcTensor, deqScale), calCount, srcTensor.GetSize()),            \
                           here);                                                                                      \
    }                                                                                                                  \
    template <typename dstT, typename scaleT, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>                 \
    void AscendDequant(const LocalTensor<dstT>& dstTensor, const LocalTensor<int32_t>& srcTensor,                      \
                       const LocalTensor<scaleT>& deqScale parameter, TWIN_HERE) {                                     \
        ::twin::dequantize(detail::dequant_of<dstT, scaleT, true, mode>(                                               \
                               dstTensor, srcTensor, detail::channels(deqScale), scratch,                              \
                               detail::rows_of_scales(srcTensor, deqScale), srcTensor.GetSize(), srcTensor.GetSize()), \
                           here);                                                                                      \
    }                                                                                                                  \
    template <typename dstT, typename scaleT, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>                 \
    void AscendDequant(const LocalTensor<dstT>& dstTensor, const LocalTensor<int32_t>& srcTensor,                      \
                       const scaleT deqScale parameter, DequantParams params, TWIN_HERE) {                             \
        ::twin::dequantize(                                                                                            \
            detail::dequant_of<dstT, scaleT, false, mode>(dstTensor, srcTensor, detail::one_number(deqScale), scratch, \
                                                          params, detail::all_of(params)),                             \
            here);                                                                                                     \
    }
TWIN_DEQUANTS(TWIN_LIST(, const LocalTensor<uint8_t>& sharedTmpBuffer), sharedTmpBuffer.loc_)
TWIN_DEQUANTS(, ::twin::spare())

namespace detail {
template <typename InputDataType, typename OutputDataType, bool isTranspose>
::twin::Antiquant antiquant_of(const LocalTensor<OutputDataType>& dst, const LocalTensor<InputDataType>& src,
                               const ::twin::Coefficient& offset, const ::twin::Coefficient& scale,
                               const ::twin::Loc& tmp, uint32_t k, uint32_t groups) {
    static_assert(
        ::twin::one_of<InputDataType, int8_t, int4b_t>() && ::twin::one_of<OutputDataType, half, bfloat16_t>(),
        "AscendAntiQuant on Atlas A2 takes int8_t or int4b_t and gives half or bfloat16_t");
    ::twin::Antiquant a;
    a.to = ::twin::dt<OutputDataType>();
    a.dst = dst.loc_;
    a.src = src.loc_;
    a.tmp = tmp;
    a.offset = offset;
    a.scale = scale;
    uint32_t n = k ? src.GetSize() / k : 0;
    a.rows = isTranspose ? n : k;
    a.width = isTranspose ? k : n;
    a.groups = groups ? groups : 1;
    a.nibbles = IsSameType<InputDataType, int4b_t>::value;
    a.across = isTranspose;
    return a;
}
// The number of channel groups comes from the call or from the tensor itself; if neither has it, there is one group.
template <bool isTranspose, typename T>
uint32_t groups_of(const LocalTensor<T>& scale, const AntiQuantShapeInfo& info) {
    uint32_t told = isTranspose ? info.scaleWidth : info.scaleHeight;
    return told ? told : scale.GetShapeInfo().shape[isTranspose];
}
constexpr ::twin::Coefficient no_offset() {
    ::twin::Coefficient c;
    c.given = false;
    return c;
}
}  // namespace detail

// dst = scale * (src + offset): half by half for half, in float for bfloat16_t.
#define TWIN_ANTIQUANT(coefficients, parameter, scratch, offset, scale, groups)                                        \
    template <typename InputDataType, typename OutputDataType, bool isTranspose> void AscendAntiQuant(                 \
        const LocalTensor<OutputDataType>& dst, const LocalTensor<InputDataType>& src, coefficients parameter,         \
        const uint32_t k, const AntiQuantShapeInfo& shapeInfo = {}, TWIN_HERE) {                                       \
        ::twin::antiquantize(detail::antiquant_of<InputDataType, OutputDataType, isTranspose>(dst, src, offset, scale, \
                                                                                              scratch, k, groups),     \
                             here);                                                                                    \
    }
#define TWIN_ANTIQUANT_TENSOR(parameter, scratch)                                                                     \
    TWIN_ANTIQUANT(TWIN_LIST(const LocalTensor<OutputDataType>& offset, const LocalTensor<OutputDataType>& scale),    \
                   TWIN_LIST(parameter), scratch, detail::channels(offset), detail::channels(scale),                  \
                   detail::groups_of<isTranspose>(scale, shapeInfo))                                                  \
    TWIN_ANTIQUANT(TWIN_LIST(const OutputDataType offset, const OutputDataType scale), TWIN_LIST(parameter), scratch, \
                   detail::one_number(offset), detail::one_number(scale), 1)
TWIN_ANTIQUANT_TENSOR(TWIN_LIST(, const LocalTensor<uint8_t>& sharedTmpBuffer), sharedTmpBuffer.loc_)
TWIN_ANTIQUANT_TENSOR(, ::twin::spare())
TWIN_ANTIQUANT(const LocalTensor<OutputDataType>& scale, TWIN_LIST(, const LocalTensor<uint8_t>& sharedTmpBuffer),
               sharedTmpBuffer.loc_, detail::no_offset(), detail::channels(scale),
               detail::groups_of<isTranspose>(scale, shapeInfo))
TWIN_ANTIQUANT(const OutputDataType scale, TWIN_LIST(, const LocalTensor<uint8_t>& sharedTmpBuffer),
               sharedTmpBuffer.loc_, detail::no_offset(), detail::one_number(scale), 1)

}  // namespace AscendC
