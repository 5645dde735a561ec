// Printing, dumping and assertions.
#pragma once
#include "twin/core/tensor.h"

namespace AscendC {

namespace detail {
inline double printable(const half& v) { return float(v); }
inline double printable(const bfloat16_t& v) { return ToFloat(v); }
template <typename T> T printable(T v) { return v; }
}  // namespace detail

// Each line is printed with its block; half and bfloat16_t print with %f.
template <typename... Args> void printf(const char* format, Args... args) {
    ::twin::say(format, detail::printable(args)...);
}
template <typename... Args> void PRINTF(const char* format, Args... args) {
    ::twin::say(format, detail::printable(args)...);
}

template <typename T> void DumpTensor(const LocalTensor<T>& tensor, uint32_t desc, uint32_t dumpSize, TWIN_HERE) {
    ::twin::dump(::twin::dt<T>(), tensor.loc_, desc, dumpSize, here);
}
template <typename T> void DumpTensor(const GlobalTensor<T>& tensor, uint32_t desc, uint32_t dumpSize, TWIN_HERE) {
    ::twin::dump(::twin::dt<T>(), tensor.gm_, desc, dumpSize, here);
}
template <typename T>
void DumpTensor(const LocalTensor<T>& tensor, uint32_t desc, uint32_t dumpSize, const ShapeInfo&, TWIN_HERE) {
    DumpTensor(tensor, desc, dumpSize, here);
}
template <typename T>
void DumpTensor(const GlobalTensor<T>& tensor, uint32_t desc, uint32_t dumpSize, const ShapeInfo&, TWIN_HERE) {
    DumpTensor(tensor, desc, dumpSize, here);
}
template <typename T>
void DumpAccChkPoint(const LocalTensor<T>& tensor, uint32_t index, uint32_t countOff, uint32_t dumpSize, TWIN_HERE) {
    DumpTensor(tensor[countOff], index, dumpSize, here);
}
template <typename T>
void DumpAccChkPoint(const GlobalTensor<T>& tensor, uint32_t index, uint32_t countOff, uint32_t dumpSize, TWIN_HERE) {
    DumpTensor(tensor[countOff], index, dumpSize, here);
}
// Prints if ASCENDC_TIME_STAMP_ON is defined, as on the device.
inline void PrintTimeStamp(uint32_t descId) {
#ifdef ASCENDC_TIME_STAMP_ON
    ::twin::say("descId is %u, rsv is 0, timeStamp is %lld, pcPtr is 0, entry is 0.\n", descId,
                (long long)::twin::cycles());
#else
    (void)descId;
#endif
}
inline void MetricsProfStart() {}
inline void MetricsProfStop() {}

struct CheckLocalMemoryIAParam {  // a check of local memory by the hardware; the twin always checks all of it
    CheckLocalMemoryIAParam() {}
    CheckLocalMemoryIAParam(uint8_t bit, uint32_t start, uint32_t end, bool scalarRead, bool scalarWrite,
                            bool vectorRead, bool vectorWrite, bool mteRead, bool mteWrite, bool enable)
        : enableBit(bit),
          startAddr(start),
          endAddr(end),
          isScalarRead(scalarRead),
          isScalarWrite(scalarWrite),
          isVectorRead(vectorRead),
          isVectorWrite(vectorWrite),
          isMteRead(mteRead),
          isMteWrite(mteWrite),
          isEnable(enable) {}
    uint8_t enableBit = 0;
    uint32_t startAddr = 0, endAddr = 0;
    bool isScalarRead = false, isScalarWrite = false, isVectorRead = false, isVectorWrite = false, isMteRead = false,
         isMteWrite = false, isEnable = false;
    uint32_t reserved = 0;
};
inline void CheckLocalMemoryIA(const CheckLocalMemoryIAParam&) {}

}  // namespace AscendC

// A kernel may call printf without the namespace; <cstdio>'s own printf remains available.
using AscendC::PRINTF;
using AscendC::printf;

namespace twin {
template <typename... Args> void check_assert(bool ok, const char* expr, Here here, Args... args) {
    if (ok) return;
    if constexpr (sizeof...(args) > 0) say(args...);
    fail_assert(expr, "", here);
}
inline int asserted(bool ok, const char* expr, Here here) {
    if (!ok) fail_assert(expr, "", here);
    return 0;
}
}  // namespace twin
// ascendc_assert(condition, "format", values...): stops the kernel when the condition does not hold.
#define ascendc_assert(expr, ...) \
    ::twin::check_assert(bool(expr), #expr, ::twin::Here{__FILE__, __LINE__}, ##__VA_ARGS__)
// As in kernel_macros.h and kernel_log.h: on the device these stand for nothing, and their arguments may be no code
// there. Only a debug build for the CPU compiles them.
#if defined(ASCENDC_CPU_DEBUG) && ASCENDC_CPU_DEBUG == 1
#define ASCENDC_ASSERT(expr, body)                                            \
    do {                                                                      \
        if (!(expr)) {                                                        \
            body;                                                             \
            ::twin::fail_assert(#expr, "", ::twin::Here{__FILE__, __LINE__}); \
        }                                                                     \
    } while (0)
#ifndef ASSERT
#define ASSERT(expr) ::twin::asserted(bool(expr), #expr, ::twin::Here{__FILE__, __LINE__})
#endif
#define DEBUG_CODE(...) __VA_ARGS__
#else
#define ASCENDC_ASSERT(expr, body)
#ifndef ASSERT
#define ASSERT(expr)
#endif
#define DEBUG_CODE(...)
#endif
#define ASCENDC_REPORT_NOT_SUPPORT(cond, apiMsg)
#define ASCENDC_REPORT_OVERFLOW_MEM(cond)
#define ASCENDC_REPORT_CHECK_ERROR(apiMsg, funcType)
#define ASCENDC_CHECK_VALUE_RANGE(value, rangeLow, rangeHigh, paramName, apiMsg)
#define ASCENDC_CHECK_TENSOR_PTR_ALIGN(tensorPtr, tPos, alignBytes, tensorName, apiMsg)
#define ASCENDC_CHECK_TPOSITION(cond, tensorName, tPosName, apiMsg, curPos)
#undef assert
#define assert ascendc_assert
// Compiled only by a debug build of the library.
#define ASCENDC_DEBUG_ASSERT(...)
#define ASCENDC_DEBUG_WARNING(...)
// A message and a stop, in every build.
#define ASSERT_MSG(expr, fmt, ...) \
    ::twin::check_assert(bool(expr), #expr, ::twin::Here{__FILE__, __LINE__}, fmt, ##__VA_ARGS__)
#define KERNEL_LOG(level, format, ...)
#define KERNEL_LOG_INTERNAL(level, format, ...)
