// Activation functions of the advanced API, element by element. (SoftMax and its variants: softmax.h.)
#pragma once
#include "twin/library/math.h"

namespace twin {
void adv_gelu(Op, Dt, Loc d, Loc a, Loc tmp, uint32_t n, bool in_float, Here);
void adv_glu(Op, Dt, Loc d, Loc a, Loc b, float beta, Loc tmp, uint32_t n, Here);
}  // namespace twin

namespace AscendC {

TWIN_ADV(Sigmoid)

// highPrecision computes half in float, highPerformance uses a reciprocal: neither changes the formula.
#define TWIN_ADV_GELU(name)                                                                                        \
    template <typename T, bool highPrecision = false, bool highPerformance = false>                                \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp,               \
              const uint32_t dataSize, TWIN_HERE) {                                                                \
        detail::adv_type<T, half, float>();                                                                        \
        ::twin::adv_gelu(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src.loc_, tmp.loc_, dataSize, highPrecision, \
                         here);                                                                                    \
    }                                                                                                              \
    template <typename T, bool highPrecision = false, bool highPerformance = false>                                \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t dataSize, TWIN_HERE) {          \
        detail::adv_type<T, half, float>();                                                                        \
        ::twin::adv_gelu(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src.loc_, ::twin::spare(), dataSize,         \
                         highPrecision, here);                                                                     \
    }
// clang-format off
TWIN_ADV_GELU(Gelu) TWIN_ADV_GELU(FasterGelu) TWIN_ADV_GELU(FasterGeluV2)
// clang-format on

template <typename T, bool isReuseSource = false>
void Silu(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t dataSize, TWIN_HERE) {
    detail::adv_type<T, half, float>();
    ::twin::adv_map(::twin::Op::Silu, ::twin::dt<T>(), dst.loc_, src.loc_, ::twin::Loc{}, dataSize, here);
}
template <typename T, bool isReuseSource = false>
void Swish(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t dataSize, const T scalarValue, TWIN_HERE) {
    detail::adv_type<T, half, float>();
    ::twin::adv_map(::twin::Op::Swish, ::twin::dt<T>(), dst.loc_, src.loc_, ::twin::value_of(scalarValue),
                    ::twin::Loc{}, dataSize, here);
}

// src0 * gate(src1)
#define TWIN_ADV_GLU(name, parameter, beta, ...)                                                                       \
    template <typename T, bool isReuseSource = false>                                                                  \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1 parameter,             \
              const LocalTensor<uint8_t>& tmp, uint32_t calCount, TWIN_HERE) {                                         \
        detail::adv_type<T, __VA_ARGS__>();                                                                            \
        ::twin::adv_glu(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src0.loc_, src1.loc_, beta, tmp.loc_, calCount,   \
                        here);                                                                                         \
    }                                                                                                                  \
    template <typename T, bool isReuseSource = false> void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, \
                                                                const LocalTensor<T>& src1 parameter,                  \
                                                                uint32_t calCount, TWIN_HERE) {                        \
        detail::adv_type<T, __VA_ARGS__>();                                                                            \
        ::twin::adv_glu(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src0.loc_, src1.loc_, beta, ::twin::spare(),      \
                        calCount, here);                                                                               \
    }
#define TWIN_COMMA ,
TWIN_ADV_GLU(GeGLU, , 0, half, float)
TWIN_ADV_GLU(ReGlu, , 0, half, bfloat16_t, float)
TWIN_ADV_GLU(SwiGLU, TWIN_COMMA const float& scalarValue, scalarValue, half, float)
#undef TWIN_COMMA

template <typename T, bool isReuseSource = false> void GeGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                                                             const LocalTensor<T>& src1,
                                                             const LocalTensor<uint8_t>& tmp, TWIN_HERE) {
    GeGLU<T, isReuseSource>(dst, src0, src1, tmp, src0.GetSize(), here);
}
template <typename T, bool isReuseSource = false>
void GeGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, TWIN_HERE) {
    GeGLU<T, isReuseSource>(dst, src0, src1, src0.GetSize(), here);
}
template <typename T, bool isReuseSource = false> void SwiGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                                                              const LocalTensor<T>& src1, const float& scalarValue,
                                                              const LocalTensor<uint8_t>& tmp, TWIN_HERE) {
    SwiGLU<T, isReuseSource>(dst, src0, src1, scalarValue, tmp, src0.GetSize(), here);
}
template <typename T, bool isReuseSource = false> void SwiGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                                                              const LocalTensor<T>& src1, const float& scalarValue,
                                                              TWIN_HERE) {
    SwiGLU<T, isReuseSource>(dst, src0, src1, scalarValue, src0.GetSize(), here);
}

}  // namespace AscendC
