// Changes of a whole tensor's layout by the advanced API: Transpose with a tiling (the seven scenes of Atlas A2).
#pragma once
#include "kernel_tiling/kernel_tiling.h"
#include "twin/library/math.h"
#include "twin/vector/transpose.h"

namespace twin {
void transpose_scene(Dt, Loc d, Loc s, Loc tmp, int scene, const uint32_t (&params)[18], Here);
}  // namespace twin

namespace AscendC {

template <typename T> void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                     const LocalTensor<uint8_t>& sharedTmpBuffer, TransposeType transposeType,
                                     ConfusionTransposeTiling& tiling, TWIN_HERE) {
    detail::adv_type<T, int16_t, uint16_t, half, int32_t, uint32_t, float, bfloat16_t>();
    uint32_t params[18];
    static_assert(sizeof(params) == sizeof(tiling), "the tiling is eighteen numbers");
    __builtin_memcpy(params, &tiling, sizeof(params));
    ::twin::transpose_scene(::twin::dt<T>(), dst.loc_, src.loc_, sharedTmpBuffer.loc_, int(transposeType), params,
                            here);
}
template <typename T> void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src, TransposeType transposeType,
                                     ConfusionTransposeTiling& tiling, TWIN_HERE) {
    Transpose(dst, src, LocalTensor<uint8_t>(::twin::spare()), transposeType, tiling, here);
}
template <typename T>  // its name until CANN 9
void ConfusionTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                        const LocalTensor<uint8_t>& sharedTmpBuffer, TransposeType transposeType,
                        ConfusionTransposeTiling& tiling, TWIN_HERE) {
    Transpose(dst, src, sharedTmpBuffer, transposeType, tiling, here);
}
template <typename T> void ConfusionTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                              TransposeType transposeType, ConfusionTransposeTiling& tiling,
                                              TWIN_HERE) {
    Transpose(dst, src, transposeType, tiling, here);
}

}  // namespace AscendC
