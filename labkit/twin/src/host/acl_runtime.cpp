// Devices, contexts, streams and events. Work is executed inside the call that issues it; a stream only has a modelled
// time.
#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "host/host.h"

using namespace twin;

namespace twin {

HostClock host_clock;

namespace {
std::recursive_mutex g_lock;
std::map<void*, std::unique_ptr<Stream>> g_streams;
std::array<Stream, kDevices> g_defaults = [] {
    std::array<Stream, kDevices> all;
    for (int i = 0; i < kDevices; i++) all[size_t(i)].id = -i, all[size_t(i)].device = i;
    return all;
}();
std::array<int, kDevices> g_uses{};  // calls of aclrtSetDevice that no aclrtResetDevice has met
Done g_host_done;
int g_next_stream = 1;
bool g_begun = false;
thread_local int t_device = -1;                 // as on the device, every thread needs its own context
thread_local aclrtContext t_context = nullptr;  // the program's own, if it made one; else the device's
int g_contexts = 0;

struct Event {
    int device = 0;
    double at = -1;
    Done done;
};
std::map<void*, std::unique_ptr<Event>> g_events;

void learn(Done& into, const Done& from) {
    for (auto [stream, turn] : from) {
        uint64_t& known = into[stream];
        known = std::max(known, turn);
    }
}
// What is done when all is done that the stream was given so far.
Done all_of(const Stream& s) {
    Done done = s.done;
    done[s.id] = s.turns;
    return done;
}
}  // namespace

bool host_knows(int stream, uint64_t turn) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    auto it = g_host_done.find(stream);
    return !turn || (it != g_host_done.end() && it->second >= turn);
}

void HostClock::api() {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    now += chip.get("host.api");
}
void HostClock::launch(Stream& s, double seconds) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    now += chip.get("host.api");
    s.free_at = std::max(s.free_at, now) + seconds;
    s.turns++;
}
static double transfer_time(uint64_t bytes, bool over_link) {
    return chip.get("host.api") + (over_link ? chip.get("host.link_latency") + double(bytes) / chip.get("host.link")
                                             : double(bytes) / chip.get("gm.hbm"));
}
void HostClock::transfer(uint64_t bytes, bool over_link) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    now += transfer_time(bytes, over_link);
}
void HostClock::transfer(uint64_t bytes, bool over_link, Stream& s) { launch(s, transfer_time(bytes, over_link)); }
void HostClock::wait(const Stream& s) {
    now = std::max(now, s.free_at);
    learn(g_host_done, all_of(s));
}
void HostClock::unfetched(Stream& s) {
    if (s.fetched_at > now && !host_knows(s.id, s.fetched))
        host_finding("host-unfetched", false, s.fetch, Numbers().add("stream", s.id));
    s.fetched = 0, s.fetched_at = 0;
}

Stream* stream_of(void* handle) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    if (!handle) return &g_defaults[size_t(std::max(t_device, 0))];
    auto it = g_streams.find(handle);
    return it == g_streams.end() ? nullptr : it->second.get();
}

int current_device() { return t_device; }
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
    return std::exchange(s->error, 0);
}

// The streams of a device, the default one first.
std::vector<Stream*> streams_of(int device) {
    std::vector<Stream*> all{&g_defaults[size_t(device)]};
    for (auto& [handle, s] : g_streams)
        if (s->device == device) all.push_back(s.get());
    return all;
}

aclError wait_for_all() {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    if (!device_is_set()) return no_context("aclrtSynchronizeDevice");
    host_clock.api();
    aclError first = ACL_SUCCESS;
    for (Stream* s : streams_of(t_device)) {
        host_clock.wait(*s);
        int error = std::exchange(s->error, 0);
        first = first ? first : error;
    }
    device_memory.settle();
    return first;
}

// The last one that used the device has gone: what is under way ends, and all of it is given back.
void release(int device) {
    for (Stream* s : streams_of(device)) {
        host_clock.unfetched(*s);
        host_clock.wait(*s);
    }
    device_memory.forget_all(device);
    for (auto it = g_streams.begin(); it != g_streams.end();)
        it = it->second->device == device ? g_streams.erase(it) : std::next(it);
    for (auto it = g_events.begin(); it != g_events.end();)
        it = it->second->device == device ? g_events.erase(it) : std::next(it);
    g_defaults[size_t(device)].error = 0;
    if (t_device == device) t_device = -1, t_context = nullptr;
}

aclError new_stream(aclrtStream* place) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    if (!place) return ACL_ERROR_RT_PARAM_INVALID;
    if (!device_is_set()) return *place = nullptr, no_context("aclrtCreateStream");
    auto s = std::make_unique<Stream>();
    s->id = g_next_stream++;
    s->device = t_device;
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
    e->device = t_device;
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

// Of a program that asks: from then on it knows.
bool has_passed(const Event& e) {
    if (e.at < 0 || e.at > host_clock.now) return false;
    learn(g_host_done, e.done);
    return true;
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
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    t_device = id, t_context = nullptr;
    g_uses[size_t(id)]++;
    return ACL_SUCCESS;
}
aclError aclrtResetDevice(int32_t id) {
    if (!known_device("aclrtResetDevice", id)) return ACL_ERROR_RT_INVALID_DEVICEID;
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    int& uses = g_uses[size_t(id)];
    if (uses > 0) uses--;
    if (!uses) release(id);
    return ACL_SUCCESS;
}
aclError aclrtResetDeviceForce(int32_t id) {
    if (!known_device("aclrtResetDeviceForce", id)) return ACL_ERROR_RT_INVALID_DEVICEID;
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    g_uses[size_t(id)] = 0;
    release(id);
    return ACL_SUCCESS;
}
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
    if (!known_device("aclrtCreateContext", id)) return ACL_ERROR_RT_INVALID_DEVICEID;
    t_device = id;
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
    auto it = g_streams.find(handle);
    if (it == g_streams.end()) {
        host_refuse(ACL_ERROR_RT_PARAM_INVALID, "aclrtDestroyStream", "that is no stream, or it was destroyed");
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    host_clock.unfetched(*it->second);
    learn(g_host_done, all_of(*it->second));
    g_streams.erase(it);
    return ACL_SUCCESS;
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
    if (*status == ACL_STREAM_STATUS_COMPLETE) learn(g_host_done, all_of(*s));
    return ACL_SUCCESS;
}
aclError aclrtStreamGetId(aclrtStream handle, int32_t* id) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    Stream* s = stream_of(handle);
    if (!s) return ACL_ERROR_RT_STREAM_CONTEXT;
    *id = std::max(s->id, 0);
    return ACL_SUCCESS;
}
aclError aclrtSetStreamFailureMode(aclrtStream, uint64_t) { return ACL_SUCCESS; }
aclError aclrtLaunchCallback(aclrtCallback fn, void* data, aclrtCallbackBlockType, aclrtStream handle) {
    {
        std::lock_guard<std::recursive_mutex> hold(g_lock);
        Stream* s = stream_of(handle);
        if (!s) return ACL_ERROR_RT_STREAM_CONTEXT;
        learn(g_host_done, all_of(*s));  // whoever hears from the callback knows that the stream has come so far
    }
    fn(data);
    return ACL_SUCCESS;
}
aclError aclrtStreamWaitEvent(aclrtStream handle, aclrtEvent event) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    Event* e = event_of("aclrtStreamWaitEvent", event);
    Stream* s = stream_of(handle);
    if (!e || !s) return ACL_ERROR_RT_PARAM_INVALID;
    s->free_at = std::max(s->free_at, e->at);
    learn(s->done, e->done);
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
    e->done = all_of(*s);
    return ACL_SUCCESS;
}
aclError aclrtResetEvent(aclrtEvent event, aclrtStream) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    Event* e = event_of("aclrtResetEvent", event);
    if (!e) return ACL_ERROR_RT_PARAM_INVALID;
    e->at = -1, e->done.clear();  // as one that was never recorded
    return ACL_SUCCESS;
}
aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    Event* e = event_of("aclrtQueryEvent", event);
    if (!e) return ACL_ERROR_RT_PARAM_INVALID;
    host_clock.api();
    *status = has_passed(*e) ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
    return ACL_SUCCESS;
}
aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    Event* e = event_of("aclrtQueryEventStatus", event);
    if (!e) return ACL_ERROR_RT_PARAM_INVALID;
    host_clock.api();
    *status = has_passed(*e) ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
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
    learn(g_host_done, e->done);
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
