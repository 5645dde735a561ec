// The C ABI of the device: what Python reaches through ctypes, and what kernels' launchers may link against.
#include <algorithm>
#include <cstring>

#include "arena.h"
#include "clock.h"
#include "ranks.h"

using labdev::arena;
using labdev::virtual_clock;

namespace {

std::string& last_error() {
    static std::string text;
    return text;
}

bool valid(int device) { return device >= 0 && device < virtual_clock().devices(); }

// A stream's handle, as guard.h makes it.
int device_of(const void* stream) { return int(uintptr_t(stream) >> 32); }
int stream_of(const void* stream) { return int(uintptr_t(stream) & 0xFFFFFFFF) - 1; }

struct RateName {
    const char* name;
    double labdev::Rates::* rate;
};
constexpr RateName kRates[] = {
    {"host_dispatch", &labdev::Rates::host_dispatch},
    {"host_api", &labdev::Rates::host_api},
    {"launch", &labdev::Rates::launch},
    {"copy_latency", &labdev::Rates::copy_latency},
    {"hbm", &labdev::Rates::hbm},
    {"link", &labdev::Rates::link},
    {"vector", &labdev::Rates::vector},
    {"cube_half", &labdev::Rates::cube_half},
    {"cube_float", &labdev::Rates::cube_float},
    {"peer", &labdev::Rates::peer},
    {"peer_latency", &labdev::Rates::peer_latency},
};

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// ---- setting up

// Maps the arena for `devices` devices. 0, or 1 with the reason in lab_error().
int lab_open(size_t bytes, int devices) {
    virtual_clock().configure(devices);
    return arena().open(bytes, devices, last_error()) ? 0 : 1;
}
const char* lab_error() { return last_error().c_str(); }
void lab_set_capacity(size_t chip_bytes, size_t host_bytes) { arena().set_capacity(chip_bytes, host_bytes); }
// One number of the cost model, see Rates in clock.h. 0, or 1 for a name that it does not have.
int lab_set_param(const char* name, double value) {
    for (const RateName& r : kRates)
        if (!std::strcmp(r.name, name)) {
            virtual_clock().rates().*r.rate = value;
            return 0;
        }
    return 1;
}

// ---- memory

int lab_arena_fd() { return arena().fd(); }
void* lab_arena_base() { return arena().base(); }
size_t lab_arena_size() { return arena().size(); }
// The allocation that holds p. 1 and its start, its length as asked for, and whether anything was ever stored in it;
// 0 when p is not in device memory.
int lab_block(const void* p, void** base, size_t* bytes, int* written) {
    labdev::BlockInfo info;
    if (!arena().find(p, info)) return 0;
    *base = info.base;
    *bytes = info.bytes;
    *written = info.written;
    return 1;
}
int lab_device_of(const void* p) {  // -1: not in device memory
    labdev::BlockInfo info;
    return arena().find(p, info) ? info.device : -1;
}
void lab_mark_written(const void* p) { arena().mark_written(p); }
// Statistics in the order of MemoryStats; returns how many there are.
int lab_memory(int device, uint64_t* out, int room) {
    if (!valid(device)) return 0;
    const labdev::MemoryStats s = arena().stats(device);
    const int n = int(sizeof s / sizeof(uint64_t));
    std::memcpy(out, &s, sizeof(uint64_t) * size_t(std::min(n, room)));
    return n;
}
size_t lab_capacity() { return arena().capacity(); }
void lab_set_memory_fraction(int device, double fraction) { arena().set_fraction(device, fraction); }
void lab_reset_peak(int device) { arena().reset_peak(device); }
void lab_empty_cache() { arena().empty_cache(); }
int lab_forked() { return arena().forked(); }

// ---- devices and streams

int lab_device_count() { return virtual_clock().devices(); }
int lab_get_device() { return labdev::current_device(); }
int lab_set_device(int device) {
    if (!valid(device)) return 1;
    labdev::set_current_device(device);
    return 0;
}
int lab_current_stream(int device) { return labdev::current_stream(device); }
void lab_synchronize(int device) { virtual_clock().synchronize(device); }
double lab_event_time(const void* event) {  // ns; negative when it was not recorded
    const auto* e = static_cast<const labdev::Event*>(event);
    return e && e->recorded ? e->time : -1;
}
void lab_event_synchronize(const void* event) {
    if (event) virtual_clock().synchronize(*static_cast<const labdev::Event*>(event));
}

// This process' rank in the default process group; size 0 if there is none any more.
void lab_set_rank(int rank, int size) { labdev::rank_of_process() = {rank, size}; }

// ---- clock and timeline

// Charges a kernel that runs outside ATen: the host for the launch, the current stream for device_ns.
void lab_launch(const char* name, double device_ns, double bytes, double flops) {
    const int device = labdev::current_device();
    virtual_clock().launch(device, labdev::current_stream(device),
                           {virtual_clock().intern(name), labdev::Engine::Cores, device_ns, bytes, flops});
}
// The same on a stream given by its handle (see guard.h), through the host queue or bypassing it.
void lab_launch_on(const void* stream, const char* name, double device_ns, double bytes, int queued) {
    virtual_clock().launch(device_of(stream), stream_of(stream),
                           {virtual_clock().intern(name), labdev::Engine::Cores, device_ns, bytes, 0}, queued != 0);
}
// ---- launches from an operator's C++ side (twin/include/torch_npu)

void* lab_stream_handle(int device, long long stream) {
    return reinterpret_cast<void*>((uintptr_t(device) << 32) | uintptr_t(stream + 1));
}
// The Python callback that runs the kernel; it returns null, or an error text that stays valid until the next call.
using Launcher = const char* (*)(int adapter, const char* kernel, uint32_t blocks, const void* stream, int queued,
                                 const char* file, int line, int count, const void* const* values,
                                 const uint32_t* sizes);
static Launcher launcher = nullptr;
void lab_set_launcher(Launcher function) { launcher = function; }
const char* lab_kernel_launch(int adapter, const char* kernel, uint32_t blocks, const void* stream, int queued,
                              const char* file, int line, int count, const void* const* values, const uint32_t* sizes) {
    if (!launcher) return "labkit.register() has not loaded this adapter";
    return launcher(adapter, kernel, blocks, stream, queued, file, line, count, values, sizes);
}
// How many operators wait in the host queue in front of a stream; the newest one's name is lab_record_name(*last).
uint32_t lab_waiting(const void* stream, uint32_t* last) {
    *last = virtual_clock().last_queued(device_of(stream), stream_of(stream));
    return virtual_clock().waiting(device_of(stream), stream_of(stream));
}
void lab_drain(const void* stream) { virtual_clock().drain(device_of(stream), stream_of(stream)); }
// Noise on every time from now on; levels in the order of NoiseLevels, null switches it off.
void lab_noise(uint64_t seed, const double* levels) {
    if (!levels) return virtual_clock().stop_noise();
    virtual_clock().start_noise(seed, {levels[0], levels[1], levels[2], levels[3], levels[4], levels[5]});
}
double lab_host_ns() { return virtual_clock().host(); }
double lab_busy_until_ns(int device) { return virtual_clock().busy_until(device); }
void lab_host_work(double ns) { virtual_clock().spend(ns); }
void lab_reset_clock() { virtual_clock().reset(); }
uint64_t lab_launches() { return virtual_clock().launches(); }
// Copies the newest `room` records, oldest first; returns how many there are to copy.
long lab_records(labdev::Record* out, long room) {
    const auto records = virtual_clock().records();
    const long n = long(records.size()), from = std::max(0l, n - room);
    if (out) std::copy(records.begin() + from, records.end(), out);
    return n;
}
// The name of a record. Valid until the next call on this thread.
const char* lab_record_name(uint32_t id) {
    static thread_local std::string name;
    name = virtual_clock().name(id);
    return name.c_str();
}

}  // extern "C"
#pragma GCC visibility pop
