// TransData: five axes NCDHW to and from the layouts of blocks of 16 channels, and of 16 channels times 16 of N.
#pragma once
#include "twin/base/coordinate.h"
#include "twin/library/math.h"
#include "twin/library/trans_data_types.h"

namespace twin {
struct Ncdhw { uint32_t n, c, d, h, w; };
void trans_data(Dt, Loc d, Loc s, Loc tmp, const Ncdhw&, bool fractal, bool back, Here);
}  // namespace twin

namespace AscendC {

template <typename T, typename U> struct TransDataParams {
    T srcLayout;
    U dstLayout;
};

template <const TransDataConfig& config, typename T, typename U, typename S>
void TransData(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,
               const LocalTensor<uint8_t>& sharedTmpBuffer, const TransDataParams<U, S>& params, TWIN_HERE) {
    detail::adv_type<T, half, bfloat16_t, uint16_t, int16_t>();
    constexpr bool back = config.dstFormat == DataFormat::NCDHW;
    constexpr DataFormat other = back ? config.srcFormat : config.dstFormat;
    constexpr bool fractal = other == DataFormat::FRACTAL_Z_3D;
    static_assert((back || config.srcFormat == DataFormat::NCDHW) && (fractal || other == DataFormat::NDC1HWC0),
                  "TransData converts between NCDHW and NDC1HWC0, and between NCDHW and FRACTAL_Z_3D");
    static_assert(
        is_layout_v<U> && is_layout_v<S>,
        "TransDataParams holds two Layouts, as MakeLayout(MakeShape(n, c, d, h, w), MakeStride()) gives them");
    const auto from = params.srcLayout.GetShape();
    const auto to = params.dstLayout.GetShape();
    constexpr size_t dims = fractal ? 7 : 6;
    static_assert(
        Std::tuple_size_v<decltype(from)> == (back ? dims : 5) && Std::tuple_size_v<decltype(to)> == (back ? 5 : dims),
        "NCDHW has 5 axes, NDC1HWC0 has 6, FRACTAL_Z_3D has 7 (d, c1, h, w, n1, n0, c0)");
    auto five = [](const auto& s) {
        return ::twin::Ncdhw{uint32_t(Std::get<0>(s)), uint32_t(Std::get<1>(s)), uint32_t(Std::get<2>(s)),
                             uint32_t(Std::get<3>(s)), uint32_t(Std::get<4>(s))};
    };
    ::twin::Ncdhw shape;
    if constexpr (back) shape = five(to);
    else shape = five(from);
    ::twin::trans_data(::twin::dt<T>(), dstTensor.loc_, srcTensor.loc_, sharedTmpBuffer.loc_, shape, fractal, back,
                       here);
}
template <const TransDataConfig& config, typename T, typename U, typename S>
void TransData(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const TransDataParams<U, S>& params,
               TWIN_HERE) {
    TransData<config>(dstTensor, srcTensor, LocalTensor<uint8_t>(::twin::spare()), params, here);
}

}  // namespace AscendC
