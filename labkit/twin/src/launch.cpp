#include "launch.h"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>

// A kernel's `new` comes here, so that the one that fails can be named.
static thread_local void* g_refused = nullptr;
static void* allocate(size_t n, void* caller) {
    if (void* p = std::malloc(n ? n : 1)) return p;
    g_refused = caller;
    throw std::bad_alloc();
}
void* operator new(size_t n) { return allocate(n, __builtin_return_address(0)); }
void* operator new[](size_t n) { return allocate(n, __builtin_return_address(0)); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }

// A kernel that calls exit is told apart from one that ends, and where it did so.
static void (*g_leaving)(void* caller) = nullptr;
template <typename F> [[noreturn]] static void leave(F real, int status, void* caller) {
    if (twin::core && g_leaving) g_leaving(caller);
    real(status);
    __builtin_unreachable();
}
extern "C" void exit(int status) noexcept { leave(reinterpret_cast<void (*)(int)>(dlsym(RTLD_NEXT, "exit")), status, __builtin_return_address(0)); }
extern "C" void _exit(int status) { leave(reinterpret_cast<void (*)(int)>(dlsym(RTLD_NEXT, "_exit")), status, __builtin_return_address(0)); }

namespace twin {

void when_leaving(void (*call)(void* caller)) { g_leaving = call; }

void check_leftovers();

// Where in the kernel's library an address lies; whoever shows the finding turns it into a line.
static Numbers code_place(void* pc) {
    Dl_info info{};
    Numbers n;
    if (pc && dladdr(pc, &info) && info.dli_fname) n.add("object", info.dli_fname).add("code", (unsigned long)((char*)pc - (char*)info.dli_fbase - 1));
    return n;
}

static std::mutex g_playing_lock;
static std::vector<Playing> g_playing;

std::vector<Playing> playing() {
    std::lock_guard<std::mutex> hold(g_playing_lock);
    return g_playing;
}

static BlockResult play(Core& c, const Launch& l, uint32_t block, size_t keep, const std::function<void()>& body) {
    c.ranges = &l.ranges;
    c.checks = l.checks;
    Seat seat{l.kind, block, l.blocks};
    c.start(seat, std::min(l.blocks, chip.cores), keep, l.schedule);
    bool finished = false;
    try {
        body();
        check_leftovers();
        finished = true;
    } catch (const Stop&) {
    } catch (const std::bad_alloc&) {
        c.report("host-memory", true, c.last, code_place(g_refused));
    } catch (const std::exception& e) {
        c.report("exception", true, c.last, Numbers().add("what", e.what()));
    } catch (...) {
        c.report("exception", true, c.last, Numbers().add("what", "unknown"));
    }
    BlockResult r = c.finish();
    r.finished = finished;
    return r;
}

// GM ranges that two blocks wrote: whoever comes last wins, and on the hardware nobody knows who that is.
static void find_overlaps(LaunchResult& result) {
    std::vector<GmWrite> all;
    for (auto& b : result.blocks) all.insert(all.end(), b.writes.begin(), b.writes.end());
    std::sort(all.begin(), all.end(), [](const GmWrite& a, const GmWrite& b) { return a.lo != b.lo ? a.lo < b.lo : a.block < b.block; });
    const GmWrite* reach = nullptr;  // the write that extends furthest so far
    for (auto& w : all) {
        if (reach && w.lo < reach->hi && w.block != reach->block) {
            Findings one;
            one.clear(w.block);
            one.add("gm-overlap", true, {w.file, w.line}, Numbers().add("first", reach->block).add("second", w.block).add("bytes", std::min(w.hi, reach->hi) - w.lo).add("address", w.lo));
            bool known = false;
            for (auto& f : result.across)
                if (f.line == w.line) {
                    f.count++;
                    known = true;
                }
            if (!known) result.across.push_back(one.list().front());
        }
        if (!reach || w.hi > reach->hi) reach = &w;
    }
}

// A core's memories are a megabyte: they are kept from launch to launch.
static std::vector<std::unique_ptr<Core>> g_idle;

static std::unique_ptr<Core> take_core() {
    std::lock_guard<std::mutex> hold(g_playing_lock);
    if (g_idle.empty()) return std::make_unique<Core>();
    auto c = std::move(g_idle.back());
    g_idle.pop_back();
    return c;
}

LaunchResult run(const Launch& l, const std::function<void()>& body, int threads) {
    LaunchResult result;
    result.blocks.resize(l.blocks);
    std::atomic<uint32_t> next{0};
    size_t keep = std::max<size_t>(64, l.keep_events / std::max(1u, l.blocks));
    auto work = [&] {
        auto mine = take_core();
        core = mine.get();
        {
            std::lock_guard<std::mutex> hold(g_playing_lock);
            g_playing.push_back({core, (unsigned long)pthread_self()});
        }
        for (uint32_t b; (b = next++) < l.blocks;) result.blocks[b] = play(*core, l, b, keep, body);
        std::lock_guard<std::mutex> hold(g_playing_lock);
        for (auto it = g_playing.begin(); it != g_playing.end(); ++it)
            if (it->core == core) {
                g_playing.erase(it);
                break;
            }
        core = nullptr;
        g_idle.push_back(std::move(mine));
    };
    int n = std::max(1, std::min<int>(threads, int(l.blocks)));
    std::vector<std::thread> pool;
    for (int i = 1; i < n; i++) pool.emplace_back(work);
    work();
    for (auto& t : pool) t.join();

    for (auto& b : result.blocks) result.finished = result.finished && b.finished;
    if (l.checks && l.blocks > 1) find_overlaps(result);
    // Blocks beyond the chip's cores run in further rounds: block i on core i mod cores.
    std::vector<double> core_time(std::min(l.blocks, chip.cores), 0.0);
    for (uint32_t b = 0; b < l.blocks; b++) core_time[b % core_time.size()] += result.blocks[b].cycles;
    double longest = *std::max_element(core_time.begin(), core_time.end());
    result.seconds = longest / chip.hz + chip.launch_head + chip.launch_per_core * double(core_time.size());
    return result;
}

// `kernel<<<...>>>` inside a compiled host function: runs at once, here.
void run_blocks(const char* name, uint32_t blocks, void*, void (*body)(void*), void* closure, Here) {
    Launch l;
    l.kernel = name;
    l.blocks = blocks;
    run(l, [&] { body(closure); }, int(std::thread::hardware_concurrency()));
}

}  // namespace twin
