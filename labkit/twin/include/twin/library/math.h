// Mathematical functions of the advanced API, and code that its functions share.
//
// A function takes a temporary tensor; the form without one uses the free part of UB behind the queues: spare().
#pragma once
#include "twin/core/tensor.h"

namespace twin {

constexpr uint8_t kSpare = 17;  // the position of what spare() returns
Loc spare();
// ---- dst = f(src), f(src0, src1), f(src0, scalar) or f(scalar, src1), element by element
void adv_map(Op, Dt, Loc d, Loc a, Loc tmp, uint32_t n, Here);
void adv_map(Op, Dt, Loc d, Loc a, Loc b, Loc tmp, uint32_t n, Here);
void adv_map(Op, Dt, Loc d, Loc a, Value v, Loc tmp, uint32_t n, Here);
void adv_map(Op, Dt, Loc d, Value v, Loc b, Loc tmp, uint32_t n, Here);
void adv_exp(Dt, Loc d, Loc a, Loc tmp, uint32_t n, uint32_t terms, Here);
void adv_axpy(Dt to, Dt from, Loc d, Loc a, Value v, Loc tmp, uint32_t n, Here);
void adv_cumsum(Dt, Loc d, Loc last, Loc a, Loc tmp, uint32_t outer, uint32_t inner, bool along_rows, bool keep_last,
                Here);

}  // namespace twin

namespace AscendC {

namespace detail {
template <typename T, typename... Us> constexpr void adv_type() {
    static_assert(::twin::one_of<T, Us...>(),
                  "this function is not there for the type on Atlas A2: most of the advanced API takes half and float; "
                  "Cast first");
}
}  // namespace detail

#define TWIN_LIST(...) __VA_ARGS__  // one macro argument with commas in it

// With and without a temporary tensor, of the whole tensor or of its first calCount elements.
#define TWIN_ADV_TMP_COUNT(name)                                                                                      \
    template <typename T, bool isReuseSource = false> void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, \
                                                                const LocalTensor<uint8_t>& tmp,                      \
                                                                const uint32_t calCount, TWIN_HERE) {                 \
        detail::adv_type<T, half, float>();                                                                           \
        ::twin::adv_map(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src.loc_, tmp.loc_, calCount, here);             \
    }                                                                                                                 \
    template <typename T, bool isReuseSource = false>                                                                 \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t calCount, TWIN_HERE) {             \
        detail::adv_type<T, half, float>();                                                                           \
        ::twin::adv_map(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src.loc_, ::twin::spare(), calCount, here);      \
    }                                                                                                                 \
    template <typename T, bool isReuseSource = false, typename... N, std::enable_if_t<sizeof...(N) == 0, int> = 0>    \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t calCount, N...) { /* for pointers  \
                                                                                                      */              \
        name<T, isReuseSource>(dst, src, calCount, ::twin::Here());                                                   \
    }
#define TWIN_ADV_TMP_ALL(name)                                                                                    \
    template <typename T, bool isReuseSource = false>                                                             \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp, TWIN_HERE) { \
        name<T, isReuseSource>(dst, src, tmp, src.GetSize(), here);                                               \
    }                                                                                                             \
    template <typename T, bool isReuseSource = false>                                                             \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, TWIN_HERE) {                                  \
        name<T, isReuseSource>(dst, src, src.GetSize(), here);                                                    \
    }
#define TWIN_ADV(name)       \
    TWIN_ADV_TMP_COUNT(name) \
    TWIN_ADV_TMP_ALL(name)

// clang-format off
TWIN_ADV(Tanh) TWIN_ADV(Sin) TWIN_ADV(Cos) TWIN_ADV(Tan) TWIN_ADV(Asin) TWIN_ADV(Acos) TWIN_ADV(Atan)
TWIN_ADV(Sinh) TWIN_ADV(Cosh) TWIN_ADV(Asinh) TWIN_ADV(Acosh) TWIN_ADV(Atanh) TWIN_ADV(Erf) TWIN_ADV(Erfc)
TWIN_ADV(Frac) TWIN_ADV(Sign) TWIN_ADV(Trunc) TWIN_ADV(Log2)
TWIN_ADV_TMP_COUNT(Lgamma) TWIN_ADV_TMP_COUNT(Digamma) TWIN_ADV_TMP_COUNT(Floor) TWIN_ADV_TMP_COUNT(Ceil)
TWIN_ADV_TMP_COUNT(Round)
// clang-format on

// Log and Log10 need no temporary tensor and take none.
#define TWIN_ADV_PLAIN(name)                                                                                   \
    template <typename T, bool isReuseSource = false>                                                          \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t calCount, TWIN_HERE) {            \
        detail::adv_type<T, half, float>();                                                                    \
        ::twin::adv_map(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src.loc_, ::twin::Loc{}, calCount, here); \
    }                                                                                                          \
    template <typename T, bool isReuseSource = false>                                                          \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, TWIN_HERE) {                               \
        name<T, isReuseSource>(dst, src, src.GetSize(), here);                                                 \
    }
// clang-format off
TWIN_ADV_PLAIN(Log) TWIN_ADV_PLAIN(Log10)
// clang-format on

// Of two operands. A and B are a tensor, or for Power one of them a scalar; the count of the whole is the tensor's.
#define TWIN_ADV_PAIR(name, A, a, B, b, whole, ...)                                                                  \
    template <typename T, bool isReuseSource = false> void name(const LocalTensor<T>& dst, const A& src0,            \
                                                                const B& src1, const LocalTensor<uint8_t>& tmp,      \
                                                                uint32_t calCount, TWIN_HERE) {                      \
        detail::adv_type<T, __VA_ARGS__>();                                                                          \
        ::twin::adv_map(::twin::Op::name, ::twin::dt<T>(), dst.loc_, a, b, tmp.loc_, calCount, here);                \
    }                                                                                                                \
    template <typename T, bool isReuseSource = false>                                                                \
    void name(const LocalTensor<T>& dst, const A& src0, const B& src1, uint32_t calCount, TWIN_HERE) {               \
        detail::adv_type<T, __VA_ARGS__>();                                                                          \
        ::twin::adv_map(::twin::Op::name, ::twin::dt<T>(), dst.loc_, a, b, ::twin::spare(), calCount, here);         \
    }                                                                                                                \
    template <typename T, bool isReuseSource = false>                                                                \
    void name(const LocalTensor<T>& dst, const A& src0, const B& src1, const LocalTensor<uint8_t>& tmp, TWIN_HERE) { \
        name<T, isReuseSource>(dst, src0, src1, tmp, whole.GetSize(), here);                                         \
    }                                                                                                                \
    template <typename T, bool isReuseSource = false>                                                                \
    void name(const LocalTensor<T>& dst, const A& src0, const B& src1, TWIN_HERE) {                                  \
        name<T, isReuseSource>(dst, src0, src1, whole.GetSize(), here);                                              \
    }
TWIN_ADV_PAIR(Fmod, LocalTensor<T>, src0.loc_, LocalTensor<T>, src1.loc_, src0, half, float)
TWIN_ADV_PAIR(Xor, LocalTensor<T>, src0.loc_, LocalTensor<T>, src1.loc_, src0, int16_t, uint16_t)
TWIN_ADV_PAIR(Power, LocalTensor<T>, src0.loc_, LocalTensor<T>, src1.loc_, src0, half, float, int32_t)
TWIN_ADV_PAIR(Power, LocalTensor<T>, src0.loc_, T, ::twin::value_of(src1), src0, half, float, int32_t)
TWIN_ADV_PAIR(Power, T, ::twin::value_of(src0), LocalTensor<T>, src1.loc_, src1, half, float, int32_t)

#define TWIN_ADV_CLAMP(name)                                                                                          \
    template <typename T, bool isReuseSource = false> void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, \
                                                                const LocalTensor<uint8_t>& tmp, const T scalar,      \
                                                                const uint32_t calCount, TWIN_HERE) {                 \
        detail::adv_type<T, half, float>();                                                                           \
        ::twin::adv_map(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src.loc_, ::twin::value_of(scalar), tmp.loc_,    \
                        calCount, here);                                                                              \
    }                                                                                                                 \
    template <typename T, bool isReuseSource = false> void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, \
                                                                const T scalar, const uint32_t calCount, TWIN_HERE) { \
        detail::adv_type<T, half, float>();                                                                           \
        ::twin::adv_map(::twin::Op::name, ::twin::dt<T>(), dst.loc_, src.loc_, ::twin::value_of(scalar),              \
                        ::twin::spare(), calCount, here);                                                             \
    }
// clang-format off
TWIN_ADV_CLAMP(ClampMax) TWIN_ADV_CLAMP(ClampMin)
// clang-format on

// e^x, with taylorExpandLevel > 0 as e^floor(x) times a Taylor polynomial of the rest.
template <typename T, uint8_t taylorExpandLevel, bool isReuseSource = false>
void Exp(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp, const uint32_t calCount,
         TWIN_HERE) {
    detail::adv_type<T, half, float>();
    ::twin::adv_exp(::twin::dt<T>(), dst.loc_, src.loc_, tmp.loc_, calCount, taylorExpandLevel, here);
}
template <typename T, uint8_t taylorExpandLevel, bool isReuseSource = false>
void Exp(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t calCount, TWIN_HERE) {
    detail::adv_type<T, half, float>();
    ::twin::adv_exp(::twin::dt<T>(), dst.loc_, src.loc_, ::twin::spare(), calCount, taylorExpandLevel, here);
}

// dst += scalar * src, the sum in float
template <typename T, typename U, bool isReuseSource = false>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U scalar, const LocalTensor<uint8_t>& tmp,
          const uint32_t calCount, TWIN_HERE) {
    detail::adv_type<T, half, float>();
    static_assert(IsSameType<T, U>::value || (IsSameType<T, float>::value && IsSameType<U, half>::value),
                  "Axpy adds half to half, float to float, or half to float");
    ::twin::adv_axpy(::twin::dt<T>(), ::twin::dt<U>(), dst.loc_, src.loc_, ::twin::value_of(scalar), tmp.loc_, calCount,
                     here);
}

enum class CumSumAlgorithm { CUMSUM_ALGORITHM_LINEBYLINE = 0, CUMSUM_ALGORITHM_SKLANSKY = 1 };
struct CumSumConfig {
    bool isLastAxis{true};
    bool isReuseSource{false};
    bool outputLastRow{false};
    CumSumAlgorithm algorithm{CumSumAlgorithm::CUMSUM_ALGORITHM_LINEBYLINE};
};
struct CumSumInfo {
    uint32_t outter{0};
    uint32_t inner{0};
};
constexpr CumSumConfig defaultCumSumConfig = {true, false, true};

template <typename T, const CumSumConfig& config = defaultCumSumConfig>
void CumSum(const LocalTensor<T>& dst, const LocalTensor<T>& lastRow, const LocalTensor<T>& src,
            const LocalTensor<uint8_t>& tmp, const CumSumInfo& info, TWIN_HERE) {
    detail::adv_type<T, half, float>();
    static_assert(config.algorithm == CumSumAlgorithm::CUMSUM_ALGORITHM_LINEBYLINE,
                  "CUMSUM_ALGORITHM_SKLANSKY is not there on Atlas A2; use CUMSUM_ALGORITHM_LINEBYLINE");
    ::twin::adv_cumsum(::twin::dt<T>(), dst.loc_, lastRow.loc_, src.loc_, tmp.loc_, info.outter, info.inner,
                       config.isLastAxis, config.outputLastRow, here);
}
template <typename T, const CumSumConfig& config = defaultCumSumConfig>
void CumSum(const LocalTensor<T>& dst, const LocalTensor<T>& lastRow, const LocalTensor<T>& src, const CumSumInfo& info,
            TWIN_HERE) {
    detail::adv_type<T, half, float>();
    ::twin::adv_cumsum(::twin::dt<T>(), dst.loc_, lastRow.loc_, src.loc_, ::twin::spare(), info.outter, info.inner,
                       config.isLastAxis, config.outputLastRow, here);
}

}  // namespace AscendC
