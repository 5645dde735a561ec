// Filling by the advanced API: Broadcast, Pad and UnPad of tensors; Fill (InitGlobalMemory, InitOutput) of GM.
#pragma once
#include "kernel_tiling/kernel_tiling.h"
#include "twin/library/math.h"

namespace twin {
void broadcast(Dt, Loc d, Loc s, Loc tmp, uint32_t dims, uint32_t axis, const uint32_t* to, const uint32_t* from, Here);
void pad(Dt, Loc d, Loc s, Loc tmp, uint32_t rows, uint32_t width, uint32_t data, uint32_t left, uint32_t right,
         Value v, Here);
void unpad(Dt, Loc d, Loc s, uint32_t rows, uint32_t width, uint32_t left, uint32_t right, Here);
void fill_gm(Dt, Gm d, Value v, uint64_t n, Here);
}  // namespace twin

namespace AscendC {

// ---- axis 0 repeats a row, axis 1 each element of a column
template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>
void Broadcast(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, const uint32_t dstShape[dim],
               const uint32_t srcShape[dim], const LocalTensor<uint8_t>& sharedTmpBuffer, TWIN_HERE) {
    detail::adv_type<T, int8_t, uint8_t, half, float, bfloat16_t, int16_t, uint16_t, int32_t, uint32_t>();
    static_assert((dim == 1 || dim == 2) && (axis == 0 || axis == 1),
                  "Broadcast on Atlas A2 knows tensors of 1 or 2 dimensions and the axes 0 and 1");
    ::twin::broadcast(::twin::dt<T>(), dstLocal.loc_, srcLocal.loc_, sharedTmpBuffer.loc_, dim, axis, dstShape,
                      srcShape, here);
}
template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>
void Broadcast(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, const uint32_t dstShape[dim],
               const uint32_t srcShape[dim], TWIN_HERE) {
    Broadcast<T, dim, axis, isReuseSource>(dstLocal, srcLocal, dstShape, srcShape,
                                           LocalTensor<uint8_t>(::twin::spare()), here);
}
template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>
void BroadCast(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, const uint32_t dstShape[dim],
               const uint32_t srcShape[dim], const LocalTensor<uint8_t>& sharedTmpBuffer, TWIN_HERE) {
    Broadcast<T, dim, axis, isReuseSource>(dstLocal, srcLocal, dstShape, srcShape, sharedTmpBuffer, here);
}
template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>
void BroadCast(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, const uint32_t dstShape[dim],
               const uint32_t srcShape[dim], TWIN_HERE) {
    Broadcast<T, dim, axis, isReuseSource>(dstLocal, srcLocal, dstShape, srcShape, here);
}

// ---- rows of a matrix filled up to whole blocks, and the filling taken off again
struct PadParams {
    uint16_t leftPad = 0, rightPad = 0;
    int32_t padValue = 0;
};
struct UnPadParams { uint16_t leftPad = 0, rightPad = 0; };
template <typename T> void Pad(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, PadParams& p,
                               const LocalTensor<uint8_t>& sharedTmpBuffer, PadTiling& tiling, TWIN_HERE) {
    detail::adv_type<T, int16_t, uint16_t, half, int32_t, uint32_t, float>();
    ::twin::pad(::twin::dt<T>(), dstTensor.loc_, srcTensor.loc_, sharedTmpBuffer.loc_, tiling.srcHeight,
                tiling.srcWidth, tiling.srcOriWidth, p.leftPad, p.rightPad, ::twin::value_of(T(p.padValue)), here);
}
template <typename T>
void Pad(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, PadParams& p, PadTiling& tiling, TWIN_HERE) {
    Pad(dstTensor, srcTensor, p, LocalTensor<uint8_t>(::twin::spare()), tiling, here);
}
template <typename T> void UnPad(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, UnPadParams& p,
                                 const LocalTensor<uint8_t>&, UnPadTiling& tiling, TWIN_HERE) {
    detail::adv_type<T, int16_t, uint16_t, half, int32_t, uint32_t, float>();
    ::twin::unpad(::twin::dt<T>(), dstTensor.loc_, srcTensor.loc_, tiling.srcHeight, tiling.srcWidth, p.leftPad,
                  p.rightPad, here);
}
template <typename T> void UnPad(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, UnPadParams& p,
                                 UnPadTiling& tiling, TWIN_HERE) {
    UnPad(dstTensor, srcTensor, p, dstTensor.template ReinterpretCast<uint8_t>(), tiling, here);
}

// ---- GM, through the free part of UB
template <typename T> void Fill(const GlobalTensor<T>& gmWorkspaceAddr, const uint64_t size, const T value, TWIN_HERE) {
    detail::adv_type<T, uint16_t, int16_t, half, uint32_t, int32_t, float, bfloat16_t>();
    ::twin::fill_gm(::twin::dt<T>(), gmWorkspaceAddr.gm_, ::twin::value_of(value), size, here);
}
template <typename T>
void InitGlobalMemory(const GlobalTensor<T>& gmWorkspaceAddr, const uint64_t size, const T value, TWIN_HERE) {
    Fill(gmWorkspaceAddr, size, value, here);
}
template <typename T> void InitOutput(const GlobalTensor<T>& gmWorkspaceAddr, uint32_t size, T value = 0, TWIN_HERE) {
    Fill(gmWorkspaceAddr, size, value, here);
}

}  // namespace AscendC
