// aclrtMalloc, aclrtMemcpy and related calls. A copy that the device would refuse, or that would silently corrupt
// memory, becomes a finding and returns the device's error code.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "acl/acl.h"
#include "host/host.h"

using namespace twin;

namespace {

// What aclrtMallocHost gave out.
class Pinned {
public:
    void add(void* p, size_t bytes) {
        std::lock_guard<std::mutex> hold(lock_);
        live_[uint64_t(p)] = bytes;
    }
    bool remove(void* p) {
        std::lock_guard<std::mutex> hold(lock_);
        return live_.erase(uint64_t(p)) != 0;
    }
    bool starts(void* p) {
        std::lock_guard<std::mutex> hold(lock_);
        return live_.count(uint64_t(p)) != 0;
    }
    // Whether p lies in it, and then how many bytes it has from there on.
    bool holds(const void* p, uint64_t& left) {
        std::lock_guard<std::mutex> hold(lock_);
        auto it = live_.upper_bound(uint64_t(p));
        if (it == live_.begin()) return false;
        --it;
        left = it->first + it->second - uint64_t(p);
        return uint64_t(p) - it->first < it->second;
    }

private:
    std::mutex lock_;
    std::map<uint64_t, uint64_t> live_;  // start, bytes
} g_pinned;

bool ready(const char* call, Here here) {
    if (device_is_set()) return true;
    host_finding("host-context", true, here, Numbers().add("call", call));
    host_failed(ACL_ERROR_RT_CONTEXT_NULL, call, "host-context");
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
    uint64_t at = device_memory.take(size, current_device(), here);
    if (!at) {
        host_refuse(ACL_ERROR_RT_MEMORY_ALLOCATION, call,
                    std::to_string(size) +
                        " bytes cannot be had: " + std::to_string(device_memory.used(current_device())) + " of " +
                        std::to_string(device_memory.size()) + " are in use");
        return ACL_ERROR_RT_MEMORY_ALLOCATION;
    }
    out_of_l2(at, size);
    *place = (void*)at;
    return ACL_SUCCESS;
}

// One end of a copy. device: what the copy's kind declares this end to be. Otherwise the error's number.
aclError wrong_end(const char* call, const char* which, const void* p, uint64_t bytes, bool device, Here here) {
    uint64_t at = uint64_t(p), left = 0;
    Numbers n;
    n.add("call", call).add("which", which).add("bytes", bytes);
    auto found = [&](const char* code) {
        host_finding(code, true, here, n);
        return host_failed(ACL_ERROR_RT_PARAM_INVALID, call, code);
    };
    if (!device) {
        if (!p || device_memory.holds(at)) {
            n.add("is", p ? "device memory" : "null").add("wanted", "host memory");
            return found("host-direction");
        }
        if (!g_pinned.holds(p, left) || bytes <= left) return ACL_SUCCESS;
        host_refuse(ACL_ERROR_INVALID_PARAM, call,
                    std::string("the ") + which + " takes " + std::to_string(bytes) +
                        " bytes, and of its aclrtMallocHost there are " + std::to_string(left) + " from there on");
        return ACL_ERROR_INVALID_PARAM;
    }
    Allocation* a = device_memory.find(at);
    if (!a) {
        if (const Allocation* gone = device_memory.freed(at)) {
            n.add("allocation", gone->number);
            return found("host-freed");
        }
        n.add("is", p ? "host memory" : "null").add("wanted", "device memory");
        return found("host-direction");
    }
    if (bytes <= a->hi - at) return ACL_SUCCESS;
    n.add("allocation", a->number).add("size", a->hi - a->lo).add("over", bytes - (a->hi - at));
    return found("host-bounds");
}

// The stream of a call that does not wait; null for one that does, and where there is no such stream (why says so).
Stream* stream_for(const char* call, bool waits, void* handle, aclError& why) {
    Stream* s = waits ? nullptr : stream_of(handle);
    why = waits || s ? ACL_SUCCESS : ACL_ERROR_RT_STREAM_CONTEXT;
    if (why) host_refuse(why, call, "that is no stream, or it was destroyed");
    return s;
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
    auto reach = [&](uint64_t pitch) {  // the largest number where it would overflow: longer than any memory
        uint64_t rows = 0, all = 0;
        bool over = __builtin_mul_overflow(pitch, height - 1, &rows) || __builtin_add_overflow(rows, width, &all);
        return over ? UINT64_MAX : all;
    };
    if (width > dpitch || width > spitch) {
        host_refuse(ACL_ERROR_INVALID_PARAM, call,
                    "a row has " + std::to_string(width) + " bytes, the next one begins after " +
                        std::to_string(std::min(dpitch, spitch)));
        return ACL_ERROR_INVALID_PARAM;
    }
    if (aclError e = wrong_end(call, "destination", dst, reach(dpitch), r.to_device, here)) return e;
    if (aclError e = wrong_end(call, "source", src, reach(spitch), r.from_device, here)) return e;
    aclError why;
    Stream* s = stream_for(call, waits, stream, why);
    if (why) return why;
    if (r.from_device) {
        Allocation* a = device_memory.find(uint64_t(src));
        if (waits && a->stream > 0 && !host_knows(a->stream, a->turn))
            host_finding("host-unsynced", false, here, Numbers().add("call", call).add("allocation", a->number));
    }
    device_memory.open();
    for (size_t i = 0; i < height; i++)
        std::memmove((uint8_t*)dst + i * dpitch, (const uint8_t*)src + i * spitch, width);
    device_memory.close();
    if (r.to_device) device_memory.find(uint64_t(dst))->written = true;
    bool over_link = r.from_device != r.to_device;
    if (!s) host_clock.transfer(width * height, over_link);
    else host_clock.transfer(width * height, over_link, *s);
    if (s && r.from_device && !r.to_device) s->fetched = s->turns, s->fetched_at = s->free_at, s->fetch = here;
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
    uint64_t left = 0;
    if (aclError e = wrong_end(call, "memory", p, count, !g_pinned.holds(p, left), here)) return e;
    aclError why;
    Stream* s = stream_for(call, waits, stream, why);
    if (why) return why;
    device_memory.open();
    std::memset(p, value, count);
    device_memory.close();
    if (Allocation* a = device_memory.find(uint64_t(p))) a->written = true;
    if (!s) host_clock.transfer(count, false);
    else host_clock.transfer(count, false, *s);
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
    if (!p) {
        host_refuse(ACL_ERROR_INVALID_PARAM, "aclrtFree", "the pointer is null");
        return ACL_ERROR_INVALID_PARAM;
    }
    bool again = gone && gone->lo == uint64_t(p);
    if (again) n.add("allocation", gone->number);
    else
        n.add("is", g_pinned.starts(p) ? "aclrtMallocHost" : device_memory.holds(uint64_t(p)) ? "inside" : "elsewhere");
    const char* code = again ? "host-freed" : "host-free";
    host_finding(code, true, {f, l}, n);
    return host_failed(ACL_ERROR_RT_PARAM_INVALID, "aclrtFree", code);
}

aclError aclrtMallocHost(void** p, size_t n, const char* f, int l) {
    if (!p || !n) {
        host_refuse(ACL_ERROR_RT_PARAM_INVALID, "aclrtMallocHost",
                    !p ? "the pointer's address is null" : "the size is 0");
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    *p = nullptr;
    if (!ready("aclrtMallocHost", {f, l})) return ACL_ERROR_RT_CONTEXT_NULL;
    if (n <= SIZE_MAX - 4095) *p = std::aligned_alloc(4096, (n + 4095) / 4096 * 4096);
    if (!*p) {
        host_refuse(ACL_ERROR_BAD_ALLOC, "aclrtMallocHost", "the host has no " + std::to_string(n) + " bytes");
        return ACL_ERROR_BAD_ALLOC;
    }
    g_pinned.add(*p, n);
    host_clock.api();
    return ACL_SUCCESS;
}

aclError aclrtFreeHost(void* p, const char* f, int l) {
    if (g_pinned.remove(p)) {
        std::free(p);
        return ACL_SUCCESS;
    }
    if (!p) {
        host_refuse(ACL_ERROR_INVALID_PARAM, "aclrtFreeHost", "the pointer is null");
        return ACL_ERROR_INVALID_PARAM;
    }
    host_finding("host-free", true, {f, l},
                 Numbers()
                     .add("call", "aclrtFreeHost")
                     .add("which", "argument")
                     .add("bytes", 0)
                     .add("is", device_memory.holds(uint64_t(p)) ? "aclrtMalloc" : "elsewhere"));
    return host_failed(ACL_ERROR_RT_PARAM_INVALID, "aclrtFreeHost", "host-free");
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
    if (free) *free = device_memory.size() - device_memory.used(std::max(current_device(), 0));
    if (total) *total = device_memory.size();
    return ACL_SUCCESS;
}

}  // extern "C"
