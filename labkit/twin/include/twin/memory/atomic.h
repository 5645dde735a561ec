// Atomic stores: how copies to GM combine with the old content, from SetAtomicAdd to SetAtomicNone.
#pragma once
#include "twin/core/tensor.h"

namespace twin {
void set_atomic(int op, Dt, Here);  // 0 none, 1 add, 2 max, 3 min
void set_atomic_type(Dt, Here);
void get_atomic(int& op, int& type);
// Sums of floats depend on their order. A library that stores atomically is marked when it is loaded; its kernels are
// run by one host thread, block after block.
bool play_in_order(const void* place_in_library);
template <int n> struct InOrder { static const bool known; };
template <int n> const bool InOrder<n>::known = play_in_order(&InOrder<n>::known);
// a template, so that nothing is marked unless it is called
template <int n = 0> void set_atomic_in_order(int op, Dt t, Here here) {
    static_cast<void>(&InOrder<n>::known);
    set_atomic(op, t, here);
}
}  // namespace twin

namespace AscendC {

namespace detail {
template <typename T> constexpr bool atomic_type() {
    static_assert(::twin::one_of<T, half, float, int16_t, int32_t, int8_t, bfloat16_t>(),
                  "atomic stores on A2/A3 take half, float, bfloat16_t, int8_t, int16_t or int32_t");
    return true;
}
}  // namespace detail

template <typename T> void SetAtomicAdd(TWIN_HERE) {
    if constexpr (detail::atomic_type<T>()) ::twin::set_atomic_in_order(1, ::twin::dt<T>(), here);
}
template <typename T> void SetAtomicMax(TWIN_HERE) {
    if constexpr (detail::atomic_type<T>()) ::twin::set_atomic_in_order(2, ::twin::dt<T>(), here);
}
template <typename T> void SetAtomicMin(TWIN_HERE) {
    if constexpr (detail::atomic_type<T>()) ::twin::set_atomic_in_order(3, ::twin::dt<T>(), here);
}
template <typename T> void SetAtomicType(TWIN_HERE) {
    if constexpr (detail::atomic_type<T>()) ::twin::set_atomic_type(::twin::dt<T>(), here);
}
inline void SetAtomicNone(TWIN_HERE) { ::twin::set_atomic(0, ::twin::Dt::F32, here); }
inline void DisableDmaAtomic(TWIN_HERE) { SetAtomicNone(here); }

enum class AtomicDtype { ATOMIC_NONE, ATOMIC_F32, ATOMIC_F16, ATOMIC_S16, ATOMIC_S32, ATOMIC_S8, ATOMIC_BF16 };
enum class AtomicOp { ATOMIC_SUM };
template <AtomicDtype type, AtomicOp op> void SetStoreAtomicConfig(TWIN_HERE) {
    constexpr ::twin::Dt types[] = {::twin::Dt::F32, ::twin::Dt::F32, ::twin::Dt::F16, ::twin::Dt::I16,
                                    ::twin::Dt::I32, ::twin::Dt::I8,  ::twin::Dt::BF16};
    ::twin::set_atomic_in_order(type == AtomicDtype::ATOMIC_NONE ? 0 : 1, types[int(type)], here);
}
inline void GetStoreAtomicConfig(uint16_t& atomicType, uint16_t& atomicOp) {
    constexpr ::twin::Dt types[] = {::twin::Dt::F32, ::twin::Dt::F32, ::twin::Dt::F16, ::twin::Dt::I16,
                                    ::twin::Dt::I32, ::twin::Dt::I8,  ::twin::Dt::BF16};
    int op, type;
    ::twin::get_atomic(op, type);
    atomicType = atomicOp = 0;
    for (uint16_t i = 1; op && i < 7; i++)
        if (types[i] == ::twin::Dt(type)) atomicType = i;
}

}  // namespace AscendC

// The raw spellings.
inline void set_atomic_none(TWIN_HERE) { ::twin::set_atomic(0, ::twin::Dt::F32, here); }
