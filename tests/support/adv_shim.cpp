// Sizes and tilings of the advanced API for ctypes, by the function's name; `host_class` asks by way of the class with
// set_ and get_. The arguments are: shape, original shape, bytes of an element, reuse of the source, one number more.
#include "tiling/tiling_api.h"

#include <new>
#include <string>

using namespace AscendC;

struct Asked {
    int64_t shape[4], original[4];
    int32_t dims, original_dims;
    uint32_t size, reuse, more, room;
};

namespace {
TensorShape shape(const int64_t* dims, int n) { return TensorShape(std::vector<int64_t>(dims, dims + n)); }

struct Out {
    void* to;
    int host_class;
    template <typename Host, typename Plain, typename F> int both(F make) const {
        alignas(8) unsigned char zeros[sizeof(Plain)] = {};
        Plain& plain = *new (zeros) Plain;
        Host host;
        if (host_class) {
            make(host);
            host.SaveToBuffer(to, host.GetDataSize());
        } else {
            make(plain);
            std::memcpy(to, &plain, sizeof(plain));
        }
        return sizeof(plain);
    }
};
}  // namespace

#define TILED(name) out.both<optiling::name, tiling::name>

// The factor and summand, where a function has them.
extern "C" int adv_factor(const char* what, uint32_t size, uint32_t* nodes, uint32_t* extra) {
    std::string n = what;
#define FACTOR(name) \
    if (n == #name) return Get##name##TmpBufferFactorSize(size, *nodes, *extra), 1;
    TWIN_HOST_MATH(FACTOR)
    FACTOR(Exp)
    FACTOR(SwiGLU)
    if (n == "Round")
        return GetRoundTmpBufferFactorSize(*platform_ascendc::PlatformAscendCManager::GetInstance(), size, *nodes,
                                           *extra),
               1;
    if (n == "Power") return GetPowerTmpBufferFactorSize(true, true, false, size, *nodes, *extra), 1;
    return 0;
}

static int elementwise(const std::string& n, const TensorShape& s, const TensorShape& o, uint32_t size, bool reuse,
                       uint32_t* most, uint32_t* least) {
#define SIZES(name) \
    if (n == #name) return Get##name##MaxMinTmpSize(s, size, reuse, *most, *least), 1;
    // clang-format off
    TWIN_HOST_MATH(SIZES)
    SIZES(Axpy) SIZES(Clamp) SIZES(Exp) SIZES(ReGlu) SIZES(Sigmoid) SIZES(ReduceXorSum)
    // clang-format on
    if (n == "Round")
        return GetRoundMaxMinTmpSize(*platform_ascendc::PlatformAscendCManager::GetInstance(), s, size, reuse, *most,
                                     *least),
               1;
    if (n == "Power") return GetPowerMaxMinTmpSize(s, o, false, size, reuse, *most, *least), 1;
    if (n == "PowerInt") return GetPowerMaxMinTmpSize(s, o, true, size, reuse, *most, *least), 1;
    if (n == "Gelu") return GetGeluMaxMinTmpSize(s, size, *most, *least), 1;
    if (n == "SwiGLU") return GetSwiGLUMaxMinTmpSize(s, size, *most, *least, reuse), 1;
    if (n == "Silu") return GetSiluTmpSize(s, size, reuse, *most, *least), 1;
    if (n == "Swish") return GetSwishTmpSize(s, size, reuse, *most, *least), 1;
    return 0;
}

// `more`: 0 rows, 1 columns; of Mean the size in which it sums, of AscendAntiQuant whether the source is transposed
static int reduction(const std::string& n, const Asked* q, const TensorShape& s, uint32_t* most, uint32_t* least) {
    auto type = q->size == 1 ? ge::DT_UINT8 : q->size == 2 ? ge::DT_FLOAT16 : ge::DT_FLOAT;
    auto pattern = q->more ? ReducePattern::RA : ReducePattern::AR;
#define REDUCES(name) \
    if (n == #name) return Get##name##MaxMinTmpSize(s, type, pattern, true, q->reuse, *most, *least), 1;
    // clang-format off
    REDUCES(ReduceSum) REDUCES(ReduceMean) REDUCES(ReduceProd) REDUCES(ReduceMax) REDUCES(ReduceMin) REDUCES(ReduceAny)
    REDUCES(ReduceAll)
    // clang-format on
    if (n == "Sum") return GetSumMaxMinTmpSize(uint32_t(q->shape[0]), q->size, q->reuse, *most, *least), 1;
    if (n == "Mean") return GetMeanMaxMinTmpSize(uint32_t(q->shape[0]), q->size, q->more, q->reuse, *most, *least), 1;
    if (n == "AscendQuant") return GetAscendQuantMaxMinTmpSize(s, q->size, *most, *least), 1;
    if (n == "AscendDequant") return GetAscendDequantMaxMinTmpSize(s, q->size, *most, *least), 1;
    if (n == "AscendAntiQuant") {
        auto to = q->size == 2 ? ge::DT_FLOAT16 : ge::DT_BF16;
        return GetAscendAntiQuantMaxMinTmpSize(s, shape(q->original, q->original_dims), q->more, ge::DT_INT8, to, *most,
                                               *least),
               1;
    }
    return 0;
}

// SoftmaxFlashV2 and V3 take two sizes: `size` of the matrix, `more` of the statistics; `reuse`: update, or front
static int softmax(const std::string& n, const Asked* q, const TensorShape& s, uint32_t* most, uint32_t* least) {
    bool reuse = q->reuse;
#define PAIR(name, ...) \
    return *most = Get##name##MaxTmpSize(__VA_ARGS__), *least = Get##name##MinTmpSize(__VA_ARGS__), 1;
    if (n == "SoftMax") PAIR(SoftMax, s, q->size, false)
    if (n == "LogSoftMax") PAIR(LogSoftMax, s, q->size, false)
    if (n == "SoftmaxFlash") PAIR(SoftMaxFlash, s, q->size, reuse, false)
    if (n == "SoftmaxGrad") PAIR(SoftMaxGrad, s, q->size, reuse, false)
    if (n == "SoftmaxFlashV2") PAIR(SoftMaxFlashV2, s, q->size, q->more, reuse)
    if (n == "SoftmaxFlashV3") return GetSoftMaxFlashV3MaxMinTmpSize(s, q->size, q->more, *most, *least, reuse), 1;
    return 0;
}

extern "C" int adv_sizes(const char* what, const Asked* q, uint32_t* most, uint32_t* least) {
    std::string n = what;
    TensorShape s = shape(q->shape, q->dims), o = shape(q->original, q->original_dims);
    bool reuse = q->reuse;
    if (elementwise(n, s, o, q->size, reuse, most, least) || reduction(n, q, s, most, least) ||
        softmax(n, q, s, most, least))
        return 1;
    if (n == "CumSum") GetCumSumMaxMinTmpSize(s, q->size, q->more, reuse, *most, *least);
    else if (n == "LayerNorm") GetLayerNormMaxMinTmpSize(s, q->size, reuse, *most, *least);
    else if (n == "LayerNormRstd") GetLayerNormMaxMinTmpSize(s, q->size, reuse, true, false, *most, *least);
    else if (n == "Normalize") GetNormalizeMaxMinTmpSize(s, q->more, q->size, reuse, true, false, *most, *least);
    else if (n == "DeepNorm") return GetDeepNormMaxMinTmpSize(s, q->size, reuse, q->more, *most, *least);
    else if (n == "RmsNorm") return GetRmsNormMaxMinTmpSize(s, q->size, *most, *least, q->more);
    else if (n == "BatchNorm") return GetBatchNormMaxMinTmpSize(s, o, q->size, reuse, *most, *least, q->more);
    else if (n == "GroupNorm") GetGroupNormMaxMinTmpSize(s, q->size, reuse, q->more, *most, *least);
    else if (n == "LayerNormGrad") GetLayerNormGradMaxMinTmpSize(s, q->size, reuse, *most, *least);
    else if (n == "LayerNormGradBeta") GetLayerNormGradBetaMaxMinTmpSize(s, q->size, reuse, *most, *least);
    else if (n == "WelfordUpdate") GetWelfordUpdateMaxMinTmpSize(s, q->size, 4, reuse, q->more, *most, *least);
    else if (n == "WelfordFinalize") GetWelfordFinalizeMaxMinTmpSize(s, q->size, reuse, *most, *least);
    else return 0;
    return 1;
}

extern "C" int adv_tiling(const char* what, const Asked* q, int host_class, void* to) {
    std::string n = what;
    Out out{to, host_class};
    TensorShape s = shape(q->shape, q->dims), o = shape(q->original, q->original_dims);
    uint32_t room = q->room, size = q->size;
    bool reuse = q->reuse, basic = q->more;
    if (n == "LayerNorm")
        return TILED(LayerNormTiling)([&](auto& t) { GetLayerNormNDTilingInfo(s, room, size, reuse, t); });
    if (n == "LayerNormRstd")
        return TILED(LayerNormSeparateTiling)(
            [&](auto& t) { GetLayerNormNDTilingInfo(s, room, size, reuse, true, t); });
    if (n == "DeepNorm")
        return TILED(DeepNormTiling)([&](auto& t) { GetDeepNormTilingInfo(s, o, room, size, reuse, basic, t); });
    if (n == "RmsNorm") return TILED(RmsNormTiling)([&](auto& t) { GetRmsNormTilingInfo(s, o, room, size, t, basic); });
    if (n == "BatchNorm")
        return TILED(BatchNormTiling)([&](auto& t) { GetBatchNormNDTilingInfo(s, o, room, size, reuse, t, basic); });
    if (n == "GroupNorm")
        return TILED(GroupNormTiling)([&](auto& t) { GetGroupNormNDTilingInfo(s, room, size, reuse, q->more, t); });
    if (n == "LayerNormGrad")
        return TILED(LayerNormGradTiling)([&](auto& t) { GetLayerNormGradNDTilingInfo(s, room, size, reuse, t); });
    if (n == "LayerNormGradBeta")
        return TILED(LayerNormGradBetaTiling)(
            [&](auto& t) { GetLayerNormGradBetaNDTilingInfo(s, room, size, reuse, t); });
    if (n == "SoftMax") return TILED(SoftMaxTiling)([&](auto& t) { SoftMaxTilingFunc(s, size, room, t); });
    if (n == "LogSoftMax") return TILED(LogSoftMaxTiling)([&](auto& t) { LogSoftMaxTilingFunc(s, size, room, t); });
    if (n == "SoftmaxFlash")
        return TILED(SoftMaxTiling)([&](auto& t) { SoftMaxFlashTilingFunc(s, size, room, t, reuse); });
    if (n == "SoftmaxGrad")
        return TILED(SoftMaxTiling)([&](auto& t) { SoftMaxGradTilingFunc(s, size, room, t, reuse); });
    if (n == "SoftmaxFlashV2")
        return TILED(SoftMaxTiling)([&](auto& t) { SoftMaxFlashV2TilingFunc(s, size, q->more, room, t, reuse); });
    if (n == "SoftmaxFlashV3")
        return TILED(SoftMaxTiling)([&](auto& t) { SoftMaxFlashV3TilingFunc(s, size, q->more, room, t, reuse); });
    return 0;
}
