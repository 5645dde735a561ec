// Device memory of a program: an address range of its own, which the host's code must not access, as on a real card.
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>

#include "host/host.h"

namespace twin {

DeviceMemory device_memory;

static std::recursive_mutex g_lock;
static constexpr uint64_t kPage = 4096;
static constexpr uint64_t kSpace = 1ull << 40;  // until it is used up no address is used twice: a stale pointer stays
                                                // stale
static constexpr size_t kRemembered = 4096;     // freed allocations that a finding can still name

bool DeviceMemory::start(uint64_t bytes) {
    size_ = bytes;
    for (uint64_t space = kSpace; space >= bytes && !base_; space /= 2) {
        void* p = mmap(nullptr, space, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p != MAP_FAILED) {
            base_ = top_ = uint64_t(p);
            space_ = space;
        }
    }
    return base_ != 0;
}

// The value of fresh memory, as the driver gives it to a new process; public samples rely on it. Here these are the
// host's fresh pages.
constexpr uint8_t kFresh = 0;

static uint64_t whole_pages(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// Behind all that was ever given out; when the address range is at its end, the first gap that is large enough. An
// unused page separates two allocations. 0: none.
uint64_t DeviceMemory::place_for(uint64_t whole) {
    if (whole + kPage <= base_ + space_ - top_) {
        uint64_t lo = top_;
        top_ += whole + kPage;
        return lo;
    }
    uint64_t lo = base_;
    for (const auto& [start, a] : live) {
        if (start - lo >= whole + kPage) return lo;
        lo = start + whole_pages(a.hi - a.lo) + kPage;
    }
    return top_ - lo >= whole + kPage ? lo : 0;
}

uint64_t DeviceMemory::take(uint64_t bytes, int device, Here here) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    uint64_t& used = used_[size_t(device)];
    if (!base_ || bytes > size_ || used + whole_pages(bytes) > size_) return 0;
    uint64_t whole = whole_pages(bytes), lo = place_for(whole);
    if (!lo || (is_open_ && mprotect((void*)lo, whole, PROT_READ | PROT_WRITE) != 0)) return 0;
    used += whole;
    live[lo] = {lo, lo + bytes, ++count_, false, here, device};
    return lo;
}

bool DeviceMemory::give_back(uint64_t at) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    auto it = live.find(at);
    if (it == live.end()) return false;
    uint64_t whole = whole_pages(it->second.hi - it->second.lo);
    used_[size_t(it->second.device)] -= whole;
    madvise((void*)at, whole, MADV_DONTNEED);
    mprotect((void*)at, whole, PROT_NONE);
    if (gone_.size() == kRemembered) gone_.erase(gone_.begin());
    gone_.push_back(it->second);
    live.erase(it);
    return true;
}

void DeviceMemory::forget_all(int device) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    for (auto it = live.begin(); it != live.end();) {
        const Allocation& a = (it++)->second;
        if (a.device == device) give_back(a.lo);
    }
}

Allocation* DeviceMemory::find(uint64_t at) {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    auto it = live.upper_bound(at);
    if (it == live.begin()) return nullptr;
    --it;
    bool inside = at < it->second.hi || at == it->second.lo;
    return inside ? &it->second : nullptr;
}

const Allocation* DeviceMemory::freed(uint64_t at) const {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    for (auto it = gone_.rbegin(); it != gone_.rend(); ++it)
        if (at >= it->lo && at < std::max(it->hi, it->lo + 1)) return &*it;
    return nullptr;
}

std::map<int, Allocation> DeviceMemory::known() const {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    std::map<int, Allocation> all;
    for (const auto& a : gone_) all[a.number] = a;
    for (const auto& [lo, a] : live) all[a.number] = a;
    return all;
}

// Scanning memory that stays unchanged costs every launch time: after so many scans it counts as written.
static constexpr int kLooks = 32;

// Writes of a kernel through plain pointers are not observed, so memory that differs from its initial value counts as
// written.
static bool touched(const Allocation& a) {
    const uint8_t* p = (const uint8_t*)a.lo;
    uint64_t n = a.hi - a.lo;
    return n && (p[0] != kFresh || std::memcmp(p, p + 1, n - 1) != 0);
}

std::vector<GmRange> DeviceMemory::ranges() {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    std::vector<GmRange> all;
    open();
    for (auto& [lo, a] : live) {
        a.written = a.written || touched(a) || ++a.looked == kLooks;
        all.push_back({a.lo, a.hi, a.written, a.number,
                       // aclrtMalloc rounds up and adds 32
                       uint32_t((a.hi - a.lo + 31) / 32 * 32 + 32 - (a.hi - a.lo))});
    }
    close();
    return all;
}

void DeviceMemory::open() {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    depth_++;
    if (is_open_ || top_ == base_) return;
    mprotect((void*)base_, top_ - base_, PROT_READ | PROT_WRITE);
    is_open_ = true;
}

// The cost of changing the protection grows with the memory in use. A program with many launches leaves it open for a
// while, so that at most a tenth of its time is spent on this.
static constexpr int kAlways = 64;
static constexpr double kShare = 0.1;

static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void DeviceMemory::close() {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    if (--depth_ == 0) shut(closed_);
}

void DeviceMemory::settle() {
    std::lock_guard<std::recursive_mutex> hold(g_lock);
    if (depth_ == 0) shut(settled_);
}

void DeviceMemory::shut(int& times) {
    double begun = now();
    if (!is_open_ || (times >= kAlways && begun - shut_at_ < shut_cost_ / kShare)) return;
    times++;
    mprotect((void*)base_, top_ - base_, PROT_NONE);
    is_open_ = false;
    shut_at_ = now();
    shut_cost_ = 2 * (shut_at_ - begun);  // opening costs about the same
}

}  // namespace twin
