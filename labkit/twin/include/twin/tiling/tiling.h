// Tiling passed in GM, tiling keys, and the marks that CANN's build reads in a kernel's text. The marks compile to
// nothing; labkit reads the task types in the same way.
#pragma once
#include "twin/base/types.h"

namespace twin {
uint64_t tiling_key();  // of the launches that follow
void set_tiling_key(uint64_t);
// The scalar unit's access to a struct that the host laid out in GM.
void read_struct(void* to, const void* from, uint32_t bytes, TWIN_HERE);
template <typename T> const void* place_of(const T& v) { return &v; }
template <typename T> const void* place_of(T* p) { return p; }
template <typename T> const void* place_of(const T* p) { return p; }
}  // namespace twin

enum KernelMetaType : uint8_t {
    KERNEL_TYPE_AIV_ONLY,
    KERNEL_TYPE_AIC_ONLY,
    KERNEL_TYPE_MIX_AIV_1_0,
    KERNEL_TYPE_MIX_AIC_1_0,
    KERNEL_TYPE_MIX_AIC_1_1,
    KERNEL_TYPE_MIX_AIC_1_2,
    KERNEL_TYPE_AICORE,
    KERNEL_TYPE_VECTORCORE,
    KERNEL_TYPE_MIX_AICORE,
    KERNEL_TYPE_MIX_VECTOR_CORE,
    KERNEL_TYPE_MAX
};

// ---- the struct, copied to the core's stack as the host laid it out
#define GET_TILING_DATA_WITH_STRUCT(type, name, ptr) \
    type name;                                       \
    ::twin::read_struct((void*)&name, (const void*)(ptr), sizeof(type))
#define REGISTER_TILING_DEFAULT(...) using TwinDefaultTiling [[maybe_unused]] = __VA_ARGS__
#define GET_TILING_DATA(name, ptr) GET_TILING_DATA_WITH_STRUCT(TwinDefaultTiling, name, ptr)
#define GET_TILING_DATA_MEMBER(type, member, name, ptr)        \
    std::remove_cv_t<decltype(((type*)nullptr)->member)> name; \
    ::twin::read_struct((void*)&name, (const void*)&((const type*)(ptr))->member, sizeof(name))
// ---- the struct where it lies
#define __tiling_data_ptr__ __gm__
#define GET_TILING_DATA_PTR_WITH_STRUCT(type, name, ptr) \
    __tiling_data_ptr__ type* name = (__tiling_data_ptr__ type*)(ptr)
#define COPY_TILING_WITH_STRUCT(type, src, name) \
    type twin_copy_of_##name;                    \
    type* name = &twin_copy_of_##name;           \
    ::twin::read_struct((void*)name, ::twin::place_of(src), sizeof(type))
#define COPY_TILING_WITH_ARRAY(type, count, src, name) \
    type twin_copy_of_##name[count];                   \
    type(*name)[count] = &twin_copy_of_##name;         \
    ::twin::read_struct((void*)name, ::twin::place_of(src), sizeof(*name))

// ---- the struct from bytes that are known when the kernel is compiled
#ifdef __has_builtin
#if __has_builtin(__builtin_bit_cast)
template <typename T> constexpr T convert_from_bytes(const uint8_t* bytes) {
    struct Bytes { uint8_t at[sizeof(T)]; } copy{};
    for (size_t i = 0; i < sizeof(T); i++) copy.at[i] = bytes[i];
    return __builtin_bit_cast(T, copy);
}
#endif
#endif

// ---- keys
#ifndef TILING_KEY_VAR  // a build for one key defines it
#define TILING_KEY_VAR (::twin::tiling_key())
#endif
#define TILING_KEY_IS(key) (uint64_t(TILING_KEY_VAR) == uint64_t(key))
#define TILING_KEY_LIST(key1, key2) (TILING_KEY_IS(key1) || TILING_KEY_IS(key2))

// ---- marks
#define REGISTER_NONE_TILING
#define REGISTER_TILING_FOR_TILINGKEY(condition, ...)
#define KERNEL_TASK_TYPE_DEFAULT(type)
#define KERNEL_TASK_TYPE(key, type)
