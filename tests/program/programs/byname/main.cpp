// Launches a kernel of another file by its name: a struct by value and by its address, numbers of other types; with an
// argument of its own, one number too few.
#include <cstdio>

#include "acl/acl.h"
#include "aclrtlaunch_scale.h"
#include "scale.h"

int main(int argc, char**) {
    aclInit(nullptr);
    aclrtSetDevice(0);
    aclrtStream stream = nullptr;
    aclrtCreateStream(&stream);
    float host[16] = {};
    void* x = nullptr;
    aclrtMalloc(&x, sizeof host, ACL_MEM_MALLOC_HUGE_FIRST);
    for (int i = 0; i < 16; i++) host[i] = float(i);
    aclrtMemcpy(x, sizeof host, host, sizeof host, ACL_MEMCPY_HOST_TO_DEVICE);
    ScaleTiling tiling{16, 1.5f};
    ACLRT_LAUNCH_KERNEL(scale)(1, stream, x, 2.0, &tiling, 1);
    if (argc > 1) ACLRT_LAUNCH_KERNEL(scale)(1, stream, x, 1.0f, tiling);  // few
    tiling.offset = 0;
    ACLRT_LAUNCH_KERNEL(scale)(1, stream, x, 1.0f, tiling, size_t(1));
    aclrtSynchronizeStream(stream);
    aclrtMemcpy(host, sizeof host, x, sizeof host, ACL_MEMCPY_DEVICE_TO_HOST);
    std::printf("scaled %g %g %g\n", host[0] * 2, host[1] + 1, host[15] + 10.5);
    aclrtFree(x);
    aclrtDestroyStream(stream);
    aclrtResetDevice(0);
    aclFinalize();
    return 0;
}
