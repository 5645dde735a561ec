#include "clock/replay.h"

#include <algorithm>

#include "core/machine.h"

namespace twin {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

double World::time_of(Stamp m) const {
    if (!m) return 0;
    if (m & kMaxOf) {
        double last = 0;
        for (Stamp one : (*maxima)[m & ~kMaxOf]) {
            double t = time_of(one);
            if (std::isnan(t)) return t;
            last = std::max(last, t);
        }
        return last;
    }
    uint32_t core_index = core_index_of(m), number = uint32_t(m);
    double t = core_index < known.size() && number < known[core_index].size() ? known[core_index][number]
                                                                              : std::nan("");
    return std::isnan(t) && lenient ? 0 : t;
}

void World::resolve(Stamp m, double t) {
    auto& of = known[core_index_of(m)];
    if (of.size() <= uint32_t(m)) of.resize(std::max<size_t>(uint32_t(m) + 1, of.size() * 2), std::nan(""));
    of[uint32_t(m)] = t;
}

void Replay::show(int p, const Entry& n, double start, double end) {
    if (events && events->size() < keep)
        events->push_back({uint16_t(block_), uint8_t(p), core_, n.op, 0, n.line, n.bytes, start, end});
}

bool Replay::scalar() {
    size_t before = next_;
    for (; next_ < trace_->entries.size(); next_++) {
        const Entry& n = trace_->entries[next_];
        if (next_ == trace_->entries.size() / 2) half_ = scalar_;
        if (!spent_) {
            scalar_ += n.before;
            busy[int(Pipe::S)] += n.before;
            spent_ = true;
        }
        if (n.kind == EntryKind::Join) {
            double last = scalar_;
            for (Unit& u : units_) {
                if (u.head != u.tail) return next_ != before;
                last = std::max({last, u.done, u.ready});
            }
            scalar_ = last;
        } else if (n.kind == EntryKind::Scalar) {
            show(int(Pipe::S), n, scalar_, scalar_ + n.cycles);
            scalar_ += n.cycles;
            busy[int(Pipe::S)] += n.cycles;
        } else if (Pipe(n.pipe) == Pipe::S) {
            if (n.kind == EntryKind::Mark) world_->resolve(n.ref, scalar_);
            if (n.kind == EntryKind::Await) {
                double t = world_->time_of(n.ref);
                if (std::isnan(t)) return next_ != before;
                scalar_ = std::max(scalar_, t + n.cycles);
            }
        } else {
            Unit& u = units_[n.pipe];
            if (u.tail >= chip.queue) {  // the queue is full until its first has left
                if (u.head + chip.queue <= u.tail) return next_ != before;
                scalar_ = std::max(scalar_, u.left[(u.tail - chip.queue) % kRing]);
            }
            u.ring[u.tail++ % kRing] = {uint32_t(next_), scalar_};
            waiting_ |= 1u << n.pipe;
        }
        spent_ = false;
    }
    return next_ != before;
}

bool Replay::pipe(int p) {
    Unit& u = units_[p];
    uint32_t before = u.head;
    while (u.head != u.tail && !u.asking) {
        const Queued& e = u.ring[u.head % kRing];
        const Entry& n = trace_->entries[e.entry];
        double now = std::max(u.ready, e.issued);
        if (n.kind == EntryKind::Work) {
            double start = std::max(u.free, now), cycles = n.cycles;
            if (Pipe(p) == Pipe::MTE1 && (units_[int(Pipe::MTE2)].asking || units_[int(Pipe::MTE2)].busy_until > start))
                cycles *= chip.l1_shared;
            if (Pipe(p) == Pipe::M && start > u.free) cycles += chip.mmad_idle;
            if (n.startup && chip.startup_when_idle && start <= u.free) cycles -= n.startup / 100.0;
            busy[p] += waited_for_units(u, start, std::max(u.free, u.busy_until)) + cycles;
            u.free = start + cycles;
            u.done = std::max(u.done, u.free);
            counters.instructions[p]++;
            show(p, n, start, u.free);
            leave(u, start);
        } else if (n.kind == EntryKind::Mark) {
            double at = std::max(u.done, now);
            world_->resolve(n.ref, at);
            leave(u, at);
        } else if (n.kind == EntryKind::Await) {
            double t = world_->time_of(n.ref);
            if (std::isnan(t)) break;
            if (n.bytes) u.begun = std::min(u.begun, now);
            u.ready = std::max(u.ready, t + n.cycles);
            leave(u, std::max(now, u.ready));
        } else {
            u.asking = true;
            u.asked = std::max(u.free, now);
        }
    }
    return u.head != before;
}

bool Replay::run() {
    bool got_on = false;
    for (bool again = true; again;) {
        again = scalar();
        for (uint32_t left = waiting_; left; left &= left - 1) {
            int p = __builtin_ctz(left);
            if (pipe(p)) again = true;
            if (units_[p].head == units_[p].tail) waiting_ &= ~(1u << p);
        }
        got_on = got_on || again;
    }
    return got_on;
}

double Replay::asks() const {
    double first = kInfinity;
    for (const Unit& u : units_)
        if (u.asking) first = std::min(first, u.asked);
    return first;
}

void Replay::serve() {
    int p = 0;
    for (int i = 1; i < kPipes; i++)
        if (units_[i].asking && (!units_[p].asking || units_[i].asked < units_[p].asked)) p = i;
    Unit& u = units_[p];
    const Entry& n = trace_->entries[u.ring[u.head % kRing].entry];
    const Move& m = trace_->moves[n.ref];
    Served s = world_->traffic.serve(m, u.asked, block_ * 4 + core_);
    double seen = std::max(u.asked, u.busy_until);  // transfers that overlap are shown one after the other
    busy[p] += waited_for_units(u, seen, std::max(u.free, u.busy_until));
    u.free = std::max(s.service, u.asked + chip.dma[int(m.route)].issue);
    double end = u.done = std::max(u.done, s.end);
    busy[p] += std::max(0.0, end - seen);
    u.busy_until = std::max(u.busy_until, end);
    if (!m.out) counters.read_hit += s.hit, counters.read_miss += s.miss;
    counters.moves[int(m.route)]++;
    counters.bytes[int(m.route)] += uint64_t(m.row) * m.rows;
    counters.instructions[p]++;
    show(p, n, seen, end);
    u.asking = false;
    leave(u, u.asked);
}

bool Replay::done() const {
    for (const Unit& u : units_)
        if (u.head != u.tail) return false;
    return next_ == trace_->entries.size();
}

double Replay::end() const {
    double last = scalar_now();
    for (const Unit& u : units_) last = std::max(last, u.done);
    return last;
}

double Replay::full_end() const {
    size_t second = trace_->entries.size() - trace_->entries.size() / 2;
    return end() + (second ? double(trace_->lost) / double(second) * (end() - half_) : 0);
}

struct Probe {
    World world;
    std::vector<std::vector<Stamp>> maxima;  // its own: other cores go on meanwhile
    Replay replay;
    explicit Probe(const Core& c) : replay(c.trace, world, c.block, c.slot(), 0) {
        world.lenient = true;
        world.known.resize(c.block * 4 + 4);
    }
};

double local_cycles() {
    if (!core->probe) core->probe = std::make_shared<Probe>(*core);
    Probe& p = *core->probe;
    core->learn_maxima(p.maxima);
    p.world.maxima = &p.maxima;
    for (bool on = true; on;) {
        on = p.replay.run();
        if (p.replay.asks() < kInfinity) p.replay.serve(), on = true;
    }
    return p.replay.scalar_now();
}

int64_t cycles() { return int64_t(local_cycles() / chip.hz * 50e6); }  // GetSystemCycle ticks at 50 MHz on A2

}  // namespace twin
