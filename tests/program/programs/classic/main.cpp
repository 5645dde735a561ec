#include <cstdio>
#ifndef ASCENDC_CPU_DEBUG
#include "acl/acl.h"
extern void twice_do(uint32_t blocks, void* stream, uint8_t* x, uint8_t* z);
#else
#include "tikicpulib.h"
#endif

int main() {
    int32_t host[32];
    std::FILE* in = std::fopen("input/input_x.bin", "rb");
    if (!in || std::fread(host, sizeof host, 1, in) != 1) return 8;
    std::fclose(in);
    aclInit(nullptr);
    aclrtSetDevice(0);
    aclrtStream stream = nullptr;
    aclrtCreateStream(&stream);
    uint8_t *x = nullptr, *z = nullptr;
    aclrtMalloc((void**)&x, sizeof host, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMalloc((void**)&z, sizeof host, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMemcpy(x, sizeof host, host, sizeof host, ACL_MEMCPY_HOST_TO_DEVICE);
    twice_do(1, stream, x, z);
    aclrtSynchronizeStream(stream);
    aclrtMemcpy(host, sizeof host, z, sizeof host, ACL_MEMCPY_DEVICE_TO_HOST);
    std::FILE* out = std::fopen("output/output_z.bin", "wb");
    std::fwrite(host, sizeof host, 1, out);
    std::fclose(out);
    aclrtFree(x);
    aclrtFree(z);
    aclrtDestroyStream(stream);
    aclrtResetDevice(0);
    aclFinalize();
    return 0;
}
