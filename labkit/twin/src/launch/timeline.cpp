#include "launch/timeline.h"

#include <algorithm>
#include <queue>

#include "clock/replay.h"

namespace twin {

namespace {

// One of the chip's cores, which runs its share of the blocks one after the other.
struct Place {
    std::vector<size_t> blocks;  // not yet run, last first
    double free = 0;
};

}  // namespace

void schedule_trace(const Launch& l, LaunchResult& r) {
    uint32_t per_block = l.mix.aic + l.mix.aiv, places = l.mix.aic ? chip.cube_cores : chip.cores,
             used = std::min(l.blocks, places);
    World world;
    world.traffic.begin_with(l.l2);
    world.maxima = &r.maxima;
    world.known.resize(size_t(l.blocks) * 4);
    for (const CoreResult& c : r.cores)
        if (c.block < l.blocks) world.known[c.block * 4 + c.core].assign(c.trace.marks(), std::nan(""));
    std::vector<Place> all(used);
    for (uint32_t b = l.blocks; b-- > 0;) all[b % used].blocks.push_back(b);
    for (uint32_t p = 1; p < used; p++) all[p].free = chip.launch_second + chip.launch_per_core * (p - 1);
    std::vector<std::unique_ptr<Replay>> replays(r.cores.size());
    std::vector<uint32_t> running(l.blocks, per_block);
    size_t keep = l.keep_events / std::max<size_t>(1, r.cores.size());

    using Asked = std::pair<double, size_t>;
    std::priority_queue<Asked, std::vector<Asked>, std::greater<Asked>> queue;
    std::vector<size_t> awake, asleep;  // can continue; wait for another core's stamp
    auto begin = [&](Place& p) {
        if (p.blocks.empty()) return;
        size_t block = p.blocks.back();
        p.blocks.pop_back();
        for (size_t i = block * per_block; i < (block + 1) * per_block; i++) {
            CoreResult& c = r.cores[i];
            c.begin = p.free;
            replays[i] = std::make_unique<Replay>(c.trace, world, c.block, c.core, p.free);
            replays[i]->events = &c.events;
            replays[i]->keep = keep;
            awake.push_back(i);
        }
    };
    auto finish = [&](size_t i) {
        CoreResult& c = r.cores[i];
        Replay& now = *replays[i];
        c.cycles = now.full_end() - c.begin;
        double more = c.trace.lost ? c.cycles / std::max(1.0, now.end() - c.begin) : 1;
        std::transform(std::begin(now.busy), std::end(now.busy), c.busy, [=](double b) { return b * more; });
        r.extrapolated = r.extrapolated || c.trace.lost;
        Counters& sums = c.counters;
        std::copy(std::begin(now.counters.instructions), std::end(now.counters.instructions), sums.instructions);
        std::copy(std::begin(now.counters.moves), std::end(now.counters.moves), sums.moves);
        std::copy(std::begin(now.counters.bytes), std::end(now.counters.bytes), sums.bytes);
        sums.unit_wait = now.counters.unit_wait;
        sums.read_hit = now.counters.read_hit, sums.read_miss = now.counters.read_miss;
        std::stable_sort(c.events.begin(), c.events.end(),
                         [](const TimelineEvent& a, const TimelineEvent& b) { return a.start < b.start; });
        Place& p = all[c.block % used];
        p.free = std::max(p.free, c.begin + c.cycles + chip.next_block);
        replays[i].reset();
        if (--running[c.block] == 0) begin(p);
    };
    for (Place& p : all) begin(p);
    for (;;) {
        bool news = false;
        while (!awake.empty()) {
            size_t i = awake.back();
            awake.pop_back();
            news = replays[i]->run() || news;
            double asks = replays[i]->asks();
            if (asks < std::numeric_limits<double>::infinity()) queue.push({asks, i});
            else if (replays[i]->done()) news = true, finish(i);
            else asleep.push_back(i);
        }
        if (news && !asleep.empty()) {
            awake.swap(asleep);
            continue;
        }
        if (!queue.empty()) {
            size_t i = queue.top().second;
            queue.pop();
            replays[i]->serve();
            awake.push_back(i);
        } else if (!asleep.empty() && !world.lenient) {
            world.lenient = true;  // a core was stopped before it sent the signals that others wait for
            awake.swap(asleep);
        } else break;
    }
    double last = 0, sum = 0;
    for (const CoreResult& c : r.cores) last = std::max(last, c.begin + c.cycles), sum += c.cycles;
    double uneven = used > 1 ? chip.launch_uneven * sum / double(used * per_block) : 0;
    r.seconds = (last + uneven) / chip.hz + chip.launch_head + (l.mix.mixed() ? chip.launch_mixed : 0);
    if (l.keep_l2) r.l2 = world.traffic.content();
}

}  // namespace twin
