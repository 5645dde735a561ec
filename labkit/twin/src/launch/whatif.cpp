#include "launch/whatif.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "launch/loops.h"
#include "launch/timeline.h"

namespace twin {

namespace {

constexpr size_t kMostNotes = 80u << 20;  // all replays together: about 15 s

struct Case {
    const Launch& l;
    const LaunchResult& r;
    std::vector<std::unique_ptr<Loop>> loops;
    bool alone;  // no core waits for another: their blocks may be cut and joined

    double play(Launch launch, const std::function<Tape(size_t)>& tape, const std::function<std::pair<uint32_t, uint8_t>(size_t)>& seat, size_t cores) const {
        LaunchResult other;
        other.joints = r.joints;
        other.cores.resize(cores);
        for (size_t i = 0; i < cores; i++) {
            auto [block, core] = seat(i);
            other.cores[i].block = block;
            other.cores[i].core = core;
            other.cores[i].tape = tape(i);
        }
        launch.keep_events = 0;
        tell_time(launch, other);
        return other.seconds;
    }
    // The same blocks, each core's tape changed.
    double each(const std::function<Tape(size_t)>& tape) const {
        return play(l, tape, [&](size_t i) { return std::pair<uint32_t, uint8_t>(r.cores[i].block, r.cores[i].core); }, r.cores.size());
    }
    double same() const {
        return each([&](size_t i) { return r.cores[i].tape; });
    }
    size_t fewest() const {  // iterations of any core's loop
        size_t n = ~size_t{0};
        for (auto& one : loops) n = std::min(n, one->times());
        return loops.empty() ? 0 : n;
    }
};

Tape notes_changed(const Tape& t, const std::function<bool(Note&, Tape&)>& keep) {
    Tape r = t;
    r.notes.clear();
    float carried = 0;
    for (const Note& one : t.notes) {
        Note n = one;
        n.before += carried;
        carried = 0;
        if (keep(n, r)) r.notes.push_back(n);
        else carried = n.before;
    }
    return r;
}

Tape without_pipe(const Tape& t, uint8_t pipe) {
    return notes_changed(t, [pipe](Note& n, Tape&) {
        if (Pipe(pipe) == Pipe::S) {
            n.before = 0;
            if (n.step == Act::Scalar) n.cycles = 0;
        } else if (n.pipe == pipe && (n.step == Act::Work || n.step == Act::Move)) n.step = Act::Work, n.cycles = 0, n.startup = 0, n.ref = 0;
        return true;
    });
}

Tape without_order(const Tape& t, uint64_t seat) {
    return notes_changed(t, [seat](Note& n, Tape&) { return n.step != Act::Join && (n.step != Act::Await || (n.ref & kJoint) || n.ref >> 32 != seat); });
}

bool short_work(const Note& n) { return n.step == Act::Work && Pipe(n.pipe) == Pipe::V && n.bytes <= 2048; }

// Short vector instructions that come again and again without anything between them: one for all rounds.
Tape longer_instructions(const Tape& t, bool& any) {
    Tape r = t;
    r.notes.clear();
    auto alike = [](const Note& a, const Note& b) { return short_work(b) && a.op == b.op && a.line == b.line && a.bytes == b.bytes; };
    for (size_t i = 0; i < t.notes.size();) {
        size_t period = 0, rounds = 0;
        for (size_t p = 1; p <= 8 && short_work(t.notes[i]) && !period; p++) {
            size_t n = i;
            while (n + p < t.notes.size() && short_work(t.notes[n]) && alike(t.notes[n], t.notes[n + p])) n++;
            if ((n - i) / p + 1 >= 4) period = p, rounds = (n - i) / p + 1;
        }
        for (size_t p = 0; p < std::max<size_t>(period, 1); p++) {
            Note n = t.notes[i + p];
            if (period) n.cycles += float(rounds - 1) * (n.cycles - float(n.startup) / 100), n.bytes *= uint32_t(rounds);
            r.notes.push_back(n);
        }
        any = any || period;
        i += period ? period * rounds : 1;
    }
    return r;
}

// What the scalar unit does element by element, as one vector instruction of the same bytes.
Tape vector_for_scalar(const Tape& t, bool& any) {
    Tape r = t;
    r.notes.clear();
    for (size_t i = 0; i < t.notes.size();) {
        size_t end = i;
        double cycles = 0, bytes = 0;
        for (; end < t.notes.size() && t.notes[end].step == Act::Scalar; end++) cycles += t.notes[end].cycles, bytes += t.notes[end].bytes;
        Note n = t.notes[i];
        double instead = chip.vector_startup + std::ceil(bytes / chip.repeat_bytes);
        bool worth = end > i && cycles > 4 * instead;
        any = any || worth;
        if (worth) n.cycles = float(instead);
        r.notes.push_back(n);
        i = worth ? end : i + 1;
    }
    return r;
}

Tape behind_one_another(const std::vector<const Tape*>& parts, uint32_t block, uint8_t core) {
    Tape r;
    uint32_t marks = 0;
    for (const Tape* t : parts) {
        size_t moves = r.moves.size();
        for (Note n : t->notes) {
            if (n.step == Act::Move) n.ref += moves;
            else if (n.step == Act::Mark || n.step == Act::Await) n.ref = moment_of(block, core, uint32_t(n.ref) + marks);
            r.notes.push_back(n);
        }
        r.moves.insert(r.moves.end(), t->moves.begin(), t->moves.end());
        marks += t->marks();
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
    if (w.what == "without") return c.each([&](size_t i) { return without_pipe(cores[i].tape, uint8_t(amount)); });
    if (w.what == "order") return c.each([&](size_t i) { return without_order(cores[i].tape, moment_of(cores[i].block, cores[i].core, 0) >> 32); });
    if (w.what == "hbm") return with_chip(c, [](Chip& k) { k.hbm_rate = 1e9; });
    if (w.what == "l2") return with_chip(c, [](Chip& k) { k.l2.rate = k.l2.write = 1e9; });
    if (w.what == "aligned") return with_chip(c, [](Chip& k) { for (auto& d : k.dma) d.unaligned = 1; });
    if (w.what == "rows") return with_chip(c, [](Chip& k) { for (auto& d : k.dma) d.row = d.row_missed = 0; });
    if (w.what == "banks")
        return c.each([&](size_t i) { return notes_changed(cores[i].tape, [](Note& n, Tape&) {
            if (n.step == Act::Work) n.cycles -= float(n.ref) / 100, n.ref = 0;
            return true;
        }); });
    if (w.what == "bytes")
        return c.each([&](size_t i) {
            Tape t = cores[i].tape;
            for (Note& n : t.notes)
                if (n.step == Act::Move) n.bytes = uint32_t(n.bytes * w.amount);
            for (Move& m : t.moves) m.row = std::max<uint32_t>(32, uint32_t(m.row * w.amount) / 32 * 32);
            return t;
        });
    if (w.what == "instructions") {
        double s = c.each([&](size_t i) { return longer_instructions(cores[i].tape, any); });
        return any ? s : -1;
    }
    if (w.what == "vector") {
        double s = c.each([&](size_t i) { return vector_for_scalar(cores[i].tape, any); });
        return any ? s : -1;
    }
    if (w.what == "barriers") {
        for (auto& core : cores) any = any || std::count_if(core.tape.notes.begin(), core.tape.notes.end(), [](const Note& n) { return n.step == Act::Join; }) > 2;
        return any && times > 1 ? c.each([&](size_t i) { return c.loops[i]->events_for_barriers(); }) : -1;
    }
    if (w.what == "buffers") return times > 1 ? c.each([&](size_t i) { return c.loops[i]->another_buffer(); }) : -1;
    if (!c.alone || per_block != 1) return -1;
    if (w.what == "tiles") return amount > 1 && times >= 2 * amount ? c.each([&](size_t i) { return c.loops[i]->merged(amount); }) : -1;
    Launch other = c.l;
    if (w.what == "more_blocks") {
        size_t f = std::min(amount, times);
        w.amount = double(f);
        if (f < 2) return -1;
        other.blocks = uint32_t(c.l.blocks * f);
        return c.play(other, [&](size_t i) {
            const Loop& loop = *c.loops[i / f];
            return loop.part(loop.times() * (i % f) / f, loop.times() * (i % f + 1) / f, uint32_t(i));
        }, [&](size_t i) { return std::pair<uint32_t, uint8_t>(uint32_t(i), cores[i / f].core); }, other.blocks);
    }
    if (w.what == "fewer_blocks") {
        size_t left = (cores.size() + amount - 1) / std::max<size_t>(amount, 1);
        if (amount < 2 || left == cores.size()) return -1;
        other.blocks = uint32_t(left);
        return c.play(other, [&](size_t i) {
            std::vector<const Tape*> parts;
            for (size_t b = cores.size() * i / left; b < cores.size() * (i + 1) / left; b++) parts.push_back(&cores[b].tape);
            return behind_one_another(parts, uint32_t(i), cores[0].core);
        }, [&](size_t i) { return std::pair<uint32_t, uint8_t>(uint32_t(i), cores[0].core); }, left);
    }
    return -1;
}

}  // namespace

std::vector<WhatIf> what_if(const Launch& l, const LaunchResult& r) {
    Case c{l, r, {}, r.joints.empty()};
    size_t notes = 0;
    std::vector<WhatIf> all = l.what_ifs;
    for (const CoreResult& core : r.cores) notes += core.tape.notes.size();
    if (notes * all.size() > kMostNotes || !r.finished) return all;
    for (const CoreResult& core : r.cores) {
        for (const Note& n : core.tape.notes)
            if (n.step == Act::Await && ((n.ref & kJoint) || n.ref >> 32 != moment_of(core.block, core.core, 0) >> 32)) c.alone = false;
        c.loops.push_back(std::make_unique<Loop>(core.tape, core.block, core.core));
    }
    for (WhatIf& w : all) w.seconds = answer(c, w);
    return all;
}

}  // namespace twin
