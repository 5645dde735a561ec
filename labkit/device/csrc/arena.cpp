#include "arena.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>

#include "clock.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000  // glibc before 2.27
#endif

namespace labdev {
namespace {

constexpr size_t kMiB = 1 << 20;
// The constants of PyTorch's caching allocators, which torch_npu shares.
constexpr size_t kSmall = kMiB;  // up to here: from a 2 MiB segment
constexpr size_t kSmallSegment = 2 * kMiB;
constexpr size_t kMiddle = 10 * kMiB;  // up to here: from a 20 MiB segment
constexpr size_t kMiddleSegment = 20 * kMiB;
constexpr size_t kLargeRound = 2 * kMiB;  // above: a segment of its own
constexpr size_t kTail = 32;              // torch_npu asks for 32 bytes more than the tensor, so that a kernel's
                                          // last 32-byte access stays inside the block
// Not PyTorch's: how much host memory the cache may hold, and the smallest free block worth a system call to return to
// the host.
constexpr size_t kBackedMax = 512 * kMiB;
constexpr size_t kGiveBackMin = 4 * kMiB;
constexpr size_t kHostCheckEvery = 64 * kMiB;  // growth after which the host's free memory is looked at again
constexpr size_t kHostMargin = 256 * kMiB;     // left to everything else on the machine

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

size_t segment_size(size_t block) {
    if (block <= kSmall) return kSmallSegment;
    if (block < kMiddle) return kMiddleSegment;
    return round_up(block, kLargeRound);
}

// MemAvailable of /proc/meminfo in bytes; the largest number where it cannot be read.
size_t host_available() {
    size_t kib = 0;
    if (FILE* f = std::fopen("/proc/meminfo", "re")) {
        char line[160];
        while (std::fgets(line, sizeof line, f))
            if (std::sscanf(line, "MemAvailable: %zu", &kib) == 1) break;
        std::fclose(f);
    }
    return kib ? kib * 1024 : SIZE_MAX;
}

}  // namespace

Arena& arena() {
    static Arena* one = new Arena();
    return *one;
}

bool Arena::open(size_t bytes, int devices, std::string& error) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (fd_ >= 0) return true;
    auto refuse = [&](const char* call) {
        error = std::string(call) + ": " + std::strerror(errno);
        if (fd_ >= 0) ::close(fd_);
        fd_ = -1;
        return false;
    };
    fd_ = memfd_create("labkit-npu", MFD_CLOEXEC);
    if (fd_ < 0) return refuse("memfd_create");
    if (ftruncate(fd_, off_t(bytes))) return refuse("ftruncate");
    void* got = mmap(base_, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd_, 0);
    if (got == MAP_FAILED) return refuse("mmap");
    if (got != base_) {  // before Linux 4.17 the address is only a hint
        munmap(got, bytes);
        errno = EEXIST;
        return refuse("mmap");
    }
    madvise(base_, bytes, MADV_DONTDUMP);  // keeps 64 GiB out of core files
    end_ = base_ + bytes;
    pools_.resize(size_t(devices));
    addresses_[base_] = bytes;
    chip_bytes_ = host_bytes_ = bytes;
    // A forked child shares these pages with its parent: it must neither allocate nor free.
    pthread_atfork(nullptr, nullptr, [] { arena().forked_ = true; });
    return true;
}

void Arena::set_capacity(size_t chip_bytes, size_t host_bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    chip_bytes_ = chip_bytes;
    host_bytes_ = host_bytes;
}

void Arena::set_fraction(int device, double fraction) {
    std::lock_guard<std::mutex> lock(mutex_);
    pools_[size_t(device)].fraction = fraction;
}

size_t Arena::capacity() const { return std::min({chip_bytes_, host_bytes_, size()}); }

// ---- blocks

Arena::Pool& Arena::pool_of(Device& device, int stream, bool small) {
    auto& [few, many] = device.pools.try_emplace(stream, Pool{{}, true, stream}, Pool{{}, false, stream}).first->second;
    return small ? few : many;
}

void Arena::tally(PoolCounts::What what, PoolCounts::What bytes, const Block& block, int by) {
    PoolCounts& counts = pools_[size_t(block.device)].counts;
    for (const int pool : {0, block.pool->small ? 1 : 2}) {
        Count &number = counts.counts[what][pool], &sum = counts.counts[bytes][pool];
        by > 0 ? number.add(1) : number.sub(1);
        by > 0 ? sum.add(block.size) : sum.sub(block.size);
        if (what != PoolCounts::Blocks) continue;
        Count& requested = counts.counts[PoolCounts::Requested][pool];
        by > 0 ? requested.add(block.asked) : requested.sub(block.asked);
    }
}

void Arena::shelve(Block* block) {
    block->pool->free.insert(block);
    if (block->prev || block->next) tally(PoolCounts::Split, PoolCounts::SplitBytes, *block, 1);
}

void Arena::unshelve(Block* block) {
    if (block->pool->free.erase(block) && (block->prev || block->next))
        tally(PoolCounts::Split, PoolCounts::SplitBytes, *block, -1);
}

// The block is a tensor's from now on.
void Arena::count(const Block& block) {
    tally(PoolCounts::Blocks, PoolCounts::Bytes, block, 1);
    tally(PoolCounts::Active, PoolCounts::ActiveBytes, block, 1);
    tell(block, false);
}

void* Arena::allocate(size_t bytes, int index, int stream, bool counted) {
    if (forked_) throw BadFork();
    std::lock_guard<std::mutex> lock(mutex_);
    Device& device = pools_[size_t(index)];
    if (bytes > SIZE_MAX / 2) fail(device, index, bytes, limit_of(device));  // rounding it up would overflow
    const size_t size = round_up(bytes + kTail, kAlign);
    if (!device.waiting.empty()) release_waiting(device, virtual_clock().host());
    Pool& pool = pool_of(device, stream, size <= kSmall);
    Block* block = take(pool, size);
    if (!block) block = grow(device, index, pool, size);
    split(block, size);
    block->used = true;
    block->counted = counted;
    block->written = false;
    block->asked = bytes;
    used_.emplace(block->start, block);
    if (counted) count(*block);
    return block->start;
}

void Arena::free(void* p) {
    if (forked_) return;
    std::lock_guard<std::mutex> lock(mutex_);
    auto it = used_.find(static_cast<char*>(p));
    if (it == used_.end()) return;
    Block* block = it->second;
    used_.erase(it);
    Device& device = pools_[size_t(block->device)];
    if (block->counted) {
        tally(PoolCounts::Blocks, PoolCounts::Bytes, *block, -1);
        tell(*block, true);
    }
    double until = 0;
    for (int stream : block->users) until = std::max(until, virtual_clock().now(block->device, stream).time);
    block->users.clear();
    if (until > virtual_clock().host()) device.waiting.push_back({block, until});
    else release(block);
}

void Arena::record_stream(const void* p, int stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    Block* block = at(p);
    if (!block) return;
    watch().note(Watched::RecordStream, block->start, stream_number(block->device, stream));
    if (block->pool->stream != stream) block->users.insert(stream);
}

void Arena::erase_stream(const void* p, int stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    Block* block = at(p);
    if (!block) return;
    watch().note(Watched::EraseStream, block->start, stream_number(block->device, stream));
    block->users.erase(stream);
}

void Arena::forget_waiting() {
    if (forked_) return;
    std::lock_guard<std::mutex> lock(mutex_);
    for (Device& device : pools_) release_waiting(device, std::numeric_limits<double>::infinity());
}

void Arena::release_waiting(Device& device, double now) {
    auto over = [&](const Waiting& w) {
        if (w.until <= now) release(w.block);
        return w.until <= now;
    };
    auto& all = device.waiting;
    all.erase(std::remove_if(all.begin(), all.end(), over), all.end());
}

void Arena::release(Block* block) {
    if (block->counted) tally(PoolCounts::Active, PoolCounts::ActiveBytes, *block, -1);
    block->used = false;
    block->backed = true;
    backed_bytes_ += block->size;
    if (block->prev && !block->prev->used) block = merge(block->prev, block);
    if (block->next && !block->next->used) block = merge(block, block->next);
    // Free memory must not stay in the host's memory only because the cache keeps its address.
    if (backed_bytes_ > kBackedMax && block->size >= kGiveBackMin) give_back(block);
    shelve(block);
}

void Arena::adopt(void* p) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto it = used_.find(static_cast<char*>(p));
    if (it == used_.end()) return;
    Block* block = it->second;
    block->written = true;
    if (block->counted) return;
    block->counted = true;
    count(*block);
}

void Arena::tell(const Block& block, bool freed) const {
    watch().note(freed ? Watched::Free : Watched::Allocate, block.start,
                 stream_number(block.device, block.pool->stream));
    if (!observer_) return;
    const PoolCounts& c = pools_[size_t(block.device)].counts;
    observer_->changed({uint64_t(block.start), block.size, uint64_t(c.counts[PoolCounts::Bytes][0].current),
                        c.reserved(), block.device, block.pool->stream, freed});
}

Arena::Block* Arena::at(const void* p) const {
    auto it = used_.upper_bound(const_cast<char*>(static_cast<const char*>(p)));
    if (it == used_.begin()) return nullptr;
    Block* block = (--it)->second;
    return p < block->start + block->size ? block : nullptr;
}

void Arena::mark_written(const void* p) {
    if (!contains(p)) return;
    std::lock_guard<std::mutex> lock(mutex_);
    if (Block* block = at(p)) block->written = true;
}

bool Arena::find(const void* p, BlockInfo& info) const {
    if (!contains(p)) return false;
    std::lock_guard<std::mutex> lock(mutex_);
    const Block* block = at(p);
    if (!block) return false;
    info = {block->start, block->asked, block->written, block->device};
    return true;
}

// ---- free lists

Arena::Block* Arena::take(Pool& pool, size_t size) {
    Block probe{nullptr, size, 0, nullptr, nullptr, nullptr, 0};
    auto it = pool.free.lower_bound(&probe);  // the smallest that fits, the lowest address among equals
    if (it == pool.free.end()) return nullptr;
    Block* block = *it;
    unshelve(block);
    if (block->backed) backed_bytes_ -= block->size;
    return block;
}

void Arena::split(Block* block, size_t size) {
    const size_t rest = block->size - size;
    const bool worth = block->pool->small ? rest >= kAlign : rest > kSmall;
    if (!worth) return;
    Block* right = new Block{block->start + size, rest, 0, block->pool, block, block->next, block->device};
    right->backed = block->backed;
    if (right->backed) backed_bytes_ += rest;
    if (block->next) block->next->prev = right;
    block->next = right;
    block->size = size;
    shelve(right);
}

// Joins two free neighbours. Afterwards neither the result nor `block`, the one just freed, is in the free list.
Arena::Block* Arena::merge(Block* left, Block* right) {
    unshelve(left);
    unshelve(right);
    if (left->backed != right->backed) {
        backed_bytes_ += left->backed ? right->size : left->size;
        left->backed = true;
    }
    left->size += right->size;
    left->next = right->next;
    if (right->next) right->next->prev = left;
    delete right;
    return left;
}

// Returns the pages of a free block to the host. Its address stays in the cache, so that the statistics, which are the
// chip's, do not depend on this machine's memory.
void Arena::give_back(Block* block) {
    if (!block->backed) return;
    const size_t page = size_t(sysconf(_SC_PAGESIZE));
    const size_t first = round_up(size_t(block->start - base_), page);
    const size_t last = size_t(block->start + block->size - base_) / page * page;
    if (last > first) fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(first), off_t(last - first));
    block->backed = false;
    backed_bytes_ -= block->size;
}

// ---- segments

Arena::Block* Arena::grow(Device& device, int index, Pool& pool, size_t size) {
    using Limit = OutOfMemory::Limit;
    const size_t bytes = segment_size(size);
    const size_t allowed = size_t(double(capacity()) * device.fraction);
    if (device.counts.reserved() + bytes > allowed) {
        ++device.counts.retries;
        if (!release_cached(device) || device.counts.reserved() + bytes > allowed)
            fail(device, index, size, limit_of(device));
    }
    // Pages are allocated by the first access, which is too late to refuse: the kernel's OOM killer would end the
    // notebook. So the free memory is checked here.
    unchecked_ += bytes;
    if (unchecked_ >= kHostCheckEvery) {
        unchecked_ = 0;
        if (bytes + kHostMargin > host_available()) {
            release_all_cached();
            if (bytes + kHostMargin > host_available()) fail(device, index, size, Limit::Host);
        }
    }
    char* start = take_address(bytes);
    if (!start) {
        release_all_cached();
        start = take_address(bytes);
        if (!start) fail(device, index, size, Limit::Address);
    }
    Block* made = new Block{start, bytes, 0, &pool, nullptr, nullptr, index};
    tally(PoolCounts::Segments, PoolCounts::Reserved, *made, 1);
    return made;
}

// Gives back every segment of the device with no block in use; what waits for a stream counts as free, as on a card,
// where the host waits for it now (here without the time that takes). True when there was one.
bool Arena::release_cached(Device& device) {
    bool any = false;
    release_waiting(device, std::numeric_limits<double>::infinity());
    std::vector<Pool*> pools;
    for (auto& [stream, both] : device.pools) pools.insert(pools.end(), {&both.first, &both.second});
    for (Pool* pool : pools) {
        for (auto it = pool->free.begin(); it != pool->free.end();) {
            Block* block = *it;
            if (block->prev || block->next) {
                ++it;
                continue;
            }
            it = pool->free.erase(it);
            give_back(block);
            return_address(block->start, block->size);
            tally(PoolCounts::Segments, PoolCounts::Reserved, *block, -1);
            delete block;
            any = true;
        }
    }
    return any;
}

// Where the host's memory or the addresses run out: those are of all devices together.
void Arena::release_all_cached() {
    for (Device& device : pools_) release_cached(device);
}

char* Arena::take_address(size_t bytes) {
    for (auto it = addresses_.begin(); it != addresses_.end(); ++it) {
        if (it->second < bytes) continue;
        auto [start, length] = *it;
        addresses_.erase(it);
        if (length > bytes) addresses_[start + bytes] = length - bytes;
        return start;  // the lowest that fits: the same program gets the same addresses in every run
    }
    return nullptr;
}

void Arena::return_address(char* start, size_t bytes) {
    auto [it, _] = addresses_.emplace(start, bytes);
    auto next = std::next(it);
    if (next != addresses_.end() && start + bytes == next->first) {
        it->second += next->second;
        addresses_.erase(next);
    }
    if (it != addresses_.begin()) {
        auto before = std::prev(it);
        if (before->first + before->second == start) {
            before->second += it->second;
            addresses_.erase(it);
        }
    }
}

// The reason why a device cannot reserve more.
OutOfMemory::Limit Arena::limit_of(const Device& device) const {
    using Limit = OutOfMemory::Limit;
    if (device.fraction < 1) return Limit::Fraction;
    if (capacity() == chip_bytes_) return Limit::Chip;
    return capacity() == size() ? Limit::Address : Limit::Host;
}

void Arena::fail(Device& device, int index, size_t asked, OutOfMemory::Limit limit) {
    ++device.counts.ooms;
    OutOfMemory error;
    error.limit = limit;
    error.device = index;
    error.asked = asked;
    error.capacity = size_t(double(capacity()) * device.fraction);
    error.host_free = host_available();
    error.stats = device.counts.stats();
    throw error;
}

// ---- statistics

MemoryStats PoolCounts::stats() const {
    auto now = [&](What what) { return uint64_t(counts[what][0].current); };
    auto peak = [&](What what) { return uint64_t(counts[what][0].peak); };
    return {now(Bytes),
            peak(Bytes),
            now(Reserved),
            peak(Reserved),
            now(Requested),
            now(Blocks),
            now(Segments),
            uint64_t(counts[Blocks][0].allocated),
            uint64_t(counts[Blocks][0].freed),
            retries,
            ooms,
            now(ActiveBytes),
            peak(ActiveBytes),
            peak(Requested),
            peak(Blocks),
            peak(Segments)};
}

MemoryStats Arena::stats(int device) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return pools_[size_t(device)].counts.stats();
}

PoolCounts Arena::counts(int device) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return pools_[size_t(device)].counts;
}

void Arena::reset_accumulated(int device) {
    std::lock_guard<std::mutex> lock(mutex_);
    Device& d = pools_[size_t(device)];
    for (auto& what : d.counts.counts)
        for (Count& count : what) count.allocated = count.freed = 0;
    d.counts.retries = d.counts.ooms = 0;
}

void Arena::reset_peak(int device) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto& what : pools_[size_t(device)].counts.counts)
        for (Count& count : what) count.peak = count.current;
}

void Arena::empty_cache() {
    if (forked_) return;
    std::lock_guard<std::mutex> lock(mutex_);
    release_all_cached();
}

std::vector<BlockState> Arena::blocks(int device) const {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<BlockState> all;
    auto add = [&](const Block* b, int used) {
        if (b->device == device)
            all.push_back({uint64_t(uintptr_t(b->start)), b->size, used ? b->asked : 0, used, !b->prev, b->pool->small,
                           b->pool->stream});
    };
    for (const auto& used : used_) add(used.second, 1);
    const Device& d = pools_[size_t(device)];
    for (const Waiting& w : d.waiting) add(w.block, 2);
    for (const auto& [stream, both] : d.pools)
        for (const Pool* pool : {&both.first, &both.second})
            for (const Block* b : pool->free) add(b, 0);
    std::sort(all.begin(), all.end(), [](const BlockState& a, const BlockState& b) { return a.address < b.address; });
    return all;
}

}  // namespace labdev
