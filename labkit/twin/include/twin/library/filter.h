// Choosing elements by a mask of whole bytes (Select with a shape) and dropping them out (DropOut).
#pragma once
#include "twin/library/math.h"
#include "twin/vector/compare.h"

namespace twin {
struct MaskRows {  // rows of a source and of its mask, in elements
    uint32_t rows, src, mask;
};
void select_bytes(Dt, uint32_t mask_size, Loc d, Loc s, Value v, Loc mask, Loc tmp, const MaskRows&,
                  bool tensor_where_set, bool reuse_mask, Here);
void drop_out(Dt, Loc d, Loc s, Loc mask, Loc tmp, float keep, const MaskRows&, uint32_t mode, bool own_register, Here);
void drop_out_init(Loc tmp, Here);
}  // namespace twin

namespace AscendC {

struct SelectWithBytesMaskShapeInfo { uint32_t firstAxis = 0, srcLastAxis = 0, maskLastAxis = 0; };
namespace detail {
template <typename T, typename U, bool isReuseMask>
void select_bytes(const LocalTensor<T>& dst, const LocalTensor<T>& src, T value, const LocalTensor<U>& mask,
                  const LocalTensor<uint8_t>& tmp, const SelectWithBytesMaskShapeInfo& i, bool tensor_where_set,
                  ::twin::Here here) {
    adv_type<T, half, float>();
    static_assert(::twin::one_of<U, bool, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t>(),
                  "the mask of this Select holds bool or integers of 8, 16 or 32 bits");
    ::twin::select_bytes(::twin::dt<T>(), sizeof(U), dst.loc_, src.loc_, ::twin::value_of(value), mask.loc_, tmp.loc_,
                         {i.firstAxis, i.srcLastAxis, i.maskLastAxis}, tensor_where_set, isReuseMask, here);
}
}  // namespace detail

// Where the mask is not 0 the result is src1, elsewhere src0; one of them is a scalar. Mask rows longer than the
// source's are packed first, in place if isReuseMask.
#define TWIN_SELECT_BYTES(name)                                                                                   \
    template <typename T, typename U, bool isReuseMask = true>                                                    \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, T src1, const LocalTensor<U>& mask,          \
              const LocalTensor<uint8_t>& sharedTmpBuffer, const SelectWithBytesMaskShapeInfo& info, TWIN_HERE) { \
        detail::select_bytes<T, U, isReuseMask>(dst, src0, src1, mask, sharedTmpBuffer, info, false, here);       \
    }                                                                                                             \
    template <typename T, typename U, bool isReuseMask = true>                                                    \
    void name(const LocalTensor<T>& dst, T src0, const LocalTensor<T>& src1, const LocalTensor<U>& mask,          \
              const LocalTensor<uint8_t>& sharedTmpBuffer, const SelectWithBytesMaskShapeInfo& info, TWIN_HERE) { \
        detail::select_bytes<T, U, isReuseMask>(dst, src1, src0, mask, sharedTmpBuffer, info, true, here);        \
    }
TWIN_SELECT_BYTES(Select)
TWIN_SELECT_BYTES(SelectWithBytesMask)  // its name until CANN 8.2

constexpr uint32_t DROPOUT_MODE_BYTE_MISALIGN = 1, DROPOUT_MODE_BYTE_ALIGN = 2, DROPOUT_MODE_BIT_ALIGN = 3,
                   DROPOUT_MODE_BIT_MISALIGN = 4;
struct DropOutShapeInfo {
    DropOutShapeInfo() {}
    uint32_t firstAxis = 0, srcLastAxis = 0, maskLastAxis = 0;
};
template <typename T, bool isInitBitMode = false, uint32_t dropOutMode = 0>
void DropOut(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, const LocalTensor<uint8_t>& maskLocal,
             const LocalTensor<uint8_t>& sharedTmpBuffer, const float keepProb, const DropOutShapeInfo& info,
             TWIN_HERE) {
    detail::adv_type<T, half, float>();
    static_assert(dropOutMode <= DROPOUT_MODE_BIT_MISALIGN,
                  "dropOutMode is 0 (from the shapes), 1 or 2 (a byte an element), 3 or 4 (a bit an element)");
    ::twin::drop_out(::twin::dt<T>(), dstLocal.loc_, srcLocal.loc_, maskLocal.loc_, sharedTmpBuffer.loc_, keepProb,
                     {info.firstAxis, info.srcLastAxis, info.maskLastAxis}, dropOutMode, !isInitBitMode, here);
}
template <typename T, bool isInitBitMode = false, uint32_t dropOutMode = 0>
void DropOut(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, const LocalTensor<uint8_t>& maskLocal,
             const float keepProb, const DropOutShapeInfo& info, TWIN_HERE) {
    DropOut<T, isInitBitMode, dropOutMode>(dstLocal, srcLocal, maskLocal, LocalTensor<uint8_t>(::twin::spare()),
                                           keepProb, info, here);
}
// DropOut with isInitBitMode = true relies on this: the register CMPMASK holds 0.
template <typename T> void DropOutBitModeInit(const LocalTensor<T>& sharedTmpBuffer, TWIN_HERE) {
    ::twin::drop_out_init(sharedTmpBuffer.loc_, here);
}
inline void DropOutBitModeInit(TWIN_HERE) { ::twin::drop_out_init(::twin::spare(), here); }

}  // namespace AscendC
