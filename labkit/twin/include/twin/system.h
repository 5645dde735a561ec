// System variables, printing and assertions.
#pragma once
#include "twin/tensor.h"

namespace AscendC {

inline int64_t GetBlockIdx() { return ::twin::block_idx(); }
inline int64_t GetBlockNum() { return ::twin::block_num(); }
inline int64_t GetSubBlockNum() { return ::twin::sub_block_num(); }
inline int64_t GetSubBlockIdx() { return ::twin::sub_block_idx(); }
inline int64_t GetSystemCycle() { return ::twin::cycles(); }
inline int64_t GetDataBlockSizeInBytes() { return 32; }
inline void InitSocState() {}

namespace detail {
inline double printable(const half& v) { return float(v); }
inline double printable(const bfloat16_t& v) { return ToFloat(v); }
template <typename T> T printable(T v) { return v; }
}  // namespace detail

// One line a call, prefixed with its block; half prints with %f.
template <typename... Args> void printf(const char* format, Args... args) { ::twin::say(format, detail::printable(args)...); }
template <typename... Args> void PRINTF(const char* format, Args... args) { ::twin::say(format, detail::printable(args)...); }

template <typename T> void DumpTensor(const LocalTensor<T>& tensor, uint32_t desc, uint32_t dumpSize, TWIN_HERE) {
    ::twin::dump(::twin::dt<T>(), tensor.loc_, desc, dumpSize, here);
}
template <typename T> void DumpTensor(const GlobalTensor<T>& tensor, uint32_t desc, uint32_t dumpSize, TWIN_HERE) {
    ::twin::dump(::twin::dt<T>(), tensor.gm_, desc, dumpSize, here);
}

}  // namespace AscendC

namespace twin {
template <typename... Args> void check_assert(bool ok, const char* expr, Here here, Args... args) {
    if (ok) return;
    if constexpr (sizeof...(args) > 0) say(args...);
    fail_assert(expr, "", here);
}
}  // namespace twin
// ascendc_assert(condition, "format", values...): stops the kernel when the condition does not hold.
#define ascendc_assert(expr, ...) ::twin::check_assert(bool(expr), #expr, ::twin::Here{__FILE__, __LINE__}, ##__VA_ARGS__)
#define ASCENDC_ASSERT(expr, body) \
    do { if (!(expr)) { body; ::twin::fail_assert(#expr, "", ::twin::Here{__FILE__, __LINE__}); } } while (0)
#ifndef ASSERT
#define ASSERT(expr) ascendc_assert(expr)
#endif
#ifndef assert
#define assert(expr) ascendc_assert(expr)
#endif

// ---- tiling handed over in GM: the struct is copied to the core's stack, field by field as the host laid it out
#define GET_TILING_DATA_WITH_STRUCT(type, name, ptr) \
    type name;                                       \
    __builtin_memcpy(&name, (const void*)(ptr), sizeof(type))
#define REGISTER_TILING_DEFAULT(type) using TwinDefaultTiling = type
#define GET_TILING_DATA(name, ptr) GET_TILING_DATA_WITH_STRUCT(TwinDefaultTiling, name, ptr)
#define KERNEL_TASK_TYPE_DEFAULT(type)
