// Devices, contexts, streams and events. Work is executed inside the call that issues it; a stream only has a modelled
// time.
#include <algorithm>
#include <memory>
#include <mutex>
#include <string>

#include "acl/acl.h"
#include "host/host.h"

using namespace twin;

namespace twin {

HostClock host_clock;

namespace {
constexpr int kDevices = 8;  // of a server; all of them are the one modelled chip
std::recursive_mutex g_lock;
std::map<void*, std::unique_ptr<Stream>> g_streams;
Stream g_default;
int g_next_stream = 1;
bool g_begun = false;
thread_local int t_device = -1;                 // as on the device, every thread needs its own context
thread_local aclrtContext t_context = nullptr;  // the program's own, if it made one; else the device's
int g_contexts = 0;

struct Event { double at = -1; };
std::map<void*, std::unique_ptr<Event>> g_events;
}  // namespace

void HostClock::api() { now += chip.get("host.api"); }
void HostClock::launch(Stream& s, double seconds) {
    now += chip.get("host.api");
    s.free_at = std::max(s.free_at, now) + seconds;
}
void HostClock::transfer(uint64_t bytes, bool over_link, bool waits, void* handle) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    double seconds = chip.get("host.api") + (over_link
                                                 ? chip.get("host.link_latency") + double(bytes) / chip.get("host.link")
                                                 : double(bytes) / chip.get("gm.hbm"));
    if (waits) {
        now += seconds;
    } else if (Stream* s = stream_of(handle)) {
        now += chip.get("host.api");
        s->free_at = std::max(s->free_at, now) + seconds;
    }
}
void HostClock::wait(const Stream& s) { now = std::max(now, s.free_at); }
void HostClock::unfetched(const Stream& s) {
    if (s.fetched_at > now) host_finding("host-unfetched", false, s.fetch, Numbers().add("stream", s.id));
}

Stream* stream_of(void* handle) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    if (!handle) return &g_default;
    auto it = g_streams.find(handle);
    return it == g_streams.end() ? nullptr : it->second.get();
}

bool device_is_set() { return t_device >= 0; }

}  // namespace twin

namespace {

aclError no_context(const char* call) {
    host_refuse(ACL_ERROR_RT_CONTEXT_NULL, call, "no device is set in this thread; aclrtSetDevice comes first");
    return ACL_ERROR_RT_CONTEXT_NULL;
}

aclError wait_for(const char* call, aclrtStream handle) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    if (!device_is_set()) return no_context(call);
    Stream* s = stream_of(handle);
    if (!s) {
        host_refuse(ACL_ERROR_RT_STREAM_CONTEXT, call, "that is no stream, or it was destroyed");
        return ACL_ERROR_RT_STREAM_CONTEXT;
    }
    host_clock.api();
    host_clock.wait(*s);
    device_memory.settle();
    if (handle) device_memory.waited(handle);
    int error = s->error;
    s->error = 0;
    return error;
}

aclError wait_for_all() {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    aclError first = wait_for("aclrtSynchronizeDevice", nullptr);
    for (auto& [handle, s] : g_streams) {
        aclError e = wait_for("aclrtSynchronizeDevice", handle);
        first = first ? first : e;
    }
    device_memory.waited(nullptr);
    return first;
}

aclError new_stream(aclrtStream* place) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    if (!place) return ACL_ERROR_RT_PARAM_INVALID;
    if (!device_is_set()) return *place = nullptr, no_context("aclrtCreateStream");
    auto s = std::make_unique<Stream>();
    s->id = g_next_stream++;
    s->free_at = host_clock.now;
    *place = s.get();
    g_streams[*place] = std::move(s);
    host_clock.api();
    return ACL_SUCCESS;
}

aclError new_event(aclrtEvent* place) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    if (!place) return ACL_ERROR_RT_PARAM_INVALID;
    if (!device_is_set()) return *place = nullptr, no_context("aclrtCreateEvent");
    auto e = std::make_unique<Event>();
    *place = e.get();
    g_events[*place] = std::move(e);
    return ACL_SUCCESS;
}

Event* event_of(const char* call, aclrtEvent handle) {
    auto it = g_events.find(handle);
    if (it != g_events.end()) return it->second.get();
    host_refuse(ACL_ERROR_RT_PARAM_INVALID, call, "that is no event, or it was destroyed");
    return nullptr;
}

bool known_device(const char* call, int64_t id) {
    if (id >= 0 && id < kDevices) return true;
    host_refuse(ACL_ERROR_RT_INVALID_DEVICEID, call,
                "device " + std::to_string(id) + " is none of 0 to " + std::to_string(kDevices - 1));
    return false;
}

}  // namespace

extern "C" {

aclError aclInit(const char*) {
    if (g_begun) return ACL_ERROR_REPEAT_INITIALIZE;
    g_begun = true;
    return ACL_SUCCESS;
}
aclError aclFinalize() {
    g_begun = false;
    return ACL_SUCCESS;
}

aclError aclrtSetDevice(int32_t id) {
    if (!known_device("aclrtSetDevice", id)) return ACL_ERROR_RT_INVALID_DEVICEID;
    t_device = id, t_context = nullptr;
    return ACL_SUCCESS;
}
aclError aclrtResetDevice(int32_t id) {
    if (!known_device("aclrtResetDevice", id)) return ACL_ERROR_RT_INVALID_DEVICEID;
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    t_device = -1, t_context = nullptr;
    host_clock.unfetched(g_default);
    for (auto& [handle, s] : g_streams) host_clock.unfetched(*s);
    device_memory.forget_all();
    g_streams.clear();
    g_events.clear();
    return ACL_SUCCESS;
}
aclError aclrtResetDeviceForce(int32_t id) { return aclrtResetDevice(id); }
aclError aclrtGetDevice(int32_t* id) {
    if (!device_is_set()) return no_context("aclrtGetDevice");
    *id = t_device;
    return ACL_SUCCESS;
}
aclError aclrtGetDeviceCount(uint32_t* n) {
    *n = kDevices;
    return ACL_SUCCESS;
}
aclError aclrtGetDeviceInfo(uint32_t id, aclrtDevAttr attr, int64_t* value) {
    if (!known_device("aclrtGetDeviceInfo", id)) return ACL_ERROR_RT_INVALID_DEVICEID;
    const char* key = nullptr;
    switch (attr) {
    case ACL_DEV_ATTR_AICORE_CORE_NUM:
    case ACL_DEV_ATTR_CUBE_CORE_NUM: key = "cores.aic"; break;
    case ACL_DEV_ATTR_VECTOR_CORE_NUM: key = "cores.aiv"; break;
    case ACL_DEV_ATTR_UBUF_PER_VECTOR_CORE: key = "memory.ub"; break;
    case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE: key = "memory.hbm"; break;
    case ACL_DEV_ATTR_L2_CACHE_SIZE: key = "memory.l2"; break;
    default:
        host_refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "aclrtGetDeviceInfo", "the chip's table has no such figure");
        return ACL_ERROR_RT_FEATURE_NOT_SUPPORT;
    }
    *value = int64_t(chip.get(key));
    return ACL_SUCCESS;
}
aclError aclGetDeviceCapability(uint32_t id, aclDeviceInfo info, int64_t* value) {
    aclrtDevAttr attr = info == ACL_DEVICE_INFO_AI_CORE_NUM       ? ACL_DEV_ATTR_AICORE_CORE_NUM
                        : info == ACL_DEVICE_INFO_VECTOR_CORE_NUM ? ACL_DEV_ATTR_VECTOR_CORE_NUM
                                                                  : ACL_DEV_ATTR_L2_CACHE_SIZE;
    return aclrtGetDeviceInfo(id, attr, value);
}
aclError aclrtGetRunMode(aclrtRunMode* mode) {
    *mode = ACL_HOST;
    return ACL_SUCCESS;
}
aclError aclrtSynchronizeDevice() { return wait_for_all(); }
aclError aclrtSynchronizeDeviceWithTimeout(int32_t) { return wait_for_all(); }

aclError aclrtCreateContext(aclrtContext* place, int32_t id) {
    if (aclError e = aclrtSetDevice(id)) return e;
    t_context = *place = (void*)(uintptr_t(++g_contexts) << 8 | uintptr_t(id) << 1 | 1);
    return ACL_SUCCESS;
}
aclError aclrtDestroyContext(aclrtContext context) {
    if (context == t_context) t_context = nullptr;
    return ACL_SUCCESS;
}
aclError aclrtSetCurrentContext(aclrtContext context) {
    if (!context) return ACL_ERROR_RT_CONTEXT_NULL;
    t_device = int(uintptr_t(context) >> 1 & 0x7f), t_context = context;
    return ACL_SUCCESS;
}
aclError aclrtGetCurrentContext(aclrtContext* place) {
    if (!device_is_set()) return *place = nullptr, no_context("aclrtGetCurrentContext");
    *place = t_context ? t_context : (void*)(uintptr_t(t_device) << 1 | 1);
    return ACL_SUCCESS;
}
aclError aclrtGetVersion(int32_t* major, int32_t* minor, int32_t* patch) {
    *major = 1, *minor = 15, *patch = 0;
    return ACL_SUCCESS;
}
aclError aclrtSetSysParamOpt(aclSysParamOpt, int64_t) { return ACL_SUCCESS; }
aclError aclrtCtxSetSysParamOpt(aclSysParamOpt, int64_t) { return ACL_SUCCESS; }
aclError aclrtSetOpWaitTimeout(uint32_t) { return ACL_SUCCESS; }
aclError aclrtSetOpExecuteTimeOut(uint32_t) { return ACL_SUCCESS; }

// ---- streams

aclError aclrtCreateStream(aclrtStream* place) { return new_stream(place); }
aclError aclrtCreateStreamWithConfig(aclrtStream* place, uint32_t, uint32_t) { return new_stream(place); }
aclError aclrtDestroyStream(aclrtStream handle) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    if (g_streams.count(handle)) {
        host_clock.unfetched(*g_streams[handle]);
        device_memory.waited(handle);
    }
    return g_streams.erase(handle) ? int(ACL_SUCCESS) : int(ACL_ERROR_RT_PARAM_INVALID);
}
aclError aclrtDestroyStreamForce(aclrtStream handle) { return aclrtDestroyStream(handle); }
aclError aclrtSynchronizeStream(aclrtStream handle) { return wait_for("aclrtSynchronizeStream", handle); }
aclError aclrtSynchronizeStreamWithTimeout(aclrtStream handle, int32_t) {
    return wait_for("aclrtSynchronizeStreamWithTimeout", handle);
}
aclError aclrtStreamQuery(aclrtStream handle, aclrtStreamStatus* status) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    Stream* s = stream_of(handle);
    if (!s) return ACL_ERROR_RT_STREAM_CONTEXT;
    host_clock.api();  // advances the modelled time, so that a polling loop ends
    *status = s->free_at <= host_clock.now ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    if (handle && *status == ACL_STREAM_STATUS_COMPLETE) device_memory.waited(handle);
    return ACL_SUCCESS;
}
aclError aclrtStreamGetId(aclrtStream handle, int32_t* id) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    Stream* s = stream_of(handle);
    if (!s) return ACL_ERROR_RT_STREAM_CONTEXT;
    *id = s->id;
    return ACL_SUCCESS;
}
aclError aclrtSetStreamFailureMode(aclrtStream, uint64_t) { return ACL_SUCCESS; }
aclError aclrtLaunchCallback(aclrtCallback fn, void* data, aclrtCallbackBlockType, aclrtStream handle) {
    if (!stream_of(handle)) return ACL_ERROR_RT_STREAM_CONTEXT;
    fn(data);
    return ACL_SUCCESS;
}
aclError aclrtStreamWaitEvent(aclrtStream handle, aclrtEvent event) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    Event* e = event_of("aclrtStreamWaitEvent", event);
    Stream* s = stream_of(handle);
    if (!e || !s) return ACL_ERROR_RT_PARAM_INVALID;
    s->free_at = std::max(s->free_at, e->at);
    return ACL_SUCCESS;
}

// ---- events

aclError aclrtCreateEvent(aclrtEvent* place) { return new_event(place); }
aclError aclrtCreateEventWithFlag(aclrtEvent* place, uint32_t) { return new_event(place); }
aclError aclrtCreateEventExWithFlag(aclrtEvent* place, uint32_t) { return new_event(place); }
aclError aclrtDestroyEvent(aclrtEvent event) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    return g_events.erase(event) ? int(ACL_SUCCESS) : int(ACL_ERROR_RT_PARAM_INVALID);
}
aclError aclrtRecordEvent(aclrtEvent event, aclrtStream handle) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    Event* e = event_of("aclrtRecordEvent", event);
    Stream* s = stream_of(handle);
    if (!e || !s) return ACL_ERROR_RT_PARAM_INVALID;
    host_clock.api();
    e->at = s->free_at = std::max(s->free_at, host_clock.now);
    return ACL_SUCCESS;
}
aclError aclrtResetEvent(aclrtEvent event, aclrtStream) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    Event* e = event_of("aclrtResetEvent", event);
    if (!e) return ACL_ERROR_RT_PARAM_INVALID;
    e->at = -1;  // as one that was never recorded
    return ACL_SUCCESS;
}
aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    Event* e = event_of("aclrtQueryEvent", event);
    if (!e) return ACL_ERROR_RT_PARAM_INVALID;
    host_clock.api();
    *status = e->at >= 0 && e->at <= host_clock.now ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
    return ACL_SUCCESS;
}
aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    Event* e = event_of("aclrtQueryEventStatus", event);
    if (!e) return ACL_ERROR_RT_PARAM_INVALID;
    host_clock.api();
    *status = e->at >= 0 && e->at <= host_clock.now ? ACL_EVENT_RECORDED_STATUS_COMPLETE
                                                    : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    return ACL_SUCCESS;
}
aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status) {
    if (!event_of("aclrtQueryEventWaitStatus", event)) return ACL_ERROR_RT_PARAM_INVALID;
    *status = ACL_EVENT_WAIT_STATUS_COMPLETE;
    return ACL_SUCCESS;
}
aclError aclrtSynchronizeEvent(aclrtEvent event) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    Event* e = event_of("aclrtSynchronizeEvent", event);
    if (!e) return ACL_ERROR_RT_PARAM_INVALID;
    host_clock.api();
    host_clock.now = std::max(host_clock.now, e->at);
    for (auto& [handle, s] : g_streams)
        if (s->free_at <= host_clock.now) device_memory.waited(handle);
    return ACL_SUCCESS;
}
aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t) { return aclrtSynchronizeEvent(event); }
aclError aclrtEventElapsedTime(float* ms, aclrtEvent from, aclrtEvent to) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    Event* a = event_of("aclrtEventElapsedTime", from);
    Event* b = event_of("aclrtEventElapsedTime", to);
    if (!a || !b || a->at < 0 || b->at < 0) return ACL_ERROR_RT_PARAM_INVALID;
    *ms = float((b->at - a->at) * 1e3);
    return ACL_SUCCESS;
}
aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* us) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    Event* e = event_of("aclrtEventGetTimestamp", event);
    if (!e || e->at < 0) return ACL_ERROR_RT_PARAM_INVALID;
    *us = uint64_t(e->at * 1e6);
    return ACL_SUCCESS;
}

}  // extern "C"
