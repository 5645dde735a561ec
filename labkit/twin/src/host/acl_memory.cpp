// aclrtMalloc, aclrtMemcpy and related calls. A copy that the device would refuse, or that would silently corrupt
// memory, becomes a finding and returns the device's error code.
#include <cstdlib>
#include <cstring>
#include <set>

#include "acl/acl.h"
#include "host/host.h"

using namespace twin;

namespace {

std::set<void*> g_pinned;  // from aclrtMallocHost

bool ready(const char* call, Here here) {
    if (device_is_set()) return true;
    host_finding("host-context", true, here, Numbers().add("call", call));
    return false;
}

aclError give(const char* call, void** place, size_t size, Here here) {
    if (!place || !size) {
        host_refuse(ACL_ERROR_RT_PARAM_INVALID, call, !place ? "the pointer's address is null" : "the size is 0");
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    *place = nullptr;
    if (!ready(call, here)) return ACL_ERROR_RT_CONTEXT_NULL;
    host_clock.api();
    uint64_t at = device_memory.take(size, here);
    if (!at) {
        host_refuse(ACL_ERROR_RT_MEMORY_ALLOCATION, call,
                    std::to_string(size) + " bytes cannot be had: " + std::to_string(device_memory.used()) + " of " +
                        std::to_string(device_memory.size()) + " are in use");
        return ACL_ERROR_RT_MEMORY_ALLOCATION;
    }
    out_of_l2(at, size);
    *place = (void*)at;
    return ACL_SUCCESS;
}

// One end of a copy. device: what the copy's kind declares this end to be.
bool end_is_good(const char* call, const char* which, const void* p, uint64_t bytes, bool device, Here here) {
    uint64_t at = uint64_t(p);
    Allocation* a = device_memory.find(at);
    Numbers n;
    n.add("call", call).add("which", which).add("bytes", bytes);
    if (!device) {
        if (!device_memory.holds(at)) return true;
        host_finding("host-direction", true, here, n.add("is", "device memory").add("wanted", "host memory"));
        return false;
    }
    if (!a) {
        if (const Allocation* gone = device_memory.freed(at))
            host_finding("host-freed", true, here, n.add("allocation", gone->number));
        else
            host_finding("host-direction", true, here,
                         n.add("is", p ? "host memory" : "null").add("wanted", "device memory"));
        return false;
    }
    if (at + bytes > a->hi) {
        host_finding("host-bounds", true, here,
                     n.add("allocation", a->number).add("size", a->hi - a->lo).add("over", at + bytes - a->hi));
        return false;
    }
    return true;
}

struct CopyRoute { bool from_device, to_device; };

CopyRoute route(const void* dst, const void* src, aclrtMemcpyKind kind) {
    switch (kind) {
    case ACL_MEMCPY_HOST_TO_HOST: return {false, false};
    case ACL_MEMCPY_HOST_TO_DEVICE:
    case ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE: return {false, true};
    case ACL_MEMCPY_DEVICE_TO_HOST: return {true, false};
    case ACL_MEMCPY_DEFAULT: return {device_memory.holds(uint64_t(src)), device_memory.holds(uint64_t(dst))};
    default: return {true, true};
    }
}

// width x height bytes; a plain copy has one row.
aclError copy(const char* call, void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
              aclrtMemcpyKind kind, bool waits, void* stream, Here here) {
    if (!width || !height) return ACL_SUCCESS;
    if (!ready(call, here)) return ACL_ERROR_RT_CONTEXT_NULL;
    CopyRoute r = route(dst, src, kind);
    uint64_t reach_d = dpitch * (height - 1) + width, reach_s = spitch * (height - 1) + width;
    if (!end_is_good(call, "destination", dst, reach_d, r.to_device, here) ||
        !end_is_good(call, "source", src, reach_s, r.from_device, here))
        return ACL_ERROR_RT_PARAM_INVALID;
    if (r.from_device) {
        Allocation* a = device_memory.find(uint64_t(src));
        if (waits && a->busy)
            host_finding("host-unsynced", false, here, Numbers().add("call", call).add("allocation", a->number));
    }
    device_memory.open();
    for (size_t i = 0; i < height; i++)
        std::memmove((uint8_t*)dst + i * dpitch, (const uint8_t*)src + i * spitch, width);
    device_memory.close();
    if (r.to_device) device_memory.find(uint64_t(dst))->written = true;
    host_clock.transfer(width * height, r.from_device != r.to_device, waits, stream);
    if (Stream* s = stream_of(stream); s && !waits && r.from_device && !r.to_device)
        s->fetched_at = s->free_at, s->fetch = here;
    return ACL_SUCCESS;
}

aclError fits(const char* call, size_t room, size_t count) {
    if (count <= room) return ACL_SUCCESS;
    host_refuse(ACL_ERROR_INVALID_PARAM, call,
                "count is " + std::to_string(count) + " bytes, the destination takes " + std::to_string(room));
    return ACL_ERROR_INVALID_PARAM;
}

aclError fill(const char* call, void* p, size_t room, int32_t value, size_t count, bool waits, void* stream,
              Here here) {
    if (aclError e = fits(call, room, count)) return e;
    if (!ready(call, here)) return ACL_ERROR_RT_CONTEXT_NULL;
    if (!count) return ACL_SUCCESS;
    bool device = device_memory.holds(uint64_t(p));
    if (!end_is_good(call, "memory", p, count, device || !g_pinned.count(p), here)) return ACL_ERROR_RT_PARAM_INVALID;
    device_memory.open();
    std::memset(p, value, count);
    device_memory.close();
    if (Allocation* a = device_memory.find(uint64_t(p))) a->written = true;
    host_clock.transfer(count, false, waits, stream);
    return ACL_SUCCESS;
}

}  // namespace

extern "C" {

aclError aclrtMalloc(void** p, size_t n, aclrtMemMallocPolicy, const char* f, int l) {
    return give("aclrtMalloc", p, n, {f, l});
}
aclError aclrtMallocAlign32(void** p, size_t n, aclrtMemMallocPolicy, const char* f, int l) {
    return give("aclrtMallocAlign32", p, n, {f, l});
}
aclError aclrtMallocCached(void** p, size_t n, aclrtMemMallocPolicy, const char* f, int l) {
    return give("aclrtMallocCached", p, n, {f, l});
}
aclError aclrtMallocWithCfg(void** p, size_t n, aclrtMemMallocPolicy, aclrtMallocConfig*, const char* f, int l) {
    return give("aclrtMallocWithCfg", p, n, {f, l});
}

aclError aclrtFree(void* p, const char* f, int l) {
    host_clock.api();
    if (device_memory.give_back(uint64_t(p))) return ACL_SUCCESS;
    const Allocation* gone = device_memory.freed(uint64_t(p));
    Numbers n;
    n.add("call", "aclrtFree").add("which", "argument").add("bytes", 0);
    if (gone && gone->lo == uint64_t(p)) host_finding("host-freed", true, {f, l}, n.add("allocation", gone->number));
    else if (p)
        host_finding("host-free", true, {f, l},
                     n.add("is", g_pinned.count(p)                  ? "aclrtMallocHost"
                                 : device_memory.holds(uint64_t(p)) ? "inside"
                                                                    : "elsewhere"));
    else host_refuse(ACL_ERROR_INVALID_PARAM, "aclrtFree", "the pointer is null");
    return p ? int(ACL_ERROR_RT_PARAM_INVALID) : ACL_ERROR_INVALID_PARAM;
}

aclError aclrtMallocHost(void** p, size_t n, const char* f, int l) {
    if (!p || !n) {
        host_refuse(ACL_ERROR_RT_PARAM_INVALID, "aclrtMallocHost",
                    !p ? "the pointer's address is null" : "the size is 0");
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    *p = nullptr;
    if (!ready("aclrtMallocHost", {f, l})) return ACL_ERROR_RT_CONTEXT_NULL;
    *p = std::aligned_alloc(4096, (n + 4095) / 4096 * 4096);
    if (!*p) return ACL_ERROR_BAD_ALLOC;
    g_pinned.insert(*p);
    host_clock.api();
    return ACL_SUCCESS;
}

aclError aclrtFreeHost(void* p, const char* f, int l) {
    if (g_pinned.erase(p)) {
        std::free(p);
        return ACL_SUCCESS;
    }
    if (!p) return ACL_ERROR_INVALID_PARAM;
    host_finding("host-free", true, {f, l},
                 Numbers()
                     .add("call", "aclrtFreeHost")
                     .add("which", "argument")
                     .add("bytes", 0)
                     .add("is", device_memory.holds(uint64_t(p)) ? "aclrtMalloc" : "elsewhere"));
    return ACL_ERROR_RT_PARAM_INVALID;
}

aclError aclrtMemcpy(void* d, size_t room, const void* s, size_t n, aclrtMemcpyKind kind, const char* f, int l) {
    if (aclError e = fits("aclrtMemcpy", room, n)) return e;
    return copy("aclrtMemcpy", d, n, s, n, n, 1, kind, true, nullptr, {f, l});
}
aclError aclrtMemcpyAsync(void* d, size_t room, const void* s, size_t n, aclrtMemcpyKind kind, aclrtStream stream,
                          const char* f, int l) {
    if (aclError e = fits("aclrtMemcpyAsync", room, n)) return e;
    return copy("aclrtMemcpyAsync", d, n, s, n, n, 1, kind, false, stream, {f, l});
}
aclError aclrtMemcpy2d(void* d, size_t dp, const void* s, size_t sp, size_t w, size_t h, aclrtMemcpyKind kind,
                       const char* f, int l) {
    return copy("aclrtMemcpy2d", d, dp, s, sp, w, h, kind, true, nullptr, {f, l});
}
aclError aclrtMemcpy2dAsync(void* d, size_t dp, const void* s, size_t sp, size_t w, size_t h, aclrtMemcpyKind kind,
                            aclrtStream stream, const char* f, int l) {
    return copy("aclrtMemcpy2dAsync", d, dp, s, sp, w, h, kind, false, stream, {f, l});
}
aclError aclrtMemset(void* p, size_t room, int32_t value, size_t n, const char* f, int l) {
    return fill("aclrtMemset", p, room, value, n, true, nullptr, {f, l});
}
aclError aclrtMemsetAsync(void* p, size_t room, int32_t value, size_t n, aclrtStream stream, const char* f, int l) {
    return fill("aclrtMemsetAsync", p, room, value, n, false, stream, {f, l});
}
aclError aclrtMemFlush(void*, size_t) { return ACL_SUCCESS; }
aclError aclrtMemInvalidate(void*, size_t) { return ACL_SUCCESS; }
aclError aclrtGetMemInfo(aclrtMemAttr, size_t* free, size_t* total) {
    if (free) *free = device_memory.size() - device_memory.used();
    if (total) *total = device_memory.size();
    return ACL_SUCCESS;
}

}  // extern "C"
