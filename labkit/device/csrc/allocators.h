// The three allocators that PyTorch sees: device memory, pinned host memory, and a CPU allocator that can also allocate
// in the arena.
//
// The last one is what makes a kernel launch copy nothing. ATen operators of the npu run as CPU kernels, and those
// allocate their results with the CPU allocator; while one of them runs for an npu tensor (ResultsInArena), that
// allocator takes the memory from the arena instead of the heap. Every other CPU tensor is untouched by it.
#pragma once
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/Storage.h>
#include <c10/util/Exception.h>
#if LABKIT_TORCH >= 209
#include <c10/core/CachingDeviceAllocator.h>
#endif

#if LABKIT_TORCH >= 211
#include <ATen/Context.h>
#include <ATen/core/CachingHostAllocator.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "arena.h"
#include "clock.h"

namespace labdev {

constexpr auto kNpu = c10::DeviceType::PrivateUse1;

inline c10::Device npu_device(int index) { return c10::Device(kNpu, c10::DeviceIndex(index)); }
inline int known(c10::DeviceIndex device) {  // else Error
    TORCH_CHECK(device >= 0 && device < virtual_clock().devices(), "npu: there is no device ", int(device),
                "; this machine has ", virtual_clock().devices(), " (numbered from 0)");
    return device;
}
inline int index_of(c10::Device device) { return device.has_index() ? device.index() : current_device(); }
// The device that somebody wishes for: the arena and the clock look for it in a list, by its number.
inline int known(c10::Device device) { return known(c10::DeviceIndex(index_of(device))); }
inline int known_stream(const c10::Stream& s) {  // else Error
    known(s.device_index());
    TORCH_CHECK(s.id() >= 0 && s.id() <= INT16_MAX, "npu: there is no stream ", s.id());
    return int(s.id());
}

// ---- errors

// Message texts with {fields}, set by Python so that they are in the learner's language (labkit/messages).
inline std::map<std::string, std::string>& texts() {
    static auto* all = new std::map<std::string, std::string>();
    return *all;
}

inline std::string fill(std::string text, const std::map<std::string, std::string>& fields) {
    for (const auto& [name, value] : fields) {
        const std::string field = "{" + name + "}";
        for (size_t at = 0; (at = text.find(field, at)) != std::string::npos; at += value.size())
            text.replace(at, field.size(), value);
    }
    return text;
}

inline std::string in_units(size_t bytes) {
    const char* const units[] = {"bytes", "KiB", "MiB", "GiB"};
    double value = double(bytes);
    int unit = 0;
    for (; value >= 1024 && unit < 3; ++unit) value /= 1024;
    char text[32];
    std::snprintf(text, sizeof text, unit ? "%.2f %s" : "%.0f %s", value, units[unit]);
    return text;
}

[[noreturn]] inline void raise(const OutOfMemory& e) {
    using Limit = OutOfMemory::Limit;
    const char* key = e.limit == Limit::Chip       ? "chip"
                      : e.limit == Limit::Host     ? "host"
                      : e.limit == Limit::Fraction ? "fraction"
                                                   : "address";
    const size_t cached = e.stats.reserved - std::min(e.stats.reserved, e.stats.allocated);
    const size_t free = e.capacity - std::min<size_t>(e.capacity, e.stats.allocated);
    const std::string text = fill(texts()[std::string("device.oom.") + key],
                                  {{"asked", in_units(e.asked)},
                                   {"device", std::to_string(e.device)},
                                   {"capacity", in_units(e.capacity)},
                                   {"allocated", in_units(e.stats.allocated)},
                                   {"cached", in_units(cached)},
                                   {"free", in_units(free)},
                                   {"host_free", in_units(e.host_free)}});
    TORCH_CHECK_WITH(OutOfMemoryError, false, text.empty() ? e.what() : text.c_str());
    std::abort();  // not reached: the line above throws
}

[[noreturn]] inline void raise(const BadFork&) {
    TORCH_CHECK(false,
                "Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, "
                "you must use the 'spawn' start method");
    std::abort();
}

// First of all, whatever works on device memory: in a forked child that memory is the parent's, and a write would be
// seen there. What needs new memory is refused by the arena itself.
inline void no_fork() {
    if (arena().forked()) raise(BadFork());
}

// ---- device memory

inline void free_block(void* p) { arena().free(p); }

inline c10::DataPtr allocate_block(size_t bytes, int device) {
    if (bytes == 0) return {nullptr, npu_device(device)};
    try {
        void* p = arena().allocate(bytes, device, current_stream(device));
        return {p, p, &free_block, npu_device(device)};
    } catch (const OutOfMemory& e) {
        raise(e);
    } catch (const BadFork& e) {
        raise(e);
    }
}

#if LABKIT_TORCH >= 209
using DeviceAllocatorBase = c10::DeviceAllocator;
#else
using DeviceAllocatorBase = c10::Allocator;
#endif

class NpuAllocator final : public DeviceAllocatorBase {
public:
    c10::DataPtr allocate(size_t bytes) override { return allocate_block(bytes, current_device()); }
    c10::DeleterFnPtr raw_deleter() const override { return &free_block; }
    void copy_data(void* to, const void* from, size_t bytes) const override {
        std::memcpy(to, from, bytes);
        arena().mark_written(to);
    }
#if LABKIT_TORCH >= 209  // what torch.accelerator.memory_*() asks for
    bool initialized() override { return true; }
    void emptyCache(c10::MempoolId_t = {0, 0}) override { arena().empty_cache(); }
    void recordStream(const c10::DataPtr& p, c10::Stream stream) override {
        arena().record_stream(p.get(), known_stream(stream));
    }
    c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
        const MemoryStats s = arena().stats(known(device));
        c10::CachingDeviceAllocator::DeviceStats out;
        const PoolCounts by_pool = arena().counts(known(device));
        c10::CachingAllocator::StatArray* const to[] = {
            &out.allocation,      &out.segment,        &out.active,       &out.inactive_split,
            &out.allocated_bytes, &out.reserved_bytes, &out.active_bytes, &out.inactive_split_bytes,
            &out.requested_bytes};
        for (int what = 0; what < PoolCounts::kWhats; ++what)
            for (int pool = 0; pool < 3; ++pool) {
                const Count& c = by_pool.counts[what][pool];
                auto& stat = (*to[what])[size_t(pool)];
                stat.current = c.current;
                stat.peak = c.peak;
                stat.allocated = c.allocated;
                stat.freed = c.freed;
            }
        out.num_device_alloc = out.segment[0].allocated;
        out.num_device_free = out.segment[0].freed;
        out.max_split_size = -1;  // without a limit, as PyTorch's table has it
        out.num_alloc_retries = int64_t(s.retries);
        out.num_ooms = int64_t(s.ooms);
        return out;
    }
    void resetAccumulatedStats(c10::DeviceIndex device) override { arena().reset_accumulated(known(device)); }
    void resetPeakStats(c10::DeviceIndex device) override { arena().reset_peak(known(device)); }
#if LABKIT_TORCH >= 210
    std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override {
        const size_t all = arena().capacity();
        return {all - std::min<size_t>(all, arena().stats(known(device)).reserved), all};
    }
#endif
#endif
};

inline NpuAllocator* npu_allocator() {
    static auto* one = new NpuAllocator();
    return one;
}

// ---- results of CPU kernels

// While such an object exists, this thread's CPU tensors are allocated in the arena, for `device`.
class ResultsInArena {
public:
    explicit ResultsInArena(int device) : outer_(current()) { current() = device; }
    ~ResultsInArena() { current() = outer_; }
    ResultsInArena(const ResultsInArena&) = delete;
    static int& current() {
        static thread_local int device = -1;  // -1: the heap, as always
        return device;
    }

private:
    int outer_;
};

class CpuAllocator final : public c10::Allocator {
public:
    explicit CpuAllocator(c10::Allocator* heap) { heap_() = heap; }
    c10::DataPtr allocate(size_t bytes) override {
        const int device = ResultsInArena::current();
        if (device < 0 || bytes == 0) return heap_()->allocate(bytes);
        try {
            void* p = arena().allocate(bytes, device, current_stream(device), /*counted=*/false);
            return {p, p, &free_either, c10::Device(c10::DeviceType::CPU)};
        } catch (const OutOfMemory& e) {
            raise(e);
        } catch (const BadFork& e) {
            raise(e);
        }
    }
    c10::DeleterFnPtr raw_deleter() const override { return &free_either; }
    void copy_data(void* to, const void* from, size_t bytes) const override { std::memcpy(to, from, bytes); }

private:
    static c10::Allocator*& heap_() {
        static c10::Allocator* heap = nullptr;
        return heap;
    }
    static void free_either(void* p) {
        if (arena().contains(p)) arena().free(p);
        else heap_()->raw_deallocate(p);
    }
};

// ---- pinned host memory: ordinary memory whose addresses are remembered

#if LABKIT_TORCH >= 211
using HostAllocatorBase = at::HostAllocator;
#else
using HostAllocatorBase = c10::Allocator;
#endif

class PinnedAllocator final : public HostAllocatorBase {
public:
    c10::DataPtr allocate(size_t bytes) override {
        void* p = nullptr;
        TORCH_CHECK(!bytes || !posix_memalign(&p, 4096, bytes), "npu: no host memory for ", bytes, " pinned bytes");
        if (p) {
            std::lock_guard<std::mutex> lock(mutex_);
            live_[reinterpret_cast<uintptr_t>(p)] = bytes;
            // registered memory that was freed without let_go() lay here: the entry is the allocation's from now on
            if (auto it = adopted_.find(reinterpret_cast<uintptr_t>(p)); it != adopted_.end()) it->second = false;
            count(bytes, true);
        }
        return {p, p, &release, c10::Device(c10::DeviceType::CPU)};
    }
    c10::DeleterFnPtr raw_deleter() const override { return &release; }
    void copy_data(void* to, const void* from, size_t bytes) const override { std::memcpy(to, from, bytes); }
    // Whether p lies in a live allocation: a slice of pinned memory is pinned.
    bool owns(const void* p) {
        const auto address = reinterpret_cast<uintptr_t>(p);
        std::lock_guard<std::mutex> lock(mutex_);
        auto after = live_.upper_bound(address);
        return after != live_.begin() && address - std::prev(after)->first < std::prev(after)->second;
    }
    // Memory of the program's own that it has registered (torch.npu.npurt()): pinned until it is taken back.
    bool adopt(uintptr_t address, size_t bytes) {
        // until then PyTorch says of no memory that it is pinned
        at::globalContext().lazyInitDevice(c10::DeviceType::PrivateUse1);
        std::lock_guard<std::mutex> lock(mutex_);
        if (adopted_.count(address)) return false;
        return adopted_.emplace(address, live_.emplace(address, bytes).second).second;
    }
    bool let_go(uintptr_t address) {
        std::lock_guard<std::mutex> lock(mutex_);
        const auto it = adopted_.find(address);
        if (it == adopted_.end()) return false;
        if (it->second) live_.erase(address);
        adopted_.erase(it);
        return true;
    }
    // Requests, their bytes, allocations, their bytes: now, at most, in all, given back; then the calls of either kind.
    bool numbers(int64_t* out) {
#if LABKIT_TORCH >= 211
        std::lock_guard<std::mutex> lock(mutex_);
        for (auto* s : all())
            for (const int64_t n : {s->current, s->peak, s->allocated, s->freed}) *out++ = n;
        *out++ = stats_.num_host_alloc, *out++ = stats_.num_host_free;
        return true;
#else
        return false;
#endif
    }
    void begin_anew(bool peaks) {
#if LABKIT_TORCH >= 211
        peaks ? reset_peak_stats() : reset_accumulated_stats();
#endif
    }
#if LABKIT_TORCH >= 211  // what torch.accelerator.memory.*host*() asks for; nothing is cached
    bool record_event(void*, void*, c10::Stream) override { return true; }
    void empty_cache() override {}
    at::HostStats get_stats() override {
        std::lock_guard<std::mutex> lock(mutex_);
        return stats_;
    }
    void reset_accumulated_stats() override {
        std::lock_guard<std::mutex> lock(mutex_);
        for (auto* s : all()) s->reset_accumulated();
        stats_.num_host_alloc = stats_.num_host_free = 0;
    }
    void reset_peak_stats() override {
        std::lock_guard<std::mutex> lock(mutex_);
        for (auto* s : all()) s->reset_peak();
    }
#endif
    static PinnedAllocator* one() {
        static auto* allocator = new PinnedAllocator();
        return allocator;
    }

private:
    static void release(void* p) {
        if (!p) return;
        {
            std::lock_guard<std::mutex> lock(one()->mutex_);
            auto it = one()->live_.find(reinterpret_cast<uintptr_t>(p));
            if (it != one()->live_.end()) {
                one()->count(it->second, false);
                one()->live_.erase(it);
            }
        }
        std::free(p);
    }
#if LABKIT_TORCH >= 211
    std::vector<c10::CachingAllocator::Stat*> all() {
        return {&stats_.active_requests, &stats_.active_bytes, &stats_.allocations, &stats_.allocated_bytes};
    }
    void count(size_t bytes, bool more) {
        for (auto* s : all()) {
            const bool counts = s == &stats_.active_requests || s == &stats_.allocations;
            if (more) s->increase(counts ? 1 : bytes);
            else s->decrease(counts ? 1 : bytes);
        }
        ++(more ? stats_.num_host_alloc : stats_.num_host_free);
    }
    at::HostStats stats_;
#else
    void count(size_t, bool) {}
#endif
    std::mutex mutex_;
    std::map<uintptr_t, size_t> live_;   // address, bytes
    std::map<uintptr_t, bool> adopted_;  // registered ones; whether live_ has the entry for them
};

}  // namespace labdev
