// The cube's multiply-add: L0C = L0A * L0B (+ L0C, or + the bias table).
#pragma once
#include "twin/core/tensor.h"

namespace twin {

struct MmadShape {
    uint16_t m = 0, n = 0, k = 0;
    uint8_t unit_flag = 0;
    bool wide_k = false;  // kDirectionAlign: fp32 operands lie in pairs of fractals along k
    enum Start : uint8_t { Zero, Kept, Bias } start = Zero;
    bool sparse = false;
};
// type: F16, BF16, F32 (into F32), I8 (into I32); nibbles: int4b_t
void mmad(Dt type, bool nibbles, Loc c, Loc a, Loc b, Loc bias, const MmadShape&, Here);
void set_hf32(bool on);
enum class HfTies : uint8_t { Zero, Even };
void set_hf32_ties(HfTies);

}  // namespace twin

namespace AscendC {

struct MmadParams {
    MmadParams() {}
    MmadParams(::twin::Arg16 mIn, ::twin::Arg16 nIn, ::twin::Arg16 kIn, bool bias, int32_t offset, bool sparse,
               bool winogradA, bool winogradB)
        : m(mIn),
          n(nIn),
          k(kIn),
          isBias(bias),
          fmOffset(offset),
          enSsparse(sparse),
          enWinogradA(winogradA),
          enWinogradB(winogradB) {}
    MmadParams(::twin::Arg16 mIn, ::twin::Arg16 nIn, ::twin::Arg16 kIn, ::twin::Arg8 flag, bool source, bool initVal)
        : m(mIn), n(nIn), k(kIn), unitFlag(flag), cmatrixSource(source), cmatrixInitVal(initVal) {}
    ::twin::Arg16 m = 0, n = 0, k = 0;
    bool isBias = false;  // old: add to what L0C holds
    int32_t fmOffset = 0;
    bool enSsparse = false, enWinogradA = false, enWinogradB = false;
    ::twin::Arg8 unitFlag = 0;
    bool kDirectionAlign = false;
    bool cmatrixSource = false;  // where C starts when cmatrixInitVal is false: the bias table, or L0C
    bool cmatrixInitVal = true;  // C starts at zero
};

enum class HF32Mode { ENABLE, DISABLE };
enum class HF32TransMode { NEAREST_ZERO, NEAREST_EVEN };

namespace detail {
// The documented triples of Atlas A2: result, left, right.
template <typename T, typename U, typename S>
constexpr bool kMultiplies = IsSameType<U, S>::value &&
                             ((IsSameType<T, float>::value && ::twin::one_of<U, half, bfloat16_t, float>()) ||
                              (IsSameType<T, int32_t>::value && ::twin::one_of<U, int8_t, int4b_t>()));
template <typename U> constexpr ::twin::Dt mmad_type() {
    if constexpr (IsSameType<U, int4b_t>::value) return ::twin::Dt::I8;
    else return ::twin::dt<U>();
}
inline ::twin::MmadShape shape(const MmadParams& p) {
    using S = ::twin::MmadShape;
    bool zero = p.cmatrixInitVal && !p.isBias;
    return {p.m, p.n, p.k, p.unitFlag, p.kDirectionAlign, zero ? S::Zero : p.cmatrixSource ? S::Bias : S::Kept, false};
}
constexpr ::twin::Loc bias_table() { return {0, 1024, 0, 0, ::twin::Mem::BT, uint8_t(TPosition::C2)}; }
}  // namespace detail

template <typename T, typename U, typename S> void Mmad(const LocalTensor<T>& dst, const LocalTensor<U>& fm,
                                                        const LocalTensor<S>& filter, const MmadParams& p, TWIN_HERE) {
    static_assert(detail::kMultiplies<T, U, S>,
                  "Mmad on Atlas A2: half, bfloat16_t or float into float; int8_t or int4b_t into int32_t");
    ::twin::mmad(detail::mmad_type<U>(), IsSameType<U, int4b_t>::value, dst.loc_, fm.loc_, filter.loc_,
                 detail::bias_table(), detail::shape(p), here);
}
// bias in C2 (the bias table) starts C; in CO1, C goes on from what it holds.
template <typename T, typename U, typename S, typename V>
void Mmad(const LocalTensor<T>& dst, const LocalTensor<U>& fm, const LocalTensor<S>& filter, const LocalTensor<V>& bias,
          const MmadParams& p, TWIN_HERE) {
    static_assert(detail::kMultiplies<T, U, S> && IsSameType<T, V>::value && !IsSameType<U, int4b_t>::value,
                  "Mmad with bias on Atlas A2: half, bfloat16_t or float into float, or int8_t into int32_t; the bias "
                  "has the result's type");
    ::twin::MmadShape shape = detail::shape(p);
    if (shape.start != ::twin::MmadShape::Zero || bias.loc_.mem == ::twin::Mem::BT)
        shape.start = bias.loc_.mem == ::twin::Mem::BT ? ::twin::MmadShape::Bias : ::twin::MmadShape::Kept;
    ::twin::mmad(detail::mmad_type<U>(), false, dst.loc_, fm.loc_, filter.loc_, bias.loc_, shape, here);
}
// LoadDataWithSparse's index selects two of every four elements of A along k; they are multiplied by B, which holds
// half of k.
inline void MmadWithSparse(const LocalTensor<int32_t>& dst, const LocalTensor<int8_t>& fm,
                           const LocalTensor<int8_t>& filter, const MmadParams& p, TWIN_HERE) {
    ::twin::MmadShape shape = detail::shape(p);
    shape.sparse = true;
    ::twin::mmad(::twin::Dt::I8, false, dst.loc_, fm.loc_, filter.loc_, detail::bias_table(), shape, here);
}

inline void SetHF32Mode(HF32Mode mode) { ::twin::set_hf32(mode == HF32Mode::ENABLE); }
inline void SetHF32Mode(bool on) { ::twin::set_hf32(on); }
inline void SetHF32TransMode(HF32TransMode mode) {
    ::twin::set_hf32_ties(mode == HF32TransMode::NEAREST_ZERO ? ::twin::HfTies::Zero : ::twin::HfTies::Even);
}
inline void SetHF32TransMode(bool zero) { ::twin::set_hf32_ties(zero ? ::twin::HfTies::Zero : ::twin::HfTies::Even); }
// In which direction the cube walks over C: no result depends on it.
inline void SetMMRowMajor() {}
inline void SetMMColumnMajor() {}
inline void SetMMLayoutTransform(bool) {}

}  // namespace AscendC
