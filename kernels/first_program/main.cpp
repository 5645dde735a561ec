// Ordinary C++: memory on the device, a copy there, the launch, a copy back.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include "acl/acl.h"
#include "twice.h"

int main(int argc, char** argv)
{
    const uint32_t blocks = argc > 1 ? std::atoi(argv[1]) : 8;
    std::vector<float> x(blocks * SHARE), y(x.size());
    for (size_t i = 0; i < x.size(); i++) {
        x[i] = i;
    }
    const size_t bytes = x.size() * sizeof(float);

    aclInit(nullptr);
    aclrtSetDevice(0);
    aclrtStream stream;
    aclrtCreateStream(&stream);
    void *xDevice, *yDevice;
    aclrtMalloc(&xDevice, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMalloc(&yDevice, bytes, ACL_MEM_MALLOC_HUGE_FIRST);

    aclrtMemcpy(xDevice, bytes, x.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE);
    launch_twice(blocks, stream, (uint8_t*)xDevice, (uint8_t*)yDevice);
    aclrtSynchronizeStream(stream);
    aclrtMemcpy(y.data(), bytes, yDevice, bytes, ACL_MEMCPY_DEVICE_TO_HOST);

    uint32_t wrong = 0;
    for (size_t i = 0; i < x.size(); i++) {
        wrong += y[i] != 2 * x[i];
    }
    std::printf("%u of %zu wrong\n", wrong, x.size());

    aclrtFree(xDevice);
    aclrtFree(yDevice);
    aclrtDestroyStream(stream);
    aclrtResetDevice(0);
    aclFinalize();
    return wrong != 0;
}
