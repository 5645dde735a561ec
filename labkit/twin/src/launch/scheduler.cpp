#include "launch/scheduler.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>

#include "launch/core_group.h"
#include "launch/fiber.h"

namespace twin {

void check_leftovers();

namespace {

// A core with the fiber that runs it; reused by later launches, because a core's memories take a megabyte.
struct Worker {
    Core core;
    Fiber fiber;
    std::function<bool()> ready;  // empty: it may continue
    bool hopeless = false, finished = false, gave_way = false;
};

struct Block {  // the cores of one block
    std::vector<std::unique_ptr<Worker>> workers;
    bool done() const {
        return std::all_of(workers.begin(), workers.end(), [](const auto& p) { return p->fiber.done(); });
    }
};

thread_local Worker* t_worker = nullptr;

std::mutex g_lock;  // of the two lists below
std::vector<std::unique_ptr<Worker>> g_idle[2];
std::vector<std::pair<unsigned long, std::atomic<Core*>*>> g_running;

std::unique_ptr<Worker> take_worker(Kind kind) {
    std::lock_guard<std::mutex> hold(g_lock);
    auto& idle = g_idle[int(kind)];
    if (idle.empty()) return std::make_unique<Worker>();
    auto p = std::move(idle.back());
    idle.pop_back();
    return p;
}

class Scheduler {
public:
    Scheduler(const Launch& l, LaunchResult& r, uint32_t places, int threads)
        : launch_(l), result_(r), group_(l.blocks, l.mix.aic, l.mix.aiv), places_(places), threads_(threads) {
        per_block_ = l.mix.aic + l.mix.aiv;
        turned_ = l.schedule == Schedule::Worst && l.seed % 2 == 1;
        result_.cores.resize(size_t(l.blocks) * per_block_);
    }
    void work();
    void finish() {
        result_.maxima = std::move(group_.maxima);
        result_.workspaces = std::move(group_.workspaces);
        if (launch_.checks && launch_.effects) list_left();
    }
    void list_left();

private:
    bool open_block(std::vector<Block>& mine);
    void begin(Worker&, const CoreId&);
    void close(Block&);
    Worker* next(std::vector<Block>& mine, size_t& from);
    bool sleep(uint64_t seen);

    const Launch& launch_;
    LaunchResult& result_;
    CoreGroup group_;
    const uint32_t places_;
    uint32_t per_block_ = 1;
    bool turned_ = false;  // blocks, and the cores of each, from the last to the first
    std::mutex lock_;
    std::condition_variable news_;
    uint32_t next_block_ = 0, open_ = 0;
    int threads_, asleep_ = 0;
    uint64_t asleep_since_ = 0;
    bool stuck_ = false;
};

// Trace entries of all cores together: half a gigabyte, or four where only the time is wanted.
constexpr size_t kEntries = 16u << 20, kEntriesTimedOnly = 128u << 20;

void perform_kernel(Worker& p, const Launch& l) {
    Core& c = p.core;
    c.stack_from = uint64_t(__builtin_frame_address(0));
    try {
        l.body[int(c.id.kind)]();
        check_leftovers();
        c.settle_exposed();
        p.finished = true;
    } catch (const Stop&) {
    } catch (const std::bad_alloc&) {
        c.report("host-memory", true, c.last, refused_place());
    } catch (const std::exception& e) {
        c.report("exception", true, c.last, Numbers().add("what", e.what()));
    } catch (...) {
        c.report("exception", true, c.last, Numbers().add("what", "unknown"));
    }
}

void Scheduler::begin(Worker& p, const CoreId& id) {
    p.core.ranges = &launch_.ranges;
    p.core.checks = launch_.checks && launch_.effects;
    p.core.effects = launch_.effects;
    p.core.trace.limit = (launch_.effects ? kEntries : kEntriesTimedOnly) /
                         std::max<size_t>(1, std::min<size_t>(result_.cores.size(), places_ * per_block_));
    p.core.group = &group_;
    p.core.start(id, launch_.schedule, launch_.seed);
    p.core.trace.spend(chip.scalar_start);
    p.ready = nullptr;
    p.hopeless = p.finished = false;
    p.fiber.begin([this, &p] { perform_kernel(p, launch_); });
}

// The counters of the flags stay in the hardware: the next kernel's first wait would go through at once.
void Scheduler::list_left() {
    for (const CoreGroup::Taken& t : group_.taken()) {
        Findings one;
        one.clear(t.block);
        one.add("cross-taken", true, t.here,
                Numbers().add("id", t.id).add("owner", t.by_matmul ? "Matmul" : "SyncAll"));
        add_across(result_, one.list().front());
    }
    for (const auto& c : result_.cores)
        if (!c.finished) return;
    for (const CoreGroup::Left& l : group_.left()) {
        Findings one;
        one.clear(l.block);
        one.add("cross-left", true, l.here,
                Numbers().add("id", l.id).add("core", l.to_cube ? "AIC" : "AIV").add("times", l.times));
        result_.left.push_back(one.list().front());
    }
}

bool Scheduler::open_block(std::vector<Block>& mine) {
    uint32_t block;
    {
        std::lock_guard<std::mutex> hold(lock_);
        if (next_block_ == launch_.blocks || open_ == places_) return false;
        block = turned_ ? launch_.blocks - 1 - next_block_++ : next_block_++;
        open_++;
    }
    Block b;
    for (uint32_t s = 0; s < per_block_; s++) {
        Kind kind = s < launch_.mix.aiv ? Kind::AIV : Kind::AIC;
        b.workers.push_back(take_worker(kind));
        begin(*b.workers.back(), {kind, block, launch_.blocks, kind == Kind::AIV ? s : 0,
                                  kind == Kind::AIV ? launch_.mix.aiv : 1, launch_.mix.mixed()});
    }
    for (auto& p : b.workers) p->core.cube = launch_.mix.aic ? &b.workers.back()->core : nullptr;
    mine.push_back(std::move(b));
    return true;
}

// Results are taken when the whole block is done: its cores may add work to one another's traces.
void Scheduler::close(Block& b) {
    for (auto& p : b.workers) {
        core = &p->core;
        CoreResult r = p->core.finish();
        r.finished = p->finished;
        size_t index = size_t(r.block) * per_block_ + (r.core == 2 ? launch_.mix.aiv : r.core);
        result_.cores[index] = std::move(r);
    }
    core = nullptr;
    std::lock_guard<std::mutex> hold(g_lock);
    for (auto& p : b.workers) {
        Kind kind = p->core.id.kind;
        g_idle[int(kind)].push_back(std::move(p));
    }
}

// The next core that can run, searching from `from` on and around.
Worker* Scheduler::next(std::vector<Block>& mine, size_t& from) {
    size_t n = mine.size() * per_block_;
    for (size_t i = 0; i < n; i++) {
        size_t at = (from + i) % n;
        size_t in_block = turned_ ? per_block_ - 1 - at % per_block_ : at % per_block_;
        Worker* p = mine[at / per_block_].workers[in_block].get();
        if (p->fiber.done() || (p->ready && !p->hopeless && !p->ready())) continue;
        from = at;
        return p;
    }
    return nullptr;
}

// Sleeps until another thread changes the epoch. False when every thread sleeps at the same epoch: then nothing can
// change any more, and the cores that wait are deadlocked.
bool Scheduler::sleep(uint64_t seen) {
    std::unique_lock<std::mutex> hold(lock_);
    if (stuck_) return false;
    if (group_.epoch() != seen) return true;
    if (asleep_since_ != seen) asleep_ = 0;  // the threads that still sleep are being woken by a newer epoch
    asleep_since_ = seen;
    asleep_++;
    news_.wait(hold, [&] {
        stuck_ = stuck_ || (asleep_since_ == seen && group_.epoch() == seen && asleep_ == threads_);
        return stuck_ || group_.epoch() != seen;
    });
    if (asleep_since_ == seen) asleep_--;
    if (stuck_) news_.notify_all();
    return !stuck_;
}

void Scheduler::work() {
    std::atomic<Core*> current{nullptr};
    {
        std::lock_guard<std::mutex> hold(g_lock);
        g_running.push_back({(unsigned long)pthread_self(), &current});
    }
    std::vector<Block> mine;
    size_t from = 0;
    for (;;) {
        uint64_t seen = group_.epoch();
        Worker* p = next(mine, from);
        if (!p && open_block(mine)) {
            from = (mine.size() - 1) * per_block_;
            continue;
        }
        if (!p && mine.empty()) {
            std::lock_guard<std::mutex> hold(lock_);
            if (next_block_ == launch_.blocks || stuck_) break;
        }
        if (!p) {
            if (!sleep(seen))
                for (Block& b : mine)
                    for (auto& waiting : b.workers) waiting->hopeless = true;
            if (mine.empty()) {
                std::lock_guard<std::mutex> hold(lock_);
                if (stuck_) break;
            }
            continue;
        }
        core = &p->core;
        t_worker = p;
        current = core;
        p->fiber.resume();
        current = nullptr;
        const bool gave_way = std::exchange(p->gave_way, false);  // here: once its block is closed p is anybody's
        uint64_t before = group_.epoch();
        size_t at = from / per_block_;
        if (p->fiber.done() && mine[at].done()) {
            close(mine[at]);
            mine.erase(mine.begin() + long(at));
            from = 0;
            std::lock_guard<std::mutex> hold(lock_);
            open_--;
            group_.bump();
        }
        if (before != group_.epoch() || before != seen) {
            std::lock_guard<std::mutex> hold(lock_);
            news_.notify_all();
        }
        // a core that polls has given way: to those that have not begun, then to the next
        if (gave_way) from = open_block(mine) ? (mine.size() - 1) * per_block_ : from + 1;
    }
    {
        std::lock_guard<std::mutex> hold(lock_);
        threads_--;
        group_.bump();
        news_.notify_all();
    }
    core = nullptr;
    std::lock_guard<std::mutex> hold(g_lock);
    g_running.erase(
        std::find_if(g_running.begin(), g_running.end(), [&](const auto& at) { return at.second == &current; }));
}

}  // namespace

unsigned long running_thread() {
    std::lock_guard<std::mutex> hold(g_lock);
    for (auto& at : g_running)
        if (at.second->load()) return at.first;
    return g_running.empty() ? 0 : g_running.front().first;
}

void run_cores(const Launch& l, LaunchResult& result, uint32_t places, int threads) {
    int n = std::max(1, std::min<int>(threads, int(std::min(l.blocks, places))));
    Scheduler scheduler(l, result, places, n);
    std::vector<std::thread> pool;
    for (int i = 1; i < n; i++) pool.emplace_back([&] { scheduler.work(); });
    scheduler.work();
    for (auto& t : pool) t.join();
    scheduler.finish();
}

void wait_until(const char* call, Here here, std::function<bool()> ready) {
    if (ready()) return;
    Worker* me = t_worker;
    me->ready = std::move(ready);
    me->fiber.yield();
    me->ready = nullptr;
    if (me->hopeless)
        me->core.stop("core-deadlock", here,
                      Numbers()
                          .add("call", call)
                          .add("core", me->core.id.kind == Kind::AIC ? "AIC" : "AIV")
                          .add("blocks", me->core.id.blocks));
}

void let_others_run() {
    core->settle_exposed();
    core->may_poll = true;
    Worker* me = t_worker;
    me->core.ordered = me->core.far = true;  // its next read may be ordered after another core's write
    give_way();
}

void give_way() {
    Worker* me = t_worker;
    me->gave_way = true;
    me->ready = [] { return true; };
    me->fiber.yield();
    me->ready = nullptr;
}

}  // namespace twin
