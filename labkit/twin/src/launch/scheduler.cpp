#include "launch/scheduler.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>

#include "launch/fiber.h"
#include "launch/core_group.h"

namespace twin {

void check_leftovers();

namespace {

// A core and its stack; kept from launch to launch, since a core's memories are a megabyte.
struct Player {
    Core core;
    Fiber fiber;
    std::function<bool()> ready;  // empty: may go on
    bool hopeless = false, finished = false;
};

struct Group {  // the cores of one block
    std::vector<std::unique_ptr<Player>> players;
    bool done() const {
        return std::all_of(players.begin(), players.end(), [](const auto& p) { return p->fiber.done(); });
    }
};

thread_local Player* t_player = nullptr;

std::mutex g_lock;  // of the two lists below
std::vector<std::unique_ptr<Player>> g_idle[2];
std::vector<std::pair<unsigned long, std::atomic<Core*>*>> g_playing;

std::unique_ptr<Player> take_player(Kind kind) {
    std::lock_guard<std::mutex> hold(g_lock);
    auto& idle = g_idle[int(kind)];
    if (idle.empty()) return std::make_unique<Player>();
    auto p = std::move(idle.back());
    idle.pop_back();
    return p;
}

class Stage {
public:
    Stage(const Launch& l, LaunchResult& r, uint32_t places, int threads)
        : launch_(l), result_(r), team_(l.blocks, l.mix.aic, l.mix.aiv), places_(places), threads_(threads) {
        per_block_ = l.mix.aic + l.mix.aiv;
        result_.cores.resize(size_t(l.blocks) * per_block_);
        keep_ = std::max<size_t>(64, l.keep_events / result_.cores.size());
    }
    void work();
    void finish() { result_.joints = std::move(team_.joints); }

private:
    bool open_block(std::vector<Group>& mine);
    void begin(Player&, const Seat&);
    void close(Group&);
    Player* next(std::vector<Group>& mine, size_t& from);
    bool sleep(uint64_t seen);

    const Launch& launch_;
    LaunchResult& result_;
    Team team_;
    const uint32_t places_;
    uint32_t per_block_ = 1;
    size_t keep_ = 0;
    std::mutex lock_;
    std::condition_variable news_;
    uint32_t next_block_ = 0, open_ = 0;
    int threads_, asleep_ = 0;
    uint64_t asleep_since_ = 0;
    bool stuck_ = false;
};

// Notes of all cores together: half a gigabyte, and four where the clock alone counts.
constexpr size_t kNotes = 16u << 20, kNotesAlone = 128u << 20;

void perform_kernel(Player& p, const Launch& l) {
    Core& c = p.core;
    try {
        l.body[int(c.seat.kind)]();
        check_leftovers();
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

void Stage::begin(Player& p, const Seat& seat) {
    p.core.ranges = &launch_.ranges;
    p.core.checks = launch_.checks && launch_.effects;
    p.core.effects = launch_.effects;
    p.core.tape.limit = (launch_.effects ? kNotes : kNotesAlone) / std::max<size_t>(1, std::min<size_t>(result_.cores.size(), places_ * per_block_));
    p.core.team = &team_;
    p.core.start(seat, launch_.schedule);
    p.ready = nullptr;
    p.hopeless = p.finished = false;
    p.fiber.begin([this, &p] { perform_kernel(p, launch_); });
}

bool Stage::open_block(std::vector<Group>& mine) {
    uint32_t block;
    {
        std::lock_guard<std::mutex> hold(lock_);
        if (next_block_ == launch_.blocks || open_ == places_) return false;
        block = next_block_++;
        open_++;
    }
    Group g;
    for (uint32_t s = 0; s < per_block_; s++) {
        Kind kind = s < launch_.mix.aiv ? Kind::AIV : Kind::AIC;
        g.players.push_back(take_player(kind));
        begin(*g.players.back(), {kind, block, launch_.blocks, kind == Kind::AIV ? s : 0, kind == Kind::AIV ? launch_.mix.aiv : 1, launch_.mix.mixed()});
    }
    for (auto& p : g.players) p->core.cube = launch_.mix.aic ? &g.players.back()->core : nullptr;
    mine.push_back(std::move(g));
    return true;
}

// Results are taken when the whole block is done: its cores may book work on one another.
void Stage::close(Group& g) {
    for (auto& p : g.players) {
        core = &p->core;
        CoreResult r = p->core.finish();
        r.finished = p->finished;
        size_t seat = size_t(r.block) * per_block_ + (r.core == 2 ? launch_.mix.aiv : r.core);
        result_.cores[seat] = std::move(r);
    }
    core = nullptr;
    std::lock_guard<std::mutex> hold(g_lock);
    for (auto& p : g.players) {
        Kind kind = p->core.seat.kind;
        g_idle[int(kind)].push_back(std::move(p));
    }
}

// The next core, from `from` on and round, that has something to do.
Player* Stage::next(std::vector<Group>& mine, size_t& from) {
    size_t n = mine.size() * per_block_;
    for (size_t i = 0; i < n; i++) {
        size_t at = (from + i) % n;
        Player* p = mine[at / per_block_].players[at % per_block_].get();
        if (p->fiber.done() || (p->ready && !p->hopeless && !p->ready())) continue;
        from = at;
        return p;
    }
    return nullptr;
}

// Waits for news from other threads; false when all sleep with the same news, so that none can come: who waits now
// waits for ever.
bool Stage::sleep(uint64_t seen) {
    std::unique_lock<std::mutex> hold(lock_);
    if (stuck_) return false;
    if (team_.epoch() != seen) return true;
    if (asleep_since_ != seen) asleep_ = 0;  // those who sleep are being woken by newer news
    asleep_since_ = seen;
    asleep_++;
    news_.wait(hold, [&] {
        stuck_ = stuck_ || (asleep_since_ == seen && team_.epoch() == seen && asleep_ == threads_);
        return stuck_ || team_.epoch() != seen;
    });
    if (asleep_since_ == seen) asleep_--;
    if (stuck_) news_.notify_all();
    return !stuck_;
}

void Stage::work() {
    std::atomic<Core*> playing{nullptr};
    {
        std::lock_guard<std::mutex> hold(g_lock);
        g_playing.push_back({(unsigned long)pthread_self(), &playing});
    }
    std::vector<Group> mine;
    size_t from = 0;
    for (;;) {
        uint64_t seen = team_.epoch();
        Player* p = next(mine, from);
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
                for (Group& g : mine)
                    for (auto& waiting : g.players) waiting->hopeless = true;
            if (mine.empty()) {
                std::lock_guard<std::mutex> hold(lock_);
                if (stuck_) break;
            }
            continue;
        }
        core = &p->core;
        t_player = p;
        playing = core;
        p->fiber.resume();
        playing = nullptr;
        uint64_t before = team_.epoch();
        size_t group = from / per_block_;
        if (p->fiber.done() && mine[group].done()) {
            close(mine[group]);
            mine.erase(mine.begin() + long(group));
            from = 0;
            std::lock_guard<std::mutex> hold(lock_);
            open_--;
            team_.bump();
        }
        if (before != team_.epoch() || before != seen) {
            std::lock_guard<std::mutex> hold(lock_);
            news_.notify_all();
        }
    }
    {
        std::lock_guard<std::mutex> hold(lock_);
        threads_--;
        team_.bump();
        news_.notify_all();
    }
    core = nullptr;
    std::lock_guard<std::mutex> hold(g_lock);
    g_playing.erase(std::find_if(g_playing.begin(), g_playing.end(), [&](const auto& at) { return at.second == &playing; }));
}

}  // namespace

std::vector<Playing> playing() {
    std::lock_guard<std::mutex> hold(g_lock);
    std::vector<Playing> all;
    for (auto& at : g_playing) all.push_back({at.second->load(), at.first});
    return all;
}

void play(const Launch& l, LaunchResult& result, uint32_t places, int threads) {
    int n = std::max(1, std::min<int>(threads, int(std::min(l.blocks, places))));
    Stage stage(l, result, places, n);
    std::vector<std::thread> pool;
    for (int i = 1; i < n; i++) pool.emplace_back([&] { stage.work(); });
    stage.work();
    for (auto& t : pool) t.join();
    stage.finish();
}

void wait_until(const char* call, Here here, std::function<bool()> ready) {
    if (ready()) return;
    Player* me = t_player;
    me->ready = std::move(ready);
    me->fiber.yield();
    me->ready = nullptr;
    if (me->hopeless) me->core.stop("core-deadlock", here, Numbers().add("call", call).add("core", me->core.seat.kind == Kind::AIC ? "AIC" : "AIV").add("blocks", me->core.seat.blocks));
}

void let_others_play() {
    core->may_poll = true;
    Player* me = t_player;
    me->core.ordered = true;  // what it reads next may well be another core's
    me->ready = [] { return true; };
    me->fiber.yield();
    me->ready = nullptr;
}

}  // namespace twin
