// Small functions of AscendCL, the text of the last error, and refusals of what the twin does not support: kernels from
// a compiled file.
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <set>

#include "acl/acl.h"
#include "host/host.h"

struct aclDataBuffer {
    void* data;
    size_t size;
};

namespace twin {

static thread_local std::string t_message;  // both are asked for in the thread whose call failed
static thread_local int t_error = 0;

void host_refuse(int code, const char* call, const std::string& why) {
    static std::mutex lock;
    static std::set<std::string> told;
    std::lock_guard<std::mutex> hold(lock);
    t_error = code;
    t_message = std::string(call) + ": " + why;
    if (!told.insert(t_message).second) return;
    std::fflush(stdout);
    std::fprintf(stderr, "[twin] %s (error %d)\n", t_message.c_str(), code);
}

int host_failed(int code, const char* call, const char* finding) {
    t_error = code;
    t_message = std::string(call) + " failed: " + finding + ", see the findings";
    return code;
}

}  // namespace twin

using namespace twin;

static aclError no_binaries(const char* call) {
    host_refuse(ACL_ERROR_FEATURE_UNSUPPORTED, call,
                "the twin runs kernels that are compiled from source; launch with <<<>>> or ACLRT_LAUNCH_KERNEL");
    return ACL_ERROR_FEATURE_UNSUPPORTED;
}

extern "C" {

const char* aclGetRecentErrMsg() {
    static thread_local std::string text;
    text.swap(t_message);
    t_message.clear();
    return text.empty() ? nullptr : text.c_str();
}
aclError aclrtPeekAtLastError(aclrtLastErrLevel) { return t_error; }
aclError aclrtGetLastError(aclrtLastErrLevel) {
    int e = t_error;
    t_error = 0;
    return e;
}

float aclFloat16ToFloat(aclFloat16 v) { return half_to_float(v); }
aclFloat16 aclFloatToFloat16(float v) { return float_to_half(v); }

size_t aclDataTypeSize(aclDataType t) {
    switch (t) {
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_BOOL: return 1;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16: return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32:
    case ACL_COMPLEX32: return 4;
    case ACL_INT64:
    case ACL_UINT64:
    case ACL_DOUBLE:
    case ACL_COMPLEX64: return 8;
    case ACL_COMPLEX128: return 16;
    default: return 0;
    }
}

const char* aclrtGetSocName() { return chip_name(); }

void aclAppLog(aclLogLevel level, const char* func, const char* file, uint32_t line, const char* fmt, ...) {
    static const char* const names[] = {"DEBUG", "INFO", "WARNING", "ERROR"};
    if (level < ACL_WARNING) return;  // as by default on the device: the log shows what went wrong
    std::fprintf(stderr, "[%s] %s:%u %s: ", names[level], file, line, func);
    va_list args;
    va_start(args, fmt);
    std::vfprintf(stderr, fmt, args);
    va_end(args);
    std::fputc('\n', stderr);
}

aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) { return new aclDataBuffer{data, size}; }
aclError aclDestroyDataBuffer(const aclDataBuffer* b) {
    delete b;
    return ACL_SUCCESS;
}
void* aclGetDataBufferAddr(const aclDataBuffer* b) { return b ? b->data : nullptr; }
size_t aclGetDataBufferSizeV2(const aclDataBuffer* b) { return b ? b->size : 0; }

aclrtBinary aclrtCreateBinary(const void*, size_t) { return no_binaries("aclrtCreateBinary"), nullptr; }
aclError aclrtDestroyBinary(aclrtBinary) { return no_binaries("aclrtDestroyBinary"); }
aclError aclrtBinaryLoad(const aclrtBinary, aclrtBinHandle*) { return no_binaries("aclrtBinaryLoad"); }
aclError aclrtBinaryLoadFromFile(const char*, aclrtBinaryLoadOptions*, aclrtBinHandle*) {
    return no_binaries("aclrtBinaryLoadFromFile");
}
aclError aclrtBinaryLoadFromData(const void*, size_t, const aclrtBinaryLoadOptions*, aclrtBinHandle*) {
    return no_binaries("aclrtBinaryLoadFromData");
}
aclError aclrtBinaryUnLoad(aclrtBinHandle) { return no_binaries("aclrtBinaryUnLoad"); }
aclError aclrtBinaryGetFunction(const aclrtBinHandle, const char*, aclrtFuncHandle*) {
    return no_binaries("aclrtBinaryGetFunction");
}
aclError aclrtLaunchKernel(aclrtFuncHandle, uint32_t, const void*, size_t, aclrtStream) {
    return no_binaries("aclrtLaunchKernel");
}
aclError aclrtLaunchKernelWithConfig(aclrtFuncHandle, uint32_t, aclrtStream, aclrtLaunchKernelCfg*, aclrtArgsHandle,
                                     void*) {
    return no_binaries("aclrtLaunchKernelWithConfig");
}

}  // extern "C"
