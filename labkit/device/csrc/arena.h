// Device memory: one shared mapping at a fixed address, cut into blocks by a caching allocator.
//
// The mapping is a memfd, so a second process can map the same bytes at the same address: a kernel launched there
// reads and writes the tensors of this process in place. The allocator on top behaves as PyTorch's caching allocators
// do (segments of 2 MiB and 20 MiB, best fit, split and merge, a cache that survives free and that each stream has for
// itself, record_stream), because its numbers are what torch.npu.memory_reserved() and friends teach. No torch header
// is included here: this file builds in a second.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace labdev {

constexpr size_t kAlign = 512;                  // every block starts on a 512-byte boundary, as aclrtMalloc's do
constexpr uintptr_t kBase = 0x200000000000ull;  // the same in every process of the lab

// Bytes and counts of one device, as torch.npu.memory_stats() names them.
struct MemoryStats {
    uint64_t allocated = 0, allocated_peak = 0;  // blocks in use, rounded sizes
    uint64_t reserved = 0, reserved_peak = 0;    // segments: blocks in use plus the cache
    uint64_t requested = 0;                      // blocks in use, sizes asked for
    uint64_t blocks = 0, segments = 0;
    uint64_t allocations = 0, frees = 0, retries = 0, ooms = 0;
    uint64_t active = 0, active_peak = 0;  // allocated, and freed while a stream of record_stream still works on it
    uint64_t requested_peak = 0, blocks_peak = 0, segments_peak = 0;
};

// The same by pool, as PyTorch's allocators count: a number now, its highest, and all that came and went.
struct Count {
    int64_t current = 0, peak = 0, allocated = 0, freed = 0;
    void add(size_t n) {
        current += int64_t(n);
        allocated += int64_t(n);
        peak = std::max(peak, current);
    }
    void sub(size_t n) {
        current -= int64_t(n);
        freed += int64_t(n);
    }
};
struct PoolCounts {  // the order is library.py's; each: all, small pool, large pool
    enum What { Blocks, Segments, Active, Split, Bytes, Reserved, ActiveBytes, SplitBytes, Requested, kWhats };
    Count counts[kWhats][3];
    uint64_t retries = 0, ooms = 0;
    uint64_t reserved() const { return uint64_t(counts[Reserved][0].current); }
    MemoryStats stats() const;
};

struct BlockInfo {
    char* base;
    size_t bytes;  // as asked for
    bool written;
    int device;
};

struct BlockState {  // also read by Python, see library.py
    uint64_t address, bytes, asked;
    int used, first, small, stream;  // used: 2 freed, but see active; first: of its segment
};

// Why an allocation failed: the reason, and the numbers at that moment.
struct OutOfMemory : std::exception {
    enum class Limit { Chip, Host, Fraction, Address };
    Limit limit;
    int device;
    size_t asked, capacity, host_free;
    MemoryStats stats;
    const char* what() const noexcept override { return "npu out of memory"; }
};

struct BadFork : std::exception {
    const char* what() const noexcept override { return "npu used in a forked process"; }
};

// A block that has become a tensor's memory, or has gone; the totals right after it. stream: the one that it was made
// for, whoever frees it.
struct MemoryChange {
    uint64_t address, bytes, allocated, reserved;
    int device, stream;
    bool freed;
};
class MemoryObserver {
public:
    virtual ~MemoryObserver() = default;
    virtual void changed(const MemoryChange& change) = 0;  // under the arena's lock: it must not call the arena
};

// ---- what a sanitizer wants to know of memory, streams and events, in the order in which it happens. Python takes it
// before each operator (modules/sanitizer.py); while nobody does, a note costs one load.

struct Watched {  // also read by Python
    enum What : uint64_t {
        Allocate,      // address, stream that it was made for
        Free,          // address, stream that it was made for
        RecordStream,  // address of the block, stream
        EraseStream,   // address of the block, stream
        NewStream,     // stream
        NewEvent,      // event
        DropEvent,     // event
        Record,        // event, stream
        Wait,          // event, stream
        SyncEvent,     // event
        SyncStream,    // stream
        SyncDevice,    // device
    };
    uint64_t what, first, second;
};

class Watch {
public:
    void note(Watched::What what, uint64_t first, uint64_t second = 0) {
        if (!on_.load(std::memory_order_relaxed)) return;
        std::lock_guard<std::mutex> lock(mutex_);
        log_.push_back({what, first, second});
    }
    void note(Watched::What what, const void* first, uint64_t second = 0) { note(what, uint64_t(first), second); }
    void begin(bool on) {  // what was noted before is forgotten
        std::lock_guard<std::mutex> lock(mutex_);
        log_.clear();
        on_ = on;
    }
    size_t take(Watched* out, size_t room) {  // the oldest; without a place to copy to: how many there are
        std::lock_guard<std::mutex> lock(mutex_);
        if (!out) return log_.size();
        const size_t n = std::min(room, log_.size());
        std::copy_n(log_.begin(), n, out);
        log_.erase(log_.begin(), log_.begin() + ptrdiff_t(n));
        return n;
    }

private:
    std::atomic<bool> on_{false};
    std::mutex mutex_;
    std::vector<Watched> log_;
};

inline Watch& watch() {
    static auto* one = new Watch();  // never destroyed, as the clock
    return *one;
}

// A stream as one number: see stream_handle() of guard.h.
inline uint64_t stream_number(int device, int stream) { return uint64_t(device) << 32 | uint64_t(stream + 1); }

class Arena {
public:
    void observe(MemoryObserver* observer) {  // null: nobody
        std::lock_guard<std::mutex> lock(mutex_);
        observer_ = observer;
    }
    // Maps `bytes` of memory for `devices` devices. False, with the reason in `error`, when the system refuses.
    bool open(size_t bytes, int devices, std::string& error);
    // Limits on what a device may reserve: the chip's memory, and the memory of this machine.
    void set_capacity(size_t chip_bytes, size_t host_bytes);
    void set_fraction(int device, double fraction);

    bool contains(const void* p) const { return p >= base_ && p < end_; }
    char* base() const { return base_; }
    size_t size() const { return size_t(end_ - base_); }
    int fd() const { return fd_; }
    size_t capacity() const;  // bytes that one device may reserve
    bool forked() const { return forked_; }

    // A block for a tensor of `device` whose first user is `stream`. counted = false: scratch of a CPU kernel, in the
    // statistics only once adopted. Throws OutOfMemory, BadFork.
    void* allocate(size_t bytes, int device, int stream, bool counted = true);
    void free(void* p);
    // Another stream uses the block, too: once freed it is nobody's before that stream has done what it has by then.
    void record_stream(const void* p, int stream);
    void erase_stream(const void* p, int stream);  // it has been waited for by other means: takes that back
    void forget_waiting();                         // the clock begins anew: nothing is under way
    // The block has become the storage of an npu tensor with content.
    void adopt(void* p);
    void mark_written(const void* p);
    bool find(const void* p, BlockInfo& info) const;

    MemoryStats stats(int device) const;
    PoolCounts counts(int device) const;
    void reset_peak(int device);
    void reset_accumulated(int device);
    void empty_cache();
    std::vector<BlockState> blocks(int device) const;  // by address

private:
    MemoryObserver* observer_ = nullptr;
    struct Pool;
    struct Block {
        char* start;
        size_t size, asked = 0;
        Pool* pool;
        Block *prev = nullptr, *next = nullptr;  // neighbours in the segment
        int device;
        bool used = false, counted = false, written = false;
        bool backed = false;    // free block: may still have pages of the host
        std::set<int> users{};  // streams besides its own
    };
    struct BySize {
        bool operator()(const Block* a, const Block* b) const {
            return a->size != b->size ? a->size < b->size : a->start < b->start;
        }
    };
    struct Pool {  // free blocks of one kind
        std::set<Block*, BySize> free;
        bool small;
        int stream;
    };
    struct Waiting {  // freed; to be given out again from `until` on
        Block* block;
        double until;
    };
    void tell(const Block& block, bool freed) const;
    struct Device {
        std::map<int, std::pair<Pool, Pool>> pools;  // by stream: small, large
        std::vector<Waiting> waiting;
        PoolCounts counts;
        double fraction = 1.0;
    };

    Pool& pool_of(Device& device, int stream, bool small);
    void count(const Block& block);
    void tally(PoolCounts::What what, PoolCounts::What bytes, const Block& block, int by);
    void shelve(Block* block);  // into its pool's free blocks, or out of them
    void unshelve(Block* block);
    void release(Block* block);
    void release_waiting(Device& device, double now);
    Block* take(Pool& pool, size_t size);
    Block* grow(Device& device, int index, Pool& pool, size_t size);
    void split(Block* block, size_t size);
    Block* merge(Block* left, Block* right);
    void give_back(Block* block);
    bool release_cached(Device& device);
    void release_all_cached();
    char* take_address(size_t bytes);
    void return_address(char* start, size_t bytes);
    OutOfMemory::Limit limit_of(const Device& device) const;
    [[noreturn]] void fail(Device& device, int index, size_t asked, OutOfMemory::Limit limit);
    Block* at(const void* p) const;

    char* base_ = reinterpret_cast<char*>(kBase);
    char* end_ = base_;  // empty until open()
    int fd_ = -1;
    bool forked_ = false;
    size_t chip_bytes_ = 0, host_bytes_ = 0;
    size_t backed_bytes_ = 0;  // pages of the host that belong to free blocks in the cache
    size_t unchecked_ = 0;     // growth since the host's free memory was last checked
    mutable std::mutex mutex_;
    std::vector<Device> pools_;
    std::map<char*, Block*> used_;       // by address: lab_block() asks for any pointer inside
    std::map<char*, size_t> addresses_;  // free ranges of the mapping
};

Arena& arena();  // the one of this process; never destroyed, tensors may outlive static destructors

}  // namespace labdev
