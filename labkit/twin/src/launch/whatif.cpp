#include "launch/whatif.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "launch/loops.h"
#include "launch/timeline.h"

namespace twin {

namespace {

constexpr size_t kMostEntries = 80u << 20;  // all replays together: about 15 s

struct Case {
    const Launch& l;
    const LaunchResult& r;
    std::vector<std::unique_ptr<Loop>> loops;
    bool alone;  // no core waits for another, so blocks may be split and joined

    double time_of(Launch launch, const std::function<Trace(size_t)>& trace,
                   const std::function<std::pair<uint32_t, uint8_t>(size_t)>& core_of, size_t cores) const {
        LaunchResult other;
        other.maxima = r.maxima;
        other.cores.resize(cores);
        for (size_t i = 0; i < cores; i++) {
            auto [block, core] = core_of(i);
            other.cores[i].block = block;
            other.cores[i].core = core;
            other.cores[i].trace = trace(i);
        }
        launch.keep_events = 0;
        launch.keep_l2 = false;
        schedule_trace(launch, other);
        return other.seconds;
    }
    // The same blocks, each core's trace changed.
    double each(const std::function<Trace(size_t)>& trace) const {
        return time_of(
            l, trace, [&](size_t i) { return std::pair<uint32_t, uint8_t>(r.cores[i].block, r.cores[i].core); },
            r.cores.size());
    }
    double same() const {
        return each([&](size_t i) { return r.cores[i].trace; });
    }
    size_t fewest() const {  // iterations of any core's loop
        size_t n = ~size_t{0};
        for (auto& one : loops) n = std::min(n, one->times());
        return loops.empty() ? 0 : n;
    }
};

Trace entries_changed(const Trace& t, const std::function<bool(Entry&, Trace&)>& keep) {
    Trace r = t;
    r.entries.clear();
    float carried = 0;
    for (const Entry& one : t.entries) {
        Entry n = one;
        n.before += carried;
        carried = 0;
        if (keep(n, r)) r.entries.push_back(n);
        else carried = n.before;
    }
    return r;
}

Trace without_pipe(const Trace& t, uint8_t pipe) {
    return entries_changed(t, [pipe](Entry& n, Trace&) {
        if (Pipe(pipe) == Pipe::S) {
            n.before = 0;
            if (n.kind == EntryKind::Scalar) n.cycles = 0;
        } else if (n.pipe == pipe && (n.kind == EntryKind::Work || n.kind == EntryKind::Move))
            n.kind = EntryKind::Work, n.cycles = 0, n.startup = 0, n.ref = 0;
        return true;
    });
}

Trace without_order(const Trace& t, uint64_t core_index) {
    return entries_changed(t, [core_index](Entry& n, Trace&) {
        return n.kind != EntryKind::Join &&
               (n.kind != EntryKind::Await || (n.ref & kMaxOf) || n.ref >> 32 != core_index);
    });
}

bool short_work(const Entry& n) { return n.kind == EntryKind::Work && Pipe(n.pipe) == Pipe::V && n.bytes <= 2048; }

// Merges short vector instructions that repeat with nothing between them into one.
Trace longer_instructions(const Trace& t, bool& any) {
    Trace r = t;
    r.entries.clear();
    auto alike = [](const Entry& a, const Entry& b) {
        return short_work(b) && a.op == b.op && a.line == b.line && a.bytes == b.bytes;
    };
    for (size_t i = 0; i < t.entries.size();) {
        size_t period = 0, rounds = 0;
        for (size_t p = 1; p <= 8 && short_work(t.entries[i]) && !period; p++) {
            size_t n = i;
            while (n + p < t.entries.size() && short_work(t.entries[n]) && alike(t.entries[n], t.entries[n + p])) n++;
            if ((n - i) / p + 1 >= 4) period = p, rounds = (n - i) / p + 1;
        }
        for (size_t p = 0; p < std::max<size_t>(period, 1); p++) {
            Entry n = t.entries[i + p];
            if (period)
                n.cycles += float(rounds - 1) * (n.cycles - float(n.startup) / 100), n.bytes *= uint32_t(rounds);
            r.entries.push_back(n);
        }
        any = any || period;
        i += period ? period * rounds : 1;
    }
    return r;
}

// Replaces scalar element accesses by one vector instruction over the same bytes.
Trace vector_for_scalar(const Trace& t, bool& any) {
    Trace r = t;
    r.entries.clear();
    for (size_t i = 0; i < t.entries.size();) {
        size_t end = i;
        double cycles = 0, bytes = 0;
        for (; end < t.entries.size() && t.entries[end].kind == EntryKind::Scalar; end++)
            cycles += t.entries[end].cycles, bytes += t.entries[end].bytes;
        Entry n = t.entries[i];
        double instead = chip.vector_startup + std::ceil(bytes / chip.repeat_bytes);
        bool worth = end > i && cycles > 4 * instead;
        any = any || worth;
        if (worth) n.cycles = float(instead);
        r.entries.push_back(n);
        i = worth ? end : i + 1;
    }
    return r;
}

// The entries of a block up to its last work. What follows are the waits of its TPipe's end, which a core with several
// blocks' work does once.
size_t end_of_work(const Trace& t) {
    size_t n = t.entries.size();
    while (n && (t.entries[n - 1].kind == EntryKind::Join || t.entries[n - 1].kind == EntryKind::Await ||
                 t.entries[n - 1].kind == EntryKind::Mark))
        n--;
    return n;
}

// Several blocks' work as one block that has two buffers: a part's pipes wait for the part before last.
Trace behind_one_another(const std::vector<const Trace*>& parts, uint32_t block, uint8_t core) {
    Trace r;
    uint32_t marks = 0;
    std::vector<std::vector<Stamp>> ends(parts.size());  // the end of each part's work, by pipe
    for (size_t part = 0; part < parts.size(); part++) {
        const Trace& t = *parts[part];
        const Flow flow(t);
        size_t moves = r.moves.size(), worked = end_of_work(t);
        for (int q = 1; part > 1 && q < kPipes; q++)
            for (int p = 1; p < kPipes; p++)
                if (Stamp end = ends[part - 2][size_t(p)]; end && flow.feeds(q, p))
                    r.entries.push_back({EntryKind::Await, uint8_t(q), 0, 0, 0, 0, 0, 0, end});
        for (size_t i = 0; i < t.entries.size(); i++) {
            Entry n = t.entries[i];
            if (i >= worked && n.kind != EntryKind::Mark && part + 1 < parts.size()) continue;
            if (i == 0 && part) n.before = std::max(0.0f, n.before - float(chip.scalar_start));  // a core starts once
            if (n.kind == EntryKind::Move) n.ref += moves;
            else if (n.kind == EntryKind::Mark || n.kind == EntryKind::Await)
                n.ref = stamp_of(block, core, uint32_t(n.ref) + marks);
            r.entries.push_back(n);
        }
        r.moves.insert(r.moves.end(), t.moves.begin(), t.moves.end());
        marks += t.marks();
        ends[part].resize(kPipes);
        for (int p = 1; p < kPipes; p++)
            if (flow.used[p]) {
                ends[part][size_t(p)] = stamp_of(block, core, marks++);
                r.entries.push_back({EntryKind::Mark, uint8_t(p), 0, 0, 0, 0, 0, 0, ends[part][size_t(p)]});
            }
    }
    return r;
}

double with_chip(const Case& c, const std::function<void(Chip&)>& change) {
    Chip real = chip;
    change(chip);
    double s = c.same();
    chip = real;
    return s;
}

double answer(const Case& c, WhatIf& w) {
    const auto& cores = c.r.cores;
    size_t times = c.fewest(), amount = size_t(std::max(w.amount, 0.0));
    uint32_t per_block = c.l.mix.aic + c.l.mix.aiv;
    bool any = false;
    if (w.what == "same") return c.same();
    if (w.what == "without") return c.each([&](size_t i) { return without_pipe(cores[i].trace, uint8_t(amount)); });
    if (w.what == "order")
        return c.each(
            [&](size_t i) { return without_order(cores[i].trace, stamp_of(cores[i].block, cores[i].core, 0) >> 32); });
    if (w.what == "hbm") return with_chip(c, [](Chip& k) { k.hbm_rate = 1e9; });
    if (w.what == "l2") return with_chip(c, [](Chip& k) { k.l2.rate = k.l2.write = 1e9; });
    if (w.what == "aligned") return with_chip(c, [](Chip& k) { k.l2.piece = 1; });
    if (w.what == "rows")
        return with_chip(c, [](Chip& k) {
            for (auto& d : k.dma) d.row = d.row_missed = 0;
        });
    if (w.what == "banks")
        return c.each([&](size_t i) {
            return entries_changed(cores[i].trace, [](Entry& n, Trace&) {
                if (n.kind == EntryKind::Work) n.cycles -= float(n.ref) / 100, n.ref = 0;
                return true;
            });
        });
    if (w.what == "bytes")
        return c.each([&](size_t i) {
            Trace t = cores[i].trace;
            for (Entry& n : t.entries)
                if (n.kind == EntryKind::Move) n.bytes = uint32_t(n.bytes * w.amount);
            for (Move& m : t.moves) m.row = std::max<uint32_t>(32, uint32_t(m.row * w.amount) / 32 * 32);
            return t;
        });
    if (w.what == "instructions") {
        double s = c.each([&](size_t i) { return longer_instructions(cores[i].trace, any); });
        return any ? s : -1;
    }
    if (w.what == "vector") {
        double s = c.each([&](size_t i) { return vector_for_scalar(cores[i].trace, any); });
        return any ? s : -1;
    }
    if (w.what == "barriers") {
        for (auto& core : cores)
            any = any || std::count_if(core.trace.entries.begin(), core.trace.entries.end(),
                                       [](const Entry& n) { return n.kind == EntryKind::Join; }) > 2;
        return any && times > 1 ? c.each([&](size_t i) { return c.loops[i]->events_for_barriers(); }) : -1;
    }
    if (w.what == "buffers") return times > 1 ? c.each([&](size_t i) { return c.loops[i]->another_buffer(); }) : -1;
    if (!c.alone || per_block != 1) return -1;
    if (w.what == "tiles")
        return amount > 1 && times >= 2 * amount ? c.each([&](size_t i) { return c.loops[i]->merged(amount); }) : -1;
    Launch other = c.l;
    if (w.what == "more_blocks") {
        size_t f = std::min(amount, times);
        w.amount = double(f);
        if (f < 2) return -1;
        other.blocks = uint32_t(c.l.blocks * f);
        return c.time_of(
            other,
            [&](size_t i) {
                const Loop& loop = *c.loops[i / f];
                return loop.part(loop.times() * (i % f) / f, loop.times() * (i % f + 1) / f, uint32_t(i));
            },
            [&](size_t i) { return std::pair<uint32_t, uint8_t>(uint32_t(i), cores[i / f].core); }, other.blocks);
    }
    if (w.what == "fewer_blocks") {
        size_t left = (cores.size() + amount - 1) / std::max<size_t>(amount, 1);
        if (amount < 2 || left == cores.size()) return -1;
        other.blocks = uint32_t(left);
        return c.time_of(
            other,
            [&](size_t i) {
                std::vector<const Trace*> parts;
                for (size_t b = cores.size() * i / left; b < cores.size() * (i + 1) / left; b++)
                    parts.push_back(&cores[b].trace);
                return behind_one_another(parts, uint32_t(i), cores[0].core);
            },
            [&](size_t i) { return std::pair<uint32_t, uint8_t>(uint32_t(i), cores[0].core); }, left);
    }
    return -1;
}

}  // namespace

std::vector<WhatIf> what_if(const Launch& l, const LaunchResult& r) {
    Case c{l, r, {}, r.maxima.empty()};
    size_t entries = 0;
    std::vector<WhatIf> all = l.what_ifs;
    for (const CoreResult& core : r.cores) entries += core.trace.entries.size();
    if (entries * all.size() > kMostEntries || !r.finished) return all;
    for (const CoreResult& core : r.cores) {
        for (const Entry& n : core.trace.entries)
            if (n.kind == EntryKind::Await &&
                ((n.ref & kMaxOf) || n.ref >> 32 != stamp_of(core.block, core.core, 0) >> 32))
                c.alone = false;
        c.loops.push_back(std::make_unique<Loop>(core.trace, core.block, core.core));
    }
    for (WhatIf& w : all) w.seconds = answer(c, w);
    return all;
}

}  // namespace twin
