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

extern "C" int adv_sizes(const char* what, const Asked* q, uint32_t* most, uint32_t* least) {
    std::string n = what;
    TensorShape s = shape(q->shape, q->dims), o = shape(q->original, q->original_dims);
    bool reuse = q->reuse;
    if (n == "LayerNorm") GetLayerNormMaxMinTmpSize(s, q->size, reuse, *most, *least);
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
    if (n == "LayerNorm") return TILED(LayerNormTiling)([&](auto& t) { GetLayerNormNDTilingInfo(s, room, size, reuse, t); });
    if (n == "LayerNormRstd") return TILED(LayerNormSeparateTiling)([&](auto& t) { GetLayerNormNDTilingInfo(s, room, size, reuse, true, t); });
    if (n == "DeepNorm") return TILED(DeepNormTiling)([&](auto& t) { GetDeepNormTilingInfo(s, o, room, size, reuse, basic, t); });
    if (n == "RmsNorm") return TILED(RmsNormTiling)([&](auto& t) { GetRmsNormTilingInfo(s, o, room, size, t, basic); });
    if (n == "BatchNorm") return TILED(BatchNormTiling)([&](auto& t) { GetBatchNormNDTilingInfo(s, o, room, size, reuse, t, basic); });
    if (n == "GroupNorm") return TILED(GroupNormTiling)([&](auto& t) { GetGroupNormNDTilingInfo(s, room, size, reuse, q->more, t); });
    if (n == "LayerNormGrad") return TILED(LayerNormGradTiling)([&](auto& t) { GetLayerNormGradNDTilingInfo(s, room, size, reuse, t); });
    if (n == "LayerNormGradBeta") return TILED(LayerNormGradBetaTiling)([&](auto& t) { GetLayerNormGradBetaNDTilingInfo(s, room, size, reuse, t); });
    return 0;
}
