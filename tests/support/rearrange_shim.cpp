// The host's sizes and tilings for ctypes; `host_class` asks by way of the class with set_ and get_.
#include "tiling/tiling_api.h"

using namespace AscendC;

namespace {
const platform_ascendc::PlatformAscendC& platform() {
    return *platform_ascendc::PlatformAscendCManager::GetInstance("Ascend910B1");
}
TensorShape shape(const int64_t* dims, int n) { return TensorShape(std::vector<int64_t>(dims, dims + n)); }
template <typename Host, typename Plain, typename F> void both(void* out, int host_class, F make) {
    Plain plain;
    Host host;
    if (host_class) {
        make(host);
        host.SaveToBuffer(out, host.GetDataSize());
    } else {
        make(plain);
        std::memcpy(out, &plain, sizeof(plain));
    }
}
}  // namespace

extern "C" {
void sizes_broadcast(const int64_t* to, const int64_t* from, int dims, uint32_t size, uint32_t* most, uint32_t* least) {
    GetBroadCastMaxMinTmpSize(platform(), shape(from, dims), shape(to, dims), size, false, *most, *least);
}
void sizes_pad(const int64_t* dims, uint32_t size, uint32_t* most, uint32_t* least) {
    GetPadMaxMinTmpSize(shape(dims, 2), size, *most, *least);
}
void sizes_select(const int64_t* dims, const int64_t* mask, uint32_t size, uint32_t mask_size, bool reuse,
                  uint32_t* most, uint32_t* least) {
    uint32_t max2 = 0, min2 = 0;
    GetSelectMaxMinTmpSize(shape(dims, 2), TensorShape(std::vector<int64_t>{1}), size, shape(mask, 2), mask_size, reuse,
                           *most, *least);
    GetSelectWithBytesMaskMaxMinTmpSize(TensorShape(std::vector<int64_t>{1}), shape(dims, 2), size, shape(mask, 2),
                                        mask_size, reuse, max2, min2);
    if (max2 != *most || min2 != *least) *most = *least = ~0u;
}
void sizes_drop(const int64_t* dims, uint32_t size, uint32_t* most, uint32_t* least) {
    GetDropOutMaxMinTmpSize(shape(dims, 2), size, false, *most, *least);
}
void sizes_top(int inner, int outter, bool own, int small, bool largest, uint32_t size, uint32_t* most,
               uint32_t* least) {
    GetTopKMaxMinTmpSize(platform(), inner, outter, false, own, TopKMode(small), largest, size, *most, *least);
}
void sizes_transpose(const int64_t* dims, int n, uint32_t size, uint32_t scene, uint32_t* most, uint32_t* least) {
    GetTransposeMaxMinTmpSize(shape(dims, n), size, scene, *most, *least);
}
void sizes_trans_data(const int64_t* dims, bool fractal, bool back, uint32_t* most, uint32_t* least) {
    auto up = [](int64_t n) { return (n + 15) / 16; };
    const int64_t n = dims[0], c = dims[1], d = dims[2], h = dims[3], w = dims[4];
    TensorShape five = shape(dims, 5),
                blocks = fractal ? TensorShape({d, up(c), h, w, up(n), 16, 16}) : TensorShape({n, d, up(c), h, w, 16});
    DataFormat other = fractal ? DataFormat::FRACTAL_Z_3D : DataFormat::NDC1HWC0;
    TransDataConfig config = back ? TransDataConfig{other, DataFormat::NCDHW}
                                  : TransDataConfig{DataFormat::NCDHW, other};
    if (!GetTransDataMaxMinTmpSize(platform(), back ? blocks : five, back ? five : blocks, ge::DT_FLOAT16, config,
                                   *most, *least))
        *most = *least = ~0u;
}
uint32_t size_sort(uint32_t n, uint32_t size) {
    return GetSortTmpSize(platform(), n, size) + GetConcatTmpSize(platform(), n, size);
}

void tiling_pad(void* out, int host_class, const int64_t* dims, const int64_t* own, uint32_t scratch, uint32_t size) {
    both<optiling::PadTiling, PadTiling>(
        out, host_class, [&](auto& t) { PadTilingFunc(shape(dims, 2), shape(own, 2), scratch, size, t); });
}
void tiling_unpad(void* out, int host_class, const int64_t* dims, uint32_t size) {
    both<optiling::UnPadTiling, UnPadTiling>(out, host_class,
                                             [&](auto& t) { UnPadTilingFunc(shape(dims, 2), 0, size, t); });
}
void tiling_top(void* out, int host_class, int inner, int outter, int k, uint32_t size, bool own, int small,
                bool largest) {
    both<optiling::TopkTiling, TopkTiling>(out, host_class, [&](auto& t) {
        TopKTilingFunc(platform(), inner, outter, k, size, own, TopKMode(small), largest, t);
    });
}
void tiling_transpose(void* out, int host_class, const int64_t* dims, int n, uint32_t size, uint32_t scene) {
    both<optiling::ConfusionTransposeTiling, ConfusionTransposeTiling>(
        out, host_class, [&](auto& t) { GetTransposeTilingInfo(shape(dims, n), 4096, size, scene, t); });
}
}
